"""Failed requests of the window, by cause (docs/formats.md has k6's error codes)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from auditor.evidence import Evidence
from auditor.facts.plan import Plan
from auditor.facts.requests import GeneratorRequests, Requests
from auditor.facts.store import provides
from auditor.facts.timeline import Timeline
from auditor.units import NS_PER_MS

CLIENT_CODES = frozenset(range(1200, 1214))
"""TCP errors at the generator: dial, timeout, refused."""
DNS_CODES = frozenset(range(1100, 1112))
SOFT_CODES = frozenset({1212, 1220})
"""Refused and reset can be the system's doing."""
HARD_TEXTS = ("cannot assign requested address", "too many open files")
HARD_LOG_KINDS = ("address", "files", "dns")
"""Kinds of failures in k6's log that are the generator's own."""
SOFT_LOG_KINDS = ("refused", "reset")
"""Kinds that can be the system's doing."""


@dataclass(frozen=True)
class ErrorCause:
    """Requests of the window that failed alike."""

    status: str
    error_code: str
    error: str
    name: str
    count: int

    @property
    def client_side(self) -> Literal["hard", "soft", ""]:
        """Whether it failed at the generator: by its own fault, or refused or reset; empty for neither."""
        code = int(self.error_code) if self.error_code.isdigit() else 0
        if any(words in self.error for words in HARD_TEXTS):
            return "hard"
        if code in SOFT_CODES:
            return "soft"
        return "hard" if code in CLIENT_CODES or code in DNS_CODES else ""


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
    counts: Counter[tuple[str, str, str, str]] = Counter()
    total = failed = zeros = 0
    durations: list[np.ndarray] = []
    zero_masks: list[np.ndarray] = []
    for own in requests.by_generator.values():
        inside = in_window(own, plan, timeline)
        total += int(inside.sum())
        bad = in_window(own, plan, timeline, surely=True) & own.failed
        failed += int(bad.sum())
        counts += _causes(own, bad)
        status = own.samples.tag("status", "?")
        zero = bad & (own.duration_ms == 0) & (status == "0")[own.tagset] if len(own) else bad
        zeros += int(zero.sum())
        durations.append(own.duration_ms[inside])
        zero_masks.append(zero[inside])
    causes = tuple(ErrorCause(*what, n) for what, n in sorted(counts.items(), key=lambda c: (-c[1], c[0])))
    hard = sum(cause.count for cause in causes if cause.client_side == "hard")
    soft = sum(cause.count for cause in causes if cause.client_side == "soft")
    if causes and not any(cause.error_code or cause.error for cause in causes):
        # The tags were switched off: k6's log still tells, over the whole run.
        hard, soft = _logged(evidence)
    return Errors(
        requests=total,
        failed=failed,
        causes=causes,
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


def _logged(evidence: Evidence) -> tuple[int, int]:
    logs = [g.log for g in evidence.generators if g.log is not None]
    hard = sum(log.requests_failed.get(kind, 0) for log in logs for kind in HARD_LOG_KINDS)
    soft = sum(log.requests_failed.get(kind, 0) for log in logs for kind in SOFT_LOG_KINDS)
    return hard, soft


def _pulled(durations: np.ndarray, zero: np.ndarray) -> dict[str, tuple[float, float]]:
    without = durations[~zero]
    if not len(without):
        return {}
    return {
        name: (float(np.percentile(durations, p)), float(np.percentile(without, p)))
        for name, p in (("p50", 50), ("p95", 95))
    }
