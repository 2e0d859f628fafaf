"""Checks of the script, by name: how many passed and failed in the window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from auditor.facts.count_sources import CountSources
from auditor.facts.missing import Missing
from auditor.facts.plan import Plan
from auditor.facts.samples import Samples
from auditor.facts.store import Unknown, provides
from auditor.facts.timeline import Timeline


@dataclass(frozen=True)
class CheckCount:
    """One check, over all generators."""

    passes: int
    fails: int

    @property
    def failed_share(self) -> float:
        total = self.passes + self.fails
        return self.fails / total if total else 0.0


@dataclass(frozen=True)
class Checks:
    """By name of the check ("" where the tag was off, and where only totals were kept)."""

    by_name: Mapping[str, CheckCount]


@provides
def checks(samples: Samples | None, counted: CountSources, plan: Plan, timeline: Timeline | None) -> Checks:
    """Checks made in the window of their scenario; of totals, all of the run. Support scenarios are left out.

    Raises:
        Unknown: if neither points nor a summary were kept.
    """
    if samples is not None and timeline is not None:
        return Checks(_of_samples(samples, plan, timeline))
    if counted.summaries:
        rates = [s.metrics["checks"].values for s in counted.summaries.values() if "checks" in s.metrics]
        passes = sum(round(v.get("passes") or 0) for v in rates)
        fails = sum(round(v.get("fails") or 0) for v in rates)
        return Checks({"": CheckCount(passes, fails)} if passes or fails else {})
    raise Unknown(
        "which checks failed is not known", "keep the points: --out json=k6.json.gz", missing=Missing.POINTS
    )


def _of_samples(samples: Samples, plan: Plan, timeline: Timeline) -> dict[str, CheckCount]:
    counts: dict[str, tuple[int, int]] = {}
    for key, clock in timeline.keys.items():
        planned = plan.keys.get(key)
        generator = samples.by_generator.get(key.generator)
        if generator is None or clock.window_s <= 0 or (planned is not None and planned.support):
            continue
        column = generator.of_scenario(generator.column("checks"), key.scenario)
        column = column.where(clock.inside(column.time_ns))
        names = generator.tag("check")[column.tagset]
        for name in np.unique(names.astype(str)) if len(column) else ():
            mine = column.value[names == name]
            passed = int(np.count_nonzero(mine))
            before = counts.get(name, (0, 0))
            counts[str(name)] = before[0] + passed, before[1] + len(mine) - passed
    return {name: CheckCount(*both) for name, both in sorted(counts.items())}
