"""`k6-audit config show|schema`: the policy in force, and its schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="The policy in force, and its schema.", no_args_is_help=True)


@app.command("show")
def show(
    target: Annotated[
        Path | None, typer.Argument(help="The run's folder (its own k6-audit.toml comes first).")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="The policy file.", show_default=False)] = None,
    no_config: Annotated[bool, typer.Option("--no-config", help="Read no policy file.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Print every value and where it came from."""
    from auditor.engine.loader import load_rules
    from auditor.engine.policy import choose_config, load_policy

    found = choose_config(target, config, no_config=no_config)
    rules = load_rules()
    policy = load_policy(found, {}, rules)
    typer.echo(f"config: {policy.path or 'none'}")
    for setting in policy.settings:
        typer.echo(f"{setting.name} = {setting.value}  ({setting.source})")
    for rule in rules:
        for limit in rule.meta.limits:
            changed = policy.limits.get(rule.meta.id, {}).get(limit.name)
            if changed is None:
                name = f"limits.{rule.meta.id}.{limit.name}"
                typer.echo(f"{name} = {limit.default:g} {limit.unit}  (default: {limit.origin})")


@app.command("schema")
def schema() -> None:
    """Print the JSON schema of k6-audit.toml."""
    import json

    from auditor.engine.config_model import Config

    typer.echo(json.dumps(Config.model_json_schema(), indent=2))
