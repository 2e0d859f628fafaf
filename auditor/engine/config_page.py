"""docs/configuration.md, made from the model of k6-audit.toml: every key, what it takes, what it means."""

from __future__ import annotations

from typing import Any

from auditor.engine.config_model import Config, Declarations, Scenario, WaiverEntry
from auditor.engine.policy import unset

HEAD = """\
# Configuration

Every key of `k6-audit.toml`. This page is made from the model that reads the file; `k6-audit config keys`
prints it.

The file is looked for in the run's folder, then in each folder above it, then from where the command stands; a
`pyproject.toml` with a table `[tool.k6-audit]` counts too. `--config FILE` names another, `--no-config` reads
none. Options of the command line go before the file. `k6-audit config show RUN` prints every value in force and
where it came from; `k6-audit config schema` prints the JSON schema.

An unknown key, a value of the wrong kind, and a rule or limit that does not exist are errors: all are said at
once, and nothing is read. A key that has no effect on the run is named below the result.
"""
TABLES = (
    ("Top level", "Written above the first table.", Config),
    (
        "[scenarios.NAME]",
        "One table for each scenario of the script about which there is something to say.",
        Scenario,
    ),
    ("[declarations]", "What a sign-off needs to be told ([signoff.md](signoff.md)).", Declarations),
    ("[[waivers]]", "One entry for each finding that is accepted for a time.", WaiverEntry),
)
LIMITS = """\
## [limits.RULE]

Other limits than a rule's own: numbers of at least 0, in the unit that `k6-audit rule RULE` names beside each.

```toml
[limits.GH02]
mean = 50
```
"""


def page() -> str:
    """The page in Markdown, ending in a line break."""
    parts = [HEAD]
    for title, words, model in TABLES:
        heading = title if title == "Top level" else f"`{title}`"
        parts.append(f"## {heading}\n\n{words}\n")
        parts.append("\n".join(_rows(model.model_json_schema(), title == "Top level")) + "\n")
    return "\n".join([*parts, LIMITS])


def _rows(schema: dict[str, Any], top: bool) -> list[str]:
    rows = ["| key | takes | default | meaning |", "| --- | --- | --- | --- |"]
    required, without = schema.get("required", ()), unset() if top else {}
    for name, one in schema["properties"].items():
        takes = _takes(one)
        if takes == "table":
            continue  # has a section of its own
        default = "required" if name in required else without.get(name, "not given")
        rows.append(f"| `{name}` | {takes} | {default} | {one['description'].replace('|', chr(92) + '|')} |")
    return rows


def _takes(one: dict[str, Any]) -> str:
    """The kinds of value that a key takes, in words."""
    if "anyOf" in one:
        kinds = [_takes(kind) for kind in one["anyOf"] if kind.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in one:
        return ", ".join(f'`"{value}"`' for value in one["enum"])
    if "const" in one:
        return f'`"{one["const"]}"`' if isinstance(one["const"], str) else f"`{one['const']}`"
    if "$ref" in one or one.get("type") == "object" or "$ref" in one.get("items", {}):
        return "table"
    if one.get("format") == "date":
        return "date"
    return {"string": "text", "number": "number", "integer": "whole number", "boolean": "true or false"}.get(
        one.get("type", ""), "list of text"
    ) + _range(one)


def _range(one: dict[str, Any]) -> str:
    least, most = one.get("minimum"), one.get("maximum")
    if least is not None and most is not None:
        return f", {least:g} to {most:g}"
    return f", at least {least:g}" if least is not None else ""
