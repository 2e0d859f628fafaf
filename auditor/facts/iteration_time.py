"""What the time and the bytes of completed iterations went into: requests, sleep, or nothing that is recorded.

Requests are those of all protocols, outside setup() and teardown(). A request has no mark of its iteration, so
what is said of single iterations is a lower bound (docs/semantics.md §8).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from auditor.evidence import Evidence, GeneratorEvidence, ScriptText
from auditor.facts.iterations import Iterations as AllIterations
from auditor.facts.iterations import KeyIterations, as_ns
from auditor.facts.keys import Key
from auditor.facts.plan import StatedPlan
from auditor.facts.requests import GeneratorRequests, aligned, requests_of, system_tags
from auditor.facts.samples import Samples
from auditor.facts.store import provides
from auditor.samples.columns import GeneratorSamples
from auditor.samples.reduce import PROTOCOL_DURATIONS, Ints
from auditor.units import NS_PER_MS

SLACK_NS = NS_PER_MS
"""A request's stamp may differ from its iteration's by the time between two readings of the clock."""
UNTIMED = ("ws_sessions", "grpc_streams", "browser_http_req_duration", "browser_data_sent")
"""Metrics of protocols whose work in an iteration no sample measures whole."""


@dataclass(frozen=True)
class KeyIterationTime:
    """Completed iterations of one key, and what explains them."""

    key: Key
    completed: int
    requests: int
    without_request: int
    """Completed iterations that made no request: at least so many."""
    with_bytes: int | None
    """Completed iterations that sent bytes; None without `data_sent`."""
    bytes_without_request: int
    """Completed iterations that sent bytes and have no request: at least so many."""
    iteration_ms: float
    """Mean."""
    requests_ms: float | None
    """Client-felt time of the requests, per completed iteration; None if a protocol's time is not recorded."""


@dataclass(frozen=True)
class IterationTime:
    """By key, for those with completed iterations whose duration is known."""

    by_key: Mapping[Key, KeyIterationTime]


@provides
def iteration_time(
    samples: Samples, iterations: AllIterations, plan: StatedPlan, evidence: Evidence
) -> IterationTime:
    """Put iterations and the requests of all protocols side by side."""
    found: dict[Key, KeyIterationTime] = {}
    for name, own in samples.by_generator.items():
        planned = [key.scenario for key in plan.keys if key.generator == name]
        tags = system_tags(evidence, name)
        made = [requests_of(name, own, metric, planned, tags) for metric in PROTOCOL_DURATIONS]
        for key, mine in iterations.by_key.items():
            if key.generator == name and len(mine.start_ns):
                found[key] = _of(key, own, mine, [one for one in made if len(one)])
    return IterationTime(found)


def _of(
    key: Key, own: GeneratorSamples, mine: KeyIterations, protocols: list[GeneratorRequests]
) -> KeyIterationTime:
    n = len(mine.start_ns)
    masks = [one.of(key.scenario) if key.scenario else np.ones(len(one), dtype=bool) for one in protocols]
    ends: Ints = np.sort(
        np.concatenate(
            [one.end_ns[mask] for one, mask in zip(protocols, masks, strict=True)] or [np.empty(0, np.int64)]
        )
    )
    felt_ms = sum(float(one.felt_ms[mask].sum()) for one, mask in zip(protocols, masks, strict=True))
    durations = own.of_scenario(own.column("iteration_duration"), key.scenario)
    empty = np.zeros(len(durations), dtype=bool)
    if not own.coarse_ns:
        start = durations.time_ns - as_ns(durations.value)
        inside = np.searchsorted(ends, durations.time_ns + SLACK_NS, side="right")
        empty = inside == np.searchsorted(ends, start - SLACK_NS, side="left")
    sent = own.of_scenario(own.column("data_sent"), key.scenario)
    has_bytes = aligned(durations, sent) > 0
    known = bool(len(sent))
    return KeyIterationTime(
        key=key,
        completed=n,
        requests=len(ends),
        without_request=max(n - len(ends), int(empty.sum()), 0),
        with_bytes=int(has_bytes.sum()) if known else None,
        bytes_without_request=max(int(has_bytes.sum()) - len(ends), int((empty & has_bytes).sum()), 0),
        iteration_ms=float(mine.duration_ms.mean()),
        requests_ms=None if any(own.count_of.get(metric) for metric in UNTIMED) else felt_ms / n,
    )


def script_of(generator: GeneratorEvidence) -> ScriptText | None:
    """The script's text, where it was read."""
    return next((source.script for source in generator.option_sources if source.script is not None), None)
