"""A rule's page, rendered from its own metadata and docstring (templates/rule.md.j2)."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from auditor._resources import data_dir
from auditor.engine.limits import owned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.engine.rule import LoadedRule


def page(rule: LoadedRule, rules: Sequence[LoadedRule]) -> str:
    """The page as Markdown, ending in a line break; ``rules`` own the limits that it refers to."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(data_dir("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown for a terminal, from the package's own words
    )
    known = owned(rules)
    doc = {heading: textwrap.dedent(f"    {text}").strip() for heading, text in rule.doc.items()}
    return environment.get_template("rule.md.j2").render(
        rule=rule.meta, doc=doc, uses={name: known[name] for name in rule.meta.uses}
    )
