"""
What it checks
    Whether a summary's rates are what their own counts say: value = samples that are not zero ÷ all.

Why it matters
    In `http_req_failed`, "passes" counts FAILED requests. Reading it as successes reports 100 % errors for a
    clean run, or a clean run for 100 % errors.

How it is computed
    For each rate of a summary with both counts, passes ÷ (passes + fails) must equal its value within 0.1
    percentage points (k6 truncates what it prints); if fails ÷ (passes + fails) does instead, the rate is
    inverted.

How to fix it
    Read `passes` of http_req_failed as failures. Find what wrote the summary, and fix it; or keep k6's own
    `--summary-export`.

When it is wrong
    Never on k6's own files.
"""

from auditor.api import Evidence, Finding, Findings, Limit, Limits, NotApplicable, Rule, Scope, percent

RULE = Rule(
    id="ER07",
    slug="rate-inversion",
    title="A rate of the summary is inverted",
    severity="invalid",
    since="0.1",
    limits=(Limit("difference", 0.001, "share", "rounding of a printed percentage"),),
    references=("semantics §11", "grafana/k6#2386", "grafana/k6#2306"),
)


def check(evidence: Evidence, limits: Limits) -> Findings:
    judged = False
    for generator in evidence.generators:
        for summary in generator.summaries:
            for metric in summary.metrics.values():
                passes, fails = metric.values.get("passes"), metric.values.get("fails")
                value = metric.values.get("value")
                if passes is None or fails is None or value is None or passes + fails <= 0:
                    continue
                judged = True
                share = passes / (passes + fails)
                allowed = limits["difference"] + 1e-9  # a difference of exactly the limit passes
                if abs(share - value) <= allowed:
                    continue
                inverted = abs((1 - share) - value) <= allowed
                yield Finding(
                    message=f"{metric.name} says {value:.2%}; its counts ({passes:,.0f} not zero, {fails:,.0f} "
                    f"zero) make {share:.2%}" + (": it is inverted" if inverted else ""),
                    fix="in http_req_failed `passes` counts failures: fix what wrote the summary, or keep "
                    "k6's own --summary-export",
                    observed=percent(value),
                    limit=percent(share),
                    evidence=(summary.path,),
                    scope=Scope(generator=generator.name, name=metric.name),
                )
    if not judged:
        yield NotApplicable("no summary with rates was kept")
