"""Which slots each generator ran: its starts are paired with the slots of its schedule.

A generator that ran one of several equal segments often leaves nothing that says which one (k6's banner prints
its size alone). On a constant rate the segments differ by a shift in time, on a ramp by more: there the right
one is that whose slots its starts follow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from auditor.facts.iterations import Iterations
from auditor.facts.plan import Plan, StatedPlan
from auditor.facts.store import provides

if TYPE_CHECKING:
    from auditor.facts.iterations import KeyIterations
    from auditor.facts.plan import KeyPlan
    from auditor.facts.schedule import Schedule
    from auditor.samples.reduce import Ints

PAIRED_SLOTS = 1000
"""So many starts and drops, the first ones, are paired with slots."""
CLEARLY = 0.8
"""A later guess is taken only if its starts are spread less than this share of an earlier one's."""


@provides
def plan(stated: StatedPlan, iterations: Iterations | None) -> Plan:
    """The plan, with the slots that each generator ran."""
    keys = dict(stated.keys)
    taken: dict[str, set[Schedule]] = {}
    for key, one in stated.keys.items():
        if one.parts and iterations is not None:
            others = taken.setdefault(key.scenario, set())
            schedule = _run(one, iterations.by_key[key], others)
            others.add(schedule)
            keys[key] = replace(one, schedule=schedule, parts=())
    return Plan(keys, stated.disagreements, stated.shares, stated.without_banner)


def _run(one: KeyPlan, found: KeyIterations, taken: set[Schedule]) -> Schedule:
    """The part whose slots the starts follow most closely; among equals one that no other generator ran."""
    spread = {part: _spread_ns(found, part) for part in one.parts}
    best = min(spread.values())
    close = [part for part in one.parts if spread[part] * CLEARLY <= best]
    return next((part for part in close if part not in taken), close[0])


def _spread_ns(found: KeyIterations, schedule: Schedule) -> float:
    """How far apart the lags of the first starts lie: from the earliest to the 90th percentile."""
    lag_ns = lags_ns(found, schedule)
    return float(np.percentile(lag_ns, 90) - lag_ns.min()) if len(lag_ns) else 0.0


def lags_ns(found: KeyIterations, schedule: Schedule) -> Ints:
    """Time of each of the first starts and drops, less the time of its slot from the scenario's start (ns)."""
    events = found.events_ns(PAIRED_SLOTS)
    slots = schedule.slot_times_ns(PAIRED_SLOTS)
    paired = min(len(slots), len(events))
    return events[:paired] - slots[:paired]
