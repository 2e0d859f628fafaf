"""
What it checks
    How many iterations the script ended by its own fail().

Why it matters
    fail() is the script's judgement of an answer: it throws, so what follows in the iteration is not run, and
    k6 counts the iteration as completed all the same. It says something about the system, not that the script
    is broken; and the requests after it are missing.

How it is computed
    Records in k6's log whose stack begins at k6's own fail() ÷ iterations started: more than 0.1 % is a
    warning. Exceptions, and fail() in setup(), teardown() or handleSummary(), are not counted here.

How to fix it
    See what fail() says. If it reports the system's errors, state them beside the latencies; if the test data
    or the script cause them, fix these. A check() with a threshold judges without ending the iteration.

When it is wrong
    Without a log, or with `--log-output=none`, nothing tells how many there were.
"""

from fractions import Fraction

from auditor.api import (
    Accounting,
    Evidence,
    Finding,
    Findings,
    Limit,
    Limits,
    Missing,
    Rule,
    Scope,
    Unknown,
    percent,
)

RULE = Rule(
    id="ER15",
    slug="fail-calls",
    title="The script ended iterations by fail()",
    severity="warning",
    since="0.2",
    limits=(Limit("fail_calls", 0.001, "fail() calls per iteration", "own: what p99.9 can bear"),),
    references=("k6 documentation, fail",),
)


def check(evidence: Evidence, accounting: Accounting, limits: Limits) -> Findings:
    for generator in evidence.generators:
        log = generator.log
        if log is None:
            yield Unknown(
                "no log of this run tells of fail()",
                "keep it: `k6 run --log-output=file=log.txt …`",
                missing=Missing.LOG,
            )
            continue
        mine = [account for key, account in accounting.whole.items() if key.generator == generator.name]
        iterations = sum(account.started for account in mine)
        most = iterations * Fraction(str(limits["fail_calls"]))
        if log.fail_calls <= most:
            if log.unread:
                yield Unknown(
                    f"{', '.join(log.paths)}: {log.unread}", "keep the log as k6 writes it", needs="add"
                )
            continue
        text = max(log.fail_texts, key=lambda t: log.fail_texts[t], default="")
        words = f": {log.fail_texts[text]:,} × {text!r}" if text else ""
        where = f" on {generator.name}" if generator.name else ""
        yield Finding(
            message=f"the script ended {log.fail_calls:,} of {iterations:,} iterations{where} by "
            f"fail(){words}; this is its own judgement, not an exception",
            fix="see what fail() says; state these iterations beside the latencies, or fix what makes them "
            "fail",
            observed=percent(log.fail_calls / iterations if iterations else 1.0),
            limit=percent(limits["fail_calls"]),
            evidence=log.paths,
            scope=Scope(generator=generator.name),
        )
