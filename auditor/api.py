"""All that a rule file may import: what a rule is, what it may say, and the facts it may ask for.

A rule is a Python file with a docstring (five fixed headings), ``RULE`` and ``check``. ``check`` names the
facts it needs in its annotations: ``cpu: GeneratorHosts`` is required (the rule is `unknown` without it),
``cpu: GeneratorHosts | None`` is optional. It yields `Finding`, `Unknown` and `NotApplicable`; yielding
nothing is a pass. ``check_report(linted: LintedReport)``, beside or instead of ``check``, judges a report.
"""

from auditor.engine.audit import SelfCheck
from auditor.engine.header_rule import answered, answered_in_report
from auditor.engine.rule import (
    AT_SIGNOFF,
    Finding,
    Findings,
    Limit,
    Limits,
    NotApplicable,
    Quantity,
    Rule,
    Scope,
    Severity,
)
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
from auditor.facts.accounting import Account, Accounting, InWindow, total
from auditor.facts.cardinality import Cardinality, SeriesCount
from auditor.facts.count_sources import CountSources
from auditor.facts.delivery import DeliveredLoad, Interval, LoadLost, short_windows
from auditor.facts.errors import Errors
from auditor.facts.header import Header, HeaderField
from auditor.facts.host import GeneratorHosts, HostUse
from auditor.facts.iterations import Iterations, KeyIterations
from auditor.facts.keys import Key
from auditor.facts.latency import Latency, Population
from auditor.facts.linted_report import LABEL_OF, PERCENTILE_FIELDS, LintedReport, RunBeside
from auditor.facts.plan import KeyPlan, Plan
from auditor.facts.quantiles import LABELS, MINIMUM_N, PERCENTILES, identified
from auditor.facts.requests import GeneratorRequests, Requests
from auditor.facts.samples import Samples
from auditor.facts.schedule import Schedule
from auditor.facts.stalls import FINE_STAMP_FIX, Pauses, Stall, Stalls, require_fine_stamps
from auditor.facts.store import Unknown
from auditor.facts.thresholds import DropBudget, Threshold, Thresholds, evaluate_summary
from auditor.facts.timeline import GeneratorEnd, KeyTimeline, Timeline
from auditor.facts.vu_pools import VuPool, VuPools
from auditor.facts.vutime import VuTime
from auditor.samples.columns import REQUEST_SET, GeneratorSamples

__all__ = [
    "AT_SIGNOFF",
    "FINE_STAMP_FIX",
    "ITERATION_EXECUTORS",
    "LABELS",
    "LABEL_OF",
    "LOOPING_EXECUTORS",
    "MINIMUM_N",
    "OPEN_EXECUTORS",
    "PERCENTILES",
    "PERCENTILE_FIELDS",
    "REQUEST_SET",
    "Account",
    "Accounting",
    "Cardinality",
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
    "HostUse",
    "InWindow",
    "Interval",
    "Iterations",
    "Key",
    "KeyIterations",
    "KeyPlan",
    "KeyTimeline",
    "Latency",
    "Limit",
    "Limits",
    "LintedReport",
    "LoadLost",
    "NotApplicable",
    "Pauses",
    "Plan",
    "Population",
    "Quantity",
    "ReportedField",
    "Requests",
    "Rule",
    "RunBeside",
    "Samples",
    "Schedule",
    "Scope",
    "SelfCheck",
    "SeriesCount",
    "Severity",
    "Stall",
    "Stalls",
    "Summary",
    "Threshold",
    "Thresholds",
    "Timeline",
    "Unknown",
    "VuPool",
    "VuPools",
    "VuTime",
    "answered",
    "answered_in_report",
    "clock",
    "count",
    "evaluate_summary",
    "identified",
    "milliseconds",
    "per_second",
    "percent",
    "require_fine_stamps",
    "seconds",
    "short_windows",
    "total",
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
