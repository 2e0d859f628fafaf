"""Canonical k6 lines at native speed: a compiled scanner, used by the JSON reader for large files.

The scanner knows the two shapes that k6 writes and nothing else. A line that differs in one byte from them (odd
spacing, an escape in a metric name, +Inf, a Metric line, damage) is copied aside with its number, for the plain
reader, which stays the reference: what both readers say of a file is the same.

What makes it fast is that neighbours are alike. One request writes nine lines with the same time and tags,
and metrics follow each other in a fixed order, so most of a line is compared with what is expected, eight
bytes at a time, and only what differs is parsed. Metric names and tag sets are interned by their bytes
(hashed, then compared: two sets are never merged) and each is parsed once, by `json`.

The compiled part is `scan_kernel`, made by numba (the extra `fast`) when it is first needed (some seconds) and
kept; loading it takes llvmlite and no numba. Where nothing can be kept, there is no scanner: the plain reader
serves.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from auditor.ingest.k6 import native
from auditor.ingest.k6.scan_layout import (
    DONE,
    LINES,
    METRIC,
    ODD,
    ODD_BYTES,
    POS,
    ROWS,
    SEED,
    SHORTEST_LINE,
    SLOW,
    SLOW_BYTES,
    TAGSET,
    TAGSETS_FULL,
)
from auditor.inputs import columns

Bytes = npt.NDArray[np.uint8]

FEW = 1000
"""Up to here a number is a number, one by one: importing pyarrow costs as much."""


class Interned:
    """Byte strings, told apart by their bytes; their ids count up from 0."""

    def __init__(self, size: int, room: int) -> None:
        self.arena = np.empty(room, dtype=np.uint8)
        self.ends = np.zeros(size + 1, dtype=np.int64)
        self.hashes = np.empty(size, dtype=np.uint64)
        self.table = np.full(4 * size, -1, dtype=np.int32)
        self.used = np.zeros(1, dtype=np.int64)

    def arrays(self) -> tuple[Any, ...]:
        return self.arena, self.ends, self.hashes, self.table, self.used

    def __len__(self) -> int:
        return int(self.used[0])

    def __getitem__(self, i: int) -> bytes:
        return self.arena[self.ends[i] : self.ends[i + 1]].tobytes()

    def grow(self, rehash: Any) -> None:
        size, count = 2 * len(self.hashes), len(self)
        larger = Interned(size, 2 * len(self.arena))
        larger.arena[: self.ends[count]] = self.arena[: self.ends[count]]
        larger.ends[: count + 1] = self.ends[: count + 1]
        larger.hashes[:count] = self.hashes[:count]
        rehash(_arguments(larger.hashes, larger.table, count).ctypes.data)
        self.arena, self.ends, self.hashes, self.table = larger.arena, larger.ends, larger.hashes, larger.table


@dataclass(frozen=True)
class Scanned:
    """What a block holds: rows of canonical lines, and the bytes and numbers of all others."""

    metric: npt.NDArray[np.int32]
    """Ids of `Scanner.metrics`; `tagset` likewise."""
    time_ns: npt.NDArray[np.int64]
    value: npt.NDArray[np.float64]
    tagset: npt.NDArray[np.int32]
    line: npt.NDArray[np.int32]
    """Of every row: its line, counted from 0 in the block."""
    lines: int
    odd: bytes
    odd_line: npt.NDArray[np.int32]


class Scanner:
    """Scans the blocks of one file. It holds no Python object for a line, and the scan holds no lock."""

    def __init__(self, *, make: bool = True) -> None:
        """``make``: compile it if that has not been done yet.

        Raises:
            native.Unavailable: if there is no compiled code.
        """
        self._scan, self._rehash = native.load(("scan", "rehash"), make=make)
        self.metrics = Interned(256, 1 << 14)
        self.tagsets = Interned(1 << 12, 1 << 20)
        self._follows = np.full(256, -1, dtype=np.int32)
        self._tagset_of = np.full(256, -1, dtype=np.int32)
        self._state = np.zeros(10, dtype=np.int64)
        self._state[TAGSET] = -1
        # Nobody can write tag sets beforehand that all fall into one place of the table.
        self._state[SEED] = int.from_bytes(os.urandom(7), "little")
        self._room = -1
        self._words: npt.NDArray[np.int64] | None = None
        self._columns: tuple[Any, ...] = ()
        self._aside: tuple[Any, ...] = ()

    def scan(self, *pieces: bytes | memoryview) -> Scanned:
        """Scan whole lines, each with its line feed, in one or more pieces.

        The columns are valid until the next call.
        """
        data = [np.frombuffer(piece, dtype=np.uint8) for piece in pieces if len(piece)]
        self._make_room(sum(len(piece) for piece in data))
        self._state[:METRIC] = 0
        for piece in data:
            self._scan_piece(piece)
        state = self._state
        rows = int(state[ROWS])
        metric, time_ns, value, tagset, line = (column[:rows] for column in self._columns)
        odd, odd_line, slow, slow_ends, slow_row = self._aside
        if n := int(state[SLOW]):
            value[slow_row[:n]] = _exact(slow[: state[SLOW_BYTES]], slow_ends[: n + 1])
        return Scanned(
            metric, time_ns, value, tagset, line, int(state[LINES]),
            odd[: state[ODD_BYTES]].tobytes(), odd_line[: state[ODD]],
        )  # fmt: skip

    def _scan_piece(self, data: Bytes) -> None:
        self._state[POS] = 0
        while True:
            if self._words is None:  # where the arrays lie; they move when they grow
                self._words = _arguments(
                    0, 0, self._state,
                    *self.metrics.arrays(), self._follows, self._tagset_of,
                    *self.tagsets.arrays(),
                    *self._columns, *self._aside,
                )  # fmt: skip
            self._words[0], self._words[1] = data.ctypes.data, len(data)
            status = self._scan(self._words.ctypes.data)
            if status == DONE:
                return
            self._words = None
            if status == TAGSETS_FULL:
                self.tagsets.grow(self._rehash)
            else:
                self.metrics.grow(self._rehash)
                more = np.full(len(self._follows), -1, dtype=np.int32)
                self._follows = np.concatenate((self._follows, more))
                self._tagset_of = np.concatenate((self._tagset_of, more))

    def _make_room(self, size: int) -> None:
        """Columns for a block of that size; what is never written costs no memory."""
        if size <= self._room:
            return
        rows = size // SHORTEST_LINE + 1
        self._room = size
        self._words = None
        self._columns = tuple(
            np.empty(rows, dtype=d) for d in (np.int32, np.int64, np.float64, np.int32, np.int32)
        )
        self._aside = (
            np.empty(size, dtype=np.uint8),
            np.empty(size, dtype=np.int32),
            np.empty(size, dtype=np.uint8),
            np.zeros(rows + 1, dtype=np.int64),
            np.empty(rows, dtype=np.int32),
        )


def _arguments(*arguments: Any) -> npt.NDArray[np.int64]:
    """As compiled code takes them: a number in one word, an array in two (address, length)."""
    words: list[int] = []
    for one in arguments:
        words += (one.ctypes.data, len(one)) if isinstance(one, np.ndarray) else (one,)
    return np.array(words, dtype=np.int64)


def _exact(text: Bytes, ends: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Numbers with more figures than one division rounds rightly."""
    raw, at = text.tobytes(), ends.tolist()
    if len(at) <= FEW:
        return np.array([float(raw[a:b]) for a, b in pairwise(at)])
    import pyarrow as pa

    numbers = pa.Array.from_buffers(
        pa.large_string(), len(ends) - 1, [None, pa.py_buffer(ends), pa.py_buffer(text)]
    )
    return columns.to_numpy(numbers.cast(pa.float64()), np.float64)
