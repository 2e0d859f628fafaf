"""The rows of k6's end-of-test text, in the layouts of all versions, with or without folds and prefixes.

k6 cuts figures (it does not round them) to two decimals. A row that is there and does not read as one of
k6's forms in full is kept by its name as unread: a part of a figure is never taken for the figure.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from auditor.evidence import PrintedThreshold
from auditor.ingest.k6.durations import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

TICKS = {"✓": True, "✗": False}
_ROW = re.compile(r"^\s*(?:(?P<mark>[✓✗?]) )?(?P<name>[A-Za-z_]\w*)\.{2,}:(?P<value>.*)$")
_PART = re.compile(r"^\s*(?:(?P<mark>[✓✗?]) )?\{ ?(?P<tags>.+?) ?\}\.{2,}:(?P<value>.*)$")
_TOTALS = re.compile(r"█ TOTAL RESULTS")
_OTHER_BLOCK = re.compile(r"█ SCENARIO: |↳ GROUP: ")
_THRESHOLDS = re.compile(r"█ THRESHOLDS")
_THRESHOLD = re.compile(r"^\s*(?P<mark>[✓✗?]) '(?P<expression>[^']+)'(?: (?P<printed>\S.*?))?\s*$")
_BROKEN_THRESHOLD = re.compile(r"^\s*[✓✗?] '")
_THRESHOLD_METRIC = re.compile(r"^\s*(?P<name>[A-Za-z_]\w*(?:\{.*\})?)\s*$")
_THRESHOLD_PART = re.compile(r"^\s*\{(?P<tags>.*)\}\s*$")

_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?"
_DURATION = r"(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?s|\d+(?:\.\d+)?(?:ms|µs|us|ns)"
_BYTES = r"-?\d+(?:\.\d+)? (?:B|[kMGTPE]B)"
_VALUE = rf"(?:{_DURATION}|{_BYTES}|{_NUMBER})(?=\s|$)"
_COUNTER = re.compile(rf"({_VALUE})\s+({_BYTES}|{_NUMBER})/s\s*$")
_RATE = re.compile(r"([\d.]+)%\s+(?:(\d+) out of (\d+)|✓ (\d+)\s+✗ (\d+))\s*$")
_GAUGE = re.compile(rf"({_VALUE})\s+min=({_VALUE})\s+max=({_VALUE})\s*$")
_STATISTIC = re.compile(rf"(avg|min|med|max|count|p\([\d.]+\))=({_VALUE})\s*")
_CUT_PERCENT = 0.02
"""k6 cuts a percentage to two decimals; people who retype it round."""
_UNIT_MS = {"s": 1e3, "ms": 1.0, "µs": 1e-3, "us": 1e-3, "ns": 1e-6}
_SCALE = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15, "EB": 1e18}


@dataclass
class Printed:
    """What the end-of-test text says."""

    metrics: dict[str, dict[str, float]] = field(default_factory=dict)
    """Metric or submetric -> k6's own keys. Times are ms, data bytes (to two digits)."""
    steps: dict[str, dict[str, float]] = field(default_factory=dict)
    """The same keys -> by how much a figure may differ from the one it was cut from."""
    unread: set[str] = field(default_factory=set)
    thresholds: list[PrintedThreshold] = field(default_factory=list)
    has_thresholds: bool = False
    has_text: bool = False
    """Whether there is any end-of-test text."""


def read_rows(lines: Iterable[str]) -> Printed:
    """Read the rows of the totals; the blocks of single scenarios and groups after them are left out."""
    found = Printed()
    parent = ""
    in_thresholds = ended = False
    columns: dict[str, tuple[str, ...]] = {}
    for line in lines:
        if _THRESHOLDS.search(line):
            found.has_text = found.has_thresholds = in_thresholds = True
            parent = ""
        elif _TOTALS.search(line):
            found.has_text = True
            in_thresholds = False
        elif _OTHER_BLOCK.search(line):
            ended, in_thresholds = True, False
        elif in_thresholds:
            parent = _threshold(line, parent, found)
        elif not ended and (row := _ROW.match(line) or _PART.match(line)):
            parent = _take(row, parent, found, columns)
    _same_columns(found, columns)
    _checks(found)
    return found


def _threshold(line: str, parent: str, found: Printed) -> str:
    """Read a line of the THRESHOLDS block; the metric that the next ones are of."""
    if row := _THRESHOLD.match(line):
        metric = parent
        passed = TICKS.get(row["mark"])
        found.thresholds.append(PrintedThreshold(metric, row["expression"], passed, row["printed"] or ""))
    elif _BROKEN_THRESHOLD.match(line):
        found.thresholds.append(PrintedThreshold(parent, line.strip()[2:].strip("'"), None))
    elif part := _THRESHOLD_PART.match(line):
        return parent.split("{", 1)[0] + "{" + part["tags"].strip() + "}"
    elif metric_line := _THRESHOLD_METRIC.match(line):
        return metric_line["name"]
    return parent


def _take(row: re.Match[str], parent: str, found: Printed, columns: dict[str, tuple[str, ...]]) -> str:
    name = row.groupdict().get("name")
    if name is None:
        name = f"{parent}{{{row['tags'].strip()}}}"
    else:
        parent = name
    if name in found.metrics or name in found.unread:
        return parent
    found.has_text = True
    values = read_row(row["value"].strip())
    if values is None:
        found.unread.add(name)
    else:
        found.metrics[name] = values
        found.steps[name] = steps_of(row["value"].strip())
        statistics = tuple(_STATISTIC.findall(row["value"]))
        if statistics and _GAUGE.match(row["value"].strip()) is None:
            columns[name] = tuple(key for key, _ in statistics)
    if row["mark"]:
        found.has_thresholds = True
        found.thresholds.append(PrintedThreshold(name, "", TICKS.get(row["mark"]), row["value"].strip()))
    return parent


def _same_columns(found: Printed, columns: dict[str, tuple[str, ...]]) -> None:
    """k6 prints the same statistics of every trend: a row with fewer is cut off."""
    if not columns:
        return
    usual = Counter(columns.values()).most_common(1)[0][0]
    for name, shown in columns.items():
        if shown != usual:
            found.unread.add(name)
            found.metrics.pop(name, None)


def _checks(found: Printed) -> None:
    """Since 1.0 the metric `checks` is printed as three rows of other names."""
    if "checks" in found.metrics or "checks" in found.unread:
        return
    if "checks_succeeded" in found.metrics:
        found.metrics["checks"] = found.metrics["checks_succeeded"]
        found.steps["checks"] = found.steps["checks_succeeded"]
    elif "checks_succeeded" in found.unread:
        found.unread.add("checks")


def read_row(text: str) -> dict[str, float] | None:
    """The values of one row; None if it is not, in full, one of k6's forms."""
    if counter := _COUNTER.match(text):
        return {"count": _value(counter[1]), "rate": _value(counter[2])}
    if rate := _RATE.match(text):
        passes = int(rate[2] or rate[4])
        fails = int(rate[3]) - passes if rate[3] else int(rate[5])
        total = passes + fails
        share = passes / total if total > 0 else 0.0
        if fails < 0 or abs(100 * share - float(rate[1])) > _CUT_PERCENT:
            return None  # the two say different things: one of them is cut off
        return {"passes": float(passes), "fails": float(fails), "value": share}
    if gauge := _GAUGE.match(text):
        return {"value": _value(gauge[1]), "min": _value(gauge[2]), "max": _value(gauge[3])}
    return _trend(text)


def steps_of(text: str) -> dict[str, float]:
    """By how much the figures of a row may differ from those they were cut from: one in their last place."""
    if counter := _COUNTER.match(text):
        return {"count": _step(counter[1]), "rate": _step(counter[2])}
    if _RATE.match(text) or _GAUGE.match(text):
        return {}
    return {key: _step(value) for key, value in _STATISTIC.findall(text)}


def _step(text: str) -> float:
    """k6 leaves out zeros at the end of a time: "216ms" is 216.00 ms."""
    match _kind(text):
        case "number":
            return 10.0 ** -_decimals(text) if _decimals(text) else 0.0
        case "bytes":
            number, unit = text.split(" ")
            return 10.0 ** -_decimals(number) * _SCALE[unit]
        case _:
            unit = text.lstrip("0123456789.-")
            return 0.01 * _UNIT_MS.get(unit, _UNIT_MS["s"])


def _decimals(number: str) -> int:
    return len(number.partition(".")[2])


def _trend(text: str) -> dict[str, float] | None:
    found: dict[str, float] = {}
    kinds = set()
    at = 0
    while at < len(text):
        part = _STATISTIC.match(text, at)
        if part is None:
            return None
        found[part[1]] = _value(part[2])
        if part[1] != "count":
            kinds.add(_kind(part[2]))
        at = part.end()
    return found if found and len(kinds) <= 1 else None


def _kind(text: str) -> str:
    return "bytes" if text.endswith("B") else "number" if text[-1].isdigit() else "time"


def _value(text: str) -> float:
    match _kind(text):
        case "number":
            return float(text)
        case "bytes":
            number, unit = text.split(" ")
            return float(number) * _SCALE[unit]
        case _:
            return float(seconds(text) * 1000)
