"""Failed requests of the window, by cause (docs/formats.md has k6's error codes)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from auditor.evidence import Evidence
from auditor.facts.plan import Plan
from auditor.facts.requests import NS_PER_MS, GeneratorRequests, Requests
from auditor.facts.store import provides
from auditor.facts.timeline import Timeline

CLIENT_CODES = frozenset(range(1200, 1214))
"""TCP errors at the generator: dial, timeout, refused."""
DNS_CODES = frozenset(range(1100, 1112))
SOFT_CODES = frozenset({1212, 1220})
"""Refused and reset can be the system's doing."""
HARD_TEXTS = ("cannot assign requested address", "too many open files")
_LOG_HARD = ("address", "files", "dns")
_LOG_SOFT = ("refused", "reset")


@dataclass(frozen=True)
class ErrorCause:
    """Requests of the window that failed alike."""

    status: str
    error_code: str
    error: str
    name: str
    count: int


@dataclass(frozen=True)
class Errors:
    """Failures among the requests of the window (support scenarios left out)."""

    requests: int
    failed: int
    causes: tuple[ErrorCause, ...]
    """Most frequent first."""
    zero_ms: int
    """Failed with status 0 and a duration of 0 ms: never sent, and yet in k6's trend."""
    pulled: Mapping[str, tuple[float, float]]
    """p50 and p95 of what was sent: (with the zeros, without them), ms."""
    client_hard: int
    """Generator-side failures: addresses, open files, DNS, dial."""
    client_soft: int
    """Refused or reset."""


@provides
def errors(requests: Requests, plan: Plan, timeline: Timeline, evidence: Evidence) -> Errors:
    """Counts by cause; the log's own words where the samples lack the tags."""
    causes: Counter[tuple[str, str, str, str]] = Counter()
    total = failed = zeros = 0
    durations: list[np.ndarray] = []
    zero_masks: list[np.ndarray] = []
    for own in requests.by_generator.values():
        inside = in_window(own, plan, timeline)
        total += int(inside.sum())
        bad = in_window(own, plan, timeline, surely=True) & own.failed
        failed += int(bad.sum())
        causes += _causes(own, bad)
        status = own.samples.tag("status", "?")
        zero = bad & (own.duration_ms == 0) & (status == "0")[own.tagset] if len(own) else bad
        zeros += int(zero.sum())
        durations.append(own.duration_ms[inside])
        zero_masks.append(zero[inside])
    hard, soft = _client_side(causes)
    if causes and not any(code or text for _, code, text, _ in causes):
        # The tags were switched off: k6's log still tells, over the whole run.
        hard, soft = _logged(evidence)
    return Errors(
        requests=total,
        failed=failed,
        causes=tuple(
            ErrorCause(*cause, count) for cause, count in sorted(causes.items(), key=lambda c: (-c[1], c[0]))
        ),
        zero_ms=zeros,
        pulled=_pulled(np.concatenate(durations), np.concatenate(zero_masks)) if zeros else {},
        client_hard=hard,
        client_soft=soft,
    )


def in_window(own: GeneratorRequests, plan: Plan, timeline: Timeline, *, surely: bool = False) -> np.ndarray:
    """Which requests of a generator started in the window of their scenario; support scenarios left out.
    ``surely``: without those that coarse stamps leave open."""
    inside = np.zeros(len(own), dtype=bool)
    for key, clock in timeline.keys.items():
        planned = plan.keys.get(key)
        if key.generator == own.generator and not (planned and planned.support) and clock.window_s > 0:
            inside |= own.of(key.scenario) & clock.inside(own.start_ns, slack_ns=NS_PER_MS, surely=surely)
    return inside


def _causes(own: GeneratorRequests, bad: np.ndarray) -> Counter[tuple[str, str, str, str]]:
    found: Counter[tuple[str, str, str, str]] = Counter()
    ids, counts = np.unique(own.tagset[bad], return_counts=True)
    for tagset, count in zip(ids.tolist(), counts.tolist(), strict=True):
        tags = dict(own.samples.tagsets[tagset])
        found[
            (tags.get("status", ""), tags.get("error_code", ""), tags.get("error", ""), tags.get("name", ""))
        ] += count
    return found


def _client_side(causes: Counter[tuple[str, str, str, str]]) -> tuple[int, int]:
    hard = soft = 0
    for (_, code, text, _), count in causes.items():
        number = int(code) if code.isdigit() else 0
        if any(words in text for words in HARD_TEXTS):
            hard += count
        elif number in SOFT_CODES:
            soft += count
        elif number in CLIENT_CODES or number in DNS_CODES:
            hard += count
    return hard, soft


def _logged(evidence: Evidence) -> tuple[int, int]:
    logs = [g.log for g in evidence.generators if g.log is not None]
    hard = sum(log.requests_failed.get(kind, 0) for log in logs for kind in _LOG_HARD)
    soft = sum(log.requests_failed.get(kind, 0) for log in logs for kind in _LOG_SOFT)
    return hard, soft


def _pulled(durations: np.ndarray, zero: np.ndarray) -> dict[str, tuple[float, float]]:
    without = durations[~zero]
    if not len(without):
        return {}
    return {
        name: (float(np.percentile(durations, p)), float(np.percentile(without, p)))
        for name, p in (("p50", 50), ("p95", 95))
    }
