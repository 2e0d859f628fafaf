"""Blocks -> what a report says: the header's fields by machine name or label, verdict, population, averages.

Of several places that could be a field the machine-named one wins, then the label that fits best, then one
that has an answer, then the first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from auditor.evidence import ReportedField
from auditor.fields import FIELD_OF, PERCENTILE_FIELDS
from auditor.report_lint.read.blocks import Block, Heading, Line, Machine, Pair, Row, Table
from auditor.report_lint.read.labels import (
    FIELD_UNITS,
    field_of,
    is_average,
    is_failures,
    is_latency,
    is_other_time,
    is_verdict,
    label,
    latency_rank,
)
from auditor.report_lint.read.values import (
    Number,
    compound_s,
    is_placeholder,
    normal,
    numbers,
    unit_kind,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_VERDICT_WORD = re.compile(r"\b(NOT PROVEN|INVALID|VALID)\b")
_SEGMENTS = re.compile(r"(?:;|\s[|·•]\s|,\s)\s*")
_SEPARATOR = re.compile(r"\s*(?:\.{2,}\s*:?|:(?!\d)|=|\t|  +|\s[–—-]\s|\s(?:is|was|were)\s)\s*")
_ALL_TIMES = re.compile(r"times?\s+(?:are\s+)?(?:given\s+)?in\s+(milli-?seconds|ms|seconds|s)\b", re.I)
_SHA256 = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s?%")
_POPULATIONS = (
    (
        "offered",
        re.compile(
            r"offered demand|over what was offered|\bn [\d,]+ offered|of offered\b|population:? offered"
        ),
    ),
    ("sent", re.compile(r"of what was sent|\bn [\d,]+ sent\b|sent requests|all sent|population:? sent")),
    (
        "successful",
        re.compile(
            r"success(?:ful|es)?[ -]only|only success|successful (?:requests|responses|calls|answers)|"
            r"(?:of|over|for) (?:the )?success|of what succeeded|without (?:failures|failed|errors)|"
            r"population:? success"
        ),
    ),
    (
        "all",
        re.compile(
            r"(?:all|every) (?:http )?(?:requests?|responses?)|"
            r"includ(?:ing|es) (?:the )?(?:failed|failures|errors)|successes and failures|population:? all"
        ),
    ),
    ("expected_response", re.compile(r"expected_response\W{0,3}true")),
)


@dataclass(frozen=True)
class Said:
    """What was found in the blocks."""

    fields: dict[str, ReportedField]
    verdict: str
    verdict_order: int | None
    populations: tuple[str, ...]
    percentiles_of_expected: bool
    averages: tuple[str, ...]
    failures: float | None
    hashes: tuple[str, ...]


@dataclass(frozen=True)
class _Found:
    rank: int
    field: ReportedField


@dataclass
class _Finder:
    found: dict[str, _Found] = field(default_factory=dict)
    order: int = 0
    heading: str = ""
    verdict: str = ""
    verdict_order: int | None = None
    verdict_labelled: bool = False
    averages: list[str] = field(default_factory=list)
    failures: float | None = None
    expected: set[str] = field(default_factory=set)
    """Percentiles that stand in a row of expected responses."""
    of_others: bool = False
    """Whether the heading is about something else that has percentiles."""
    default_unit: str = ""


def find(blocks: Sequence[Block], note: str = "") -> Said:
    """Everything that a report's blocks say; ``note`` is more text in which words may stand."""
    text = note + "\n" + "\n".join(_texts(blocks))
    finder = _Finder()
    if unit := _ALL_TIMES.search(text):
        finder.default_unit = unit_kind(unit[1])
    for i, block in enumerate(blocks):
        match block:
            case Heading(words, where):
                _heading(finder, words, where, _after(blocks, i))
            case Table():
                _table(finder, block)
            case Pair():
                _pair(finder, block)
            case Line(words, where):
                _line(finder, words, where, _after(blocks, i))
    low = text.lower()
    return Said(
        fields={name: finder.found[name].field for name in FIELD_UNITS if name in finder.found},
        verdict=finder.verdict,
        verdict_order=finder.verdict_order,
        populations=tuple(name for name, pattern in _POPULATIONS if pattern.search(low)),
        percentiles_of_expected=bool(finder.expected)
        and finder.expected >= {name for name in PERCENTILE_FIELDS if name in finder.found},
        averages=tuple(dict.fromkeys(finder.averages)),
        failures=finder.failures,
        hashes=tuple(dict.fromkeys(_SHA256.findall(low))),
    )


def _texts(blocks: Iterable[Block]) -> Iterable[str]:
    for block in blocks:
        if isinstance(block, Table):
            for row in block.rows:
                yield " ".join(row.cells)
        elif isinstance(block, Pair):
            yield f"{block.label} {block.value}"
        else:
            yield block.text


def _after(blocks: Sequence[Block], i: int) -> str:
    """The line below a heading or a line, if it is one."""
    below = blocks[i + 1] if i + 1 < len(blocks) else None
    return below.text if isinstance(below, Line) else ""


# --- blocks ---------------------------------------------------------------------------------------------


def _heading(finder: _Finder, words: str, where: str, below: str) -> None:
    finder.heading = words
    finder.of_others = is_other_time(words)
    _verdict_words(finder, words)
    if below and len(below) < 200 and field_of(words) is not None and _is_value(below):
        _offer(finder, words, below, where)
    elif below and is_failures(words):
        _failed(finder, below)
    elif below and is_verdict(words):
        _labelled_verdict(finder, below)


def _pair(finder: _Finder, pair: Pair) -> None:
    if pair.machine is not None:
        _machine(finder, pair.machine, pair.label, pair.value, "", pair.where)
        return
    _labelled(finder, pair.label, pair.value, "", pair.where)


def _line(finder: _Finder, words: str, where: str, below: str) -> None:
    _verdict_words(finder, words)
    if below and len(words) < 60 and _SEPARATOR.search(words.strip(" :")) is None:
        # A label alone on its line, its value on the next (boxes of a page).
        context = f"{finder.heading} {words}"
        for name in (words, context):
            if field_of(name) is not None and _is_value(below) and not (finder.of_others and name == words):
                _offer(finder, name, below, where)
                return
        if is_failures(words):
            _failed(finder, below)
            return
    last = ""
    latency = False
    for segment in _SEGMENTS.split(words):
        segment = segment.strip()
        split = _split(segment) or _split(segment, finder.heading)
        if split is not None:
            name, value = split
            if is_latency(name) and "=" in value:
                # k6's own text: "http_req_duration...: avg=157ms min=30ms med=270ms p(90)=273ms"
                latency = True
                _k6_values(finder, name, value, where)
                continue
            if not _blocked(finder, name) and _labelled(finder, name, value, "", where):
                found = field_of(name)
                last = found[0] if found else ""
                continue
        if last and not latency and last in finder.found:
            _more(finder, last, segment)


def _k6_values(finder: _Finder, name: str, value: str, where: str) -> None:
    if is_other_time(name):
        return
    for key, number in re.findall(r"([\w.()]{1,12})=(\S{1,40})", value):
        if is_average(key):
            finder.averages.append(where)
        elif (found := field_of(key)) is not None and found[0] in PERCENTILE_FIELDS:
            expected = "expected_response" in name
            _offer(finder, key, number, where, expected=expected, prefer=0 if expected else latency_rank(name))


def _table(finder: _Finder, table: Table) -> None:
    rows = table.rows
    head = rows[0] if _is_head(rows[0]) else None
    data = rows[1:] if head is not None else rows
    for row in rows:
        if row.machine is not None:
            cells = row.cells
            words = cells[0] if len(cells) > 1 else ""
            shown = cells[1] if len(cells) > 1 else (cells[0] if cells else "")
            _machine(finder, row.machine, words, shown, " ".join(cells[2:]), row.where)
        for cell in row.cells:
            _verdict_words(finder, cell)
    if any(row.machine is not None for row in rows):
        return
    for row in data:
        if head is not None and len(row.cells) > 1:
            _by_columns(finder, head, row, alone=len(data) == 1)
        _by_row_label(finder, row, head)


def _is_head(row: Row) -> bool:
    """Header cells all over, or labels without a single value."""
    if row.heads == len(row.cells) and len(row.cells) > 1:
        return True
    known = [c for c in row.cells if field_of(c) is not None or is_average(c)]
    return len(known) > 1 and not any(numbers(c) for c in row.cells if field_of(c) is None)


def _by_columns(finder: _Finder, head: Row, row: Row, *, alone: bool) -> None:
    """A table whose columns are the fields: a row of latency, or its only row."""
    first = row.cells[0]
    labelled = field_of(head.cells[0]) is None
    about = first if labelled else ""
    if is_other_time(about) or (finder.of_others and not is_latency(about)):
        return
    whole = is_latency(about) or not about.strip() or alone
    if not whole and not _rate_row(about):
        return
    for name, value in zip(head.cells, row.cells, strict=False):
        combined = f"{about} {name}"
        if whole and is_average(name) and numbers(value):
            finder.averages.append(row.where)
        found = field_of(name)
        if found is not None and whole and (found[0] in PERCENTILE_FIELDS or not is_latency(about)):
            expected = "expected_response" in about.lower()
            prefer = latency_rank(about) if is_latency(about) and not expected else 0
            _offer(finder, name, value, row.where, expected=expected, prefer=prefer)
        elif found is None or not whole:
            both = field_of(combined)
            if both is not None and both[0] not in PERCENTILE_FIELDS and labelled and value != about:
                _offer(finder, combined, value, row.where)


def _rate_row(about: str) -> bool:
    return (
        re.fullmatch(
            r"(?:request|iteration|arrival)?s? ?(?:rate|rps|throughput|load|iterations?)", label(about).text
        )
        is not None
    )


def _by_row_label(finder: _Finder, row: Row, head: Row | None) -> None:
    """A table whose rows are the fields: the label first, the value beside it."""
    cells = row.cells
    if len(cells) < 2 or _blocked(finder, cells[0]):
        return
    values = list(cells[1:])
    rest = values[1:]
    if head is not None and len(head.cells) == len(cells):
        if field_of(head.cells[0]) is not None and field_of(cells[0]) is None:
            return
        usable = [
            i for i, name in enumerate(head.cells[1:]) if not is_other_time(name) and field_of(name) is None
        ]
        chosen = next((i for i in usable if is_latency(head.cells[1 + i])), usable[0] if usable else 0)
        values = [values[chosen]]
        rest = [f"{head.cells[1 + i]} {c}" for i, c in enumerate(cells[1:]) if i != chosen and c]
    for i, one in enumerate(values[:1]):
        _labelled(finder, cells[0], one, ", ".join(rest), row.where)
        if i == 0 and is_average(cells[0]) and numbers(one):
            finder.averages.append(row.where)


def _blocked(finder: _Finder, name: str) -> bool:
    """A percentile below a heading about something else, or of something else."""
    found = field_of(name)
    return is_other_time(name) or (finder.of_others and found is not None and found[0] in PERCENTILE_FIELDS)


# --- one label and one value ----------------------------------------------------------------------------


def _split(segment: str, heading: str = "") -> tuple[str, str] | None:
    """A label and its value in a stretch of a line; with a heading, the label that both make."""
    if heading:
        found = re.fullmatch(r"(\w{2,20})[\s:]+([+-]?\d.*)", segment)
        both = f"{heading[:60]} {found[1]}" if found else ""
        return (both, found[2]) if found and field_of(both) is not None else None
    if cut := _SEPARATOR.search(segment, 1):
        name, value = segment[: cut.start()], segment[cut.end() :]
        if name.strip() and (
            field_of(name) is not None or is_failures(name) or is_verdict(name) or is_latency(name)
        ):
            return name, value
        if name.strip() and is_average(name):
            return name, value
    words = segment.split(" ")
    for n in range(min(6, len(words) - 1), 0, -1):
        name, value = " ".join(words[:n]), " ".join(words[n:])
        if field_of(name) is not None and re.match(r"[≥>~≈]?\s*[+-]?\d|n/a\b|none:|tbd\b|nan\b", value, re.I):
            return name, value
    return None


def _is_value(text: str) -> bool:
    return is_placeholder(text) or written(text).answer != "words"


def _labelled(finder: _Finder, name: str, value: str, detail: str, where: str) -> bool:
    if is_verdict(name):
        _labelled_verdict(finder, value)
        return True
    if is_failures(name):
        _failed(finder, value)
        return True
    if field_of(name) is not None:
        return _offer(finder, name, value, where, detail=detail)
    if is_average(name) and numbers(value):
        finder.averages.append(where)
        return True
    return False


def _offer(
    finder: _Finder,
    name: str,
    value: str,
    where: str,
    *,
    detail: str = "",
    expected: bool = False,
    prefer: int = 0,
) -> bool:
    """Take a value for a field, unless a better place was found before."""
    found = field_of(name)
    assert found is not None
    field_name, rank = found
    finder.order += 1
    made = _read(finder, field_name, name, value, where, detail)
    if made is None:
        return False
    rank -= prefer
    have = finder.found.get(field_name)
    better = have is None or (rank, _empty(made)) < (have.rank, _empty(have.field))
    if have is not None and have.field.how == "name":
        better = False
    if better:
        finder.found[field_name] = _Found(rank, made)
        finder.expected.discard(field_name)
        if expected:
            finder.expected.add(field_name)
    return True


def _empty(one: ReportedField) -> bool:
    return one.answer in ("placeholder", "words")


def _read(finder: _Finder, name: str, words: str, value: str, where: str, detail: str) -> ReportedField | None:
    """The field as written; None if what stands there is a number of another kind."""
    kind = FIELD_UNITS[name]
    said = written(value)
    number = said.number
    if number is not None and kind == "s" and (several := compound_s(value.strip())) is not None:
        number = several
    if number is not None and name == "generator_cpu":
        number = _cpu_peak(value, number)
    if number is not None and kind == "/s":
        # "8520 15.77/s": a count and its rate
        number = next((n for n in numbers(value) if n.unit.startswith("/")), number)
    named = label(words).unit
    note = finder.default_unit if kind == "ms" else ""
    unit = (number.unit if number is not None else "") or named or note
    is_rate = FIELD_OF[name].kind == "rate"
    if is_rate and not unit and re.search(r"rps|tps|qps|/ ?s|per second", label(words).text):
        unit = "/s"
    read = normal(number, kind, unit) if number is not None else None
    if number is not None and read is None:
        return None
    if name == "test_duration" and field_of(words) == (name, 1) and unit not in ("s", "m", "h", "ms"):
        return None  # "Duration 310": of a request, more likely than of the test
    return ReportedField(
        name=name,
        label=words.strip()[:120],
        raw=value.strip()[:300],
        where=where,
        order=finder.order,
        how="label",
        answer=said.answer,
        value=read[0] if read else None,
        step=read[1] if read else 0.0,
        unit=unit,
        reason=said.reason,
        detail=detail[:600],
    )


def _cpu_peak(value: str, first: Number) -> Number:
    """ "mean 35 %, max 48 %": the highest, that of a single core left out."""
    without_core = re.sub(r"(?:worst|hottest|busiest|one|single) core[^,;|]*", "", value, flags=re.I)
    peaks = [n for n in numbers(without_core) if n.unit == "%"]
    return max(peaks, key=lambda n: n.value) if peaks else first


def _more(finder: _Finder, name: str, text: str) -> None:
    have = finder.found[name]
    joined = f"{have.field.detail}, {text}".strip(", ")[:600]
    changed = replace(have.field, detail=joined)
    if name == "generator_cpu" and have.field.value is not None:
        shares = [n.value for n in numbers(re.sub(r"core[^,]*", "", text)) if n.unit == "%"]
        changed = replace(changed, value=max([have.field.value, *shares]))
    finder.found[name] = replace(have, field=changed)


def _machine(finder: _Finder, machine: Machine, words: str, shown: str, detail: str, where: str) -> None:
    """An element that names its field: its attributes are the value, its text is what people see."""
    if machine.field not in FIELD_UNITS:
        return
    finder.order += 1
    said = written(shown)
    kind = FIELD_UNITS[machine.field]
    seen = said.number
    if seen is not None and kind == "s" and (several := compound_s(shown.strip())) is not None:
        seen = several
    printed = normal(seen, kind, machine.unit and unit_kind(machine.unit)) if seen is not None else None
    try:
        value = float(machine.value) if machine.value else None
    except ValueError:
        value = None
    made = ReportedField(
        name=machine.field,
        label=words[:120] or machine.field,
        raw=shown[:300],
        where=where,
        order=finder.order,
        how="name",
        answer=said.answer,
        value=value if value is not None and value == value else (printed[0] if printed else None),
        step=0.0 if value is not None else (printed[1] if printed else 0.0),
        unit=(seen.unit if seen is not None else "") or machine.unit,
        shown=printed[0] if printed else None,
        shown_step=printed[1] if printed else 0.0,
        reason=said.reason,
        detail=detail[:600],
    )
    have = finder.found.get(machine.field)
    if have is None or have.field.how != "name":
        finder.found[machine.field] = _Found(-9, made)


# --- verdict and failures -------------------------------------------------------------------------------


def _verdict_words(finder: _Finder, text: str) -> None:
    """One of the three words, in capitals, in a short text: the first that stands in the page."""
    if finder.verdict or len(text) > 200:
        return
    if found := _VERDICT_WORD.search(text):
        finder.verdict, finder.verdict_order = found[1], finder.order


def _labelled_verdict(finder: _Finder, value: str) -> None:
    if finder.verdict_labelled or not value.strip():
        return
    found = _VERDICT_WORD.search(value)
    if found is None and finder.verdict:
        return
    finder.verdict = found[1] if found else value.strip()[:60]
    finder.verdict_labelled = True
    if finder.verdict_order is None:
        finder.verdict_order = finder.order


def _failed(finder: _Finder, value: str) -> None:
    found = numbers(value)
    if found:
        finder.failures = max(finder.failures or 0.0, found[0].value)
