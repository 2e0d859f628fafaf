"""Samples reduced to what the facts need: kept columns, counts per series, and the stamps of each second.

The reducer is the one place that sees batches. It is mergeable and independent of the order of lines, of
batches and of the number of workers: integers are summed, kept columns are sorted at the end, floats are
summed by no one here.

A run of ten minutes at 4,000/s is 31 million samples, so memory is spent on what the facts need: only some
metrics are kept, in the narrowest types while they come in, a value that never changes once, and stamps and
tag sets that several metrics share (nine metrics of a request do) once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from auditor.evidence import (
    Declared,
    Evidence,
    GeneratorEvidence,
    MetricDefinition,
    PartReport,
    PointBatch,
    PointsPart,
    PointsSource,
    PointTables,
    ReadReport,
    Tags,
)
from auditor.facts.store import Unknown, provides

NS_PER_S = 1_000_000_000
FINE_STAMP_NS = 10_000_000
"""Stamps coarser than 10 ms cannot say when an iteration started (semantics §8)."""

PROTOCOL_DURATIONS = ("http_req_duration", "grpc_req_duration", "browser_http_req_duration", "ws_connecting")
"""The latency metric of each protocol that k6 speaks."""

KEPT = frozenset(
    {
        *PROTOCOL_DURATIONS,
        "http_req_blocked",  # with the duration: when a request started, what the client felt
        "http_req_connecting",
        "http_req_tls_handshaking",
        "http_req_failed",  # failure, where no expected_response tag says it
        "iteration_duration",  # start and end of every completed iteration
        "iterations",
        "dropped_iterations",
    }
)
"""Metrics whose samples are kept; of all others (without a threshold) only counts and stamps are."""

REQUEST_SET = (
    "http_reqs",
    "http_req_duration",
    "http_req_blocked",
    "http_req_connecting",
    "http_req_tls_handshaking",
    "http_req_sending",
    "http_req_waiting",
    "http_req_receiving",
)
"""Every HTTP request writes one sample of each (and http_req_failed unless responseCallback is null)."""

FOLD_SERIES = 1 << 20
"""Counts per series are added up whenever so many have gathered."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """All samples of one metric, sorted by time, tag set and value."""

    time_ns: Ints
    value: Floats
    tagset: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.time_ns)

    def where(self, mask: npt.NDArray[np.bool_]) -> Column:
        return Column(self.time_ns[mask], self.value[mask], self.tagset[mask])


EMPTY = Column(np.empty(0, np.int64), np.empty(0, np.float64), np.empty(0, np.int32))


@dataclass(frozen=True)
class GeneratorSamples:
    """The samples of one generator's points file."""

    path: str
    metrics: tuple[str, ...]
    tagsets: tuple[Tags, ...]
    columns: Mapping[str, Column]
    series_metric: npt.NDArray[np.int32]
    """With series_tagset and series_count: the distinct (metric, tag set) pairs and their samples."""
    series_tagset: npt.NDArray[np.int32]
    series_count: Ints
    second_first_ns: Ints
    """First and last stamp of each second that has one, in order."""
    second_last_ns: Ints
    definitions: Mapping[str, MetricDefinition]
    read: ReadReport

    def column(self, metric: str) -> Column:
        """The kept samples of a metric; empty if it has none."""
        return self.columns.get(metric, EMPTY)

    @property
    def first_ns(self) -> int | None:
        return int(self.second_first_ns[0]) if len(self.second_first_ns) else None

    @property
    def last_ns(self) -> int | None:
        """The end of the evidence: the last stamp of any metric."""
        return int(self.second_last_ns[-1]) if len(self.second_last_ns) else None

    @property
    def coarse_ns(self) -> int:
        """How much earlier than it was a sample may be stamped, where that is more than 10 ms; else 0."""
        coarse = self.read.stamp_resolution_ns > FINE_STAMP_NS and self.read.points > 1
        return self.read.stamp_resolution_ns if coarse else 0

    @cached_property
    def count_of(self) -> Mapping[str, int]:
        """Samples of each metric, kept or not."""
        totals = np.bincount(self.series_metric, self.series_count, len(self.metrics))
        return {name: int(n) for name, n in zip(self.metrics, totals, strict=True)}

    def tag(self, name: str, default: str = "") -> npt.NDArray[np.object_]:
        """The value of one tag for every tag set."""
        out = np.empty(len(self.tagsets), dtype=object)
        for i, tags in enumerate(self.tagsets):
            out[i] = next((value for key, value in tags if key == name), default)
        return out

    @cached_property
    def outside_iterations(self) -> npt.NDArray[np.bool_]:
        """For every tag set: whether it belongs to setup() or teardown().

        k6 gives their samples these groups and no scenario; a group of the script may have the same name.
        """
        pairs = zip(self.tag("group"), self.tag("scenario"), strict=True)
        return np.array([g in ("::setup", "::teardown") and not s for g, s in pairs], dtype=bool)

    @cached_property
    def scenarios(self) -> tuple[str, ...]:
        """Scenario names that samples carry, sorted."""
        return tuple(sorted({s for s in self.tag("scenario") if s}))

    @cached_property
    def untagged(self) -> bool:
        """Whether iterations carry no scenario tag (the tag was switched off)."""
        return not self.scenarios and bool(self.count_of.get("iterations") or self.count_of.get("data_sent"))

    def of_scenario(self, column: Column, scenario: str) -> Column:
        """The samples of a scenario; of the only one, if the scenario tag was switched off."""
        return column.where(self._member(scenario)[column.tagset]) if len(column) else column

    def count_of_scenario(self, metric: str, scenario: str) -> int:
        """How many samples of a metric, kept or not, a scenario has."""
        if metric not in self.metrics:
            return 0
        rows = self.series_metric == self.metrics.index(metric)
        return int(self.series_count[rows & self._member(scenario)[self.series_tagset]].sum())

    def _member(self, scenario: str) -> npt.NDArray[np.bool_]:
        """For every tag set: whether it belongs to iterations of a scenario."""
        member = ~self.outside_iterations
        if not self.untagged:
            member = member & (self.tag("scenario") == scenario)
        return member


@dataclass(frozen=True)
class Samples:
    """The samples of every generator that left points."""

    by_generator: Mapping[str, GeneratorSamples]


@dataclass(frozen=True)
class _Part:
    """Kept samples of one metric in one batch."""

    time_ns: Ints
    value: Floats
    """One value only if all are the same, to the bit."""
    tagset: npt.NDArray[np.uint16] | npt.NDArray[np.int32]


@dataclass(frozen=True)
class Reduced:
    """What one reader has seen of a points file: kept samples and counts, under the ids of its own tables."""

    tables: PointTables
    kept: Mapping[str, list[_Part]]
    passed_over: frozenset[str]
    """Metrics of which samples were not kept."""
    series: tuple[Ints, Ints]
    """Pairs of metric and tag set (metric << 32 | tag set), and their samples."""
    seconds: tuple[Ints, Ints, Ints]
    """Seconds, and the first and last stamp of each."""
    report: PartReport


class SampleReducer:
    """Folds the batches of one part of a points file."""

    def __init__(self, tables: PointTables, keep: frozenset[str] = KEPT) -> None:
        self._tables = tables
        self._keep = frozenset(keep)
        self._kept: dict[str, list[_Part]] = {}
        self._passed_over: set[str] = set()
        self._series: list[tuple[Ints, Ints]] = []
        self._unfolded = 0
        self._fold_at = FOLD_SERIES
        self._seconds: list[tuple[Ints, Ints, Ints]] = []

    def add(self, batch: PointBatch) -> None:
        if not len(batch.metric):
            return
        self._add_series(*_counted(batch, len(self._tables.metrics), len(self._tables.tagsets)))
        self._seconds.append(_spans(batch.time_ns))
        narrow = len(self._tables.tagsets) <= 1 << 16
        for index in np.flatnonzero(np.bincount(batch.metric)):
            name = self._tables.metrics[index]
            definition = self._tables.definitions.get(name)
            if name not in self._keep and (definition is None or not definition.thresholds):
                self._passed_over.add(name)
                continue
            rows = np.flatnonzero(batch.metric == index)
            tagset = batch.tagset[rows]
            part = _Part(
                batch.time_ns[rows], _once(batch.value[rows]), tagset.astype(np.uint16) if narrow else tagset
            )
            self._kept.setdefault(name, []).append(part)

    def _add_series(self, pairs: Ints, counts: Ints) -> None:
        self._series.append((pairs, counts))
        self._unfolded += len(pairs)
        if self._unfolded > self._fold_at:
            self._series = [_summed(self._series)]
            self._unfolded = len(self._series[0][0])
            self._fold_at = max(FOLD_SERIES, 2 * self._unfolded)

    def result(self, report: PartReport) -> Reduced:
        return Reduced(
            self._tables,
            self._kept,
            frozenset(self._passed_over),
            _summed(self._series),
            _stamps(self._seconds),
            report,
        )


def reduce_part(part: PointsPart, keep: frozenset[str]) -> Reduced:
    """Read one part of a points file, here or in another process."""
    reducer = SampleReducer(part.tables, keep)
    for batch in part.batches():
        reducer.add(batch)
    return reducer.result(part.report())


def merged(source: PointsSource, parts: Sequence[Reduced]) -> GeneratorSamples:
    """The samples of a file whose parts were reduced; the parts are given up: nothing is in memory twice.

    What comes out does not depend on who read what: names and tag sets are numbered in their own order,
    counts are integers, and kept samples are sorted.
    """
    definitions: dict[str, tuple[tuple[int, int], MetricDefinition]] = {}
    for part in parts:
        for name, definition in part.tables.definitions.items():
            place = part.tables.defined_at.get(name, (0, 0))
            if name not in definitions or place < definitions[name][0]:
                definitions[name] = (place, definition)
    tables = PointTables(
        sorted({name for part in parts for name in part.tables.metrics}),
        sorted(
            {tags for part in parts for tags in part.tables.tagsets}, key=lambda tags: (_in_one(tags), tags)
        ),
        {name: definitions[name][1] for name in sorted(definitions)},
    )
    metric_id = {name: i for i, name in enumerate(tables.metrics)}
    tagset_id = {tags: i for i, tags in enumerate(tables.tagsets)}
    kept: dict[str, list[_Part]] = {}
    series: list[tuple[Ints, Ints]] = []
    for part in parts:
        metrics = np.array([metric_id[name] for name in part.tables.metrics], dtype=np.int64)
        tagsets = np.array([tagset_id[tags] for tags in part.tables.tagsets], dtype=np.int32)
        pairs, counts = part.series
        series.append((metrics[pairs >> 32] << 32 | tagsets[pairs & 0xFFFFFFFF], counts))
        narrow = tagsets.astype(np.uint16) if len(tables.tagsets) <= 1 << 16 else tagsets
        for name, pieces in part.kept.items():
            mine = kept.setdefault(name, [])
            while pieces:
                piece = pieces.pop()
                mine.append(_Part(piece.time_ns, piece.value, narrow[piece.tagset]))
    pairs, counts = _summed(series)
    _, first_ns, last_ns = _stamps([part.seconds for part in parts])
    shown = source.masked(tables)
    columns: dict[str, list[_Part]] = {}
    for name, pieces in kept.items():
        columns.setdefault(shown.metrics[metric_id[name]], []).extend(pieces)
    if found := next((part.report.sha256 for part in parts if part.report.sha256), ""):
        source.sha256.note(found)
    return GeneratorSamples(
        path=source.path,
        metrics=tuple(shown.metrics),
        tagsets=tuple(shown.tagsets),
        columns=_columns(columns),
        series_metric=(pairs >> 32).astype(np.int32),
        series_tagset=(pairs & 0xFFFFFFFF).astype(np.int32),
        series_count=counts,
        second_first_ns=first_ns,
        second_last_ns=last_ns,
        definitions=shown.definitions,
        read=ReadReport.of([part.report for part in parts]),
    )


def _in_one(tags: Tags) -> str:
    """A tag set as one string, which is quicker to sort by."""
    return "\0".join([part for pair in tags for part in pair])


def _columns(kept: dict[str, list[_Part]]) -> dict[str, Column]:
    found: dict[str, Column] = {}
    for name in sorted(kept):
        column = _sorted(kept.pop(name))
        for other in found.values():
            if np.array_equal(column.time_ns, other.time_ns) and np.array_equal(column.tagset, other.tagset):
                column = Column(other.time_ns, column.value, other.tagset)
                break
        found[name] = column
    return found


def _counted(batch: PointBatch, metrics: int, tagsets: int) -> tuple[Ints, Ints]:
    """The distinct pairs of metric and tag set, as metric << 32 | tag set, and their samples."""
    if metrics * tagsets > 4 * len(batch.metric) + 65536:
        pairs, counts = np.unique(batch.metric.astype(np.int64) << 32 | batch.tagset, return_counts=True)
        return pairs, counts
    every = np.bincount(batch.metric.astype(np.int64) * tagsets + batch.tagset)
    pairs = np.flatnonzero(every)
    return (pairs // tagsets) << 32 | (pairs % tagsets), every[pairs]


def _spans(time_ns: Ints) -> tuple[Ints, Ints, Ints]:
    """Seconds, and the first and last stamp of each; a second may occur again where stamps are not in order."""
    second = time_ns // NS_PER_S
    starts = np.flatnonzero(second[1:] != second[:-1]) + 1
    starts = np.concatenate((np.zeros(1, dtype=np.int64), starts))
    spans = second[starts], np.minimum.reduceat(time_ns, starts), np.maximum.reduceat(time_ns, starts)
    if len(starts) < 64:
        return spans
    found, inverse = np.unique(spans[0], return_inverse=True)
    return found, *_extremes(len(found), inverse, spans[1], spans[2])


def _extremes(n: int, group: Ints, lowest: Ints, highest: Ints) -> tuple[Ints, Ints]:
    first = np.full(n, np.iinfo(np.int64).max)
    last = np.full(n, np.iinfo(np.int64).min)
    np.minimum.at(first, group, lowest)
    np.maximum.at(last, group, highest)
    return first, last


def _once(value: Floats) -> Floats:
    """One value for all if they are the same, to the bit."""
    bits = value.view(np.int64)
    return value[:1].copy() if (bits == bits[0]).all() else value


def _summed(parts: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    keys, inverse = np.unique(np.concatenate([p for p, _ in parts]), return_inverse=True)
    counts = np.zeros(len(keys), dtype=np.int64)
    np.add.at(counts, inverse, np.concatenate([c for _, c in parts]))
    return keys, counts


def _stamps(parts: list[tuple[Ints, Ints, Ints]]) -> tuple[Ints, Ints, Ints]:
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    second, inverse = np.unique(np.concatenate([p[0] for p in parts]), return_inverse=True)
    lowest, highest = np.concatenate([p[1] for p in parts]), np.concatenate([p[2] for p in parts])
    return second, *_extremes(len(second), inverse, lowest, highest)


def _sorted(parts: list[_Part]) -> Column:
    """One column of the parts, which are given up."""
    parts.sort(key=lambda p: int(p.time_ns[0]))  # so that there is little left to sort
    time_ns = np.concatenate([p.time_ns for p in parts])
    tagset = np.concatenate([p.tagset for p in parts], dtype=np.int32)
    known = parts[0].value
    if all(len(p.value) == 1 and p.value.view(np.int64)[0] == known.view(np.int64)[0] for p in parts):
        value: Floats = np.broadcast_to(known, len(time_ns))
    else:
        value = np.concatenate([np.broadcast_to(p.value, len(p.time_ns)) for p in parts])
    parts.clear()
    order = _order(time_ns, tagset, value)
    if order is None:
        return Column(time_ns, value, tagset)
    if value.strides != (0,):
        value = value[order]
    return Column(time_ns[order], value, tagset[order])


def _order(time_ns: Ints, tagset: npt.NDArray[np.int32], value: Floats) -> Ints | None:
    """The order by time, tag set and value; None if the columns are in it.

    k6 writes samples nearly in order of time, and few at one time, so that sorting all by three keys would be
    wasted: all by time (quick where most is in order), and then only those that share a stamp.
    """
    order: Ints | None = None
    if (time_ns[1:] < time_ns[:-1]).any():
        order = np.argsort(time_ns, kind="stable")
        time_ns = time_ns[order]
    tied = time_ns[1:] == time_ns[:-1]
    if tied.any():
        rows = np.flatnonzero(np.concatenate((tied, [False])) | np.concatenate(([False], tied)))
        these = rows if order is None else order[rows]
        within = np.lexsort((value[these], tagset[these], time_ns[rows]))
        order = np.arange(len(time_ns)) if order is None else order
        order[rows] = these[within]
    return order


class Workers(ABC):
    """Who reads points files: given to the facts, as the evidence is."""

    @abstractmethod
    def reduce(self, wanted: Sequence[tuple[PointsSource, frozenset[str]]]) -> list[list[Reduced]]:
        """Every source reduced, keeping the samples of the metrics named beside it."""


class Threads(Workers):
    """Threads of this process: nearly all the work is done in native code that holds no lock.

    Beside each file that is being read another thread reads, hashes and decompresses it.
    """

    def __init__(self, n: int = 1) -> None:
        self.n = n

    def reduce(self, wanted: Sequence[tuple[PointsSource, frozenset[str]]]) -> list[list[Reduced]]:
        if self.n <= 1:
            return [[reduce_part(source.parts(1)[0], keep)] for source, keep in wanted]
        share = max(1, self.n // max(1, len(wanted)))
        with ThreadPoolExecutor(self.n) as pool:
            asked = [
                [pool.submit(reduce_part, part, keep) for part in source.parts(share)]
                for source, keep in wanted
            ]
            return [[future.result() for future in futures] for futures in asked]


@provides
def samples(evidence: Evidence, declared: Declared, workers: Workers) -> Samples:
    """Read every generator's points, once."""
    with_points = [(g, g.points) for g in evidence.generators if g.points is not None]
    if not with_points:
        raise Unknown(
            "no k6 points file was found",
            "record the run with `k6 run --out json=k6.json.gz` and keep the file",
        )
    wanted = [(source, KEPT | _named(generator, declared)) for generator, source in with_points]
    reduced = workers.reduce(wanted)
    found: dict[str, GeneratorSamples] = {}
    for (generator, source), (_, keep), parts in zip(with_points, wanted, reduced, strict=True):
        if late := _defined_late(parts):
            # Somebody met samples of a metric before it was known to have thresholds.
            (parts,) = workers.reduce([(source, keep | late)])
        found[generator.name] = merged(source, parts)
    return Samples(found)


def _named(generator: GeneratorEvidence, declared: Declared) -> frozenset[str]:
    """Metrics that somebody asks for by name."""
    named = {declared.latency_metric} if declared.latency_metric else set()
    if (told := generator.source_of("thresholds")) is not None:
        named |= {metric.split("{", 1)[0] for metric in told.thresholds}
    return frozenset(named)


def _defined_late(parts: Sequence[Reduced]) -> frozenset[str]:
    with_thresholds = {
        name for part in parts for name, definition in part.tables.definitions.items() if definition.thresholds
    }
    return frozenset(with_thresholds & {name for part in parts for name in part.passed_over})
