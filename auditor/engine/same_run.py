"""Whether several generators' folders are one run (docs/semantics.md §9): names agree, time ranges overlap."""

from __future__ import annotations

from fractions import Fraction

from auditor.errors import not_one_run
from auditor.evidence import Evidence
from auditor.facts.iterations import Iterations
from auditor.facts.plan import Plan
from auditor.facts.samples import Samples
from auditor.facts.store import FactStore
from auditor.samples.columns import GeneratorSamples

LEAST_OVERLAP = Fraction(9, 10)
"""Time ranges of one run's generators share at least this part of the longest (semantics §9)."""


def refuse_different_runs(store: FactStore) -> None:
    """Raise AuditError, naming the runs, if the generators' data are not of one run."""
    evidence = store.get(Evidence)
    names = [g.name for g in evidence.generators]
    if len(names) < 2 or store.why_not(Samples) is not None:
        return
    spans = {
        name: span
        for name, one in store.get(Samples).by_generator.items()
        if (span := one.at_work_ns or _first_to_last(one)) is not None
    }
    if len(spans) > 1:
        shared = min(end for _, end in spans.values()) - max(start for start, _ in spans.values())
        # Coarse stamps: the ranges may overlap by up to one unit more than the stamps say.
        shared += max(store.get(Samples).by_generator[name].coarse_ns for name in spans)
        longest = max(end - start for start, end in spans.values())
        if longest > 0 and Fraction(shared, longest) < LEAST_OVERLAP:
            share = max(Fraction(shared, longest), Fraction(0))
            raise not_one_run(
                names,
                f"their time ranges overlap by {float(share):.0%} ({float(LEAST_OVERLAP) * 100:g} % needed)",
            )
    _refuse_other_names(store, names)


def _first_to_last(samples: GeneratorSamples) -> tuple[int, int] | None:
    """Of a generator without iterations."""
    if samples.first_ns is None or samples.last_ns is None:
        return None
    return samples.first_ns, samples.last_ns


def _refuse_other_names(store: FactStore, names: list[str]) -> None:
    """A scenario that one generator ran and another does not know makes them different runs."""
    plan, iterations = store.get(Plan), store.get(Iterations)
    ran = {
        n: {k.scenario for k, i in iterations.by_key.items() if k.generator == n and i.started} for n in names
    }
    known = {n: ran[n] | {k.scenario for k in plan.keys if k.generator == n} for n in names}
    for name in names:
        if not known[name]:
            continue
        for other in names:
            strange = ran[other] - known[name]
            if strange and plan.shares[name].fraction == 1:
                raise not_one_run(names, f"{other} ran scenario {sorted(strange)[0]!r}, {name} did not")
