"""Series for the figures: reduced with NumPy to few enough points, keeping what stands out."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from auditor.units import NS_PER_S

if TYPE_CHECKING:
    from auditor.samples.reduce import Ints

Reals = npt.NDArray[np.floating[Any]]
"""Of any precision."""
MOST_POINTS = 600
MOST_ROWS = 60
_WIDTHS_S = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600)


def thin(x: Reals, y: Reals, most: int = MOST_POINTS) -> tuple[Reals, Reals]:
    """At most ``most`` of the points, in order: the first, the last, and the lowest and highest of each
    stretch, so that no peak is lost."""
    n = len(x)
    if n <= most:
        return x, y
    stretches = max((most - 2) // 2, 1)
    edges = np.linspace(0, n, stretches + 1).astype(np.int64)
    filled = np.where(np.isnan(y), -np.inf, y)
    highest = [int(a + np.argmax(filled[a:b])) for a, b in itertools.pairwise(edges) if b > a]
    filled = np.where(np.isnan(y), np.inf, y)
    lowest = [int(a + np.argmin(filled[a:b])) for a, b in itertools.pairwise(edges) if b > a]
    keep = np.unique(np.array([0, *highest, *lowest, n - 1]))
    return x[keep], y[keep]


def as_series(x: Reals, y: Reals, digits: int = 2) -> dict[str, list[float | None]]:
    """A thinned series as plain values: NaN becomes null."""
    x, y = thin(x, y)
    return {"x": [_plain(v, 3) for v in x.tolist()], "y": [_plain(v, digits) for v in y.tolist()]}


def _plain(value: float, digits: int) -> float | None:
    if not np.isfinite(value):
        return None
    rounded = round(value, digits)
    return int(rounded) if rounded == int(rounded) else rounded


def rows(columns: list[Reals], digits: int = 2, worst: int | None = None) -> list[list[float | None]]:
    """The columns as at most `MOST_ROWS` rows. Of each stretch the first row stands for it, or the one in
    which column ``worst`` is highest."""
    n = len(columns[0])
    edges = np.linspace(0, n, min(n, MOST_ROWS) + 1).astype(np.int64)
    picked = []
    for a, b in itertools.pairwise(edges):
        at = int(a)
        if worst is not None:
            values = columns[worst][a:b]
            at = int(a + np.argmax(np.where(np.isnan(values), -np.inf, values)))
        picked.append([_plain(float(column[at]), digits) for column in columns])
    return picked


def per_bucket(times_ns: Ints, zero_ns: int, width_s: int, buckets: int, weights: Ints | None = None) -> Reals:
    """Counts in each bucket since ``zero_ns``; what lies outside is left out."""
    bucket = (times_ns - zero_ns) // (width_s * NS_PER_S)
    inside = (bucket >= 0) & (bucket < buckets)
    weight = None if weights is None else weights[inside].astype(np.float64)
    return np.bincount(bucket[inside], weight, minlength=buckets).astype(np.float64)


def bucket_s(length_s: float, count: int) -> int:
    """Width of a bucket of percentiles: at most 300 of them, and a hundred samples in each if it can be, but
    always at least ten buckets."""
    fine = max(length_s / 300, 1.0)
    full = 100 * length_s / max(count, 1)
    wanted = max(fine, min(full, length_s / 10))
    return next((w for w in _WIDTHS_S if w >= wanted - 1e-9), int(wanted / 3600 + 1) * 3600)


def bucket_percentiles(bucket: Ints, value: Reals, buckets: int, shares: tuple[float, ...]) -> list[Reals]:
    """Percentiles of each bucket, by k6's own interpolation; NaN where a bucket is empty."""
    order = np.lexsort((value, bucket))
    value = value[order]
    counts = np.bincount(bucket, minlength=buckets)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    found = []
    for share in shares:
        out = np.full(buckets, np.nan)
        full = counts > 0
        h = share * (counts[full] - 1)
        low = np.floor(h + 1e-9).astype(np.int64)
        high = np.minimum(low + 1, counts[full] - 1)
        base = first[full]
        out[full] = value[base + low] + (value[base + high] - value[base + low]) * np.maximum(h - low, 0)
        found.append(out)
    return found


def tail_curve(ordered: Reals, n: int, points: int = 240) -> dict[str, Any]:
    """The percentile curve of ``ordered`` values out of ``n``: x = −log10(1 − p), up to the last that is
    identified and to the rank of the largest of n."""
    if not len(ordered):
        return {"x": [], "y": []}
    x = np.linspace(0, np.log10(max(n, 2)), points)
    h = (1 - 10.0**-x) * (n - 1)
    known = np.ceil(h - 1e-9) <= len(ordered) - 1
    x, h = x[known], h[known]
    low = np.minimum(np.floor(h).astype(np.int64), len(ordered) - 1)
    high = np.minimum(low + 1, len(ordered) - 1)
    y = ordered[low] + (ordered[high] - ordered[low]) * (h - low)
    return {"x": np.round(x, 4).tolist(), "y": np.round(y, 3).tolist()}
