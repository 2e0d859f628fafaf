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
    evidence and that has no sample at all; and the console's "N complete" against the iterations in the
    points: any difference if it is the final count, above them by more than max(1, 0.1 %) if it is a progress
    line. "Request Failed" in the log beyond the requests with an error (and the interrupted iterations), by
    that much; "Insufficient VUs" in it and no dropped iteration. The thresholds of points, summaries and
    console against each other (invalid) and against the options (a warning). Counts are not compared where
    the points file breaks off.

How to fix it
    Keep files of one run together: the console of that run, its script, `k6 inspect` of the script with the
    same environment. Put the options into the script, not on the command line.

When it is wrong
    Scripts that build their options from the environment show other options when inspected without it.
"""

import math
from collections.abc import Iterable, Iterator
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
    Said,
    Samples,
    Scope,
    Severity,
    Statements,
    Timeline,
    Unknown,
    count,
    requests_with_error,
    totals_of,
)

RULE = Rule(
    id="EV03",
    slug="what-ran",
    title="What ran differs from what the files say",
    severity="invalid",
    since="0.1",
    limits=(
        Limit(
            "iterations", 1, "iterations", "own: an iteration may end between the points and a progress line"
        ),
        Limit("per_vu", 1, "starts per VU", "own: the last iteration of a VU may begin just before the end"),
        Limit("share", 0.001, "share of the iterations", "counts of one run agree within 0.1 % (semantics §8)"),
        Limit("interrupted", 2, "iterations", "own: an iteration may be cut off between the two counts"),
        Limit("interrupted_share", 0.1, "share of the interrupted", "own: one cut off early leaves no sample"),
    ),
    references=("semantics §8", "semantics §10"),
    consequence_of=("DM06", "EV01", "EV02"),
)
NEVER_SENT = ("invalid URL", "unsupported protocol scheme")
"""Errors of "Request Failed" for which k6 writes no sample."""
ONE_RUN = "keep together the console, options and points of one run"


def check(
    evidence: Evidence,
    plan: Plan,
    samples: Samples | None,
    iterations: Iterations | None,
    timeline: Timeline | None,
    accounting: Accounting | None,
    statements: Statements,
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
            yield from against_console(generator, samples, iterations, statements, limits)
            yield from against_log(generator, samples, iterations, limits)
        yield from against_thresholds(generator, samples)


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
    generator: GeneratorEvidence,
    samples: Samples,
    iterations: Iterations,
    statements: Statements,
    limits: Limits,
) -> Iterator[Finding]:
    own = samples.by_generator.get(generator.name)
    console = generator.console
    if own is None or console is None or console.counts is None or own.read.torn:
        return
    for statement in statements.table:
        if statement.generator == generator.name and statement.quantity == "complete iterations":
            for counted, other in statement.differing():
                yield _counted(generator, statement.quantity, counted, other)
    # A metric that was left out of the file as a whole is not missing points.
    listed = own.count_of
    if not console.counts.final and (listed.get("iterations") or not listed.get("iteration_duration")):
        here, there = round(float(own.column("iterations").value.sum())), console.counts.completed
        if there - here > max(limits["iterations"], limits["share"] * there):
            said = Said(f"{console.path} (its last progress line)", there)
            yield _counted(generator, "complete iterations", Said(own.path, here), said)
    if console.counts.final:
        # One that was cancelled before it ran is counted by the console alone.
        began = sum(i.interrupted for k, i in iterations.by_key.items() if k.generator == generator.name)
        cut = console.counts.interrupted
        if abs(began - cut) > max(limits["interrupted"], limits["interrupted_share"] * cut):
            yield _counted(generator, "interrupted iterations", Said(own.path, began), Said(console.path, cut))


def against_log(
    generator: GeneratorEvidence, samples: Samples, iterations: Iterations, limits: Limits
) -> Iterator[Finding]:
    """What k6's log counted, and the points do not have."""
    own, log = samples.by_generator.get(generator.name), generator.log
    if own is None or log is None or own.read.torn:
        return
    mine = [found for key, found in iterations.by_key.items() if key.generator == generator.name]
    logged = sum(log.requests_failed.values()) - sum(
        n for text, n in log.request_errors.items() if any(words in text for words in NEVER_SENT)
    )
    failed = requests_with_error(own)
    # A request that is cut off with its iteration leaves no sample.
    most = (failed or 0) + sum(found.interrupted for found in mine)
    if failed is not None and logged - most > max(limits["iterations"], limits["share"] * logged):
        yield _counted(generator, "failed requests", Said(own.path, failed), Said(log.paths[0], logged))
    if log.insufficient_vus and not any(found.dropped for found in mine):
        said = Said(log.paths[0], len(log.insufficient_vus))
        yield replace(
            _counted(generator, "dropped iterations", Said(own.path, 0), said),
            message=f'{log.paths[0]} says that no VU was left ("Insufficient VUs"), which k6 says when it '
            f"drops an iteration; {own.path} has no dropped iteration: the log is of another run, or "
            "points are missing",
        )


def against_thresholds(generator: GeneratorEvidence, samples: Samples | None) -> Iterator[Finding]:
    """Thresholds that ran (of the points, summaries and the console) against each other and the options."""
    own = samples.by_generator.get(generator.name) if samples is not None else None
    stated: list[tuple[str, dict[str, set[str]]]] = []
    if own is not None:
        stated.append((own.path, _expressions((d.name, d.thresholds) for d in own.definitions.values())))
    stated += [
        (total.path, _expressions((m.name, tuple(m.crossed)) for m in total.metrics.values()))
        for total in totals_of(generator)
    ]
    options = generator.source_of("thresholds")
    ran = [(path, table) for path, table in stated if table]
    for path, table in ran:
        first_path, first = ran[0]
        for metric in sorted(first.keys() & table.keys()):
            if first[metric] != table[metric]:
                yield _other_thresholds(generator, metric, (first_path, first), (path, table), "invalid")
        if options is None:
            continue
        planned = _expressions(options.thresholds.items())
        for metric in sorted(table):
            if table[metric] != planned.get(metric, set()):
                told = (options.path, {metric: set(), **planned})
                yield _other_thresholds(generator, metric, told, (path, table), "warning")


def _expressions(found: Iterable[tuple[str, tuple[str, ...]]]) -> dict[str, set[str]]:
    """Metric -> its thresholds, without spaces; of metrics that have any."""
    return {
        name.replace(" ", ""): {"".join(text.split()) for text in expressions}
        for name, expressions in found
        if expressions
    }


def _other_thresholds(
    generator: GeneratorEvidence,
    metric: str,
    one: tuple[str, dict[str, set[str]]],
    other: tuple[str, dict[str, set[str]]],
    severity: Severity,
) -> Finding:
    words = [f"{', '.join(sorted(table[metric])) or 'none'}" for _, table in (one, other)]
    return Finding(
        message=f"thresholds on {metric}: {other[0]} has {words[1]}, {one[0]} has {words[0]}",
        fix=ONE_RUN + "; inspect the script with the environment of the run",
        observed=Quantity(None, "thresholds", words[1]),
        limit=Quantity(None, "thresholds", words[0]),
        evidence=(other[0], one[0]),
        scope=Scope(generator=generator.name, name=metric),
        severity=severity,
    )


def _counted(generator: GeneratorEvidence, what: str, here: Said, there: Said) -> Finding:
    source = there.source.split(" (")[0]
    return Finding(
        message=f"{there.source} counts {there.value:,.0f} {what}; {here.source} has {here.value:,.0f}: "
        f"{source} is of another run, or points are missing",
        fix=ONE_RUN + ", whole",
        observed=count(here.value, what),
        limit=count(there.value, what),
        evidence=(source, here.source),
        scope=Scope(generator=generator.name),
        severity="invalid",
    )
