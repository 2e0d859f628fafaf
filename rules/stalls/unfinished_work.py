"""
What it checks
    Whether work was left unfinished at the end: iterations cut off, or silently lost in the last seconds.

Why it matters
    Unfinished work has no latency, and it is the slowest work that does not finish. Percentiles without it are
    too low.

How it is computed
    Per scenario: interrupted = started − completed; silent at the end = the silent starts (beyond the
    scenario's allowance) that fall on slots of its last 10 s. k6 works its schedule off in order, so the
    k-th start or drop belongs to slot k and those that it never came to are the last ones. Either above 0 is
    a warning. It makes the run invalid if, with everything else that has no latency (failed, dropped,
    interrupted and silent demand of the window), one of p50 to p99 is not identified.

How to fix it
    Give gracefulStop more time than the slowest iteration takes, end the test by its own plan and not by a
    signal, and size the generator so that it still starts what is due at the end.

When it is wrong
    An arrival-rate test of very long iterations always ends with some in flight; a gracefulStop of 30 s
    (k6's default) usually lets them finish. A few interrupted iterations affect only p99.9: a warning.
    Samples lost from the middle of a points file look like iterations lost at the end; see EV02 and EV03.
"""

from fractions import Fraction

from auditor.api import (
    DECIDING,
    LABEL_OF,
    PERCENTILES,
    Accounting,
    CountSources,
    Finding,
    Findings,
    Iterations,
    Key,
    Latency,
    Limit,
    Limits,
    Plan,
    Rule,
    Scope,
    Timeline,
    count,
    identified,
)

RULE = Rule(
    id="CO05",
    slug="unfinished-work",
    title="Work was left unfinished at the end",
    severity="warning",
    raises=True,
    since="0.1",
    limits=(
        Limit("unfinished", 0, "iterations", "own: unfinished work has no latency"),
        Limit("last", 10, "s", "own: the end of a scenario"),
    ),
    references=("semantics §1", "semantics §4", "grafana/k6#1263"),
    consequence_of=("OL09", "SD03", "GH03"),
)


def check(
    accounting: Accounting,
    iterations: Iterations,
    plan: Plan,
    timeline: Timeline,
    counted: CountSources,
    latency: Latency | None,
    limits: Limits,
) -> Findings:
    keys = [k for k in accounting.whole if k not in plan.keys or not plan.keys[k].support]
    for scenario in dict.fromkeys(key.scenario for key in keys):
        mine = [key for key in keys if key.scenario == scenario]
        interrupted = sum(accounting.whole[key].interrupted for key in mine)
        silent = sum(at_the_end(key, accounting, plan, timeline, limits) for key in mine)
        if interrupted + silent <= limits["unfinished"]:
            continue
        lost, share = _unknowable(latency, scenario)
        is_invalid = lost in DECIDING
        parts = []
        if interrupted:
            verb = "iteration was" if interrupted == 1 else "iterations were"
            parts.append(f"{interrupted:,} {verb} interrupted")
        if silent:
            verb = "start due in" if silent == 1 else "starts due in"
            parts.append(
                f"{silent:,} {verb} the last {limits['last']:g} s neither made nor recorded as dropped"
            )
        message = f"{' and '.join(parts)}: work without a latency"
        if lost in DECIDING:
            message += f"; with all other lost demand ({share:.2%}) {LABEL_OF[lost]} is not identified"
        graceful = max((float(plan.keys[k].graceful_stop_s) for k in mine if k in plan.keys), default=30.0)
        slowest = max(
            (float(d.max()) / 1000 for k in mine if len(d := iterations.by_key[k].duration_ms)), default=0.0
        )
        if interrupted and any(timeline.ends[key.generator].ended_early for key in mine):
            fix = "let the run end by its own plan: it was stopped with these iterations under way"
        elif interrupted:
            fix = (
                f"let the run end by its own plan, with a gracefulStop (now {graceful:g} s) above its slowest "
                f"iteration ({slowest:.3g} s among those that completed)"
            )
        else:
            fix = "give the generator enough CPU to start what is due up to the end, and run again"
        generators = dict.fromkeys(key.generator for key in mine)
        yield Finding(
            message=message,
            fix=fix,
            observed=count(interrupted + silent, "iterations"),
            limit=count(limits["unfinished"], "iterations"),
            evidence=tuple(path for g in generators for path in counted.file(g)),
            scope=Scope(scenario=scenario),
            severity="invalid" if is_invalid else "warning",
        )


def _unknowable(latency: Latency | None, scenario: str) -> tuple[str | None, float]:
    """The lowest percentile that lost demand makes unknowable, of the whole run or of the scenario alone, and
    the share of that demand. In a closed model the demand is what was sent and what was cut off."""
    if latency is None:
        return None, 0.0
    pooled = latency.pooled
    own = latency.by_scenario.get(scenario, pooled)
    for population in (pooled, own):
        lost = population.first_unidentified()
        if lost in DECIDING:
            return lost, population.censored_share
    if own.kind == "sent":
        censored, n = own.failed + own.interrupted, own.sent + own.interrupted
        lost = next((name for name, p in PERCENTILES if n and not identified(p, n, censored)), None)
        return lost, censored / n if n else 0.0
    return pooled.first_unidentified(), pooled.censored_share


def at_the_end(
    key: Key,
    accounting: Accounting,
    plan: Plan,
    timeline: Timeline,
    limits: Limits,
) -> int:
    """Silent starts among the slots of the last seconds of a key."""
    account, one = accounting.whole[key], plan.keys.get(key)
    if not account.silent or one is None or one.schedule is None:
        return 0
    to_s = timeline.keys[key].reached_s
    from_s = max(to_s - limits.exact("last"), Fraction(0))
    return min(one.schedule.slots_between(from_s, to_s), account.silent)
