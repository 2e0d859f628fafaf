"""
What it checks
    Whether an end-of-test summary beside the points is of the same run.

Why it matters
    A summary is what people paste into reports. If it is of another run, or the points are not all there,
    the figures in the report and the figures of the audit are about different tests.

How it is computed
    Both cover everything that the process sampled: setup() included, no window. Counts of iterations,
    requests, failed requests and dropped iterations must agree within max(1, 0.1 %); the average, median,
    maximum and percentiles of http_req_duration within 1 %. The points' percentiles are linear
    interpolations on all values, as k6's own. A points file that breaks off is not compared.

How to fix it
    Keep the files of one run together, whole: `--summary-export` and `--out json` of the same `k6 run`.

When it is wrong
    A handleSummary() that filters or rounds what it writes.
"""

import numpy as np

from auditor.api import (
    Evidence,
    Finding,
    Findings,
    GeneratorSamples,
    Limit,
    Limits,
    NotApplicable,
    Quantity,
    Rule,
    Samples,
    Scope,
    Summary,
)

RULE = Rule(
    id="EV05",
    slug="summary-against-points",
    title="The summary is not of the same run as the points",
    severity="invalid",
    since="0.1",
    limits=(
        Limit("count", 0.001, "share of the count, at least 1", "counts of one run are equal (semantics §8)"),
        Limit("figure", 0.01, "share of the figure", "MLPerf: figures agree within 1 %"),
    ),
    references=("semantics §8",),
    consequence_of=("EV01", "EV02", "DM06"),
)


def check(evidence: Evidence, samples: Samples, limits: Limits) -> Findings:
    compared = False
    for generator in evidence.generators:
        own = samples.by_generator.get(generator.name)
        if own is None or own.read.torn:
            continue
        for summary in generator.summaries:
            compared = True
            for what, here, there, unit in _pairs(own, summary):
                counted = unit != "ms"
                allowed = (
                    max(1.0, limits["count"] * max(here, there)) if counted else limits["figure"] * abs(there)
                )
                if abs(here - there) <= max(allowed, 1e-6):
                    continue
                yield Finding(
                    message=f"{what}: {summary.path} has {there:,.6g} {unit}, the points give {here:,.6g}",
                    fix="keep the complete summary and points of one run together",
                    observed=Quantity(there, unit, f"{there:,.6g} {unit}"),
                    limit=Quantity(here, unit, f"{here:,.6g} {unit} ± {allowed:,.3g}"),
                    evidence=(summary.path, own.path),
                    scope=Scope(generator=generator.name, name=what),
                )
    if not compared:
        yield NotApplicable("there is no summary beside complete points")


def _pairs(own: GeneratorSamples, summary: Summary) -> list[tuple[str, float, float, str]]:
    """(what, by the points, by the summary, unit) of every figure that both have."""
    counts = own.count_of
    failed = own.column("http_req_failed")
    found = [
        ("iterations", float(own.column("iterations").value.sum()), "iterations", "count", "iterations"),
        ("requests", float(counts.get("http_reqs", 0)), "http_reqs", "count", "requests"),
        ("failed requests", float(np.count_nonzero(failed.value)), "http_req_failed", "passes", "requests"),
        (
            "dropped iterations",
            float(own.column("dropped_iterations").value.sum()),
            "dropped_iterations",
            "count",
            "iterations",
        ),
    ]
    pairs = [
        (what, here, there, unit)
        for what, here, metric, key, unit in found
        if (there := summary.value(metric, key)) is not None
    ]
    duration = own.column("http_req_duration").value
    listed = summary.metrics.get("http_req_duration")
    if listed is not None and len(duration):
        for key, there in listed.values.items():
            here = _statistic(duration, key)
            if here is not None:
                pairs.append((f"http_req_duration {key}", here, there, "ms"))
    return pairs


def _statistic(values: np.ndarray, key: str) -> float | None:
    """A trend's statistic by k6's name of it; None for one that is not compared."""
    match key:
        case "avg":
            return float(values.mean())
        case "med":
            return float(np.median(values))
        case "max":
            return float(values.max())
        case "min":
            return float(values.min())
    if key.startswith("p(") and key.endswith(")"):
        try:
            return float(np.percentile(values, float(key[2:-1])))
        except ValueError:
            return None
    return None
