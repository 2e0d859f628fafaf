"""A columnar copy of a run's points (`k6-audit convert`), read in place of the JSON or CSV that it was made of.

The layout is in docs/formats.md; `auditor.columnar.write` writes it. Most of a copy is never decoded: the
metrics of a request have their stamps and tag sets in common, so columns of the same bytes are decoded once,
and values only if somebody asks for them.

A copy comes from anywhere. What pyarrow is given has been checked before: where the columns lie, how large each
page becomes, and that the file is one that k6-audit writes. Whatever contradicts itself is refused.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import tempfile
import threading
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from auditor import __version__
from auditor.columnar.about import (
    ABOUT_KEY,
    DIGEST_KEY,
    FORMAT_VERSION,
    About,
    read_about,
    tags_of,
    version_of,
)
from auditor.columnar.layout import (
    MAGIC,
    MAX_FOOTER_BYTES,
    METRIC,
    TAGS,
    TIME,
    VALUE,
    Damaged,
    Footer,
    check_pages,
)
from auditor.errors import AuditError, another_file
from auditor.evidence import MetricBatch, PartReport, PointTables, Position, Tags
from auditor.inputs import columns, streams
from auditor.inputs.points_file import PointsFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt
    import pyarrow as pa
    from pyarrow import parquet as pq

    from auditor.columnar.layout import Group
    from auditor.inputs.redact import Redactor

CHUNK_ROWS = 16 << 20
"""For a worker in another process."""


def is_parquet(start: bytes) -> bool:
    return start[: len(MAGIC)] == MAGIC


def may_be_copy(path: Path) -> bool:
    """Whether a Parquet file is a copy, or one whose end is damaged so that it may have been one.

    Those are refused when they are opened: skipped, their absence would go unnoticed.
    """
    try:
        return ABOUT_KEY in _footer(path).said
    except Damaged:
        return True


def _footer(path: Path) -> Footer:
    """
    Raises:
        Damaged: if there is none that can be read.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if size < 12 or end[4:] != MAGIC or length > size - 12:
            raise Damaged("its end is missing")
        if length > MAX_FOOTER_BYTES:
            raise Damaged(f"more than {MAX_FOOTER_BYTES >> 20} MB of metadata")
        file.seek(size - 8 - length)
        return Footer.of(file.read(length))


class _Shared(NamedTuple):
    """The decoded stamps and tag sets of row groups whose columns have the same bytes."""

    raw: tuple[bytes, bytes]
    time_ns: npt.NDArray[np.int64]
    tagset: npt.NDArray[np.int32]


class _File:
    """A copy that was opened: what it says, and its row groups. Pickled, it is opened again elsewhere."""

    def __init__(self, path: Path, label: str, of_bytes: int | None = None) -> None:
        """``of_bytes``: how large the file is; what lies elsewhere under the same name may be another.

        Raises:
            AuditError: if it is not a copy, or a damaged one.
        """
        self.path, self.label = path, label
        self.sha256 = ""
        """Of the file, if all of it was read."""
        self.size_bytes = path.stat().st_size
        if of_bytes is not None and of_bytes != self.size_bytes:
            raise another_file(path, self.size_bytes, of_bytes)
        try:
            footer = _footer(path)
            self.about = self._read_about(footer)
            self.groups = footer.groups(self.size_bytes)
            if (rows := sum(group.rows for group in self.groups)) != self.about.read.points:
                raise Damaged(f"{rows:,} samples, but its metadata says {self.about.read.points:,}")
            self._metadata = _for_pyarrow(footer)
        except (Damaged, ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
            raise self.damaged(problem) from problem

    def __reduce__(self) -> tuple[object, ...]:
        return _File, (self.path, self.label, self.size_bytes)

    def damaged(self, problem: Exception) -> AuditError:
        why = str(problem) if isinstance(problem, Damaged | ValueError | TypeError) else type(problem).__name__
        return AuditError(
            f"a damaged columnar copy ({(why.splitlines() or [''])[0][:200]})",
            where=self.label,
            fix="make it again from the original with `k6-audit convert`, or put the original in its place",
        )

    def _read_about(self, footer: Footer) -> About:
        said = footer.said.get(ABOUT_KEY, b"")
        if hashlib.sha256(said).hexdigest().encode() != footer.said.get(DIGEST_KEY):
            raise Damaged("its metadata about the original has another digest")
        version = version_of(said)
        if version != FORMAT_VERSION:
            raise AuditError(
                f"a columnar copy in version {version} of the format; k6-auditor {__version__} reads version "
                f"{FORMAT_VERSION}",
                where=self.label,
                fix="use a later k6-audit, or put the original in its place",
            )
        return read_about(said)

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The metric of every row group.

        Raises:
            AuditError: if a row group has several, or the row groups are not in their order.
        """
        found: list[str] = []
        for group in self.groups:
            try:
                column = self._decoded(group, {METRIC: self.raw(group, METRIC)})[METRIC]
                if len(column.dictionary) != 1 or columns.to_numpy(column.indices, np.int32).any():
                    raise Damaged("a row group of several metrics")
                (name,) = column.dictionary.to_pylist()
                if found and name < found[-1]:
                    raise Damaged("row groups out of the order of their metrics")
            except (Damaged, ValueError) as problem:
                raise self.damaged(problem) from problem
            found.append(name)
        return tuple(found)

    def raw(self, group: Group, name: str) -> bytes:
        """The bytes of a column."""
        start, size = group.chunks[name]
        if getattr(self.path, "protocol", ""):  # a URL's
            return os.pread(self._fetched.fileno(), size, start)
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(size)

    @functools.cached_property
    def _fetched(self) -> IO[bytes]:
        """What is remote, here: its digest needs all of it anyway, and many small ranges of it are read."""
        digest = hashlib.sha256()
        here = tempfile.TemporaryFile(prefix="k6-audit-")  # noqa: SIM115  # as long as this object
        with self.path.open("rb") as there:
            while data := there.read(1 << 20):
                digest.update(data)
                here.write(data)
        here.flush()
        self.sha256 = digest.hexdigest()
        return here

    def shared(self, group: Group, raw: tuple[bytes, bytes], identify: _TagIds) -> _Shared:
        """Stamps and tag sets of a row group.

        Raises:
            AuditError: if they are damaged.
        """
        try:
            decoded = self._decoded(group, dict(zip((TIME, TAGS), raw, strict=True)))
            time_ns = columns.to_numpy(decoded[TIME], np.int64)
            if (time_ns[1:] < time_ns[:-1]).any():
                raise Damaged("rows out of time order")
            ids = identify.all(decoded[TAGS].dictionary.to_pylist())
            # Without a sign, an index below zero is one beyond the end.
            index = columns.to_numpy(decoded[TAGS].indices, np.uint32)
            if index.max() >= len(ids):
                raise Damaged("rows with an undefined tag set")
            tagset = ids[index]
        except (Damaged, ValueError, RecursionError) as problem:
            raise self.damaged(problem) from problem
        return _Shared(raw, time_ns, tagset)

    def value(self, group: Group) -> npt.NDArray[np.float64]:
        """The values of a row group.

        Raises:
            AuditError: if they are damaged.
        """
        try:
            value: npt.NDArray[np.float64] = columns.to_numpy(
                self._decoded(group, {VALUE: self.raw(group, VALUE)})[VALUE], np.float64
            )
            if not np.isfinite(value).all():
                raise Damaged("a value that is not a finite number")
        except (Damaged, ValueError) as problem:
            raise self.damaged(problem) from problem
        return value

    def _decoded(self, group: Group, raw: dict[str, bytes]) -> dict[str, pa.Array]:
        """Columns of a row group, all of one length and of the right types."""
        import pyarrow as pa
        from pyarrow import parquet as pq

        for name, data in raw.items():
            check_pages(data, group.rows, name)
        place = _Place({group.chunks[name][0]: data for name, data in raw.items()})
        try:
            with pq.ParquetFile(
                pa.PythonFile(place, mode="r"),
                metadata=self._metadata,
                read_dictionary=[METRIC, TAGS],
                pre_buffer=False,
                page_checksum_verification=True,
            ) as file:
                table = file.read_row_group(group.index, columns=list(raw), use_threads=False)
        except (pa.ArrowException, OSError, ValueError, TypeError) as problem:
            raise Damaged(f"column {' or '.join(raw)}: {problem}") from problem
        types = {
            METRIC: pa.dictionary(pa.int32(), pa.string()),
            TIME: pa.timestamp("ns", tz="UTC"),
            VALUE: pa.float64(),
            TAGS: pa.dictionary(pa.int32(), pa.string()),
        }
        found = {}
        for name in raw:
            column = table[name]
            if column.type != types[name] or len(column) != group.rows:
                raise Damaged(f"column {name} is of another type or length")
            found[name] = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        return found


def _for_pyarrow(footer: Footer) -> pq.FileMetaData:
    import pyarrow as pa
    from pyarrow import parquet as pq

    end = len(footer.raw).to_bytes(4, "little") + MAGIC
    try:
        return pq.read_metadata(pa.BufferReader(MAGIC + footer.raw + end))
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise Damaged("its metadata cannot be read") from problem


class _Place:
    """The file that pyarrow sees: the bytes that were checked, where they stand, and nothing else."""

    closed = False

    def __init__(self, pieces: dict[int, bytes]) -> None:
        self._pieces = pieces
        self._at = 0

    def seek(self, at: int, whence: int = 0) -> int:
        self._at = at if whence == 0 else max(start + len(data) for start, data in self._pieces.items())
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        data = self._pieces.get(self._at, b"")
        if size != len(data):
            raise ValueError("it is not at its stated place")
        self._at += size
        return data

    def close(self) -> None:
        """Nothing to close: the file is opened for each read."""


class ParquetPoints(PointsFile):
    """A columnar copy of a points file."""

    def __init__(self, file: Path, label: str, redactor: Redactor | None = None) -> None:
        """
        Raises:
            AuditError: if it is not a copy, or a damaged one.
        """
        super().__init__(file, label, redactor)
        self._copy = _File(self.file, label)
        self._read_parts: Sequence[ParquetPart] = ()

    @property
    def about(self) -> About:
        return self._copy.about

    @property
    def note(self) -> str:  # type: ignore[override]
        """The original in words."""
        original = self.about.original
        return f"made of {original.name} ({original.format}, {original.size_bytes:,} bytes)"

    def parts(self, n: int, *, hashed: bool = True) -> Sequence[ParquetPart]:
        """The SHA-256 is found when it is asked for: not all of the file is read."""
        units = _Turns(self._units())
        self._read_parts = [ParquetPart(self._copy, units, first=i == 0) for i in range(max(1, n))]
        if self._copy.sha256:
            self.sha256.note(self._copy.sha256)
        return self._read_parts

    def chunks(self) -> Sequence[ParquetPart]:
        found: list[list[list[int]]] = [[]]
        rows = 0
        for unit in self._units():
            if rows > CHUNK_ROWS:
                found.append([])
                rows = 0
            found[-1].append(unit)
            rows += sum(self._copy.groups[index].rows for index in unit)
        return [ParquetPart(self._copy, units, first=i == 0) for i, units in enumerate(found)]

    def in_order(self) -> ParquetPart:
        """All of it, row group by row group."""
        return ParquetPart(self._copy, [list(range(len(self._copy.groups)))], first=True)

    def position(self) -> Position:
        read = sum(part.read_bytes for part in self._read_parts)
        return Position(read, self.size_bytes, sum(part.report().points for part in self._read_parts))

    def _units(self) -> list[list[int]]:
        """Row groups that may have stamps and tag sets in common, together."""
        found: dict[tuple[int, ...], list[int]] = {}
        for group in self._copy.groups:
            found.setdefault(group.alike, []).append(group.index)
        return list(found.values())


class ParquetPart:
    """Row groups as columns. Iterate `batches` once; `report` is whole after the last batch."""

    def __init__(self, file: _File, units: Iterable[list[int]], *, first: bool) -> None:
        """``first``: this part reports what the file says of its original as a whole."""
        about = file.about
        names = sorted(set(file.names))
        unsampled = about.metrics_without_samples if first else ()
        self.tables = PointTables(
            metrics=[*names, *(name for name in unsampled if name not in names)],
            definitions={definition.name: definition for definition in about.definitions},
        )
        self.read_bytes = 0
        """Of row groups that have been read, whether all of their columns were needed or not."""
        self._ids = _TagIds(self.tables.tagsets, file.size_bytes)
        if first:
            for tags in about.tagsets_without_samples:
                self._ids.of(tags)
        self._file, self._units, self._first = file, units, first
        self._metric_id = {name: i for i, name in enumerate(self.tables.metrics)}
        self._points = 0
        self._stamp_gcd = 0

    def __reduce__(self) -> tuple[object, ...]:
        return _part, (self._file, list(self._units), self._first)

    def report(self) -> PartReport:
        whole = self._file.about.read if self._first else PartReport()
        return PartReport(
            lines=whole.lines,
            points=self._points,
            malformed=whole.malformed,
            first_malformed=whole.first_malformed,
            dropped_values=whole.dropped_values,
            torn=whole.torn,
            overwritten=whole.overwritten,
            stamp_gcd_ns=self._stamp_gcd,
            stamp_unit_ns=whole.stamp_unit_ns,
        )

    def batches(self) -> Iterator[MetricBatch]:
        """A batch for every row group.

        Raises:
            AuditError: if the copy is damaged: nothing is known of what is missing.
        """
        file = self._file
        for unit in self._units:
            shared: _Shared | None = None
            for index in unit:
                group = file.groups[index]
                raw = file.raw(group, TIME), file.raw(group, TAGS)
                if shared is None or raw != shared.raw:
                    shared = file.shared(group, raw, self._ids)
                    self._note(shared.time_ns)
                self._points += group.rows
                self.read_bytes += group.size_bytes
                yield MetricBatch(
                    self._metric_id[file.names[index]],
                    shared.time_ns,
                    shared.tagset,
                    functools.partial(file.value, group),
                )

    def _note(self, time_ns: npt.NDArray[np.int64]) -> None:
        for start in range(0, len(time_ns), 4096):
            if self._stamp_gcd == 1:
                return
            self._stamp_gcd = math.gcd(self._stamp_gcd, int(np.gcd.reduce(time_ns[start : start + 4096])))


def _part(file: _File, units: list[list[int]], first: bool) -> ParquetPart:
    return ParquetPart(file, units, first=first)


class _Turns:
    """Units of work for several threads; each goes to one of them."""

    def __init__(self, units: list[list[int]]) -> None:
        self._left = iter(units)
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[list[int]]:
        while True:
            with self._lock:
                unit = next(self._left, None)
            if unit is None:
                return
            yield unit


class _TagIds:
    """The ids of tag sets, by their text; each text is parsed once."""

    def __init__(self, tagsets: list[Tags], size_bytes: int) -> None:
        """``size_bytes``: of the file."""
        self._tagsets = tagsets
        self._of_text: dict[str, int] = {}
        self._of_tags: dict[Tags, int] = {}
        self._room = max(streams.EXPANSION_FREE_BYTES, streams.MAX_EXPANSION * size_bytes)

    def all(self, texts: list[str]) -> npt.NDArray[np.int32]:
        return np.fromiter((self._id(text) for text in texts), dtype=np.int32, count=len(texts))

    def of(self, tags: Tags) -> int:
        known = self._of_tags.get(tags)
        if known is None:
            known = self._of_tags[tags] = len(self._tagsets)
            self._tagsets.append(tags)
        return known

    def _id(self, text: str) -> int:
        known = self._of_text.get(text)
        if known is None:
            self._room -= len(text)
            if self._room < 0:
                raise Damaged("tag sets that are far larger than the file")
            known = self._of_text[text] = self.of(tags_of(text))
        return known
