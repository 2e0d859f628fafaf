"""Requests held to one constant rate below the demand: what a limit inside k6 (`--rps`) leaves in the points.

Such a limit delays requests inside iterations that start on time: no start is late, no request is slow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from auditor.facts.iterations import Iterations
from auditor.facts.requests import Requests
from auditor.facts.store import provides
from auditor.samples.reduce import Floats
from auditor.units import NS_PER_S

SPAN_S = 10
"""For so long the rate must stay."""
STEADY = 0.01
"""Share of the rate by which a second may differ from it, or one request, which falls on either side."""


@dataclass(frozen=True)
class HeldBack:
    """Of one generator: seconds in a row whose request rate kept to one constant below the demand."""

    per_s: float
    demand_per_s: float
    """Iterations that started then × requests per iteration."""
    from_ns: int
    seconds: int


@dataclass(frozen=True)
class Throttle:
    """By generator, for those whose requests were held back."""

    by_generator: Mapping[str, HeldBack]


@provides
def throttle(requests: Requests, iterations: Iterations) -> Throttle:
    """Look for a constant rate of request starts, all scenarios of a process together, as k6 counts them."""
    found: dict[str, HeldBack] = {}
    for name, own in requests.by_generator.items():
        starts = [i.start_ns for key, i in iterations.by_key.items() if key.generator == name]
        begun = np.concatenate(starts) if starts else np.empty(0, np.int64)
        if own.samples.coarse_ns or not len(own) or not len(begun):
            continue
        first_ns = int(min(begun.min(), own.start_ns.min()))
        made = _by_second(own.start_ns, first_ns)
        due = _by_second(begun, first_ns) * (len(own) / len(begun))
        held = _held(made, due)
        if held is not None:
            at, seconds = held
            span = slice(at, at + seconds)
            found[name] = HeldBack(
                float(made[span].mean()), float(due[span].mean()), first_ns + at * NS_PER_S, seconds
            )
    return Throttle(found)


def _by_second(time_ns: np.ndarray, first_ns: int) -> Floats:
    return np.bincount((time_ns - first_ns) // NS_PER_S).astype(np.float64)


def _held(made: Floats, due: Floats) -> tuple[int, int] | None:
    """(first second, how many) of the longest stretch at one rate that is below the demand."""
    best: tuple[int, int] | None = None
    n = min(len(made), len(due))
    for at in range(n - SPAN_S + 1):
        if best is not None and at < best[0] + best[1]:
            continue
        rate = float(made[at : at + SPAN_S].mean())
        slack = max(STEADY * rate, 1.0)
        steady = np.abs(made[at:n] - rate) <= slack
        length = len(steady) if steady.all() else int(np.argmin(steady))
        if length < SPAN_S or rate >= (1 - STEADY) * float(due[at : at + length].mean()):
            continue
        if best is None or length > best[1]:
            best = at, length
    return best
