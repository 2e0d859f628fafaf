"""The report in Markdown: the same words in the same order, for a merge request or a wiki."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from auditor.present import printed_tables, view
from auditor.present.printed_tables import MISSING, PrintedTable
from auditor.present.words import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from auditor.present.view import Cause, HeaderRow, Question, View

LONGEST = 1200
_SPECIAL = re.compile(
    r"[\\`*\[\]|~#@]"
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"  # inside a word it marks nothing
    r"|:(?=//)|(?<=www)\.",  # what would become a link
    re.I,
)


def render(model: dict[str, Any]) -> str:
    """The report, ending in a line break."""
    shown = view.build(model["result"])
    parts = [
        *_verdict(model, shown),
        *_header(shown.header),
        *_accounts(shown),
        *_waivers(shown),
        "## Why, and what to do",
        "\n".join(line for cause in shown.causes for line in _cause(cause, 0)) or "No rule found a fault.",
        *_questions(shown.questions),
        "## The run in tables",
        *(part for table in printed_tables.tables(model, shown) for part in _table(table)),
        "## Provenance",
        f"Run: {code(model['result']['target'])}. Result schema {model['result']['schema_version']}.",
        *(part for table in printed_tables.provenance(model, shown) for part in _table(table)),
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


def _verdict(model: dict[str, Any], shown: View) -> Iterable[str]:
    said, run, result = shown.verdict, model["run"], model["result"]
    yield f"# {said.mark} {escaped(said.words)}: {escaped(run['title'])}"
    yield f"**{escaped(said.headline)}**" + (f" {escaped(said.because)}." if said.because else "")
    yield f"To do: {escaped(said.fix)}" if said.fix else ""
    when = f"{run['started']} to {run['ended']}" if run["started"] else "Time of the run not known"
    yield (
        f"{escaped(when)}; audited by k6-audit {escaped(result['tool']['version'])} "
        f"(semantics {result['semantics_version']}) "
        f"with {escaped(result['policy']['config'] or 'no policy file')}."
    )


def _header(rows: Sequence[HeaderRow]) -> Iterable[str]:
    lines = ["| Field | Value | Detail |", "| --- | --- | --- |"]
    for row in rows:
        see = f"see {', '.join(row.rules)}" if row.rules else ""
        detail = ", ".join(part for part in (row.detail, see) if part)
        lines.append(f"| {escaped(row.label)} | {escaped(row.value)} | {escaped(detail)} |")
    yield "\n".join(lines)


def _accounts(shown: View) -> Iterable[str]:
    whole = shown.whole
    if whole is not None:
        counts = " + ".join(f"{'not known' if n is None else f'{n:,}'} {word}" for word, n in whole.parts)
        edge = f" (edge: {whole.edge:+,})" if whole.edge else ""
        yield f"Accounting: {whole.planned:,} planned = {counts}{edge}"
        return
    for account in shown.accounts:
        counts = ", ".join(f"{n:,} {word}" for word, n in account.parts[:2])
        yield (
            f"Accounting of {code(account.scenario)}: {account.started:,} started: {counts}; "
            "no starts were planned, or the plan is not known."
        )
    if not shown.accounts:
        yield "The iterations cannot be accounted for: see what is not known."


def _waivers(shown: View) -> Iterable[str]:
    lines = [
        f"- **{escaped(w['rule'])}** {escaped(w['message'])}. Waived: {escaped(w['reason'])} "
        f"({escaped(w['owner'])}, until {escaped(w['expires'])})"
        for w in shown.waivers
    ]
    lines += [f"- {escaped(note)}" for note in shown.notes]
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
        lines.append(f"- **{escaped(', '.join(question.rules))}** {escaped(question.what)}{blocks}")
        if question.fix:
            how = question.how[:1].upper() + question.how[1:]
            lines.append(f"  - {how}: {escaped(question.fix)}")
        if len(question.reasons) > 1:
            lines += [f"  - {escaped(', '.join(r.rules))}: {escaped(r.reason)}" for r in question.reasons]
    yield "\n".join(lines)


def _table(table: PrintedTable) -> Iterable[str]:
    yield f"### {table.title}"
    if not table.rows:
        yield escaped(table.empty)
        return
    lines = [
        "| " + " | ".join(column.label for column in table.columns) + " |",
        "| " + " | ".join("---:" if column.numeric else "---" for column in table.columns) + " |",
    ]
    for row in table.rows:
        cells = (
            code(text) if column.code and text != MISSING else escaped(text)
            for column, text in zip(table.columns, row, strict=True)
        )
        lines.append("| " + " | ".join(cells) + " |")
    yield "\n".join(lines)
    yield escaped(table.note)
