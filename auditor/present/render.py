"""The formats of a report: each is a pure function of the model."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from auditor.present import html, markdown

Renderer = Callable[[dict[str, Any]], str]


def _json(model: dict[str, Any]) -> str:
    """The result alone, as `lint --format json` prints it."""
    return json.dumps(model["result"], indent=2, ensure_ascii=False, allow_nan=False) + "\n"


RENDERERS: dict[str, Renderer] = {"html": html.render, "markdown": markdown.render, "json": _json}
