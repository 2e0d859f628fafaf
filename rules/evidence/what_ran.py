"""
What it checks
    Whether what ran is what the files say: every source of options (`k6 inspect`, an archive, the script's
    text) against the banner and against each other, the banner against the samples, the script's sleep
    against the iterations made, and the console's count against the points.

Why it matters
    One command-line flag replaces a whole scenario, and k6 only prints a warning. The script in the
    repository then describes a test that nobody ran, and its target rate belongs to no figure.

How it is computed
    Each disagreement of a source of options with the banner, or of two that agree with it or have none to
    agree with (invalid if executor, rate, length or scenario names differ, else a warning; a value that only
    running a script would tell is no disagreement); for a closed scenario whose script ends each iteration
    with a literal sleep, starts above VUs × planned seconds ÷ (sleep + mean request time × min(1, requests
    per iteration)) + 1 per VU (a warning; only where the log shows no exception, which would skip the sleep);
    k6's log line that says a flag overrode the scenarios; a scenario that has samples and is not in the plan;
    a planned arrival-rate scenario whose slots lie before the end of the
    evidence and that has no sample at all; and the console's "N complete" and `http_reqs` against the
    iterations and requests in the points: beyond max(1, 0.1 %) if it is the final count, and above them by
    that much if it is a progress line. Counts are not compared where the points file breaks off.

How to fix it
    Keep files of one run together: the console of that run, its script, `k6 inspect` of the script with the
    same environment. Put the options into the script, not on the command line.

When it is wrong
    Scripts that build their options from the environment show other options when inspected without it.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from auditor.api import (
    LOOPING_EXECUTORS,
    Accounting,
    Evidence,
    Finding,
    Findings,
    GeneratorEvidence,
    Iterations,
    Key,
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
    count,
)

RULE = Rule(
    id="EV03",
    slug="what-ran",
    title="What ran differs from what the files say",
    severity="invalid",
    since="0.1",
    limits=(
        Limit("iterations", 1, "iterations", "own: an iteration may end between the two counts"),
        Limit("per_vu", 1, "starts per VU", "own: the last iteration of a VU may begin just before the end"),
        Limit("share", 0.001, "share of the iterations", "counts of one run agree within 0.1 % (semantics §8)"),
        Limit("interrupted", 2, "iterations", "own: an iteration may be cut off between the two counts"),
        Limit("interrupted_share", 0.1, "share of the interrupted", "own: one cut off early leaves no sample"),
    ),
    references=("semantics §8", "semantics §10"),
    consequence_of=("DM06", "EV01", "EV02"),
)
ONE_RUN = "keep together the console, options and points of one run"


def check(
    evidence: Evidence,
    plan: Plan,
    samples: Samples | None,
    iterations: Iterations | None,
    timeline: Timeline | None,
    accounting: Accounting | None,
    limits: Limits,
) -> Findings:
    if not any(
        g.options is not None or (g.console is not None and g.console.has_banner) for g in evidence.generators
    ):
        yield Unknown(
            "neither a banner nor options say what ran",
            "keep k6's standard output and `k6 inspect --execution-requirements script.js` beside the points",
            missing=Missing.OPTIONS,
        )
    for generator in evidence.generators:
        if (foreign := generator.foreign_of("console")) is not None:
            yield Unknown(
                f"{foreign.path} is {foreign.reason}",
                f"remove {foreign.path}, and keep k6's standard output of this run",
                needs="add",
            )
        yield from against_banner(generator, plan)
        if samples is not None and accounting is not None:
            yield from against_sleep(generator, plan, samples, accounting, limits)
        if samples is not None and iterations is not None:
            yield from against_samples(generator, plan, samples, iterations, timeline, accounting)
            yield from against_console(generator, samples, iterations, limits)


def against_banner(generator: GeneratorEvidence, plan: Plan) -> Iterator[Finding]:
    overridden = generator.log.options_overridden if generator.log is not None else ""
    found = [
        Finding(
            message=one.message,
            fix="audit this run for what the banner says, or run the script as it stands; put options "
            "into the script, "
            "not on the command line or into the environment",
            observed=Quantity(None, "", "what the banner says"),
            limit=Quantity(None, "", "what the options say"),
            evidence=tuple(one.evidence.split(", ")),
            scope=Scope(one.generator, one.scenario),
            severity="invalid" if one.is_invalid else "warning",
        )
        for one in plan.disagreements
        if one.generator == generator.name
    ]
    if overridden and found:
        log = generator.log.paths if generator.log is not None else ()
        found[0] = replace(
            found[0], message=f"{found[0].message}; k6 said: {overridden}", evidence=(*found[0].evidence, *log)
        )
    yield from found
    console = generator.console
    told = any(not source.problems for source in generator.option_sources)
    confirmed = console is not None and console.has_banner and told
    if overridden and not found and not confirmed and generator.log is not None:
        yield Finding(
            message=f"k6 replaced the script's scenarios by options from outside: {overridden}",
            fix="put the options into the script; keep the banner and `k6 inspect` so that what ran is known",
            observed=Quantity(None, "", "options from outside"),
            limit=Quantity(None, "", "the script's scenarios"),
            evidence=generator.log.paths,
            scope=Scope(generator=generator.name),
            severity="warning",
        )


def against_sleep(
    generator: GeneratorEvidence, plan: Plan, samples: Samples, accounting: Accounting, limits: Limits
) -> Iterator[Finding]:
    """More starts than the script's own sleep lets its VUs make: the script is of another test."""
    own = samples.by_generator.get(generator.name)
    slept = next((s for s in generator.option_sources if s.script and s.script.end_sleep_s), None)
    if (
        own is None
        or slept is None
        or slept.script is None
        or generator.log is None
        or generator.log.exceptions
    ):
        return
    denied = {one.scenario for one in plan.disagreements if one.generator == generator.name}
    sleep_s = float(slept.script.end_sleep_s or 0)
    for option in slept.scenarios:
        key = Key(generator.name, option.name)
        one, account = plan.keys.get(key), accounting.whole.get(key)
        if one is None or account is None or option.exec != "default" or option.name in denied:
            continue
        if one.executor not in LOOPING_EXECUTORS or one.max_vus is None or one.duration_s is None:
            continue
        requests = own.of_scenario(own.column("http_req_duration"), option.name).value
        # Requests of one iteration may overlap (batch): of several only one is counted.
        busy_s = float(requests.sum()) / 1000 / max(len(requests), account.started, 1)
        most = one.max_vus * float(one.duration_s) / (sleep_s + busy_s) + limits["per_vu"] * one.max_vus
        if account.started <= most:
            continue
        yield Finding(
            message=f"{account.started:,} iterations of {option.name!r}; {one.max_vus} VUs that sleep "
            f"{sleep_s:g} s in each, as {slept.script.path} says, make at most {most:,.0f}",
            fix=ONE_RUN + "; keep the script that ran",
            observed=count(account.started, "iterations"),
            limit=count(math.floor(most), "iterations"),
            evidence=(slept.script.path, own.path),
            scope=Scope(generator.name, option.name),
            severity="warning",
        )


def against_samples(
    generator: GeneratorEvidence,
    plan: Plan,
    samples: Samples,
    iterations: Iterations,
    timeline: Timeline | None,
    accounting: Accounting | None,
) -> Iterator[Finding]:
    own = samples.by_generator.get(generator.name)
    planned = [key for key in plan.keys if key.generator == generator.name]
    if own is None or not planned:
        return
    names = ", ".join(key.scenario for key in planned)
    for key, found in iterations.by_key.items():
        if key.generator != generator.name or key in plan.keys or not found.started or not key.scenario:
            continue
        yield Finding(
            message=f"{found.started:,} iterations are of scenario {key.scenario!r}; the plan has {names}",
            fix=ONE_RUN,
            observed=count(found.started, "iterations"),
            limit=count(0, "iterations"),
            evidence=(own.path,),
            scope=Scope(generator.name, key.scenario),
            severity="invalid",
        )
    if timeline is None or accounting is None:
        return
    for key in planned:
        one, account, course = plan.keys[key], accounting.whole[key], timeline.keys[key]
        if one.schedule is None or account.started or account.dropped or course.origin_ns is None:
            continue
        due = one.schedule.slots_to(course.reached_s)
        if due > account.allowance:
            yield Finding(
                message=f"scenario {key.scenario!r} was to start {due:,} iterations and has no sample at all",
                fix=ONE_RUN + "; if the points are of this run, the scenario did not run",
                observed=count(0, "iterations"),
                limit=count(due, "iterations"),
                evidence=(own.path,),
                scope=Scope(key.generator, key.scenario),
                severity="invalid",
            )


def against_console(
    generator: GeneratorEvidence, samples: Samples, iterations: Iterations, limits: Limits
) -> Iterator[Finding]:
    own = samples.by_generator.get(generator.name)
    console = generator.console
    if own is None or console is None or own.read.torn:
        return
    # A metric that was left out of the file as a whole is not missing points.
    listed = own.count_of
    counted = []
    if console.counts is not None and (listed.get("iterations") or not listed.get("iteration_duration")):
        here = round(float(own.column("iterations").value.sum()))
        counted.append(("complete iterations", here, console.counts.completed, console.counts.final))
    if console.requests is not None:
        here = listed.get("http_reqs") or listed.get("http_req_duration", 0)
        counted.append(("requests", here, console.requests, True))
    if console.counts is not None and console.counts.final:
        # One that was cancelled before it ran is counted by the console alone.
        began = sum(i.interrupted for k, i in iterations.by_key.items() if k.generator == generator.name)
        cut = console.counts.interrupted
        if abs(began - cut) > max(limits["interrupted"], limits["interrupted_share"] * cut):
            counted.append(("interrupted iterations", began, cut, True))
    for what, here, there, final in counted:
        differs = abs(here - there) if final else there - here
        if differs <= max(limits["iterations"], limits["share"] * there):
            continue
        word = "" if final else " by its last progress line"
        yield Finding(
            message=f"{console.path} counts {there:,} {what}{word}; {own.path} has {here:,}: "
            "the console is of another run, or points are missing",
            fix=ONE_RUN + ", whole",
            observed=count(here, what),
            limit=count(there, what),
            evidence=(console.path, own.path),
            scope=Scope(generator=generator.name),
            severity="invalid",
        )
