"""
What it checks
    Whether the generator itself paused: k6 wrote no sample of any metric for more than 2.5 s.

Why it matters
    A paused generator (a frozen container, a suspended machine, no CPU) measures its own pause as the
    system's latency, or does not measure at all. No figure about that time is true.

How it is computed
    The longest time between two consecutive stamps of any metric, per generator, between its first and its
    last stamp. k6 writes `vus` every second whatever the script does. Healthy generators stay under 1.03 s;
    a saturated one with 99 % CPU was seen at 1.6 s. Stamps of several generators are never merged: one
    would fill the other's pause.

How to fix it
    Give the generator CPU that nobody takes away (no burstable instance, no CPU limit below its need, no
    other job on the machine), keep the machine from sleeping, and run again.

When it is wrong
    A points file from which the `vus` samples were filtered has gaps wherever no iteration ends; such a file
    makes the rule unknown instead of failing it.
"""

from auditor.api import (
    Finding,
    Findings,
    Limit,
    Limits,
    NotApplicable,
    Pauses,
    Rule,
    Samples,
    Scope,
    Unknown,
    clock,
    seconds,
)

RULE = Rule(
    id="CO03",
    slug="generator-pause",
    title="The generator paused",
    severity="invalid",
    since="0.1",
    limits=(Limit("longest", 2.5, "s", "own: recorded runs: healthy 1.03 s, saturated 1.6 s"),),
    references=("semantics §5",),
    consequence_of=("DM06", "GH03", "GH04", "GH06"),
)


def check(pauses: Pauses, samples: Samples, limits: Limits) -> Findings:
    if not pauses.longest:
        yield NotApplicable("all samples lie within one second")
    for name, pause in pauses.longest.items():
        if pause.length_s <= limits["longest"]:
            continue
        own = samples.by_generator[name]
        if not own.count_of.get("vus"):
            yield Unknown(
                f"{own.path} has no `vus` samples: a gap of {pause.length_s:.4g} s in it proves no pause",
                "keep the whole points file, unfiltered",
                needs="rerun",
            )
            continue
        yield Finding(
            message=f"k6 wrote no sample for {pause.length_s:.4g} s, from {clock(pause.from_ns)} on; "
            "it writes at least once a second as long as it runs",
            fix=f"find what stopped the generator at {clock(pause.from_ns)} (CPU taken away, suspended "
            "machine, "
            "full disk), fix it and run the test again",
            observed=seconds(pause.length_s),
            limit=seconds(limits["longest"]),
            evidence=(own.path,),
            scope=Scope(generator=name),
        )
