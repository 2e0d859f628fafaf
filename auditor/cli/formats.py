"""Every format that an audit can be written in: one table for all commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.engine.audit import Audit


def _json(result: Audit) -> str:
    from auditor.present.json_v1 import as_json

    return as_json(result)


def _text(result: Audit) -> str:
    import io

    from rich.console import Console

    from auditor.present.terminal import render

    out = io.StringIO()
    render(result, Console(file=out, width=120, highlight=False, markup=False, emoji=False))
    return out.getvalue()


def _html(result: Audit) -> str:
    from auditor.present.html import render
    from auditor.present.model import model

    return render(model(result))


def _markdown(result: Audit) -> str:
    from auditor.present.markdown import render
    from auditor.present.model import model

    return render(model(result))


RENDERERS: dict[str, Callable[[Audit], str]] = {
    "text": _text,
    "json": _json,
    "html": _html,
    "markdown": _markdown,
}
