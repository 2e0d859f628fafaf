"""
What it checks
    Whether iterations spend time that neither their requests nor a sleep in the script explains.

Why it matters
    A sleep at the end of an arrival-rate iteration only holds VUs back. A limit on requests per second inside
    k6 (`--rps`, K6_RPS) delays requests after their iterations have started on time: no start is late and no
    request is slow, and yet the system got less load than the schedule asked for.

How it is computed
    Per scenario: mean iteration duration − client-felt time of its requests (of all protocols) ÷ completed
    iterations − the literal sleep that the script ends each iteration with. More than a fifth of the mean and
    more than 5 ms is a warning; not where the script was read and may wait elsewhere (a sleep, a timer, await,
    the clock, a module of one's own), or where a protocol's time is not recorded (WebSocket sessions, gRPC
    streams, browser). It is invalid where the script was read and cannot wait, and the request starts of the
    process, counted second by second, stay within 1 % (or one request) of one constant below the demand for
    10 s or more; demand = iterations started × requests per iteration. Stamps coarser than 10 ms leave that
    open.

How to fix it
    Remove `--rps` and K6_RPS: the scenario's rate alone sets the load. Remove a sleep at the end of an
    arrival-rate iteration. If think time is meant, keep the script beside the run.

When it is wrong
    A script that computes for long (large bodies, cryptography) on a slow generator. A journey with think time
    whose script was not kept.
"""

from auditor.api import (
    Declared,
    Evidence,
    Finding,
    Findings,
    IterationTime,
    KeyIterationTime,
    Limit,
    Limits,
    NotApplicable,
    Rule,
    Samples,
    Scope,
    Throttle,
    clock,
    milliseconds,
    require_fine_stamps,
    script_of,
)

RULE = Rule(
    id="WM03",
    slug="unexplained-time",
    title="Iterations spend time that nothing explains",
    severity="warning",
    raises=True,
    since="0.1",
    limits=(
        Limit("share", 0.2, "of the mean iteration", "own: healthy runs have less than 3 %"),
        Limit("least_ms", 5, "ms", "own: the script's own work and k6's"),
    ),
    references=("semantics §6", "grafana/k6#1631"),
    consequence_of=("WM04", "GH03"),
)


def check(
    spent: IterationTime,
    throttle: Throttle | None,
    evidence: Evidence,
    declared: Declared,
    samples: Samples,
    limits: Limits,
) -> Findings:
    generators = {g.name: g for g in evidence.generators}
    judged = False
    for key, one in spent.by_key.items():
        script = script_of(generators[key.generator])
        slept_ms = float(script.end_sleep_s or 0) * 1000 if script is not None else 0.0
        if declared.is_support(key.scenario) or one.requests_ms is None or not one.requests:
            continue
        if script is not None and script.may_wait and not slept_ms:
            continue
        judged = True
        left_ms = one.iteration_ms - one.requests_ms - slept_ms
        if left_ms <= max(limits["share"] * one.iteration_ms, limits["least_ms"]):
            continue
        if script is not None and not script.may_wait:
            require_fine_stamps(samples)  # without them nothing tells whether requests were held back
        held = throttle.by_generator.get(key.generator) if throttle is not None else None
        sure = held is not None and script is not None and not script.may_wait
        words = "think time or a throttle?"
        if held is not None:
            words = (
                f"for {held.seconds} s from {clock(held.from_ns)} on the requests kept to {held.per_s:,.4g}/s "
                f"while {held.demand_per_s:,.4g}/s were due"
                + (": a throttle inside k6" if sure else "; " + words)
            )
        yield _finding(one, left_ms, words, samples.by_generator[key.generator].path, limits, sure=sure)
    if not judged:
        yield NotApplicable("the script may wait by itself, or the time of its requests is not recorded")


def _finding(
    one: KeyIterationTime, left_ms: float, words: str, path: str, limits: Limits, *, sure: bool
) -> Finding:
    return Finding(
        message=f"{one.key}: an iteration takes {one.iteration_ms:,.4g} ms in the mean, its requests take "
        f"{one.requests_ms or 0:,.4g} ms; {left_ms:,.4g} ms are explained by neither a request nor a sleep: "
        f"{words}",
        fix="remove --rps and K6_RPS (or the sleep), and run again; if it is think time, keep the script "
        "beside the run",
        observed=milliseconds(left_ms),
        limit=milliseconds(max(limits["share"] * one.iteration_ms, limits["least_ms"])),
        evidence=(path,),
        scope=Scope(one.key.generator, one.key.scenario),
        severity="invalid" if sure else "warning",
    )
