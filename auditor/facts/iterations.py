"""When iterations started and ended, and when starts were dropped, per (generator, scenario)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from auditor.facts.keys import Key
from auditor.facts.plan import Plan
from auditor.facts.samples import Column, Floats, GeneratorSamples, Ints, Samples
from auditor.facts.store import Unknown, provides

NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class KeyIterations:
    """Completed iterations in order of start (k6 stamps the end; start = end − duration), and drops."""

    start_ns: Ints
    end_ns: Ints
    duration_ms: Floats
    completed: int
    """Sum of `iterations`: whole iterations, whether or not their duration was kept."""
    began: int
    """Iterations that left a `data_sent` sample, interrupted ones included."""
    drop_ns: Ints
    drop_count: Ints
    """Starts dropped at that time: the sample's value, which may exceed 1."""

    @property
    def started(self) -> int:
        return max(self.began, self.completed)

    @property
    def interrupted(self) -> int:
        return self.started - self.completed

    @property
    def dropped(self) -> int:
        return int(self.drop_count.sum())

    def events_ns(self, limit: int) -> Ints:
        """The first ``limit`` starts and drops in time order."""
        drops = np.repeat(self.drop_ns[:limit], np.minimum(self.drop_count[:limit], limit))
        return np.sort(np.concatenate([self.start_ns[:limit], drops]))[:limit]


@dataclass(frozen=True)
class Iterations:
    """By key; a key of the plan without samples is present and empty."""

    by_key: Mapping[Key, KeyIterations]


@provides
def iterations(samples: Samples, plan: Plan) -> Iterations:
    """Iterations of every planned scenario, and of every scenario that samples name.

    Raises:
        Unknown: if several scenarios ran and the scenario tag was switched off.
    """
    found: dict[Key, KeyIterations] = {}
    for name, generator in samples.by_generator.items():
        planned = [key.scenario for key in plan.keys if key.generator == name]
        if generator.untagged and len(planned) > 1:
            raise Unknown(
                f"the samples in {generator.path} carry no scenario tag, and {len(planned)} scenarios ran",
                'add "scenario" to systemTags',
            )
        for scenario in dict.fromkeys([*planned, *generator.scenarios] or [""]):
            found[Key(name, scenario)] = _of(generator, scenario)
    for key in plan.keys:
        found.setdefault(key, _empty())
    return Iterations(found)


def _of(generator: GeneratorSamples, scenario: str) -> KeyIterations:
    durations = generator.of_scenario(generator.column("iteration_duration"), scenario)
    ended = generator.of_scenario(generator.column("iterations"), scenario)
    began = generator.of_scenario(generator.column("data_sent"), scenario)
    drops = generator.of_scenario(generator.column("dropped_iterations"), scenario)
    start = durations.time_ns - np.rint(durations.value * NS_PER_MS).astype(np.int64)
    order = np.argsort(start, kind="stable")
    return KeyIterations(
        start_ns=start[order],
        end_ns=durations.time_ns[order],
        duration_ms=durations.value[order],
        completed=round(float(ended.value.sum())),
        began=len(began),
        drop_ns=drops.time_ns,
        drop_count=_counts(drops),
    )


def _counts(drops: Column) -> Ints:
    return np.maximum(np.rint(drops.value), 0).astype(np.int64)


def _empty() -> KeyIterations:
    none = np.empty(0, dtype=np.int64)
    return KeyIterations(none, none, np.empty(0, dtype=np.float64), 0, 0, none, none)
