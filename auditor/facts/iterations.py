"""When iterations started and ended, and when starts were dropped, per (generator, scenario)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from auditor.evidence import Console, Evidence, Summary
from auditor.facts.count_sources import CountSources
from auditor.facts.keys import Key
from auditor.facts.missing import Missing
from auditor.facts.plan import StatedPlan
from auditor.facts.samples import Samples
from auditor.facts.store import Unknown, provides
from auditor.samples.columns import Column, GeneratorSamples
from auditor.samples.reduce import Floats, Ints
from auditor.units import NS_PER_MS

LONGEST_MS = 1e10
"""No iteration lasts longer (four months): beyond it a value is damage, and would overflow."""
MOST_DROPS = 1e9
"""One sample that stands for more drops than any plan has slots is damage, and would overflow."""

EVERY_ITERATION = ("iterations", "iteration_duration", "data_sent")
"""k6 writes a sample of each with every iteration that completes."""


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
    totals_only: bool = False
    """Whether the counts come from a summary: nothing says when anything happened."""
    dropped_in_total: int = 0
    """Drops of a summary, which have no time."""
    drops_told: bool = True
    """Whether the absence of drops means none: not in a file from which metrics were filtered out."""

    @cached_property
    def ends_in_order(self) -> Ints:
        """The ends, ascending. They nearly are in order of start, which a merge sort makes use of."""
        return np.sort(self.end_ns, kind="stable")

    @property
    def started(self) -> int:
        return max(self.began, self.completed)

    @property
    def interrupted(self) -> int:
        return self.started - self.completed

    @property
    def dropped(self) -> int:
        return int(self.drop_count.sum()) + self.dropped_in_total

    def events_ns(self, limit: int) -> Ints:
        """The first ``limit`` starts and drops in time order."""
        drops = np.repeat(self.drop_ns[:limit], np.minimum(self.drop_count[:limit], limit))
        return np.sort(np.concatenate([self.start_ns[:limit], drops]))[:limit]


@dataclass(frozen=True)
class Iterations:
    """By key; a key of the plan without samples is present and empty."""

    by_key: Mapping[Key, KeyIterations]


@provides
def iterations(
    counted: CountSources, samples: Samples | None, plan: StatedPlan, evidence: Evidence
) -> Iterations:
    """Iterations of every planned scenario, and of every scenario that samples name.

    Raises:
        Unknown: if several scenarios ran and the scenario tag was switched off.
    """
    found: dict[Key, KeyIterations] = {}
    consoles = {g.name: g.console for g in evidence.generators}
    totals = {g.name: bool(g.printed or g.summaries) for g in evidence.generators}
    for name, generator in samples.by_generator.items() if samples is not None else ():
        planned = [key.scenario for key in plan.keys if key.generator == name]
        if generator.untagged and len(planned) > 1:
            raise Unknown(
                f"the samples in {generator.path} carry no scenario tag, and {len(planned)} scenarios ran",
                'add "scenario" to systemTags',
                needs="rerun",
            )
        for scenario in dict.fromkeys([*planned, *generator.scenarios] or [""]):
            one = _of(generator, scenario, consoles[name], alone=len(planned) <= 1)
            told = one.drops_told or totals[name]
            found[Key(name, scenario)] = one if told == one.drops_told else replace(one, drops_told=told)
    for name, summary in counted.summaries.items():
        planned = [key.scenario for key in plan.keys if key.generator == name]
        for scenario in planned or [""]:
            found[Key(name, scenario)] = _of_summary(summary, scenario, consoles[name], alone=len(planned) <= 1)
    for key in plan.keys:
        found.setdefault(key, _empty())
    return Iterations(found)


def _of(generator: GeneratorSamples, scenario: str, console: Console | None, *, alone: bool) -> KeyIterations:
    durations = generator.of_scenario(generator.column("iteration_duration"), scenario)
    ended = generator.of_scenario(generator.column("iterations"), scenario)
    drops = generator.of_scenario(generator.column("dropped_iterations"), scenario)
    start = durations.time_ns - as_ns(durations.value)
    order = np.argsort(start, kind="stable")
    completed = round(float(ended.value.sum()))
    absent = _filtered_out(generator, console)
    if "iterations" in absent:
        completed = len(durations)  # each has one sample of both
    began = generator.count_of_scenario("data_sent", scenario)
    if "data_sent" in absent:
        began = completed + _interrupted_printed(generator, console, alone=alone)
    elif generator.untagged and not generator.grouped:
        began = completed + _interrupted_untagged(generator, start, durations.time_ns, console)
    return KeyIterations(
        start_ns=start[order],
        end_ns=durations.time_ns[order],
        duration_ms=durations.value[order],
        completed=completed,
        began=began,
        drop_ns=drops.time_ns,
        drop_count=_counts(drops),
        drops_told=bool(len(drops)) or not absent,
    )


def _filtered_out(generator: GeneratorSamples, console: Console | None) -> tuple[str, ...]:
    """Which of the metrics that k6 writes with every iteration were left out of the file.

    Raises:
        Unknown: if what is left does not say when iterations started.
    """
    listed = generator.count_of
    absent: tuple[str, ...]
    if not any(listed.get(metric) for metric in EVERY_ITERATION):
        ran = listed.get("http_reqs") or listed.get("http_req_duration")
        if not ran or (console is not None and console.counts is not None and not console.counts.completed):
            return ()
        absent = EVERY_ITERATION
    elif not listed.get("iterations") and not listed.get("iteration_duration"):
        if not _most_completed(generator, console):
            return ()  # the iterations that began were all cut off
        absent = ("iterations", "iteration_duration")
    else:
        absent = tuple(metric for metric in EVERY_ITERATION if not listed.get(metric))
    if "iteration_duration" in absent:
        raise Unknown(
            f"{', '.join(absent)} {'was' if len(absent) == 1 else 'were'} left out of {generator.path}: when "
            "iterations started is not known",
            "keep all of k6's own metrics in the output",
            needs="rerun",
        )
    return absent


def _most_completed(generator: GeneratorSamples, console: Console | None) -> bool:
    """Whether iterations completed, though no sample says so: more began than VUs could have in flight."""
    if console is not None and console.counts is not None:
        return console.counts.completed > 0
    vus = generator.column("vus_max")
    most = int(vus.value.max()) if len(vus) else 0
    return bool(most) and generator.count_of.get("data_sent", 0) > most


def _interrupted_printed(generator: GeneratorSamples, console: Console | None, *, alone: bool) -> int:
    """Interrupted iterations by the console, where the points leave `data_sent` out.

    Raises:
        Unknown: if it does not say it of this scenario.
    """
    counts = console.counts if console is not None else None
    if counts is not None and counts.final and (alone or not counts.interrupted):
        return counts.interrupted
    raise Unknown(
        f"data_sent was left out of {generator.path}: how many iterations were cut off is not known",
        "keep all of k6's own metrics in the output; if k6's standard output was kept, add it",
        needs="rerun",
    )


def _interrupted_untagged(
    generator: GeneratorSamples, start_ns: Ints, end_ns: Ints, console: Console | None
) -> int:
    """Iterations that were cut off, where no tag tells them from setup() and teardown().

    The console counts them. Else: what was sent after the last completed iteration. A single such sample is
    teardown()'s; of several one may be.
    """
    if console is not None and console.counts is not None:
        return console.counts.interrupted
    sent_ns = generator.column("data_sent").time_ns
    if not len(end_ns):
        return len(sent_ns)
    after = len(sent_ns) - int(np.searchsorted(sent_ns, end_ns.max(), side="right"))
    between = int(((sent_ns > start_ns.min()) & (sent_ns <= end_ns.max())).sum()) - len(end_ns)
    return max(between, 0) + (after if after > 1 else 0)


def _of_summary(summary: Summary, scenario: str, console: Console | None, *, alone: bool) -> KeyIterations:
    """Totals of a scenario: of the whole run if it is the only one, else of its submetric."""
    suffix = "" if alone else f"{{scenario:{scenario}}}"
    completed = summary.value(f"iterations{suffix}", "count")
    if completed is None and not alone:
        raise Unknown(
            f"{summary.path} has totals of all scenarios together, not of {scenario}",
            "keep the points: --out json=k6.json.gz",
            missing=Missing.POINTS,
        )
    counts = console.counts if console is not None else None
    interrupted = counts.interrupted if counts is not None and alone else 0
    return replace(
        _empty(),
        completed=round(completed or 0),
        began=round(completed or 0) + interrupted,
        totals_only=True,
        dropped_in_total=round(summary.value(f"dropped_iterations{suffix}", "count") or 0),
    )


def as_ns(duration_ms: Floats) -> Ints:
    """Durations in ns, bounded so that a damaged one cannot overflow."""
    ns = np.clip(duration_ms, -LONGEST_MS, LONGEST_MS)
    ns *= NS_PER_MS
    return np.rint(ns, out=ns).astype(np.int64)


def _counts(drops: Column) -> Ints:
    return np.clip(np.rint(drops.value), 0, MOST_DROPS).astype(np.int64)


def _empty() -> KeyIterations:
    none = np.empty(0, dtype=np.int64)
    return KeyIterations(none, none, np.empty(0, dtype=np.float64), 0, 0, none, none)
