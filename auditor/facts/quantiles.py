"""Percentiles over offered demand: exact, with censored demand as +∞ and order-statistic intervals.

Definitions: docs/semantics.md §4. A percentile is k6's own: linear interpolation at h = p·(n − 1). Demand
that never became a successful answer has no latency; it counts as +∞, and where the rank falls on it the
percentile is *not identified*: only "at least the largest finite value" can be said.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from auditor.fields import CONFIDENCE, MINIMUM_N, PERCENTILES

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class Cell:
    """One percentile of one population.

    ``value`` is in the unit of the samples (ms). ``interval`` is the 95 % interval; its upper end may be
    infinite. ``at_least`` is set where the percentile is not identified.
    """

    status: Literal["ok", "too-few", "not-identified", "empty"]
    n: int
    value: float | None = None
    interval: tuple[float, float] | None = None
    at_least: float | None = None


def allowed_without_latency(p: float, n: int) -> int:
    """How many of n samples may be +∞ so that the p-quantile still falls on a finite one; 0 at least.

    The rank test of semantics §4, valid whatever n is. ``p`` is taken as the decimal it is written as: in
    binary, 0.99 × 100 is not 99.
    """
    return max(n - 1 - math.ceil(Fraction(str(p)) * (n - 1)), 0)


def identified(p: float, n: int, n_censored: int) -> bool:
    """Whether the p-quantile of n samples falls on finite values when n_censored of them are +∞."""
    return n_censored < n and n_censored <= allowed_without_latency(p, n)


def percentile(ordered: npt.NDArray[np.float64], p: float, n: int) -> float:
    """Linear interpolation at h = p·(n − 1) on the finite ascending values; the rest of the n are +∞."""
    h = p * (n - 1)
    low = min(math.floor(h + 1e-9), len(ordered) - 1)
    high = min(low + 1, len(ordered) - 1)
    fraction = max(0.0, h - low)
    return float(ordered[low] + (ordered[high] - ordered[low]) * fraction)


@functools.lru_cache(maxsize=256)
def interval_ranks(n: int, p: float) -> tuple[int, int] | None:
    """Ranks (1-based) of the order statistics that enclose the p-quantile with 95 % confidence.

    Lower: the largest l with P(B < l) ≤ 2.5 %; upper: the smallest u with P(B ≥ u) ≤ 2.5 %, where B is
    binomial(n, p), the number of samples below the true quantile. None if n is too small for either.
    """
    from scipy.special import bdtrik

    alpha = (1 - CONFIDENCE) / 2
    # l − 1 is the largest k with P(B ≤ k) ≤ 2.5 %; u − 1 the smallest with P(B > k) ≤ 2.5 %.
    below = [k for k in _around(float(bdtrik(alpha, n, p)), n) if _at_most(k, n, p) <= alpha]
    above = [k for k in _around(float(bdtrik(1 - alpha, n, p)), n) if 1 - _at_most(k, n, p) <= alpha]
    if not below or not above:
        return None
    low, high = below[-1] + 1, above[0] + 1
    return (low, high) if low >= 1 and high <= n else None


def _around(k: float, n: int) -> range:
    """Whole numbers near a real one: the inverse interpolates, and is nearly exact."""
    middle = math.floor(k) if math.isfinite(k) else 0
    return range(max(0, middle - 3), min(n, middle + 3) + 1)


def _at_most(k: int, n: int, p: float) -> float:
    """P(B ≤ k) of a binomial(n, p)."""
    from scipy.special import bdtr

    return float(bdtr(k, n, p))


def cell(ordered: npt.NDArray[np.float64], name: str, n_censored: int = 0) -> Cell:
    """The percentile ``name`` of finite ascending values plus ``n_censored`` times +∞."""
    p = dict(PERCENTILES)[name]
    n = len(ordered) + n_censored
    if n == 0:
        return Cell("empty", 0)
    if n < MINIMUM_N[name]:
        return Cell("too-few", n)
    if not identified(p, n, n_censored):
        return Cell("not-identified", n, at_least=float(ordered[-1]) if len(ordered) else 0.0)
    return Cell("ok", n, value=percentile(ordered, p, n), interval=_interval(ordered, p, n))


def _interval(ordered: npt.NDArray[np.float64], p: float, n: int) -> tuple[float, float] | None:
    ranks = interval_ranks(n, p)
    if ranks is None:
        return None
    low, high = ranks
    upper = float(ordered[high - 1]) if high <= len(ordered) else math.inf
    lower = float(ordered[low - 1]) if low <= len(ordered) else math.inf
    return lower, upper


def round_half_up(x: float) -> int:
    return math.floor(x + 0.5)
