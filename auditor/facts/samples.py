"""Samples reduced to what the facts need: kept columns, counts per series, and the stamps of each second.

The reducer is the one place that sees batches. It is mergeable and independent of the order of lines, of
batches and of the number of workers: integers are summed, kept columns are sorted at the end, floats are
summed by no one here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from auditor.evidence import (
    Declared,
    Evidence,
    GeneratorEvidence,
    MetricDefinition,
    PointBatch,
    PointTables,
    ReadReport,
    Tags,
)
from auditor.facts.store import Unknown, provides

NS_PER_S = 1_000_000_000

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
        "data_sent",  # one for every iteration that began, interrupted ones included
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
        """For every tag set: whether it belongs to setup() or teardown()."""
        group = self.tag("group")
        return np.array([g == "::setup" or g == "::teardown" for g in group], dtype=bool)

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
        member = ~self.outside_iterations
        if not self.untagged:
            member = member & (self.tag("scenario") == scenario)
        return column.where(member[column.tagset]) if len(column) else column


@dataclass(frozen=True)
class Samples:
    """The samples of every generator that left points."""

    by_generator: Mapping[str, GeneratorSamples]


class SampleReducer:
    """Folds batches of one points file, or of a part of it, into `GeneratorSamples`."""

    def __init__(self, tables: PointTables, keep: Iterable[str] = ()) -> None:
        self._tables = tables
        self._keep = KEPT | frozenset(keep)
        self._kept: dict[str, list[Column]] = {}
        self._series: list[tuple[Ints, Ints]] = []
        self._seconds: list[tuple[Ints, Ints, Ints]] = []

    def add(self, batch: PointBatch) -> None:
        pair = batch.metric.astype(np.int64) << 32 | batch.tagset
        self._series.append(np.unique(pair, return_counts=True))
        second, inverse = np.unique(batch.time_ns // NS_PER_S, return_inverse=True)
        first = np.full(len(second), np.iinfo(np.int64).max)
        last = np.full(len(second), np.iinfo(np.int64).min)
        np.minimum.at(first, inverse, batch.time_ns)
        np.maximum.at(last, inverse, batch.time_ns)
        self._seconds.append((second, first, last))
        for index in np.unique(batch.metric):
            name = self._tables.metrics[index]
            definition = self._tables.definitions.get(name)
            if name in self._keep or (definition is not None and definition.thresholds):
                rows = np.flatnonzero(batch.metric == index)
                self._kept.setdefault(name, []).append(
                    Column(batch.time_ns[rows], batch.value[rows], batch.tagset[rows])
                )

    def merge(self, other: SampleReducer) -> None:
        """Take over what another reducer of the same tables has seen."""
        for name, parts in other._kept.items():
            self._kept.setdefault(name, []).extend(parts)
        self._series += other._series
        self._seconds += other._seconds

    def result(self, path: str, read: ReadReport) -> GeneratorSamples:
        pairs, counts = _summed(self._series)
        second_first, second_last = _stamps(self._seconds)
        return GeneratorSamples(
            path=path,
            metrics=tuple(self._tables.metrics),
            tagsets=tuple(self._tables.tagsets),
            columns={name: _sorted(parts) for name, parts in self._kept.items()},
            series_metric=(pairs >> 32).astype(np.int32),
            series_tagset=(pairs & 0xFFFFFFFF).astype(np.int32),
            series_count=counts,
            second_first_ns=second_first,
            second_last_ns=second_last,
            definitions=dict(self._tables.definitions),
            read=read,
        )


def _summed(parts: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    keys, inverse = np.unique(np.concatenate([p for p, _ in parts]), return_inverse=True)
    counts = np.zeros(len(keys), dtype=np.int64)
    np.add.at(counts, inverse, np.concatenate([c for _, c in parts]))
    return keys, counts


def _stamps(parts: list[tuple[Ints, Ints, Ints]]) -> tuple[Ints, Ints]:
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    second, inverse = np.unique(np.concatenate([p[0] for p in parts]), return_inverse=True)
    first = np.full(len(second), np.iinfo(np.int64).max)
    last = np.full(len(second), np.iinfo(np.int64).min)
    np.minimum.at(first, inverse, np.concatenate([p[1] for p in parts]))
    np.maximum.at(last, inverse, np.concatenate([p[2] for p in parts]))
    return first, last


def _sorted(parts: list[Column]) -> Column:
    time_ns = np.concatenate([p.time_ns for p in parts])
    value = np.concatenate([p.value for p in parts])
    tagset = np.concatenate([p.tagset for p in parts])
    order = np.lexsort((value, tagset, time_ns))
    return Column(time_ns[order], value[order], tagset[order])


@provides
def samples(evidence: Evidence, declared: Declared) -> Samples:
    """Read every generator's points, once."""
    found = {
        generator.name: _reduce(generator, declared)
        for generator in evidence.generators
        if generator.points is not None
    }
    if not found:
        raise Unknown(
            "no k6 points file was found",
            "record the run with `k6 run --out json=k6.json.gz` and keep the file",
        )
    return Samples(found)


def _reduce(generator: GeneratorEvidence, declared: Declared) -> GeneratorSamples:
    source = generator.points
    assert source is not None
    named = [declared.latency_metric] if declared.latency_metric else []
    if generator.options is not None:
        named += [metric.split("{", 1)[0] for metric in generator.options.thresholds]
    reducer = SampleReducer(source.tables, named)
    for batch in source.batches():
        reducer.add(batch)
    return reducer.result(source.path, source.report())
