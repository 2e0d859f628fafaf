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
    99 with an end before the plan's. An executor that is bounded by iterations ends with the last of them:
    fewer completed than planned (iterations, times the VUs for per-vu-iterations) fails.

How to fix it
    Find out what stopped it: abortOnFail of a threshold, Ctrl-C, a time limit of the CI job, the
    out-of-memory killer. Give the job the planned length plus gracefulStop and teardown(), and run again.

When it is wrong
    Ending later is never a finding: setup(), gracefulStop and teardown() take time.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from auditor.api import (
    ITERATION_EXECUTORS,
    NS_PER_S,
    Accounting,
    CountSources,
    Evidence,
    Finding,
    Findings,
    GeneratorEnd,
    GeneratorEvidence,
    Iterations,
    KeyIterations,
    KeyPlan,
    Limit,
    Limits,
    Missing,
    Plan,
    Rule,
    Samples,
    Scope,
    Timeline,
    Unknown,
    count,
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
    uses=("EV01.missing",),
    consequence_of=("EV12",),
    references=("semantics §1", "k6 documentation, thresholds"),
    about=("test_duration",),
)


def check(
    evidence: Evidence,
    plan: Plan,
    timeline: Timeline,
    samples: Samples | None,
    accounting: Accounting | None,
    iterations: Iterations,
    counted: CountSources,
    limits: Limits,
) -> Findings:
    for generator in evidence.generators:
        end = timeline.ends[generator.name]
        where = f" on {generator.name}" if generator.name else ""
        mine = [one for key, one in plan.keys.items() if key.generator == generator.name]
        if end.last_ns is None:
            yield Unknown(
                f"no sample{where}: nothing says when it ended",
                "keep every generator's points file",
                missing=Missing.POINTS,
            )
            continue
        if end.latest_planned_end_ns is None or end.first_start_ns is None:
            if mine and all(one.executor in ITERATION_EXECUTORS for one in mine):
                yield from _unfinished(mine, accounting, iterations, counted)
            else:
                yield Unknown(
                    f"the planned end{where} is not known",
                    "keep k6's banner (its standard output) or the output of `k6 inspect "
                    "--execution-requirements script.js`",
                    missing=Missing.OPTIONS,
                )
            continue
        planned_s = Fraction(end.latest_planned_end_ns - end.first_start_ns, NS_PER_S)
        missing_s = Fraction(end.missing_ns, NS_PER_S)
        allowed_s = max(planned_s * limits.exact("missing_share"), limits.exact("missing_s"))
        stopped = end.stopped if end.ended_early and missing_s > limits.exact("stopped_s") else ""
        if missing_s <= allowed_s and not stopped:
            continue
        own = samples.by_generator.get(generator.name) if samples is not None else None
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


def _unfinished(
    mine: Sequence[KeyPlan], accounting: Accounting | None, iterations: Iterations, counted: CountSources
) -> Findings:
    """Of executors that end when their iterations are done: those that were not done."""
    for one in mine:
        if one.support:
            continue
        account = accounting.whole.get(one.key) if accounting is not None else None
        if account is None or account.planned is None:
            yield Unknown(
                f"how many iterations {one.key} was to run is not known",
                "keep the output of `k6 inspect --execution-requirements script.js`",
                missing=Missing.OPTIONS,
            )
        elif account.completed < account.planned:
            yield Finding(
                message=(
                    f"{one.key} was to run {account.planned:,} iterations and completed {account.completed:,}: "
                    f"{_what_cut(one)}"
                ),
                fix=_time_needed(one, account.planned, iterations.by_key[one.key]),
                observed=count(account.completed, "iterations"),
                limit=count(account.planned, "iterations"),
                evidence=(*counted.file(one.key.generator), one.source),
                scope=Scope(one.key.generator, one.key.scenario),
            )


def _what_cut(one: KeyPlan) -> str:
    if one.max_duration_s is None:
        return "the run was stopped before they were done"
    return f"it was cut off, at its maxDuration of {float(one.max_duration_s):g} s or before it"


def _time_needed(one: KeyPlan, planned: int, found: KeyIterations) -> str:
    """Iterations × mean iteration ÷ VUs, where an iteration holds its VU for minIterationDuration at least."""
    if not len(found.duration_ms) or not one.max_vus:
        return "give it a longer maxDuration, or fewer iterations, and run again"
    held_s = np.maximum(found.duration_ms / 1000, float(one.min_iteration_s))
    needed_s = planned * float(held_s.mean()) / one.max_vus
    return (
        f"{planned:,} iterations of {float(held_s.mean()):.3g} s on {one.max_vus:,} VUs take about "
        f"{needed_s:,.0f} s: set maxDuration above that, or run fewer iterations"
    )


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
