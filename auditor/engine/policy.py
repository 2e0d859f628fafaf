"""The policy: what the user declares, which limits hold, what is waived, and where each value came from.

`k6-audit.toml`, or `[tool.k6-audit]` in pyproject.toml, checked as a whole: every error at once, with its
path; an unknown key is an error that names the nearest known one. Options of the command line win.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from auditor.engine.limits import limit_problem
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
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: Literal["invalid", "warning"] = "invalid"
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
    if project.is_file() and "k6-audit" in _toml(project).get("tool", {}):
        return project
    return None


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
        raw = raw.get("tool", {}).get("k6-audit", {})
    model = _validated(raw, str(config))
    _check_rules(model, rules, str(config))
    return {name: value for name, value in model.items() if name in raw}


def _validated(raw: Mapping[str, Any], source: str) -> dict[str, Any]:
    from pydantic import ValidationError

    from auditor.engine.config_model import Config

    try:
        return Config.model_validate(raw).model_dump()
    except ValidationError as error:
        lines = [_explain(e, Config) for e in error.errors()]
        raise AuditError("; ".join(lines), where=source) from error


def _explain(error: Any, model: Any) -> str:
    place = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        known = _known_keys(model, error["loc"][:-1])
        near = difflib.get_close_matches(str(error["loc"][-1]), known, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(sorted(known))}"
        return f"unknown key {place!r}{hint}"
    message = error["msg"].removeprefix("Value error, ")
    return f"{place}: {message}"


def _known_keys(model: Any, path: Sequence[Any]) -> list[str]:
    """The keys allowed at a place, from the JSON schema of the model."""
    schema = model.model_json_schema()
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


def _check_rules(model: Mapping[str, Any], rules: Sequence[LoadedRule], source: str) -> None:
    """Limits and waivers must name rules and limits that exist."""
    known = {rule.meta.id: rule.meta for rule in rules}
    problems = []
    for rule_id, limits in model["limits"].items():
        if rule_id not in known:
            problems.append(f"limits.{rule_id}: no such rule")
            continue
        problems += [said for name in limits if (said := limit_problem(known[rule_id], name))]
    for i, waiver in enumerate(model["waivers"]):
        if waiver["rule"] not in known:
            problems.append(f"waivers.{i}.rule: no rule {waiver['rule']!r}")
        elif not known[waiver["rule"]].waivable:
            problems.append(f"waivers.{i}.rule: {waiver['rule']} cannot be waived")
    if problems:
        raise AuditError("; ".join(problems), where=source)


def _policy(values: Mapping[str, Any], origin: Mapping[str, str], source: str) -> Policy:
    def where(name: str) -> str:
        return origin.get(name, "")

    warmup = values.get("warmup")
    ramp_down = values.get("ramp_down")
    target = values.get("target_rate")
    said = values.get("declarations") or {}
    declared = Declared(
        warmup_s=None if warmup is None else duration_s(warmup, where("warmup")),
        ramp_down_s=Fraction(0) if ramp_down is None else duration_s(ramp_down, where("ramp_down")),
        target_rate_per_s=None if target is None else rate_per_s(target, where("target_rate")),
        workload=values.get("workload") or "",
        workload_reason=values.get("workload_reason") or "",
        scenarios={
            name: ScenarioDeclaration(s["workload"] or "", s["role"] or "", s["reason"] or "")
            for name, s in (values.get("scenarios") or {}).items()
        },
        latency_metric=values.get("latency_metric") or "",
        instances=values.get("generators"),
        purpose=values.get("purpose") or "",
        ramp=values.get("ramp") or "",
        ramp_reason=values.get("ramp_reason") or "",
        error_objective_share=values.get("error_objective"),
        synthetic_data=said.get("synthetic_data"),
        rate_limiter=said.get("rate_limiter") or "",
        generator_network=said.get("generator_network") or "",
        git_commit=said.get("git_commit") or "",
        k6_version=said.get("k6_version") or "",
        colocated=said.get("colocated"),
        signing=bool(values.get("signing")),
    )
    if declared.workload == "closed" and not declared.workload_reason:
        raise AuditError(
            "a closed workload needs its reason", where=where("workload"), fix="give workload_reason"
        )
    if declared.ramp == "measured" and not declared.ramp_reason:
        raise AuditError("a measured ramp needs its reason", where=where("ramp"), fix="give ramp_reason")
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
        declared=declared,
        limits=values.get("limits") or {},
        waivers=waivers,
        select=tuple(values.get("select") or ()),
        ignore=tuple(values.get("ignore") or ()),
        fail_on=values.get("fail_on") or "invalid",
        path=source,
        settings=_settings(values, origin),
    )


_UNSET = {
    "warmup": "not declared",
    "ramp_down": "0s",
    "target_rate": "from the plan",
    "workload": "from what ran",
    "purpose": "load",
    "latency_metric": "the protocol's own",
    "generators": "as found",
    "fail_on": "invalid",
    "select": "all rules",
    "ignore": "none",
}


def _settings(values: Mapping[str, Any], origin: Mapping[str, str]) -> tuple[Setting, ...]:
    """Every value with where it came from, defaults included."""
    found = [Setting(name, text, "default") for name, text in _UNSET.items() if values.get(name) is None]
    for name, value in values.items():
        if value is None:
            continue
        if name == "limits":
            found += [
                Setting(f"limits.{rule}.{limit}", f"{number:g}", origin[name])
                for rule, limits in value.items()
                for limit, number in limits.items()
            ]
        elif name == "waivers":
            found += [
                Setting(
                    f"waiver of {w['rule']}",
                    f"{w['reason']} ({w['owner']}, until {w['expires']})",
                    origin[name],
                )
                for w in value
            ]
        elif name == "declarations":
            found += [
                Setting(f"declarations.{key}", str(v).lower() if isinstance(v, bool) else v, origin[name])
                for key, v in value.items()
                if v is not None
            ]
        elif name == "signing":
            continue  # not of the policy: it says what the audit is for
        elif name == "scenarios":
            found += [
                Setting(f"scenarios.{s}.{key}", str(v), origin[name])
                for s, d in value.items()
                for key, v in d.items()
                if v
            ]
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            found.append(Setting(name, text, origin[name]))
    return tuple(sorted(found, key=lambda s: s.name))
