"""
What it checks
    Whether the script threw exceptions.

Why it matters
    An iteration that throws is a completed iteration for k6: it counts towards the rate, fails no threshold and
    makes none of the requests after the throw. The figures then describe the first lines of the script.

How it is computed
    Exceptions that iterations threw, from the log of each generator (records with source=stacktrace or the hint
    "script exception", whose stack does not end in setup(), teardown() or handleSummary()) ÷ iterations
    started: more than 0.1 % is invalid. The script's own fail() is no exception (ER15). A log that exists is
    evidence of none, even if it is empty; one of another run, or with lines that cannot be read, is not. Nor
    is an empty one if more than 0.1 % of the completed iterations of a scenario have no request while others
    have, or if the console shows a crossed threshold, which k6 logs.
    Without a log: if the requests per completed iteration of each scenario are a whole number within 0.1 %, no
    iteration was cut short and it passes; else it is unknown.

How to fix it
    Read the stack trace in the log; it names the line. Guard what a failed answer does not have (a field of an
    empty JSON), and let checks report it instead.

When it is wrong
    Without a log, a script that throws before its first request in a few iterations, or makes a varying number
    of requests on purpose, cannot be detected from the counts: keep the log.
    Crossed thresholds and aborted tests
    are written as errors too and are not counted.
"""

from fractions import Fraction

from auditor.api import (
    Accounting,
    Declared,
    Evidence,
    Finding,
    Findings,
    GeneratorEvidence,
    IterationTime,
    Limit,
    Limits,
    Missing,
    Requests,
    Rule,
    Scope,
    Unknown,
    percent,
)

RULE = Rule(
    id="ER11",
    slug="script-exceptions",
    title="The script threw exceptions",
    severity="invalid",
    since="0.1",
    limits=(
        Limit("exceptions", 0.001, "exceptions per iteration", "own: beyond it p99.9 is not identified"),
        Limit("whole_number", 0.001, "share of the nearest whole number", "own: without a log"),
    ),
    references=("grafana/k6#6480",),
)

LOG_FIX = "keep k6's log of every generator: `k6 run --log-output=file=log.txt …`"


def check(
    evidence: Evidence,
    accounting: Accounting,
    declared: Declared,
    requests: Requests | None,
    spent: IterationTime | None,
    limits: Limits,
) -> Findings:
    for generator in evidence.generators:
        if generator.log is not None and (doubt := _doubt_of_empty(generator, declared, spent, limits)):
            yield Unknown(
                f"{', '.join(generator.log.paths)} is empty, and {doubt}: whether the script threw exceptions "
                "is not known",
                LOG_FIX,
                missing=Missing.LOG,
            )
            continue
        if (foreign := generator.foreign_of("log")) is not None and generator.log is None:
            yield Unknown(
                f"{foreign.path} is {foreign.reason}: whether this run's script threw exceptions is not known",
                f"remove {foreign.path}, and keep the log of this run: `k6 run --log-output=file=log.txt …`",
                needs="add",
            )
        elif generator.log is None:
            yield from _without_log(generator.name, accounting, declared, requests, limits)
        else:
            yield from _from_log(generator, accounting, limits)


def _doubt_of_empty(
    generator: GeneratorEvidence, declared: Declared, spent: IterationTime | None, limits: Limits
) -> str:
    """What contradicts an empty log; empty if nothing does, or if it has lines."""
    if generator.log is None or generator.log.lines:
        return ""
    console = generator.console
    if console is not None and any(one.passed is False for one in console.thresholds):
        return f"{console.path} shows a crossed threshold, which k6 logs"
    for key, one in spent.by_key.items() if spent is not None else ():
        if key.generator != generator.name or declared.is_support(key.scenario) or not one.requests:
            continue
        share = one.without_request / one.completed
        if share > limits["exceptions"]:
            of = f"{one.without_request:,} of {one.completed:,} iterations of {key}"
            return f"{of} have no request ({share:.2%})"
    return ""


def _from_log(generator: GeneratorEvidence, accounting: Accounting, limits: Limits) -> Findings:
    assert generator.log is not None
    thrown = generator.log.exceptions
    mine = [account for key, account in accounting.whole.items() if key.generator == generator.name]
    iterations = sum(account.started for account in mine)
    most = iterations * limits.exact("exceptions")
    if thrown <= most:
        if generator.log.unread:
            yield Unknown(
                f"{', '.join(generator.log.paths)}: {generator.log.unread}; whether the script threw "
                "exceptions is not known",
                LOG_FIX,
                needs="add",
            )
        return
    where = f" on {generator.name}" if generator.name else ""
    yield Finding(
        message=(
            f"the script threw {thrown:,} exceptions in {iterations:,} iterations{where}: the rest of "
            f"those iterations did not run, and k6 still counts them as completed{_words(generator)}"
        ),
        fix=(
            f"read the first stack trace in {', '.join(generator.log.paths)} and fix that line; at most "
            f"{int(most):,} may be thrown in that many iterations"
        ),
        observed=percent(thrown / iterations if iterations else 1.0),
        limit=percent(limits["exceptions"]),
        evidence=generator.log.paths,
        scope=Scope(generator=generator.name),
    )


def _words(generator: GeneratorEvidence) -> str:
    """The most frequent exception, in k6's own words."""
    texts = generator.log.exception_texts if generator.log is not None else {}
    if not texts:
        return ""
    text = max(texts, key=lambda t: texts[t])
    return f" ({texts[text]:,} × {text})"


def _without_log(
    generator: str, accounting: Accounting, declared: Declared, requests: Requests | None, limits: Limits
) -> Findings:
    own = requests.by_generator.get(generator) if requests is not None else None
    for key, account in accounting.whole.items():
        if key.generator != generator or declared.is_support(key.scenario) or not account.completed:
            continue
        made = 0 if own is None else int(own.of(key.scenario).sum()) if key.scenario else len(own)
        each = Fraction(made, account.completed)
        whole = round(each)
        if whole < 1 or abs(each - whole) > whole * limits.exact("whole_number"):
            yield Unknown(
                f"no log was kept, and {key} made {float(each):.4g} requests per iteration: whether the "
                "script threw exceptions is not known",
                LOG_FIX,
                missing=Missing.LOG,
            )
