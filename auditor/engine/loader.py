"""Rules, found by path: every .py file below `rules/`, and below a user's --rules folder."""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from auditor import fields
from auditor._resources import data_dir
from auditor.engine.limits import refuse_bad_references
from auditor.engine.rule import HEADINGS, LoadedRule, OneOfMany, Rule
from auditor.errors import AuditError

_ID = re.compile(r"[A-Z]{2,4}\d{2,3}$")


def load_rules(extra: Iterable[Path] = ()) -> tuple[LoadedRule, ...]:
    """All rules, in the order of their ids.

    Raises:
        AuditError: if a rule file cannot be loaded, lacks a part, repeats an id, or uses a limit that no rule
            owns.
    """
    rules = _folder(data_dir("rules"), own=False)
    for folder in extra:
        if not folder.is_dir():
            raise AuditError("no such folder of rules", where=str(folder))
        rules += _folder(folder, own=True)
    by_id: dict[str, LoadedRule] = {}
    for rule in rules:
        if rule.meta.id in by_id:
            raise AuditError(
                f"rule {rule.meta.id} is defined twice: {by_id[rule.meta.id].path} and {rule.path}",
                fix="give one of them another id",
            )
        by_id[rule.meta.id] = rule
    _refuse_cycles(by_id)
    refuse_bad_references(by_id)
    return tuple(by_id[rule_id] for rule_id in sorted(by_id))


def rules_digest(extra: Iterable[Path] = ()) -> str:
    """SHA-256 over every rule file, by name and content, and over the registry of the header's fields, of which
    HD01 to HD11 are made: the same digest, the same rules."""
    digest = hashlib.sha256(Path(fields.__file__).read_bytes())
    for folder in (data_dir("rules"), *extra):
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(folder.parent)}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _folder(folder: Path, *, own: bool) -> list[LoadedRule]:
    files = sorted(p for p in folder.rglob("*.py") if not p.name.startswith("_"))
    return [rule for path in files for rule in _load(path, str(path.relative_to(folder.parent)), own=own)]


def _load(path: Path, label: str, *, own: bool) -> list[LoadedRule]:
    """The rule of a file, or the several alike ones that it names in ``RULES``."""
    spec = importlib.util.spec_from_file_location(f"k6_audit_rule_{path.parent.name}_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise AuditError("not a Python file", where=label)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise AuditError(f"the rule cannot be loaded: {error!r}", where=label) from error
    several = getattr(module, "RULES", None)
    if isinstance(several, tuple) and several and all(isinstance(one, OneOfMany) for one in several):
        return [
            _rule(o.meta, o.check, o.check_report, _page(module, o, label), label, own=own) for o in several
        ]
    meta, check = getattr(module, "RULE", None), getattr(module, "check", None)
    check_report = getattr(module, "check_report", None)
    return [_rule(meta, check, check_report, module.__doc__ or "", label, own=own)]


def _page(module: ModuleType, one: OneOfMany, label: str) -> str:
    try:
        return (module.__doc__ or "").format_map(one.words)
    except (KeyError, IndexError, ValueError) as error:
        raise AuditError(
            f"its docstring has a placeholder that {one.meta.id} has no words for: {error}",
            where=label,
        ) from error


def _rule(meta: object, check: Any, check_report: Any, doc: str, label: str, *, own: bool) -> LoadedRule:
    if not isinstance(meta, Rule) or not (callable(check) or callable(check_report)):
        raise AuditError(
            "a rule file needs RULE and check", where=label, fix="see `k6-audit rule OL01` and rules/"
        )
    if not _ID.match(meta.id):
        raise AuditError(f"{meta.id!r} is not a rule id (two capitals, two digits)", where=label)
    return LoadedRule(meta, check, sections(doc, label), label, own, check_report)


def sections(doc: str, where: str) -> Mapping[str, str]:
    """Split a rule's docstring at its fixed headings.

    Raises:
        AuditError: if a heading is missing or empty.
    """
    found: dict[str, str] = {}
    heading = ""
    for line in doc.strip().splitlines():
        if line.strip() in HEADINGS:
            heading = line.strip()
            found[heading] = ""
        elif heading:
            found[heading] += line + "\n"
    for name in HEADINGS:
        if not found.get(name, "").strip():
            raise AuditError(f'its docstring lacks "{name}"', where=where)
    return {name: text.strip() for name, text in found.items()}


def _refuse_cycles(rules: Mapping[str, LoadedRule]) -> None:
    """Cause links must lead somewhere: no cycles."""
    state: dict[str, int] = {}

    def visit(rule_id: str, path: tuple[str, ...]) -> None:
        if state.get(rule_id) == 2 or rule_id not in rules:
            return
        if rule_id in path:
            raise AuditError(f"causes form a cycle: {' -> '.join((*path, rule_id))}")
        for cause in rules[rule_id].meta.consequence_of:
            visit(cause, (*path, rule_id))
        state[rule_id] = 2

    for rule_id in rules:
        visit(rule_id, ())


def matches(rule: LoadedRule, patterns: Iterable[str]) -> bool:
    """Whether a rule is named by an id, a prefix of it, or its family's name."""
    names = (rule.meta.id, rule.meta.family.lower(), rule.meta.slug)
    return any(rule.meta.id.startswith(p.upper()) or p.lower() in names[1:] for p in patterns if p)


def no_such_rule(name: str, rules: Iterable[LoadedRule], where: str = "") -> AuditError:
    """The error for a name that no rule has, with the nearest that one has."""
    if not name.strip():
        return AuditError("a rule's name must not be empty", where=where)
    if "," in name:
        first, _, second = name.partition(",")
        return AuditError(f"no rule {name!r}", where=where, fix=f"name them one by one: {first}, then {second}")
    names = {n for rule in rules for n in (rule.meta.id, rule.meta.family, rule.meta.slug)}
    by_key = {n.lower(): n for n in sorted(names)}
    near = difflib.get_close_matches(name.lower(), by_key, n=1, cutoff=0.3)
    fix = f"did you mean {by_key[near[0]]}?" if near else "`k6-audit rule --all` lists them"
    return AuditError(f"no rule {name!r}", where=where, fix=fix)
