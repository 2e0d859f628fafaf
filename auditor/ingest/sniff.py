"""What a file is, decided by its content.

By name only two things are known: an empty log, and a bare exit code (and an empty points file, whose
emptiness is the finding).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from auditor.columnar import read as columnar
from auditor.ingest.host.plain_csv import looks_like_host_csv
from auditor.ingest.host.sadf_json import looks_like_sadf
from auditor.ingest.k6 import points_csv
from auditor.ingest.k6.archive import Archive, UnusableArchive, is_tar, looks_like_metadata, open_tar
from auditor.ingest.k6.console import looks_like_console, looks_like_document
from auditor.ingest.k6.dress import is_wrapped, undress
from auditor.ingest.k6.logs import looks_like_log
from auditor.ingest.k6.options import looks_like_options
from auditor.ingest.k6.script import looks_like_script
from auditor.ingest.k6.summary import find_summary, summary_kind
from auditor.inputs import streams
from auditor.inputs.text import decode, plain

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal[
    "points",
    "options",
    "archive",
    "script",
    "console",
    "log",
    "exit-code",
    "summary",
    "sadf",
    "host-csv",
    "other",
]
MAX_DOCUMENT_BYTES = 64 << 20

_POINT_START = re.compile(r'^\s*\{\s*"(?:metric"\s*:\s*"|type"\s*:\s*"(?:Metric|Point)"|data"\s*:\s*\{)')
_LOG_NAME = re.compile(r"(?:^|[._-])(?:log|logs|stderr)(?:[._-]|$)", re.I)
_CODE_NAME = re.compile(r"exit[_-]?(?:code|status)?|return[_-]?code|^rc$|status", re.I)
_POINTS_NAME = re.compile(r"\.(?:json|ndjson|jsonl)(?:\.gz)?$", re.I)
_OTHER_JSON_NAME = re.compile(r"summary|inspect|option|archive|metadata|host|sadf|expected|export", re.I)

_LABELS: dict[Kind, str] = {
    "points": "k6 JSON points",
    "options": "k6 inspect options",
    "archive": "k6 archive",
    "script": "k6 script",
    "console": "k6 console",
    "log": "k6 log",
    "exit-code": "exit code",
    "sadf": "sadf -j host metrics",
    "host-csv": "plain host CSV",
}


@dataclass(frozen=True)
class Recognised:
    """A file's kind; for "other", ``reason`` says why it is not used."""

    kind: Kind
    label: str
    document: Any = None
    reason: str = ""
    pretty: bool = False
    """Points whose objects span several lines."""
    csv: bool = False
    """Points in k6's CSV, not its JSON."""
    copy: bool = False
    """Points in a columnar copy of either."""


def sniff(path: Path) -> Recognised:
    """Recognise a file from its first decompressed bytes (whole documents are parsed)."""
    data = streams.head(path)
    if not data.strip():
        return _empty(path)
    if columnar.is_parquet(data):
        return _parquet(path)
    start = decode(data)
    if code := re.fullmatch(r"\s*(-?\d{1,3})\s*", start):
        if _CODE_NAME.search(path.name) and len(data) < 16:
            return Recognised("exit-code", _LABELS["exit-code"], document=int(code[1]))
        return _other("a bare number, and no name that says what it is")
    return _structured(path, start) or _textual(path, start)


def _empty(path: Path) -> Recognised:
    name = path.name
    if _LOG_NAME.search(name):
        return Recognised("log", f"{_LABELS['log']}, empty")
    if _POINTS_NAME.search(name) and not _OTHER_JSON_NAME.search(name):
        return Recognised("points", f"{_LABELS['points']}, empty")
    return _other("empty file")


def _structured(path: Path, start: str) -> Recognised | None:
    stripped = start.lstrip("\ufeff \t\r\n")
    if has_points(start):
        first = stripped.split("\n", 1)[0]
        pretty = not _is_json(first) and _first_value(stripped) is not None and "\n" in stripped
        return Recognised("points", _LABELS["points"], pretty=pretty)
    if not stripped.startswith(("{", "[")):
        return None
    first_line = stripped.split("\n", 1)[0]
    if is_wrapped(start):
        return None
    if '"event"' in first_line and _is_json(first_line):
        return _other("k6 web-dashboard events: aggregates only, no samples to audit")
    if '"level"' in first_line and '"msg"' in first_line:
        return Recognised("log", _LABELS["log"])
    return _document(path)


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


def _first_value(text: str) -> Any:
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _document(path: Path) -> Recognised | None:
    text, cut = streams.text(path, MAX_DOCUMENT_BYTES)
    if cut:
        return _other("JSON of more than 64 MB that is no points file, or a damaged stream")
    try:
        item = json.loads(text)
    except RecursionError:
        return _other("JSON nested too deeply")
    except ValueError as error:
        if '"sysstat"' in text[:200]:
            return _other(f"sadf -j output that is no valid JSON ({error}): record it again")
        return None
    if looks_like_sadf(item):
        return Recognised("sadf", _LABELS["sadf"], document=item)
    if looks_like_options(item):
        return Recognised("options", _LABELS["options"], document=item)
    if isinstance(item, dict):
        if (summary := find_summary(item)) is not None:
            return Recognised("summary", f"k6 summary ({summary_kind(summary)})", document=summary)
        if looks_like_metadata(item):
            return Recognised("archive", f"{_LABELS['archive']} (metadata.json)", document=Archive(item))
    return _other("JSON of no known format")


def _textual(path: Path, start: str) -> Recognised:
    if "\0" in start[:4096]:
        if is_tar(streams.head(path)):
            return _tar(path)
        if not looks_like_log(start):  # a log that was cut short while k6 wrote on begins with NUL bytes
            return _other("binary file of no known format")
    if start.startswith(",".join(points_csv.HEADER)):
        if streams.head(path, 2) in (b"\xff\xfe", b"\xfe\xff"):
            return _other("k6 CSV points in UTF-16: let k6 write the file itself (--out csv=k6.csv.gz)")
        return Recognised("points", "k6 CSV points", csv=True)
    if looks_like_host_csv(start):
        return Recognised("host-csv", _LABELS["host-csv"])
    if plain(start).lstrip("\ufeff \t\r\n").startswith("<"):
        return _other("a page or markup, not evidence of a run")
    if looks_like_document(start):
        return _other("a document that quotes k6's output, not a console: lint it as a report")
    if looks_like_console(start) or (len(start) >= 65536 and looks_like_console(streams.text(path)[0])):
        return Recognised("console", _LABELS["console"])
    if looks_like_log(start):
        return Recognised("log", _LABELS["log"])
    if is_wrapped(start):
        inner = "\n".join(line for stream in undress(start) for line in stream.lines)
        kind: Kind = "console" if looks_like_console(inner) else "log"
        return Recognised(kind, _LABELS[kind])
    if looks_like_script(plain(start)):
        return Recognised("script", _LABELS["script"])
    return _other("no known format")


def _parquet(path: Path) -> Recognised:
    if streams.is_compressed(path):
        return _other("a compressed Parquet file: unpack it")
    if not columnar.may_be_copy(path):
        return _other("a Parquet file that k6-audit did not write")
    return Recognised("points", "columnar copy of k6 points", copy=True)


def _tar(path: Path) -> Recognised:
    try:
        return Recognised("archive", _LABELS["archive"], document=open_tar(path))
    except UnusableArchive as problem:
        return _other(str(problem))


def _other(reason: str) -> Recognised:
    return Recognised("other", "", reason=reason)
