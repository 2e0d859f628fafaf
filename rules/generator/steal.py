"""
What it checks
    Whether the hypervisor took CPU time from the generator's machine.

Why it matters
    Stolen time is time in which k6 wanted to run and could not. The machine's own figure of CPU use does not
    show it: a generator at 50 % with 45 % stolen is saturated, sends late and measures its own waiting.

How it is computed
    Mean steal over the measurement window, in percent of all cores. Above 5 % a warning, above 20 % invalid.
    A host whose metrics have no steal is not judged.

How to fix it
    Use a machine with cores of its own (no burstable or oversold instance), or ask the operator of the
    hypervisor; run again.

When it is wrong
    A burstable instance reports its throttling as steal: that is what it is.
"""

from auditor.api import (
    Finding,
    Findings,
    GeneratorHosts,
    Limit,
    Limits,
    NotApplicable,
    Quantity,
    Rule,
    Scope,
)

RULE = Rule(
    id="GH05",
    slug="steal",
    title="The hypervisor took CPU time from the generator",
    severity="warning",
    raises=True,
    since="0.1",
    limits=(
        Limit("much", 5, "% of all cores, mean", "own: one part in twenty is not there for k6"),
        Limit("most", 20, "% of all cores, mean", "own: a fifth of the machine is not the generator's"),
    ),
    references=("semantics §7",),
    about=("generator_cpu",),
)


def check(load: GeneratorHosts, limits: Limits) -> Findings:
    if all(host.steal_mean_percent is None for host in load.hosts):
        yield NotApplicable("the host metrics have no figure for steal")
    for host in load.hosts:
        steal = host.steal_mean_percent or 0.0
        if steal <= limits["much"]:
            continue
        is_invalid = steal > limits["most"]
        limit = limits["most" if is_invalid else "much"]
        yield Finding(
            message=f"{host.path}: on average {steal:.1f} % of the CPU was taken by the hypervisor",
            fix=f"use a machine with less than {limits['much']:g} % steal (dedicated cores), and run again",
            observed=Quantity(steal, "%", f"{steal:.1f} %"),
            limit=Quantity(limit, "%", f"{limit:g} %"),
            evidence=(host.path,),
            scope=Scope(generator=", ".join(name for name in host.covers if name)),
            severity="invalid" if is_invalid else "warning",
        )
