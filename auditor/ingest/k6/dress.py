"""Takes k6's lines out of what was put around them: prefixes, wrappers, other services' lines, folds.

Nothing here knows a product. A prefix is learned from the file: it is what stands before the lines that k6
surely wrote. A file whose lines already are k6's own is returned as it is.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from auditor.ingest.k6.folds import unfolded
from auditor.inputs.text import lines_of, plain

LEVELS = "trace|debug|info|warning|warn|error|fatal|panic"
_SURE = (
    r'time="?\d{4}-\d\d-\d\dT[^" ]+"? level=(?:' + LEVELS + r") "
    r"|(?:TRAC|DEBU|INFO|WARN|ERRO|FATA|PANI)\[\d{4,}\] "
    r"|(?:running|paused) \([\ddhms.]+\), \d+/\d+ VUs, "
    r'|\{(?="[\w@.]+": ?["\d])(?=.*"level": ?"(?:' + LEVELS + r')")(?=.*"msg": ?")'
)
_SURE_INDENTED = (
    r"execution: (?:local|cloud)\b|scenarios: \(\d+(?:\.\d+)?%\) \d+ scenario"
    r"|█ (?:TOTAL RESULTS|THRESHOLDS)|(?:[✓✗] )?[a-z_]\w*\.{3,}: [\d\-a]"
    r"|\* [^:]{1,80}: (?:Up to )?\d[\d.]* (?:iterations|looping)"
)
_ANCHOR = re.compile(f"(?P<first>{_SURE})|(?P<indented>{_SURE_INDENTED})")
"""What k6 surely wrote: at the start of its line, or after its own indent."""
_CONSOLE_ANCHOR = re.compile(r"(?:running|paused) \([\ddhms.]+\), |" + _SURE_INDENTED)
_K6_RECORD = re.compile(
    r"source=(?:stacktrace|console)|\bexecutor=|Request Failed|Insufficient VUs|unique time series"
    r"|thresholds on metrics|script exception|test (?:run )?(?:was )?(?:aborted|marked)|execution timed out"
    r"|No script iterations|k6 "
)
_SAMPLE_LINES = 4000
_LONGEST_PREFIX = 400
_MOST_SHAPES = 16
_TIME = (
    r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d)\b)?"
    r"|\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?"
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}\d{1,2}\b"
    r"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b"
)
_TOKEN = re.compile(
    rf"(?P<time>{_TIME})|(?P<number>\d+(?:\.\d+)?(?![A-Za-z0-9]))|(?P<word>[A-Za-z0-9]+)|(?P<space>\s+)|."
)
_SAME_PROCESS = frozenset(
    [
        *("stdout", "stderr", "out", "err", "f", "p", "o", "e"),
        *("trace", "debug", "info", "notice", "warn", "warning", "error", "fatal"),
    ]
)
"""Words that tell apart the streams or levels of one process, not processes."""


@dataclass(frozen=True)
class Stream:
    """The lines of one process, as it wrote them."""

    name: str
    """What stood before its lines, without times; empty if nothing did."""
    lines: tuple[str, ...]
    stamps: tuple[str, str] | None = None
    """The first and last prefix that holds a date, as it stands; None without one."""
    folded: bool = False
    """Whether lines were folded at a width and joined again."""

    @property
    def has_console(self) -> bool:
        return any(_CONSOLE_ANCHOR.search(line) for line in self.lines)


def undress(text: str) -> tuple[Stream, ...]:
    """The streams of k6 in a text: one, unless several processes wrote into it; none if k6 wrote nothing.

    Lines that stand before, between and after k6's own are kept with them; lines of other processes (told by
    their prefix) are left out.
    """
    lines = lines_of(plain(text))
    found = [stream for wrapped in _unwrapped(lines) for stream in _by_prefix(*wrapped)]
    if len(found) > 1:
        found = _one_process(found)
    return tuple(_joined(stream) for stream in found)


def is_wrapped(text: str) -> bool:
    """Whether the first lines are JSON objects around k6's lines (and not k6's own JSON log)."""
    objects = [
        item
        for line in text.split("\n", 20)[:20]
        if line.startswith("{") and (item := _object(line.rstrip("\r"))) is not None
    ]
    return _text_path(objects) is not None


def is_k6(line: str) -> bool:
    """Whether k6 surely wrote this line (which may have something before it)."""
    return _ANCHOR.search(line) is not None


def _joined(draft: _Draft) -> Stream:
    lines, folded = unfolded(draft.lines, draft.widths)
    return Stream(draft.name, tuple(lines), draft.stamps, folded)


@dataclass
class _Draft:
    name: str
    lines: list[str] = field(default_factory=list)
    widths: list[int] | None = None
    """Columns of the whole line, prefix included; None where that is the line's own length."""
    stamps: tuple[str, str] | None = None


# --- JSON around each line --------------------------------------------------------------------------------


def _unwrapped(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Lines taken out of JSON objects that a log shipper put around them, by process."""
    sample = [line for line in lines[:_SAMPLE_LINES] if line.startswith("{")]
    if len(sample) * 2 < sum(1 for line in lines[:_SAMPLE_LINES] if line.strip()) or not sample:
        return [("", lines)]
    objects = [item for line in sample[:500] if (item := _object(line)) is not None]
    path = _text_path(objects)
    if path is None:
        return [("", lines)]
    keys = _process_keys(objects, path)
    found: dict[str, list[str]] = {}
    partial: dict[str, str] = {}
    ends_lines = sum(str(_at(one, path)).endswith("\n") for one in objects) * 2 > len(objects)
    name = ""
    for line in lines:
        item = _object(line) if line.startswith("{") else None
        value = _at(item, path) if item is not None else None
        if item is None or not isinstance(value, str):
            if item is None:
                found.setdefault(name, []).append(line)
            continue
        name = " ".join(str(_at(item, key)) for key in keys if _at(item, key) is not None)
        whole = partial.pop(name, "") + value
        if ends_lines and not value.endswith("\n"):
            partial[name] = whole  # a long line comes in parts
            continue
        found.setdefault(name, []).extend(lines_of(plain(whole)) or [""])
    for name, rest in partial.items():
        found.setdefault(name, []).extend(lines_of(plain(rest)))
    return list(found.items())


def _object(line: str) -> dict[str, Any] | None:
    try:
        item = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return item if isinstance(item, dict) else None


_Path = tuple[str, ...]


def _strings(item: Any, depth: int = 3) -> list[tuple[_Path, str]]:
    """Every string in nested objects, by its path."""
    found: list[tuple[_Path, str]] = []
    for key, value in item.items():
        if isinstance(value, str):
            found.append(((key,), value))
        elif isinstance(value, dict) and depth > 1:
            found += [((key, *path), text) for path, text in _strings(value, depth - 1)]
    return found


def _text_path(objects: list[dict[str, Any]]) -> _Path | None:
    """Where k6's lines stand in the objects; None if the objects are k6's own records."""
    held: Counter[_Path] = Counter(
        path for one in objects for path, text in _strings(one) if _ANCHOR.search(text[:2000])
    )
    return held.most_common(1)[0][0] if held else None


def _at(item: Any, path: _Path) -> Any:
    for key in path:
        item = item.get(key) if isinstance(item, dict) else None
    return item


def _process_keys(objects: list[dict[str, Any]], text_path: _Path) -> list[_Path]:
    """Paths whose values tell processes apart: few values, each of many lines."""
    values: dict[_Path, list[str]] = {}
    for one in objects:
        for path, text in _strings(one):
            if path != text_path:
                values.setdefault(path, []).append(text)
    return [path for path, found in values.items() if not _is_clock(found) and _tells_apart(found)]


def _is_clock(values: list[str]) -> bool:
    return all(_is_number(value) or re.search(r"\d\d:\d\d", value) for value in values)


def _tells_apart(values: list[str]) -> bool:
    distinct = {value for value in values if value.lower() not in _SAME_PROCESS}
    return 1 < len(distinct) <= max(2, min(64, len(values) // 4))


# --- a prefix before each line ----------------------------------------------------------------------------


@dataclass
class _Shape:
    """A kind of prefix: its tokens, of which some vary."""

    tokens: list[list[str]] = field(default_factory=list)
    """Per anchored line, the text of each token."""
    kinds: tuple[str, ...] = ()
    gap: str | None = None
    """White space between the prefix and a line of k6's that has no indent of its own."""


def _by_prefix(name: str, lines: list[str]) -> list[_Draft]:
    shapes = _shapes(lines)
    if not shapes:
        return [_Draft(name, lines)]
    patterns = [_pattern(shape) for shape in shapes]
    prefixes = [_match(patterns, line) for line in lines]
    telling = [_telling(shape_prefixes) for shape_prefixes in _grouped(prefixes, len(patterns))]
    found: dict[tuple[str, ...], _Draft] = {}
    current: _Draft | None = None
    for line, prefix in zip(lines, prefixes, strict=True):
        if prefix is not None:
            which, match = prefix
            key = tuple(w.lower() for w in _words(match, telling[which]))
            if key not in found:
                found[key] = _Draft(" ".join((name, _label(match[0]))).strip(), widths=[])
            current = found[key]
            if re.search(r"\d\d:\d\d", match[0]):
                current.stamps = (current.stamps[0] if current.stamps else match[0], match[0])
        if current is None:
            current = found.setdefault((), _Draft(name, widths=[]))
        assert current.widths is not None
        current.widths.append(len(line))
        current.lines.append(line[prefix[1].end() :] if prefix is not None else line)
    return list(found.values())


def _shapes(lines: list[str]) -> list[_Shape]:
    """The kinds of prefix before k6's lines, most frequent first; none if most of them have none."""
    bare = dressed = 0
    shapes: dict[tuple[str, ...], _Shape] = {}
    sample = lines if len(lines) <= 2 * _SAMPLE_LINES else lines[:_SAMPLE_LINES] + lines[-_SAMPLE_LINES:]
    for line in sample:
        anchor = _ANCHOR.search(line)
        if anchor is None:
            continue
        before = line[: anchor.start()]
        if not before.strip() or len(before) > _LONGEST_PREFIX:
            bare += 1
            continue
        dressed += 1
        tokens = list(_TOKEN.finditer(before.rstrip()))
        kinds = tuple(t.lastgroup or t[0] for t in tokens)
        shape = shapes.setdefault(kinds, _Shape(kinds=kinds))
        shape.tokens.append([t[0] for t in tokens])
        if anchor.lastgroup == "first":
            gap = before[len(before.rstrip()) :]
            shape.gap = gap if shape.gap is None or len(gap) < len(shape.gap) else shape.gap
        elif shape.gap is None and before[-1:].isspace():
            pass  # the indent may be k6's own: one character at most is the prefix's
    if dressed <= bare:
        return []
    ranked = sorted(shapes.values(), key=lambda s: -len(s.tokens))
    return ranked[:_MOST_SHAPES]


def _pattern(shape: _Shape) -> re.Pattern[str]:
    """What matches such a prefix at the start of any line; the tokens that may vary are groups."""
    parts = []
    for place, kind in enumerate(shape.kinds):
        values = {tokens[place] for tokens in shape.tokens}
        if kind == "time":
            parts.append(f"(?:{_TIME})")
        elif kind == "number":
            parts.append(r"(\d+(?:\.\d+)?)")
        elif kind == "space":
            parts.append(r"\s*" if place == 0 else r"\s+")
        elif kind == "word":
            parts.append(
                r"([A-Za-z0-9]+)" if len(values) > 1 or _has_digit(values) else f"({next(iter(values))})"
            )
        else:
            parts.append(re.escape(kind))
    gap = r"\s?" if shape.gap is None else f"(?:{re.escape(shape.gap)})?" if shape.gap else ""
    return re.compile("".join(parts) + gap)


def _has_digit(values: set[str]) -> bool:
    return any(any(c.isdigit() for c in value) for value in values)


_Prefix = tuple[int, "re.Match[str]"]


def _match(patterns: list[re.Pattern[str]], line: str) -> _Prefix | None:
    for which, pattern in enumerate(patterns):
        if found := pattern.match(line):
            return which, found
    return None


def _grouped(prefixes: list[_Prefix | None], shapes: int) -> list[list[tuple[str, ...]]]:
    """The words of every matched prefix, by shape, in the order of the lines."""
    found: list[list[tuple[str, ...]]] = [[] for _ in range(shapes)]
    for prefix in prefixes:
        if prefix is not None and len(found[prefix[0]]) < 2 * _SAMPLE_LINES:
            found[prefix[0]].append(prefix[1].groups())
    return found


def _telling(words: list[tuple[str, ...]]) -> list[bool]:
    """Per varying token, whether its value tells processes apart: a name does, a clock does not."""
    return [_names_a_process(list(column)) for column in zip(*words, strict=True)]


def _names_a_process(column: list[str]) -> bool:
    if len(set(column)) == 1:
        return not column[0].replace(".", "", 1).isdigit() and column[0].lower() not in _SAME_PROCESS
    if not all(_is_number(value) for value in column):
        return _tells_apart(column)
    numbers = [float(value) for value in column]
    back = sum(later < earlier for earlier, later in pairwise(numbers))
    return back > len(numbers) // 100 and len(set(numbers)) <= max(2, min(64, len(numbers) // 8))


def _is_number(value: str) -> bool:
    return value.replace(".", "", 1).isdigit()


def _words(match: re.Match[str], telling: list[bool]) -> list[str]:
    return [
        word
        for word, tells in zip(match.groups(), telling, strict=True)
        if tells and word.lower() not in _SAME_PROCESS
    ]


def _label(prefix: str) -> str:
    """A prefix without its times: "k6-1", "pod/x/k6"."""
    return re.sub(r"\s+", " ", re.sub(_TIME, "", prefix)).strip(" |:[]<>()\t-")


# --- whose lines they are ---------------------------------------------------------------------------------


def _one_process(drafts: list[_Draft]) -> list[_Draft]:
    """Of several prefixes those under which k6 wrote; its log joins its console where there is one console."""
    consoles = [d for d in drafts if any(_CONSOLE_ANCHOR.search(line) for line in d.lines)]
    logs = [
        d
        for d in drafts
        if d not in consoles and any(_ANCHOR.search(line) and _K6_RECORD.search(line) for line in d.lines)
    ]
    if len(consoles) != 1:
        return consoles + logs or drafts
    console = consoles[0]
    for log in logs:
        console.lines += log.lines
        if console.widths is not None or log.widths is not None:
            console.widths = (console.widths or [len(x) for x in console.lines[: -len(log.lines)]]) + (
                log.widths or [len(x) for x in log.lines]
            )
    return [console]
