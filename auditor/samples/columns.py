"""The samples of one generator: kept columns, counts per series, and the stamps of each second.

Stamps and tag sets that several metrics share (nine metrics of a request do) are in memory once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from auditor.evidence import MetricDefinition, PointsSource, PointTables, ReadReport, Tags
from auditor.samples.reduce import Floats, Ints, Piece, Reduced, joined_values, stamps_by_second, summed
from auditor.samples.spill import Spill
from auditor.units import NS_PER_MS

FINE_STAMP_NS = 10_000_000
"""Stamps coarser than 10 ms cannot say when an iteration started (semantics §8)."""

ITERATION_METRICS = ("iterations", "iteration_duration", "data_sent", "dropped_iterations")
"""k6 writes these for iterations, with the scenario that they are of."""

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


@dataclass(frozen=True)
class Column:
    """All samples of one metric, sorted by time, tag set and value."""

    time_ns: Ints
    value: Floats
    tagset: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.time_ns)

    def where(self, mask: npt.NDArray[np.bool_]) -> Column:
        if mask.all():
            return self
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
    bytes_of: Mapping[str, int]
    """The sums of `data_sent` and `data_received`, where they have samples."""

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

    @cached_property
    def at_work_ns(self) -> tuple[int, int] | None:
        """From the start of the first iteration to the last of an iteration or request; None without any.

        A process that k6-operator holds back counts `vus` all the while: that is not running.
        """
        found = [c for name, c in self.columns.items() if not name.startswith("vus") and len(c)]
        durations = self.column("iteration_duration")
        if not found or not len(durations):
            return None
        started_ns = durations.time_ns - np.round(durations.value * NS_PER_MS).astype(np.int64)
        return int(started_ns.min()), max(int(column.time_ns.max()) for column in found)

    @property
    def coarse_ns(self) -> int:
        """How much too early a sample may be stamped, if that is more than 10 ms; else 0."""
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
        """Names of the scenarios that ran iterations, sorted.

        A script may give its requests a tag `scenario` of its own, and `vus` may carry one of the options:
        neither is a scenario of k6's.
        """
        of_iterations = [i for i, name in enumerate(self.metrics) if name in ITERATION_METRICS]
        rows = np.isin(self.series_metric, of_iterations)
        if not rows.any():  # all of them were filtered out
            rows = ~np.isin(self.series_metric, [i for i, n in enumerate(self.metrics) if n.startswith("vus")])
        named = self.tag("scenario")[np.unique(self.series_tagset[rows])]
        return tuple(sorted({s for s in named if s}))

    @cached_property
    def grouped(self) -> bool:
        """Whether samples carry the tag `group`, by which setup() and teardown() can be told."""
        return any(key == "group" for tags in self.tagsets for key, _ in tags)

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


def merged(source: PointsSource, parts: Sequence[Reduced], spill: Spill | None = None) -> GeneratorSamples:
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
    kept: dict[str, list[_Mapped]] = {}
    series: list[tuple[Ints, Ints]] = []
    for part in parts:
        metrics = np.array([metric_id[name] for name in part.tables.metrics], dtype=np.int64)
        tagsets = np.array([tagset_id[tags] for tags in part.tables.tagsets], dtype=np.int32)
        pairs, counts = part.series
        series.append((metrics[pairs >> 32] << 32 | tagsets[pairs & 0xFFFFFFFF], counts))
        for name, pieces in part.kept.items():
            kept.setdefault(name, []).extend((piece, tagsets) for piece in pieces)
            pieces.clear()
    pairs, counts = summed(series)
    _, first_ns, last_ns = stamps_by_second([part.seconds for part in parts])
    shown = source.masked(tables)
    columns: dict[str, list[_Mapped]] = {}
    for name, mapped in kept.items():
        columns.setdefault(shown.metrics[metric_id[name]], []).extend(mapped)
    if found := next((part.report.sha256 for part in parts if part.report.sha256), ""):
        source.sha256.note(found)
    return GeneratorSamples(
        path=source.path,
        metrics=tuple(shown.metrics),
        tagsets=tuple(shown.tagsets),
        columns=_columns(columns, spill or Spill()),
        series_metric=(pairs >> 32).astype(np.int32),
        series_tagset=(pairs & 0xFFFFFFFF).astype(np.int32),
        series_count=counts,
        second_first_ns=first_ns,
        second_last_ns=last_ns,
        definitions=shown.definitions,
        read=ReadReport.of([part.report for part in parts]),
        bytes_of=dict(sorted(_bytes(parts).items())),
    )


def _bytes(parts: Sequence[Reduced]) -> Counter[str]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part.sums)
    return total


def _in_one(tags: Tags) -> str:
    """A tag set as one string, which is quicker to sort by."""
    return "\0".join([part for pair in tags for part in pair])


def _columns(kept: dict[str, list[_Mapped]], spill: Spill) -> dict[str, Column]:
    found: dict[str, Column] = {}
    for name in sorted(kept):
        column = _sorted(kept.pop(name), spill)
        for other in found.values():
            if np.array_equal(column.time_ns, other.time_ns) and np.array_equal(column.tagset, other.tagset):
                spill.drop(column.time_ns, column.tagset)
                column = Column(other.time_ns, column.value, other.tagset)
                break
        found[name] = column
    return found


_Mapped = tuple[Piece, npt.NDArray[np.int32]]
"""Kept samples, and the final id of each tag set that their reader knew."""


def _sorted(parts: list[_Mapped], spill: Spill) -> Column:
    """One column of the parts, which are given up."""
    parts.sort(key=lambda part: int(part[0].time_ns[0]))  # so that there is little left to sort
    pieces = [piece for piece, _ in parts]
    time_ns = spill.joined([piece.time_ns for piece in pieces], np.int64)
    value = joined_values(pieces, spill.joined)
    tagset = spill.empty(len(time_ns), np.int32)
    at = 0
    for piece, ids in parts:
        end = at + len(piece.tagset)
        np.take(ids, piece.tagset, out=tagset[at:end], mode="clip")
        at = end
    for piece in pieces:
        spill.drop(piece.time_ns, piece.value, piece.tagset)
    parts.clear()
    if len(value) == 1:
        value = np.broadcast_to(value, len(time_ns))
    order = _order(time_ns, tagset, value)
    if order is None:
        return Column(time_ns, value, tagset)
    if value.strides != (0,):
        value = spill.ordered(value, order)
    return Column(spill.ordered(time_ns, order), value, spill.ordered(tagset, order))


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
