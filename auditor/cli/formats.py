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
    from auditor.present.terminal import as_text, render

    return as_text(lambda console: render(result, console, verbose=True))


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
