"""What is wrong in a config file, in plain words: what to write instead, for every error at once."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

RENAMED = {"reason": "workload_reason", "error_objective_share": "error_objective", "policy": "config"}
"""Keys that people write, and what they are called, at the top level and in a scenario."""
_INSTEAD = {
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than_equal": "a number of at most {le:g}",
    "string_too_short": "at least {min_length} characters",
    "literal_error": "{expected}",
    "list_type": 'a list, as in ["OL", "SD02"]',
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "date_type": "a date, as in 2027-01-31",
    "date_parsing": "a date, as in 2027-01-31",
    "date_from_datetime_parsing": "a date, as in 2027-01-31",
    "date_from_datetime_inexact": "a date without a time, as in 2027-01-31",
}
"""By the kind of error: what to write."""
LONGEST = 60


def explain(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """A line for each error: where it is, and what to write instead."""
    schema = model.model_json_schema()
    return [_line(one, schema) for one in error.errors()]


def _line(error: Any, schema: dict[str, Any]) -> str:
    path = error["loc"]
    place = ".".join(str(part) for part in path)
    if error["type"] == "extra_forbidden":
        return _unknown_key(place, path, schema)
    if error["type"] == "missing":
        return f"{place}: missing"
    if error["type"] == "plain":
        return f"{place}: {error['ctx']['text']}"
    instead = _INSTEAD.get(error["type"])
    if instead is None:
        return f"{place}: {error['msg'][:1].lower()}{error['msg'][1:]}"
    wanted = instead.format(**error.get("ctx", {})).replace("'", '"')
    return f"{place}: write {wanted}, not {_shown(error['input'])}"


def _shown(value: object) -> str:
    """A value as TOML writes it, shortened."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "a table"
    text = f'"{value}"' if isinstance(value, str) else str(value).replace("'", '"')
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _unknown_key(place: str, path: Sequence[Any], schema: dict[str, Any]) -> str:
    key, known, top = str(path[-1]), _known_keys(schema, path[:-1]), _known_keys(schema, ())
    if RENAMED.get(key) in known:
        return f"unknown key {place!r}: write {RENAMED[key]}"
    if key in top:
        return f"unknown key {place!r}: {key} is for the whole run, write it above the first [table]"
    if len(path) == 1 and key in _known_keys(schema, ("scenarios", "")):
        return f"unknown key {place!r}: {key} is of one scenario, write it in [scenarios.NAME]"
    if len(path) == 1 and key in _known_keys(schema, ("declarations",)):
        return f"unknown key {place!r}: write it in [declarations]"
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"unknown key {place!r}" + (
        f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(sorted(known))}"
    )


def _known_keys(schema: dict[str, Any], path: Sequence[Any]) -> list[str]:
    """The keys allowed at a place, from the JSON schema of the model."""
    node: dict[str, Any] = schema
    for part in path:
        node = _resolve(schema, node)
        if isinstance(part, int):
            node = node.get("items", {})
        else:
            node = node.get("properties", {}).get(part) or node.get("additionalProperties") or {}
    return list(_resolve(schema, node).get("properties", {}))


def _resolve(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        return dict(schema["$defs"][node["$ref"].rsplit("/", 1)[1]])
    return node
