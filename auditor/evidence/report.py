"""A report as it was read: its fields, verdict and populations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping


Answer = Literal["value", "n/a", "none", "not-identified", "placeholder", "words"]
"""What stands in a field's place: a number; a reason why there is none ("n/a: ...", "none: closed model"); "at
least" a number; nothing (blank, "TBD", "NaN"); words without a number."""


@dataclass(frozen=True)
class ReportedField:
    """One field of a report's header as it is written there."""

    name: str
    label: str
    raw: str
    """The visible text of the value."""
    where: str
    order: int
    """Order of appearance among everything that was found."""
    how: Literal["name", "label", "json"]
    """Found by its machine name, by its label, or only in the embedded result."""
    answer: Answer
    value: float | None = None
    """In the field's own unit (/s, iterations, %, s, ms)."""
    unit: str = ""
    """The unit that is written, or named by label or note; empty if none is."""
    step: float = 0.0
    """One unit of the last printed digit of ``value``; 0 if it is exact."""
    shown: float | None = None
    """The number in the visible text, where ``value`` comes from an attribute."""
    shown_step: float = 0.0
    reason: str = ""
    detail: str = ""
    """What stands beside the value."""


@dataclass(frozen=True)
class ReportEvidence:
    """A report: what it says, found by machine name or by label. Nothing is judged here."""

    path: str
    sha256: str
    size_bytes: int
    format: Literal["html", "markdown", "json"]
    fields: Mapping[str, ReportedField]
    """By machine name; a field that was not found is not in it."""
    verdict: str = ""
    """"VALID", "INVALID", "NOT PROVEN", other words that stand for a verdict, or empty."""
    verdict_order: int | None = None
    verdict_meta: str = ""
    """The verdict in the page's metadata (own reports)."""
    populations: tuple[str, ...] = ()
    """"offered", "sent", "successful", "all", "expected_response": what the report says latency is of."""
    percentiles_of_expected: bool = False
    """Whether the percentiles stand in a row of k6's `expected_response:true`."""
    averages: tuple[str, ...] = ()
    """Where averages of latency stand."""
    failures: float | None = None
    """Failed requests, or their share: only whether it is above zero matters."""
    sha256_named: tuple[str, ...] = ()
    embedded: Mapping[str, Any] | None = None
    """The result that k6-audit wrote into its own report."""
    embedded_damaged: bool = False
    """Whether there is an embedded result that cannot be read."""
    notes: tuple[str, ...] = ()
