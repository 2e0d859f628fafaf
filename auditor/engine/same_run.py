"""Whether several generators' folders are one run (docs/semantics.md §9): names agree, time ranges overlap."""

from __future__ import annotations

from fractions import Fraction

from auditor.errors import not_one_run
from auditor.evidence import Evidence
from auditor.facts.iterations import Iterations
from auditor.facts.plan import Plan
from auditor.facts.samples import Samples
from auditor.facts.store import FactStore

LEAST_OVERLAP = Fraction(9, 10)
"""Time ranges of one run's generators share at least this part of the longest (semantics §9)."""


def refuse_different_runs(store: FactStore) -> None:
    """Raise AuditError, naming the runs, if the generators' data are not of one run."""
    evidence = store.get(Evidence)
    names = [g.name for g in evidence.generators]
    if len(names) < 2 or store.why_not(Samples) is not None:
        return
    spans = {
        name: (one.first_ns, one.last_ns)
        for name, one in store.get(Samples).by_generator.items()
        if one.first_ns is not None and one.last_ns is not None
    }
    if len(spans) > 1:
        shared = min(e for _, e in spans.values() if e is not None) - max(
            s for s, _ in spans.values() if s is not None
        )
        # Coarse stamps: the ranges may overlap by up to one unit more than the stamps say.
        shared += max(store.get(Samples).by_generator[name].coarse_ns for name in spans)
        longest = max((e or 0) - (s or 0) for s, e in spans.values())
        if longest > 0 and Fraction(shared, longest) < LEAST_OVERLAP:
            share = max(Fraction(shared, longest), Fraction(0))
            raise not_one_run(
                names,
                f"their time ranges overlap by {float(share):.0%} ({float(LEAST_OVERLAP) * 100:g} % needed)",
            )
    _refuse_other_names(store, names)


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
