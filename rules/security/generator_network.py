"""
What it checks
    Whether it is declared where the generators stood, and what lay between them and the system.

Why it matters
    A latency from the same rack and one through a VPN are not comparable, and no file of the run says which
    it was.

How it is computed
    `generator_network` under `[declarations]` in k6-audit.toml, at least three characters, not a placeholder.
    Undeclared it fails at sign-off; elsewhere it is only mentioned.

How to fix it
    Declare it: `generator_network = "same region, private network, through the load balancer"`.

When it is wrong
    It believes what is declared.
"""

from auditor.api import Declared, Finding, Findings, Quantity, Rule, needed_at_signoff

RULE = Rule(
    id="SC05",
    slug="generator-network",
    title="The generators' network is not declared",
    severity="warning",
    raises=True,
    since="0.1",
    references=("sign-off",),
)

EMPTY = frozenset({"", "tbd", "todo", "unknown", "n/a", "none"})


def check(declared: Declared) -> Findings:
    said = declared.generator_network.strip()
    if len(said) >= 3 and said.lower() not in EMPTY:
        return
    if not said and not declared.signing:
        yield needed_at_signoff("declare where the generators stood (generator_network)")
        return
    yield Finding(
        message=f"the generators' network is declared {said!r}"
        if said
        else "the generators' network is undeclared",
        fix='declare it under [declarations]: generator_network = "same region, private network"',
        observed=Quantity(None, "", said or "undeclared"),
        limit=Quantity(None, "", "where they stood"),
        severity="invalid" if declared.signing else None,
    )
