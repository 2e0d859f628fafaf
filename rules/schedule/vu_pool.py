"""
What it checks
    Whether an arrival-rate scenario had enough VUs for its peak rate.

Why it matters
    Each running iteration holds one VU. When all are busy, the next start is dropped: from then on the open
    model behaves like a closed one, and the load follows the system's speed.

How it is computed
    Little's law: peak rate × mean iteration duration of the worst 10 s window, against maxVUs; and the time in
    the measurement window with at least 95 % of maxVUs in flight, 5 s or more in total. In-flight comes from
    starts and ends of iterations, never from the `vus` gauge; maxVUs is the configured one, never `vus_max`.
    A warning; invalid where the scenario lost load: 1 % dropped or silent, or OL01 or OL03 beyond its limit.

How to fix it
    Set maxVUs and preAllocatedVUs to peak rate × seconds of the slowest iterations that must still be offered,
    plus headroom. If iterations last long because the system is overloaded, more VUs make that visible instead
    of hiding it.

When it is wrong
    If a pool of few VUs is meant to be nearly full; it is then a warning at most, as long as no load was lost.
"""

import math

from auditor.api import (
    FINE_STAMP_FIX,
    CountSources,
    DeliveredLoad,
    Finding,
    Findings,
    Limit,
    Limits,
    LoadLost,
    NotApplicable,
    Plan,
    Rule,
    Scope,
    Unknown,
    VuPool,
    VuPools,
    count,
    seconds,
)

RULE = Rule(
    id="SD06",
    slug="vu-pool",
    title="The VU pool is too small for the rate",
    severity="warning",
    raises=True,
    since="0.1",
    limits=(
        Limit("needed_share", 1.0, "needed VUs ÷ maxVUs", "Little's law"),
        Limit("pinned_s", 5, "s with 95 % of the VUs busy", "own: 0 s on healthy recorded runs"),
    ),
    references=(
        "semantics §6",
        "k6 documentation, arrival rate vu allocation",
    ),
    consequence_of=("WM04", "GH03", "GH04"),
)

RESERVE = 1.2


def check(
    backlog: VuPools,
    delivery: DeliveredLoad,
    plan: Plan,
    counted: CountSources,
    load_lost: LoadLost | None,
    limits: Limits,
) -> Findings:
    for key, pool in backlog.pools.items():
        short = pool.needed_vus > pool.max_vus * limits["needed_share"]
        pinned = pool.pinned_s is not None and pool.pinned_s >= limits["pinned_s"]
        if not short and not pinned:
            if pool.pinned_s is None:
                yield Unknown(
                    f"the stamps are too coarse to say how long the VUs of {key} were busy", FINE_STAMP_FIX
                )
            continue
        lost = load_lost.of(key.scenario) if load_lost is not None else ""
        yield Finding(
            message=f"{key}: {_words(pool, plan)}{f'; {lost}' if lost else ''}",
            fix=(
                f"set maxVUs and preAllocatedVUs to at least {_enough(pool):,} (now {pool.max_vus:,}): peak "
                "rate × mean iteration of the worst 10 s, plus 20 % headroom"
            ),
            observed=count(math.ceil(pool.needed_vus), "VUs") if short else seconds(pool.pinned_s or 0.0),
            limit=count(pool.max_vus, "VUs") if short else seconds(limits["pinned_s"]),
            evidence=(*counted.file(key.generator), plan.keys[key].source),
            scope=Scope(key.generator, key.scenario),
            severity="invalid" if lost else "warning",
        )
    unscheduled = [*delivery.unscheduled]
    unscheduled += [one.key for one in plan.measured() if one.schedule is not None and not one.max_vus]
    if unscheduled:
        yield Unknown(
            f"the rate and the VU limit of {str(unscheduled[0]) or 'the run'} are not known",
            "keep k6's banner (its standard output) and the output of `k6 inspect --execution-requirements "
            "script.js`",
        )
    elif not backlog.pools and all(one.is_closed for one in plan.measured()):
        yield NotApplicable("a closed model has no pool: its VUs are its load")


def _words(pool: VuPool, plan: Plan) -> str:
    schedule = plan.keys[pool.key].schedule
    peak = float(schedule.peak_per_s) if schedule is not None else 0.0
    pinned_s = pool.pinned_s or 0.0
    busy = f"at least 95 % of its {pool.max_vus:,} VUs were busy for {pinned_s:.1f} s"
    if pool.needed_vus <= pool.max_vus or not peak:
        return busy
    law = (
        f"{peak:,.4g} iterations/s of {pool.needed_vus / peak:.3g} s each (the mean of its worst 10 s) need "
        f"{math.ceil(pool.needed_vus):,} VUs, and maxVUs is {pool.max_vus:,}"
    )
    return f"{law}; {busy}" if pinned_s >= 0.05 else law


def _enough(pool: VuPool) -> int:
    return math.ceil(max(pool.needed_vus, float(pool.max_vus)) * RESERVE)
