"""
What it checks
    Whether an arrival-rate scenario had enough VUs for its peak rate.

Why it matters
    Each running iteration holds one VU. When all are busy, the next start is dropped: from then on the open
    model behaves like a closed one, and the load follows the system's speed.

How it is computed
    Little's law: peak rate × median iteration, against maxVUs. The median is the longest among 10 s windows in
    which less than 80 % of the VUs were busy and completions are within 5 % of the starts: while all VUs are
    busy an iteration lasts as long as the pool lets it wait, and says nothing about the need. An iteration
    holds its VU for minIterationDuration at least. A pool that was full only during a stall needs what was in
    flight before it and what was due while it lasted. And the time in the measurement window with at least
    95 % of maxVUs in flight, 5 s or more in total. In-flight comes from starts and ends of iterations, never
    from the `vus` gauge; maxVUs is the configured one, never `vus_max`. A warning; invalid where the scenario
    lost load: 1 % dropped or silent, or OL01 or OL03 beyond its limit.

How to fix it
    Set maxVUs and preAllocatedVUs to the number given (a fifth in reserve). Where none is given, the run did
    not show it: if a full pool does no more work than a partly busy one, the system is the limit and more VUs
    only lengthen its queue.

When it is wrong
    If a pool of few VUs is meant to be nearly full; it is then a warning at most, as long as no load was lost.
"""

import math

from auditor.api import (
    FINE_STAMP_FIX,
    LOAD_LOST_LIMITS,
    CountSources,
    DeliveredLoad,
    Finding,
    Findings,
    Limit,
    Limits,
    LoadLost,
    Missing,
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
        Limit("pinned_share", 0.95, "share of the VUs", "own: so many busy VUs are a pool in full use"),
        Limit("pinned_s", 5, "s with that share of the VUs busy", "own: 0 s on healthy recorded runs"),
    ),
    uses=LOAD_LOST_LIMITS,
    references=(
        "semantics §6",
        "k6 documentation, arrival rate vu allocation",
    ),
    consequence_of=("WM04", "GH03", "GH04"),
    about=("dropped_iterations",),
)


def check(
    backlog: VuPools,
    delivery: DeliveredLoad,
    plan: Plan,
    counted: CountSources,
    load_lost: LoadLost | None,
    limits: Limits,
) -> Findings:
    for key, pool in backlog.pools.items():
        short = pool.need is not None and pool.need.vus > pool.max_vus * limits["needed_share"]
        pinned = pool.pinned_s is not None and pool.pinned_s >= limits["pinned_s"]
        if not short and not pinned:
            if pool.pinned_s is None:
                yield Unknown(
                    f"the stamps are too coarse to say how long the VUs of {key} were busy",
                    FINE_STAMP_FIX,
                    missing=Missing.FINE_STAMPS,
                )
            continue
        lost = load_lost.of(key.scenario) if load_lost is not None else ""
        yield Finding(
            message=f"{key}: {_words(pool, plan, limits['pinned_share'])}{f'; {lost}' if lost else ''}",
            fix=backlog.advice([key])
            or f"the pool of {pool.max_vus:,} VUs is nearly full: leave it a fifth of VUs in reserve",
            observed=count(math.ceil(pool.need.vus), "VUs")
            if short and pool.need is not None
            else seconds(pool.pinned_s or 0.0),
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
            missing=Missing.OPTIONS,
        )
    elif not backlog.pools and all(one.is_closed for one in plan.measured()):
        yield NotApplicable("a closed model has no pool: its VUs are its load")


def _words(pool: VuPool, plan: Plan, share: float) -> str:
    schedule = plan.keys[pool.key].schedule
    peak = float(schedule.peak_per_s) if schedule is not None else 0.0
    pinned_s = pool.pinned_s or 0.0
    busy = f"at least {share * 100:g} % of its {pool.max_vus:,} VUs were busy for {pinned_s:.1f} s"
    need = pool.need
    if need is None:
        return f"{busy}; {_untold(pool)}"
    if need.vus <= pool.max_vus or not peak:
        return busy
    vus = f"{math.ceil(need.vus):,} VUs, and maxVUs is {pool.max_vus:,}"
    match need.basis:
        case "stall":
            law = f"what was in flight and what arrived in a stall of {need.held_s:.3g} s need {vus}"
        case "minimum":
            law = (
                f"{peak:,.4g} iterations/s that each hold a VU for minIterationDuration ({need.held_s:.3g} s) "
                f"need at least {vus}"
            )
        case _:
            law = (
                f"{peak:,.4g} iterations/s of {need.held_s:.3g} s each (the median while the pool had room) "
                f"need {vus}"
            )
    return f"{law}; {busy}" if f"{pinned_s:.1f}" != "0.0" else law


def _untold(pool: VuPool) -> str:
    """Why a pool that was full throughout says nothing about the need."""
    did = f"it did {pool.full_per_s:,.3g}/s with {pool.max_vus:,} VUs" if pool.full_per_s is not None else ""
    if pool.held_back_rps is not None:
        return f"how many it needs cannot be told: k6 held requests back (rps = {pool.held_back_rps:g})"
    if pool.does_not_grow and pool.partly_per_s is not None:
        return (
            f"{did} and {pool.partly_per_s:,.3g}/s while fewer were busy: its iterations lasted as long as the "
            "pool let them wait, so the need cannot be told, and no pool may be large enough"
        )
    return (
        "while all are busy an iteration lasts as long as the pool lets it wait, so how many are needed cannot "
        f"be told from this run{f' ({did})' if did else ''}"
    )
