"""
What it checks
    Whether any iteration was dropped inside the measurement window.

Why it matters
    A dropped iteration means that no VU was free when it was due: the generator did not offer that load. Even
    a few show that the VU pool has no headroom; the next run may drop far more.

How it is computed
    The sum of the values of `dropped_iterations` in the window, per scenario (one line can stand for many
    drops). How many of them fell in the first 5 s of a scenario with maxVUs above preAllocatedVUs is
    given as well: each VU that k6 allocates while running costs one start, so those depend on the options.

How to fix it
    Set preAllocatedVUs = maxVUs, so that none is allocated while the test runs, and take enough of them: peak
    rate × the longest iteration of a slow moment. Or declare a warm-up, if the drops are all at the start.

When it is wrong
    Never as a count. Whether the drops matter for the percentiles is SD01's question, whether for the rate
    OL01's: this rule alone never makes a run invalid.
"""

from auditor.api import (
    NS_PER_S,
    OPEN_EXECUTORS,
    Accounting,
    CountSources,
    Finding,
    Findings,
    Iterations,
    Key,
    Limit,
    Limits,
    Missing,
    NotApplicable,
    Plan,
    Rule,
    Scope,
    Timeline,
    Unknown,
    VuPools,
    count,
)

RULE = Rule(
    id="SD02",
    slug="any-drop",
    title="Iterations were dropped",
    severity="warning",
    since="0.1",
    limits=(
        Limit("dropped", 0, "iterations", "Hyperfoil: none by default"),
        Limit("early_s", 5, "s", "k6 documentation: VUs are allocated early in a run"),
    ),
    references=(
        "semantics §1",
        "k6 documentation, dropped iterations",
    ),
    consequence_of=("SD06", "SD08", "GH03", "GH04", "WM04"),
    about=("dropped_iterations",),
)


def check(
    accounting: Accounting,
    plan: Plan,
    timeline: Timeline,
    iterations: Iterations,
    counted: CountSources,
    backlog: VuPools | None,
    limits: Limits,
) -> Findings:
    scenarios: dict[str, list[Key]] = {}
    unsure = False
    for key, account in accounting.whole.items():
        one = plan.keys.get(key)
        if one is not None and (one.support or one.executor not in OPEN_EXECUTORS):
            continue
        scenarios.setdefault(key.scenario, []).append(key)
        unsure |= not account.drops_known
    if not scenarios:
        yield NotApplicable("these executors cannot drop a start")
        return
    found = False
    for scenario, keys in scenarios.items():
        dropped = sum(accounting.window[key].dropped for key in keys)
        if dropped <= limits["dropped"]:
            continue
        found = True
        planned = sum(accounting.window[key].slots or 0 for key in keys)
        early = sum(_early(key, plan, timeline, iterations, limits["early_s"]) for key in keys)
        of = f" of {planned:,} planned" if planned else ""
        words = f"; {early:,} of them in its first {limits['early_s']:g} s, while VUs were still allocated"
        yield Finding(
            message=(
                f"{scenario or 'the run'}: {dropped:,}{of} iterations were dropped because no VU was "
                f"free{words if early else ''}"
            ),
            fix=_fix(keys, plan, backlog),
            observed=count(dropped, "iterations"),
            limit=count(limits["dropped"], "iterations"),
            evidence=counted.files,
            scope=Scope(scenario=scenario),
        )
    if unsure and not found:
        yield Unknown(
            "the points file does not reach the planned end: the absence of drops proves nothing",
            "run the test to its end and keep the whole points file",
            missing=Missing.WHOLE_RUN,
        )


def _early(key: Key, plan: Plan, timeline: Timeline, iterations: Iterations, early_s: float) -> int:
    """Drops of the window in the scenario's first seconds, where its pool may still grow."""
    one, clock, found = plan.keys.get(key), timeline.keys[key], iterations.by_key[key]
    if one is None or clock.origin_ns is None or (one.max_vus or 0) <= (one.pre_allocated_vus or 0):
        return 0
    early = clock.inside(found.drop_ns) & (found.drop_ns < clock.origin_ns + round(early_s * NS_PER_S))
    return int(found.drop_count[early].sum())


def _fix(keys: list[Key], plan: Plan, backlog: VuPools | None) -> str:
    plans = [plan.keys[key] for key in keys if key in plan.keys]
    if not plans:
        return "give the scenario more VUs: peak rate × the longest iteration of a slow moment"
    if backlog is not None and (advice := backlog.advice(keys)):
        return advice
    configured = sum(one.max_vus or 0 for one in plans)
    allocated = sum(one.pre_allocated_vus or 0 for one in plans)
    if allocated < configured:
        return (
            f"set preAllocatedVUs to maxVUs ({configured:,}; now {allocated:,}), so that none is allocated "
            "under load"
        )
    return f"set maxVUs and preAllocatedVUs above {configured:,}: at the moments of the drops all VUs were busy"
