"""`k6-audit rule [ID | --all]`: a rule's own words."""

from __future__ import annotations

from typing import Annotated

import typer

from auditor.cli import options
from auditor.errors import AuditError


def rule(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Rule ids, prefixes or families.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List all rules, a line each.")] = False,
    rules: options.Rules = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Explain a rule: what it checks, why, how it is computed, how to fix it, when it is wrong."""
    import difflib

    from auditor.engine.loader import load_rules, matches
    from auditor.present.rule_page import page

    loaded = load_rules(rules or [])
    if every or not ids:
        for one in loaded:
            typer.echo(f"{one.meta.id}  {one.meta.severity:<8}  {one.meta.title}")
        return
    for name in ids:
        found = [r for r in loaded if matches(r, [name])]
        if not found:
            near = difflib.get_close_matches(name.upper(), [r.meta.id for r in loaded], n=1, cutoff=0.3)
            raise AuditError(f"no rule {name!r}", fix=f"did you mean {near[0]}?" if near else "see rule --all")
        for one in found:
            typer.echo(page(one, loaded))
