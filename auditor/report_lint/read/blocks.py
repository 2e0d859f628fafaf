"""A report as people see it: headings, tables, pairs and lines, in order, whatever it was written in."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_TEXT = 2_000
"""Characters kept of one cell or line: no field is longer, and patterns stay cheap on hostile input."""


@dataclass(frozen=True)
class Heading:
    text: str
    where: str


@dataclass(frozen=True)
class Line:
    """A line of text that stands by itself."""

    text: str
    where: str


@dataclass(frozen=True)
class Machine:
    """What an element says in attributes: `data-field`, `data-value`, `data-unit`, `data-status`."""

    field: str
    value: str
    unit: str
    status: str


@dataclass(frozen=True)
class Pair:
    """A label with its value: a definition list's entry, or an element that names its field."""

    label: str
    value: str
    where: str
    machine: Machine | None = None


@dataclass(frozen=True)
class Row:
    cells: tuple[str, ...]
    where: str
    heads: int = 0
    """How many of its cells are header cells."""
    machine: Machine | None = None


@dataclass(frozen=True)
class Table:
    rows: tuple[Row, ...]


Block = Heading | Line | Pair | Table


def tidy(text: str) -> str:
    """One line, single spaces, bounded."""
    return " ".join(text[: 4 * LONGEST_TEXT].split())[:LONGEST_TEXT]
