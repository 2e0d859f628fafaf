"""`k6-audit lint --each RUN...`: many runs, each audited by itself, and one table of what came out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor.engine.verdict import CommandExit
from auditor.errors import AuditError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from auditor.engine.audit import Audit

WORST_FIRST = (
    CommandExit.COULD_NOT_RUN,
    CommandExit.INVALID,
    CommandExit.NOT_PROVEN,
    CommandExit.VALID,
)
"""A run that could not be audited is worse than one that was found invalid: nothing at all is known of it."""
NOT_RUN = "could not run"


@dataclass(frozen=True)
class EachRun:
    """What came out of one run."""

    run: str
    verdict: str
    """As it is always written, waivers included; "could not run" if there is none."""
    cause: str
    """The root cause of an INVALID run, what is missing of one that is not proven, or the error."""
    exit_code: int
    rule: str = ""
    """The rule of the root cause."""


def audit_each(targets: Sequence[Path], audit_one: Callable[[Path], Audit]) -> list[EachRun]:
    """Audit each target by itself, in their order; one that cannot be audited does not stop the others."""
    found = []
    for target in targets:
        try:
            found.append(_row(str(target), audit_one(target)))
        except AuditError as error:
            found.append(EachRun(str(target), NOT_RUN, str(error), CommandExit.COULD_NOT_RUN))
    return found


def worst(rows: Sequence[EachRun]) -> CommandExit:
    """The exit code of them all."""
    codes = {row.exit_code for row in rows}
    return next(code for code in WORST_FIRST if code in codes)


def _row(run: str, result: Audit) -> EachRun:
    from auditor.present import view
    from auditor.present.json_v1 import document

    shown = view.build(document(result))
    if shown.root is not None:
        root = shown.root
        return EachRun(run, result.verdict_words, f"{root.id} {root.title}", result.exit_code, root.id)
    blocking = [question for question in shown.questions if question.blocking]
    cause = f"not known: {blocking[0].what}" if blocking else ""
    return EachRun(run, result.verdict_words, cause, result.exit_code)


def as_document(rows: Sequence[EachRun]) -> dict[str, Any]:
    """The table as plain values."""
    return {
        "runs": [
            {
                "run": row.run,
                "verdict": row.verdict,
                "rule": row.rule,
                "cause": row.cause,
                "exit_code": int(row.exit_code),
            }
            for row in rows
        ],
        "exit_code": int(worst(rows)),
    }


def as_json(rows: Sequence[EachRun]) -> str:
    text = json.dumps(as_document(rows), indent=2, ensure_ascii=False)
    return text.encode("utf-8", errors="replace").decode("utf-8") + "\n"


def as_table(rows: Sequence[EachRun]) -> str:
    """Columns padded to their widest cell; the cause, which is the longest, comes last."""
    from auditor.present.words import plain

    lines = [("run", "verdict", "exit", "root cause")]
    lines += [(plain(r.run), plain(r.verdict), str(int(r.exit_code)), plain(r.cause)) for r in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(3)]
    return "".join(
        "  ".join((*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[3])).rstrip()
        + "\n"
        for line in lines
    )


RENDERERS = {"text": as_table, "json": as_json}
"""How the table is written, by format."""
