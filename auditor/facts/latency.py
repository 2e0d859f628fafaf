"""Latency of the measurement window, over what was sent, what succeeded, and what was offered.

Definitions: docs/semantics.md §4. Offered demand is the successful requests as observed, and +∞ for every
failed request, every interrupted iteration, and the requests of every dropped or silent one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from auditor.facts.accounting import Accounting
from auditor.facts.keys import Key
from auditor.facts.plan import Plan
from auditor.facts.quantiles import PERCENTILES, Cell, cell, identified, round_half_up
from auditor.facts.requests import NS_PER_MS, Requests
from auditor.facts.samples import Floats
from auditor.facts.store import provides
from auditor.facts.timeline import Timeline


@dataclass(frozen=True)
class Population:
    """Requests that started in the window, and the demand that has no latency. Values are ms, ascending."""

    kind: Literal["offered", "sent"]
    """"sent" where the offered demand is unknown: a closed model, or no plan."""
    successful_ms: Floats
    failed_ms: Floats
    interrupted: int
    dropped: int
    silent: int
    """Iterations."""
    unsent: int
    """Requests that dropped and silent iterations would have made."""
    requests_per_iteration: float | None
    """None where it is undefined: no iteration completed, or none made a request."""

    @property
    def sent(self) -> int:
        return len(self.successful_ms) + len(self.failed_ms)

    @property
    def censored(self) -> int:
        """Demand without a latency: failed, interrupted, and never sent."""
        return len(self.failed_ms) + self.interrupted + self.unsent

    @property
    def offered(self) -> int:
        return len(self.successful_ms) + self.censored

    @property
    def censored_share(self) -> float:
        return self.censored / self.offered if self.offered else 0.0

    @cached_property
    def sent_ms(self) -> Floats:
        return np.sort(np.concatenate([self.successful_ms, self.failed_ms]))

    def cell(self, name: str) -> Cell:
        """The header's percentile: over offered demand, or of what was sent where that is unknown."""
        if self.kind == "sent":
            return cell(self.sent_ms, name)
        if not self.requests_per_iteration and not self.sent:
            return Cell("empty", 0)
        return cell(self.successful_ms, name, self.censored)

    def cell_of_successful(self, name: str) -> Cell:
        return cell(self.successful_ms, name)

    def first_unidentified(self) -> str | None:
        """The lowest percentile that falls on censored demand, by rank, whatever n is; None if none does."""
        if self.kind == "sent" or not self.offered:
            return None
        return next((n for n, p in PERCENTILES if not identified(p, self.offered, self.censored)), None)


@dataclass(frozen=True)
class Latency:
    """Pooled over the measured scenarios, and per scenario (pooled over its generators)."""

    metric: str
    pooled: Population
    by_scenario: Mapping[str, Population]


@provides
def latency(requests: Requests, plan: Plan, timeline: Timeline, accounting: Accounting) -> Latency:
    """The populations of the window. Without any request the cells are empty, not unknown."""
    by_key: dict[Key, Population] = {}
    for key in accounting.whole:
        one = plan.keys.get(key)
        if one is not None and one.support:
            continue
        by_key[key] = _population(key, requests, plan, timeline, accounting)
    by_scenario = {
        scenario: pool([p for k, p in by_key.items() if k.scenario == scenario])
        for scenario in dict.fromkeys(k.scenario for k in by_key)
    }
    return Latency(requests.metric, pool(list(by_scenario.values())), by_scenario)


def _population(
    key: Key, requests: Requests, plan: Plan, timeline: Timeline, accounting: Accounting
) -> Population:
    clock, counts = timeline.keys[key], accounting.window[key]
    own = requests.by_generator.get(key.generator)
    successful = failed = np.empty(0, dtype=np.float64)
    if own is not None and clock.window_s > 0:
        inside = own.of(key.scenario)
        inside &= clock.inside(own.start_ns, slack_ns=NS_PER_MS)
        successful = np.sort(own.duration_ms[inside & ~own.failed])
        failed = np.sort(own.duration_ms[inside & own.failed])
    sent = len(successful) + len(failed)
    per_iteration = Fraction(sent, counts.completed) if counts.completed and sent else None
    one = plan.keys.get(key)
    planned = one is not None and one.schedule is not None
    return Population(
        kind="offered" if planned else "sent",
        successful_ms=successful,
        failed_ms=failed,
        interrupted=counts.interrupted,
        dropped=counts.dropped if planned else 0,
        silent=counts.silent,
        unsent=round_half_up(float(per_iteration * counts.lost)) if planned and per_iteration else 0,
        requests_per_iteration=float(per_iteration) if per_iteration is not None else None,
    )


def pool(parts: list[Population]) -> Population:
    """One population of several; offered only if it is offered in every part."""
    sent = sum(p.sent for p in parts)
    completed = sum(p.sent / p.requests_per_iteration for p in parts if p.requests_per_iteration)
    return Population(
        kind="offered" if parts and all(p.kind == "offered" for p in parts) else "sent",
        successful_ms=_merged([p.successful_ms for p in parts]),
        failed_ms=_merged([p.failed_ms for p in parts]),
        interrupted=sum(p.interrupted for p in parts),
        dropped=sum(p.dropped for p in parts),
        silent=sum(p.silent for p in parts),
        unsent=sum(p.unsent for p in parts),
        requests_per_iteration=sent / completed if completed else None,
    )


def _merged(parts: list[Floats]) -> Floats:
    return np.sort(np.concatenate(parts)) if parts else np.empty(0, dtype=np.float64)
