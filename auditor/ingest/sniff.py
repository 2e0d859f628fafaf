"""What a file is, decided by its content.

By name only two things are known: an empty log, and a bare exit code (and an empty points file, whose
emptiness is the finding).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from auditor.ingest import host
from auditor.ingest.k6 import points_formats
from auditor.ingest.k6.archive import Archive, UnusableArchive, is_tar, looks_like_metadata, open_tar
from auditor.ingest.k6.console import looks_like_console, looks_like_document
from auditor.ingest.k6.dress import is_wrapped, undress
from auditor.ingest.k6.logs import looks_like_log
from auditor.ingest.k6.options import looks_like_options
from auditor.ingest.k6.points_formats import FileStart, PointsFormat, UnusablePoints, is_json
from auditor.ingest.k6.script import looks_like_script
from auditor.ingest.k6.summary import find_summary, summary_kind
from auditor.inputs import streams
from auditor.inputs.text import decode, plain

if TYPE_CHECKING:
    from pathlib import Path

    from auditor.ingest.host.format import HostFormat

Kind = Literal[
    "points",
    "options",
    "archive",
    "script",
    "console",
    "log",
    "exit-code",
    "summary",
    "host",
    "other",
]
MAX_DOCUMENT_BYTES = 64 << 20

_LOG_NAME = re.compile(r"(?:^|[._-])(?:log|logs|stderr)(?:[._-]|$)", re.I)
_CODE_NAME = re.compile(r"exit[_-]?(?:code|status)?|return[_-]?code|^rc$|status", re.I)
_POINTS_NAME = re.compile(r"\.(?:json|ndjson|jsonl)(?:\.gz)?$", re.I)
_OTHER_JSON_NAME = re.compile(r"summary|inspect|option|archive|metadata|host|sadf|expected|export", re.I)

_LABELS: dict[Kind, str] = {
    "options": "k6 inspect options",
    "archive": "k6 archive",
    "script": "k6 script",
    "console": "k6 console",
    "log": "k6 log",
    "exit-code": "exit code",
}


@dataclass(frozen=True)
class Recognised:
    """A file's kind; for "other", ``reason`` says why it is not used."""

    kind: Kind
    label: str
    document: Any = None
    reason: str = ""
    points: PointsFormat | None = None
    """Of "points": their format."""
    host: HostFormat | None = None
    """Of "host": their format."""


def sniff(path: Path) -> Recognised:
    """Recognise a file from its first decompressed bytes (whole documents are parsed)."""
    data = streams.head(path)
    if not data.strip():
        return _empty(path)
    start = decode(data)
    if (points := _points(FileStart(path, data, start))) is not None:
        return points
    if code := re.fullmatch(r"\s*(-?\d{1,3})\s*", start):
        if _CODE_NAME.search(path.name) and len(data) < 16:
            return Recognised("exit-code", _LABELS["exit-code"], document=int(code[1]))
        return _other("a bare number, and the file's name does not say what it is")
    return _structured(path, start) or _textual(path, start)


def _empty(path: Path) -> Recognised:
    name = path.name
    if _LOG_NAME.search(name):
        return Recognised("log", f"{_LABELS['log']}, empty")
    if _POINTS_NAME.search(name) and not _OTHER_JSON_NAME.search(name):
        points = points_formats.JSON
        return Recognised("points", f"{points.label}, empty", points=points)
    return _other("empty file")


def _points(start: FileStart) -> Recognised | None:
    try:
        for one in points_formats.POINTS_FORMATS:
            if one.looks_like(start):
                return Recognised("points", one.label, points=one)
    except UnusablePoints as problem:
        return _other(str(problem))
    return None


def _host(content: Literal["document", "text"], item: Any) -> Recognised | None:
    for one in host.HOST_FORMATS:
        if one.content == content and one.looks_like(item):
            document = item if content == "document" else None
            return Recognised("host", one.label, document=document, host=one)
    return None


def _structured(path: Path, start: str) -> Recognised | None:
    stripped = start.lstrip("\ufeff \t\r\n")
    if not stripped.startswith(("{", "[")):
        return None
    first_line = stripped.split("\n", 1)[0]
    if is_wrapped(start):
        return None
    if '"event"' in first_line and is_json(first_line):
        return _other("k6 web-dashboard events: aggregates only, no samples to audit")
    if '"level"' in first_line and '"msg"' in first_line:
        return Recognised("log", _LABELS["log"])
    return _document(path)


def _document(path: Path) -> Recognised | None:
    text, cut = streams.text(path, MAX_DOCUMENT_BYTES)
    if cut:
        return _other("JSON of more than 64 MB that is not a points file, or a damaged stream")
    try:
        item = json.loads(text)
    except RecursionError:
        return _other("JSON nested too deeply")
    except ValueError as error:
        for one in host.HOST_FORMATS:
            if one.mark and one.mark in text[:200]:
                return _other(f"{one.label}, but not valid JSON ({error}): record it again")
        return None
    if (found := _host("document", item)) is not None:
        return found
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
    if (found := _host("text", start)) is not None:
        return found
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
    return _other("not a known format")


def _tar(path: Path) -> Recognised:
    try:
        return Recognised("archive", _LABELS["archive"], document=open_tar(path))
    except UnusableArchive as problem:
        return _other(str(problem))


def _other(reason: str) -> Recognised:
    return Recognised("other", "", reason=reason)
