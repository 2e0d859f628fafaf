"""Facts on demand: each is a frozen dataclass made once by one pure function of other facts.

A provider is a function marked with `provides`; its annotated parameters are the facts it needs and its
return annotation the fact it makes. A parameter annotated ``X | None`` is optional: it arrives as None when
X cannot be derived. A fact that cannot be derived raises `Unknown`, which says why and what fixes it.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from auditor.facts.missing import Missing, Needs

T = TypeVar("T")
Provider = Callable[..., Any]
_PROVIDERS: dict[type, Provider] = {}


class Unknown(Exception):
    """The evidence does not say: why, and the one thing that fixes it.

    ``missing`` is the piece of evidence that would say it, where it is one that many rules need; ``needs``
    says whether the fix can be added now or takes a new run (by default what ``missing`` needs).
    """

    def __init__(
        self, reason: str, fix: str = "", *, needs: Needs = "", missing: Missing | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix
        self.needs: Needs = needs or (missing.needs if missing is not None else "")
        self.missing = missing


def provides(function: Callable[..., T]) -> Callable[..., T]:
    """Register a function as the maker of the fact that its return annotation names."""
    kind = _hints(function)["return"]
    if kind in _PROVIDERS:
        raise TypeError(f"two providers of {kind.__name__}")
    _PROVIDERS[kind] = function
    return function


def needs(function: Callable[..., Any]) -> dict[str, tuple[type, bool]]:
    """The facts a function asks for: parameter -> (type, optional)."""
    return {name: _split(hint) for name, hint in _hints(function).items() if name != "return"}


@functools.lru_cache(maxsize=1024)
def _hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Annotations as types. Python evaluates them anew each time it is asked, so each function's are kept."""
    return typing.get_type_hints(function)


def _split(hint: Any) -> tuple[type, bool]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)]
        return kinds[0], len(kinds) < len(typing.get_args(hint))
    return hint, False


class FactStore:
    """Makes facts from the given ones (evidence, declarations) and keeps them."""

    def __init__(self, given: Mapping[type, Any]) -> None:
        self._known: dict[type, Any] = {**given, FactStore: self}
        self._unknown: dict[type, Unknown] = {}
        self._making: list[type] = []

    def get(self, kind: type[T]) -> T:
        """The fact of this type.

        Raises:
            Unknown: if the evidence does not allow it.
        """
        if kind in self._known:
            return typing.cast(T, self._known[kind])
        if kind in self._unknown:
            raise self._unknown[kind]
        if kind in self._making:
            raise RuntimeError(f"facts in a circle: {' -> '.join(k.__name__ for k in self._making)}")
        provider = _PROVIDERS.get(kind)
        if provider is None:
            raise LookupError(f"no fact is called {kind.__name__}")
        self._making.append(kind)
        try:
            value = provider(**self.arguments(provider))
        except Unknown as unknown:
            self._unknown[kind] = unknown
            raise
        finally:
            self._making.pop()
        self._known[kind] = value
        return typing.cast(T, value)

    def why_not(self, kind: type[Any]) -> Unknown | None:
        """Why a fact cannot be derived; None if it can."""
        try:
            self.get(kind)
        except Unknown as unknown:
            return unknown
        return None

    def arguments(
        self, function: Callable[..., Any], extra: Mapping[type, Any] | None = None
    ) -> dict[str, Any]:
        """What to call ``function`` with; ``extra`` values are for this call alone.

        Raises:
            Unknown: if a required fact cannot be derived.
        """
        found: dict[str, Any] = {}
        for name, (kind, optional) in needs(function).items():
            if extra is not None and kind in extra:
                found[name] = extra[kind]
                continue
            try:
                found[name] = self.get(kind)
            except Unknown:
                if not optional:
                    raise
                found[name] = None
        return found
