"""k6's CSV points (`--out csv=FILE`): one sample a record, read in columns by pyarrow.

Blocks of whole records go to pyarrow's CSV reader, tag columns as dictionaries, so that no Python object is
made for a sample. A block that it refuses (a wrong column count, a stamp or value that is none) is read
again record by record, to count and locate what is wrong; one bad record so costs nothing but itself.
"""

from __future__ import annotations

import csv
import math
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from auditor.evidence import PointBatch, Tags
from auditor.ingest.k6.points_json import stamp_ns
from auditor.inputs import columns, streams
from auditor.inputs.blocks import Blocks
from auditor.inputs.points_file import BlockPart, PointsFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt
    import pyarrow as pa

    from auditor.evidence import PointsPart
    from auditor.inputs.redact import Redactor

MAX_RECORD_BYTES = 1 << 20
"""A quoted record that is not closed within this many bytes is taken for a stray quote."""
HEADER = ("metric_name", "timestamp", "metric_value")
EXTRA = "extra_tags"
"""The column of all tags that are no system tags, as `k=v&k=v` without escaping: kept as one opaque tag."""
METADATA = "metadata"
NOT_FINITE = ["+Inf", "-Inf", "Inf", "NaN"]
"""Infinite and missing values, as Go prints them."""

_UNITS = ((9_000_000_000, 1_000_000_000), (9 * 10**12, 1_000_000), (9 * 10**15, 1_000), (2**63, 1))
"""(below this, ns per unit): s, ms, µs, ns since the epoch, told by magnitude up to the year 2255."""
_RFC3339 = 0
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$|[-+]?Inf$|NaN$")
_DIGITS = re.compile(r"\d{1,19}$", re.A)


class _Header(NamedTuple):
    """The columns by position: a header differs with the system tags that are on and with k6's version."""

    names: list[str]
    tags: list[int]
    """Positions of the tag columns, in the order of their names."""

    @property
    def width(self) -> int:
        return len(self.names)


class CsvPoints(PointsFile):
    """A points file in CSV. It defines no metrics: `tables.definitions` stays empty."""

    def __init__(self, file: Path, label: str, redactor: Redactor | None = None) -> None:
        super().__init__(file, label, redactor)
        start = streams.head(file)
        self._header = _header(start[: start.find(b"\n") + 1])
        first = first_stamp(file)
        self._unit_ns = None if first is None else first.unit_ns

    def parts(self, n: int, *, hashed: bool = True) -> Sequence[PointsPart]:
        """One part, if there is no first stamp that tells all of them in which unit stamps are."""
        return super().parts(n if self._unit_ns is not None else 1, hashed=hashed)

    def _whole(self, *, hashed: bool) -> Blocks:
        # A record may hold line feeds in quotes, so that no other place of the file can be begun at.
        return Blocks(self.file, hashed=hashed, cut=records_end)

    def _part(self, blocks: Blocks) -> CsvPart:
        return CsvPart(blocks, self._header, self._unit_ns)


class CsvPart(BlockPart):
    """Blocks of records as columns. Iterate `batches` once; `report` is whole after the last batch."""

    def __init__(self, blocks: Blocks, header: _Header | None, unit_ns: int | None) -> None:
        """``header``: None if it is none of k6's. ``unit_ns``: of stamps; 0 for RFC 3339; None if unknown."""
        super().__init__(blocks)
        self._header = header
        self._unit_ns = unit_ns

    def _stamp_unit_ns(self) -> int:
        # Two samples in milliseconds may both lie on a whole second: the format says more than they do.
        return self._unit_ns or 1

    def batches(self) -> Iterator[PointBatch]:
        """Yield columns in the order of a block; damage is counted, never raised."""
        for block in self._blocks:
            if self._header is None:
                self._torn = "last line incomplete" if block.tail else "no header of a k6 CSV file"
                continue
            if block.tail:
                if block.first.strip():
                    if not self._is_whole(block.first):
                        self._torn = "last line incomplete"
                        continue
                    yield from self._read(block.first + b"\n", block.index, self._header)
            elif block.index == 0:
                self._lines.append((-1, 1))
                yield from self._read(block.first[block.first.find(b"\n") + 1 :], 0, self._header)
            else:
                yield from self._read(block.first, block.index, self._header)

    def _is_whole(self, record: bytes) -> bool:
        """Whether a last record has lost nothing but its line end: its last tag, at least, may be cut."""
        header = self._header
        row = _row(record)
        if header is None or row is None or len(row) != header.width:
            return False
        return header.names[-1] == METADATA or not row[-1]

    def _read(self, block: bytes, index: int, header: _Header) -> Iterator[PointBatch]:
        self._lines.append((index, block.count(b"\n")))
        if not block:
            return
        batch = self._columns(block, header)
        if batch is None:
            batch = self._row_by_row(block, index, header)
        if len(batch.time_ns):
            self._note(batch.time_ns)
            yield batch

    def _columns(self, block: bytes, header: _Header) -> PointBatch | None:
        """A block in native code; None if any of it is refused, or a stamp is in another format."""
        rfc3339 = self._unit_ns == _RFC3339 or (self._unit_ns is None and _first_stamp_has_t(block))
        table = None if rfc3339 else _cut_at_commas(block, header)
        if table is None and _quotes_are_sound(block):
            table = _read_columns(block, header, rfc3339=rfc3339)
        if table is None:
            return None
        if not len(table.stamp):
            return _batch([], [], [], [])
        unit = _RFC3339 if rfc3339 else _unit_ns(int(table.stamp.min()))
        if unit is None or (unit and unit != _unit_ns(int(table.stamp.max()))):
            return None
        if self._unit_ns not in (None, unit):
            return None
        self._unit_ns = unit
        metric_ids = np.array([self._metric_id(name) for name in table.metrics], dtype=np.int32)
        tagset_ids = np.array([self._tagset_id(tags) for tags in table.tagsets], dtype=np.int32)
        batch = PointBatch(
            metric=metric_ids[table.metric],
            time_ns=table.stamp * (unit or 1),
            value=table.value,
            tagset=tagset_ids[table.tagset],
        )
        finite = np.isfinite(table.value)
        if finite.all():
            return batch
        self._unfinite += len(finite) - int(np.count_nonzero(finite))
        return PointBatch(
            batch.metric[finite], batch.time_ns[finite], batch.value[finite], batch.tagset[finite]
        )

    def _row_by_row(self, block: bytes, index: int, header: _Header) -> PointBatch:
        """A block with damage in it; reading goes on in the line after a record that is none."""
        metric: list[int] = []
        time_ns: list[int] = []
        value: list[float] = []
        tagset: list[int] = []
        lines = block.split(b"\n")
        at = 0
        while at < len(lines):
            if not lines[at].strip():
                at += 1
                continue
            record, length = _record(lines, at)
            try:
                name, stamp, number, tags = self._parse(record, header)
            except ValueError:
                self._note_malformed(index, at + 1)
                at += 1
                continue
            at += length
            if not math.isfinite(number):
                self._unfinite += 1
                continue
            metric.append(self._metric_id(name.encode("utf-8", errors="replace")))
            time_ns.append(stamp)
            value.append(number)
            tagset.append(self._tagset_id(tags))
        return _batch(metric, time_ns, value, tagset)

    def _parse(self, record: bytes, header: _Header) -> tuple[str, int, float, Tags]:
        row = _row(record)
        if row is None or len(row) != header.width:
            raise ValueError("not as many columns as the header has")
        if not _NUMBER.match(row[2]):
            raise ValueError("not a number")
        number, stamp = float(row[2]), self._stamp(row[1])
        pairs = (_tag(header.names[i], row[i]) for i in header.tags)
        return row[0], stamp, number, tuple(pair for pair in pairs if pair is not None)

    def _stamp(self, text: str) -> int:
        if _DIGITS.match(text):
            unit = _unit_ns(int(text))
            stamp = int(text) * (unit or 1)
        else:
            unit, stamp = _RFC3339, stamp_ns(text)
        if unit is None or self._unit_ns not in (None, unit) or abs(stamp) >= 2**63:
            raise ValueError("a stamp in another format than those before it")
        self._unit_ns = unit
        return stamp


class _Table(NamedTuple):
    """Records in columns: numbers, and places in lists of distinct names and tag sets."""

    stamp: npt.NDArray[np.int64]
    value: npt.NDArray[np.float64]
    """NaN where it is not finite."""
    metrics: list[bytes]
    metric: npt.NDArray[np.int32]
    tagsets: list[Tags]
    tagset: npt.NDArray[np.int32]


def _cut_at_commas(block: bytes, header: _Header) -> _Table | None:
    """Records without quotes, whose stamps are whole numbers: k6's usual ones. None if any is not of this kind.

    All tags of a record are one text, of which there are few, and each is taken apart once.
    """
    import pyarrow as pa

    if b'"' in block or b"\r" in block or header.width == len(HEADER):
        return None
    data = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    every_comma = np.flatnonzero(data == ord(","))
    if not len(ends) or len(every_comma) != len(ends) * (header.width - 1):
        return None
    commas = every_comma.reshape(len(ends), header.width - 1)
    starts = np.concatenate(([0], ends[:-1] + 1))
    if (commas[:, 0] < starts).any() or (commas[:, -1] > ends).any():
        return None  # one record has too many columns, and another too few
    has_metadata = header.names[-1] == METADATA
    if has_metadata and header.width == len(HEADER) + 1:
        return None
    first, second, third = commas[:, 0], commas[:, 1], commas[:, 2]
    tags_end = commas[:, -1] if has_metadata else ends
    # Metric, stamp, value and all tags of every record, and what stands between them.
    edges = np.stack([starts, first, first + 1, second, second + 1, third, third + 1, tags_end], axis=1)
    offsets = np.append(edges.reshape(-1), len(block))
    pieces = pa.Array.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    )

    def cells(piece: int) -> pa.Array:
        rows = np.arange(piece, len(offsets) - 1, 8)
        return pieces.take(pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows)]))

    try:
        stamp = columns.to_numpy(cells(2).cast(pa.string()).cast(pa.int64()), np.int64)
        value = columns.to_numpy(cells(4).cast(pa.string()).cast(pa.float64()), np.float64)
    except pa.ArrowInvalid:
        return None
    tags = cells(6).dictionary_encode()
    if len(tags.dictionary) > 1000 + len(ends) // 4:
        return None  # a tag that hardly any two records share: better column by column
    metric = cells(0).dictionary_encode()
    return _Table(
        stamp,
        value,
        metric.dictionary.to_pylist(),
        columns.to_numpy(metric.indices, np.int32),
        [_tags_of(text, header) for text in tags.dictionary.to_pylist()],
        columns.to_numpy(tags.indices, np.int32),
    )


def _tags_of(text: bytes, header: _Header) -> Tags:
    """The tag set of the cells that follow the value, which hold no comma."""
    row = [""] * len(HEADER) + text.decode("utf-8", errors="replace").split(",")
    pairs = (_tag(header.names[i], row[i]) for i in header.tags)
    return tuple(pair for pair in pairs if pair is not None)


def _read_columns(block: bytes, header: _Header, *, rfc3339: bool) -> _Table | None:
    """Records of any kind through pyarrow's reader; None if it refuses any of them."""
    import pyarrow as pa
    from pyarrow import csv as pa_csv

    names = [str(i) for i in range(header.width)]
    wanted = [0, 1, 2, *header.tags]
    types = dict.fromkeys((names[i] for i in wanted), pa.dictionary(pa.int32(), pa.binary()))
    types["1"] = pa.timestamp("ns", tz="UTC") if rfc3339 else pa.int64()
    types["2"] = pa.float64()
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(block),
            pa_csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=names),
            pa_csv.ParseOptions(newlines_in_values=True),
            pa_csv.ConvertOptions(
                check_utf8=False,
                column_types=types,
                include_columns=[names[i] for i in wanted],
                null_values=NOT_FINITE,
                strings_can_be_null=False,
            ),
        ).combine_chunks()
    except pa.ArrowInvalid:
        return None
    if not len(table):
        return _Table(np.empty(0, np.int64), np.empty(0), [], np.empty(0, np.int32), [], np.empty(0, np.int32))
    if table["1"].null_count:
        return None
    stamp = columns.to_numpy(table["1"].cast(pa.int64()).chunk(0), np.int64)
    value = columns.to_numpy(table["2"].chunk(0).fill_null(math.nan), np.float64)
    metrics, metric = _dictionary(table["0"])
    return _Table(stamp, value, metrics, metric, *_tagsets(table, header))


def _tagsets(table: pa.Table, header: _Header) -> tuple[list[Tags], npt.NDArray[np.int32]]:
    """The tag set of every row: rows with equal dictionary indices share one, made once."""
    pairs: list[list[tuple[str, str] | None]] = []
    of_column: list[npt.NDArray[np.int32]] = []
    code: npt.NDArray[np.int64] = np.zeros(len(table), dtype=np.int64)
    size = 1
    for position in header.tags:
        values, indices = _dictionary(table[str(position)])
        name = header.names[position]
        pairs.append([_tag(name, value.decode("utf-8", errors="replace")) for value in values])
        of_column.append(indices)
        if len(values) == 1:
            continue
        if size > 2**62 // len(values):
            seen, code = np.unique(code, return_inverse=True)
            size = len(seen)
        code = code * len(values) + indices
        size *= len(values)
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    distinct = [column[first].tolist() for column in of_column]
    found: list[Tags] = []
    for row in zip(*distinct, strict=True) if distinct else [()] * len(first):
        tags = [options[at] for options, at in zip(pairs, row, strict=True)]
        found.append(tuple(pair for pair in tags if pair is not None))
    return found, inverse.reshape(-1).astype(np.int32)


class FirstStamp(NamedTuple):
    """When the first record is from."""

    stamp_ns: int
    unit_ns: int
    """ns per unit of the stamps; 0 for RFC 3339."""
    resolution_ns: int


def first_stamp(path: Path) -> FirstStamp | None:
    """Stamp of the first record; None if there is no such record."""
    lines = streams.head(path).split(b"\n", 2)
    row = _row(lines[1]) if len(lines) > 2 else None
    if row is None or len(row) < len(HEADER):
        return None
    try:
        if _DIGITS.match(row[1]):
            unit = _unit_ns(int(row[1]))
            return None if unit is None else FirstStamp(int(row[1]) * unit, unit, unit)
        return FirstStamp(stamp_ns(row[1]), _RFC3339, 1 if "." in row[1] else 1_000_000_000)
    except ValueError:
        return None


def _header(line: bytes) -> _Header | None:
    row = _row(line.removeprefix(b"\xef\xbb\xbf"))
    if row is None or tuple(row[: len(HEADER)]) != HEADER:
        return None
    tags = [i for i, name in enumerate(row) if i >= len(HEADER) and name != METADATA]
    return _Header(row, sorted(tags, key=lambda i: row[i]))


def _tag(name: str, value: str) -> tuple[str, str] | None:
    """The tag of a cell; None where an empty cell says that there is none.

    An empty `group` is the root group, which k6's JSON spells out. k6 writes `extra_tags` in random order, so
    that equal tags look different: sorted parts make them equal again, whatever `&` means in them.
    """
    if name == EXTRA and value:
        value = "&".join(sorted(value.split("&")))
    return (name, value) if value or name == "group" else None


def _unit_ns(stamp: int) -> int | None:
    if stamp < 0:
        return None
    return next((unit for below, unit in _UNITS if stamp < below), None)


def _first_stamp_has_t(block: bytes) -> bool:
    fields = block.split(b"\n", 1)[0].split(b",", 2)
    return len(fields) > 1 and b"T" in fields[1]


def _quotes_are_sound(block: bytes) -> bool:
    """Whether quotes open and close whole values, or are doubled: pyarrow takes others as they come, and a
    pair of stray ones would swallow all records between them."""
    if b'"' not in block:
        return True
    data = np.frombuffer(block, dtype=np.uint8)
    at = np.flatnonzero(data == ord('"'))
    if len(at) % 2:
        return False
    opening, closing = at[::2], at[1::2]
    doubled = opening[1:] == closing[:-1] + 1
    before = data[opening - 1]
    after = data[np.minimum(closing + 1, len(data) - 1)]
    starts = (opening == 0) | (before == ord(",")) | (before == ord("\n"))
    ends = (after == ord(",")) | (after == ord("\n")) | (after == ord("\r"))
    starts[1:] |= doubled
    ends[:-1] |= doubled
    return bool(starts.all() and ends.all())


def records_end(block: bytes) -> int:
    """Where the last whole record ends: after a line end outside of quotes, i.e. after an even number of them.

    A line end inside of quotes belongs to a value. If no such place is near the end, a quote is astray, and
    the last line end of all is taken.
    """
    last = cut = block.rfind(b"\n") + 1
    quotes = block.count(b'"', 0, cut)
    while quotes % 2 and cut and last - cut < MAX_RECORD_BYTES:
        start = block.rfind(b"\n", 0, cut - 1) + 1
        quotes -= block.count(b'"', start, cut)
        cut = start
    return last if quotes % 2 or (not cut and last >= MAX_RECORD_BYTES) else cut


def _record(lines: list[bytes], at: int) -> tuple[bytes, int]:
    """The record that begins in a line, joined with those that follow until its quotes are closed."""
    quotes = lines[at].count(b'"')
    size, end = len(lines[at]), at + 1
    while quotes % 2 and end < len(lines) and size < MAX_RECORD_BYTES:
        quotes += lines[end].count(b'"')
        size += len(lines[end]) + 1
        end += 1
    return (b"\n".join(lines[at:end]), end - at) if quotes % 2 == 0 else (lines[at], 1)


def _row(record: bytes) -> list[str] | None:
    text = record.decode("utf-8", errors="replace").rstrip("\r\n")
    try:
        return next(csv.reader([text], strict=True), None)
    except csv.Error:
        return None


def _dictionary(column: pa.ChunkedArray) -> tuple[list[bytes], npt.NDArray[np.int32]]:
    """Distinct values and the index of each row."""
    chunk = column.chunk(0)
    return chunk.dictionary.to_pylist(), columns.to_numpy(chunk.indices, np.int32)


def _batch(metric: list[int], time_ns: list[int], value: list[float], tagset: list[int]) -> PointBatch:
    return PointBatch(
        np.array(metric, dtype=np.int32),
        np.array(time_ns, dtype=np.int64),
        np.array(value, dtype=np.float64),
        np.array(tagset, dtype=np.int32),
    )
