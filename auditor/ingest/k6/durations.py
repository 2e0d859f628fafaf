"""Durations as Go and k6 write them: "1m30s", "500ms", "1h0m0s", "1d", or a number of milliseconds."""

from __future__ import annotations

import re
from fractions import Fraction

_UNITS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "μs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}
_LONGEST_S = 292 * 366 * 86400
"""Go counts a duration in 64 bits of nanoseconds."""
_PART = re.compile(r"(\d+(?:\.\d+)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?$")


def seconds(text: str | int | float) -> Fraction:
    """The duration in seconds, exact. A bare number is milliseconds, as in k6's options.

    Raises:
        ValueError: if it is not a duration, or negative.
    """
    if isinstance(text, bool):
        raise ValueError(f"not a duration: {text!r}")
    if isinstance(text, int | float):
        value = Fraction(text) / 1000
        if value < 0:
            raise ValueError(f"negative duration: {text!r}")
        return _bounded(value)
    text = text.strip()
    if _NUMBER.match(text):
        return _bounded(Fraction(text) / 1000)
    at, total = 0, Fraction(0)
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            raise ValueError(f"not a duration: {text!r}")
        total += Fraction(part[1]) * _UNITS[part[2]]
        at = part.end()
    if at == 0:
        raise ValueError("empty duration")
    return _bounded(total)


def _bounded(value: Fraction) -> Fraction:
    if value > _LONGEST_S:
        raise ValueError("a duration longer than k6 can count")
    return value
