"""Durations and rates as people write them on the command line and in the config."""

from __future__ import annotations

import re
from fractions import Fraction

from auditor.errors import AuditError

_RATE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(?:/?\s*(s|m|min|h)|/1([smh]))?\s*$")
_PER_S = {"s": 1, "m": 60, "min": 60, "h": 3600}
_DURATION = re.compile(r"^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$")

LONGEST_S = 366 * 86_400


def duration_s(text: str | int | float, where: str = "") -> Fraction:
    """A duration of the command line or the config: "30s", "1m30s", "500ms"; a bare 0 is 0 s.

    Raises:
        AuditError: if it is none.
    """
    plain = str(text).strip()
    if plain in ("0", "0.0"):
        return Fraction(0)
    if not _DURATION.match(plain):
        raise AuditError(f"not a duration: {text!r}", where=where, fix='write it with a unit, as in "30s"')
    if len(plain) > 40:
        raise AuditError(f"{plain[:20]}… is too long for a duration", where=where)
    units = {"ms": Fraction(1, 1000), "s": Fraction(1), "m": Fraction(60), "h": Fraction(3600)}
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", plain)
    total = sum((Fraction(n) * units[u] for n, u in parts), Fraction(0))
    if total > LONGEST_S:
        raise AuditError(f"{text!r} is longer than any test", where=where)
    return total


def rate_per_s(text: str | int | float, where: str = "") -> Fraction:
    """A rate: 300, "300/s", "18000/m".

    Raises:
        AuditError: if it is none, or not above zero.
    """
    found = _RATE.match(str(text))
    if found is None or Fraction(found[1]) <= 0:
        raise AuditError(f"not a rate: {text!r}", where=where, fix='write it as 300 or "300/s"')
    return Fraction(found[1]) / _PER_S[found[2] or found[3] or "s"]
