"""Settings that are given and change nothing: each is said, for its writer believes that it does something."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from auditor.engine.loader import matches
from auditor.engine.policy import Policy
from auditor.engine.rule import LoadedRule
from auditor.facts.accounting import Accounting
from auditor.facts.plan import Plan
from auditor.facts.store import FactStore

_DEFAULTS = {"fail_on": "invalid", "purpose": "load"}
"""Settings of which one value says what holds anyway. A warm-up of 0 s is none of them: it is a declaration."""


def idle_settings(policy: Policy, rules: Sequence[LoadedRule], store: FactStore) -> list[str]:
    """A line for each setting of the policy that has no effect on this run."""
    return [
        *_defaults(policy),
        *_reasons(policy),
        *_limits(policy, rules),
        *_ignored(policy, rules),
        *_scenarios(policy, _scenario_names(store)),
    ]


def _defaults(policy: Policy) -> Iterator[str]:
    for one in policy.settings:
        if one.source != "default" and _DEFAULTS.get(one.name) == one.value:
            yield f"{one.name} = {one.value} changes nothing: it is the default"


def _reasons(policy: Policy) -> Iterator[str]:
    declared = policy.declared
    if declared.workload == "open":
        yield 'workload = "open" changes nothing: only "closed" is a declaration'
    if declared.workload_reason and declared.workload != "closed":
        yield 'workload_reason changes nothing without workload = "closed"'
    if declared.latency_reason and not declared.latency_metric:
        yield "latency_reason changes nothing without latency_metric"
    if declared.ramp_reason and not declared.ramp:
        yield 'ramp_reason changes nothing without ramp = "measured"'
    for name, one in declared.scenarios.items():
        if one.workload == "open" and declared.workload != "closed":
            yield f'scenarios.{name}.workload = "open" changes nothing: only "closed" is a declaration'
        if one.workload_reason and one.workload != "closed":
            yield f'scenarios.{name}.workload_reason changes nothing without workload = "closed"'


def _limits(policy: Policy, rules: Sequence[LoadedRule]) -> Iterator[str]:
    for rule in rules:
        for limit in rule.meta.limits:
            if policy.limits.get(rule.meta.id, {}).get(limit.name) == limit.default:
                where = f"limits.{rule.meta.id}.{limit.name}"
                yield f"{where} = {limit.default:g} changes nothing: it is the default"


def _ignored(policy: Policy, rules: Sequence[LoadedRule]) -> Iterator[str]:
    selected = [rule for rule in rules if not policy.select or matches(rule, policy.select)]
    for pattern in policy.ignore:
        if not any(matches(rule, [pattern]) for rule in selected):
            yield f"ignore {pattern} changes nothing: no selected rule has that name"


def _scenarios(policy: Policy, names: Collection[str]) -> Iterator[str]:
    if not names:
        return  # nothing says which scenarios there were
    for name in policy.declared.scenarios:
        if name not in names:
            yield f"scenarios.{name} changes nothing: this run has {', '.join(sorted(names))}"


def _scenario_names(store: FactStore) -> set[str]:
    planned = store.get(Plan).keys if store.why_not(Plan) is None else ()
    ran = store.get(Accounting).whole if store.why_not(Accounting) is None else ()
    return {key.scenario for key in (*planned, *ran) if key.scenario}
