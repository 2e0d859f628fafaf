"""`k6-audit rule [ID | --all]`: a rule's own words."""

from __future__ import annotations

from typing import Annotated

import typer

from auditor.cli import completion
from auditor.cli.options import OwnRules


def rule(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]...", help="Rule ids, prefixes or families.", autocompletion=completion.rules
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List all rules, a line each.")] = False,
    rules: OwnRules = None,
) -> None:
    """Explain a rule: what it checks, why, how it is computed, how to fix it, when it is wrong."""
    from auditor.engine.loader import load_rules, matches, no_such_rule
    from auditor.present.rule_page import page

    loaded = load_rules(rules or [])
    if every or not ids:
        for one in loaded:
            typer.echo(f"{one.meta.id}  {one.meta.severity:<8}  {one.meta.title}")
        return
    for name in ids:
        found = [r for r in loaded if matches(r, [name])]
        if not found:
            raise no_such_rule(name, loaded)
        for one in found:
            typer.echo(page(one, loaded))
