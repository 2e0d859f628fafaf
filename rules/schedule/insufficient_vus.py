"""
What it checks
    Whether k6 itself warned that it ran out of VUs.

Why it matters
    "Insufficient VUs, reached N active VUs and cannot initialize more" is k6's own statement that from then on
    iterations were dropped. It is in the log, which CI jobs rarely keep, and does not change the exit code.

How it is computed
    The text in the log of each generator, per scenario. A warning; invalid where the scenario lost load: 1 % of
    its planned starts dropped or silent, or OL01 or OL03 beyond its limit. A log that exists and lacks the text
    is evidence that it was not written, even if the log is empty.

How to fix it
    Raise maxVUs and preAllocatedVUs; SD06 says to how many.

When it is wrong
    k6 writes it once per scenario, at the first time: it does not say how long it lasted. One warning at the
    very start can cost a single start.
"""

from auditor.api import (
    LOAD_LOST_LIMITS,
    Declared,
    Evidence,
    Finding,
    Findings,
    Limit,
    Limits,
    LoadLost,
    Missing,
    NotApplicable,
    Plan,
    Quantity,
    Rule,
    Scope,
    Unknown,
    VuPools,
)

RULE = Rule(
    id="SD08",
    slug="insufficient-vus",
    title="k6 warned of too few VUs",
    severity="warning",
    raises=True,
    since="0.1",
    limits=(Limit("warnings", 0, "warnings", "k6 writes it only when an iteration is dropped"),),
    uses=LOAD_LOST_LIMITS,
    references=(
        "k6 documentation, dropped iterations",
        "semantics §7",
    ),
    consequence_of=("SD06", "GH03", "GH04", "WM04"),
)


def check(
    evidence: Evidence,
    plan: Plan,
    declared: Declared,
    load_lost: LoadLost | None,
    backlog: VuPools | None,
    limits: Limits,
) -> Findings:
    if plan.keys and all(one.is_closed for one in plan.measured()):
        yield NotApplicable("a closed model starts no more iterations than it has VUs")
        return
    for generator in evidence.generators:
        if generator.log is None:
            where = f" of {generator.name}" if generator.name else ""
            foreign = generator.foreign_of("log")
            yield Unknown(
                f"the log{where} was not kept, so neither were its warnings"
                if foreign is None
                else f"{foreign.path} is {foreign.reason}: what this run's log warned of is not known",
                "keep it: `k6 run --log-output=file=log.txt …`",
                missing=Missing.LOG,
            )
            continue
        found = {s: n for s, n in generator.log.insufficient_vus.items() if not declared.is_support(s)}
        if len(found) <= limits["warnings"]:
            if generator.log.unread:
                yield Unknown(
                    f"{', '.join(generator.log.paths)}: {generator.log.unread}",
                    "keep it as k6 writes it: `k6 run --log-output=file=log.txt …`",
                    needs="add",
                )
            continue
        for scenario, reached in found.items():
            lost = load_lost.of(scenario) if load_lost is not None else ""
            keys = [key for key in plan.keys if key.scenario == scenario and key.generator == generator.name]
            advice = backlog.advice(keys) if backlog is not None else ""
            yield Finding(
                message=(
                    f"{scenario or 'the run'}: k6 warned that it had reached {reached:,} VUs and could start "
                    f"no more{f'; {lost}' if lost else ''}"
                ),
                fix=advice or f"set maxVUs and preAllocatedVUs to more than {reached:,}, and run again",
                observed=Quantity(float(reached), "VUs", f"reached {reached:,} VUs"),
                limit=Quantity(limits["warnings"], "warnings", "no such warning"),
                evidence=generator.log.paths,
                scope=Scope(generator.name, scenario),
                severity="invalid" if lost else "warning",
            )
