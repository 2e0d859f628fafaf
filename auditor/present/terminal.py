"""The view of a result for a terminal: as much as fits a screen, or (verbose) everything."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from auditor.fields import LABEL_OF, SCENARIO_COLUMNS
from auditor.present import view
from auditor.present.json_v1 import as_json
from auditor.present.words import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from auditor.engine.audit import Audit
    from auditor.present.view import AccountRow, Cause, Question, View

NEVER_WRAPPED = 100_000
"""Columns of an output that is not a terminal: every line stays one line."""
SCREEN_LINES = 39
"""Lines of the short output: a screen of 40, with the prompt."""
WIDEST_VALUE = 30
NARROWEST = 20
WAIVERS = 5

VERDICT_STYLE = {
    "VALID": "bold white on green",
    "INVALID": "bold white on red",
    "NOT PROVEN": "bold black on yellow",
}
_SEVERITY_STYLE = {"invalid": "bold red", "warning": "yellow", "info": "cyan"}
_SEVERITY_WORD = {"invalid": "INVALID", "warning": "warning", "info": "note"}
_STATUS_STYLE = {"ok": "bold", "missing": "bold yellow", "not-identified": "bold red"}
_SCENARIO_FIELDS = ("target_rate", "achieved_rate", "dropped_iterations", "p50", "p95", "p99", "p999")


@dataclass(frozen=True)
class Detail:
    """How much of each is shown before the rest is only counted."""

    roots: int
    """Root causes in full; the others take a line each."""
    findings: int
    """Findings of such a root cause."""
    consequences: int
    questions: int
    fixes: bool = True
    """Whether each question says in full how it is answered."""
    verbose: bool = False


_ALL = 1_000_000_000
VERBOSE = Detail(_ALL, _ALL, _ALL, _ALL, verbose=True)
SHORT = (
    Detail(roots=3, findings=2, consequences=8, questions=6),
    Detail(roots=3, findings=1, consequences=8, questions=6),
    Detail(roots=2, findings=1, consequences=8, questions=6, fixes=False),
    Detail(roots=1, findings=1, consequences=6, questions=4, fixes=False),
    Detail(roots=1, findings=1, consequences=3, questions=2, fixes=False),
)
"""Tried in this order, until the output fits a screen."""


class Page:
    """Lines for a console: wrapped at its width with a hanging indent, and never padded."""

    def __init__(self, console: Console, detail: Detail) -> None:
        self.console = console
        self.detail = detail
        self.lines: list[Text] = []

    @property
    def verbose(self) -> bool:
        return self.detail.verbose

    def line(self, text: Text | str = "", indent: int = 0, hang: int = 0) -> None:
        """Add text; what is wrapped starts ``hang`` columns to the right of its first line."""
        whole = Text(text) if isinstance(text, str) else text
        width = max(NARROWEST, self.console.width - indent - hang)
        pieces = whole.wrap(self.console, width) if whole.cell_len > width + hang else [whole]
        for i, piece in enumerate(pieces):
            self.lines.append(Text(" " * (indent + (hang if i else 0))).append_text(piece))

    def columns(self, first: Text, second: Text) -> None:
        """Add text beside a first column, wrapped in a column of its own."""
        left = first.cell_len
        width = self.console.width - left
        if width < max(NARROWEST, second.cell_len / 4):
            self.line(first)
            self.line(second, 4)
            return
        for i, piece in enumerate(second.wrap(self.console, width) if second.plain else [second]):
            self.lines.append((Text(" " * left) if i else first).append_text(piece))

    def one_line(self, text: Text, indent: int = 0) -> None:
        """Add text on one line, cut to the console's width."""
        text.truncate(max(NARROWEST, self.console.width - indent), overflow="ellipsis")
        self.lines.append(Text(" " * indent).append_text(text))

    def print(self) -> None:
        for line in self.lines:
            line.rstrip()
            self.console.print(line, soft_wrap=True)


def as_text(print_to: Callable[[Console], None]) -> str:
    """What is printed, as plain text: no colour, nothing wrapped."""
    out = io.StringIO()
    print_to(Console(file=out, width=NEVER_WRAPPED, highlight=False, markup=False, emoji=False))
    return out.getvalue()


def render(audit: Audit, console: Console, *, verbose: bool = False) -> None:
    """Print the result of an audit."""
    shown = view.build(json.loads(as_json(audit)))
    print_page(console, lambda page: write_view(shown, page), verbose=verbose)


def print_page(console: Console, write: Callable[[Page], None], *, verbose: bool) -> None:
    """Print what ``write`` adds to a page: everything, or as much of it as fits a screen."""
    page = Page(console, VERBOSE)
    for detail in (VERBOSE,) if verbose else SHORT:
        page = Page(console, detail)
        write(page)
        if len(page.lines) <= SCREEN_LINES:
            break
    page.print()


def write_view(shown: View, page: Page) -> None:
    """Add the view of a result to a page."""
    page.line()
    said = shown.verdict
    write_verdict(said.words, VERDICT_STYLE[said.word], said.headline, page)
    page.line()
    write_rows([(r.label, r.value, _STATUS_STYLE.get(r.status, ""), r.brief) for r in shown.header], page)
    _scenarios(shown, page)
    _accounting(shown.accounts, page)
    write_causes(shown.causes, page)
    write_questions(shown.questions, page, brief=said.word == "INVALID")
    _waivers(shown, page)
    _files(shown, page)


def write_verdict(words: str, style: str, headline: str, page: Page) -> None:
    """Add the verdict's words and the headline."""
    page.line(Text.assemble((f" {words} ", style), f"  {plain(headline)}"), hang=1)


def write_rows(rows: Iterable[tuple[str, str, str, str]], page: Page) -> None:
    """Add aligned rows of label, value, the value's style, and detail."""
    cells = [(plain(row[0], 60), plain(row[1], 120), row[2], plain(row[3])) for row in rows]
    label_width = max(len(label) for label, *_ in cells)
    # A long value must not push every detail off the screen.
    value_width = max((len(v) for _, v, _, _ in cells if len(v) <= WIDEST_VALUE), default=0)
    for label, value, style, detail in cells:
        first = Text.assemble((f"{label:<{label_width}}  ", "dim"), (f"{value:<{value_width}}", style), "  ")
        page.columns(first, Text(detail, style="dim"))


def _scenarios(shown: View, page: Page) -> None:
    if len(shown.scenarios) < 2:
        return
    page.line()
    named = {name: {row.name: row for row in rows} for name, rows in shown.scenarios.items()}
    head = ["scenario", *(LABEL_OF[field] for field in SCENARIO_COLUMNS)]
    body = [
        [plain(name, 40), *(plain(cells[field].value, 40) for field in SCENARIO_COLUMNS)]
        for name, cells in named.items()
    ]
    widths = [max(len(row[i]) for row in (head, *body)) for i in range(len(head))]
    if sum(widths) + 2 * len(widths) > page.console.width:
        for row in body:
            words = ", ".join(f"{label} {cell}" for label, cell in zip(head[1:], row[1:], strict=True))
            page.line(Text.assemble((f"{row[0]}: ", "dim"), words), hang=2)
        return
    for row in (head, *body):
        rest = "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        page.line(Text(f"{row[0]:<{widths[0]}}{rest}", style="dim" if row is head else ""))


def _accounting(accounts: Sequence[AccountRow], page: Page) -> None:
    if accounts:
        page.line()
    for account in accounts:
        page.line(_account(account), hang=2)


def _account(account: AccountRow) -> Text:
    line = Text(f"{plain(account.scenario, 60)}: ", style="dim")
    counts = account.parts if account.planned is not None else account.parts[:2]
    named = [f"{n:,} {name}" for i, (name, n) in enumerate(counts) if n or (n is not None and i == 0)]
    if account.planned is None:
        return line.append(f"{account.started:,} started: {', '.join(named)} (no planned starts)", style="")
    line.append(f"{account.planned:,} planned = {' + '.join(named)}", style="")
    unknown = [name for name, n in counts if n is None]
    if unknown:
        line.append(f"; {', '.join(unknown)}: not known", style="yellow")
    if account.edge:
        line.append(f"  (edge: {account.edge:+,})", style="dim")
    return line


def write_causes(trees: Sequence[Cause], page: Page) -> None:
    """Add what failed, root causes first. The short output has root causes in full and everything else in one
    line; where something makes the run INVALID, only that counts as a root cause."""
    if not trees:
        return
    page.line()
    grave = [tree for tree in trees if tree.holds_invalid] or list(trees)
    in_full = trees if page.verbose else grave[: page.detail.roots]
    left, cut = page.detail.consequences, 0
    for tree in trees:
        if tree in in_full:
            _in_full(tree, page, 0)
        else:
            page.one_line(_in_one_line(tree, 0))
            if tree in grave and tree.holds_invalid and tree.fixes:
                page.one_line(Text(f"→ {plain(tree.fixes[0])}", style="green"), 4)
        for depth, below in tree.below():
            if page.verbose:
                _in_full(below, page, depth)
            elif left > 0:
                left -= 1
                page.one_line(_in_one_line(below, depth), 2 * depth)
            else:
                cut += 1
    if cut:
        page.line(Text(f"and {cut} more that follow from these (--verbose)", style="dim"), 2)


def _heading(cause: Cause, depth: int) -> Text:
    head = Text("└ " if depth else "")
    head.append(f"{_SEVERITY_WORD[cause.severity]} ", style=_SEVERITY_STYLE[cause.severity])
    head.append(f"{cause.id} ", style="bold")
    return head.append(plain(cause.title))


def _in_one_line(cause: Cause, depth: int) -> Text:
    line = _heading(cause, depth)
    if cause.findings:
        first = cause.findings[0]
        observed, limit = plain(first["observed"]["text"], 80), plain(first["limit"]["text"], 80)
        line.append(f": {observed}, limit {limit}", style="dim")
    return line


def _in_full(cause: Cause, page: Page, depth: int) -> None:
    pad = 2 * depth
    page.line(_heading(cause, depth), pad, 2)
    shown = cause.findings[: page.detail.findings]
    for finding in shown:
        line = Text(plain(finding["message"]))
        observed, limit = plain(finding["observed"]["text"], 80), plain(finding["limit"]["text"], 80)
        line.append(f"  [{observed}; limit {limit}]", style="dim")
        if page.verbose and finding["evidence"]:
            line.append(f" {plain(', '.join(finding['evidence']), 120)}", style="dim")
        page.line(line, pad + 4)
    more = cause.more + len(cause.findings) - len(shown)
    if more:
        where = "--format json" if page.verbose else "--verbose"
        page.line(Text(f"and {more} more findings ({where})", style="dim"), pad + 4)
    fixes = dict.fromkeys(f["fix"] for f in shown if f["severity"] == cause.severity)
    for fix in fixes or cause.fixes[:1]:
        page.line(Text(f"→ {plain(fix)}", style="green"), pad + 4, 2)


def write_questions(questions: Sequence[Question], page: Page, *, brief: bool = False) -> None:
    """Add what is not known: first what keeps the run from being proven, each with how it is answered.
    ``brief``: one line for each, where something else decided the verdict."""
    brief = not page.verbose and (brief or not page.detail.fixes)
    blocking = [q for q in questions if q.blocking]
    others = [q for q in questions if not q.blocking]
    if blocking:
        page.line()
        page.line(Text("Not known, and needed for a verdict", style="bold"))
        shown = blocking[: page.detail.questions]
        for question in shown:
            _question(question, page, brief=brief)
        rest = blocking[len(shown) :]
        if rest:
            page.line(Text(f"and {len(rest)} more: {_ids(rest)} (--verbose)", style="dim"), 2, 2)
    title = "Not known, and not needed for a verdict"
    if others:
        page.line()
        if not page.verbose:
            page.line(Text(f"{title}: {_ids(others)} (--verbose)", style="dim"), hang=2)
            return
        page.line(Text(title, style="bold"))
        for question in others:
            _question(question, page, brief=False)


def _ids(questions: Sequence[Question]) -> str:
    return ", ".join(rule for question in questions for rule in question.rules)


def _question(question: Question, page: Page, *, brief: bool) -> None:
    line = Text("? " if question.blocking else "- ", style="bold yellow" if question.blocking else "dim")
    what = plain(question.what)
    line.append(f"{what[:1].upper()}{what[1:]}")
    line.append(f" ({question.how})" if brief and question.needs else "", style="green")
    for i, rule in enumerate(question.rules):
        line.append(", " if i else "  ", style="dim")
        line.append(rule, style="yellow" if rule in question.blocking_rules else "dim")
    if brief:
        page.one_line(line, 2)
        return
    page.line(line, 2, 2)
    if question.fix:
        page.line(Text(f"→ {question.how}: {plain(question.fix)}", style="green"), 4, 2)
    if page.verbose and len(question.reasons) > 1:
        for reason in question.reasons:
            page.line(Text(f"{', '.join(reason.rules)}: {plain(reason.reason)}", style="dim"), 6, 2)


def _waivers(shown: View, page: Page) -> None:
    said = [
        f"waived {w['rule']}: {plain(w['message'])} ({plain(w['reason'])}; {plain(w['owner'])}, "
        f"until {w['expires']})"
        for w in shown.waivers
    ]
    said += [f"note: {plain(note)}" for note in shown.notes]
    if said:
        page.line()
    listed = said if page.verbose else said[:WAIVERS]
    for one in listed:
        page.line(Text(one, style="magenta"), hang=2)
    if len(said) > len(listed):
        rest = f"and {len(said) - len(listed)} more waivers and notes (--verbose)"
        page.line(Text(rest, style="magenta"))


def _files(shown: View, page: Page) -> None:
    """Where it comes from, what was set, and what `signoff` will ask for."""
    page.line()
    if page.verbose:
        for source in shown.sources:
            note = f" ({plain(source['note'])})" if source["note"] else ""
            page.line(Text(f"read {plain(source['path'])} as {source['format']}{note}", style="dim"), hang=2)
        for group in shown.ignored:
            names = ", ".join(plain(path, 120) for path in group.paths)
            more = f" and {group.more:,} more" if group.more else ""
            page.line(Text(f"ignored {names}{more}: {plain(group.reason)}", style="dim"), hang=2)
    else:
        ignored = sum(len(group.paths) + group.more for group in shown.ignored)
        words = f"read {len(shown.sources):,} file{'' if len(shown.sources) == 1 else 's'}"
        words += f", ignored {ignored:,}" if ignored else ""
        page.line(Text(f"{words} (--verbose shows everything)", style="dim"), hang=2)
    if shown.settings:
        words = ", ".join(
            f"{s['name']} = {plain(s['value'], 80)} ({plain(s['source'], 80)})" for s in shown.settings
        )
        page.line(Text(f"policy: {words}", style="dim"), hang=2)
    if shown.at_signoff:
        words = f"needed at sign-off: declarations of {', '.join(shown.at_signoff)}"
        page.line(Text(words, style="dim"), hang=2)
