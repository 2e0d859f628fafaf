"""
What it checks
    Whether so much of the offered demand has no latency, dropped starts included, that a required percentile
    is not identified.

Why it matters
    A dropped iteration is offered load without an answer. k6 leaves it out of every trend, so its percentiles
    describe only the requests that were sent. If 3 % have no latency, every percentile above p97 is unknown:
    p99 has no value.

How it is computed
    Offered demand = successful requests + failed ones + one per interrupted iteration + requests per iteration
    × (dropped + silent) iterations. All but the successful ones rank last, as +∞. A percentile at rank
    h = p·(n − 1) is identified if ⌈h⌉ falls on a measured value. With at least one drop in the window: invalid
    if p99 or a lower one is not identified, a warning if only p99.9 is not. Over all scenarios together,
    whatever n is; and per scenario, for the percentiles that have enough samples to be printed. Drops are the
    sum of the values of `dropped_iterations`, not the number of its lines.
    In a linted report: dropped iterations ÷ (target rate × duration) against the percentiles that have a
    number.

How to fix it
    Fix what caused the drops: more VUs (SD06), a generator that keeps up (GH03). If the system is too slow for
    the rate, that is the result: report the share that got no answer, not a percentile.

When it is wrong
    A handful of drops while k6 allocates VUs beyond preAllocatedVUs can cost p99.9 of a short run. That is the
    truth about a short run; set preAllocatedVUs = maxVUs.
"""

from fractions import Fraction

from auditor.api import (
    DECIDING,
    LABEL_OF,
    MINIMUM_N,
    PERCENTILES,
    CountSources,
    DeliveredLoad,
    Finding,
    Findings,
    Latency,
    LintedReport,
    Missing,
    NotApplicable,
    Population,
    Rule,
    Scope,
    Unknown,
    allowed_without_latency,
    percent,
)

RULE = Rule(
    id="SD01",
    slug="dropped-share",
    title="Dropped iterations leave percentiles not identified",
    severity="warning",
    raises=True,
    since="0.1",
    references=("semantics §4",),
    consequence_of=("SD06", "SD08", "SD03", "GH03", "GH04", "WM04"),
    about=("dropped_iterations",),
)


def check(latency: Latency, delivery: DeliveredLoad, counted: CountSources) -> Findings:
    files = counted.files
    if latency.pooled.dropped > 0:
        name = latency.pooled.first_unidentified()
        if name is not None:
            yield _finding("", latency.pooled, name, files)
    if len(latency.by_scenario) > 1:
        for scenario, population in latency.by_scenario.items():
            name = next((n for n in MINIMUM_N if population.cell(n).status == "not-identified"), None)
            if population.dropped > 0 and name is not None:
                yield _finding(scenario, population, name, files)
    unscheduled = delivery.unscheduled
    if unscheduled:
        yield Unknown(
            f"the schedule of {str(unscheduled[0]) or 'the run'} is not known, so neither is the demand that "
            "it offered",
            "keep k6's banner (its standard output) and the output of `k6 inspect --execution-requirements "
            "script.js`",
            missing=Missing.OPTIONS,
        )
    elif all(population.kind == "sent" for population in latency.by_scenario.values()):
        yield NotApplicable("a closed model drops nothing: it asks less when the system is slow")


def _finding(scenario: str, population: Population, name: str, files: tuple[str, ...]) -> Finding:
    p = dict(PERCENTILES)[name]
    void = [LABEL_OF[other] for other, q in PERCENTILES if q >= p]
    parts = [
        f"{population.dropped:,} iterations dropped",
        f"{population.silent:,} silent" if population.silent else "",
        f"{population.interrupted:,} interrupted" if population.interrupted else "",
        f"{population.failed:,} requests failed" if population.failed else "",
    ]
    is_invalid = name in DECIDING
    target = DECIDING[-1] if is_invalid else name
    most = allowed_without_latency(dict(PERCENTILES)[target], population.offered)
    where = f"{scenario}: " if scenario else ""
    return Finding(
        message=(
            f"{where}{population.censored:,} of {population.offered:,} offered requests "
            f"({population.censored_share * 100:.2f} %) have no latency "
            f"({', '.join(part for part in parts if part)}): {_listed(void)} {_are(void)} not identified"
        ),
        fix=(
            f"for {LABEL_OF[target]} at most {most:,} of {population.offered:,} may be without a latency: "
            "fix what dropped the starts (VUs, generator), or report the share that got no answer as the "
            "result"
        ),
        observed=percent(population.censored_share),
        limit=percent(float(1 - Fraction(str(p)))),
        evidence=files,
        scope=Scope(scenario=scenario),
        severity="invalid" if is_invalid else "warning",
    )


def _are(labels: list[str]) -> str:
    return "is" if len(labels) == 1 else "are"


def _listed(labels: list[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} and {labels[-1]}"


def check_report(linted: LintedReport) -> Findings:
    dropped, target = linted.number("dropped_iterations"), linted.number("target_rate")
    length_s = linted.number("test_duration")
    shown = linted.percentiles()
    if not dropped or not shown:
        yield NotApplicable("the report has no dropped iterations, or no percentile")
        return
    if not target or not length_s:
        yield NotApplicable("without target rate and duration the share of the drops is not known")
        return
    share = dropped / (target * length_s)
    void = [name for name, p in PERCENTILES if name in shown and share >= float(1 - Fraction(str(p)))]
    if void:
        yield Finding(
            message=f"by the report itself {dropped:,.0f} of {target * length_s:,.0f} planned "
            f"iterations were dropped ({share:.2%}), and gives {_listed([LABEL_OF[name] for name in void])} of "
            "the others",
            fix='write "not identified" for them, or fix what dropped the starts and run again',
            observed=percent(share),
            limit=percent(float(1 - Fraction(str(dict(PERCENTILES)[void[0]])))),
            evidence=(linted.report.path,),
            severity="invalid" if set(void) & set(DECIDING) else "warning",
        )
