"""
What it checks
    Whether a generator shared its machine with the system under test.

Why it matters
    On one machine the two take CPU from each other, and there is no network between them. The latency then says
    nothing about the system in production.

How it is computed
    `colocated` under `[declarations]` in k6-audit.toml: false passes, true is a warning. Undeclared it fails
    as invalid at sign-off; elsewhere it is only mentioned.

How to fix it
    Run the generators on machines of their own; declare `colocated = false`.

When it is wrong
    It believes what is declared. For a smoke test on one laptop the warning is enough.
"""

from auditor.api import Declared, Finding, Findings, Quantity, Rule, needed_at_signoff

RULE = Rule(
    id="GH10",
    slug="colocated",
    title="A generator shared its machine with the system, or this is not declared",
    severity="warning",
    raises=True,
    since="0.1",
    references=("sign-off",),
)


def check(declared: Declared) -> Findings:
    if declared.colocated is False:
        return
    if declared.colocated is None and not declared.signing:
        yield needed_at_signoff("declare whether a generator shared its machine (colocated)")
        return
    undeclared = declared.colocated is None
    yield Finding(
        message="it is not declared whether a generator shared a machine with the system"
        if undeclared
        else "a generator shared its machine with the system",
        fix="run the generators on machines of their own; declare colocated = false under [declarations]",
        observed=Quantity(None, "", "undeclared" if undeclared else "one machine"),
        limit=Quantity(None, "", "machines of their own"),
        severity="invalid" if undeclared else None,
    )
