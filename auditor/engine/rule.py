"""What a rule is, what it may yield, and its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from auditor.engine.verdict import Judged, Outcome, Severity
from auditor.facts.missing import Missing, Needs
from auditor.facts.store import Unknown

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


@dataclass(frozen=True)
class Limit:
    """A number a rule compares with. ``origin`` says where it comes from, in a few words."""

    name: str
    default: float
    unit: str
    origin: str
    drawn_as: str = ""
    """The line of the report's CPU figure that it is, by its name in the model; empty for none."""


class Limits(Mapping[str, float]):
    """The limits in force for one rule: its own by their names ("busy"), those of other rules that its
    metadata says it uses by their qualified names ("OL01.deviation")."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> float:
        if name not in self._values:
            raise KeyError(f"{name!r} is neither a limit of this rule nor among those that it uses")
        return self._values[name]

    def exact(self, name: str) -> Fraction:
        """The limit as the decimal that it is written as: 0.02 is 1/50, so that exactly 2 % passes."""
        return Fraction(str(self[name]))

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
    uses: tuple[str, ...] = ()
    """Limits of other rules that this one, or a fact that it judges by, compares with: "OL01.deviation"."""
    moved_limits: Mapping[str, str] = field(default_factory=dict)
    """Names of former limits of this rule -> the limit that holds instead, for whoever still sets them."""
    references: tuple[str, ...] = ()
    consequence_of: tuple[str, ...] = ()
    waivable: bool = True
    raises: bool = False
    """Whether single findings of a base warning may be raised to "invalid"."""
    about: tuple[str, ...] = ()
    """Machine names of header fields beside which a report points at this rule when it fails."""
    guard: bool = False
    """Whether it guards the audit itself: it always runs, last, and without it nothing is proven."""

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
    at_signoff: bool = False
    """Whether a declaration is missing that only `signoff` asks for."""


def needed_at_signoff(what: str) -> NotApplicable:
    """What a rule says while a declaration is missing that only `signoff` asks for."""
    return NotApplicable(f"needed at sign-off: {what}", at_signoff=True)


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
class OneOfMany:
    """One of several alike rules of one file, which names them all in ``RULES``. Each has its own page: the
    file's docstring with ``words`` in the places of its {placeholders}."""

    meta: Rule
    words: Mapping[str, str]
    check: Check | None
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
    needs: Needs = ""
    """Whether what is unknown can be added now, or needs a new run."""
    missing: Missing | None = None
    """The piece of evidence that is missing, if the rule names one."""
    at_signoff: bool = False
    """Whether it is not applicable only because a declaration is missing that `signoff` asks for."""
    traceback: str = field(default="", compare=False)

    @property
    def id(self) -> str:
        return self.rule.meta.id

    @property
    def judged(self) -> Judged:
        return Judged(self.outcome, self.severity, self.rule.meta.severity)
