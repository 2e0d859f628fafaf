"""
What it checks
    Whether a single core of the generator was saturated while the machine as a whole looked idle.

Why it matters
    One hot core can hold back a scenario's starts, a network queue or garbage collection, and a mean over
    all cores hides it: one of eight cores at 100 % is 12 %.

How it is computed
    Any core more than 80 % busy over 10 s of consecutive samples. A warning by itself. It makes the run
    invalid if it explains lost load: the 10 s overlap a tumbling window that delivered less than 98 % of its
    plan, or hold drops or silent starts. Up to maxVUs − preAllocatedVUs drops of a scenario are not counted,
    for k6 drops one start for every VU that it creates during the test.

How to fix it
    Spread interrupts over the cores, give the process more cores than one (GOMAXPROCS, CPU sets), or split
    the load over several generators.

When it is wrong
    A core that serves interrupts alone, or another process pinned to it, is hot without touching k6. A core
    that was hot at another time than the loss explains nothing, and stays a warning.
"""

from collections.abc import Sequence

import numpy as np

from auditor.api import (
    CORE_SPAN_S,
    Accounting,
    DeliveredLoad,
    Finding,
    Findings,
    GeneratorHosts,
    HostUse,
    Iterations,
    Limit,
    Limits,
    Missing,
    NotApplicable,
    Plan,
    Rule,
    Scope,
    Timeline,
    Unknown,
    clock,
    percent,
)

RULE = Rule(
    id="GH04",
    slug="hot-core",
    title="One core of the generator was saturated",
    severity="warning",
    raises=True,
    since="0.1",
    limits=(Limit("busy", 80, "% of one core over 10 s", "k6 documentation: CPU below 80 %, for a core"),),
    uses=("OL03.short_ratio", "OL03.small_deficit"),
    moved_limits={"delivered": "OL03.short_ratio"},
    references=("semantics §7", "grafana/k6#1303"),
    consequence_of=("GH03",),
    about=("generator_cpu",),
)


def check(
    load: GeneratorHosts,
    delivery: DeliveredLoad | None,
    accounting: Accounting | None,
    iterations: Iterations,
    plan: Plan,
    timeline: Timeline,
    limits: Limits,
) -> Findings:
    if not load.hosts:
        yield Unknown(
            "no host metrics lie in the window",
            "record the host over the whole test",
            missing=Missing.HOST_METRICS,
        )
    elif all(host.worst_core_percent is None for host in load.hosts):
        yield NotApplicable("the host metrics have no figures per core")
    for host in load.hosts:
        hot = host.hot_core_ns
        if not hot or host.worst_core_percent is None:
            continue
        lost = loss(host, hot, delivery, accounting, iterations, plan, timeline, limits)
        first, last = min(start for _, start, _ in hot), max(end for _, _, end in hot)
        cores = sorted({core for core, _, _ in hot})
        named = f"core {cores[0]}" if len(cores) == 1 else f"{len(cores)} cores"
        many = f" of {host.cores}" if host.cores else ""
        name = f"host {host.host}" if host.host else host.path
        message = (
            f"{name}: {named}{many} over {limits['busy']:g} % for {CORE_SPAN_S:g} s or more between "
            f"{clock(first)} and {clock(last)}; core {host.worst_core} reached {host.worst_core_percent:.1f} %"
        )
        message += f"; at that time {lost}" if lost else "; no load was lost at that time"
        yield Finding(
            message=message,
            fix="spread the work of that core (interrupts, GOMAXPROCS, CPU sets) or split the load over "
            "at least "
            "two generators, and run again"
            if lost
            else "see what runs on that core; it did not cost load this time",
            observed=percent(host.worst_core_percent / 100),
            limit=percent(limits["busy"] / 100),
            evidence=(host.path,),
            scope=Scope(generator=host.covers[0] if len(host.covers) == 1 else ""),
            severity="invalid" if lost else "warning",
        )


def loss(
    host: HostUse,
    hot: Sequence[tuple[int, int, int]],
    delivery: DeliveredLoad | None,
    accounting: Accounting | None,
    iterations: Iterations,
    plan: Plan,
    timeline: Timeline,
    limits: Limits,
) -> str:
    """What was lost while a core was hot, in words; empty if nothing was."""
    spans = sorted({(start, end) for _, start, end in hot})
    for key, one in plan.keys.items():
        if key.generator not in host.covers or one.schedule is None or one.support:
            continue
        own, found = timeline.keys[key], iterations.by_key[key]
        windows = (
            ()
            if delivery is None or delivery.coarse
            else delivery.windows.get(str(key)) or delivery.windows.get(key.scenario)
        )
        for window in windows or ():
            low, high = own.at_ns(window.from_s), own.at_ns(window.to_s)
            if window.ratio < limits["OL03.short_ratio"] and any(s < high and e > low for s, e in spans):
                return (
                    f"{key} started {window.started:,} of {window.slots:,} in the window from "
                    f"{float(window.from_s):g} s to {float(window.to_s):g} s"
                )
        account = accounting.whole.get(key) if accounting is not None else None
        structural = max((one.max_vus or 0) - (one.pre_allocated_vus or 0), 0) if one.pre_allocated_vus else 0
        for start, end in spans:
            drops = int(found.drop_count[(found.drop_ns >= start) & (found.drop_ns <= end)].sum())
            if drops > structural:
                return f"{key} dropped {drops:,} iterations within {CORE_SPAN_S:g} s"
            if account is None or not account.silent or own.origin_ns is None or own.slack_ns:
                continue
            slots = np.count_nonzero(_within(one.schedule.slot_times_ns() + own.origin_ns, start, end))
            starts = np.count_nonzero(_within(found.start_ns, start, end))
            missing = slots - starts - drops
            if missing > account.allowance:
                # Starts that are late beyond the span's edge are missing in it, and not lost: one owner counts.
                lost = min(missing, account.silent)
                of = "" if lost == account.silent else f" of {account.silent:,}"
                return f"{lost:,}{of} silently lost starts of {key} were due within {CORE_SPAN_S:g} s"
    return ""


def _within(times: np.ndarray, start: int, end: int) -> np.ndarray:
    return np.asarray((times >= start) & (times < end), dtype=bool)
