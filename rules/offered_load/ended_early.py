"""
What it checks
    Whether the run went on to the end that was planned for it.

Why it matters
    A run that was killed, interrupted or aborted never reached the rest of its plan: usually the highest
    stages, the longest hold, the slow growth of a backlog. What was measured covers only the part reached.

How it is computed
    Per generator: the last stamp of any metric against the latest planned end of its scenarios (origin +
    planned length). More than max(1 % of the planned length, 2 s) missing fails; the planned length runs from
    the first start to the latest planned end. So does an end more than one tick (k6 writes its gauges every
    second) before the plan's, if k6 itself says that it stopped: a signal, an abort, exit code 105 or 108, or
    99 with an end before the plan's.

How to fix it
    Find out what stopped it: abortOnFail of a threshold, Ctrl-C, a time limit of the CI job, the
    out-of-memory killer. Give the job the planned length plus gracefulStop and teardown(), and run again.

When it is wrong
    Ending later is never a finding: setup(), gracefulStop and teardown() take time. Executors bounded by
    iterations have no planned end, so nothing is checked for them.
"""

from fractions import Fraction

from auditor.api import (
    ITERATION_EXECUTORS,
    Evidence,
    Finding,
    Findings,
    GeneratorEnd,
    GeneratorEvidence,
    Limit,
    Limits,
    NotApplicable,
    Plan,
    Rule,
    Samples,
    Scope,
    Timeline,
    Unknown,
    seconds,
)

RULE = Rule(
    id="OL09",
    slug="ended-early",
    title="The run ended before its plan did",
    severity="invalid",
    since="0.1",
    limits=(
        Limit("missing_share", 0.01, "share of the planned length", "own"),
        Limit("missing_s", 2, "s", "own: k6's last flush and tick"),
        Limit("stopped_s", 1, "s", "k6 writes its gauges once a second"),
    ),
    consequence_of=("EV12",),
    references=("semantics §1", "k6 documentation, thresholds"),
)

NS_PER_S = 1_000_000_000


def check(evidence: Evidence, plan: Plan, timeline: Timeline, samples: Samples, limits: Limits) -> Findings:
    for generator in evidence.generators:
        end = timeline.ends[generator.name]
        where = f" on {generator.name}" if generator.name else ""
        mine = [one for key, one in plan.keys.items() if key.generator == generator.name]
        if end.last_ns is None:
            yield Unknown(f"no sample{where}: nothing says when it ended", "keep every generator's points file")
            continue
        if end.latest_planned_end_ns is None or end.first_start_ns is None:
            if mine and all(one.executor in ITERATION_EXECUTORS for one in mine):
                yield NotApplicable("the executor ends when its iterations are done: no end is planned")
            else:
                yield Unknown(
                    f"the planned end{where} is not known",
                    "keep k6's banner (its standard output) or the output of `k6 inspect "
                    "--execution-requirements script.js`",
                )
            continue
        planned_s = Fraction(end.latest_planned_end_ns - end.first_start_ns, NS_PER_S)
        missing_s = Fraction(end.missing_ns, NS_PER_S)
        allowed_s = max(planned_s * _exact(limits["missing_share"]), _exact(limits["missing_s"]))
        stopped = end.stopped if end.ended_early and missing_s > _exact(limits["stopped_s"]) else ""
        if missing_s <= allowed_s and not stopped:
            continue
        own = samples.by_generator.get(generator.name)
        yield Finding(
            message=(
                f"the run ended {float(missing_s):.1f} s before its planned end{where}: "
                f"{float(planned_s - missing_s):.1f} of {float(planned_s):.1f} s were run{_why(end)}"
            ),
            fix=(
                "find out what stopped it (a signal, an aborting threshold, a job's time limit, memory) and "
                f"run all {float(planned_s):.0f} s; the figures below cover only the part reached"
            ),
            observed=seconds(float(missing_s)),
            limit=seconds(_limit(float(allowed_s), stopped, limits)),
            evidence=_files(own.path if own is not None else "", generator),
            scope=Scope(generator=generator.name),
        )


def _exact(limit: float) -> Fraction:
    return Fraction(str(limit))


def _limit(allowed_s: float, stopped: str, limits: Limits) -> float:
    return min(allowed_s, limits["stopped_s"]) if stopped else allowed_s


def _why(end: GeneratorEnd) -> str:
    if end.stopped:
        return f"; k6 says: {end.stopped}"
    return f"; the points file: {end.torn}" if end.torn else "; nothing says why"


def _files(points: str, generator: GeneratorEvidence) -> tuple[str, ...]:
    log = generator.log.paths if generator.log is not None and generator.log.stopped else ()
    code = (generator.exit_code.path,) if generator.exit_code is not None else ()
    return tuple(p for p in (points, *log, *code) if p)
