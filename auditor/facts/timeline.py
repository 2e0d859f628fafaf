"""Origin, measurement window and end of the evidence of every (generator, scenario).

Definitions: docs/semantics.md §0, §1 "Origin" and §3. Counts against the plan are made on each scenario's
own clock, which starts at its origin; wall-clock time serves only series and charts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from auditor.evidence import Declared, Evidence, GeneratorEvidence
from auditor.facts.iterations import Iterations, KeyIterations
from auditor.facts.keys import Key
from auditor.facts.limits import PolicyLimits
from auditor.facts.missing import Missing
from auditor.facts.plan import KeyPlan, Plan
from auditor.facts.samples import Samples
from auditor.facts.segments import lags_ns
from auditor.facts.store import Unknown, provides
from auditor.samples.columns import GeneratorSamples
from auditor.units import NS_PER_S

CROSSED_CODE = 99
"""k6's exit code when a threshold was crossed: of a run that it stopped for that, and of one that went to its
end."""
STOPPED_CODES = frozenset({CROSSED_CODE, 105, 108})
"""Exit codes by which k6 says that it stopped a run itself."""


@dataclass(frozen=True)
class KeyTimeline:
    """The clock of one key. ``*_s`` are seconds on the scenario's own clock, from its origin."""

    key: Key
    origin_ns: int | None
    """Without a sample: derived from the other scenarios' origins; None if there is none at all."""
    planned_end_ns: int | None
    """Origin + planned length; None without a planned length."""
    from_s: Fraction
    """Where the window starts: the warm-up."""
    to_s: Fraction
    """Where it ends: the planned end, the part reached, or the last sample where no end was planned."""
    cut_right: bool
    """Whether a declared ramp-down cuts starts at the right edge (else nothing does)."""
    reached_s: Fraction
    """How far the evidence reaches on this clock, at most the planned length."""
    slack_ns: int = 0
    """How far from its true place on this clock a coarse stamp may put a start; 0 for fine stamps."""

    @property
    def window_s(self) -> Fraction:
        return max(self.to_s - self.from_s, Fraction(0))

    def at_ns(self, offset_s: Fraction) -> int:
        """Wall-clock time of an offset on this clock."""
        return (self.origin_ns or 0) + round(offset_s * NS_PER_S)

    @property
    def from_ns(self) -> int:
        return self.at_ns(self.from_s)

    @property
    def to_ns(self) -> int:
        return self.at_ns(self.to_s)

    @property
    def slack_s(self) -> Fraction:
        return Fraction(self.slack_ns, NS_PER_S)

    def inside(self, start_ns: np.ndarray, slack_ns: int = 0, *, surely: bool = False) -> np.ndarray:
        """Which of these start times the window holds. A warm-up of 0 s cuts nothing on the left; the
        scenario's end cuts nothing on the right. ``surely``: without those of which coarse stamps cannot
        say it, so that what went wrong outside of the window is not held against it."""
        inside = np.ones(len(start_ns), dtype=bool)
        doubt_ns = self.slack_ns if surely else 0
        if self.from_s > 0:
            inside &= start_ns >= self.from_ns - slack_ns + doubt_ns
        if self.cut_right:
            inside &= start_ns < self.to_ns - doubt_ns
        return inside

    def doubtful(self, start_ns: np.ndarray) -> int:
        """How many of these (sorted) start times coarse stamps may have put on the wrong side of an edge."""
        edges = [self.from_ns] if self.from_s > 0 else []
        edges += [self.to_ns] if self.cut_right else []
        around = [np.searchsorted(start_ns, (e - self.slack_ns, e + self.slack_ns)) for e in edges]
        return sum(int(high - low) for low, high in around) if self.slack_ns else 0


@dataclass(frozen=True)
class GeneratorEnd:
    """How a generator's evidence ends."""

    generator: str
    first_start_ns: int | None
    last_ns: int | None
    latest_planned_end_ns: int | None
    torn: str
    stopped: str
    """k6's own word (log or exit code) that it stopped; empty if it says none."""
    ended_early: bool
    slack_ns: int = 0
    """How much later than its stamp the last sample may be, where stamps are coarse; else 0."""
    may_be_whole: bool = False
    """Whether the only word is exit code 99 (a threshold was crossed), which k6 also gives to a run that went
    to its end."""

    @property
    def missing_ns(self) -> int:
        """From the last sample (the latest that its stamp allows) to the latest planned end; negative if it
        lies after."""
        if self.last_ns is None or self.latest_planned_end_ns is None:
            return 0
        return self.latest_planned_end_ns - self.last_ns - self.slack_ns

    @property
    def missing_s(self) -> float:
        return self.missing_ns / NS_PER_S

    @property
    def complete(self) -> bool:
        """Whether nothing was lost up to where k6 stopped, so that absence means zero."""
        return not self.torn and (not self.ended_early or bool(self.stopped))


@dataclass(frozen=True)
class Timeline:
    """Clocks by key, ends by generator, and the length of the header's window."""

    keys: Mapping[Key, KeyTimeline]
    ends: Mapping[str, GeneratorEnd]
    window_s: Fraction
    """Union of the measured scenarios' windows on the plan's clock, the longest of the generators."""
    planned_s: Fraction | None
    """The same union as planned, had nothing ended early; None where a length is not planned."""
    warmup_s: Fraction
    common_ns: tuple[int, int] | None
    """Wall-clock span of all measured windows."""


@provides
def timeline(
    samples: Samples | None,
    plan: Plan,
    iterations: Iterations,
    evidence: Evidence,
    declared: Declared,
    limits: PolicyLimits,
) -> Timeline:
    """The clocks of all keys."""
    if samples is not None and all(one.last_ns is None for one in samples.by_generator.values()):
        raise Unknown(
            "the points file holds no sample",
            "record the run again with `k6 run --out json=k6.json.gz`",
            missing=Missing.POINTS,
        )
    warmup = declared.warmup_s or Fraction(0)
    clocks: dict[Key, KeyTimeline] = {}
    ends: dict[str, GeneratorEnd] = {}
    for generator in evidence.generators:
        mine = {k: i for k, i in iterations.by_key.items() if k.generator == generator.name}
        origins = {key: _origin_ns(found, plan.keys.get(key)) for key, found in mine.items()}
        zero = _plan_zero_ns(origins, plan)
        own = samples.by_generator.get(generator.name) if samples is not None else None
        totals_only = bool(mine) and all(found.totals_only for found in mine.values())
        ends[generator.name] = end = _end(generator, own, totals_only, plan, origins, zero, limits)
        for key, found in mine.items():
            clocks[key] = _clock(key, found, plan.keys.get(key), origins[key], zero, end, warmup, declared)
    measured = [c for k, c in clocks.items() if k not in plan.keys or not plan.keys[k].support]
    spans = [(c.from_ns, c.to_ns) for c in measured if c.origin_ns is not None and c.window_s > 0]
    return Timeline(
        keys=clocks,
        ends=ends,
        window_s=_longest_union(measured, plan, planned=False) or Fraction(0),
        planned_s=_longest_union(measured, plan, planned=True),
        warmup_s=warmup,
        common_ns=(min(s for s, _ in spans), max(e for _, e in spans)) if spans else None,
    )


def _origin_ns(found: KeyIterations, plan: KeyPlan | None) -> int | None:
    """min over the first 1,000 slots of (k-th start or drop − planned time of slot k); without slots the
    first start. One late first start does not move it."""
    first = found.events_ns(1)
    if not len(first):
        return None
    lag_ns = lags_ns(found, plan.schedule) if plan is not None and plan.schedule is not None else first
    return int(lag_ns.min()) if len(lag_ns) else int(first[0])


def _plan_zero_ns(origins: Mapping[Key, int | None], plan: Plan) -> int | None:
    """Wall-clock time of 0 on the plan's clock: the earliest origin − startTime."""
    zeros = [
        origin - round(plan.keys[key].start_time_s * NS_PER_S) if key in plan.keys else origin
        for key, origin in origins.items()
        if origin is not None
    ]
    return min(zeros, default=None)


def _end(
    generator: GeneratorEvidence,
    own: GeneratorSamples | None,
    totals_only: bool,
    plan: Plan,
    origins: Mapping[Key, int | None],
    zero: int | None,
    limits: PolicyLimits,
) -> GeneratorEnd:
    last = own.last_ns if own is not None else None
    latest: int | None = None
    for key, one in plan.keys.items():
        if key.generator != generator.name or one.duration_s is None:
            continue
        origin = origins.get(key)
        if origin is None:
            origin = None if zero is None else zero + round(one.start_time_s * NS_PER_S)
        if origin is not None:
            end = origin + round(one.duration_s * NS_PER_S)
            latest = end if latest is None else max(latest, end)
    stopped = said = generator.log.stopped if generator.log is not None else ""
    code = generator.exit_code
    only_crossed = not said and code is not None and code.code == CROSSED_CODE
    if not stopped and code is not None and code.code in STOPPED_CODES:
        stopped = f"exit code {code.code} ({code.path})"
    # A summary is written when k6 ends, so its totals are whole; a generator without either has nothing.
    torn = own.read.torn if own is not None else "" if totals_only else "no points file"
    early = False
    slack = own.coarse_ns if own is not None else 0
    if last is not None and latest is not None:
        missing_ns = latest - last - slack
        told = bool(torn) or (bool(stopped) and not only_crossed)
        allowed_s = limits["OL09.stopped_s" if told else "EV01.missing"]
        early = missing_ns > (0 if torn else round(allowed_s * NS_PER_S))
    starts = [o for o in origins.values() if o is not None]
    first = min(starts, default=None)
    return GeneratorEnd(generator.name, first, last, latest, torn, stopped, early, slack, only_crossed)


def _clock(
    key: Key,
    found: KeyIterations,
    plan: KeyPlan | None,
    origin: int | None,
    zero: int | None,
    end: GeneratorEnd,
    warmup: Fraction,
    declared: Declared,
) -> KeyTimeline:
    length = plan.duration_s if plan is not None else None
    started_at = origin
    if started_at is None and zero is not None and plan is not None:
        started_at = zero + round(plan.start_time_s * NS_PER_S)
    reached = length if length is not None else Fraction(0)
    if started_at is not None and end.last_ns is not None:
        if length is None:
            last = int(found.end_ns.max()) if len(found.end_ns) else started_at
            reached = Fraction(max(last - started_at, 0), NS_PER_S)
        elif end.ended_early:
            reached = min(max(Fraction(end.last_ns - started_at, NS_PER_S), Fraction(0)), length)
    to = reached
    cut = False
    if declared.ramp_down_s > 0 and length is not None:
        to = min(reached, length - declared.ramp_down_s)
        cut = True
    return KeyTimeline(
        key=key,
        origin_ns=started_at,
        planned_end_ns=None if length is None or started_at is None else started_at + round(length * NS_PER_S),
        from_s=warmup,
        to_s=max(to, Fraction(0)),
        cut_right=cut,
        reached_s=reached,
        slack_ns=end.slack_ns,
    )


def _longest_union(clocks: list[KeyTimeline], plan: Plan, *, planned: bool) -> Fraction | None:
    by_generator: dict[str, list[tuple[Fraction, Fraction]]] = {}
    for clock in clocks:
        one = plan.keys.get(clock.key)
        to = clock.to_s
        if planned:
            if one is None or one.duration_s is None:
                return None
            to = to if clock.cut_right and clock.reached_s == one.duration_s else one.duration_s
        offset = one.start_time_s if one is not None else Fraction(0)
        if to > clock.from_s:
            by_generator.setdefault(clock.key.generator, []).append((offset + clock.from_s, offset + to))
    return max((union_s(spans) for spans in by_generator.values()), default=None)


def union_s(spans: list[tuple[Fraction, Fraction]]) -> Fraction:
    """Length of the union of intervals."""
    total, covered = Fraction(0), None
    for start, end in sorted(spans):
        if covered is None or start > covered:
            total += end - start
            covered = end
        elif end > covered:
            total += end - covered
            covered = end
    return total
