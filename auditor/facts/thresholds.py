"""k6's thresholds, evaluated again from the samples (docs/semantics.md §11).

k6 evaluates over everything a process sampled, setup() included, so this does the same, per generator. A
threshold on a metric without samples proves nothing, except on a counter that means zero by absence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from auditor.evidence import Evidence, GeneratorEvidence
from auditor.facts.samples import Column, GeneratorSamples, Samples
from auditor.facts.store import Unknown, provides

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
}
CLOSE = 0.05
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
def thresholds(evidence: Evidence, samples: Samples) -> Thresholds:
    """Evaluate every threshold that options or Metric lines name."""
    found: list[Threshold] = []
    known = False
    for generator in evidence.generators:
        own = samples.by_generator.get(generator.name)
        if own is None:
            continue
        named = _named(generator, own)
        if named is None:
            continue
        known = True
        for metric, expressions in named.items():
            for text in expressions:
                state, value = _evaluate(own, metric, text)
                found.append(Threshold(generator.name, metric, text, state, value))
    return Thresholds(tuple(found), bool(found) if known else None)


def _named(generator: GeneratorEvidence, samples: GeneratorSamples) -> Mapping[str, tuple[str, ...]] | None:
    """From the options; without them from Metric lines, which name only those on whole metrics."""
    if generator.options is not None:
        return generator.options.thresholds
    if not samples.definitions:
        return None
    return {d.name: d.thresholds for d in samples.definitions.values() if d.thresholds}


def _evaluate(samples: GeneratorSamples, metric: str, text: str) -> tuple[State, float | None]:
    expression = parse(text)
    if expression is None:
        return "unknown", None
    split = _SUBMETRIC.match(metric)
    base = split["metric"] if split else metric
    column = samples.column(base)
    if len(column) and split:
        wanted = _filter(split["filter"])
        if wanted is None:
            return "unknown", None
        keep = np.array([wanted.items() <= dict(t).items() for t in samples.tagsets], dtype=bool)
        column = column.where(keep[column.tagset])
    if not len(column):
        if base in ZERO_BY_ABSENCE:
            return ("passed" if expression.holds(0.0) else "crossed"), 0.0
        return "vacuous", None
    definition = samples.definitions.get(base)
    kind = definition.type if definition is not None else _BUILT_IN.get(base, "trend")
    value = _value(column, kind, expression, samples)
    if value is None:
        return "unknown", None
    if kind == "counter" and expression.stat == "rate" and abs(value - expression.limit) <= CLOSE * abs(value):
        return "unknown", value  # k6 divides by its own run time, which no sample tells exactly
    return ("passed" if expression.holds(value) else "crossed"), value


def _filter(text: str) -> dict[str, str] | None:
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
            return float(values[-1])
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
def drop_budget(evidence: Evidence, samples: Samples) -> DropBudget:
    """The strictest `dropped_iterations` threshold.

    Raises:
        Unknown: if nothing says which thresholds there were.
    """
    best: tuple[float, str] | None = None
    known = False
    for generator in evidence.generators:
        own = samples.by_generator.get(generator.name)
        named = _named(generator, own) if own is not None else None
        if named is None or own is None:
            continue
        known = True
        for metric, expressions in named.items():
            if metric.split("{", 1)[0] != "dropped_iterations":
                continue
            for text in expressions:
                passing = _largest_passing(text, own)
                if passing is not None and (best is None or passing < best[0]):
                    best = (passing, text)
    if not known:
        raise Unknown("nothing says which thresholds the run had", "keep the output of `k6 inspect`")
    processes = len(evidence.generators)
    return DropBudget(best[0] if best else None, best[1] if best else "", processes)


def _largest_passing(text: str, samples: GeneratorSamples) -> float | None:
    expression = parse(text)
    if expression is None or expression.stat not in ("count", "rate"):
        return None
    limit = Fraction(expression.limit)
    if expression.stat == "rate":
        limit *= Fraction((samples.last_ns or 0) - (samples.first_ns or 0), 1_000_000_000)
    match expression.op:
        case "<":
            return float(max(-(-limit.numerator // limit.denominator) - 1, 0))
        case "<=" | "==" | "===":
            return float(max(limit.numerator // limit.denominator, 0))
    return None
