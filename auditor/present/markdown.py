"""The report in Markdown: the same words in the same order, for a merge request or a wiki."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from auditor.present import printed_tables, view
from auditor.present.printed_tables import MISSING, Sheet
from auditor.present.words import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from auditor.present.view import Account, Cause, Question, Row

LONGEST = 1200
_SPECIAL = re.compile(
    r"[\\`*\[\]|~#@]"
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"  # inside a word it marks nothing
    r"|:(?=//)|(?<=www)\.",  # what would become a link
    re.I,
)


def render(model: dict[str, Any]) -> str:
    """The report, ending in a line break."""
    causes, questions, accounts = view.causes(model), view.questions(model), view.accounts(model)
    parts = [
        *_verdict(model, causes, questions),
        *_header(view.header(model)),
        *_accounts(accounts),
        *_waivers(model["result"]),
        "## Why, and what to do",
        "\n".join(line for cause in causes for line in _cause(cause, 0)) or "No rule found a fault.",
        *_questions(questions),
        "## The run in tables",
        *(part for sheet in printed_tables.sheets(model, accounts) for part in _sheet(sheet)),
        "## Provenance",
        f"Run: {code(model['result']['target'])}. Result schema {model['result']['schema_version']}.",
        *(part for sheet in printed_tables.provenance(model) for part in _sheet(sheet)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def escaped(text: str) -> str:
    """A string of a run as Markdown text that shows just it: no markup, no tag, no link, no mention."""
    safe = _SPECIAL.sub(lambda found: "\\" + found[0], plain(text, LONGEST))
    return safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code(text: str) -> str:
    """A code span that shows a string of a run, in the cell of a table too."""
    safe = plain(text, LONGEST).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", safe)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest or not safe.strip() else ""
    return f"{fence}{pad}{safe}{pad}{fence}"


def _verdict(model: dict[str, Any], causes: Sequence[Cause], questions: Sequence[Question]) -> Iterable[str]:
    said, run, result = view.verdict(model, causes, questions), model["run"], model["result"]
    yield f"# {said.mark} {escaped(said.words)}: {escaped(run['title'])}"
    yield f"**{escaped(said.headline)}**" + (f" {escaped(said.because)}." if said.because else "")
    yield f"To do: {escaped(said.fix)}" if said.fix else ""
    when = f"{run['started']} to {run['ended']}" if run["started"] else "Time of the run not known"
    yield (
        f"{escaped(when)}; audited by k6-audit {escaped(result['tool']['version'])} "
        f"(semantics {result['semantics_version']}) "
        f"with {escaped(result['policy']['config'] or 'no policy file')}."
    )


def _header(rows: Sequence[Row]) -> Iterable[str]:
    lines = ["| Field | Value | Detail |", "| --- | --- | --- |"]
    for row in rows:
        see = f"see {', '.join(row.rules)}" if row.rules else ""
        detail = ", ".join(part for part in (row.detail, see) if part)
        lines.append(f"| {escaped(row.label)} | {escaped(row.value)} | {escaped(detail)} |")
    yield "\n".join(lines)


def _accounts(accounts: Sequence[Account]) -> Iterable[str]:
    whole = view.whole(accounts)
    if whole is not None:
        counts = " + ".join(f"{'not known' if n is None else f'{n:,}'} {word}" for word, n in whole.parts)
        edge = f" (edge: {whole.edge:+,})" if whole.edge else ""
        yield f"Accounting: {whole.planned:,} planned = {counts}{edge}"
        return
    for account in accounts:
        counts = ", ".join(f"{n:,} {word}" for word, n in account.parts[:2])
        yield (
            f"Accounting of {code(account.scenario)}: {account.started:,} started: {counts}; "
            "no starts were planned, or the plan is not known."
        )
    if not accounts:
        yield "The iterations cannot be accounted for: see what is not known."


def _waivers(result: dict[str, Any]) -> Iterable[str]:
    lines = [
        f"- **{escaped(w['rule'])}** {escaped(w['message'])}. Waived: {escaped(w['reason'])} "
        f"({escaped(w['owner'])}, until {escaped(w['expires'])})"
        for w in result["waivers"]
    ]
    lines += [f"- {escaped(note)}" for note in result["notes"]]
    if lines:
        yield "## Waivers"
        yield "\n".join(lines)


def _cause(cause: Cause, depth: int) -> Iterable[str]:
    pad = "  " * depth
    yield f"{pad}- **{escaped(cause.id)}** {escaped(cause.title)} ({view.SEVERITY_WORDS[cause.severity]})"
    for finding in cause.findings:
        evidence = f" Evidence: {escaped(', '.join(finding['evidence']))}." if finding["evidence"] else ""
        yield (
            f"{pad}  - {escaped(finding['message'])}. Observed {escaped(finding['observed']['text'])}; "
            f"limit {escaped(finding['limit']['text'])}.{evidence}"
        )
    if cause.more:
        yield f"{pad}  - and {cause.more} more findings of this rule, in the JSON result"
    for fix in cause.fixes:
        yield f"{pad}  - To do: {escaped(fix)}"
    for child in cause.children:
        yield from _cause(child, depth + 1)


def _questions(questions: Sequence[Question]) -> Iterable[str]:
    if not questions:
        return
    yield "## What is not known"
    lines = []
    for question in questions:
        blocks = " (keeps the run from being proven)" if question.blocking else ""
        lines.append(f"- **{escaped(', '.join(question.rules))}** {escaped(question.reason)}{blocks}")
        if question.fix:
            lines.append(f"  - To do: {escaped(question.fix)}")
    yield "\n".join(lines)


def _sheet(sheet: Sheet) -> Iterable[str]:
    yield f"### {sheet.title}"
    if not sheet.rows:
        yield escaped(sheet.empty)
        return
    lines = [
        "| " + " | ".join(column.label for column in sheet.columns) + " |",
        "| " + " | ".join("---:" if column.numeric else "---" for column in sheet.columns) + " |",
    ]
    for row in sheet.rows:
        cells = (
            code(text) if column.code and text != MISSING else escaped(text)
            for column, text in zip(sheet.columns, row, strict=True)
        )
        lines.append("| " + " | ".join(cells) + " |")
    yield "\n".join(lines)
    yield escaped(sheet.note)
