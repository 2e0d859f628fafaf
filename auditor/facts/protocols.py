"""What became of the requests of every protocol in the window, not only of the one that the header is about.

Definitions: docs/semantics.md §4 "Failure". Shares are kept for each metric, so that a small protocol that is
dead cannot drown in a large one that works.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from auditor.evidence import Evidence
from auditor.facts.errors import in_window
from auditor.facts.plan import Plan
from auditor.facts.requests import GeneratorRequests, outcome_told, requests_of, system_tags
from auditor.facts.samples import Samples
from auditor.facts.store import provides
from auditor.facts.timeline import Timeline
from auditor.samples.reduce import PROTOCOL_DURATIONS

PROTOCOLS = {
    "http_req_duration": "HTTP requests",
    "grpc_req_duration": "gRPC calls",
    "browser_http_req_duration": "browser requests",
    "ws_connecting": "WebSocket handshakes",
}
"""What a sample of each protocol's metric stands for, in words."""


@dataclass(frozen=True)
class Outcomes:
    """The requests of one protocol that started in the window (support scenarios left out)."""

    metric: str
    sent: int
    failed: int
    untold: int
    """Of which no evidence says whether they failed."""
    statuses: Mapping[str, int]
    """Of the failed ones: status tag ("" without one) -> count, most frequent first."""

    @property
    def name(self) -> str:
        return PROTOCOLS.get(self.metric, self.metric)

    @property
    def failed_share(self) -> float:
        """Failed ÷ those that have a sample."""
        return self.failed / self.sent if self.sent else 0.0


@dataclass(frozen=True)
class Protocols:
    """By metric, for those that have a request in the window; and by (metric, scenario)."""

    by_metric: Mapping[str, Outcomes]
    by_scenario: Mapping[tuple[str, str], Outcomes]


@provides
def protocols(samples: Samples, plan: Plan, timeline: Timeline, evidence: Evidence) -> Protocols:
    """Sent, failed and untold requests of each protocol."""
    by_metric: dict[str, Outcomes] = {}
    by_scenario: dict[tuple[str, str], Outcomes] = {}
    for metric in PROTOCOL_DURATIONS:
        parts: list[_Part] = []
        for name, generator in samples.by_generator.items():
            planned = [k.scenario for k in plan.keys if k.generator == name]
            tags = system_tags(evidence, name)
            own = requests_of(name, generator, metric, planned, tags)
            if not len(own):
                continue
            inside = in_window(own, plan, timeline)
            surely = in_window(own, plan, timeline, surely=True)
            told = outcome_told(generator, own.tagset, metric, tags)
            parts.append(_Part(own, inside, surely & own.failed, inside & ~told))
        if any(part.inside.any() for part in parts):
            by_metric[metric] = _counted(metric, parts)
        for scenario in dict.fromkeys(s for part in parts for s in part.requests.scenarios):
            found = _counted(metric, [part.of(scenario) for part in parts])
            if found.sent:
                by_scenario[metric, scenario] = found
    return Protocols(by_metric, by_scenario)


@dataclass(frozen=True)
class _Part:
    """One generator's requests, and masks of them."""

    requests: GeneratorRequests
    inside: np.ndarray
    failed: np.ndarray
    untold: np.ndarray

    def of(self, scenario: str) -> _Part:
        mine = self.requests.of(scenario)
        return _Part(self.requests, self.inside & mine, self.failed & mine, self.untold & mine)


def _counted(metric: str, parts: list[_Part]) -> Outcomes:
    statuses: dict[str, int] = {}
    for part in parts:
        ids, counts = np.unique(part.requests.tagset[part.failed], return_counts=True)
        status = part.requests.samples.tag("status")
        for tagset, count in zip(ids.tolist(), counts.tolist(), strict=True):
            statuses[status[tagset]] = statuses.get(status[tagset], 0) + count
    return Outcomes(
        metric=metric,
        sent=sum(int(part.inside.sum()) for part in parts),
        failed=sum(int(part.failed.sum()) for part in parts),
        untold=sum(int(part.untold.sum()) for part in parts),
        statuses=dict(sorted(statuses.items(), key=lambda s: (-s[1], s[0]))),
    )
