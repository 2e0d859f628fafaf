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

from auditor.evidence import Summary
from auditor.facts.accounting import Accounting
from auditor.facts.count_sources import CountSources
from auditor.facts.keys import Key
from auditor.facts.missing import Missing
from auditor.facts.plan import Plan
from auditor.facts.quantiles import Cell, cell, identified, round_half_up
from auditor.facts.requests import HTTP, Requests
from auditor.facts.store import FactStore, Unknown, provides
from auditor.facts.timeline import Timeline
from auditor.fields import LABEL_OF, MINIMUM_N, PERCENTILES, SUMMARY_KEYS
from auditor.samples.reduce import Floats
from auditor.units import NS_PER_MS


@dataclass(frozen=True)
class SummaryTotals:
    """What a summary says of requests: counts, and the percentiles it happens to have (ms)."""

    path: str
    successful: int
    failed: int
    sent_ms: Mapping[str, float]
    """By the header's machine names; "max" too."""
    successful_ms: Mapping[str, float]

    def cell(self, name: str, n: int, censored: int) -> Cell:
        """The file's percentile of what was sent; not identified where lost demand forbids any.

        Raises:
            Unknown: if the file does not have it.
        """
        p = dict(PERCENTILES)[name]
        if not n:
            return Cell("empty", 0)
        if n < MINIMUM_N[name]:
            return Cell("too-few", n)
        value = self.sent_ms.get(name)
        if value is None:
            raise Unknown(
                f"{self.path} has no {LABEL_OF[name]}",
                "keep the points (--out json=k6.json.gz), or add it to summaryTrendStats",
                missing=Missing.POINTS,
            )
        if not identified(p, n, censored):
            return Cell(
                "not-identified", n, at_least=self.successful_ms.get("max", self.sent_ms.get("max", 0.0))
            )
        return Cell("ok", n, value=value)


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
    totals: SummaryTotals | None = None
    """Counts and quantiles of a summary, where no sample was kept."""

    @property
    def successful(self) -> int:
        return self.totals.successful if self.totals is not None else len(self.successful_ms)

    @property
    def failed(self) -> int:
        return self.totals.failed if self.totals is not None else len(self.failed_ms)

    @property
    def sent(self) -> int:
        return self.successful + self.failed

    @property
    def censored(self) -> int:
        """Demand without a latency: failed, interrupted, and never sent."""
        return self.failed + self.interrupted + self.unsent

    @property
    def offered(self) -> int:
        return self.successful + self.censored

    @property
    def censored_share(self) -> float:
        return self.censored / self.offered if self.offered else 0.0

    @cached_property
    def sent_ms(self) -> Floats:
        if not len(self.failed_ms):
            return self.successful_ms
        return np.sort(np.concatenate([self.successful_ms, self.failed_ms]), kind="stable")

    def cell(self, name: str) -> Cell:
        """The header's percentile: over offered demand, or of what was sent where that is unknown.

        Raises:
            Unknown: if only a summary was kept, and it does not have this percentile.
        """
        if self.totals is not None:
            return self.totals.cell(name, self.offered, self.censored if self.kind == "offered" else 0)
        if self.kind == "sent":
            return cell(self.sent_ms, name)
        if not self.requests_per_iteration and not self.sent:
            return Cell("empty", 0)
        return cell(self.successful_ms, name, self.censored)

    @property
    def shown(self) -> Literal["offered", "sent"]:
        """What the cells are over: a summary's quantiles stay those of what was sent if demand was lost."""
        return "sent" if self.totals is not None and self.censored else self.kind

    def cell_of_successful(self, name: str) -> Cell:
        if self.totals is not None:
            value = self.totals.successful_ms.get(name)
            return Cell("ok" if value is not None else "empty", self.successful, value)
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
def latency(
    requests: Requests | None,
    plan: Plan,
    timeline: Timeline,
    accounting: Accounting,
    counted: CountSources,
    store: FactStore,
) -> Latency:
    """The populations of the window. Without any request the cells are empty, not unknown."""
    if requests is None and not counted.summaries:
        store.get(Requests)  # says why
    by_key: dict[Key, Population] = {}
    for key in accounting.whole:
        one = plan.keys.get(key)
        if one is not None and one.support:
            continue
        summary = counted.summaries.get(key.generator)
        if summary is None:
            by_key[key] = _population(key, requests or store.get(Requests), plan, timeline, accounting)
        else:
            alone = sum(k.generator == key.generator for k in accounting.whole) == 1
            by_key[key] = _population_of_summary(key, summary, plan, accounting, alone=alone)
    by_scenario = {
        scenario: pool([p for k, p in by_key.items() if k.scenario == scenario])
        for scenario in dict.fromkeys(k.scenario for k in by_key)
    }
    metric = requests.metric if requests is not None else HTTP
    return Latency(metric, pool(list(by_scenario.values())), by_scenario)


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
        surely = clock.inside(own.start_ns, slack_ns=NS_PER_MS, surely=True)
        failed = np.sort(own.duration_ms[inside & surely & own.failed])
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


def _population_of_summary(
    key: Key, summary: Summary, plan: Plan, accounting: Accounting, *, alone: bool
) -> Population:
    """Totals of the whole run, setup() included; only of a scenario's submetrics if there are several."""
    counts = accounting.window[key]
    suffix = "" if alone else f"{{scenario:{key.scenario}}}"
    sent = round(summary.value(f"http_reqs{suffix}", "count") or 0)
    failed = round(summary.value(f"http_req_failed{suffix}", "passes") or 0)
    per_iteration = Fraction(sent, counts.completed) if counts.completed and sent else None
    one = plan.keys.get(key)
    planned = one is not None and one.schedule is not None
    none = np.empty(0, dtype=np.float64)
    return Population(
        kind="offered" if planned else "sent",
        successful_ms=none,
        failed_ms=none,
        interrupted=counts.interrupted,
        dropped=counts.dropped if planned else 0,
        silent=counts.silent,
        unsent=round_half_up(float(per_iteration * counts.lost)) if planned and per_iteration else 0,
        requests_per_iteration=float(per_iteration) if per_iteration is not None else None,
        totals=SummaryTotals(
            path=summary.path,
            successful=max(sent - failed, 0),
            failed=min(failed, sent),
            sent_ms=_quantiles(summary, f"{HTTP}{suffix}"),
            successful_ms=_quantiles(summary, f"{HTTP}{{expected_response:true}}") if alone else {},
        ),
    )


def _quantiles(summary: Summary, metric: str) -> dict[str, float]:
    found = {name: summary.value(metric, key) for name, key in {**SUMMARY_KEYS, "max": "max"}.items()}
    return {name: value for name, value in found.items() if value is not None}


def pool(parts: list[Population]) -> Population:
    """One population of several; offered only if it is offered in every part.

    Raises:
        Unknown: if a part has totals only: percentiles of several summaries cannot be merged.
    """
    if len(parts) == 1:
        return parts[0]
    if any(p.totals is not None for p in parts):
        raise Unknown(
            "percentiles of several summaries cannot be merged",
            "keep the points of every generator",
            missing=Missing.POINTS,
        )
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
    """One ascending array of several."""
    return np.sort(np.concatenate(parts), kind="stable") if parts else np.empty(0, dtype=np.float64)
