"""The result for a terminal: the verdict in words, the header, the accounting, findings root first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from auditor.engine.rule import AT_SIGNOFF
from auditor.facts.accounting import total
from auditor.fields import LABEL_OF, SCENARIO_COLUMNS
from auditor.present.words import detail_words, plain, value_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from auditor.engine.audit import Audit
    from auditor.engine.rule import Finding, RuleResult
    from auditor.facts.accounting import Account

_VERDICT_STYLE = {
    "VALID": "bold white on green",
    "INVALID": "bold white on red",
    "NOT PROVEN": "bold black on yellow",
}
_SEVERITY_STYLE = {"invalid": "bold red", "warning": "yellow", "info": "cyan"}
_SEVERITY_WORD = {"invalid": "INVALID", "warning": "warning", "info": "note"}
_FINDINGS_SHOWN = 5


def render(audit: Audit, console: Console) -> None:
    """Print the whole result."""
    _verdict(audit, console)
    _header(audit, console)
    _scenarios(audit, console)
    _accounting(audit, console)
    findings(audit.failed("invalid", "warning", "info"), console)
    open_questions(audit.results, console)
    _at_signoff(audit, console)
    _waivers(audit, console)
    _files(audit, console)


def _verdict(audit: Audit, console: Console) -> None:
    console.print()
    line = Text()
    line.append(f" {audit.verdict_words} ", style=_VERDICT_STYLE[audit.verdict])
    line.append("  ")
    line.append(_why(audit))
    console.print(line)
    console.print()


def _why(audit: Audit) -> str:
    invalid = audit.failed("invalid")
    warned = audit.failed("warning")
    match audit.verdict:
        case "INVALID":
            root = next((r for r in _by_severity(invalid) if not r.cause), invalid[0])
            title = root.rule.meta.title
            return f"This run must not be believed: {plain(title[:1].lower() + title[1:])}."
        case "NOT PROVEN":
            open_ = audit.blocking_unknown()
            first = f": {plain(open_[0].reason)}" if open_ else ""
            return f"Nothing is shown to be wrong, and not enough is known{first}."
    warnings = f", with {len(warned)} warning{'s' if len(warned) != 1 else ''}" if warned else ""
    return f"This run may be believed{warnings}."


def _header(audit: Audit, console: Console) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    table.add_column(style="dim")
    for field in audit.header.fields.values():
        style = {"ok": "bold", "missing": "bold yellow", "not-identified": "bold red"}.get(field.status, "")
        table.add_row(
            field.label, Text(plain(value_words(field)), style=style), Text(plain(detail_words(field)))
        )
    console.print(table)


def _scenarios(audit: Audit, console: Console) -> None:
    if len(audit.header.by_scenario) < 2:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("scenario")
    for name in SCENARIO_COLUMNS:
        table.add_column(LABEL_OF[name], justify="right")
    for scenario, fields in audit.header.by_scenario.items():
        cells = (plain(value_words(fields[name]), 40) for name in SCENARIO_COLUMNS)
        table.add_row(Text(plain(scenario, 40)), *map(Text, cells))
    console.print(table)


def _accounting(audit: Audit, console: Console) -> None:
    if audit.accounting is None:
        return
    console.print()
    for scenario in dict.fromkeys(k.scenario for k in audit.accounting.whole):
        console.print(_account(scenario, audit.accounting.scenario(scenario)))


def _account(scenario: str, parts: list[Account]) -> Text:
    line = Text(f"{plain(scenario, 60)}: ", style="dim")
    planned = total(a.planned for a in parts)
    counts = [
        ("completed", sum(a.completed for a in parts)),
        ("interrupted", sum(a.interrupted for a in parts)),
        ("dropped", total(a.dropped if a.drops_known else None for a in parts)),
        ("silent", total(a.silent for a in parts)),
        ("not reached", total(a.not_reached for a in parts)),
        ("in flight at the end", total(a.in_flight_at_end for a in parts)),
    ]
    if planned is None:
        shown = ", ".join(f"{n:,} {name}" for name, n in counts[:2] if n or name == "completed")
        return line.append(f"{sum(a.started for a in parts):,} started: {shown} (no planned starts)", style="")
    shown = " + ".join(f"{n:,} {name}" for name, n in counts if n or name == "completed")
    line.append(f"{planned:,} planned = {shown}", style="")
    if counts[2][1] is None:
        line.append("; dropped: not known", style="yellow")
    edge = total(a.silent_exact for a in parts)
    if edge and not counts[3][1]:
        line.append(f"  (edge: {-edge:+,})", style="dim")
    return line


def findings(failed: Sequence[RuleResult], console: Console) -> None:
    """What failed, root causes first."""
    if not failed:
        return
    console.print()
    children: dict[str, list[RuleResult]] = {}
    for result in failed:
        children.setdefault(result.cause, []).append(result)
    for result in _by_severity(children.get("", [])):
        _tree(result, children, console, 0)


def _by_severity(results: Iterable[RuleResult]) -> list[RuleResult]:
    order = {"invalid": 0, "warning": 1, "info": 2}
    return sorted(results, key=lambda r: (order[r.severity], r.id))


def _tree(result: RuleResult, children: dict[str, list[RuleResult]], console: Console, depth: int) -> None:
    base = result.rule.meta.severity
    pad = 2 * depth
    head = Text("└ " if depth else "")
    head.append(f"{_SEVERITY_WORD[result.severity]} ", style=_SEVERITY_STYLE[result.severity])
    head.append(f"{result.id} ", style="bold")
    head.append(plain(result.rule.meta.title))
    console.print(Padding(head, (0, 0, 0, pad)))
    shown = result.findings[:_FINDINGS_SHOWN]
    for finding in shown:
        console.print(Padding(_finding(finding), (0, 0, 0, pad + 4)))
    if len(result.findings) > len(shown):
        rest = f"and {len(result.findings) - len(shown)} more (all of them with --format json)"
        console.print(Padding(Text(rest, style="dim"), (0, 0, 0, pad + 4)))
    fixes = dict.fromkeys(f.fix for f in shown if (f.severity or base) == result.severity)
    for fix in fixes:
        console.print(Padding(Text(f"→ {plain(fix)}", style="green"), (0, 0, 0, pad + 4)))
    for child in _by_severity(children.get(result.id, [])):
        _tree(child, children, console, depth + 1)


def _finding(finding: Finding) -> Text:
    line = Text(plain(finding.message))
    line.append(f"  [{plain(finding.observed.text, 80)}; limit {plain(finding.limit.text, 80)}]", style="dim")
    if finding.evidence:
        line.append(f" {plain(', '.join(finding.evidence), 120)}", style="dim")
    return line


def open_questions(results: Sequence[RuleResult], console: Console) -> None:
    """What is not known, and what fixes it."""
    unknown = [r for r in results if r.outcome in ("unknown", "error")]
    if not unknown:
        return
    console.print()
    groups: dict[tuple[str, str], list[RuleResult]] = {}
    for result in unknown:
        groups.setdefault((result.reason, result.fix), []).append(result)
    order = sorted(groups.items(), key=lambda g: all(r.rule.meta.severity != "invalid" for r in g[1]))
    console.print(Text("Not known", style="bold"))
    for (reason, fix), results in order:
        blocking = any(r.rule.meta.severity == "invalid" for r in results)
        line = Text(", ".join(r.id for r in results), style="bold yellow" if blocking else "dim")
        line.append(f"  {plain(reason)}", style="" if blocking else "dim")
        console.print(Padding(line, (0, 0, 0, 2)))
        if fix:
            console.print(Padding(Text(f"→ {plain(fix)}", style="green"), (0, 0, 0, 6)))


def _at_signoff(audit: Audit, console: Console) -> None:
    """Declarations that `signoff` will ask for, in one line."""
    wanted = [r.id for r in audit.results if r.outcome == "not-applicable" and r.reason.startswith(AT_SIGNOFF)]
    if wanted:
        console.print()
        console.print(Text(f"needed at sign-off: declarations of {', '.join(wanted)}", style="dim"))


def _waivers(audit: Audit, console: Console) -> None:
    for result in audit.results:
        for finding, waiver in result.waived:
            what = finding.message if finding is not None else result.reason
            console.print(
                Text(
                    f"waived {result.id}: {plain(what)} ({plain(waiver.reason)}; {plain(waiver.owner)}, "
                    f"until {waiver.expires})",
                    style="magenta",
                )
            )
    for note in audit.notes:
        console.print(Text(f"note: {plain(note)}", style="magenta"))


def _files(audit: Audit, console: Console) -> None:
    console.print()
    for source in audit.evidence.sources:
        note = f" ({plain(source.note)})" if source.note else ""
        console.print(Text(f"read {plain(source.path)} as {source.format}{note}", style="dim"))
    for ignored in audit.evidence.ignored:
        console.print(Text(f"ignored {plain(ignored.path)}: {plain(ignored.reason)}", style="dim"))
    chosen = [s for s in audit.policy.settings if s.source != "default"]
    if chosen:
        words = ", ".join(f"{s.name} = {plain(s.value, 80)} ({plain(s.source, 80)})" for s in chosen)
        console.print(Text(f"policy: {words}", style="dim"))
    console.print()
