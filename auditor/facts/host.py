"""The generator's own load over the measurement window (docs/semantics.md §7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from auditor.evidence import Evidence, HostSeries
from auditor.facts.accounting import Accounting
from auditor.facts.limits import PolicyLimits
from auditor.facts.missing import Missing
from auditor.facts.store import Unknown, provides
from auditor.facts.timeline import Timeline
from auditor.samples.reduce import Floats, Ints
from auditor.units import NS_PER_S

PEAK_SPAN_S = 5.0
"""Over how long the highest mean of all cores is taken (semantics §7)."""
CORE_SPAN_S = 10.0
"""Over how long the highest mean of a single core is taken (semantics §7)."""
HOLE_SHARE = 0.5
"""Samples further apart than this part of their own length are not consecutive: one is missing."""
CORES_IF_UNSAID = 64
"""Cores of a host that does not say: more than most have, so that no small use is called too small."""
MOST_APART = 10.0
"""Percentage points by which the mean of the cores may differ from that of the machine."""
MOST_AT_ONCE = 1 << 18
"""Values that are gathered at once to average runs of samples: what bounds the memory it takes."""
_FIX = (
    "record the generator's CPU while the test runs, e.g. `sar -o host.sa 1` and "
    "`sadf -j host.sa -- -u ALL -P ALL -r ALL > host.sadf.json`, and keep it beside the points"
)


@dataclass(frozen=True)
class HostUse:
    """One host over the window of the generators it covers. Percent of all its cores."""

    path: str
    host: str
    covers: tuple[str, ...]
    """Generators ("" for the only one)."""
    shared: bool
    """Whether it is one file for several generators."""
    coverage: float
    """Share of the window inside the union of (stamp − interval, stamp]."""
    step_s: float
    cores: int | None
    mean_percent: float
    p95_percent: float
    max_5s_percent: float
    max_5s_at_ns: int
    worst_core_percent: float | None
    """The highest 10 s mean of any single core."""
    worst_core: int | None
    hot_core_ns: tuple[tuple[int, int, int], ...]
    """(core, from, to) of every 10 s in which a core is busier than the limit GH04.busy."""
    steal_mean_percent: float | None
    mem_used_max_percent: float | None
    swap_in_max_per_s: float | None
    unusable: str = ""
    """Why it does not tell of the generator's load, by the limits of GH01; empty if it does."""
    window_s: float = 0.0
    """Length of the window."""


@dataclass(frozen=True)
class GeneratorHosts:
    """Hosts with metrics, and the generators that have none."""

    hosts: tuple[HostUse, ...]
    uncovered: Mapping[str, str]
    """Generator -> why nothing usable covers it."""


@provides
def generator_load(
    evidence: Evidence, timeline: Timeline, accounting: Accounting | None, limits: PolicyLimits
) -> GeneratorHosts:
    """Every generator's host over its window.

    Raises:
        Unknown: if no host metrics were found at all.
    """
    own = any(g.hosts for g in evidence.generators)
    if not own and not evidence.shared_hosts:
        unread = "; ".join(f"{one.path}: {one.reason}" for one in evidence.ignored if one.host_metrics)
        raise Unknown(
            f"no host metrics of the generator could be read ({unread})"
            if unread
            else "no host metrics of the generator were found",
            _FIX,
            missing=Missing.HOST_METRICS,
        )
    hosts: list[HostUse] = []
    uncovered: dict[str, str] = {}
    for generator in evidence.generators:
        span = _window_ns(timeline, [generator.name])
        if span is None:
            uncovered[generator.name] = "no window to cover"
            continue
        mine = joined(generator.hosts)
        if not mine and not own and len(_hosts(evidence.shared_hosts)) == 1:
            continue  # covered below, once for all
        if not mine and len(evidence.generators) == 1:
            mine = joined(evidence.shared_hosts)
        found = [load for h in mine if (load := _load(h, span, (generator.name,), False, limits))]
        hosts += found
        if not found:
            uncovered[generator.name] = (
                "its host metrics lie outside the window" if mine else "it has no host metrics"
            )
    if not own and len(evidence.generators) > 1:
        hosts += _shared(evidence, timeline, uncovered, limits)
    hosts = [_plausible(load, accounting, limits) for load in hosts]
    for load in hosts:
        if load.unusable:
            for name in load.covers:
                uncovered.setdefault(name, load.unusable)
    return GeneratorHosts(tuple(hosts), uncovered)


def joined(series: tuple[HostSeries, ...]) -> tuple[HostSeries, ...]:
    """The series of one host that follow one another in time as one: files are rotated at midnight."""
    found: list[HostSeries] = []
    for one in sorted(series, key=lambda s: int(s.stamp_ns[0]) if len(s.stamp_ns) else 0):
        before = next((i for i, other in enumerate(found) if _goes_on(other, one)), None)
        if before is None:
            found.append(one)
        else:
            found[before] = _appended(found[before], one)
    return tuple(found)


def _goes_on(first: HostSeries, second: HostSeries) -> bool:
    """Whether the second is of the same host, and begins where the first has ended."""
    if first.host != second.host or first.cores != second.cores:
        return False
    if not len(first.stamp_ns) or not len(second.stamp_ns):
        return False
    begin = int(second.stamp_ns[0] - second.interval_s[0] * NS_PER_S)
    return bool(begin >= int(first.stamp_ns[-1]) - round(first.interval_s[-1] * NS_PER_S))


def _appended(first: HostSeries, second: HostSeries) -> HostSeries:
    n, m = len(first.stamp_ns), len(second.stamp_ns)

    def both(a: Floats | None, b: Floats | None) -> Floats | None:
        """One column; NaN where a file has none."""
        if a is None and b is None:
            return None
        shape = (a if a is not None else b).shape[1:]  # type: ignore[union-attr]
        return np.concatenate(
            [
                np.full((n, *shape), np.nan) if a is None else a,
                np.full((m, *shape), np.nan) if b is None else b,
            ]
        )

    return replace(
        first,
        path=f"{first.path}, {second.path}",
        stamp_ns=np.concatenate([first.stamp_ns, second.stamp_ns]),
        interval_s=np.concatenate([first.interval_s, second.interval_s]),
        cpu_busy_percent=np.concatenate([first.cpu_busy_percent, second.cpu_busy_percent]),
        core_busy_percent=both(first.core_busy_percent, second.core_busy_percent),
        steal_percent=both(first.steal_percent, second.steal_percent),
        mem_used_percent=both(first.mem_used_percent, second.mem_used_percent),
        swap_in_pages_per_s=both(first.swap_in_pages_per_s, second.swap_in_pages_per_s),
        notes=(*first.notes, *second.notes),
    )


def _plausible(load: HostUse, accounting: Accounting | None, limits: PolicyLimits) -> HostUse:
    """The host, unusable if it cannot have started the iterations of the generators that it covers."""
    if load.unusable or accounting is None:
        return load
    started = sum(one.started for key, one in accounting.window.items() if key.generator in load.covers)
    if not started:
        return load
    cpu_ms = load.mean_percent / 100 * (load.cores or CORES_IF_UNSAID) * load.window_s * 1000 / started
    if cpu_ms >= limits["GH01.least_cpu_ms"]:
        return load
    shares = " (are these shares of 1, not percent?)" if load.max_5s_percent <= 1 else ""
    return replace(
        load,
        unusable=f"{load.path} shows {load.mean_percent:.3g} % CPU, which is {cpu_ms:.2g} ms for each "
        f"iteration started{shares}: k6 needs {limits['GH01.least_cpu_ms']:g} ms or more, so this is "
        "another machine's",
    )


def _shared(
    evidence: Evidence, timeline: Timeline, uncovered: dict[str, str], limits: PolicyLimits
) -> list[HostUse]:
    names = tuple(g.name for g in evidence.generators)
    span = _window_ns(timeline, names)
    hosts = joined(evidence.shared_hosts)
    if span is None or len(_hosts(hosts)) != 1:
        for name in names:
            uncovered.setdefault(name, "host metrics of several hosts lie beside the folders: whose is whose?")
        return []
    found = [load for h in hosts if (load := _load(h, span, names, True, limits))]
    if not found:
        uncovered |= dict.fromkeys(names, "the host metrics lie outside the window")
    return found


def _hosts(series: tuple[HostSeries, ...]) -> set[str]:
    return {s.host or s.path for s in series}


def _unusable(
    path: str, busy: Floats, cores_percent: float | None, coverage: float, step_s: float, limits: PolicyLimits
) -> str:
    if not busy.any():
        return f"{path} shows 0 % CPU throughout: it did not measure a generator at work"
    if step_s > limits["GH01.step"]:
        return f"{path} has a sample only every {step_s:g} s (at most {limits['GH01.step']:g} s)"
    if coverage < limits["GH01.coverage"]:
        return f"{path} covers {coverage:.1%} of the window ({limits['GH01.coverage'] * 100:g} % needed)"
    if cores_percent is not None and abs(cores_percent - float(busy.mean())) > MOST_APART:
        return (
            f"{path}: its cores are {cores_percent:.0f} % busy on average and the machine {busy.mean():.0f} %: "
            "they are not of one machine"
        )
    return ""


def _window_ns(timeline: Timeline, names: tuple[str, ...] | list[str]) -> tuple[int, int] | None:
    spans = [
        (c.from_ns, c.to_ns)
        for k, c in timeline.keys.items()
        if k.generator in names and c.origin_ns is not None and c.window_s > 0
    ]
    return (min(s for s, _ in spans), max(e for _, e in spans)) if spans else None


def _load(
    series: HostSeries,
    span: tuple[int, int],
    covers: tuple[str, ...],
    shared: bool,
    limits: PolicyLimits,
) -> HostUse | None:
    start, end = span
    interval_ns = np.rint(series.interval_s * NS_PER_S).astype(np.int64)
    begin = series.stamp_ns - interval_ns
    inside = (series.stamp_ns > start) & (begin < end) & np.isfinite(series.cpu_busy_percent)
    if not inside.any():
        return None
    busy = series.cpu_busy_percent[inside]
    length_s = series.interval_s[inside]
    stamps = series.stamp_ns[inside]
    step_s = float(length_s.max())
    # A sample at an edge counts by the part of its interval that lies in the window.
    overlap_ns = np.minimum(stamps, end) - np.maximum(begin[inside], start)
    overlap_ns = np.maximum(overlap_ns, 1)
    best, best_at = _highest_mean(busy, length_s, stamps, PEAK_SPAN_S)
    core, core_percent, hot = _cores(series, inside, length_s, stamps, limits["GH04.busy"])
    # A k6 at work is never at exactly 0 % throughout: such a file measured something else.
    coverage = _coverage(begin[inside], stamps, start, end) if busy.any() else 0.0
    return HostUse(
        path=series.path,
        host=series.host,
        covers=covers,
        shared=shared,
        coverage=coverage,
        step_s=step_s,
        cores=series.cores,
        mean_percent=float(np.average(busy, weights=overlap_ns)),
        p95_percent=float(np.percentile(busy, 95)),
        max_5s_percent=best,
        max_5s_at_ns=best_at,
        worst_core_percent=core_percent,
        worst_core=core,
        hot_core_ns=hot,
        steal_mean_percent=_mean(series.steal_percent, inside),
        mem_used_max_percent=_max(series.mem_used_percent, inside),
        swap_in_max_per_s=_max(series.swap_in_pages_per_s, inside),
        unusable=_unusable(series.path, busy, _mean_of_cores(series, inside), coverage, step_s, limits),
        window_s=(end - start) / NS_PER_S,
    )


def _coverage(begin: Ints, stamps: Ints, start: int, end: int) -> float:
    """Share of [start, end] inside the union of (begin, stamp]; one interval at each edge is forgiven."""
    forgiven = int((stamps - begin).max())
    low, high = start + forgiven, end - forgiven
    if high <= low:
        low, high = start, end
        begin = begin - forgiven
        stamps = stamps + forgiven
    if high <= low:
        return 0.0
    begin, stamps = np.clip(begin, low, high), np.clip(stamps, low, high)
    order = np.argsort(begin, kind="stable")
    begin, stamps = begin[order], stamps[order]
    # What an interval adds to those that begin before it: the part behind the farthest of their ends.
    covered = np.maximum.accumulate(np.concatenate(([low], stamps[:-1])))
    return int(np.maximum(stamps - np.maximum(begin, covered), 0).sum()) / (high - low)


def _runs(length_s: Floats, stamps: Ints, span_s: float) -> Ints:
    """Rows (first, last + 1) of consecutive samples that fill ``span_s``, at least two of them."""
    # As lists: an element of an array costs several times as much to take out.
    ends, lengths = (stamps / NS_PER_S).tolist(), length_s.tolist()
    begins = (stamps / NS_PER_S - length_s).tolist()
    enough = span_s - 1e-6
    found = []
    first = 0
    for last, end in enumerate(ends):
        if last and begins[last] - ends[last - 1] > HOLE_SHARE * lengths[last]:
            first = last
        while first < last - 1 and end - begins[first + 1] >= enough:
            first += 1
        if last > first and end - begins[first] >= enough:
            found.append((first, last + 1))
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _means(series: Floats, length_s: Floats, runs: Ints) -> Floats:
    """Mean of every run of every row of ``series``, weighted by ``length_s``; -1 where a value is not known.

    Runs of one length are summed side by side, in blocks of limited size; each as `numpy.average` sums it.
    """
    weights = np.maximum(length_s, 1e-9)
    weighted = np.where(np.isfinite(series), series, np.nan) * weights
    means = np.empty((len(series), len(runs)))
    lengths = runs[:, 1] - runs[:, 0]
    for length in np.unique(lengths):
        alike = np.flatnonzero(lengths == length)
        step = max(1, MOST_AT_ONCE // int(length))
        for i in range(0, len(alike), step):
            block = alike[i : i + step]
            rows = runs[block, :1] + np.arange(length)
            total = weights[rows].sum(axis=1)
            for one, mean in zip(weighted, means, strict=True):
                mean[block] = one[rows].sum(axis=1) / total
    return np.where(np.isnan(means), -1.0, means)


def _highest_mean(values: Floats, length_s: Floats, stamps: Ints, span_s: float) -> tuple[float, int]:
    """The highest mean over consecutive samples that fill the span; the plain maximum of too short a series."""
    runs = _runs(length_s, stamps, span_s)
    (means,) = _means(values[None], length_s, runs)
    if not len(means) or means.max() < 0:
        index = int(np.argmax(values))
        return float(values[index]), int(stamps[index])
    best = int(np.argmax(means))
    return float(means[best]), int(stamps[runs[best, 1] - 1])


def _cores(
    series: HostSeries, inside: np.ndarray, length_s: Floats, stamps: Ints, hot_percent: float
) -> tuple[int | None, float | None, tuple[tuple[int, int, int], ...]]:
    if series.core_busy_percent is None:
        return None, None, ()
    columns = np.ascontiguousarray(series.core_busy_percent[inside].T)
    runs = _runs(length_s, stamps, CORE_SPAN_S)
    # Where no samples fill the span, each stands for itself.
    means = _means(columns, length_s, runs) if len(runs) else np.where(np.isfinite(columns), columns, -1.0)
    worst: tuple[float, int] = (-1.0, 0)
    hot: list[tuple[int, int, int]] = []
    for core, mean in enumerate(means):
        worst = max(worst, (float(mean.max()), core))
        for first, after in runs[mean > hot_percent] if len(runs) else ():
            begin = int(stamps[first] - length_s[first] * NS_PER_S)
            hot.append((core, begin, int(stamps[after - 1])))
    return (worst[1], worst[0], tuple(hot)) if worst[0] >= 0 else (None, None, ())


def _mean_of_cores(series: HostSeries, inside: np.ndarray) -> float | None:
    """Mean over all cores and the window; None if a core is not known throughout."""
    if series.core_busy_percent is None or not np.isfinite(series.core_busy_percent[inside]).all():
        return None
    return float(series.core_busy_percent[inside].mean())


def _mean(column: Floats | None, inside: np.ndarray) -> float | None:
    if column is None or not np.isfinite(column[inside]).any():
        return None
    return float(np.nanmean(column[inside]))


def _max(column: Floats | None, inside: np.ndarray) -> float | None:
    if column is None or not np.isfinite(column[inside]).any():
        return None
    return float(np.nanmax(column[inside]))
