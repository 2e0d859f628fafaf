"""
What it checks
    Whether it is declared which commit of the test ran, and with which k6.

Why it matters
    A result that cannot be traced to a script and a version cannot be repeated. The digests of the inputs,
    the options and the start time are in every result; commit and k6 version are in no file of a run.

How it is computed
    `git_commit` (7 to 64 hexadecimal digits) and `k6_version` under `[declarations]` in k6-audit.toml.
    Written badly they fail. At sign-off an undeclared commit fails as invalid and an undeclared version as a
    warning; elsewhere they are only mentioned.

How to fix it
    Declare them: `git_commit = "9fceb02"`, `k6_version = "1.1.0"` (`git rev-parse HEAD`, `k6 version`).

When it is wrong
    It believes what is declared.
"""

import re

from auditor.api import Declared, Finding, Findings, Quantity, Rule, needed_at_signoff

RULE = Rule(
    id="EV09",
    slug="provenance",
    title="The commit or the k6 version is not declared",
    severity="warning",
    raises=True,
    since="0.1",
    references=("sign-off",),
)

COMMIT = re.compile(r"[0-9a-fA-F]{7,64}")
VERSION = re.compile(r"(?:k6 )?v?\d+\.\d+(?:\.\d+)?(?:[-+ (].*)?")


def check(declared: Declared) -> Findings:
    commit, version = declared.git_commit.strip(), declared.k6_version.strip()
    if not commit and not declared.signing:
        yield needed_at_signoff("declare the test's commit and k6's version (git_commit, k6_version)")
    elif not COMMIT.fullmatch(commit):
        yield Finding(
            message=f"the commit is declared {commit[:60]!r}"
            if commit
            else "the test's git commit is undeclared",
            fix='declare it under [declarations]: git_commit = "9fceb02" (git rev-parse HEAD)',
            observed=Quantity(None, "", commit[:60] or "undeclared"),
            limit=Quantity(None, "", "7 to 64 hexadecimal digits"),
            severity="invalid" if declared.signing else None,
        )
    if (version or declared.signing) and not VERSION.fullmatch(version):
        yield Finding(
            message=f"k6's version is declared {version[:60]!r}" if version else "k6's version is undeclared",
            fix='declare it under [declarations]: k6_version = "1.1.0" (k6 version)',
            observed=Quantity(None, "", version[:60] or "undeclared"),
            limit=Quantity(None, "", "a version"),
        )
