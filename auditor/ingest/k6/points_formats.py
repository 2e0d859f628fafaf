"""The formats of points files that are read. A new one is a reader in a file of its own, and an entry here."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from auditor.columnar import read as columnar
from auditor.ingest.k6 import points_csv, points_pair
from auditor.ingest.k6.console import looks_like_console
from auditor.ingest.k6.points_csv import CsvPoints
from auditor.ingest.k6.points_json import JsonPoints
from auditor.inputs import streams

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from auditor.columnar.about import Original
    from auditor.ingest.k6.points_pair import Glance
    from auditor.inputs.points_file import PointsFile
    from auditor.inputs.redact import Redactor

_POINT_START = re.compile(r'^\s*\{\s*"(?:metric"\s*:\s*"|type"\s*:\s*"(?:Metric|Point)"|data"\s*:\s*\{)')


class UnusablePoints(Exception):
    """A points file that was recognised and cannot be used; the text says why and what to do."""


class FileStart(NamedTuple):
    """What a file begins with, decompressed."""

    path: Path
    data: bytes
    text: str


@dataclass(frozen=True)
class PointsFormat:
    """A format of points files: how a file is told to have it, and how it is opened."""

    name: str
    """In a sentence: "JSON"."""
    label: str
    """As sources are listed: "k6 JSON points"."""
    looks_like: Callable[[FileStart], bool]
    """Raises UnusablePoints."""
    open: Callable[[Path, str, Redactor], PointsFile]
    """Of a file, its label, and what is masked; no sample is read yet."""
    glance: Glance | None
    """What tells, without reading the samples, whether two files are of one run; None for a copy."""
    made_of: Callable[[Path], Original] | None = None
    """Of a copy: the file that it was made of."""


def _open_json(path: Path, label: str, redactor: Redactor) -> JsonPoints:
    start = streams.decode(streams.head(path))
    return JsonPoints(
        path, label, pretty=spans_lines(start), mixed=looks_like_console(start), redactor=redactor
    )


def _is_csv(start: FileStart) -> bool:
    if not start.text.startswith(",".join(points_csv.HEADER)) or "\0" in start.text[:4096]:
        return False
    if start.data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UnusablePoints("k6 CSV points in UTF-16: let k6 write the file itself (--out csv=k6.csv.gz)")
    return True


def _is_copy(start: FileStart) -> bool:
    if not columnar.is_parquet(start.data):
        return False
    if streams.is_compressed(start.path):
        raise UnusablePoints("a compressed Parquet file: unpack it")
    if not columnar.may_be_copy(start.path):
        raise UnusablePoints("a Parquet file that k6-audit did not write")
    return True


def _original(path: Path) -> Original:
    return columnar.ParquetPoints(path, path.name).about.original


JSON = PointsFormat(
    name="JSON",
    label="k6 JSON points",
    looks_like=lambda start: has_points(start.text),
    open=_open_json,
    glance=points_pair.JSON,
)
CSV = PointsFormat(
    name="CSV",
    label="k6 CSV points",
    looks_like=_is_csv,
    open=CsvPoints,
    glance=points_pair.CSV,
)
COPY = PointsFormat(
    name="a columnar copy",
    label="columnar copy of k6 points",
    looks_like=_is_copy,
    open=columnar.ParquetPoints,
    glance=None,
    made_of=_original,
)
POINTS_FORMATS = (JSON, CSV, COPY)
"""What says most of a run comes first: of several files of one run that one is read."""


def has_points(start: str) -> bool:
    """Whether one of the first lines is (or begins as) a Metric or Point line."""
    lines = [line for line in start.splitlines()[:400] if line.strip()]
    for line in lines:
        if _POINT_START.match(line) and ('"Point"' in line or '"Metric"' in line):
            return True
    if lines and _POINT_START.match(lines[0]) and len(lines) == 1 and '"metric":"' in lines[0][:12]:
        return True  # a first line cut off before its type
    value = _first_value(start.lstrip("\ufeff \t\r\n"))
    return isinstance(value, dict) and value.get("type") in ("Metric", "Point") and "data" in value


def spans_lines(start: str) -> bool:
    """Whether the objects of a JSON points file span several lines."""
    stripped = start.lstrip("\ufeff \t\r\n")
    first = stripped.split("\n", 1)[0]
    return not is_json(first) and _first_value(stripped) is not None and "\n" in stripped


def _first_value(text: str) -> Any:
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


def is_json(line: str) -> bool:
    """Whether a text is one JSON value."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
