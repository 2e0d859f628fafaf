"""
What it checks
    Whether the evidence of every k6 instance of the run is there.

Why it matters
    Without one instance the load that reached the system is not the load that the figures show, and its
    failures are missing; every other instance looks healthy.

How it is computed
    Instances found against the declared number. Without a declaration: if every instance ran the same part
    1/n of the plan (execution segment, or the percentage that the banner prints), n instances are needed.

How to fix it
    Add the missing instance's folder (its points, banner and host metrics) and audit again; if its evidence
    is lost, run the test again.

When it is wrong
    Parts of different size do not say how many instances there were; DM02 checks whether
    they make the whole.
"""

from fractions import Fraction

from auditor.api import (
    Declared,
    Evidence,
    Finding,
    Findings,
    Limit,
    Limits,
    NotApplicable,
    Plan,
    Rule,
    Unknown,
    count,
)

RULE = Rule(
    id="DM01",
    slug="missing-instance",
    title="The evidence of an instance is missing",
    severity="invalid",
    since="0.1",
    limits=(Limit("missing", 0, "instances", "own: figures must cover the whole load"),),
    references=("semantics §9",),
)


def check(evidence: Evidence, plan: Plan, declared: Declared, limits: Limits) -> Findings:
    found = len(evidence.generators)
    shares = [plan.shares[g.name] for g in evidence.generators]
    files = tuple(dict.fromkeys(s.source for s in shares if s.segment is not None or s.percent is not None))
    if declared.instances is not None:
        expected, words = declared.instances, f"{declared.instances} are declared"
        files = ()
    elif any(s.segment is None and s.percent is None for s in shares):
        if found > 1:
            yield Unknown(
                "the number of instances of the run is not known",
                f"declare it in k6-audit.toml (generators = {found}), or keep every instance's banner",
                needs="add",
            )
        else:
            yield NotApplicable("one generator, and nothing says that it was one of several")
        return
    else:
        parts = {s.fraction for s in shares if s.fraction is not None}
        part = parts.pop()
        if parts or part.numerator != 1:
            yield NotApplicable(
                "the instances ran parts of different size, which do not say how many there were"
            )
            return
        if part == Fraction(1):
            yield NotApplicable("each generator ran a whole plan, and no number of instances is declared")
            return
        expected = part.denominator
        words = f"each ran 1/{expected} of the plan, so there were {expected}"
        if found > expected:
            return  # the parts overlap: DM02's question
    missing = expected - found
    if abs(missing) <= limits["missing"]:
        return
    if missing > 0:
        fix = "add the folder of the missing instance" if missing == 1 else f"add the {missing} missing folders"
    else:
        fix = "declare the number of instances that ran, or leave out the folders that are not of this run"
    yield Finding(
        message=f"{found} {'instance' if found == 1 else 'instances'} found; {words}",
        fix=fix,
        observed=count(found, "instance" if found == 1 else "instances"),
        limit=count(expected, "instances"),
        evidence=files,
    )
