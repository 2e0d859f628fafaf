"""Batches of samples reduced to what the facts need: kept samples, counts per series, stamps of each second.

The reducer is the one place that sees batches. What reducers of any number of parts have seen can be merged,
whatever the order of lines, of batches and of parts: integers are summed, kept samples are sorted at the end
(`samples.merged`), floats are summed by no one here.

A run of ten minutes at 4,000/s is 31 million samples, so memory is spent on what the facts need: only some
metrics are kept, in the narrowest types, and a value that never changes once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from auditor.evidence import MetricBatch, PartReport, PointBatch, PointsPart, PointTables
from auditor.samples.spill import Spill
from auditor.units import NS_PER_S

PROTOCOL_DURATIONS = ("http_req_duration", "grpc_req_duration", "browser_http_req_duration", "ws_connecting")
"""The latency metric of each protocol that k6 speaks."""

KEPT = frozenset(
    {
        *PROTOCOL_DURATIONS,
        "http_req_blocked",  # with the duration: when a request started, what the client felt
        "http_req_connecting",
        "http_req_tls_handshaking",
        "http_req_sending",  # the parts of the duration: their sum must be it
        "http_req_waiting",
        "http_req_receiving",
        "http_req_failed",  # failure, where no expected_response tag says it
        "browser_http_req_failed",
        "iteration_duration",  # start and end of every completed iteration
        "iterations",
        "dropped_iterations",
        "data_sent",  # bytes of each iteration: whether one without a request sent anything
        "ws_session_duration",  # what a session took of its iteration
        "vus_max",
        "checks",
    }
)
"""Metrics whose samples are kept; of all others (without a threshold) only counts and stamps are."""

SUMMED = frozenset({"data_sent", "data_received"})
"""Counters of bytes, of which the sum is kept: whole numbers, whose sum does not depend on their order."""
MOST_BYTES = 2**40
"""One sample of more bytes is damage, and would overflow."""

Keep = frozenset[str] | None
"""Metrics whose samples are kept, beside those with thresholds; None: all."""

FOLD_SERIES = 1 << 20
"""Counts per series are added up whenever so many have gathered."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Piece:
    """Kept samples of one metric in one batch."""

    time_ns: Ints
    value: Floats
    """One value only if all are the same, to the bit."""
    tagset: npt.NDArray[np.uint16] | npt.NDArray[np.int32]

    @property
    def size_bytes(self) -> int:
        return self.time_ns.nbytes + self.value.nbytes + self.tagset.nbytes


@dataclass(frozen=True)
class Reduced:
    """What one reader has seen of a points file: kept samples and counts, under the ids of its own tables."""

    tables: PointTables
    kept: Mapping[str, list[Piece]]
    passed_over: frozenset[str]
    """Metrics whose samples were not kept."""
    series: tuple[Ints, Ints]
    """Pairs of metric and tag set (metric << 32 | tag set), and their samples."""
    seconds: tuple[Ints, Ints, Ints]
    """Seconds, and the first and last stamp of each."""
    report: PartReport
    sums: Mapping[str, int]
    """Of the metrics in `SUMMED` that occur."""


@dataclass(frozen=True)
class _Alike:
    """Stamps and tag sets that batches of several metrics may share, and what was counted of them."""

    time_ns: Ints
    tagset: npt.NDArray[np.int32]
    narrow: npt.NDArray[np.uint16] | npt.NDArray[np.int32]
    ids: Ints
    """Of the tag sets that occur; with their samples."""
    counts: Ints


class SampleReducer:
    """Folds the batches of one part of a points file."""

    def __init__(self, tables: PointTables, keep: Keep = KEPT, spill: Spill | None = None) -> None:
        self._tables = tables
        self._spill = spill or Spill()
        self._keep = keep
        self._kept: dict[str, list[Piece]] = {}
        self._passed_over: set[str] = set()
        self._series: list[tuple[Ints, Ints]] = []
        self._unfolded = 0
        self._fold_at = FOLD_SERIES
        self._seconds: list[tuple[Ints, Ints, Ints]] = []
        self._alike: _Alike | None = None
        self._sums: dict[str, int] = {}

    def add(self, batch: PointBatch | MetricBatch) -> None:
        if isinstance(batch, MetricBatch):
            self._add_one_metric(batch)
            return
        if not len(batch.metric):
            return
        metrics = len(self._tables.metrics)
        pairs, counts = _counted(batch, metrics, len(self._tables.tagsets))
        self._add_series(pairs, counts)
        self._seconds.append(_spans(batch.time_ns))
        sizes = np.bincount(pairs >> 32, counts).astype(np.int64)  # of metrics; floats count exactly to 2^53
        present = np.flatnonzero(sizes).tolist()
        for index in present:
            if self._tables.metrics[index] in SUMMED:
                self._add_sum(self._tables.metrics[index], batch.value[batch.metric == index])
        kept = [i for i in present if self._keeps(self._tables.metrics[i])]
        if not kept:
            return
        # By metric, in the order they came: a stable sort of two-byte integers is a radix sort.
        is_kept = np.zeros(metrics, dtype=bool)
        is_kept[kept] = True
        rows = np.flatnonzero(is_kept.take(batch.metric))
        metric = batch.metric.take(rows)
        order = np.argsort(metric.astype(np.uint16) if metrics <= 1 << 16 else metric, kind="stable")
        rows = rows.take(order)
        time_ns, tagset = batch.time_ns.take(rows), self._narrow(batch.tagset.take(rows))
        value = batch.value.take(rows)
        start = size_bytes = 0
        for index, end in zip(kept, np.cumsum(sizes[kept]).tolist(), strict=True):
            once = _once(value[start:end])
            # The others are copied, so that nothing keeps values in memory that are all the same.
            mine = once if len(once) == 1 else once.copy()
            piece = Piece(time_ns[start:end], mine, tagset[start:end])
            self._kept.setdefault(self._tables.metrics[index], []).append(piece)
            size_bytes += piece.size_bytes
            start = end
        if not self._spill.reserve(size_bytes):
            self._move_out()

    def _add_one_metric(self, batch: MetricBatch) -> None:
        """What metrics have in common is worked out once; values are asked for only where they are kept."""
        if not len(batch.time_ns):
            return
        alike = self._alike
        if alike is None or batch.time_ns is not alike.time_ns or batch.tagset is not alike.tagset:
            counts = np.bincount(batch.tagset)
            ids = np.flatnonzero(counts)
            narrow = self._narrow(batch.tagset)
            self._alike = alike = _Alike(batch.time_ns, batch.tagset, narrow, ids, counts[ids])
            self._seconds.append(_spans(batch.time_ns))
        self._add_series(batch.metric_id << 32 | alike.ids, alike.counts)
        name = self._tables.metrics[batch.metric_id]
        if name in SUMMED:
            self._add_sum(name, batch.value)
        if self._keeps(name):
            piece = Piece(batch.time_ns, _once(batch.value), alike.narrow)
            self._kept.setdefault(name, []).append(piece)
            if not self._spill.reserve(piece.size_bytes):
                self._move_out()

    def _add_sum(self, name: str, value: Floats) -> None:
        whole = np.rint(np.clip(value, -MOST_BYTES, MOST_BYTES)).astype(np.int64)
        self._sums[name] = self._sums.get(name, 0) + int(whole.sum(dtype=np.int64))

    def _narrow(self, tagset: npt.NDArray[np.int32]) -> npt.NDArray[np.uint16] | npt.NDArray[np.int32]:
        return tagset.astype(np.uint16) if len(self._tables.tagsets) <= 1 << 16 else tagset

    def _keeps(self, name: str) -> bool:
        if self._keep is None or name in self._keep:
            return True
        definition = self._tables.definitions.get(name)
        if definition is not None and definition.thresholds:
            return True
        self._passed_over.add(name)
        return False

    def _move_out(self) -> None:
        """Move what is kept in memory to files."""
        for pieces in self._kept.values():
            in_memory = [piece for piece in pieces if not isinstance(piece.time_ns, np.memmap)]
            if not in_memory:
                continue
            pieces[:] = [piece for piece in pieces if isinstance(piece.time_ns, np.memmap)]
            pieces.append(
                Piece(
                    self._spill.moved([p.time_ns for p in in_memory], np.int64),
                    joined_values(in_memory, self._spill.moved),
                    self._spill.moved([p.tagset for p in in_memory], in_memory[-1].tagset.dtype),
                )
            )
            self._spill.give_back(sum(piece.size_bytes for piece in in_memory))

    def _add_series(self, pairs: Ints, counts: Ints) -> None:
        self._series.append((pairs, counts))
        self._unfolded += len(pairs)
        if self._unfolded > self._fold_at:
            self._series = [summed(self._series)]
            self._unfolded = len(self._series[0][0])
            self._fold_at = max(FOLD_SERIES, 2 * self._unfolded)

    def result(self, report: PartReport) -> Reduced:
        return Reduced(
            self._tables,
            self._kept,
            frozenset(self._passed_over),
            summed(self._series),
            stamps_by_second(self._seconds),
            report,
            self._sums,
        )


def reduce_part(part: PointsPart, keep: Keep, spill: Spill | None = None) -> Reduced:
    """Read one part of a points file, here or in another process."""
    reducer = SampleReducer(part.tables, keep, spill)
    for batch in part.batches():
        reducer.add(batch)
    return reducer.result(part.report())


def _counted(batch: PointBatch, metrics: int, tagsets: int) -> tuple[Ints, Ints]:
    """The distinct pairs of metric and tag set, as metric << 32 | tag set, and their samples."""
    if metrics * tagsets > 4 * len(batch.metric) + 65536:
        pairs, counts = np.unique(batch.metric.astype(np.int64) << 32 | batch.tagset, return_counts=True)
        return pairs, counts
    code = np.multiply(batch.metric, tagsets, dtype=np.int64)
    code += batch.tagset
    every = np.bincount(code)
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


def joined_values(pieces: Sequence[Piece], join: Callable[[Sequence[Floats], Any], Floats]) -> Floats:
    """The values of the pieces one after the other; one value if all are the same, to the bit."""
    known = pieces[0].value
    if all(len(p.value) == 1 and p.value.view(np.int64)[0] == known.view(np.int64)[0] for p in pieces):
        return known
    return join([np.broadcast_to(p.value, len(p.time_ns)) for p in pieces], np.float64)


def summed(parts: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    keys, inverse = np.unique(np.concatenate([p for p, _ in parts]), return_inverse=True)
    counts = np.zeros(len(keys), dtype=np.int64)
    np.add.at(counts, inverse, np.concatenate([c for _, c in parts]))
    return keys, counts


def stamps_by_second(parts: list[tuple[Ints, Ints, Ints]]) -> tuple[Ints, Ints, Ints]:
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    second, inverse = np.unique(np.concatenate([p[0] for p in parts]), return_inverse=True)
    lowest, highest = np.concatenate([p[1] for p in parts]), np.concatenate([p[2] for p in parts])
    return second, *_extremes(len(second), inverse, lowest, highest)
