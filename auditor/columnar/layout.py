"""Where the columns of a columnar copy lie and what their pages would become, checked before any is decoded.

pyarrow makes room for as much as a page says that it becomes, up to 2 GB, and a page of a few bytes may really
become that much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from auditor.columnar.thrift import BINARY, BOOL, I32, I64, NoStruct, Reader

MAGIC = b"PAR1"
METRIC, TIME, VALUE, TAGS = "metric", "time", "value", "tags"
MAX_GROUP_ROWS = 1 << 20
"""Most rows of a row group, which is decoded at once."""
MAX_DICTIONARY_BYTES = 64 << 20
"""Most bytes of tag-set text in a row group."""
MAX_FOOTER_BYTES = 64 << 20
ROWS_ALWAYS_ACCEPTED = 1 << 24
"""A copy with at most this many samples is accepted whatever its size."""
MAX_ROWS_PER_BYTE = 8
"""A larger copy is refused if it claims more samples per byte than this: real runs have fewer than one
per two bytes, and a copy with more was made to fill memory."""

_INT64, _DOUBLE, _BYTE_ARRAY = 2, 5, 6
_ZSTD = 6
_PLAIN, _DELTA_BINARY_PACKED, _RLE_DICTIONARY = 0, 5, 8
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_STRING: dict[int, Any] = {1: {}}
_NANOSECONDS_UTC = {8: {1: True, 2: {3: {}}}}


@dataclass(frozen=True)
class _Column:
    """As Parquet numbers its types and encodings."""

    physical: int
    logical: dict[int, Any] | None
    encoding: int


_COLUMNS = {
    METRIC: _Column(_BYTE_ARRAY, _STRING, _RLE_DICTIONARY),
    TIME: _Column(_INT64, _NANOSECONDS_UTC, _DELTA_BINARY_PACKED),
    VALUE: _Column(_DOUBLE, None, _PLAIN),
    TAGS: _Column(_BYTE_ARRAY, _STRING, _RLE_DICTIONARY),
}
_LOGICAL_TYPE = {1: {}, 8: {1: BOOL, 2: {3: {}}}}
_COLUMN_METADATA = {1: I32, 3: [BINARY], 4: I32, 5: I64, 7: I64, 9: I64, 11: I64}
_FOOTER = {
    2: [{1: I32, 3: I32, 4: BINARY, 5: I32, 10: _LOGICAL_TYPE}],
    3: I64,
    4: [{1: [{1: BINARY, 3: _COLUMN_METADATA}], 3: I64}],
    5: [{1: BINARY, 2: BINARY}],
}
_PAGE = {1: I32, 2: I32, 3: I32, 4: I32, 5: {1: I32, 2: I32}, 7: {1: I32}}


class Damaged(Exception):
    """A copy that contradicts itself, or is not as k6-audit writes it."""


@dataclass(frozen=True)
class Group:
    """A row group: samples of one metric."""

    index: int
    rows: int
    chunks: dict[str, tuple[int, int]]
    """Where each column lies in the file: start and length."""

    @property
    def alike(self) -> tuple[int, ...]:
        """Differs where stamps or tag sets differ, and mostly only there."""
        return self.rows, self.chunks[TIME][1], self.chunks[TAGS][1]

    @property
    def size_bytes(self) -> int:
        return sum(size for _, size in self.chunks.values())


@dataclass(frozen=True)
class Footer:
    """A Parquet file's metadata, as far as it is needed."""

    raw: bytes
    fields: dict[int, Any]

    @classmethod
    def of(cls, raw: bytes) -> Footer:
        """
        Raises:
            Damaged: if it is not Parquet metadata.
        """
        try:
            return cls(raw, Reader(raw).struct(_FOOTER))
        except NoStruct as problem:
            raise Damaged(f"its metadata: {problem}") from problem

    @property
    def said(self) -> dict[bytes, bytes]:
        """The key-value metadata."""
        return {pair.get(1, b""): pair.get(2, b"") for pair in self.fields.get(5, ())}

    def groups(self, size_bytes: int) -> tuple[Group, ...]:
        """The row groups of a file of that size.

        Raises:
            Damaged: if k6-audit would not have written them.
        """
        self._check_schema()
        groups = tuple(_group(i, one, size_bytes) for i, one in enumerate(self.fields.get(4, ())))
        rows = sum(group.rows for group in groups)
        if rows != self.fields.get(3):
            raise Damaged(f"{rows:,} rows, and its metadata says {self.fields.get(3)}")
        if rows > max(ROWS_ALWAYS_ACCEPTED, MAX_ROWS_PER_BYTE * size_bytes):
            raise Damaged(f"{rows:,} samples in {size_bytes:,} bytes: more than any run has")
        if sum(group.size_bytes for group in groups) > size_bytes:
            raise Damaged("overlapping columns")
        return groups

    def _check_schema(self) -> None:
        root, *columns = self.fields.get(2) or [{}]
        if root.get(5) != len(_COLUMNS) or [c.get(4) for c in columns] != [n.encode() for n in _COLUMNS]:
            raise Damaged("other columns")
        for found, (name, column) in zip(columns, _COLUMNS.items(), strict=True):
            if (found.get(1), found.get(10)) != (column.physical, column.logical) or found.get(5):
                raise Damaged(f"column {name} is of another type")
            if found.get(3) != 0:
                raise Damaged(f"column {name} may be without a value")


def _group(index: int, fields: dict[int, Any], size_bytes: int) -> Group:
    rows, chunks = fields.get(3, 0), fields.get(1, ())
    if not 1 <= rows <= MAX_GROUP_ROWS:
        raise Damaged(f"a row group of {rows:,} rows")
    if len(chunks) != len(_COLUMNS):
        raise Damaged("a row group of other columns")
    found = {}
    for chunk, (name, column) in zip(chunks, _COLUMNS.items(), strict=True):
        said = chunk.get(3, {})
        if (
            (said.get(1), said.get(3), said.get(4)) != (column.physical, [name.encode()], _ZSTD)
            or said.get(5) != rows
            or 1 in chunk  # it would lie in another file
        ):
            raise Damaged(f"column {name} is not as k6-audit writes it")
        start, size = said.get(9, 0), said.get(7, 0)
        if 0 < said.get(11, 0) < start:
            start = said[11]
        if not len(MAGIC) <= start < start + size <= size_bytes:
            raise Damaged(f"column {name} lies outside of the file")
        found[name] = start, size
    return Group(index, rows, found)


def check_pages(data: bytes, rows: int, name: str) -> None:
    """Walk the pages of a column of so many rows.

    Raises:
        Damaged: if k6-audit would not have written them.
    """
    encoding = _COLUMNS[name].encoding
    reader = Reader(data)
    values = 0
    while reader.at < len(data):
        first = reader.at == 0
        try:
            header = reader.struct(_PAGE)
        except NoStruct as problem:
            raise Damaged(f"a page of column {name}: {problem}") from problem
        kind, expanded, size = header.get(1), header.get(2, -1), header.get(3, -1)
        reader.at += size
        if size < 0 or reader.at > len(data) or 4 not in header:
            raise Damaged(f"a page of column {name} without its end, or without a checksum")
        n = header.get(5, header.get(7, {})).get(1, 0)
        if kind == _DICTIONARY_PAGE and 7 in header and first and encoding == _RLE_DICTIONARY:
            if not 1 <= n <= rows or not 0 <= expanded <= MAX_DICTIONARY_BYTES:
                raise Damaged(f"a dictionary of {n:,} entries, {expanded:,} bytes")
        elif kind == _DATA_PAGE and header.get(5, {}).get(2) == encoding and n > 0:
            if not 0 <= expanded <= 16 * n + 4096:
                raise Damaged(f"a page of {expanded:,} bytes for {n:,} rows")
            values += n
        else:
            raise Damaged(f"a page of column {name} in another encoding")
    if values != rows:
        raise Damaged(f"pages of {values:,} rows, not {rows:,}")
