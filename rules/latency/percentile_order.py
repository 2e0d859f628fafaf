"""
What it checks
    Whether the percentiles are in order, and no latency is negative.

Why it matters
    p50 ≤ p90 ≤ p95 ≤ p99 ≤ p99.9 holds for any set of numbers. Where it does not hold, or a request has a
    negative duration, the figures are wrong, and so is everything computed from them.

How it is computed
    The header's cells that have a value, pooled and per scenario, from raw values; none may be below the one
    before it, nor above the largest value, and no request in the window may have a duration below 0.
    In a linted report: the percentiles that it gives, in whatever units, each against the next.

How to fix it
    A negative duration is a recording error: a clock set back by hand or by NTP while the test ran, or a
    file that was edited. Record again on a host with a steady clock.

When it is wrong
    Never on raw values. Percentiles of different populations (one of successes, one of all) may cross; they are
    never compared here.
"""

import itertools

from auditor.api import (
    LABEL_OF,
    PERCENTILES,
    CountSources,
    Finding,
    Findings,
    Latency,
    Limit,
    Limits,
    LintedReport,
    NotApplicable,
    Population,
    Rule,
    Scope,
    milliseconds,
)

RULE = Rule(
    id="LS05",
    slug="percentile-order",
    title="Percentiles are out of order",
    severity="invalid",
    since="0.1",
    limits=(Limit("least_ms", 0, "ms", "a duration is never negative"),),
    references=("semantics §8", "abstracta/jmeter-dotnet-dsl#4"),
    consequence_of=("LS11",),
)


def check(latency: Latency, counted: CountSources, limits: Limits) -> Findings:
    if not latency.pooled.sent:
        yield NotApplicable("no request was made")
        return
    files = counted.files
    populations = {"": latency.pooled}
    if len(latency.by_scenario) > 1:
        populations.update(latency.by_scenario)
    for scenario, population in populations.items():
        if not population.sent:
            continue
        where = f"{scenario}: " if scenario else ""
        lowest = float(population.sent_ms[0]) if population.totals is None else 0.0
        if lowest < limits["least_ms"]:
            below = int((population.sent_ms < limits["least_ms"]).sum())
            yield Finding(
                message=f"{where}{below:,} of {population.sent:,} requests have a negative duration, down "
                f"to {lowest:,.4g} ms",
                fix="record again on a host whose clock is not set while the test runs; these points "
                "cannot be used",
                observed=milliseconds(lowest),
                limit=milliseconds(limits["least_ms"]),
                evidence=files,
                scope=Scope(scenario=scenario),
            )
        for (low, a), (high, b) in _pairs(population):
            if a > b:
                yield Finding(
                    message=f"{where}{low} is {a:,.4g} ms, above {high}, which is {b:,.4g} ms",
                    fix="use percentiles of one population, computed from its raw values",
                    observed=milliseconds(a),
                    limit=milliseconds(b),
                    evidence=files,
                    scope=Scope(scenario=scenario),
                )


def _pairs(population: Population) -> list[tuple[tuple[str, float], tuple[str, float]]]:
    """Neighbours among the cells that have a value, the maximum last."""
    if population.totals is not None:  # a summary's own figures, as it has them
        found = population.totals.sent_ms
        known = [(LABEL_OF[name], found[name]) for name, _ in PERCENTILES if name in found]
        known += [("the maximum", found["max"])] if "max" in found else []
        return list(itertools.pairwise(known))
    cells = [(LABEL_OF[name], population.cell(name).value) for name, _ in PERCENTILES]
    known = [(label, value) for label, value in cells if value is not None]
    known.append(("the maximum", float(population.sent_ms[-1])))
    return list(itertools.pairwise(known))


def check_report(linted: LintedReport, limits: Limits) -> Findings:
    shown = [(LABEL_OF[name], found) for name, found in linted.percentiles().items()]
    if not shown:
        yield NotApplicable("the report has no percentile")
    for label, found in shown:
        if found.value is not None and found.value < limits["least_ms"]:
            yield Finding(
                message=f"{label} is {found.raw[:40]!r}: a negative duration",
                fix="compute the percentiles again from the run's points",
                observed=milliseconds(found.value),
                limit=milliseconds(limits["least_ms"]),
                evidence=(f"{linted.report.path}, {found.where}",),
            )
    for (low, a), (high, b) in itertools.pairwise(shown):
        if a.value is not None and b.value is not None and a.value > b.value:
            yield Finding(
                message=f"{low} is {a.raw[:40]!r}, above {high}, which is {b.raw[:40]!r}",
                fix="use percentiles of one population, computed from its raw values",
                observed=milliseconds(a.value),
                limit=milliseconds(b.value),
                evidence=(f"{linted.report.path}, {a.where}", f"{linted.report.path}, {b.where}"),
            )
