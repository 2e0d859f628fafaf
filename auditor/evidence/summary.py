"""k6's end-of-test summary in any of its forms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class SummaryMetric:
    """One metric (or submetric) of an end-of-test summary.

    ``values`` has k6's own keys: count, rate, value, passes (samples that are not zero), fails, avg, min, med,
    max, p(90), … Times are ms.
    """

    name: str
    values: Mapping[str, float]
    crossed: Mapping[str, bool] = field(default_factory=dict)
    """Threshold expression -> whether it was crossed, whatever polarity the file writes."""
    steps: Mapping[str, float] = field(default_factory=dict)
    """By how much a printed figure may differ from k6's own, which it was cut from; exact where not listed."""


@dataclass(frozen=True)
class Summary:
    """Totals that k6 wrote at the end of a test: everything, setup() included, no window."""

    path: str
    kind: str
    """"legacy export", "handleSummary data", "machine-readable" or "console text"."""
    metrics: Mapping[str, SummaryMetric]
    duration_s: float | None = None
    k6_version: str = ""
    unread: frozenset[str] = frozenset()
    """Metrics that are there and whose values could not be read: neither absent nor 0."""

    def value(self, metric: str, key: str) -> float | None:
        found = self.metrics.get(metric)
        return None if found is None else found.values.get(key)


# --- the generator's host -----------------------------------------------------------------------------
