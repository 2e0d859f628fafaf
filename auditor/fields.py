"""The fields of a report's header: the one place where each has its name, words, unit and role.

Facts, rules HD01 to HD11, both JSON schemas, every table and the linter of reports are made from `FIELDS`.
This module imports nothing of the package, so that all of it may use it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Kind = Literal["rate", "count", "share", "duration", "percentile"]
"""What a value is, and so how it is written: 99.9/s, 61, 41.0 %, 60 s, 16.19 ms."""
Answer = Literal["n/a", "none", "not-identified"]
"""What may stand in a value's place, with its reason, and still be an answer."""
Status = Literal["ok", "n/a", "not-identified", "missing"]
"""Of a field of a run: a number, a reason that is an answer (the middle two), or not known."""

CONFIDENCE = 0.95
"""Of the intervals of percentiles, two-sided."""


def minimum_n(p: float) -> int:
    """The smallest sample size at which the p-quantile has a two-sided interval from order statistics.

    The widest interval that n samples allow is from the smallest to the largest of them. It leaves out the
    quantile below with probability (1 − p)^n and above with p^n; neither may exceed (1 − CONFIDENCE) / 2.
    (David and Nagaraja, Order Statistics, 3rd edition, §7.1.)
    """
    return math.ceil(math.log((1 - CONFIDENCE) / 2) / math.log(max(p, 1 - p)))


@dataclass(frozen=True)
class Percentile:
    """What a percentile of latency has beyond other fields."""

    p: float
    """As a share (0..1), written with as few decimals as it needs."""
    meaning: str
    """What it says of requests, as a clause."""
    why: str
    """Why a report needs it: whole sentences for the page of its rule."""
    decides: bool
    """Whether a run for which it cannot be known is invalid; else that is a warning. Percentiles that do not
    decide stand above all that do: rules look for the lowest one that cannot be known."""
    charted: bool
    """Whether it is drawn over time and given for every request name, where there is room for few."""

    @property
    def percent(self) -> str:
        """ "50", "99.9": p in percent."""
        return f"{(Decimal(str(self.p)) * 100).normalize():f}"

    @property
    def summary_key(self) -> str:
        """Its name in k6's summaries and in `summaryTrendStats`."""
        return "med" if self.p == 0.5 else f"p({self.percent})"

    @property
    def minimum_n(self) -> int:
        return minimum_n(self.p)


@dataclass(frozen=True)
class Field:
    """One field of the header."""

    name: str
    """The machine name: in JSON, and in the attributes of our own HTML."""
    label: str
    unit: str
    kind: Kind
    rule: str
    """Id of the rule that demands it."""
    since: str = "0.1"
    """The version that has it first."""
    answers: frozenset[Answer] = frozenset()
    """What counts as an answer where there is no number."""
    column: str = ""
    """Its heading in the table of scenarios; empty if it is no column there."""
    synonyms: tuple[tuple[int, str], ...] = ()
    """Labels that other reports give it: rank and pattern of a whole label in lower case. A lower rank wins
    over a higher one wherever they stand. Percentiles need none: their labels are made from p."""
    percentile: Percentile | None = None

    @property
    def rule_title(self) -> str:
        """The title of the rule that demands it."""
        return f"{self.label} is missing from the header"

    @property
    def statuses(self) -> frozenset[Status]:
        """What a run may say of it."""
        found: set[Status] = {"ok", "missing"}
        if self.answers & {"n/a", "none"}:
            found.add("n/a")
        if "not-identified" in self.answers:
            found.add("not-identified")
        return frozenset(found)


def _percentile(
    name: str,
    p: float,
    *,
    rule: str,
    meaning: str,
    why: str,
    decides: bool = True,
    charted: bool = True,
    column: bool = True,
    since: str = "0.1",
) -> Field:
    about = Percentile(p, meaning, why, decides, charted)
    label = f"p{about.percent}"
    return Field(
        name,
        label,
        "ms",
        "percentile",
        rule,
        since,
        frozenset({"n/a", "not-identified"}),
        label if column else "",
        percentile=about,
    )


_RATE = r"(?:(?:iterations?|requests?|arrivals?|load|start) )?(?:rate|rps|tps|qps|throughput|load)"
_GENERATOR = (
    r"(?:(?:the |load )?(?:generators?|injectors?|runners?|agents?)|load gen|k6|client)(?: hosts?| machines?)?"
)
_USE = r"(?: (?:usage|use|load|utili[sz]ation|busy|percent|mean|max|maximum|peak|%)){0,2}"
_LENGTH = r"(?:durations?|time|lengths?|window|period)"

FIELDS: tuple[Field, ...] = (
    Field(
        "target_rate",
        "Target rate",
        "/s",
        "rate",
        rule="HD01",
        answers=frozenset({"none"}),
        column="Target",
        synonyms=(
            (0, rf"(?:target|planned|requested|configured|intended|scheduled|desired) ?(?:{_RATE})?"),
            (0, rf"{_RATE}:? (?:target|planned|requested|configured|intended|scheduled|goal)"),
            (1, r"arrival rate|offered (?:rate|load|rps)|(?:goal|required) (?:rate|rps|throughput|load)"),
        ),
    ),
    Field(
        "achieved_rate",
        "Achieved rate",
        "/s",
        "rate",
        rule="HD02",
        column="Achieved",
        synonyms=(
            (0, rf"(?:achieved|actual|measured|observed|delivered|effective|real) ?(?:{_RATE})?"),
            (0, rf"{_RATE}:? (?:achieved|actual|measured|observed|delivered|effective)"),
            (1, r"iterations?:? (?:rate|per second|/ ?s)|iter(?:ation)?s?/s(?:ec)?|iterations?/second"),
            (2, r"(?:average |mean |request )?throughput|rps|tps|qps|req(?:uest)?s?/s(?:ec(?:ond)?)?"),
            (2, r"(?:http )?(?:requests?|reqs?)(?: rate| per sec(?:ond)?|:? rate)|http_reqs?(?: rate)?"),
        ),
    ),
    Field(
        "dropped_iterations",
        "Dropped iterations",
        "iterations",
        "count",
        rule="HD03",
        answers=frozenset({"n/a"}),
        column="Dropped",
        synonyms=(
            (0, r"dropped(?:[_ ](?:iterations?|starts?|arrivals?|requests?))?|drops?"),
            (0, r"(?:iterations?|starts?):? dropped|dropped_iterations:? (?:total|count)"),
            (1, r"(?:missed|skipped) (?:iterations?|starts?|arrivals?)"),
        ),
    ),
    Field(
        "generator_cpu",
        "Generator CPU",
        "%",
        "share",
        rule="HD04",
        synonyms=((0, rf"{_GENERATOR} cpu{_USE}|cpu{_USE} (?:of |on )?{_GENERATOR}"),),
    ),
    Field(
        "test_duration",
        "Test duration",
        "s",
        "duration",
        rule="HD05",
        synonyms=(
            (0, rf"(?:test|run|measured|measurement|measuring|steady state)(?: run)? {_LENGTH}"),
            (1, r"durations?|total (?:duration|time)|run ?time|elapsed(?: time)?|window|test length"),
        ),
    ),
    Field(
        "warmup_excluded",
        "Warm-up excluded",
        "s",
        "duration",
        rule="HD06",
        synonyms=(
            (0, rf"warm ?up(?: {_LENGTH})?(?: (?:excluded|discarded|removed|ignored|cut off|cut))?"),
            (0, r"(?:excluded|discarded|removed|ignored) (?:warm ?up|ramp ?up)"),
            (0, rf"ramp ?up(?: {_LENGTH})? (?:excluded|discarded|removed|ignored|cut off|cut)"),
            (1, r"excluded (?:from (?:the )?(?:figures|start|results)|at (?:the )?start)"),
        ),
    ),
    _percentile(
        "p50",
        0.5,
        rule="HD07",
        meaning="half of the requests were faster",
        why="A median is what a typical request saw. It hides the tail, so it never stands alone.",
    ),
    _percentile(
        "p90",
        0.9,
        rule="HD08",
        meaning="one request in ten was slower",
        why="Between the median and the tail lies what a user meets several times a session.",
        charted=False,
        column=False,
    ),
    _percentile(
        "p95",
        0.95,
        rule="HD09",
        meaning="one request in twenty was slower",
        why="Most latency objectives are written for this percentile; a report without it cannot be compared "
        "with one.",
    ),
    _percentile(
        "p99",
        0.99,
        rule="HD10",
        meaning="one request in a hundred was slower",
        why="A page of a hundred requests meets its p99 every time it loads.",
    ),
    _percentile(
        "p999",
        0.999,
        rule="HD11",
        meaning="one request in a thousand was slower",
        why="Stalls and timeouts show here first; a few seconds of trouble leave every lower percentile "
        "untouched.",
        decides=False,
        charted=False,
    ),
)
"""In the order of the header; percentiles last and ascending."""

HOW_MANY = {11: "eleven", 12: "twelve", 13: "thirteen"}.get(len(FIELDS), str(len(FIELDS)))
"""The number of fields, as it is written in a sentence."""

FIELD_OF = {field.name: field for field in FIELDS}
LABEL_OF = {field.name: field.label for field in FIELDS}

_QUANTILES = tuple((field.name, field.percentile) for field in FIELDS if field.percentile is not None)
PERCENTILES = tuple((name, one.p) for name, one in _QUANTILES)
"""Machine name and p, ascending."""
PERCENTILE_FIELDS = tuple(name for name, _ in _QUANTILES)
MINIMUM_N = {name: one.minimum_n for name, one in _QUANTILES}
"""Smallest n at which a two-sided 95 % interval from order statistics exists."""
SUMMARY_KEYS = {name: one.summary_key for name, one in _QUANTILES}
DECIDING = tuple(name for name, one in _QUANTILES if one.decides)
"""Percentiles that a run must be able to tell; that another one cannot be told is a warning."""
CHARTED = tuple(name for name, one in _QUANTILES if one.charted)
SCENARIO_COLUMNS = {field.name: field.column for field in FIELDS if field.column}
"""The fields in the table of scenarios, with their headings."""
