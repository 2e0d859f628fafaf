"""The model in words: what HTML and Markdown both say, in the order in which they say it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor.facts.header import HeaderField
from auditor.fields import FIELD_OF
from auditor.present.words import detail_words, ms, value_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SEVERITY_WORDS = {"invalid": "invalid", "warning": "warning", "info": "note"}
_ORDER = {"invalid": 0, "warning": 1, "info": 2}
FINDINGS_SHOWN = 12

PARTS = (
    ("completed", "completed"),
    ("interrupted", "interrupted"),
    ("dropped", "dropped"),
    ("silent", "silent"),
    ("not_reached", "not reached"),
    ("in_flight_at_end", "in flight at the end"),
)
"""What every planned start became: key of the accounting, and its word."""


@dataclass(frozen=True)
class Verdict:
    """The verdict as it is written at the top, and on every page that must not be quoted."""

    word: str
    words: str
    mark: str
    headline: str
    because: str
    fix: str
    """What would prove the run; an invalid one has its fixes with its findings."""
    band: str
    """Empty where the figures may be quoted as they are."""


@dataclass(frozen=True)
class Row:
    """One field of the header."""

    name: str
    label: str
    unit: str
    status: str
    data_value: str
    value: str
    detail: str
    population: str = ""
    interval: str = ""
    successful: str = ""
    rules: tuple[str, ...] = ()
    flag: str = ""
    """"invalid" or "warning" where a rule about this field failed."""


@dataclass(frozen=True)
class Account:
    """The accounting of one scenario, or of all."""

    scenario: str
    planned: int | None
    started: int
    parts: tuple[tuple[str, int | None], ...]
    edge: int


@dataclass(frozen=True)
class Cause:
    """A failed rule with its findings, and what follows from it."""

    id: str
    title: str
    severity: str
    findings: tuple[Mapping[str, Any], ...]
    more: int
    fixes: tuple[str, ...]
    children: tuple[Cause, ...]


@dataclass(frozen=True)
class Question:
    """Something that is not known, and what would tell."""

    rules: tuple[str, ...]
    reason: str
    fix: str
    blocking: bool


def verdict(model: Mapping[str, Any], causes: Sequence[Cause], questions: Sequence[Question]) -> Verdict:
    """What the run may be used for, why, and the first thing to do."""
    result = model["result"]
    word, words = result["verdict"], result["verdict_words"]
    waived = " See the waivers below." if result["waived"] else ""
    if word == "INVALID":
        root = next((c for c in causes if _holds_invalid(c)), None)
        headline = "This run must not be believed"
        if root is not None:
            headline += f": {_lower(root.title)}"
        because = root.findings[0]["message"] if root is not None and root.findings else ""
        band = f"{words}: do not rely on the figures in this report"
        return Verdict(word, words, "✕", f"{headline}.{waived}", because, "", band)
    if word == "NOT PROVEN":
        first = next((q for q in questions if q.blocking), None)
        headline = f"Nothing is shown to be wrong, and not enough is known.{waived}"
        band = f"{words}: too little is known to rely on these figures"
        because, fix = (first.reason, first.fix) if first is not None else ("", "")
        return Verdict(word, words, "?", headline, because, fix, band)
    warned = sum(r["outcome"] == "fail" and r["severity"] == "warning" for r in result["rules"])
    warnings = f", with {warned} warning{'' if warned == 1 else 's'}" if warned else ""
    band = f"{words}: this verdict rests on waivers" if result["waived"] else ""
    return Verdict(word, words, "✓", f"This run may be believed{warnings}.{waived}", "", "", band)


def _holds_invalid(cause: Cause) -> bool:
    return cause.severity == "invalid" or any(_holds_invalid(c) for c in cause.children)


def _lower(title: str) -> str:
    """A title inside a sentence; an abbreviation or a name keeps its capitals."""
    return title[:1].lower() + title[1:] if title[1:2].islower() or title[1:2] == " " else title


def header(model: Mapping[str, Any]) -> list[Row]:
    """The fields, in their fixed order; an older result may have fewer."""
    failed = {r["id"]: r["severity"] for r in model["result"]["rules"] if r["outcome"] == "fail"}
    raw = model["result"]["header"]
    about = model.get("about", {})
    return [_row(name, raw[name], failed, about.get(name, ())) for name in FIELD_OF if name in raw]


def _row(name: str, raw: Mapping[str, Any], failed: Mapping[str, str], about: Sequence[str]) -> Row:
    """One field; ``about`` are the rules whose failure it shows."""
    field = header_field(name, raw)
    rules = tuple(r for r in about if failed.get(r) in ("invalid", "warning"))
    flag = min((failed[r] for r in rules), key=_ORDER.__getitem__, default="")
    value, why = _value(field)
    common: dict[str, Any] = {
        "name": name,
        "label": field.label,
        "unit": field.unit,
        "status": field.status,
        "data_value": "" if field.value is None else f"{field.value:.15g}",
        "value": value,
        "rules": rules,
        "flag": flag,
    }
    if FIELD_OF[name].percentile is None:
        return Row(**common, detail=why or detail_words(field))
    detail = field.detail
    interval, successful = detail.get("interval"), detail.get("of_successful")
    population = {"offered": "over offered demand", "sent": "of what was sent"}.get(
        detail.get("population", ""), ""
    )
    parts = [
        why,
        population,
        f"95 % {_interval(interval)}" if interval else "",
        f"n {detail['n']:,}" if detail.get("n") else "",
        f"{ms(successful)} of what succeeded" if successful is not None else "",
        field.reason if field.status == "not-identified" else "",
    ]
    return Row(
        **common,
        detail=", ".join(p for p in parts if p),
        population=population,
        interval=_interval(interval) if interval else "",
        successful="" if successful is None else ms(successful),
    )


def _value(field: HeaderField) -> tuple[str, str]:
    """The value in few words, and apart from it the reason why there is none."""
    words = value_words(field)
    if field.status in ("missing", "n/a"):
        value, colon, why = words.partition(": ")
        return (value, why) if colon else (words, "")
    return words, ""


def _interval(interval: Sequence[float]) -> str:
    low, high = (ms(v) for v in interval)
    return f"{low.removesuffix(' ms')} to {high}" if high != "∞" else f"{low} to ∞"


def header_field(name: str, raw: Mapping[str, Any]) -> HeaderField:
    """A field of the JSON header as the fact that it was. JSON has no infinity: an open end is null there."""
    own = ("label", "unit", "status", "value", "reason")
    detail = {key: value for key, value in raw.items() if key not in own}
    if detail.get("interval"):
        detail["interval"] = [math.inf if v is None else v for v in detail["interval"]]
    return HeaderField(
        name,
        raw["label"],
        raw["unit"],
        raw["status"],
        raw["value"],
        raw["reason"] or "",
        detail=detail,
    )


def accounts(model: Mapping[str, Any]) -> list[Account]:
    """Every scenario's accounting."""
    return [_account(name, raw) for name, raw in model["result"]["accounting"].items()]


def _account(name: str, raw: Mapping[str, Any]) -> Account:
    silent, exact = raw["silent"], raw["silent_exact"]
    return Account(
        name,
        raw["planned"],
        raw["started"],
        tuple((word, raw[key]) for key, word in PARTS),
        -exact if exact and not silent else 0,
    )


def whole(found: Sequence[Account]) -> Account | None:
    """The sum over the scenarios that plan starts; None if none does."""
    planned = [a for a in found if a.planned is not None]
    if not planned:
        return None
    parts = tuple((word, _sum(a.parts[i][1] for a in planned)) for i, (_, word) in enumerate(PARTS))
    return Account(
        "",
        sum(a.planned or 0 for a in planned),
        sum(a.started for a in planned),
        parts,
        sum(a.edge for a in planned),
    )


def _sum(values: Iterable[int | None]) -> int | None:
    found = list(values)
    return None if any(v is None for v in found) else sum(v for v in found if v is not None)


def causes(model: Mapping[str, Any]) -> list[Cause]:
    """Failed rules as trees, root first, the gravest first."""
    result = model["result"]
    failed = {r["id"]: r for r in result["rules"] if r["outcome"] == "fail"}
    findings: dict[str, list[Mapping[str, Any]]] = {}
    for finding in result["findings"]:
        findings.setdefault(finding["rule"], []).append(finding)
    children: dict[str, list[str]] = {}
    for one in failed.values():
        children.setdefault(one["cause"] if one["cause"] in failed else "", []).append(one["id"])
    seen: set[str] = set()

    def tree(rule: str) -> Cause:
        seen.add(rule)
        mine = findings.get(rule, [])
        shown = tuple(mine[:FINDINGS_SHOWN])
        below = [tree(child) for child in children.get(rule, []) if child not in seen]
        severity = failed[rule]["severity"]
        return Cause(
            rule,
            failed[rule]["title"],
            severity,
            shown,
            len(mine) - len(shown),
            tuple(dict.fromkeys(f["fix"] for f in shown if f["severity"] == severity)),
            tuple(sorted(below, key=_gravity)),
        )

    return sorted((tree(rule) for rule in children.get("", [])), key=_gravity)


def _gravity(cause: Cause) -> tuple[bool, int, str]:
    return not _holds_invalid(cause), _ORDER[cause.severity], cause.id


def questions(model: Mapping[str, Any]) -> list[Question]:
    """What is not known, those that keep the run from being proven first; alike ones together."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for rule in model["result"]["rules"]:
        if rule["outcome"] in ("unknown", "error"):
            groups.setdefault((rule["reason"] or "", rule["fix"] or ""), []).append(rule)
    found = [
        Question(
            tuple(r["id"] for r in rules), reason, fix, any(r["base_severity"] == "invalid" for r in rules)
        )
        for (reason, fix), rules in groups.items()
    ]
    return sorted(found, key=lambda q: not q.blocking)
