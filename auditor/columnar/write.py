"""A run's samples as a columnar copy (docs/formats.md); `auditor.columnar.read` reads it."""

from __future__ import annotations

import hashlib
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from auditor import __version__
from auditor.columnar.about import ABOUT_KEY, DIGEST_KEY, About, Original, tags_text
from auditor.columnar.read import ParquetPoints
from auditor.errors import AuditError
from auditor.evidence import PartReport, ReadReport
from auditor.files import whole
from auditor.samples.columns import merged

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt
    import pyarrow as pa

    from auditor.inputs.points_file import PointsFile
    from auditor.samples.columns import Column, GeneratorSamples
    from auditor.samples.workers import Workers

GROUP_ROWS = 1 << 19
"""Rows in a row group: fewer make the file larger, more need more memory."""
GROUP_TAG_BYTES = 32 << 20
"""Text of the tag sets of a row group, which stands in it once."""
ZSTD_LEVEL = 9
"""Compression level: as quick as lower levels; from 12 on writing takes several times as long for no gain."""


def copy_points(source: PointsFile, kind: str, path: Path, workers: Workers) -> int:
    """Read all of a points file, write its copy, and read that back; how many samples there are.

    ``source`` has to mask nothing; ``kind`` is what it was read as.

    Raises:
        AuditError: if the copy cannot be written, or differs from the samples; then no copy is left.
    """
    (parts,) = workers.reduce([(source, None)])
    unit_ns = max(part.report.stamp_unit_ns for part in parts)
    samples = merged(source, parts, workers.spill)
    original = Original(PurePath(source.path).name, kind, source.size_bytes, source.sha256.hex())
    with whole(path) as temporary:
        with temporary.open("wb") as file:
            _write(file, samples, _about(samples, original, unit_ns))
        _check(temporary, str(path), samples)
    return samples.read.points


def _about(samples: GeneratorSamples, original: Original, stamp_unit_ns: int) -> About:
    """What a copy says beside the samples."""
    read = samples.read
    sampled = set(samples.series_tagset.tolist())
    return About(
        tool=f"k6-auditor {__version__}",
        original=original,
        read=PartReport(
            lines=((0, read.lines),),
            points=read.points,
            malformed=read.malformed,
            first_malformed=None if read.first_malformed_line is None else (0, read.first_malformed_line),
            dropped_values=read.dropped_values,
            torn=read.torn,
            overwritten=read.overwritten,
            stamp_unit_ns=stamp_unit_ns,
        ),
        definitions=tuple(samples.definitions.values()),
        metrics_without_samples=tuple(sorted(set(samples.metrics) - samples.columns.keys())),
        tagsets_without_samples=tuple(tags for i, tags in enumerate(samples.tagsets) if i not in sampled),
    )


def _write(file: IO[bytes], samples: GeneratorSamples, about: About) -> None:
    """All samples, whose columns must all have been kept."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    schema = _schema()
    texts = [tags_text(tags) for tags in samples.tagsets]
    sizes = np.array([len(text.encode()) for text in texts], dtype=np.int64)
    said = about.as_json()
    writer = pq.ParquetWriter(
        pa.PythonFile(file, mode="w"),
        schema,
        compression="zstd",
        compression_level=ZSTD_LEVEL,
        use_dictionary=["metric", "tags"],
        column_encoding={"time": "DELTA_BINARY_PACKED", "value": "PLAIN"},
        dictionary_pagesize_limit=2 * GROUP_TAG_BYTES,
        write_page_checksum=True,
        write_statistics=["metric", "time", "value"],
        sorting_columns=[pq.SortingColumn(0), pq.SortingColumn(1)],
    )
    try:
        for name in sorted(samples.columns):
            column, start = samples.columns[name], 0
            while start < len(column):
                end, used, index = _group(column.tagset, start, sizes)
                if end == start:
                    raise AuditError(f"a tag set of more than {GROUP_TAG_BYTES >> 20} MB in metric {name}")
                table = _table(schema, name, column, slice(start, end), [texts[i] for i in used], index)
                writer.write_table(table, row_group_size=len(table))
                start = end
        writer.add_key_value_metadata({ABOUT_KEY: said, DIGEST_KEY: hashlib.sha256(said).hexdigest().encode()})
        writer.close()
    finally:
        writer.is_open = False  # else it would write an end to a file that is given up


def _schema() -> pa.Schema:
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            pa.field("metric", text, nullable=False),
            pa.field("time", pa.timestamp("ns", tz="UTC"), nullable=False),
            pa.field("value", pa.float64(), nullable=False),
            pa.field("tags", text, nullable=False),
        ]
    )


def _table(
    schema: pa.Schema,
    name: str,
    column: Column,
    rows: slice,
    texts: Sequence[str],
    index: npt.NDArray[np.int32],
) -> pa.Table:
    """A row group. ``index``: which of the texts is the tag set of each row."""
    import pyarrow as pa

    zeros = np.zeros(len(index), dtype=np.int32)
    return pa.Table.from_arrays(
        [
            pa.DictionaryArray.from_arrays(_array(zeros, pa.int32()), pa.array([name], pa.string())),
            _array(column.time_ns[rows], schema.field("time").type),
            _array(column.value[rows], pa.float64()),
            pa.DictionaryArray.from_arrays(_array(index, pa.int32()), pa.array(texts, pa.string())),
        ],
        schema=schema,
    )


def _group(
    tagset: npt.NDArray[np.int32], start: int, sizes: npt.NDArray[np.int64]
) -> tuple[int, list[int], npt.NDArray[np.int32]]:
    """Where a row group ends that begins at ``start``; the tag sets in it, and which of them each row has.

    ``sizes``: of every tag set's text.
    """
    rows = min(GROUP_ROWS, len(tagset) - start)
    while rows:
        these = tagset[start : start + rows]
        used = np.flatnonzero(np.bincount(these))
        if sizes[used].sum() <= GROUP_TAG_BYTES:
            place = np.empty(len(sizes), dtype=np.int32)
            place[used] = np.arange(len(used), dtype=np.int32)
            return start + rows, used.tolist(), place[these]
        rows //= 2
    return start, [], tagset[:0]


def _array(values: npt.NDArray[Any], kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def _check(path: Path, label: str, samples: GeneratorSamples) -> None:
    """Read a copy as it will be read, and compare it with the samples, bit by bit."""
    part = ParquetPoints(path, label).in_order()
    done = dict.fromkeys(samples.columns, 0)
    tagset_id = {tags: i for i, tags in enumerate(samples.tagsets)}
    ids = np.empty(0, np.int32)
    alike = True
    for batch in part.batches():
        name = part.tables.metrics[batch.metric_id]
        new = [tagset_id.get(tags, -1) for tags in part.tables.tagsets[len(ids) :]]
        ids = np.concatenate((ids, np.array(new, dtype=np.int32)))
        start = done[name]
        done[name] = end = start + len(batch.time_ns)
        column = samples.columns[name]
        alike = (
            alike
            and np.array_equal(batch.time_ns, column.time_ns[start:end])
            and np.array_equal(ids[batch.tagset], column.tagset[start:end])
            and np.array_equal(_bits(batch.value), _bits(column.value[start:end]))
        )
    if (
        not alike
        or done != {name: len(column) for name, column in samples.columns.items()}
        or set(part.tables.metrics) != set(samples.metrics)
        or set(part.tables.tagsets) != set(samples.tagsets)
        or part.tables.definitions != samples.definitions
        or ReadReport.of([part.report()]) != samples.read
    ):
        raise AuditError(
            "the copy differs from the original when read back, and was discarded",
            where=label,
            fix="internal error of k6-audit or pyarrow: please report it",
        )


def _bits(value: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return np.ascontiguousarray(value).view(np.int64)
