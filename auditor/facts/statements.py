"""What several sources state of one quantity, in one table: quantity × source, by generator.

The points, every form of summary, the console's end-of-test text and its last count all speak of everything
that a k6 process sampled: setup() included, no window, k6's own percentiles. So they are equal, of aborted runs
too, but for digits that were cut off in print (docs/semantics.md §8). Points whose file is torn state nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from auditor.evidence import Evidence, GeneratorEvidence, Summary, SummaryMetric
from auditor.facts.samples import Samples
from auditor.facts.store import provides
from auditor.facts.thresholds import Thresholds, evaluate_points, filter_tags, marks_of, tags_hidden
from auditor.samples.columns import GeneratorSamples
from auditor.samples.reduce import Floats

CLOCK_S = 1.0
"""Lengths of one run: k6 reads its clock anew for each, and its last samples come up to a second later."""
FLOAT = 1e-9
"""Part of a figure that the order of adding up, or of interpolating, may change."""
CSV_DECIMALS = 1e-6
"""k6's CSV writes values to six decimals."""
_WORDS = {
    "iterations count": "iterations",
    "http_reqs count": "requests",
    "http_req_failed passes": "failed requests",
    "dropped_iterations count": "dropped iterations",
}
_COUNTS = ("count", "passes", "fails")
_STATISTICS = ("avg", "min", "med", "max")


@dataclass(frozen=True)
class Said:
    """What one source says of a quantity."""

    source: str
    """Path of the file."""
    value: float
    doubt: float = 0.0
    """By how much the true figure may differ, because digits were cut off or two clocks were read."""


@dataclass(frozen=True)
class Statement:
    """A quantity that at least two sources state; the points, if they do, come first."""

    generator: str
    quantity: str
    unit: str
    """"ms", "s", "bytes", "requests", "iterations", "checks" or "samples"."""
    said: tuple[Said, ...]

    @property
    def is_count(self) -> bool:
        return self.unit not in ("ms", "s")

    def differing(self, share: float = 0.0) -> Iterator[tuple[Said, Said]]:
        """(what counts, what contradicts it): each source beyond the doubt of both, and this share."""
        first = self.said[0]
        for other in self.said[1:]:
            allowed = max(first.doubt + other.doubt, share * max(abs(first.value), abs(other.value)))
            if abs(first.value - other.value) > allowed + FLOAT * abs(first.value):
                yield first, other


@dataclass(frozen=True)
class Statements:
    """Every quantity that two sources of one generator state."""

    table: tuple[Statement, ...]
    marks: tuple[ThresholdMarks, ...]
    torn: tuple[str, ...]
    """Points files that state nothing, since their end is missing."""


@dataclass(frozen=True)
class ThresholdMarks:
    """What the sources of one generator say of one threshold, or (without an expression) of one metric's."""

    generator: str
    metric: str
    expression: str
    crossed: Mapping[str, bool]
    """By source, the points first if they say it."""

    @property
    def contradiction(self) -> tuple[str, str] | None:
        """(a source that says crossed, one that says passed); None if all agree."""
        if len(set(self.crossed.values())) < 2:
            return None
        ordered = list(self.crossed.items())
        return next(s for s, state in ordered if state), next(s for s, state in ordered if not state)


@provides
def statements(evidence: Evidence, samples: Samples | None, thresholds: Thresholds | None) -> Statements:
    """Put what all sources say side by side."""
    table: list[Statement] = []
    marks: list[ThresholdMarks] = []
    torn: list[str] = []
    for generator in evidence.generators:
        own = samples.by_generator.get(generator.name) if samples is not None else None
        if own is not None and own.read.torn:
            torn.append(own.path)
            own = None
        table += _of(generator, own)
        marks += _marks(generator, own, thresholds)
    return Statements(tuple(table), tuple(marks), tuple(torn))


def _of(generator: GeneratorEvidence, own: GeneratorSamples | None) -> Iterator[Statement]:
    totals = totals_of(generator)
    cells: dict[tuple[str, str], list[Said]] = {}
    for summary in totals:
        rounded = _rounding(summary)
        for name, metric in summary.metrics.items():
            for key, value in metric.values.items():
                if _is_compared(key):
                    said = Said(summary.path, value, _doubt(metric, key, rounded))
                    cells.setdefault((name, key), []).append(said)
    for (name, key), stated in cells.items():
        here = _by_points(own, name, key) if own is not None else None
        sources = [here, *stated] if here is not None else stated
        if len(sources) > 1:
            quantity = _WORDS.get(f"{name} {key}", f"{name} {key}")
            yield Statement(generator.name, quantity, _unit(name, key), tuple(sources))
    yield from _completed(generator, own)
    yield from _lengths(generator, totals, own)


def totals_of(generator: GeneratorEvidence) -> list[Summary]:
    """Every summary and every end-of-test text, each once."""
    found = {summary.path: summary for summary in (*generator.printed, *generator.summaries)}
    return [found[path] for path in sorted(found)]


def _is_compared(key: str) -> bool:
    return key in _COUNTS or key in _STATISTICS or _percentile(key) is not None


def _percentile(key: str) -> float | None:
    if not (key.startswith("p(") and key.endswith(")")):
        return None
    try:
        p = float(key[2:-1])
    except ValueError:
        return None
    return p if 0 <= p <= 100 else None


def _doubt(metric: SummaryMetric, key: str, rounded: float) -> float:
    """One in the last place that is printed: a script may round what it writes, and k6 cuts what it prints."""
    if key in metric.steps:
        return metric.steps[key]
    return 0.0 if key in _COUNTS else rounded


def _rounding(summary: Summary) -> float:
    """One in the last place of the longest figure of a trend: a script that rounds, rounds them all."""
    texts = [
        repr(value)
        for metric in summary.metrics.values()
        for key, value in metric.values.items()
        if key not in _COUNTS and _is_compared(key)
    ]
    decimals = max((len(t.partition(".")[2].removesuffix("0")) for t in texts if "e" not in t), default=0)
    return float(10.0**-decimals)


def _unit(name: str, key: str) -> str:
    base = name.split("{", 1)[0]
    if base in ("data_sent", "data_received"):
        return "bytes"
    if key not in _COUNTS:
        return "ms"
    if base in ("iterations", "dropped_iterations", "iteration_duration"):
        return "iterations"
    return "checks" if base == "checks" else "requests" if base.startswith("http_req") else "samples"


def _by_points(own: GeneratorSamples, name: str, key: str) -> Said | None:
    """The same figure from all samples; None where the points cannot give it."""
    base, _, rest = name.partition("{")
    lost = own.read.malformed + own.read.dropped_values
    if base in own.bytes_of and not rest and key == "count":
        return Said(own.path, float(own.bytes_of[base]), 0.0 if not lost else np.inf)
    if base == "http_reqs" and not own.count_of.get("http_reqs"):
        base = "http_req_duration"  # every request has one sample of each
    column = own.column(base)
    if base == "iterations" and not len(column):
        base, column = (
            "iteration_duration",
            own.column("iteration_duration").where(
                ~own.outside_iterations[own.column("iteration_duration").tagset]
            ),
        )
    if not len(column) and base not in ("dropped_iterations", "http_req_duration"):
        counted = base == "http_reqs" and not rest
        return (
            Said(own.path, float(own.count_of[base]), float(lost)) if counted and base in own.count_of else None
        )
    values = column.value
    if rest:
        wanted = filter_tags(rest.removesuffix("}"))
        if wanted is None or tags_hidden(own, wanted):
            return None
        keep = np.array([wanted.items() <= dict(tags).items() for tags in own.tagsets], dtype=bool)
        values = values[keep[column.tagset]]
    value = _statistic(values, key, summed=base in ("iterations", "dropped_iterations"))
    if value is None:
        return None
    if lost:
        return Said(own.path, value, float(lost) if key in _COUNTS else np.inf)
    return Said(own.path, value, 0.0 if key in _COUNTS else CSV_DECIMALS)


def _statistic(values: Floats, key: str, *, summed: bool) -> float | None:
    """k6's statistic by its own name; None for one of no samples."""
    match key:
        case "count":
            return float(values.sum()) if summed else float(len(values))
        case "passes":
            return float(np.count_nonzero(values))
        case "fails":
            return float(len(values) - np.count_nonzero(values))
    if not len(values):
        return None
    match key:
        case "avg":
            return float(values.mean())
        case "min":
            return float(values.min())
        case "med":
            return float(np.median(values))
        case "max":
            return float(values.max())
    p = _percentile(key)
    return None if p is None else float(np.percentile(values, p))


def _completed(generator: GeneratorEvidence, own: GeneratorSamples | None) -> Iterator[Statement]:
    """The console's last count, if it closed the run."""
    counts = generator.console.counts if generator.console is not None else None
    if counts is None or not counts.final or generator.console is None:
        return
    said = [
        Said(one.path, value)
        for one in totals_of(generator)
        if (value := one.value("iterations", "count")) is not None and one.path != generator.console.path
    ]
    here = _by_points(own, "iterations", "count") if own is not None else None
    within = next((s for s in generator.printed if s.path == generator.console.path), None)
    inside = within.value("iterations", "count") if within is not None else None
    sources = [
        *([here] if here is not None else []),
        Said(generator.console.path, float(counts.completed)),
        *said,
    ]
    if inside is not None:
        sources.append(Said(f"{generator.console.path} (end-of-test text)", inside))
    if len(sources) > 1:
        yield Statement(generator.name, "complete iterations", "iterations", tuple(sources))


def _lengths(
    generator: GeneratorEvidence, totals: list[Summary], own: GeneratorSamples | None
) -> Iterator[Statement]:
    """How long k6 ran, by its own clock: setup(), drain and teardown() included."""
    said: list[Said] = []
    for summary in totals:
        if summary.duration_s is not None:
            said.append(Said(summary.path, summary.duration_s, CLOCK_S))
        rate, n = summary.value("iterations", "rate"), summary.value("iterations", "count")
        if rate and n:
            step = summary.metrics["iterations"].steps.get("rate", 0.0)
            said.append(Said(f"{summary.path} (count ÷ rate)", n / rate, CLOCK_S + n / rate * step / rate))
    counts = generator.console.counts if generator.console is not None else None
    if counts is not None and counts.final and generator.console is not None:
        said.append(Said(generator.console.path, counts.running_s, CLOCK_S))
    if len(said) > 1:
        yield Statement(generator.name, "length of the run", "s", tuple(said))


def _marks(
    generator: GeneratorEvidence, own: GeneratorSamples | None, thresholds: Thresholds | None
) -> Iterator[ThresholdMarks]:
    """Thresholds by the points, by every summary and end-of-test text, and by the metrics the log names."""
    rows: dict[tuple[str, str], dict[str, bool]] = {}
    if own is not None:
        named = [(t.metric, t.expression) for t in thresholds.found] if thresholds is not None else []
        marked = [(m, text) for s in totals_of(generator) for m, text, _, _ in marks_of(s)]
        for metric, text in dict.fromkeys([*named, *marked]):
            state, _, _ = evaluate_points(own, metric, text)
            if state in ("passed", "crossed"):
                rows.setdefault((metric, text), {})[own.path] = state == "crossed"
    for summary in totals_of(generator):
        for metric, text, crossed, _ in marks_of(summary):
            rows.setdefault((metric, text), {})[summary.path] = crossed
    for (metric, text), crossed_by in rows.items():
        yield ThresholdMarks(generator.name, metric, text, crossed_by)
    yield from _marked_metrics(generator, rows)


def _marked_metrics(
    generator: GeneratorEvidence, rows: Mapping[tuple[str, str], Mapping[str, bool]]
) -> Iterator[ThresholdMarks]:
    """Metrics as the text of k6 before 1.0 marks them, and as its log names them when one is crossed."""
    console, log = generator.console, generator.log
    by_metric: dict[str, dict[str, bool]] = {}
    for (metric, _), crossed_by in rows.items():
        for source, crossed in crossed_by.items():
            row = by_metric.setdefault(metric, {})
            row[source] = row.get(source, False) or crossed
    for one in console.thresholds if console is not None else ():
        if not one.expression and one.passed is not None and console is not None and one.metric in by_metric:
            by_metric[one.metric].setdefault(console.path, not one.passed)
    for metric in log.crossed_metrics if log is not None else ():
        if metric in by_metric and log is not None:
            by_metric[metric][log.paths[0]] = True
    for metric, by_source in by_metric.items():
        yield ThresholdMarks(generator.name, metric, "", by_source)
