"""The policy: what the user declares, which limits hold, what is waived, and where each value came from.

`k6-audit.toml`, or `[tool.k6-audit]` in pyproject.toml, checked as a whole: every error at once, with its
path; an unknown key is an error that names the nearest known one. Options of the command line win.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from auditor.engine.limits import limit_problem
from auditor.engine.loader import matches, no_such_rule
from auditor.engine.rule import LoadedRule, Scope, Waiver
from auditor.engine.units import duration_s, rate_per_s
from auditor.errors import AccessRefused, AuditError
from auditor.evidence import Declared, ScenarioDeclaration

CONFIG_NAME = "k6-audit.toml"


@dataclass(frozen=True)
class Setting:
    """One value in force, and where it came from."""

    name: str
    value: str
    source: str


@dataclass(frozen=True)
class Policy:
    """Everything that decides besides the evidence."""

    declared: Declared = field(default_factory=Declared)
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    waivers: tuple[Waiver, ...] = ()
    select: tuple[str, ...] = field(default=(), metadata={"unset": "all rules"})
    ignore: tuple[str, ...] = field(default=(), metadata={"unset": "none"})
    fail_on: Literal["invalid", "warning"] = field(default="invalid", metadata={"unset": "invalid"})
    path: str = ""
    """The config file read; empty if none."""
    settings: tuple[Setting, ...] = ()


def find_config(start: Path) -> Path | None:
    """The nearest config at or above a folder: k6-audit.toml, or a pyproject.toml with [tool.k6-audit].

    Whoever may read a run in a bucket need not be allowed to look above it: there the search ends.
    """
    folder = start.resolve() if start.is_dir() else start.resolve().parent
    for place in (folder, *folder.parents):
        try:
            found = _config_in(place)
        except AccessRefused:
            if place is folder:
                raise
            return None
        if found is not None:
            return found
    return None


def _config_in(place: Path) -> Path | None:
    if (place / CONFIG_NAME).is_file():
        return place / CONFIG_NAME
    project = place / "pyproject.toml"
    if project.is_file() and _own_table(_toml(project)) is not None:
        return project
    return None


def _own_table(project: Mapping[str, Any]) -> Any:
    """[tool.k6-audit] of a pyproject.toml; None if there is none."""
    tools = project.get("tool")
    return tools.get("k6-audit") if isinstance(tools, dict) else None


def choose_config(start: Path | None, config: Path | None, *, no_config: bool) -> Path | None:
    """The config of a command: the one named, else the nearest to the target, else to the working directory.

    Raises:
        AuditError: if the one named does not exist.
    """
    if config is not None and not config.is_file():
        raise AuditError("no such config file", where=str(config))
    if no_config or config is not None:
        return None if no_config else config
    found = find_config(start) if start is not None and start.exists() else None
    try:
        return found or find_config(Path.cwd())
    except FileNotFoundError:
        return None  # the folder we stand in was deleted: it has no config


def load_policy(
    config: Path | None,
    overrides: Mapping[str, Any],
    rules: Sequence[LoadedRule],
) -> Policy:
    """The policy in force: defaults, then the config file, then the options given.

    Raises:
        AuditError: with every error of the file at once.
    """
    source = "" if config is None else str(config)
    values = {} if config is None else _from_file(config, rules)
    origin = dict.fromkeys(values, source)
    for name, (value, option) in overrides.items():
        if value not in (None, (), []):
            values[name], origin[name] = value, option
    _check_selection(values, origin, rules)
    return _policy(values, origin, source)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise AuditError(f"not valid TOML: {error}", where=str(path)) from error
    except OSError as error:
        raise AuditError(f"cannot be read: {error.strerror}", where=str(path)) from error


def _from_file(config: Path, rules: Sequence[LoadedRule]) -> dict[str, Any]:
    """The settings that a config file makes, checked."""
    raw = _toml(config)
    if config.name == "pyproject.toml":
        raw = _own_table(raw) or {}
    model = _validated(raw, str(config))
    _check_rules(model, rules, str(config))
    return {name: value for name, value in model.items() if name in raw}


def _validated(raw: Mapping[str, Any], source: str) -> dict[str, Any]:
    from pydantic import ValidationError

    from auditor.engine.config_errors import explain
    from auditor.engine.config_model import Config

    try:
        return Config.model_validate(raw).model_dump()
    except ValidationError as error:
        raise AuditError("; ".join(explain(error, Config)), where=source) from error


def _check_rules(model: Mapping[str, Any], rules: Sequence[LoadedRule], source: str) -> None:
    """Limits and waivers must name rules and limits that exist; what is declared closed must say why."""
    known = {rule.meta.id: rule.meta for rule in rules}
    problems = []
    for rule_id, limits in model["limits"].items():
        if rule_id not in known:
            problems.append(f"limits.{rule_id}: {no_such_rule(rule_id, rules)}")
            continue
        problems += [said for name in limits if (said := limit_problem(known[rule_id], name))]
    for i, waiver in enumerate(model["waivers"]):
        if waiver["rule"] not in known:
            problems.append(f"waivers.{i}.rule: {no_such_rule(waiver['rule'], rules)}")
        elif not known[waiver["rule"]].waivable:
            problems.append(f"waivers.{i}.rule: {waiver['rule']} cannot be waived")
    problems += [
        f'scenarios.{name}: workload = "closed" needs its reason (write workload_reason)'
        for name, one in model["scenarios"].items()
        if one["workload"] == "closed" and not one["workload_reason"]
    ]
    if problems:
        raise AuditError("; ".join(problems), where=source)


def _check_selection(values: Mapping[str, Any], origin: Mapping[str, str], rules: Sequence[LoadedRule]) -> None:
    """What is selected or ignored must name rules: a misspelt id would leave nothing, or everything, to run."""
    for name in ("select", "ignore"):
        for pattern in values.get(name) or ():
            if not any(matches(rule, [pattern]) for rule in rules):
                raise no_such_rule(pattern, rules, origin[name])


def _reasons_given(values: Mapping[str, Any], origin: Mapping[str, str]) -> None:
    """A declaration that exempts a run from a rule needs its reason."""
    for name, value in (("workload", "closed"), ("ramp", "measured")):
        if values.get(name) == value and not values.get(f"{name}_reason"):
            raise AuditError(
                f'{name} = "{value}" needs its reason', where=origin[name], fix=f"write {name}_reason"
            )


_READ_BY_UNIT = {"_per_s": rate_per_s, "_s": duration_s, "_share": lambda value, where: value}
"""How a key's text is read, by the unit in the name of the field that it fills; the longest first."""


def _key_and_reader(one: Field[Any]) -> tuple[str, Callable[[Any, str], Any] | None]:
    """The key of a declaration in k6-audit.toml, and what reads its text, if it has a unit."""
    for unit, reader in _READ_BY_UNIT.items():
        if one.name.endswith(unit):
            return one.name.removesuffix(unit), reader
    return one.metadata.get("key") or one.name, None


def _declared(values: Mapping[str, Any], origin: Mapping[str, str]) -> Declared:
    """Every declaration, by its key: one more needs nothing here."""
    said = {**values, **(values.get("declarations") or {})}
    given: dict[str, Any] = {}
    for one in fields(Declared):
        key, reader = _key_and_reader(one)
        value = said.get(key)
        if value is not None:
            given[one.name] = value if reader is None else reader(value, origin.get(key, ""))
    given["scenarios"] = {
        name: ScenarioDeclaration(**{key: value for key, value in one.items() if value is not None})
        for name, one in (values.get("scenarios") or {}).items()
    }
    return Declared(**given)


def _policy(values: Mapping[str, Any], origin: Mapping[str, str], source: str) -> Policy:
    _reasons_given(values, origin)
    waivers = tuple(
        Waiver(
            w["rule"],
            w["reason"],
            w["owner"],
            str(w["expires"]),
            Scope(w["generator"] or "", w["scenario"] or "", w["stage"] or "", w["name"] or ""),
        )
        for w in values.get("waivers") or ()
    )
    return Policy(
        declared=_declared(values, origin),
        limits=values.get("limits") or {},
        waivers=waivers,
        select=tuple(values.get("select") or ()),
        ignore=tuple(values.get("ignore") or ()),
        fail_on=values.get("fail_on") or "invalid",
        path=source,
        settings=_settings(values, origin),
    )


def unset() -> dict[str, str]:
    """What is said of every setting that is not given."""
    return {
        _key_and_reader(one)[0]: one.metadata["unset"]
        for one in (*fields(Declared), *fields(Policy))
        if one.metadata.get("unset")
    }


def _settings(values: Mapping[str, Any], origin: Mapping[str, str]) -> tuple[Setting, ...]:
    """Every value with where it came from, defaults included."""
    found = [Setting(name, text, "default") for name, text in unset().items() if values.get(name) is None]
    for name, value in values.items():
        if value is not None and name != "signing":  # which is not of the policy: it says what the audit is for
            found += [Setting(key, text, origin[name]) for key, text in _flat(name, value)]
    return tuple(sorted(found, key=lambda s: s.name))


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """A setting as lines of name and text; tables have one line a key."""
    if name == "waivers":
        for w in value:
            yield f"waiver of {w['rule']}", f"{w['reason']} ({w['owner']}, until {w['expires']})"
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}", inner)
    elif isinstance(value, bool):
        yield name, str(value).lower()
    elif isinstance(value, list | tuple):
        yield name, ", ".join(map(str, value))
    elif isinstance(value, float) and name.startswith("limits."):
        yield name, f"{value:g}"
    elif value is not None and value != "":
        yield name, str(value)
