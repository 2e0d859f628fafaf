"""
What it checks
    Whether the system's rate limiter was left on.

Why it matters
    A system without its limiter is not the system in production, so the figures do not apply to it. The switch
    is also easily forgotten.

How it is computed
    `rate_limiter` under `[declarations]` in k6-audit.toml: "off" (also "disabled", "switched off") fails;
    "token", "in-force", "none" (the system has none) or any other word passes. Undeclared it fails at
    sign-off; elsewhere it is only mentioned.

How to fix it
    Let the test through with a token on the limiter's allow list; declare `rate_limiter = "token"`.

When it is wrong
    It believes what is declared. Whether the limiter answered the test (429, 503) is another question (ER08).
"""

from auditor.api import Declared, Finding, Findings, Quantity, Rule, needed_at_signoff

RULE = Rule(
    id="SC03",
    slug="rate-limiter",
    title="The rate limiter was switched off, or its state is not declared",
    severity="invalid",
    since="0.1",
    references=("sign-off",),
)

OFF = frozenset({"off", "disabled", "switched off", "turned off", "false", "bypassed"})


def check(declared: Declared) -> Findings:
    said = declared.rate_limiter.strip()
    if said and said.lower() not in OFF:
        return
    if not said and not declared.signing:
        yield needed_at_signoff("declare how the rate limiter let the test through (rate_limiter)")
        return
    yield Finding(
        message=f"the rate limiter is declared {said!r}" if said else "the rate limiter's state is undeclared",
        fix='leave it on, use a token on its allow list, and declare it: rate_limiter = "token"',
        observed=Quantity(None, "", said or "undeclared"),
        limit=Quantity(None, "", "on, or none"),
    )
