"""What a shell completes: ids of rules, and formats. Nothing is imported for it that takes time."""

from __future__ import annotations

import re

from auditor import fields
from auditor._resources import data_dir
from auditor.cli.formats import RENDERERS

_META = re.compile(r'^RULE = Rule\(\s*id="(\w+)",.*?title="([^"]*)"', re.M | re.S)


def rules(incomplete: str) -> list[tuple[str, str]]:
    """(id, title) of the rules that begin with what is written, read from their files and not run."""
    found = [(f.rule, f.rule_title) for f in fields.FIELDS if f.rule.startswith(incomplete.upper())]
    for path in sorted(data_dir("rules").rglob("*.py")):
        meta = _META.search(path.read_text(encoding="utf-8"))
        if meta is not None and meta[1].startswith(incomplete.upper()):
            found.append((meta[1], meta[2]))
    return sorted(found)


def outputs(incomplete: str) -> list[str]:
    """FORMAT= of what `--output` takes."""
    return [f"{name}=" for name in RENDERERS if f"{name}=".startswith(incomplete)]
