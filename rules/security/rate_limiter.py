"""
What it checks
    Whether the system's rate limiter was left on.

Why it matters
    A system without its limiter is another system: the figures hold for nothing that runs in production, and
    the switch is easily forgotten.

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
    title="The rate limiter was switched off, or nothing says that it was on",
    severity="invalid",
    since="0.2",
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
        message=f"the rate limiter is declared {said!r}" if said else "nothing says what the rate limiter did",
        fix='leave it on, use a token on its allow list, and declare it: rate_limiter = "token"',
        observed=Quantity(None, "", said or "undeclared"),
        limit=Quantity(None, "", "on, or none"),
    )
