"""What a report writes where a value belongs: a number with its unit, why there is none, or nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from auditor.evidence import Answer

# fmt: off
PLACEHOLDERS = frozenset({
    "", "-", "–", "—", "−", "--", "---", "?", "??", "???", ".", "..", "...", "…", "tbd", "tbc", "todo",
    "to do", "to be done", "to be determined", "to be defined", "nan", "null", "nil", "undefined", "unknown",
    "not known", "n/a", "na", "n.a.", "not available", "none", "no data", "no value", "missing", "pending",
    "xx", "xxx", "inf", "+inf", "-inf", "infinity", "∞", "0/0", "#n/a", "#value!", "#div/0!", "object object",
    "not measured", "not recorded",
})
# fmt: on
"""What is no answer, however it is spelt."""

_NUMBER = re.compile(
    r"(?<![\w.,])(?P<sign>[+\-−]?)(?P<whole>\d{1,3}(?:[,'’\u00a0\u202f\u2009]\d{3})+(?!\d)|\d{1,15})"
    r"(?P<fraction>[.,]\d{1,12})?(?P<exponent>e[+-]?\d{1,2})?"
)
_UNIT = re.compile(
    r"\s?(?P<unit>%|percent\b|"
    r"(?:k\s?)?/\s?(?:s(?:ec(?:ond)?)?|min(?:ute)?|m|h(?:our)?)\b|"
    r"(?:(?:requests?|reqs?|iterations?|iters?|its?|transactions?|hits?|starts?|calls?)\s?)"
    r"(?:/\s?|per\s)(?:s(?:ec(?:ond)?)?|min(?:ute)?|m|h(?:our)?)\b|"
    r"per\s(?:s(?:ec(?:ond)?)?|min(?:ute)?|hour)\b|"
    r"rps\b|tps\b|qps\b|rpm\b|hz\b|"
    r"ns\b|[uµμ]s\b|ms(?:ecs?)?\b|milli-?seconds?\b|micro-?seconds?\b|"
    r"s(?:ecs?|econds?)?\b|m(?:ins?|inutes?)?\b|h(?:ours?|rs?)?\b)",
    re.I,
)
_PARTS = re.compile(r"(\d+(?:\.\d+)?)\s?(ms|[uµμ]s|ns|hours?|h|min(?:utes?)?|m|sec(?:onds?)?|s)(?![a-z])", re.I)
_COMPOUND = re.compile(
    r"\s*(?:about\s|~|≈)?(?:\d+(?:\.\d+)?\s?(?:h|hours?)\s*)?(?:\d+(?:\.\d+)?\s?(?:m|min(?:utes?)?)\s*)"
    r"(?:\d+(?:\.\d+)?\s?(?:s|sec(?:onds?)?)\s*)?(?:\d+(?:\.\d+)?\s?ms)?",
    re.I,
)
_CLOCK = re.compile(r"\s*(\d{1,3}):(\d{2}):(\d{2})(?:\.\d+)?\b")

_TIME_S = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_REASONED = re.compile(
    r"^(?:n/?a|not applicable|none|no|missing)\b[\s:,;(–—-]*(?P<reason>.+?)\)?$", re.I | re.S
)


@dataclass(frozen=True)
class Number:
    """A number as printed. ``step`` is one unit of its last printed digit."""

    value: float
    step: float
    unit: str
    """As the kinds of unit are named here: "/s", "/min", "/h", "%", "ns", "us", "ms", "s", "m", "h", or "".
    """
    start: int
    end: int


@dataclass(frozen=True)
class Written:
    """What stands in a value's place."""

    answer: Answer
    number: Number | None = None
    reason: str = ""


_SPACED = re.compile(r"(?<![\w.,] )(?<![\w.,])\d{1,3}(?: \d{3})+(?!\d)(?P<rate>(?=(?:\.\d*)?\s?/))?")


def _join(match: re.Match[str]) -> str:
    if match["rate"] is not None and " 0" not in match[0]:
        return match[0]
    return match[0].replace(" ", "\u00a0")


def numbers(text: str) -> list[Number]:
    """Every number with the unit that follows it.

    "3 131 ms" is one number; "120 300.5/s" are two, as k6 prints a count and its rate.
    """
    text = _SPACED.sub(_join, text)
    found = []
    for match in _NUMBER.finditer(text):
        fraction = match["fraction"] or ""
        whole = re.sub(r"\D", "", match["whole"])
        try:
            value = float(f"{whole}{fraction.replace(',', '.')}{match['exponent'] or ''}")
        except (OverflowError, ValueError):
            continue
        step = 10.0 ** (1 - len(fraction)) if fraction else 1.0
        if match["exponent"]:
            step *= 10.0 ** int(match["exponent"][1:])
        if match["sign"] in ("-", "−"):
            value = -value
        end = match.end()
        thousand = re.match(r"\s?k(?=\s?(?:/|rps|req|iter|\b))", text[end : end + 8], re.I)
        if thousand:
            value, step, end = value * 1000, step * 1000, end + thousand.end()
        unit = _UNIT.match(text, end)
        found.append(
            Number(
                value, step, unit_kind(unit["unit"]) if unit else "", match.start(), unit.end() if unit else end
            )
        )
    return found


def unit_kind(text: str) -> str:
    """One name for each unit; empty if it is none."""
    plain = re.sub(r"\s+", " ", text.strip().lower()).replace("μ", "u").replace("µ", "u")
    if plain in ("%", "percent"):
        return "%"
    if plain in ("rps", "tps", "qps", "hz"):
        return "/s"
    if plain == "rpm":
        return "/min"
    if rate := re.search(r"(?:/ ?|per )(s|m|h)", plain):
        return {"s": "/s", "m": "/min", "h": "/h"}[rate[1]]
    if plain.startswith(("milli", "ms")):
        return "ms"
    if plain.startswith(("micro", "us")):
        return "us"
    if plain.startswith("ns"):
        return "ns"
    return {"s": "s", "m": "m", "h": "h"}.get(plain[:1], "") if re.fullmatch(_TIME_WORD, plain) else ""


_TIME_WORD = re.compile(r"s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?")


def normal(number: Number, kind: str, default: str = "") -> tuple[float, float] | None:
    """Value and step in the field's own unit (``kind``: "/s", "ms", "s", "%", "iterations").

    ``default`` is the unit that a heading or a note gives where the number has none. None if the unit is of
    another kind: 58 % is no latency.
    """
    unit = number.unit or default
    if kind in ("ms", "s"):
        if unit not in _TIME_S and unit:
            return None
        factor = (_TIME_S[unit] if unit else _TIME_S[kind]) / _TIME_S[kind]
    elif kind == "/s":
        if unit and unit not in ("/s", "/min", "/h"):
            return None
        factor = {"/min": 1 / 60, "/h": 1 / 3600}.get(unit, 1.0)
    elif kind == "%":
        if unit and unit != "%":
            return None
        factor = 1.0
    else:
        if unit and unit not in ("", "/s"):
            return None
        factor = 1.0
    return number.value * factor, number.step * factor


def compound_s(text: str) -> Number | None:
    """A length of several parts at the start of a text: "10 m 5 s", "1h30m", "00:10:00"."""
    if clock := _CLOCK.match(text):
        hours, minutes, rest = (int(part) for part in clock.groups())
        return Number(hours * 3600.0 + minutes * 60 + rest, 1.0, "s", 0, clock.end())
    found = _COMPOUND.match(text)
    if found is None:
        return None
    parts = _PARTS.findall(found[0])
    if len(parts) < 2:
        return None
    total = sum(float(n) * _TIME_S[unit_kind(u)] for n, u in parts)
    last_number, last_unit = parts[-1]
    decimals = len(last_number.partition(".")[2])
    return Number(total, _TIME_S[unit_kind(last_unit)] * 10.0**-decimals, "s", 0, found.end())


def is_placeholder(text: str) -> bool:
    plain = text.strip().strip("*_`\"'()[]{}<>:").strip().lower()
    return plain in PLACEHOLDERS or re.fullmatch(r"(?:tbd|tbc|todo|nan)\b.*", plain) is not None


def written(text: str) -> Written:
    """Read what stands in a value's place.

    "none: closed model (one clerk)" and "n/a, need 3,688" are answers with a reason; "n/a" is none.
    """
    plain = text.strip().strip("*_`").strip()
    if is_placeholder(plain):
        return Written("placeholder", reason=f"it says {plain!r}" if plain else "it is blank")
    lowered = plain.lower()
    if lowered.startswith("missing"):
        return Written("placeholder", reason=plain)
    if "not identified" in lowered or "not-identified" in lowered:
        least = numbers(plain)
        return Written("not-identified", least[0] if least else None, plain)
    if plain[:1] in "≥>" and (least := numbers(plain)):
        return Written("not-identified", least[0], plain)
    if re.match(r"(?:n/?a|n\.a\.|not applicable|none)\b", lowered):
        reason = _REASONED.match(plain)
        said = reason["reason"].strip() if reason else ""
        if len(re.sub(r"\W", "", said)) < 4 or is_placeholder(said):
            return Written("placeholder", reason=f"it says {plain!r} without a reason")
        return Written("none" if lowered.startswith("none") else "n/a", reason=said)
    found = numbers(plain)
    return Written("value", found[0]) if found else Written("words", reason=f"it says {plain[:60]!r}")
