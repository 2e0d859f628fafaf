"""
What it checks
    Whether the generator's CPU was saturated: more than 80 % over any 5 s, or at the 95th percentile.

Why it matters
    A saturated generator starts iterations late or not at all, and adds its own waiting for CPU to every
    latency. It then reports its own saturation.

How it is computed
    The highest mean of consecutive samples that fill 5 s, at least two of them, so that a spike of a single
    sample (a scrape) does not count; and the 95th percentile of the samples. Of all cores.
    In a linted report: the highest percentage that it gives for the generators, that of a single core left out.

How to fix it
    More cores, or more generators (execution segments), by at least the factor in the finding, and run
    again. The numbers of this run cannot be corrected afterwards.

When it is wrong
    If the metrics are of a machine that the generator does not run on.
"""

import math

from auditor.api import (
    PEAK_SPAN_S,
    Finding,
    Findings,
    GeneratorHosts,
    Limit,
    Limits,
    LintedReport,
    Missing,
    NotApplicable,
    Rule,
    Scope,
    Unknown,
    clock,
    percent,
)

RULE = Rule(
    id="GH03",
    slug="saturated-cpu",
    title="The generator's CPU was saturated",
    severity="invalid",
    since="0.1",
    limits=(
        Limit("highest_5s", 80, "% CPU", "k6 documentation: keep CPU below 80 %", drawn_as="highest_5s"),
        Limit("p95", 80, "% CPU", "k6 documentation: keep CPU below 80 %"),
    ),
    uses=("GH02.mean",),
    moved_limits={"aim": "GH02.mean"},
    references=("semantics §7",),
    about=("generator_cpu",),
)


def check(load: GeneratorHosts, limits: Limits) -> Findings:
    if not load.hosts:
        yield Unknown(
            "no host metrics lie in the window",
            "record the host over the whole test",
            missing=Missing.HOST_METRICS,
        )
    for host in load.hosts:
        peak = host.max_5s_percent > limits["highest_5s"]
        if not peak and host.p95_percent <= limits["p95"]:
            continue
        observed = host.max_5s_percent if peak else host.p95_percent
        factor = observed / limits["GH02.mean"]
        cores = (
            f"{math.ceil(host.cores * factor)} cores instead of {host.cores}"
            if host.cores
            else f"{factor:.2f} times the cores"
        )
        name = f"host {host.host}" if host.host else host.path
        yield Finding(
            message=f"{name}: CPU {host.max_5s_percent:.1f} % over {PEAK_SPAN_S:g} s (until "
            f"{clock(host.max_5s_at_ns)}), p95 {host.p95_percent:.1f} %, mean {host.mean_percent:.1f} %",
            fix=f"use at least {cores}, on one machine or spread over several; more if it also "
            "missed starts. Then run again: these figures cannot be corrected",
            observed=percent(observed / 100),
            limit=percent(limits["highest_5s" if peak else "p95"] / 100),
            evidence=(host.path,),
            scope=Scope(generator=host.covers[0] if len(host.covers) == 1 else ""),
        )


def check_report(linted: LintedReport, limits: Limits) -> Findings:
    found, highest = linted.field("generator_cpu"), linted.number("generator_cpu")
    if found is None or highest is None:
        yield NotApplicable("the report has no generator CPU")
    elif highest > limits["highest_5s"]:
        yield Finding(
            message=f"the report gives a generator CPU of {highest:g} %",
            fix=f"use at least {highest / limits['GH02.mean']:.2f} times the cores, and run again",
            observed=percent(highest / 100),
            limit=percent(limits["highest_5s"] / 100),
            evidence=(f"{linted.report.path}, {found.where}",),
        )
