"""What a rule is, what it may yield, and its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from auditor.facts.store import Unknown

Severity = Literal["invalid", "warning", "info"]
Outcome = Literal["pass", "fail", "unknown", "not-applicable", "error", "waived"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "invalid")

HEADINGS = (
    "What it checks",
    "Why it matters",
    "How it is computed",
    "How to fix it",
    "When it is wrong",
)
"""Headings of a rule's docstring, in order."""

FAMILIES = {
    "WM": "Workload model",
    "OL": "Offered load",
    "SD": "Schedule and drops",
    "ER": "Errors and denominators",
    "LS": "Latency statistics",
    "SS": "Warm-up and steady state",
    "CO": "Coordinated omission, stalls, backlog",
    "CA": "Cardinality",
    "GH": "Generator health",
    "DM": "Distributed merge",
    "EV": "Evidence integrity",
    "TH": "Thresholds and script",
    "SC": "Security and data",
    "HD": "Report header",
}


AT_SIGNOFF = "needed at sign-off"
"""How the reason of a rule begins that asks for a declaration only when a run is signed off."""


@dataclass(frozen=True)
class Limit:
    """A number a rule compares with. ``origin`` says where it comes from, in a few words."""

    name: str
    default: float
    unit: str
    origin: str


class Limits(Mapping[str, float]):
    """The limits in force for one rule: its defaults, as changed by the policy."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@dataclass(frozen=True)
class Rule:
    """A rule's metadata.

    ``severity`` is the base severity: only a base "invalid" makes a run NOT PROVEN when it is unknown.
    ``consequence_of`` names rules that cause this one, most direct first: the cause tree.
    """

    id: str
    slug: str
    title: str
    severity: Severity
    since: str
    limits: tuple[Limit, ...] = ()
    references: tuple[str, ...] = ()
    consequence_of: tuple[str, ...] = ()
    waivable: bool = True
    raises: bool = False
    """Whether single findings of a base warning may be raised to "invalid"."""

    @property
    def may_invalidate(self) -> bool:
        """Whether leaving this rule out could hide that a run is invalid."""
        return self.severity == "invalid" or self.raises

    @property
    def family(self) -> str:
        return FAMILIES.get(self.id[:2], "Own rules")


@dataclass(frozen=True)
class Quantity:
    """A number with its unit, and the words to print."""

    value: float | None
    unit: str
    text: str


@dataclass(frozen=True)
class Scope:
    """What a finding is about; empty parts mean "all"."""

    generator: str = ""
    scenario: str = ""
    stage: str = ""
    name: str = ""

    def __str__(self) -> str:
        parts = [self.scenario, self.stage, self.name]
        where = ", ".join(p for p in parts if p)
        return f"{where} on {self.generator}" if self.generator and where else where or self.generator


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: what was observed, the limit, the evidence, and what to do next."""

    message: str
    fix: str
    observed: Quantity
    limit: Quantity
    evidence: tuple[str, ...] = ()
    scope: Scope = Scope()
    severity: Severity | None = None
    """Raised or lowered for this finding; None is the rule's base severity."""


@dataclass(frozen=True)
class NotApplicable:
    """The rule has nothing to check here, for a reason."""

    reason: str


Said = Finding | Unknown | NotApplicable
"""What `check` yields: findings, unknowns, or "not applicable". Yielding nothing is a pass."""
Findings = Iterable[Said]
Check = Callable[..., Findings]


@dataclass(frozen=True)
class LoadedRule:
    """A rule file: its metadata, words and check.

    ``check`` judges a run, ``check_report`` a report; a rule has one of them, or both with one meaning.
    """

    meta: Rule
    check: Check | None
    doc: Mapping[str, str]
    """Heading -> text."""
    path: str
    own: bool = False
    """Whether it comes from --rules DIR, not from the package."""
    check_report: Check | None = None


@dataclass(frozen=True)
class Waiver:
    """A decision to accept a finding."""

    rule: str
    reason: str
    owner: str
    expires: str
    scope: Scope = Scope()


@dataclass(frozen=True)
class RuleResult:
    """The result of one rule."""

    rule: LoadedRule
    outcome: Outcome
    severity: Severity
    """The highest among its findings, else its base."""
    reason: str = ""
    fix: str = ""
    findings: tuple[Finding, ...] = ()
    waived: tuple[tuple[Finding | None, Waiver], ...] = ()
    """Findings (or, as None, the unknown outcome) that a waiver covers."""
    cause: str = ""
    """Id of the failed rule that this one is a consequence of."""
    traceback: str = field(default="", compare=False)

    @property
    def id(self) -> str:
        return self.rule.meta.id


def highest(severities: Iterable[Severity], base: Severity) -> Severity:
    found = list(severities)
    return max(found, key=SEVERITIES.index) if found else base
