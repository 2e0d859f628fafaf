"""Which slots of the global schedule an execution segment runs (docs/semantics.md §9).

k6 does not give a segment a schedule of its own. It lays stripes over the global one: of every ``of`` slots
the segment runs those at fixed places, so that all segments together run each slot once. For arrival rates
the stripes are those of the VUs: segments are first rounded to whole VUs of maxVUs. Confirmed by running
k6 1.1.0 with several segments, sequences and pool sizes (tests/facts/test_stripes.py runs it again).
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.samples.reduce import Ints

MOST_PLACES = 1_000_000
"""A sequence whose common denominator is larger is not laid out: no test is split like that."""


@dataclass(frozen=True)
class Stripe:
    """Of every ``of`` slots of the global schedule those at the places ``at`` (ascending, counted from 0)."""

    of: int
    at: tuple[int, ...]

    @property
    def share(self) -> Fraction:
        """The part of all slots that it holds."""
        return Fraction(len(self.at), self.of)

    def count(self, slots: int) -> int:
        """How many of the first ``slots`` global slots are its own."""
        periods, rest = divmod(slots, self.of)
        return periods * len(self.at) + bisect.bisect_left(self.at, rest)

    def places(self, count: int) -> Ints:
        """Global numbers (from 0) of its first ``count`` slots."""
        periods = -(-count // len(self.at))
        at = np.arange(periods, dtype=np.int64)[:, None] * self.of + np.array(self.at, dtype=np.int64)
        return at.reshape(-1)[:count]


WHOLE = Stripe(1, (0,))
"""The stripe of a test that is not split."""


def stripes(lengths: Sequence[Fraction]) -> tuple[Stripe | None, ...]:
    """The stripes of segments that follow one another from 0 to 1, by their lengths; None for an empty one.

    Slots are dealt one by one. Slot i goes to the first segment, largest first, that is behind its share:
    one that holds n of its p places in ``of`` takes it if i ≥ n · of / p.

    Raises:
        ValueError: if the lengths do not add up to 1, or their common denominator is beyond MOST_PLACES.
    """
    if sum(lengths) != 1 or any(length < 0 for length in lengths):
        raise ValueError("the segments of a sequence must follow one another from 0 to 1")
    of = math.lcm(*(length.denominator for length in lengths))
    if of > MOST_PLACES:
        raise ValueError(f"segments of one in {of:,} are not laid out")
    places = [int(length * of) for length in lengths]
    largest_first = sorted((i for i, p in enumerate(places) if p), key=lambda i: -places[i])
    at: list[list[int]] = [[] for _ in lengths]
    for slot in range(of):
        for i in largest_first:
            if slot * places[i] >= len(at[i]) * of:
                at[i].append(slot)
                break
    return tuple(Stripe(of, tuple(mine)) if mine else None for mine in at)


def arrival_stripes(lengths: Sequence[Fraction], max_vus: int | None) -> tuple[Stripe | None, ...]:
    """The stripes of an arrival rate's slots: those of the segments once each is rounded to whole VUs.

    A segment that gets no VU has no work. Without maxVUs the segments themselves are laid out.

    Raises:
        ValueError: as `stripes`.
    """
    plain = stripes(lengths)
    if not max_vus:
        return plain
    vus = [stripe.count(max_vus) if stripe is not None else 0 for stripe in plain]
    return stripes([Fraction(n, max_vus) for n in vus])
