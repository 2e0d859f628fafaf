"""
What it checks
    Whether the points reach the end of the run.

Why it matters
    What is cut off is not random: it is the end, where queues are longest, and k6 records no drops once it is
    killed. Figures over the part that is left look better than the run was.

How it is computed
    Per generator: the points file is missing while other generators have one, holds no sample, breaks off
    (gzip stream or last line incomplete), or has no stamp of any metric in the last 2 s before the latest
    planned end of its scenarios. The last of these does not count if k6's own log or exit code (99, 105,
    108) says that it stopped there: then the run ended early (OL09), and the evidence of it is whole.

How to fix it
    Let k6 end by itself (no SIGKILL, no full disk, a job limit above the test's length with gracefulStop)
    and copy the points file after it has ended. Then run again: missing samples cannot be recovered.

When it is wrong
    Executors that are bounded by iterations have no planned end, so a cut at the end of a line is not seen
    there; the console's count shows it (EV03).
"""

from auditor.api import (
    Evidence,
    Finding,
    Findings,
    Limit,
    Limits,
    Missing,
    Plan,
    Quantity,
    Rule,
    Samples,
    Scope,
    Timeline,
    Unknown,
    clock,
    count,
    seconds,
)

RULE = Rule(
    id="EV01",
    slug="cut-off",
    title="The evidence is cut off",
    severity="invalid",
    since="0.1",
    limits=(Limit("missing", 2, "s", "own: two seconds; k6 writes samples every second"),),
    references=("semantics §1", "semantics §3"),
    consequence_of=("EV12",),
    waivable=False,
    about=("test_duration",),
)
AGAIN = "run the test to its end, copy the points file after k6 has ended, and audit that run"


def check(
    evidence: Evidence, samples: Samples, plan: Plan, timeline: Timeline | None, limits: Limits
) -> Findings:
    for generator in evidence.generators:
        name = generator.name
        scope = Scope(generator=name)
        own = samples.by_generator.get(name)
        if own is None:
            yield Finding(
                message=f"{name} has no points file; other generators have one",
                fix=f"add the points file of {name}; without it its part of the load is unknown",
                observed=count(0, "points files"),
                limit=count(1, "points file"),
                scope=scope,
            )
            continue
        if own.last_ns is None:
            yield Finding(
                message=f"{own.path} holds no sample"
                + (f" and breaks off ({own.read.torn})" if own.read.torn else ""),
                fix=AGAIN,
                observed=count(0, "samples"),
                limit=count(1, "sample"),
                evidence=(own.path,),
                scope=scope,
            )
            continue
        end = timeline.ends.get(name) if timeline is not None else None
        missing_s = end.missing_s if end is not None else 0.0
        short = missing_s > limits["missing"]
        stopped = end.stopped if end is not None else ""
        until = f"its last sample is of {clock(own.last_ns)}"
        if end is not None and end.latest_planned_end_ns is not None and missing_s > 0:
            until += f", {missing_s:.4g} s before the planned end at {clock(end.latest_planned_end_ns)}"
        if own.read.torn:
            yield Finding(
                message=f"{own.path} breaks off ({own.read.torn}); {until}",
                fix=AGAIN,
                observed=seconds(missing_s) if short else Quantity(None, "", own.read.torn),
                limit=seconds(limits["missing"]) if short else Quantity(None, "", "a whole file"),
                evidence=(own.path,),
                scope=scope,
            )
        elif short and not stopped:
            yield Finding(
                message=f"{own.path} ends too early: {until}, and neither log nor exit code say that k6 "
                "stopped there",
                fix=AGAIN,
                observed=seconds(missing_s),
                limit=seconds(limits["missing"]),
                evidence=(own.path,),
                scope=scope,
            )
        elif not any(key.generator == name for key in plan.keys):
            yield Unknown(
                f"the planned end of the run in {own.path} is not known",
                "keep k6's standard output (the banner prints the length) beside the points",
                missing=Missing.OPTIONS,
            )
