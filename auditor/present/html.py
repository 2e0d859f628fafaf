"""The report as one HTML file: no script that runs, no request, readable without its style sheet."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

from auditor._resources import data_dir
from auditor.present import embedded, printed_tables, view
from auditor.present.svg import figures
from auditor.present.words import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Environment

LONGEST = 1200
"""Characters of any one string of a run on the page; the whole is in the JSON beside it."""


def render(model: dict[str, Any]) -> str:
    """The page. The same model gives the same bytes."""
    environment = _environment()
    style = environment.get_template("report.css").render()
    return environment.get_template("report.html.j2").render(
        **context(model), style=_markup(style), style_hash=_hash(style), embedded=_markup(embedded.embed(model))
    )


def context(model: Mapping[str, Any]) -> dict[str, Any]:
    """What the template needs, in its order."""
    shown = view.build(model["result"])
    bar, legend = figures.accounting_bar(shown.whole) if shown.whole is not None else ("", ())
    return {
        "model": model,
        "result": model["result"],
        "run": model["run"],
        "script_id": embedded.SCRIPT_ID,
        "severity_words": view.SEVERITY_WORDS,
        "view": shown,
        "bar": _markup(bar),
        "bar_keys": [(_markup(key.svg), key.word) for key in legend],
        "figures": [
            (f, _markup(f.svg), [(_markup(key.svg), key.word) for key in f.legend])
            for f in figures.figures(model)
        ],
        "tables": printed_tables.tables(model, shown),
        "provenance": printed_tables.provenance(model, shown),
    }


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(data_dir("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_inert,
    )


def _inert(value: object) -> object:
    """Every value on its way into the page: a plain string loses control and direction characters, and is
    then escaped; what this package drew itself passes."""
    return value if hasattr(value, "__html__") or not isinstance(value, str) else plain(value, LONGEST)


def _markup(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)


def _hash(style: str) -> str:
    """The style sheet's digest, as a content security policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
