"""
What it checks
    Whether the generator's mean CPU stays below the planning ceiling of 60 %.

Why it matters
    Above it there is no headroom for the short peaks that delay starts: the mean hides seconds at 100 %.

How it is computed
    CPU busy = 100 % − idle − iowait of all cores, averaged over the measurement window by the length of each
    sample. One finding per host.

How to fix it
    More cores, or more generators, by the factor in the finding; fewer checks, tags and large bodies in the
    script; discardResponseBodies.

When it is wrong
    A machine that does other work as well has no headroom for it either; but if that work ended before the
    test did, the mean is too high.
"""

import math

from auditor.api import Finding, Findings, GeneratorHosts, Limit, Limits, Missing, Rule, Scope, Unknown, percent

RULE = Rule(
    id="GH02",
    slug="mean-cpu",
    title="Mean generator CPU is above the planning ceiling",
    severity="warning",
    since="0.1",
    limits=(Limit("mean", 60, "% CPU", "planning ceiling: leaves headroom for peaks", drawn_as="mean"),),
    references=("semantics §7",),
    consequence_of=("GH03",),
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
        if host.mean_percent <= limits["mean"]:
            continue
        factor = host.mean_percent / limits["mean"]
        cores = (
            f"{math.ceil(host.cores * factor)} cores instead of {host.cores}"
            if host.cores
            else f"{factor:.2f} times the cores"
        )
        name = f"host {host.host}" if host.host else host.path
        yield Finding(
            message=f"{name}: mean CPU {host.mean_percent:.1f} % over the window",
            fix=f"for this much work use at least {cores}, on one machine or spread over several",
            observed=percent(host.mean_percent / 100),
            limit=percent(limits["mean"] / 100),
            evidence=(host.path,),
            scope=Scope(generator=host.covers[0] if len(host.covers) == 1 else ""),
        )
