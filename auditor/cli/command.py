"""Commands made of plain functions: groups of options that several commands share, and `--debug` for all.

A function that takes `options: RunOptions` becomes a command with every option of that dataclass, so that a
shared option is written once, as a field. typer itself knows only single parameters.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

INTERRUPTED = 130
"""The exit code of a command that was stopped with Ctrl-C, as shells have it."""
_DEBUG = inspect.Parameter(
    "debug",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, typer.Option("--debug", help="Show tracebacks.")],
)


class _State:
    """What holds for the whole process."""

    debug = False


def debugging() -> bool:
    """Whether --debug was given."""
    return _State.debug


def set_debugging(on: bool) -> None:
    """Say whether --debug was given."""
    _State.debug = on


def command(function: Callable[..., None]) -> Callable[..., None]:
    """The function as typer takes it: a parameter that is a dataclass of options is replaced by its fields."""
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    hints = get_type_hints(function, include_extras=True)
    for one in inspect.signature(function).parameters.values():
        kind = hints[one.name]
        if is_dataclass(kind):
            groups[one.name] = kind
            parameters += _fields(kind)
        else:
            parameters.append(one.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))
    parameters.append(_DEBUG)

    @functools.wraps(function)
    def called(**given: Any) -> None:
        set_debugging(given.pop("debug") or debugging())
        for name, kind in groups.items():
            given[name] = kind(**{one.name: given.pop(one.name) for one in fields(kind)})
        try:
            function(**given)
        except KeyboardInterrupt:
            print("k6-audit: interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None

    del called.__wrapped__  # whose signature this one is not
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _fields(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if one.default is MISSING else one.default,
            annotation=hints[one.name],
        )
        for one in fields(group)
    ]
