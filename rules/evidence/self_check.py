"""
What it checks
    Whether the audit was complete: no rule raised an error, and no rule that can make a run invalid was
    left out.

Why it matters
    A check that did not run finds nothing wrong, and that would look like a pass.

How it is computed
    After all other rules: rules that raised an error, rules of base severity "invalid" that were deselected,
    and the number of rules that ran. Any of them leaves the verdict open; none of them shows anything wrong
    about the run.

How to fix it
    Run the audit with all rules. If one raised an error, report it with the file that caused it.

When it is wrong
    Never: an audit of a selection of rules is a look at the run, not a verdict.
"""

from auditor.api import Findings, Limit, Limits, Rule, SelfCheck, Unknown

RULE = Rule(
    id="EV13",
    slug="self-check",
    title="The audit is incomplete",
    severity="invalid",
    since="0.1",
    limits=(Limit("least_ran", 1, "rules", "own: an audit without rules proves nothing"),),
    waivable=False,
    guard=True,
)
NAMED = 8


def check(audit: SelfCheck, limits: Limits) -> Findings:
    if audit.errors:
        yield Unknown(
            f"{listed(audit.errors)} raised an error and judged nothing",
            "internal error: report it with the traceback (--debug) and the file that caused it",
            needs="add",
        )
    if audit.ran < limits["least_ran"]:
        yield Unknown("no rule ran at all", "run the audit without --select and --ignore", needs="add")
    elif audit.not_run:
        yield Unknown(
            f"{listed(audit.not_run)} did not run, and could have made the run invalid",
            "run the audit without --select and --ignore to get a verdict",
            needs="add",
        )


def listed(ids: tuple[str, ...]) -> str:
    """Ids in words, the first few of many."""
    lead = "rule " if len(ids) == 1 else "rules "
    return lead + ", ".join(ids[:NAMED]) + (f" and {len(ids) - NAMED} more" if len(ids) > NAMED else "")
