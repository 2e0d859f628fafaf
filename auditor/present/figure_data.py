"""What the figures show, as plain values: series, tables of at most sixty rows, and why there is none.

All times are seconds since the plan's start on the wall clock; several generators and scenarios are summed
on it. Nothing is drawn here (auditor/present/svg/figures.py does that, from the model alone).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from auditor.evidence import Evidence, HostSeries
from auditor.facts.iterations import Iterations, KeyIterations
from auditor.facts.latency import Latency
from auditor.facts.missing import Missing
from auditor.facts.plan import Plan
from auditor.facts.quantiles import identified
from auditor.facts.requests import Requests
from auditor.facts.stalls import Stalls
from auditor.facts.store import FactStore, Unknown
from auditor.facts.timeline import Timeline
from auditor.fields import CHARTED, LABEL_OF, PERCENTILES
from auditor.present.series import (
    Reals,
    as_series,
    bucket_percentiles,
    bucket_s,
    per_bucket,
    rows,
    tail_curve,
)
from auditor.units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from auditor.facts.keys import Key
    from auditor.facts.schedule import Schedule

MOST_BUCKETS = 86_400
"""A run is counted second by second up to a day; stamps that lie further apart get wider buckets."""
CHARTED_SHARES = tuple(p for name, p in PERCENTILES if name in CHARTED)
TABLE_SHARES = {0.75: "p75", **{p: LABEL_OF[name] for name, p in PERCENTILES}}
"""Points of the percentile curve that its table gives: those of the header, and the upper quartile."""


@dataclass(frozen=True)
class Clock:
    """The common axis: its zero, its length, and the measured keys."""

    zero_ns: int
    until_s: int
    keys: tuple[Key, ...]
    warmup_until_s: float
    """Where the first measurement window starts; 0 where nothing is excluded."""


def clock(facts: FactStore) -> Clock:
    """The axis of every figure.

    Raises:
        Unknown: if nothing says when anything happened.
    """
    iterations, plan, timeline = facts.get(Iterations), facts.get(Plan), facts.get(Timeline)
    zeros, ends = [], []
    for key, one in timeline.keys.items():
        if one.origin_ns is None:
            continue
        start_s = plan.keys[key].start_time_s if key in plan.keys else 0
        zeros.append(one.origin_ns - round(start_s * NS_PER_S))
        stamped = iterations.by_key[key].end_ns
        ends.append(int(stamped.max()) if len(stamped) else one.to_ns)
        if one.planned_end_ns is not None:
            ends.append(one.planned_end_ns)
    if not zeros:
        raise Unknown(
            "no file says when iterations ran",
            "keep the points: --out json=k6.json.gz",
            missing=Missing.POINTS,
        )
    zero = min(zeros)
    warmup = 0.0
    if timeline.warmup_s > 0 and timeline.common_ns is not None:
        warmup = (timeline.common_ns[0] - zero) / NS_PER_S
    keys = tuple(k for k in timeline.keys if not (k in plan.keys and plan.keys[k].support))
    return Clock(zero, max(1, math.ceil((max(ends) - zero) / NS_PER_S)), keys, warmup)


def load(facts: FactStore) -> dict[str, Any]:
    """Planned, started, completed and dropped iterations per second."""
    axis, iterations, plan, timeline = (
        clock(facts),
        facts.get(Iterations),
        facts.get(Plan),
        facts.get(Timeline),
    )
    width = max(1, math.ceil(axis.until_s / MOST_BUCKETS))
    buckets = math.ceil(axis.until_s / width)
    counts = {name: np.zeros(buckets) for name in ("planned", "started", "completed", "dropped")}
    scheduled = False
    for key in axis.keys:
        found: KeyIterations = iterations.by_key[key]
        counts["started"] += per_bucket(found.start_ns, axis.zero_ns, width, buckets)
        counts["completed"] += per_bucket(found.end_ns, axis.zero_ns, width, buckets)
        counts["dropped"] += per_bucket(found.drop_ns, axis.zero_ns, width, buckets, found.drop_count)
        schedule = plan.keys[key].schedule if key in plan.keys else None
        origin = timeline.keys[key].origin_ns
        if schedule is not None and origin is not None:
            scheduled = True
            edges_s = (np.arange(buckets + 1) * width) - (origin - axis.zero_ns) / NS_PER_S
            counts["planned"] += np.diff(due(schedule, edges_s))
    if not counts["started"].any() and not counts["dropped"].any():
        raise Unknown("no iteration has a time: none was completed, or only totals were kept", needs="rerun")
    if not scheduled:
        del counts["planned"]
    _end_with_plan(counts, axis, timeline, width)
    middle = (np.arange(buckets) + 0.5) * width
    rates = {name: count / width for name, count in counts.items()}
    return {
        "bucket_s": width,
        "until_s": axis.until_s,
        "warmup_until_s": axis.warmup_until_s,
        "series": {name: as_series(middle, rate) for name, rate in rates.items()},
        "columns": ["from (s)", *(f"{name} (/s)" for name in rates)],
        "rows": rows([middle - width / 2, *rates.values()]),
    }


def _end_with_plan(counts: Mapping[str, Reals], axis: Clock, timeline: Timeline, width: int) -> None:
    """Cut the lines where the plan ends, instead of letting them fall to zero in the second after it: only
    completions go on there. A constant schedule starts one more at its very end, which is no load."""
    ends = [timeline.keys[key].planned_end_ns for key in axis.keys]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends) or not known:
        return
    first = math.ceil((max(known) - axis.zero_ns) / NS_PER_S / width - 1e-3)
    for name in sorted(counts.keys() - {"completed"}):
        after = counts[name][first:]
        after[after <= len(known)] = np.nan


def due(schedule: Schedule, at_s: Reals) -> Reals:
    """The integral of the planned rate up to each time: smooth, where slots would jump by one."""
    total = np.zeros(len(at_s))
    for stage in schedule.stages:
        if stage.length_s == 0:
            continue
        start, slope = float(stage.start_per_s), float((stage.end_per_s - stage.start_per_s) / stage.length_s)
        x = np.clip(at_s, float(stage.start_s), float(stage.end_s)) - float(stage.start_s)
        total += start * x + slope * x * x / 2
    return total


def latency(facts: FactStore) -> dict[str, Any]:
    """Percentiles of what was sent, by the start of the request; with the stalls."""
    axis, requests = clock(facts), facts.get(Requests)
    start, value = [], []
    for own in requests.by_generator.values():
        mine = np.zeros(len(own), dtype=bool)
        for key in axis.keys:
            if key.generator == own.generator:
                mine |= own.of(key.scenario)
        start.append((own.start_ns[mine] - axis.zero_ns) / NS_PER_S)
        value.append(own.duration_ms[mine])
    at, ms = np.concatenate([*start, []]), np.concatenate([*value, []])
    # The left edge of a window forgives 1 ms, and so does the axis.
    inside = (at >= -NS_PER_MS / NS_PER_S) & (at < axis.until_s)
    at, ms = at[inside], ms[inside]
    if not len(at):
        raise Unknown(
            "no request was made", "see the findings: a run without requests measures nothing", needs="rerun"
        )
    width = bucket_s(axis.until_s, len(at))
    buckets = math.ceil(axis.until_s / width)
    bucket = np.clip((at // width).astype(np.int64), 0, buckets - 1)
    found = bucket_percentiles(bucket, ms, buckets, CHARTED_SHARES)
    middle = (np.arange(buckets) + 0.5) * width
    counts = np.bincount(bucket, minlength=buckets).astype(np.float64)
    return {
        "metric": requests.metric,
        "bucket_s": width,
        "until_s": axis.until_s,
        "warmup_until_s": axis.warmup_until_s,
        "series": {name: as_series(middle, one) for name, one in zip(CHARTED, found, strict=True)},
        "stalls": _stall_spans(facts, axis),
        "columns": ["from (s)", "requests", *(f"{LABEL_OF[name]} (ms)" for name in CHARTED)],
        "rows": rows([middle - width / 2, counts, *found], worst=1 + len(CHARTED)),
    }


def _stall_spans(facts: FactStore, axis: Clock) -> list[list[float]]:
    if facts.why_not(Stalls) is not None:
        return []
    return [
        [round((s.from_ns - axis.zero_ns) / NS_PER_S, 3), round((s.to_ns - axis.zero_ns) / NS_PER_S, 3)]
        for s in facts.get(Stalls).found[:50]
    ]


def percentiles(facts: FactStore) -> dict[str, Any]:
    """The percentile curve over offered demand beside that of what was sent, of the window."""
    pooled = facts.get(Latency).pooled
    if not len(pooled.sent_ms):
        raise Unknown("no request of the window has a latency of its own", needs="rerun")
    curves = {"sent": tail_curve(pooled.sent_ms, len(pooled.sent_ms))}
    populations = {"sent": (pooled.sent_ms, len(pooled.sent_ms))}
    known_share = None
    if pooled.kind == "offered":
        curves["offered"] = tail_curve(pooled.successful_ms, pooled.offered)
        populations["offered"] = (pooled.successful_ms, pooled.offered)
        if pooled.censored:
            known_share = max(len(pooled.successful_ms) - 1, 0) / max(pooled.offered - 1, 1)
    table: list[list[Any]] = []
    for share, label in sorted(TABLE_SHARES.items()):
        table.append([label, *(_quantile(*populations[name], share) for name in curves)])
    return {
        "n": {name: n for name, (_, n) in populations.items()},
        "censored": pooled.censored if pooled.kind == "offered" else None,
        "known_share": known_share,
        "series": curves,
        "columns": ["percentile", *(f"{name} (ms)" for name in curves)],
        "rows": table,
    }


def _quantile(ordered: Reals, n: int, share: float) -> float | str:
    if not identified(share, n, n - len(ordered)):
        return "not identified"
    h = share * (n - 1)
    return round(float(np.interp(h, np.arange(len(ordered)), ordered)), 2)


def cpu(facts: FactStore) -> dict[str, Any]:
    """CPU and busiest core of the generators' hosts; the highest of them where there are several."""
    axis, evidence = clock(facts), facts.get(Evidence)
    hosts = [h for g in evidence.generators for h in g.hosts] + list(evidence.shared_hosts)
    inside = [one for h in hosts if (one := _host(h, axis)) is not None]
    if not inside:
        raise Unknown(
            "no host metrics of the generator lie in the run",
            "record the generator's CPU while the test runs, and keep the file beside the points",
            missing=Missing.HOST_METRICS,
        )
    second = np.unique(np.concatenate([np.floor(at) for at, _, _ in inside]))
    busy, core = np.full(len(second), np.nan), np.full(len(second), np.nan)
    for at, host_busy, host_core in inside:
        index = np.searchsorted(second, np.floor(at))
        np.fmax.at(busy, index, host_busy)
        np.fmax.at(core, index, host_core)
    series = {"cpu": as_series(second, busy)}
    columns, table = ["at (s)", "CPU (%)"], [second, busy]
    if np.isfinite(core).any():
        series["core"] = as_series(second, core)
        columns.append("worst core (%)")
        table.append(core)
    return {
        "hosts": len({h.host or h.path for h in hosts}),
        "until_s": axis.until_s,
        "warmup_until_s": axis.warmup_until_s,
        "series": series,
        "columns": columns,
        "rows": rows(table, worst=1),
    }


def _host(host: HostSeries, axis: Clock) -> tuple[Reals, Reals, Reals] | None:
    at = (host.stamp_ns - axis.zero_ns) / NS_PER_S
    inside = (at >= 0) & (at <= axis.until_s)
    if not inside.any():
        return None
    core = np.full(int(inside.sum()), np.nan)
    if host.core_busy_percent is not None and host.core_busy_percent.shape[1]:
        table = host.core_busy_percent[inside]
        core = np.where(np.isfinite(table), table, -np.inf).max(axis=1)
        core[~np.isfinite(core)] = np.nan
    return at[inside], host.cpu_busy_percent[inside], core
