"""The fields that every report starts with (docs/report.md): over the whole run and per scenario.

A field whose evidence is absent is "missing" with the reason; "n/a" is allowed only where it is an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from auditor.evidence import LOOPING_EXECUTORS, Declared
from auditor.facts.accounting import Accounting, total
from auditor.facts.host import GeneratorHosts
from auditor.facts.keys import Key
from auditor.facts.latency import Latency, Population
from auditor.facts.missing import Missing, Needs
from auditor.facts.plan import KeyPlan, Plan
from auditor.facts.quantiles import Cell
from auditor.facts.requests import Requests
from auditor.facts.schedule import Schedule
from auditor.facts.store import FactStore, Unknown, provides
from auditor.facts.timeline import KeyTimeline, Timeline, union_s
from auditor.fields import FIELDS, MINIMUM_N, Status
from auditor.units import NS_PER_MS


@dataclass(frozen=True)
class HeaderField:
    """One field: a number with its unit, or the reason why there is none."""

    name: str
    label: str
    unit: str
    status: Status
    value: float | None = None
    reason: str = ""
    """Why there is no value; of "n/a" the whole answer as it is printed ("n/a: this executor cannot drop")."""
    fix: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """More about the value, by machine name (docs/json.md). ``answer`` "none": there is no such value by
    design."""
    needs: Needs = ""
    missing: Missing | None = None
    """Of a missing field: as `Unknown` says them."""


@dataclass(frozen=True)
class Header:
    """The header of the run and of every measured scenario, fields in order."""

    fields: Mapping[str, HeaderField]
    by_scenario: Mapping[str, Mapping[str, HeaderField]]


@provides
def header(store: FactStore, plan: Plan, declared: Declared) -> Header:
    """Every field, whatever evidence there is."""
    return Header(
        _fields(store, plan, declared, None),
        {name: _fields(store, plan, declared, name) for name in _measured(store, plan)},
    )


def _measured(store: FactStore, plan: Plan) -> list[str]:
    names = [one.key.scenario for one in plan.measured()]
    if store.why_not(Accounting) is None:
        support = {k.scenario for k, one in plan.keys.items() if one.support}
        names += [k.scenario for k in store.get(Accounting).whole if k.scenario not in support]
    return list(dict.fromkeys(names))


def _fields(
    store: FactStore, plan: Plan, declared: Declared, scenario: str | None
) -> Mapping[str, HeaderField]:
    makers: dict[str, Callable[[], _Made]] = {
        "target_rate": lambda: _target(store, plan, declared, scenario),
        "achieved_rate": lambda: _achieved(store, plan, scenario),
        "dropped_iterations": lambda: _dropped(store, plan, scenario),
        "generator_cpu": lambda: _cpu(store.get(GeneratorHosts)),
        "test_duration": lambda: _duration(store, plan, scenario),
        "warmup_excluded": lambda: _warmup(declared),
    }
    found: dict[str, HeaderField] = {}
    for one in FIELDS:
        try:
            made = _percentile(store, one.name, scenario) if one.percentile is not None else makers[one.name]()
        except Unknown as unknown:
            made = _Made(
                "missing",
                reason=unknown.reason,
                fix=unknown.fix,
                needs=unknown.needs,
                missing=unknown.missing,
            )
        found[one.name] = HeaderField(
            one.name,
            one.label,
            one.unit,
            made.status,
            made.value,
            made.reason,
            made.fix,
            made.detail,
            made.needs,
            made.missing,
        )
    return found


@dataclass(frozen=True)
class _Made:
    status: Status
    value: float | None = None
    reason: str = ""
    fix: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    needs: Needs = ""
    missing: Missing | None = None


def _keys(store: FactStore, plan: Plan, scenario: str | None) -> list[Key]:
    every = store.get(Accounting).whole
    return [
        k
        for k in every
        if (scenario is None or k.scenario == scenario) and not (k in plan.keys and plan.keys[k].support)
    ]


def _with_schedule(plan: Plan, keys: Sequence[Key]) -> list[Key]:
    return [k for k in keys if k in plan.keys and plan.keys[k].schedule is not None]


def length_s(timeline: Timeline, plan: Plan, keys: Sequence[Key]) -> Fraction:
    """Union of the keys' windows on the plan's clock, the longest of the generators (semantics §3)."""
    spans: dict[str, list[tuple[Fraction, Fraction]]] = {}
    for key in keys:
        clock: KeyTimeline = timeline.keys[key]
        offset = plan.keys[key].start_time_s if key in plan.keys else Fraction(0)
        if clock.window_s > 0:
            spans.setdefault(key.generator, []).append((offset + clock.from_s, offset + clock.to_s))
    return max((union_s(s) for s in spans.values()), default=Fraction(0))


def _rate_keys(store: FactStore, plan: Plan, scenario: str | None) -> tuple[list[Key], Fraction]:
    """The keys that rates are about: the open ones if there are any, else all; and the window's length."""
    keys = _keys(store, plan, scenario)
    timeline = store.get(Timeline)
    length = length_s(timeline, plan, keys)
    if length <= 0:
        raise Unknown(
            "the measurement window is empty", "declare a warm-up that is shorter than the test", needs="add"
        )
    return _with_schedule(plan, keys) or keys, length


def _target(store: FactStore, plan: Plan, declared: Declared, scenario: str | None) -> _Made:
    mine = [one for one in plan.keys.values() if not one.support and scenario in (None, one.key.scenario)]
    if mine and all(one.is_closed and one.closed_declared for one in mine):
        own = declared.scenarios.get(mine[0].key.scenario)
        why = (own.workload_reason if own is not None else "") or declared.workload_reason
        return _Made("n/a", reason=f"none: closed model ({why})", detail={"answer": "none"})
    keys, length = _rate_keys(store, plan, scenario)
    open_keys = _with_schedule(plan, keys)
    accounting = store.get(Accounting)
    if open_keys:
        unknown = [one.key for one in mine if one.is_open and one.schedule is None]
        if unknown:
            raise Unknown(f"the schedule of {unknown[0]} is not known", _PLAN_FIX, missing=Missing.OPTIONS)
        slots = sum(accounting.window[k].slots or 0 for k in open_keys)
        schedules = {k.scenario: plan.keys[k].schedule for k in open_keys}
        words = "; ".join(
            (f"{name}: " if len(schedules) > 1 else "") + in_words(s, plan.of_scenario(name))
            for name, s in schedules.items()
            if s is not None
        )
        return _Made("ok", float(slots / length), detail={"planned": slots, "schedule": words})
    if declared.target_rate_per_s is not None:
        rate = float(declared.target_rate_per_s)
        return _Made("ok", rate, detail={"planned": round(rate * float(length)), "schedule": "declared"})
    if any(one.is_closed for one in mine):
        raise Unknown(
            "a closed model has no target rate, and none was declared",
            "use an arrival-rate executor, or declare the target with --target-rate",
            missing=Missing.TARGET_RATE,
        )
    raise Unknown("nothing says what rate was planned", _PLAN_FIX, missing=Missing.OPTIONS)


_PLAN_FIX = (
    "keep k6's standard output (the banner) and the output of `k6 inspect --execution-requirements script.js`, "
    "or declare the target with --target-rate"
)


def in_words(schedule: Schedule, sharing: Sequence[KeyPlan]) -> str:
    """ "ramp 30 → 300/s in 10 s, hold 60 s"; the sum over the generators that share the plan."""
    scale = len([one for one in sharing if one.schedule is not None])
    total = sum((one.schedule.peak_per_s for one in sharing if one.schedule is not None), Fraction(0))
    factor = total / schedule.peak_per_s if schedule.peak_per_s else Fraction(scale)
    parts = []
    for stage in schedule.stages:
        low, high = float(stage.start_per_s * factor), float(stage.end_per_s * factor)
        if stage.length_s == 0:
            parts.append(f"jump to {high:g}/s")
        elif low == high:
            parts.append(f"hold {high:g}/s for {float(stage.length_s):g} s")
        else:
            parts.append(f"ramp {low:g} → {high:g}/s in {float(stage.length_s):g} s")
    return ", ".join(parts)


def _achieved(store: FactStore, plan: Plan, scenario: str | None) -> _Made:
    keys, length = _rate_keys(store, plan, scenario)
    window = store.get(Accounting).window
    started = sum(window[k].started for k in keys)
    slots = [window[k].slots for k in keys]
    detail: dict[str, Any] = {"started": started}
    planned = total(slots)
    if planned:
        detail["deviation_percent"] = 100 * (started - planned) / planned
    if store.why_not(Latency) is None:
        latency = store.get(Latency)
        population = latency.pooled if scenario is None else latency.by_scenario.get(scenario)
        if population is not None:
            sent = _requests_started(store, plan, scenario) if population.totals is None else population.sent
            detail["requests_per_s"] = float(sent / length)
            detail["requests_per_iteration"] = population.requests_per_iteration
    return _Made("ok", float(started / length), detail=detail)


def _requests_started(store: FactStore, plan: Plan, scenario: str | None) -> int:
    """Requests whose own start lies in the window. Those of iterations that start in it may be later, where
    something holds them back: they have a latency, and are no load of the window."""
    timeline, requests = store.get(Timeline), store.get(Requests)
    started = 0
    for key in _keys(store, plan, scenario):
        own, course = requests.by_generator.get(key.generator), timeline.keys[key]
        if own is not None and course.window_s > 0:
            inside = own.of(key.scenario) & course.inside(own.start_ns, slack_ns=NS_PER_MS)
            started += int((inside & (own.start_ns < course.to_ns + course.slack_ns)).sum())
    return started


def _dropped(store: FactStore, plan: Plan, scenario: str | None) -> _Made:
    keys = _keys(store, plan, scenario)
    can = [k for k in keys if not (k in plan.keys and plan.keys[k].executor in LOOPING_EXECUTORS)]
    if keys and not can:
        return _Made("n/a", reason="n/a: this executor cannot drop")
    accounting = store.get(Accounting)
    unsure = [k for k in can if not accounting.whole[k].drops_known and k in plan.keys and plan.keys[k].is_open]
    if unsure and all(store.get(Timeline).ends[k.generator].complete for k in unsure):
        raise Unknown(
            "metrics were left out of the points file: absence of drops proves nothing",
            "keep all of k6's own metrics in the output, or k6's standard output beside it",
            needs="rerun",
        )
    if unsure:
        raise Unknown(
            "the points file does not reach the planned end: absence of drops proves nothing",
            "run the test to its end and keep the whole points file",
            missing=Missing.WHOLE_RUN,
        )
    dropped = sum(accounting.window[k].dropped for k in can)
    slots = sum(accounting.window[k].slots or 0 for k in can)
    silent = sum(accounting.window[k].silent for k in can)
    return _Made(
        "ok",
        float(dropped),
        detail={"share": dropped / slots if slots else None, "silent": silent, "planned": slots or None},
    )


def _cpu(load: GeneratorHosts) -> _Made:
    if load.uncovered:
        name, why = next(iter(load.uncovered.items()))
        raise Unknown(f"generator {name}: {why}" if name else why, _CPU_FIX, missing=Missing.HOST_METRICS)
    worst = max(load.hosts, key=lambda h: h.max_5s_percent)
    cores = [h.worst_core_percent for h in load.hosts if h.worst_core_percent is not None]
    hosts = [
        {
            "host": h.host,
            "path": h.path,
            "generators": list(h.covers),
            "mean": h.mean_percent,
            "max_5s": h.max_5s_percent,
            "worst_core": h.worst_core_percent,
            "cores": h.cores,
            "coverage": h.coverage,
        }
        for h in load.hosts
    ]
    mean = max(h.mean_percent for h in load.hosts)
    detail: dict[str, Any] = {"mean": mean, "worst_core": max(cores, default=None), "hosts": hosts}
    shared = [h for h in load.hosts if h.shared]
    if shared:
        detail["note"] = f"one host for {len(shared[0].covers)} generators"
    return _Made("ok", worst.max_5s_percent, detail=detail)


_CPU_FIX = "record host metrics of every generator over the whole test and keep them beside the points"


def _duration(store: FactStore, plan: Plan, scenario: str | None) -> _Made:
    keys = _keys(store, plan, scenario)
    timeline = store.get(Timeline)
    length = length_s(timeline, plan, keys)
    planned = timeline.planned_s
    detail: dict[str, Any] = {}
    if scenario is None and planned is not None and planned != length:
        detail["planned_s"] = float(planned)
    early = [end for end in timeline.ends.values() if end.ended_early]
    if early:
        detail["note"] = "ended early: the part reached"
    return _Made("ok", float(length), detail=detail)


def _warmup(declared: Declared) -> _Made:
    if declared.warmup_s is None:
        raise Unknown(
            "no warm-up was declared (0 s is an answer)",
            "declare it: --warmup 30s, or --warmup 0s",
            missing=Missing.WARMUP,
        )
    return _Made("ok", float(declared.warmup_s))


def _percentile(store: FactStore, name: str, scenario: str | None) -> _Made:
    latency = store.get(Latency)
    population = latency.pooled if scenario is None else latency.by_scenario.get(scenario)
    if population is None:
        raise Unknown("the scenario has no sample", needs="rerun")
    found = population.cell(name)
    return _cell(name, found, population, latency.metric)


def _cell(name: str, found: Cell, population: Population, metric: str) -> _Made:
    detail: dict[str, Any] = {
        "metric": metric,
        "n": found.n,
        "population": population.shown,
        "interval": list(found.interval) if found.interval else None,
        "of_successful": population.cell_of_successful(name).value,
        "at_least": found.at_least,
    }
    match found.status:
        case "ok":
            return _Made("ok", found.value, detail=detail)
        case "too-few":
            return _Made("n/a", reason=f"n/a, need {MINIMUM_N[name]:,} (have {found.n:,})", detail=detail)
        case "empty":
            return _Made("n/a", reason="n/a: no request", detail=detail)
    share = population.censored_share
    return _Made(
        "not-identified",
        reason=f"{share:.1%} of the offered demand has no latency",
        detail=detail,
    )
