"""k6's thresholds, evaluated again from the samples (docs/semantics.md §11).

k6 evaluates over everything a process sampled, setup() included, so this does the same, per generator. A
threshold on a metric without samples proves nothing, except on a counter that means zero by absence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from auditor.evidence import Evidence, GeneratorEvidence, Summary, SummaryMetric
from auditor.facts.count_sources import CountSources
from auditor.facts.missing import Missing
from auditor.facts.samples import Samples
from auditor.facts.store import Unknown, provides
from auditor.samples.columns import REQUEST_SET, Column, GeneratorSamples
from auditor.samples.reduce import PROTOCOL_DURATIONS

_EXPRESSION = re.compile(
    r"^\s*(?P<stat>avg|min|max|med|count|rate|value|p\(\s*(?P<p>\d+(?:\.\d+)?)\s*\))\s*"
    r"(?P<op><=|>=|===|==|!=|<|>)\s*(?P<limit>[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*$"
)
_SUBMETRIC = re.compile(r"^(?P<metric>[^{]+)\{(?P<filter>.*)\}$", re.S)
_BUILT_IN = {
    "iterations": "counter",
    "dropped_iterations": "counter",
    "http_reqs": "counter",
    "data_sent": "counter",
    "data_received": "counter",
    "http_req_failed": "rate",
    "checks": "rate",
    "vus": "gauge",
    "vus_max": "gauge",
    "browser_http_req_failed": "rate",
    "ws_sessions": "counter",
    "ws_msgs_sent": "counter",
    "ws_msgs_received": "counter",
    "iteration_duration": "trend",
    "group_duration": "trend",
    **dict.fromkeys(PROTOCOL_DURATIONS, "trend"),
    **{metric: "trend" for metric in REQUEST_SET if metric != "http_reqs"},
}
_KINDS = {"rate": ("rate", "counter"), "count": ("counter", "trend"), "value": ("gauge",)}
"""Types of metric that know a statistic; only a trend knows those that are not listed."""
RATE_UNCERTAINTY = 0.05
"""By what share a counter's rate from the samples may differ from k6's, which divides by its own run time."""
EXTRA_TAGS = "extra_tags"
"""The CSV column of all tags that are no system tags."""
ZERO_BY_ABSENCE = frozenset({"dropped_iterations"})

State = Literal["passed", "crossed", "vacuous", "unknown"]


@dataclass(frozen=True)
class Threshold:
    """One expression on one metric or submetric, on one generator."""

    generator: str
    metric: str
    expression: str
    state: State
    value: float | None
    samples: int | None = None
    """How many samples it had to judge; None where that is not known, or where none means zero."""


@dataclass(frozen=True)
class Thresholds:
    """All thresholds of the run. ``defined`` is None where nothing says whether there are any."""

    found: tuple[Threshold, ...]
    defined: bool | None


@dataclass(frozen=True)
class Expression:
    """A threshold in k6's grammar: statistic, comparison, limit."""

    stat: str
    p: float | None
    op: str
    limit: float

    def holds(self, value: float) -> bool:
        match self.op:
            case "<":
                return value < self.limit
            case "<=":
                return value <= self.limit
            case ">":
                return value > self.limit
            case ">=":
                return value >= self.limit
            case "!=":
                return value != self.limit
            case _:
                return value == self.limit


def parse(expression: str) -> Expression | None:
    """Read a threshold expression; None if it is none that k6 knows."""
    found = _EXPRESSION.match(expression)
    if found is None:
        return None
    stat = "p" if found["p"] else found["stat"]
    return Expression(stat, float(found["p"]) if found["p"] else None, found["op"], float(found["limit"]))


@provides
def thresholds(counted: CountSources, evidence: Evidence, samples: Samples | None) -> Thresholds:
    """Evaluate every threshold that options, Metric lines or a summary name."""
    found: list[Threshold] = []
    known = False
    for generator in evidence.generators:
        own = samples.by_generator.get(generator.name) if samples is not None else None
        summary = counted.summaries.get(generator.name)
        named = _named(generator, own, summary)
        if named is None:
            continue
        known = True
        for metric, expressions in named.items():
            for text in expressions:
                if own is not None:
                    state, value, n = evaluate_points(own, metric, text)
                elif summary is not None:
                    state, value = evaluate_summary(summary, metric, text)
                    n = 0 if state == "vacuous" else None
                else:
                    state, value, n = "unknown", None, None
                found.append(Threshold(generator.name, metric, text, state, value, n))
    # Metric lines alone cannot say that there was none: a metric without samples has no line.
    told = all(g.options is not None for g in evidence.generators) or bool(found)
    return Thresholds(tuple(found), bool(found) if known and told else None)


def _named(
    generator: GeneratorEvidence, samples: GeneratorSamples | None, summary: Summary | None
) -> Mapping[str, tuple[str, ...]] | None:
    """From the options; without them from a summary, or from Metric lines, which name only those on whole
    metrics."""
    if (told := generator.source_of("thresholds")) is not None:
        return told.thresholds
    if samples is None and summary is not None:
        return {m.name: tuple(m.crossed) for m in summary.metrics.values() if m.crossed}
    if samples is None or not samples.definitions:
        return None
    return {d.name: d.thresholds for d in samples.definitions.values() if d.thresholds}


def evaluate_points(
    samples: GeneratorSamples, metric: str, text: str
) -> tuple[State, float | None, int | None]:
    """A threshold by everything in the points: (state, the figure, samples judged)."""
    expression = parse(text)
    if expression is None:
        return "unknown", None, None
    split = _SUBMETRIC.match(metric)
    base = split["metric"] if split else metric
    column = samples.column(base)
    if len(column) and split:
        wanted = filter_tags(split["filter"])
        if wanted is None or tags_hidden(samples, wanted):
            return "unknown", None, None
        keep = np.array([wanted.items() <= dict(t).items() for t in samples.tagsets], dtype=bool)
        column = column.where(keep[column.tagset])
    if not len(column):
        state, value = _evaluate_empty(base, expression, whole=split is None)
        return state, value, 0 if state == "vacuous" else None
    definition = samples.definitions.get(base)
    kind = definition.type if definition is not None else _BUILT_IN.get(base)
    # A CSV defines no metric: a custom one may be of any type that knows the statistic.
    kinds = (kind,) if kind is not None else _KINDS.get(expression.stat, ("trend",))
    found = {_evaluate_as(column, one, expression, samples) for one in kinds}
    if len(found) == 1:
        return *found.pop(), len(column)
    states = {state for state, _ in found}
    return (states.pop() if len(states) == 1 else "unknown"), None, len(column)


def _evaluate_empty(base: str, expression: Expression, *, whole: bool) -> tuple[State, float | None]:
    """A threshold without samples. To k6 an empty counter is 0, and its threshold is judged. An empty trend and
    gauge are 0 as well, and an empty rate passes whatever is asked: those prove nothing. Nor does a submetric
    whose tag never occurs."""
    if base in ZERO_BY_ABSENCE or (whole and _may_be_counter(base, expression)):
        return ("passed" if expression.holds(0.0) else "crossed"), 0.0
    return "vacuous", None if expression.stat == "rate" else 0.0


def _may_be_counter(base: str, expression: Expression) -> bool:
    """A metric of the script's without samples has no type: `count` is asked of counters."""
    return _BUILT_IN.get(base, "counter") == "counter" and expression.stat == "count"


def _evaluate_as(
    column: Column, kind: str, expression: Expression, samples: GeneratorSamples
) -> tuple[State, float | None]:
    value = _value(column, kind, expression, samples)
    if value is None:
        return "unknown", None
    if kind == "counter" and expression.stat == "rate":
        # k6 divides by its own run time, which no sample tells exactly, and coarse stamps even less.
        length_ns = max((samples.last_ns or 0) - (samples.first_ns or 0), 1)
        if abs(value - expression.limit) <= (RATE_UNCERTAINTY + samples.coarse_ns / length_ns) * abs(value):
            return "unknown", value
    return ("passed" if expression.holds(value) else "crossed"), value


def tags_hidden(samples: GeneratorSamples, wanted: Mapping[str, str]) -> bool:
    """Whether a tag of a filter may be in a CSV's `extra_tags`, which cannot be taken apart again."""
    keys = {key for tags in samples.tagsets for key, _ in tags}
    return EXTRA_TAGS in keys and not wanted.keys() <= keys


def marks_of(summary: Summary) -> Iterator[tuple[str, str, bool, bool | None]]:
    """Every threshold whose state a summary gives: (metric, expression, crossed by its word, by its figure).

    None where the figure is not shown, or where the digits that print left out would decide.
    """
    for metric in summary.metrics.values():
        for text, crossed in metric.crossed.items():
            yield metric.name, text, crossed, _crossed_by_figure(summary, metric, text)


def _crossed_by_figure(summary: Summary, metric: SummaryMetric, text: str) -> bool | None:
    bare = replace(summary, metrics={metric.name: replace(metric, crossed={})})
    state, value = evaluate_summary(bare, metric.name, text)
    expression = parse(text)
    if value is None or expression is None or state not in ("passed", "crossed"):
        return None
    step = metric.steps.get(f"p({expression.p:g})" if expression.stat == "p" else expression.stat, 0.0)
    if expression.stat == "rate" and "passes" not in metric.values:
        step = max(step, abs(value) * 1e-6)
    states = {not expression.holds(v) for v in (value - step, value, value + step)}
    return states.pop() if len(states) == 1 else None


def evaluate_summary(summary: Summary, metric: str, text: str) -> tuple[State, float | None]:
    """A threshold by a summary's own figures; by its word where it lacks the figure.

    A metric without samples is absent from a summary, or all zero: it proves nothing.
    """
    expression = parse(text)
    found = summary.metrics.get(metric)
    base = metric.split("{", 1)[0]
    if found is None or _is_empty(found):
        return (
            ("vacuous", None) if expression is None else _evaluate_empty(base, expression, whole=base == metric)
        )
    value = None if expression is None else _summary_value(found, expression)
    if text in found.crossed:
        return ("crossed" if found.crossed[text] else "passed"), value
    if expression is None or value is None:
        return "unknown", value
    return ("passed" if expression.holds(value) else "crossed"), value


def _is_empty(metric: SummaryMetric) -> bool:
    """No samples: a rate of none, a trend whose every figure is zero, a counter of zero."""
    values = metric.values
    if "passes" in values or "fails" in values:
        return not values.get("passes", 0) and not values.get("fails", 0)
    if "max" in values and "avg" in values:
        return not any(values.values())
    return "count" in values and not values["count"]


def _summary_value(metric: SummaryMetric, expression: Expression) -> float | None:
    if expression.stat == "p":
        return metric.values.get(f"p({expression.p:g})")
    if expression.stat == "rate" and "passes" in metric.values:
        return metric.values.get("value")
    return metric.values.get(expression.stat)


def filter_tags(text: str) -> dict[str, str] | None:
    """ "a:1,b:2" as tags; None if it is not of that form."""
    tags: dict[str, str] = {}
    for part in text.split(","):
        key, colon, value = part.partition(":")
        if not colon:
            return None
        tags[key.strip().strip("'\"")] = value.strip().strip("'\"")
    return tags


def _value(column: Column, kind: str, expression: Expression, samples: GeneratorSamples) -> float | None:
    values = column.value
    match kind, expression.stat:
        case "rate", "rate":
            return float(np.count_nonzero(values)) / len(values)
        case "counter", "count":
            return float(values.sum())
        case "counter", "rate":
            length_s = ((samples.last_ns or 0) - (samples.first_ns or 0)) / 1e9
            return float(values.sum()) / length_s if length_s > 0 else None
        case "gauge", "value":
            last = values[column.time_ns == column.time_ns[-1]]
            return float(last[-1]) if (last == last[-1]).all() else None
        case "trend", "p":
            return float(np.percentile(values, expression.p or 0))
        case "trend", ("avg" | "min" | "max" | "med" | "count") as stat:
            statistics = {
                "avg": values.mean(),
                "min": values.min(),
                "max": values.max(),
                "med": np.median(values),
                "count": len(values),
            }
            return float(statistics[stat])
    return None


@dataclass(frozen=True)
class DropBudget:
    """How many dropped iterations the run's own threshold lets pass."""

    passing: float | None
    """The largest count that passes on one process; None without such a threshold."""
    expression: str
    processes: int


@provides
def drop_budget(counted: CountSources, evidence: Evidence, samples: Samples | None) -> DropBudget:
    """The strictest `dropped_iterations` threshold.

    Raises:
        Unknown: if nothing says which thresholds there were.
    """
    best: tuple[float, str] | None = None
    known = False
    for generator in evidence.generators:
        own = samples.by_generator.get(generator.name) if samples is not None else None
        summary = counted.summaries.get(generator.name)
        named = _named(generator, own, summary)
        if named is None or not _tells_of_drops(generator, own):
            continue
        known = True
        length_s = _length_s(own, summary)
        for metric, expressions in named.items():
            if metric.split("{", 1)[0] != "dropped_iterations":
                continue
            for text in expressions:
                passing = _largest_passing(text, length_s)
                if passing is not None and (best is None or passing < best[0]):
                    best = (passing, text)
    if not known:
        raise Unknown(
            "nothing says which thresholds the run had",
            "keep the output of `k6 inspect`",
            missing=Missing.OPTIONS,
        )
    processes = len(evidence.generators)
    return DropBudget(best[0] if best else None, best[1] if best else "", processes)


def _tells_of_drops(generator: GeneratorEvidence, samples: GeneratorSamples | None) -> bool:
    """Without options only a Metric line tells, and k6 writes none for a metric without samples."""
    return generator.options is not None or samples is None or "dropped_iterations" in samples.definitions


def _length_s(samples: GeneratorSamples | None, summary: Summary | None) -> Fraction:
    if samples is not None:
        return Fraction((samples.last_ns or 0) - (samples.first_ns or 0), 1_000_000_000)
    return Fraction(summary.duration_s or 0.0) if summary is not None else Fraction(0)


def _largest_passing(text: str, length_s: Fraction) -> float | None:
    expression = parse(text)
    if expression is None or expression.stat not in ("count", "rate"):
        return None
    limit = Fraction(expression.limit)
    if expression.stat == "rate":
        limit *= length_s
    match expression.op:
        case "<":
            return float(max(-(-limit.numerator // limit.denominator) - 1, 0))
        case "<=" | "==" | "===":
            return float(max(limit.numerator // limit.denominator, 0))
    return None
