"""Lines that a window folded at its width, joined again where that can be proven.

k6's own forms say where a line ends: a log record's quotes close, a banner's brackets close, a count ends in
its word. A line that is still open goes on in the next one, if that does not start a form of its own.
"""

from __future__ import annotations

import json
import re
from collections import Counter

LOG_HEAD = re.compile(r'[^"={}]{0,80}?time="?\d{4}-\d\d-\d\dT')
_WHOLE_LOG = re.compile(
    r'[^"={}]{0,80}?time=(?:"[^"]*"|[^\s"]+) level=\w+ msg=(?:"(?:[^"\\]|\\.)*"|[^\s"]*)'
    r'(?: [^\s="]+=(?:"(?:[^"\\]|\\.)*"|[^\s"]*))*\s*'
)
_TTY_HEAD = r"(?:TRAC|DEBU|INFO|WARN|ERRO|FATA|PANI)\[\d+\] "
PROGRESS = re.compile(r".{1,80}? [✓✗•↓ ]? ?\[[ =>\-]*(?:\d+%)?[ =>\-]*\] ")
_START = re.compile(
    r"\s*$"
    r'|[^"={}]{0,80}?time="?\d{4}-\d\d-\d\dT'
    rf"|{_TTY_HEAD}"
    r'|\{"'
    r"|(?:running|paused|starting) \(|(?:Init|Run) +\["
    r"|.{1,80}? [✓✗•↓ ]? ?\[[ =>\-]*(?:\d+%)?[ =>\-]*\]"
    r"|\s+(?:execution|script|output|scenarios|web dashboard): |\s+\* [^:]+: "
    r"|\s*[█↳] |\s*[✓✗?] |\s*[\w{].*\.{2,}: ?"
    r"|\s+[A-Z][A-Z_ ]+$|\s{2,}[a-z_]\w*(?:\{.*\})?\s*$|\s+\{[^}]*\}\s*$"
    r"|\s+at .*\("
    r"|\s*/[ \\]"
)
"""How a line of k6's begins. Anything else after a full line is the rest of it."""
_COUNTS = re.compile(
    r"(?:running|paused) \([\ddhms.]+\), \d+/\d+ VUs, \d+ complete and \d+ interrupted iterations\s*$"
)
_COUNTS_HEAD = re.compile(r"(?:running|paused) \([\ddhms.]*")
_FIELDS = re.compile(r'\s*(?:[A-Za-z_][\w.]*=(?:"(?:[^"\\]|\\.)*"|[^\s"]+)(?:\s+|$))+')
"""Fields alone on a line: only a record has them, at its end."""
_NARROWEST = 20
_ENOUGH_CUTS = 5
"""A window that folds between words does not fill this many lines to the last column."""
_PROVEN_SHARE = 0.9


def is_open(line: str) -> bool:
    """Whether a line begins a form of k6's and surely does not end it."""
    if LOG_HEAD.match(line):
        return line.endswith("=") or _WHOLE_LOG.fullmatch(line) is None
    if line.startswith('{"'):
        return not _is_json(line)
    if _COUNTS_HEAD.match(line):
        return _COUNTS.match(line) is None
    stripped = line.strip()
    if stripped.startswith("scenarios: ("):
        return not stripped.endswith(":")
    if stripped.startswith("* ") and ": " in stripped:
        return stripped.count("(") > stripped.count(")")
    return False


def starts(line: str) -> bool:
    """Whether a line begins as one of k6's does (or is blank)."""
    return _START.match(line) is not None


def unfolded(lines: list[str], widths: list[int] | None) -> tuple[list[str], bool]:
    """The lines with the folded ones joined; whether any was folded.

    ``widths`` are the columns of the lines with their prefixes, if they had any. A fold is one of two kinds:
    at a width (every folded line is as wide as the window), or at the last blank before it.
    """
    if all(starts(line) for line in lines):
        return lines, False  # nothing is the rest of a line: as k6 writes it
    columns = widths if widths is not None else [len(line) for line in lines]
    width = _window(lines, columns)
    if width and _is_ambiguous(lines, columns, width):
        return lines, False  # the record stays open, and its log is unread
    best = _join_at(lines, columns, width) if width else lines
    if _still_open(best):
        # A window that folds between words: choose what closes more records.
        other = _join_words(lines)
        if _still_open(other) < _still_open(best):
            best = other
    return best, len(best) < len(lines)


def _is_ambiguous(lines: list[str], columns: list[int], width: int) -> bool:
    """Whether the cuts do not tell a window that cuts words from one that folds between them.

    A window of the first kind fills every line that it cuts; lines that are alike count once.
    """
    cuts: list[tuple[str, str, int]] = []
    in_record = False
    for line, rest, column in zip(lines, lines[1:], columns, strict=False):
        in_record = LOG_HEAD.match(line) is not None or (in_record and not starts(line))
        if in_record and not starts(rest):
            cuts.append((line, rest, column))
    if not any(LOG_HEAD.match(line) and is_open(line) for line, _, _ in cuts):
        return False
    alike = {re.sub(r"\d", "", line) for line, _, column in cuts if column == width}
    if len(alike) >= _ENOUGH_CUTS and all(column == width for _, _, column in cuts):
        return False
    return not all(a.endswith((" ", "=")) or b.startswith(" ") for a, b, _ in cuts)


def _still_open(lines: list[str]) -> int:
    """How many lines lack the rest of their record, or are such a rest."""
    return sum(1 for line in lines if (LOG_HEAD.match(line) and is_open(line)) or _FIELDS.fullmatch(line))


def _window(lines: list[str], columns: list[int]) -> int:
    """The width at which all long lines are folded; 0 if there is none."""
    if not lines:
        return 0
    widest = max(columns)
    if widest < _NARROWEST:
        return 0
    opened = Counter(c for line, c in zip(lines, columns, strict=True) if is_open(line))
    if opened:
        near = sum(n for c, n in opened.items() if widest - 2 <= c <= widest)
        # Blanks at the edge may have been trimmed; but a window that folds between words fills few lines.
        is_edge = near >= _PROVEN_SHARE * opened.total() and 2 * opened[widest] >= opened.total()
        return widest if is_edge else 0
    pairs = zip(lines, lines[1:], columns, strict=False)
    return widest if any(c == widest and _may_go_on(line, rest) for line, rest, c in pairs) else 0


def _may_go_on(line: str, rest: str) -> bool:
    """Whether ``rest`` reads as the end of a form that ``line``, as wide as any, begins."""
    if is_blank(line) or starts(rest) or not starts(line):
        return False
    if LOG_HEAD.match(line):
        return re.match(r"(?:\S* )?[\w.]+=|\S+$", rest) is not None
    return not re.match(_TTY_HEAD, line)


def is_blank(line: str) -> bool:
    return not line.strip()


def _join_at(lines: list[str], columns: list[int], width: int) -> list[str]:
    indent = _indent(lines, columns, width)
    joined: list[str] = []
    goes_on = 0
    for line, column in zip(lines, columns, strict=True):
        if goes_on and not starts(line) and joined:
            trimmed = 0 if joined[-1].endswith(" ") else width - goes_on
            if LOG_HEAD.match(joined[-1]) and not is_open(joined[-1]) and _FIELDS.fullmatch(line):
                trimmed = not joined[-1].endswith(" ")  # whole fields after whole fields
            joined[-1] += " " * trimmed + line[indent:]
        else:
            joined.append(line)
        full = column == width or (width - 2 <= column < width and is_open(joined[-1]))
        goes_on = column if full else 0
    return joined


def _indent(lines: list[str], columns: list[int], width: int) -> int:
    """How far the window indents what goes on: blanks before every continuation, of three at least."""
    rest = [lines[i + 1] for i in range(len(lines) - 1) if columns[i] == width and not starts(lines[i + 1])]
    if len(rest) < 3:
        return 0
    return min(len(line) - len(line.lstrip(" ")) for line in rest)


def _join_words(lines: list[str]) -> list[str]:
    """Records of the log that were folded between words."""
    width = max((len(a.rstrip()) for a in lines if is_open(a)), default=0)
    joined: list[str] = []
    in_record = False
    last = ""
    for line in lines:
        if (
            in_record
            and not starts(line)
            and (is_open(joined[-1]) or _FIELDS.fullmatch(line) or _would_not_fit(last, line, width))
        ):
            joined[-1] += ("" if last.endswith(" ") else " ") + line.lstrip(" ")
        else:
            joined.append(line)
            in_record = LOG_HEAD.match(line) is not None
        last = line
    return joined


def _would_not_fit(line: str, rest: str, width: int) -> bool:
    """Whether the next word had no place left on the line: why it was folded there."""
    word = rest.split(maxsplit=1)
    return bool(word) and len(line.rstrip()) + 1 + len(word[0]) > width


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
