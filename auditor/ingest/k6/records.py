"""k6's log records in the forms it has: logfmt, a terminal's, JSON, and messages alone."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from auditor.ingest.k6.folds import LOG_HEAD, starts
from auditor.inputs.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_LOGFMT = re.compile(
    r'time=(?P<time>"[^"]*"|[^\s"]+) level=(?P<level>[a-z]+) msg=(?P<message>"(?:[^"\\]|\\.)*"|[^\s"]*)'
    r'(?P<fields>(?: [^\s="]+=(?:"(?:[^"\\]|\\.)*"|[^\s"]*))*)\s*$'
)
_FIELD = re.compile(r'\s(?P<key>[A-Za-z_][\w.]*)=(?P<value>"(?:[^"\\]|\\.)*"|[^\s"]*)')
_TTY = re.compile(
    r"(?:^|(?<=\s))(?P<level>TRAC|DEBU|INFO|WARN|ERRO|FATA|PANI)\[(?P<second>\d{4,})\] (?P<rest>.*)$"
)
_TTY_LEVELS = {
    "TRAC": "trace", "DEBU": "debug", "INFO": "info", "WARN": "warning",
    "ERRO": "error", "FATA": "fatal", "PANI": "panic",
}  # fmt: skip
_TTY_FIELDS = re.compile(r'(?:\s+[A-Za-z_][\w.]*=(?:"(?:[^"\\]|\\.)*"|[^\s"]*))+\s*$')
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
FRAME = re.compile(
    r"^[ \t]*at (?:(?P<name>\S.*?) \((?P<where>[^()\n]*(?:\(\d+\))?)\)|(?P<bare>\S+:\d+:\d+\(\d+\)))", re.M
)
"""A line of a stack trace: "at default (file:///s.js:8:120(33))", or "at file:///s.js:4:22(76)"."""
_LOST_TAIL = re.compile(r'^\S* ?(?:[\w.]+=\S+ )*(?:source=stacktrace|hint="script exception"|executor=\S+ )')
_LONGEST_MESSAGE_LINES = 100


@dataclass(frozen=True)
class Record:
    """One record of k6's log."""

    level: str
    """"error", "warning" …; empty where messages stand alone."""
    message: str
    fields: Mapping[str, str] = field(default_factory=dict)
    time: str = ""
    """RFC 3339 with its zone; empty if the form has none."""
    second: int | None = None
    """Seconds since k6 started, in a terminal's form."""


class Unclosed(str):
    """A line that begins a record, or ends one, and whose other part is missing."""


def records(lines: Sequence[str]) -> Iterator[Record | Unclosed]:
    """The records in the lines; lines of the console between them are passed over.

    Where no line is a record, messages are taken to stand alone (`--log-format raw`).
    """
    any_record = False
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if LOG_HEAD.match(line) or "time=" in line:
            found = _logfmt(line)
            if found is not None:
                any_record = True
                yield found
                continue
        if line.startswith("{") and '"level"' in line:
            found = _json(line)
            if found is not None:
                any_record = True
                yield found
                continue
        if (head := _TTY.search(line)) is not None:
            any_record = True
            at, rest = _goes_on(lines, at, head["rest"])
            yield _terminal(head, rest)
        elif _LOST_TAIL.match(line):
            yield Unclosed(line)
    if not any_record:
        yield from _alone(lines)


def _logfmt(line: str) -> Record | Unclosed | None:
    found = _LOGFMT.search(line)
    if found is None or line.endswith("="):
        return Unclosed(line) if re.search(r'time="?\d{4}-\d\d-\d\dT', line) else None
    fields = {f["key"]: unquoted(f["value"]) for f in _FIELD.finditer(found["fields"])}
    return Record(found["level"], unquoted(found["message"]), fields, found["time"].strip('"'))


def _json(line: str) -> Record | Unclosed | None:
    try:
        item: Any = json.loads(line)
    except (ValueError, RecursionError):
        return Unclosed(line)
    if not isinstance(item, dict) or not isinstance(item.get("level"), str):
        return None
    message = item.get("msg", item.get("message"))
    if not isinstance(message, str):
        return None
    fields = {k: str(v) for k, v in item.items() if k not in ("level", "msg", "message", "time")}
    return Record(item["level"], plain(message), fields, str(item.get("time", "")))


def _goes_on(lines: Sequence[str], at: int, rest: str) -> tuple[int, str]:
    """A terminal prints the line breaks of a message: what follows up to the fields, or to what is no part."""
    parts = [rest]
    if _TTY_FIELDS.search(rest):
        return at, rest
    ahead = at
    while ahead < len(lines) and ahead - at < _LONGEST_MESSAGE_LINES:
        line = lines[ahead]
        is_frame = FRAME.match(line) is not None
        if not line.strip() or (starts(line) and not is_frame):
            break
        parts.append(line)
        ahead += 1
        if _TTY_FIELDS.search(line):
            return ahead, "\n".join(parts)
    # Without fields at its end only a stack is surely part of the message.
    kept = 1
    while kept < len(parts) and FRAME.match(parts[kept]):
        kept += 1
    return at + kept - 1, "\n".join(parts[:kept])


def _terminal(head: re.Match[str], text: str) -> Record:
    tail = _TTY_FIELDS.search(text)
    message = text[: tail.start()] if tail else text
    fields = {f["key"]: unquoted(f["value"]) for f in _FIELD.finditer(tail[0])} if tail else {}
    return Record(_TTY_LEVELS[head["level"]], message.strip(), fields, second=int(head["second"]))


def _alone(lines: Sequence[str]) -> Iterator[Record]:
    """Messages alone, one a line; a stack belongs to the line before it."""
    at = 0
    while at < len(lines):
        parts = [lines[at]]
        at += 1
        while at < len(lines) and FRAME.match(lines[at]):
            parts.append(lines[at])
            at += 1
        if len(parts) > 1:
            yield Record("error", "\n".join(parts), {"source": "stacktrace"})
        elif parts[0].strip():
            yield Record("", parts[0].strip())


def unquoted(text: str) -> str:
    """A logfmt value without its quotes and escapes."""
    if not text.startswith('"'):
        return text
    inner = text[1:-1]
    return _ESCAPE.sub(_unescape, inner) if "\\" in inner else inner


def _unescape(found: re.Match[str]) -> str:
    code = found[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPED.get(code, code)
