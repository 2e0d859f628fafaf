"""The view of a result: what the terminal, Markdown and HTML say of a run, in the order in which they say it.

It is built from the JSON result (json_v1) and from nothing else, so that every format names the same verdict,
causes and open questions, and an HTML report can be rendered again from the result inside it. A renderer
prints a view; it chooses nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor.engine.verdict import Judged, severity_rank
from auditor.facts.header import HeaderField
from auditor.facts.missing import BY_KEY
from auditor.fields import FIELD_OF
from auditor.present.words import detail_words, ms, ms_number, value_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SEVERITY_WORDS = {"invalid": "invalid", "warning": "warning", "info": "note"}
FINDINGS_SHOWN = 12
IGNORED_SHOWN = 10
"""Ignored files that are named, of each reason; the others are counted."""

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
class VerdictWords:
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
class HeaderRow:
    """One field of the header."""

    name: str
    label: str
    unit: str
    status: str
    data_value: str
    value: str
    detail: str
    brief: str
    """The detail where there is room for one line."""
    population: str = ""
    interval: str = ""
    successful: str = ""
    rules: tuple[str, ...] = ()
    flag: str = ""
    """"invalid" or "warning" where a rule about this field failed."""


@dataclass(frozen=True)
class AccountRow:
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

    @property
    def holds_invalid(self) -> bool:
        """Whether it, or anything that follows from it, makes the run INVALID."""
        return self.severity == "invalid" or any(child.holds_invalid for child in self.children)

    def below(self, depth: int = 1) -> Iterator[tuple[int, Cause]]:
        """Everything that follows from it, in order, with how deep it lies."""
        for child in self.children:
            yield depth, child
            yield from child.below(depth + 1)


@dataclass(frozen=True)
class Reason:
    """What one or more rules say that they do not know, in their own words."""

    rules: tuple[str, ...]
    reason: str
    fix: str


@dataclass(frozen=True)
class Question:
    """One thing that is not known: the rules that wait for it, and how to answer it."""

    what: str
    rules: tuple[str, ...]
    blocking_rules: tuple[str, ...]
    """Those of them that keep the run from being proven."""
    needs: str
    """"add": it can be answered now; "rerun": only by a new run; empty: not said."""
    fix: str
    reasons: tuple[Reason, ...]

    @property
    def blocking(self) -> bool:
        return bool(self.blocking_rules)

    @property
    def how(self) -> str:
        """What comes before the fix."""
        return {"add": "can be added now", "rerun": "needs a new run"}.get(self.needs, "to do")


@dataclass(frozen=True)
class IgnoredFiles:
    """Files that were not used for one reason: some by name, and how many more."""

    reason: str
    paths: tuple[str, ...]
    more: int


@dataclass(frozen=True)
class View:
    """Everything that a format prints of a result, in this order."""

    verdict: VerdictWords
    header: tuple[HeaderRow, ...]
    scenarios: Mapping[str, tuple[HeaderRow, ...]]
    accounts: tuple[AccountRow, ...]
    whole: AccountRow | None
    """The sum over the scenarios that plan starts."""
    causes: tuple[Cause, ...]
    """Failed rules as trees: first those that hold an INVALID finding."""
    questions: tuple[Question, ...]
    """Those that keep the run from being proven first."""
    at_signoff: tuple[str, ...]
    """Rules that wait for a declaration which only `signoff` asks for."""
    waivers: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    sources: tuple[Mapping[str, Any], ...]
    ignored: tuple[IgnoredFiles, ...]
    settings: tuple[Mapping[str, Any], ...]
    """Of the policy, that differ from the defaults."""
    outcome: str | None = None
    """Whether the run met its objectives; None: it was not judged."""

    @property
    def root(self) -> Cause | None:
        """The root cause that the headline names."""
        return root_cause(self.causes)


def build(result: Mapping[str, Any]) -> View:
    """The view of a JSON result."""
    found, open_ = causes(result), questions(result)
    listed = accounts(result)
    return View(
        verdict=_verdict(result, found, open_),
        header=header(result),
        scenarios={name: _rows(one["header"], {}) for name, one in result["scenarios"].items()},
        accounts=listed,
        whole=whole(listed),
        causes=found,
        questions=open_,
        at_signoff=tuple(r["id"] for r in result["rules"] if r.get("at_signoff")),
        waivers=tuple(result["waivers"]),
        notes=tuple(result["notes"]),
        sources=tuple(result["sources"]),
        ignored=_ignored(result["ignored"]),
        settings=tuple(s for s in result["policy"]["settings"] if s["source"] != "default"),
    )


def root_cause(trees: Sequence[Cause]) -> Cause | None:
    """The one root cause that every format names: the first tree that holds an INVALID finding."""
    return next((one for one in trees if one.holds_invalid), None)


def _verdict(
    result: Mapping[str, Any], trees: Sequence[Cause], open_questions: Sequence[Question]
) -> VerdictWords:
    """What the run may be used for, why, and the first thing to do."""
    word, words = result["verdict"], result["verdict_words"]
    waived = " See the waivers below." if result["waived"] else ""
    if word == "INVALID":
        root = root_cause(trees)
        headline = "This run must not be believed"
        if root is not None:
            headline += f": {_lower(root.title)}"
        because = root.findings[0]["message"] if root is not None and root.findings else ""
        band = f"{words}: do not rely on the figures in this report"
        return VerdictWords(word, words, "✕", f"{headline}.{waived}", because, "", band)
    if word == "NOT PROVEN":
        blocking = [q for q in open_questions if q.blocking]
        headline = f"Nothing is shown to be wrong, and not enough is known.{waived}"
        band = f"{words}: too little is known to rely on these figures"
        because = f"{blocking[0].what[:1].upper()}{blocking[0].what[1:]}" if blocking else ""
        if len(blocking) > 1:
            because += f", and {len(blocking) - 1} more"
        fix = blocking[0].fix if blocking else ""
        return VerdictWords(word, words, "?", headline, because, fix, band)
    warned = sum(r["outcome"] == "fail" and r["severity"] == "warning" for r in result["rules"])
    warnings = f", with {warned} warning{'' if warned == 1 else 's'}" if warned else ""
    band = f"{words}: this verdict rests on waivers" if result["waived"] else ""
    return VerdictWords(word, words, "✓", f"This run may be believed{warnings}.{waived}", "", "", band)


def _lower(title: str) -> str:
    """A title inside a sentence; an abbreviation or a name keeps its capitals."""
    return title[:1].lower() + title[1:] if title[1:2].islower() or title[1:2] == " " else title


def header(result: Mapping[str, Any]) -> tuple[HeaderRow, ...]:
    """The fields of the run, in their fixed order; an older result may have fewer."""
    return _rows(result["header"], _about(result))


def _about(result: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """By field: the failed rules that are about it, with their severity."""
    found: dict[str, dict[str, str]] = {}
    for rule in result["rules"]:
        if rule["outcome"] == "fail" and rule["severity"] in ("invalid", "warning"):
            for name in rule.get("about", ()):
                found.setdefault(name, {})[rule["id"]] = rule["severity"]
    return found


def _rows(raw: Mapping[str, Any], about: Mapping[str, Mapping[str, str]]) -> tuple[HeaderRow, ...]:
    return tuple(_row(name, raw[name], about.get(name, {})) for name in FIELD_OF if name in raw)


def _row(name: str, raw: Mapping[str, Any], failed: Mapping[str, str]) -> HeaderRow:
    """One field; ``failed`` are the failed rules that are about it, with their severity."""
    field = header_field(name, raw)
    rules = tuple(failed)
    flag = min(failed.values(), key=severity_rank, default="")
    value, why = ("missing", field.reason) if field.status == "missing" else (value_words(field), "")
    common: dict[str, Any] = {
        "name": name,
        "label": field.label,
        "unit": field.unit,
        "status": field.status,
        "data_value": "" if field.value is None else f"{field.value:.15g}",
        "value": value,
        "brief": why or detail_words(field),
        "rules": rules,
        "flag": flag,
    }
    if FIELD_OF[name].percentile is None:
        return HeaderRow(**common, detail=why or detail_words(field))
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
    return HeaderRow(
        **common,
        detail=", ".join(p for p in parts if p),
        population=population,
        interval=_interval(interval) if interval else "",
        successful="" if successful is None else ms(successful),
    )


def _interval(interval: Sequence[float]) -> str:
    low, high = interval
    return f"{ms(low)} to ∞" if math.isinf(high) else f"{ms_number(low)} to {ms(high)}"


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


def accounts(result: Mapping[str, Any]) -> tuple[AccountRow, ...]:
    """Every scenario's accounting."""
    return tuple(_account(name, raw) for name, raw in result["accounting"].items())


def _account(name: str, raw: Mapping[str, Any]) -> AccountRow:
    silent, exact = raw["silent"], raw["silent_exact"]
    return AccountRow(
        name,
        raw["planned"],
        raw["started"],
        tuple((word, raw[key]) for key, word in PARTS),
        -exact if exact and not silent else 0,
    )


def whole(found: Sequence[AccountRow]) -> AccountRow | None:
    """The sum over the scenarios that plan starts; None if none does."""
    planned = [a for a in found if a.planned is not None]
    if not planned:
        return None
    parts = tuple((word, _sum(a.parts[i][1] for a in planned)) for i, (_, word) in enumerate(PARTS))
    return AccountRow(
        "",
        sum(a.planned or 0 for a in planned),
        sum(a.started for a in planned),
        parts,
        sum(a.edge for a in planned),
    )


def _sum(values: Iterable[int | None]) -> int | None:
    found = list(values)
    return None if any(v is None for v in found) else sum(v for v in found if v is not None)


def causes(result: Mapping[str, Any]) -> tuple[Cause, ...]:
    """Failed rules as trees, root first: a failed rule that names a failed rule as its cause is below it.

    Trees that hold an INVALID finding come first, of these the ones whose root is itself invalid, then by id.
    """
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
            tuple(sorted(below, key=_by_severity)),
        )

    trees = [tree(rule) for rule in children.get("", [])]
    # Rules that name each other as the cause have no root: none of them may get lost.
    trees += [tree(rule) for rule in failed if rule not in seen]
    return tuple(sorted(trees, key=_by_severity))


def _by_severity(cause: Cause) -> tuple[bool, int, str]:
    return not cause.holds_invalid, severity_rank(cause.severity), cause.id


def questions(result: Mapping[str, Any]) -> tuple[Question, ...]:
    """What is not known. Rules that lack the same piece of evidence are one question; those that keep the run
    from being proven come first, of these the ones that can be answered now."""
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for rule in result["rules"]:
        if _judged(rule).is_open:
            missing = rule.get("missing")
            own = (rule["reason"] or "", rule["fix"] or "")
            groups.setdefault((missing,) if missing in BY_KEY else own, []).append(rule)
    script: Mapping[str, Any] = next((s for s in result["sources"] if s["format"] == "k6 script"), {})
    found = [_question(rules, script) for rules in groups.values()]
    return tuple(sorted(found, key=lambda q: (not q.blocking, q.needs != "add")))


def _question(rules: Sequence[Mapping[str, Any]], script: Mapping[str, Any]) -> Question:
    by_words: dict[tuple[str, str], list[str]] = {}
    for rule in rules:
        by_words.setdefault((rule["reason"] or "", rule["fix"] or ""), []).append(rule["id"])
    reasons = tuple(Reason(tuple(ids), reason, fix) for (reason, fix), ids in by_words.items())
    missing = BY_KEY.get(rules[0].get("missing") or "")
    what, fix = reasons[0].reason, reasons[0].fix
    if missing is not None and len(reasons) > 1:
        what = f"{missing.what} {'are' if missing.plural else 'is'} not known"
    if missing is not None and (len(reasons) > 1 or missing.needs == "add"):
        first = "" if script else "copy {script} into the run's folder; " if "{script}" in missing.fix else ""
        settings = "".join(f"-e {name}=… " for name in script.get("environment", ()))
        fix = (first + missing.fix).replace("{settings}", settings)
        fix = fix.replace("{script}", script.get("path") or "script.js")
    return Question(
        what=what,
        rules=tuple(r["id"] for r in rules),
        blocking_rules=tuple(r["id"] for r in rules if _judged(r).blocks),
        needs=rules[0].get("needs") or "",
        fix=fix,
        reasons=reasons,
    )


def _judged(rule: Mapping[str, Any]) -> Judged:
    return Judged(rule["outcome"], rule["severity"], rule["base_severity"])


def _ignored(files: Sequence[Mapping[str, Any]]) -> tuple[IgnoredFiles, ...]:
    by_reason: dict[str, list[str]] = {}
    for one in files:
        by_reason.setdefault(one["reason"], []).append(one["path"])
    return tuple(
        IgnoredFiles(reason, tuple(paths[:IGNORED_SHOWN]), max(0, len(paths) - IGNORED_SHOWN))
        for reason, paths in by_reason.items()
    )
