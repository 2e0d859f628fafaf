"""`k6-audit config show|keys|schema`: the policy in force, and what a policy file may hold."""

from __future__ import annotations

from typing import Annotated

import typer

from auditor.cli.command import command
from auditor.cli.options import ConfigFile, NoConfig

app = typer.Typer(help="The policy in force, and what a policy file may hold.", no_args_is_help=True)


def show(
    target: Annotated[
        str | None, typer.Argument(help="The run's folder (its own k6-audit.toml comes first).")
    ] = None,
    config: ConfigFile = None,
    no_config: NoConfig = False,
) -> None:
    """Print every value and where it came from."""
    from auditor.engine.loader import load_rules
    from auditor.engine.policy import choose_config, load_policy
    from auditor.inputs.locations import policy_place, resolve

    place = policy_place(resolve(target)[0]) if target is not None else None
    found = choose_config(place, config, no_config=no_config)
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


def keys() -> None:
    """Print every key of k6-audit.toml: what it takes and what it means (docs/configuration.md)."""
    from auditor.engine.config_page import page

    typer.echo(page(), nl=False)


def schema() -> None:
    """Print the JSON schema of k6-audit.toml."""
    import json

    from auditor.engine.config_model import Config

    typer.echo(json.dumps(Config.model_json_schema(), indent=2))


for one in (show, keys, schema):
    app.command(one.__name__)(command(one))
