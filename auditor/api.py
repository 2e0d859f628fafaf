"""All that a rule file may import: what a rule is, what it may say, and the facts it may ask for.

A rule is a Python file with a docstring (five fixed headings), ``RULE`` and ``check``. ``check`` names the
facts it needs in its annotations: ``cpu: GeneratorHosts`` is required (the rule is `unknown` without it),
``cpu: GeneratorHosts | None`` is optional. It yields `Finding`, `Unknown` and `NotApplicable`; yielding
nothing is a pass. ``check_report(linted: LintedReport)``, beside or instead of ``check``, judges a report.
Several alike rules may share a file: it names them in ``RULES`` (each a `OneOfMany`), and its docstring has
{placeholders}.
"""

from auditor.engine.audit import SelfCheck
from auditor.engine.header_rule import header_checks, header_rule, percentile_rules
from auditor.engine.rule import (
    Finding,
    Findings,
    Limit,
    Limits,
    NotApplicable,
    OneOfMany,
    Quantity,
    Rule,
    Scope,
    needed_at_signoff,
)
from auditor.engine.verdict import VERDICTS, Judged, Severity, verdict_of
from auditor.evidence import (
    ITERATION_EXECUTORS,
    LOOPING_EXECUTORS,
    OPEN_EXECUTORS,
    Declared,
    Evidence,
    GeneratorEvidence,
    ReportedField,
    Summary,
)
from auditor.facts.accounting import Account, Accounting, InWindow, edge_starts, total
from auditor.facts.cardinality import Cardinality, SeriesCount
from auditor.facts.checks import CheckCount, Checks
from auditor.facts.count_sources import CountSources
from auditor.facts.delivery import LOAD_LOST_LIMITS, DeliveredLoad, Interval, LoadLost, ShortOf, ShortWindows
from auditor.facts.errors import HARD_LOG_KINDS, SOFT_LOG_KINDS, Errors
from auditor.facts.header import Header, HeaderField
from auditor.facts.host import CORE_SPAN_S, PEAK_SPAN_S, GeneratorHosts, HostUse
from auditor.facts.iteration_time import IterationTime, KeyIterationTime, script_of
from auditor.facts.iterations import Iterations, KeyIterations
from auditor.facts.keys import Key
from auditor.facts.latency import Latency, Population
from auditor.facts.linted_report import LintedReport, RunBeside
from auditor.facts.missing import Missing
from auditor.facts.plan import KeyPlan, Plan
from auditor.facts.protocols import Outcomes, Protocols
from auditor.facts.quantiles import allowed_without_latency, identified
from auditor.facts.requests import GeneratorRequests, Requests, requests_with_error
from auditor.facts.samples import Samples
from auditor.facts.schedule import WINDOW_STEP_S, Schedule
from auditor.facts.stalls import FINE_STAMP_FIX, STALL_LIMITS, Pauses, Stall, Stalls, require_fine_stamps
from auditor.facts.statements import Said, Statement, Statements, ThresholdMarks, totals_of
from auditor.facts.store import Unknown
from auditor.facts.thresholds import DropBudget, Threshold, Thresholds, evaluate_summary, marks_of
from auditor.facts.throttle import HeldBack, Throttle
from auditor.facts.timeline import GeneratorEnd, KeyTimeline, Timeline
from auditor.facts.vu_pools import VUS_RESERVE, VuPool, VuPools
from auditor.facts.vutime import VuTime
from auditor.fields import DECIDING, FIELDS, LABEL_OF, MINIMUM_N, PERCENTILE_FIELDS, PERCENTILES, SUMMARY_KEYS
from auditor.samples.columns import REQUEST_SET, GeneratorSamples
from auditor.units import NS_PER_MS, NS_PER_S

__all__ = [
    "CORE_SPAN_S",
    "DECIDING",
    "FIELDS",
    "FINE_STAMP_FIX",
    "HARD_LOG_KINDS",
    "ITERATION_EXECUTORS",
    "LABEL_OF",
    "LOAD_LOST_LIMITS",
    "LOOPING_EXECUTORS",
    "MINIMUM_N",
    "NS_PER_MS",
    "NS_PER_S",
    "OPEN_EXECUTORS",
    "PEAK_SPAN_S",
    "PERCENTILES",
    "PERCENTILE_FIELDS",
    "REQUEST_SET",
    "SOFT_LOG_KINDS",
    "STALL_LIMITS",
    "SUMMARY_KEYS",
    "VERDICTS",
    "VUS_RESERVE",
    "WINDOW_STEP_S",
    "Account",
    "Accounting",
    "Cardinality",
    "CheckCount",
    "Checks",
    "CountSources",
    "Declared",
    "DeliveredLoad",
    "DropBudget",
    "Errors",
    "Evidence",
    "Finding",
    "Findings",
    "GeneratorEnd",
    "GeneratorEvidence",
    "GeneratorHosts",
    "GeneratorRequests",
    "GeneratorSamples",
    "Header",
    "HeaderField",
    "HeldBack",
    "HostUse",
    "InWindow",
    "Interval",
    "IterationTime",
    "Iterations",
    "Judged",
    "Key",
    "KeyIterationTime",
    "KeyIterations",
    "KeyPlan",
    "KeyTimeline",
    "Latency",
    "Limit",
    "Limits",
    "LintedReport",
    "LoadLost",
    "Missing",
    "NotApplicable",
    "OneOfMany",
    "Outcomes",
    "Pauses",
    "Plan",
    "Population",
    "Protocols",
    "Quantity",
    "ReportedField",
    "Requests",
    "Rule",
    "RunBeside",
    "Said",
    "Samples",
    "Schedule",
    "Scope",
    "SelfCheck",
    "SeriesCount",
    "Severity",
    "ShortOf",
    "ShortWindows",
    "Stall",
    "Stalls",
    "Statement",
    "Statements",
    "Summary",
    "Threshold",
    "ThresholdMarks",
    "Thresholds",
    "Throttle",
    "Timeline",
    "Unknown",
    "VuPool",
    "VuPools",
    "VuTime",
    "allowed_without_latency",
    "clock",
    "count",
    "edge_starts",
    "evaluate_summary",
    "header_checks",
    "header_rule",
    "identified",
    "marks_of",
    "milliseconds",
    "needed_at_signoff",
    "per_second",
    "percent",
    "percentile_rules",
    "requests_with_error",
    "require_fine_stamps",
    "script_of",
    "seconds",
    "total",
    "totals_of",
    "verdict_of",
]


def count(n: float, unit: str = "") -> Quantity:
    """A whole number of something: "5,796 iterations", "1 iteration", "1 name with an id"."""
    if n == 1:
        noun, preposition, rest = unit.partition(" with ")
        unit = (noun if noun.endswith("series") else noun.removesuffix("s")) + preposition + rest
    return Quantity(float(n), unit or "count", f"{n:,.0f} {unit}".strip())


def percent(share: float, unit: str = "%") -> Quantity:
    """A share (0..1) as a percentage."""
    return Quantity(share * 100, unit, f"{share * 100:.4g} %")


def per_second(rate: float) -> Quantity:
    return Quantity(float(rate), "/s", f"{rate:,.4g}/s" if rate < 1000 else f"{rate:,.0f}/s")


def seconds(s: float) -> Quantity:
    return Quantity(float(s), "s", f"{s:.4g} s")


def milliseconds(ms: float) -> Quantity:
    return Quantity(float(ms), "ms", f"{ms:,.4g} ms" if ms < 1000 else f"{ms:,.0f} ms")


def clock(ns: int) -> str:
    """Wall-clock time of day (UTC) of a stamp, for words in a finding."""
    import datetime

    whole = datetime.datetime.fromtimestamp(ns // 1_000_000_000, tz=datetime.UTC)
    return f"{whole:%H:%M:%S}Z"
