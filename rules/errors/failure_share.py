"""
What it checks
    Whether so many requests failed that a required percentile is not identified, or more than the declared
    error objective (SLO) allows.

Why it matters
    A failed request has no latency: an error returned in 2 ms is not a fast answer. Counted in the trend,
    errors make a failing system look faster. Left out, the percentile describes only the successes, and the
    report rarely says so.

How it is computed
    Failed requests (HTTP: http_req_failed 1, expected_response "false", or status 0, which is no answer
    whatever the script expects; gRPC: a status other than 0; WebSocket: a handshake without status 101;
    browser: browser_http_req_failed 1, or status 0) rank last, as +∞, together with dropped,
    silent and interrupted demand; a percentile at rank h = p·(n − 1) is identified if ⌈h⌉ falls on a measured
    value. With at least one failure in the window: invalid if p99 or a lower one is not identified, a warning
    if only p99.9 is not; per scenario as well, for percentiles with enough samples to be printed. In a closed
    run what was sent and interrupted takes the place of the offered demand. Every protocol that the run speaks
    is judged by itself, whichever of them the header's percentiles are of. Failed ÷ sent beyond the declared
    error_objective is invalid, exactly at it passes.

How to fix it
    See which errors they are (the finding lists the most frequent) and fix the system, the script or the test
    data. If errors are the result, report their share first, and no percentile beyond it.

When it is wrong
    If the answers are expected (a 404 that the test asks for): tell k6 with http.setResponseCallback
    (http.expectedStatuses(…)), then they are no failures.
"""

import math
from fractions import Fraction

from auditor.api import (
    DECIDING,
    LABEL_OF,
    MINIMUM_N,
    PERCENTILES,
    CountSources,
    Declared,
    Errors,
    Finding,
    Findings,
    Latency,
    Missing,
    NotApplicable,
    Outcomes,
    Population,
    Protocols,
    Rule,
    Scope,
    Unknown,
    allowed_without_latency,
    percent,
)

RULE = Rule(
    id="ER03",
    slug="failure-share",
    title="Failed requests leave percentiles not identified",
    severity="invalid",
    since="0.1",
    references=("semantics §4",),
    consequence_of=("ER06",),
)


def check(
    latency: Latency | None,
    counted: CountSources,
    declared: Declared,
    errors: Errors | None,
    protocols: Protocols | None,
) -> Findings:
    files = counted.files
    for outcomes in protocols.by_metric.values() if protocols is not None else ():
        if latency is None or outcomes.metric != latency.metric:
            yield from _of_protocol(outcomes, files)
        if outcomes.untold:
            yield Unknown(
                f"nothing says whether {outcomes.untold:,} of {outcomes.sent:,} {outcomes.name} failed: their "
                "samples have no status",
                'leave "status" in systemTags, and run again',
                needs="rerun",
            )
    if latency is None:
        if protocols is None:
            yield Unknown(
                "which requests failed is not known",
                "keep the points: --out json=k6.json.gz",
                missing=Missing.POINTS,
            )
        return
    pooled = latency.pooled
    if not pooled.sent:
        if protocols is None or not protocols.by_metric:
            yield NotApplicable("no request was made")
        return
    causes = _causes(errors)
    objective = declared.error_objective_share
    failed = pooled.failed
    if objective is not None and failed > Fraction(str(objective)) * pooled.sent:
        most = math.floor(Fraction(str(objective)) * pooled.sent)
        yield Finding(
            message=(
                f"{failed:,} of {pooled.sent:,} requests failed ({failed / pooled.sent * 100:.2f} %); the "
                f"declared objective allows {objective * 100:g} %{causes}"
            ),
            fix=f"at most {most:,} of that many requests may fail: fix the cause and run again",
            observed=percent(failed / pooled.sent),
            limit=percent(objective),
            evidence=files,
            severity="invalid",
        )
    name = _first_void(pooled, printed_only=False)
    if name is not None:
        yield _finding("", pooled, name, files, causes)
    if len(latency.by_scenario) > 1:
        for scenario, population in latency.by_scenario.items():
            name = _first_void(population, printed_only=True)
            if name is not None:
                yield _finding(scenario, population, name, files, "")


def _of_protocol(outcomes: Outcomes, files: tuple[str, ...]) -> Findings:
    """Failures of a protocol that the header's percentiles are not of, by the same ranks."""
    n, failed = outcomes.sent, outcomes.failed
    name = next((name for name, p in PERCENTILES if failed > allowed_without_latency(p, n)), None)
    if not failed or name is None:
        return
    is_invalid = name in DECIDING
    allowed = allowed_without_latency(dict(PERCENTILES)[DECIDING[-1] if is_invalid else name], n)
    statuses = ", ".join(
        f"{count:,} × status {status or '(none)'}" for status, count in list(outcomes.statuses.items())[:3]
    )
    yield Finding(
        message=f"{failed:,} of {n:,} {outcomes.name} ({outcomes.metric}) failed "
        f"({outcomes.failed_share * 100:.2f} %): {statuses}",
        fix=f"at most {allowed:,} of {n:,} may fail: fix the cause of the failures, or report their share as "
        "the result",
        observed=percent(outcomes.failed_share),
        limit=percent(float(1 - Fraction(str(dict(PERCENTILES)[name])))),
        evidence=files,
        scope=Scope(name=outcomes.metric),
        severity="invalid" if is_invalid else "warning",
    )


def _demand(population: Population) -> tuple[int, int]:
    """(n, those without a latency); of a closed model what it sent and what it cut off."""
    if population.kind == "offered":
        return population.offered, population.censored
    cut = population.interrupted
    return population.sent + cut, population.failed + cut


def _first_void(population: Population, *, printed_only: bool) -> str | None:
    n, censored = _demand(population)
    if not population.failed:
        return None
    for name, p in PERCENTILES:
        if (not printed_only or n >= MINIMUM_N[name]) and censored > allowed_without_latency(p, n):
            return name
    return None


def _finding(scenario: str, population: Population, name: str, files: tuple[str, ...], causes: str) -> Finding:
    n, censored = _demand(population)
    failed = population.failed
    void = [LABEL_OF[other] for other, q in PERCENTILES if q >= dict(PERCENTILES)[name]]
    is_invalid = name in DECIDING
    target = DECIDING[-1] if is_invalid else name
    most = allowed_without_latency(dict(PERCENTILES)[target], n)
    others = censored - failed
    more = f"; with {others:,} dropped or cut off, {censored / n * 100:.2f} % have no latency" if others else ""
    kind = "offered" if population.kind == "offered" else "sent"
    return Finding(
        message=(
            f"{f'{scenario}: ' if scenario else ''}{failed:,} of {n:,} {kind} requests failed "
            f"({failed / n * 100:.2f} %{more}): {_listed(void)} {_are(void)} not identified{causes}"
        ),
        fix=(
            f"for {LABEL_OF[target]} at most {most:,} of {n:,} may be without "
            "a latency: fix the cause of the failures, or report their share as the result"
        ),
        observed=percent(censored / n),
        limit=percent(float(1 - Fraction(str(dict(PERCENTILES)[name])))),
        evidence=files,
        scope=Scope(scenario=scenario),
        severity="invalid" if is_invalid else "warning",
    )


def _causes(errors: Errors | None) -> str:
    """The most frequent failures, in words."""
    if errors is None or not errors.causes:
        return ""
    words = []
    for cause in errors.causes[:3]:
        what = f"status {cause.status}" if cause.status not in ("", "0") else ""
        what = what or cause.error or (f"error code {cause.error_code}" if cause.error_code else "no status")
        words.append(f"{cause.count:,} × {what}{f' ({cause.name})' if cause.name else ''}")
    return f"; most often {', '.join(words)}"


def _are(labels: list[str]) -> str:
    return "is" if len(labels) == 1 else "are"


def _listed(labels: list[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} and {labels[-1]}"
