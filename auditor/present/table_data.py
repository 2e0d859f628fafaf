"""The report's tables, as plain values from the facts; long ones are cut, and say by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from auditor.evidence import Evidence
from auditor.facts.accounting import Accounting, total
from auditor.facts.errors import Errors, in_window
from auditor.facts.host import GeneratorHosts, HostUse
from auditor.facts.plan import Plan
from auditor.facts.quantiles import cell
from auditor.facts.requests import Requests
from auditor.facts.samples import Samples
from auditor.facts.stalls import Pauses, Stalls
from auditor.facts.thresholds import Thresholds
from auditor.facts.timeline import Timeline
from auditor.fields import CHARTED

if TYPE_CHECKING:
    from auditor.facts.keys import Key
    from auditor.facts.store import FactStore

MOST = 50
"""Rows of a table whose length the run decides."""
LONGEST = 300
"""Characters of a string that the run decides."""
LEAST_PAUSE_S = 2.0
"""k6 stamps something every second: a shorter silence is none."""

Table = dict[str, Any]


def _table(rows: list[dict[str, Any]], **more: Any) -> Table:
    return {"rows": rows[:MOST], "more": max(len(rows) - MOST, 0), **more}


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def scenarios(facts: FactStore) -> Table:
    """What each scenario was to do, and where that is known from."""
    found: dict[str, dict[str, Any]] = {}
    for key, one in facts.get(Plan).keys.items():
        row = found.setdefault(
            key.scenario,
            {
                "scenario": key.scenario,
                "executor": one.executor,
                "start_s": float(one.start_time_s),
                "duration_s": None if one.duration_s is None else float(one.duration_s),
                "max_vus": 0,
                "support": one.support,
                "source": one.source,
            },
        )
        row["max_vus"] = None if row["max_vus"] is None or one.max_vus is None else row["max_vus"] + one.max_vus
    return _table(list(found.values()))


def names(facts: FactStore) -> Table:
    """Requests of the window by their name: percentiles of what was sent."""
    requests, plan, timeline = facts.get(Requests), facts.get(Plan), facts.get(Timeline)
    labels: dict[str, int] = {}
    codes, values, failures = [], [], []
    for own in requests.by_generator.values():
        inside = in_window(own, plan, timeline)
        code_of = np.array([labels.setdefault(name, len(labels)) for name in own.samples.tag("name")], np.int64)
        codes.append(code_of[own.tagset[inside]] if len(code_of) else np.empty(0, np.int64))
        values.append(own.duration_ms[inside])
        failures.append(own.failed[inside])
    if not labels:
        return _table([])
    code, value, failed = np.concatenate(codes), np.concatenate(values), np.concatenate(failures)
    order = np.lexsort((value, code))
    value = value[order]
    counts = np.bincount(code, minlength=len(labels))
    bad = np.bincount(code[failed], minlength=len(labels))
    first = np.concatenate([[0], np.cumsum(counts)])
    ranked = sorted((i for i in range(len(labels)) if counts[i]), key=lambda i: (-counts[i], list(labels)[i]))
    known = list(labels)
    rows: list[dict[str, Any]] = []
    for i in ranked[:MOST]:
        mine = value[first[i] : first[i + 1]]
        row = {"name": _short(known[i]), "requests": int(counts[i]), "failed": int(bad[i])}
        for name in CHARTED:
            row[name] = cell(mine, name).value
        rows.append({**row, "max": float(mine[-1])})
    return {"rows": rows, "more": max(len(ranked) - MOST, 0)}


def errors(facts: FactStore) -> Table:
    """Failed requests of the window, alike ones together."""
    found = facts.get(Errors)
    rows = [
        {
            "count": cause.count,
            "status": _short(cause.status),
            "code": _short(cause.error_code),
            "error": _short(cause.error),
            "name": _short(cause.name),
        }
        for cause in found.causes
    ]
    return _table(rows, requests=found.requests, failed=found.failed)


def generators(facts: FactStore) -> Table:
    """Each k6 process: its part, what it did, how its evidence ends, and its host."""
    plan, evidence = facts.get(Plan), facts.get(Evidence)
    hosts = facts.get(GeneratorHosts).hosts if facts.why_not(GeneratorHosts) is None else ()
    rows = []
    for generator in evidence.generators:
        name = generator.name
        share = plan.shares[name].fraction if name in plan.shares else None
        host = next((h for h in hosts if name in h.covers), None)
        rows.append(
            {
                "generator": name,
                "share": None if share is None else float(share),
                "exit_code": None if generator.exit_code is None else generator.exit_code.code,
                **_counts(facts, name),
                **_points(facts, name),
                **_host(host),
            }
        )
    return _table(rows)


def _counts(facts: FactStore, name: str) -> dict[str, Any]:
    parts = []
    if facts.why_not(Accounting) is None:
        parts = [a for key, a in facts.get(Accounting).whole.items() if key.generator == name]
    return {
        "planned": total(a.planned for a in parts),
        "started": total(a.started for a in parts),
        "dropped": total(a.dropped if a.drops_known else None for a in parts),
    }


def _points(facts: FactStore, name: str) -> dict[str, Any]:
    own = facts.get(Samples).by_generator.get(name) if facts.why_not(Samples) is None else None
    end = facts.get(Timeline).ends.get(name) if facts.why_not(Timeline) is None else None
    return {
        "points": None if own is None else own.read.points,
        "malformed": None if own is None else own.read.malformed,
        "torn": "" if end is None else _short(end.torn),
        "stopped": "" if end is None else _short(end.stopped),
        "ended_early": bool(end is not None and end.ended_early),
    }


def _host(host: HostUse | None) -> dict[str, Any]:
    return {
        "host": "" if host is None else host.host or host.path,
        "cores": None if host is None else host.cores,
        "coverage": None if host is None else host.coverage,
        "cpu_mean": None if host is None else host.mean_percent,
        "cpu_max_5s": None if host is None else host.max_5s_percent,
        "worst_core": None if host is None else host.worst_core_percent,
        "memory_max": None if host is None else host.mem_used_max_percent,
        "steal_mean": None if host is None else host.steal_mean_percent,
    }


def thresholds(facts: FactStore) -> Table:
    """k6's thresholds, evaluated again from the points."""
    found = facts.get(Thresholds)
    rows = [
        {
            "generator": one.generator,
            "metric": _short(one.metric),
            "expression": _short(one.expression),
            "state": one.state,
            "value": one.value,
        }
        for one in found.found
    ]
    return _table(rows, defined=found.defined)


def stalls(facts: FactStore) -> Table:
    """Gaps in which nothing was completed, and silences of a generator."""
    rows = [
        {
            "what": "no completion",
            "where": str(stall.key),
            "from_s": stall.offset_s,
            "length_s": stall.length_s,
            "due": stall.due,
            "started": stall.started,
            "in_window": stall.in_window,
        }
        for stall in facts.get(Stalls).found
    ]
    zero = {key: one.origin_ns for key, one in facts.get(Timeline).keys.items() if one.origin_ns is not None}
    for pause in facts.get(Pauses).longest.values():
        origin = min((at for key, at in zero.items() if key.generator == pause.generator), default=None)
        if pause.length_s < LEAST_PAUSE_S or origin is None:
            continue
        rows.append(
            {
                "what": "the generator stamped nothing",
                "where": _generator(zero, pause.generator),
                "from_s": (pause.from_ns - origin) / 1e9,
                "length_s": pause.length_s,
                "due": None,
                "started": None,
                "in_window": None,
            }
        )
    return _table(rows)


def _generator(keys: dict[Key, int], name: str) -> str:
    return name or ", ".join(dict.fromkeys(key.scenario for key in keys))
