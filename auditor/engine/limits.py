"""Limits: whose they are, who refers to them, and which number is in force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from auditor.engine.rule import Limit, Limits, LoadedRule, Rule
from auditor.errors import AuditError
from auditor.facts.limits import PolicyLimits


def limits_in_force(rules: Sequence[LoadedRule], changed: Mapping[str, Mapping[str, float]]) -> PolicyLimits:
    """Every limit of these rules: its default, or what the policy says (rule id -> name -> number)."""
    return PolicyLimits(
        {
            f"{rule.meta.id}.{limit.name}": float(changed.get(rule.meta.id, {}).get(limit.name, limit.default))
            for rule in rules
            for limit in rule.meta.limits
        }
    )


def limits_of(meta: Rule, in_force: PolicyLimits) -> Limits:
    """What one rule may read: its own limits by their names, and those that it uses by their qualified names.

    Raises:
        LookupError: if a limit that it uses is owned by none of the rules.
    """
    own = {limit.name: in_force[f"{meta.id}.{limit.name}"] for limit in meta.limits}
    return Limits({**own, **{name: in_force[name] for name in meta.uses}})


def owned(rules: Iterable[LoadedRule]) -> dict[str, Limit]:
    """Every limit of these rules, by its qualified name."""
    return {f"{rule.meta.id}.{limit.name}": limit for rule in rules for limit in rule.meta.limits}


def refuse_bad_references(rules: Mapping[str, LoadedRule]) -> None:
    """A limit that a rule uses exists, is another rule's, and leads in no circle.

    Raises:
        AuditError: for the first rule with such a fault.
    """
    known = owned(rules.values())
    for rule in rules.values():
        named = [("uses", name) for name in rule.meta.uses]
        named += [("moved_limits", owner) for owner in rule.meta.moved_limits.values()]
        for where, name in named:
            owner = name.partition(".")[0]
            if owner not in rules:
                raise AuditError(f"{where} names {name}, and there is no rule {owner}", where=rule.path)
            if name not in known:
                raise AuditError(f"{where} names {name}, and {owner} has no such limit", where=rule.path)
            if where == "uses" and owner == rule.meta.id:
                raise AuditError(f"uses names {name}, its own limit", where=rule.path)
    uses = {i: {name.partition(".")[0] for name in rule.meta.uses} for i, rule in rules.items()}
    # Take away what refers to nothing that is left, again and again: what remains stands in a circle.
    while free := [i for i, owners in uses.items() if not owners & uses.keys()]:
        for i in free:
            del uses[i]
    if uses:
        raise AuditError(f"rules use each other's limits in a circle: {', '.join(sorted(uses))}")


def limit_problem(rule: Rule, name: str) -> str:
    """Why a policy cannot set a limit, with the key that it can set; empty if it can."""
    if any(limit.name == name for limit in rule.limits):
        return ""
    key = f"limits.{rule.id}.{name}"
    if owner := rule.moved_limits.get(name):
        return f"{key}: set limits.{owner}"
    if name in rule.uses:
        return f"{key}: another rule's limit: set limits.{name}"
    names = ", ".join(sorted(limit.name for limit in rule.limits))
    return f"{key}: no such limit ({names or 'the rule has none'})"
