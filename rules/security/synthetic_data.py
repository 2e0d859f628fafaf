"""
What it checks
    Whether the test data are declared to be synthetic.

Why it matters
    Customers' data in a load test end up in logs, results and reports that many people can read, and their
    accounts receive what the test does.

How it is computed
    `synthetic_data` under `[declarations]` in k6-audit.toml: true passes, false fails. Undeclared it fails at
    sign-off; elsewhere it is only mentioned.

How to fix it
    Make up the data, or take a masked copy; then declare `synthetic_data = true`.

When it is wrong
    It believes what is declared; it does not look into the data.
"""

from auditor.api import Declared, Finding, Findings, Quantity, Rule, needed_at_signoff

RULE = Rule(
    id="SC02",
    slug="synthetic-data",
    title="The test data are not declared to be synthetic",
    severity="invalid",
    since="0.1",
    references=("sign-off",),
)

FIX = "use made-up or masked data, and declare it: synthetic_data = true under [declarations] in k6-audit.toml"


def check(declared: Declared) -> Findings:
    if declared.synthetic_data:
        return
    if declared.synthetic_data is None and not declared.signing:
        yield needed_at_signoff("declare whether the test data are synthetic (synthetic_data)")
        return
    undeclared = declared.synthetic_data is None
    said = "undeclared" if undeclared else "real data"
    yield Finding(
        message="synthetic test data are not declared" if undeclared else "the test used real data",
        fix=FIX,
        observed=Quantity(None, "", said),
        limit=Quantity(None, "", "synthetic data"),
    )
