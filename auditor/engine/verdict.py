"""What the outcomes of rules make of a run: the verdict, its words, its exit code, the order of severities.

Every command, renderer and rule that needs one of these asks here.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Verdict = Literal["VALID", "INVALID", "NOT PROVEN"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

Severity = Literal["invalid", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The most severe first."""

Outcome = Literal["pass", "fail", "unknown", "not-applicable", "error", "waived"]


class CommandExit(enum.IntEnum):
    """How every command exits."""

    VALID = 0
    INVALID = 1
    COULD_NOT_RUN = 2
    NOT_PROVEN = 3


@dataclass(frozen=True)
class Judged:
    """What the verdict needs to know of one rule's result."""

    outcome: str
    severity: str
    """The highest among its findings, else its base."""
    base_severity: str

    @property
    def is_open(self) -> bool:
        """Whether the rule could not be judged: the evidence does not say, or the rule broke."""
        return self.outcome in ("unknown", "error")

    @property
    def invalidates(self) -> bool:
        """Whether this alone makes a run INVALID."""
        return self.outcome == "fail" and self.severity == "invalid"

    @property
    def blocks(self) -> bool:
        """Whether this keeps a run from being proven: only an open rule that could have found it invalid."""
        return self.is_open and self.base_severity == "invalid"


def verdict_of(judged: Iterable[Judged], *, guarded: bool = True) -> Verdict:
    """The verdict. ``guarded``: whether the rule that guards the audit itself ran; without it nothing is
    proven."""
    every = list(judged)
    if any(one.invalidates for one in every):
        return "INVALID"
    return "NOT PROVEN" if not guarded or any(one.blocks for one in every) else "VALID"


def accepts(judged: Iterable[Judged]) -> bool:
    """Whether a linted report is accepted: nothing about it is known to be wrong, nothing that counts open."""
    return verdict_of(judged) == "VALID"


def verdict_words(verdict: str, waived: int) -> str:
    """The verdict as it is always written: waivers are never silent."""
    return f"{verdict}, {waived} waived" if waived else verdict


def exit_code(verdict: str, *, fail_on: str | None = None, warned: bool = False) -> CommandExit:
    """The exit code of a verdict; with ``fail_on`` "warning", a failed warning exits like an invalid run.

    Raises:
        KeyError: if there is no such verdict.
    """
    if verdict == "VALID" and fail_on == "warning" and warned:
        return CommandExit.INVALID
    return CommandExit[verdict.replace(" ", "_")]


def lint_exit_code(*, accepted: bool, run_verdict: str, complete: bool) -> CommandExit:
    """The exit code of a linted report.

    ``run_verdict`` is the verdict of the run beside it, or what the report says (any text); ``complete``:
    whether no rule that counts was left out.
    """
    if not accepted or run_verdict == "INVALID":
        return CommandExit.INVALID
    return CommandExit.NOT_PROVEN if run_verdict == "NOT PROVEN" or not complete else CommandExit.VALID


def severity_rank(severity: str) -> int:
    """0 for the most severe: a key to sort by."""
    return SEVERITIES.index(severity)


def highest(severities: Iterable[Severity], base: Severity) -> Severity:
    """The most severe of these; the base severity if there are none."""
    found: Sequence[Severity] = list(severities)
    return min(found, key=severity_rank) if found else base
