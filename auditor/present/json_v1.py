"""The result as JSON: a public schema that only grows (docs/json.md, result_v1.schema.json)."""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from auditor.engine.limits import owned
from auditor.facts.accounting import total
from auditor.facts.limits import PolicyLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from auditor.engine.audit import Audit
    from auditor.engine.rule import Finding, Quantity, RuleResult, Waiver
    from auditor.facts.accounting import Account
    from auditor.facts.header import HeaderField

SCHEMA_VERSION = "1.0"


def as_json(audit: Audit) -> str:
    """The whole result, indented, ending in a line break. Numbers that are not finite become null."""
    text = json.dumps(finite(document(audit)), indent=2, ensure_ascii=False, allow_nan=False)
    # A lone surrogate in a run's name is no text: it must not keep the result from being written.
    return text.encode("utf-8", errors="replace").decode("utf-8") + "\n"


def document(audit: Audit) -> dict[str, Any]:
    """The result as plain values, in the order of the schema."""
    return {
        "schema_version": SCHEMA_VERSION,
        "semantics_version": audit.semantics_version,
        "tool": {"name": "k6-auditor", "version": audit.tool_version},
        "target": audit.evidence.label or audit.evidence.target,
        "verdict": audit.verdict,
        "verdict_words": audit.verdict_words,
        "waived": audit.waived,
        "header": _header(audit.header.fields),
        "accounting": _accounting(audit),
        "scenarios": {name: {"header": _header(fields)} for name, fields in audit.header.by_scenario.items()},
        "rules": [rule_json(result) for result in audit.results],
        "findings": [finding_json(result, finding) for result in audit.results for finding in result.findings],
        "waivers": [
            _waived(result, finding, waiver) for result in audit.results for finding, waiver in result.waived
        ],
        "sources": [
            {
                "path": s.path,
                "sha256": s.sha256,
                "size_bytes": s.size_bytes,
                "format": s.format,
                "generator": s.generator,
                "note": s.note,
                **_environment(audit, s.path),
            }
            for s in audit.evidence.sources
        ],
        "ignored": [{"path": i.path, "reason": i.reason} for i in audit.evidence.ignored],
        "policy": _policy(audit),
        "notes": list(audit.notes),
    }


def _environment(audit: Audit, path: str) -> dict[str, list[str]]:
    """Of a script that reads environment variables: their names."""
    scripts = [o.script for g in audit.evidence.generators for o in g.option_sources if o.script is not None]
    names = next((script.environment for script in scripts if script.path == path), ())
    return {"environment": list(names)} if names else {}


def _header(fields: Mapping[str, HeaderField]) -> dict[str, Any]:
    return {
        name: {
            "label": f.label,
            "value": f.value,
            "unit": f.unit,
            "status": f.status,
            "reason": f.reason or None,
            **f.detail,
        }
        for name, f in fields.items()
    }


def _accounting(audit: Audit) -> dict[str, Any]:
    if audit.accounting is None:
        return {}
    scenarios = dict.fromkeys(key.scenario for key in audit.accounting.whole)
    return {name: _account(audit.accounting.scenario(name)) for name in scenarios}


def _account(parts: list[Account]) -> dict[str, Any]:
    """Summed over the generators; null where the word has no meaning or the evidence does not say."""
    return {
        "planned": total(a.planned for a in parts),
        "started": sum(a.started for a in parts),
        "completed": sum(a.completed for a in parts),
        "interrupted": sum(a.interrupted for a in parts),
        "dropped": total(a.dropped if a.drops_known else None for a in parts),
        "silent": total(a.silent for a in parts),
        "not_reached": total(a.not_reached for a in parts),
        "in_flight_at_end": total(a.in_flight_at_end for a in parts),
        "silent_exact": total(a.silent_exact for a in parts),
        "allowance": sum(a.allowance for a in parts),
        "generators": {
            a.key.generator: {
                "planned": a.planned,
                "started": a.started,
                "completed": a.completed,
                "interrupted": a.interrupted,
                "dropped": a.dropped if a.drops_known else None,
            }
            for a in parts
        },
    }


def rule_json(result: RuleResult) -> dict[str, Any]:
    return {
        "id": result.id,
        "title": result.rule.meta.title,
        "family": result.rule.meta.family,
        "severity": result.severity,
        "base_severity": result.rule.meta.severity,
        "outcome": result.outcome,
        "reason": result.reason or None,
        "fix": result.fix or None,
        "needs": result.needs or None,
        "missing": result.missing.key if result.missing is not None else None,
        "at_signoff": result.at_signoff,
        "cause": result.cause or None,
        "about": list(result.rule.meta.about),
        "path": result.rule.path,
    }


def finding_json(result: RuleResult, finding: Finding) -> dict[str, Any]:
    return {
        "rule": result.id,
        "severity": finding.severity or result.rule.meta.severity,
        "scope": {
            "generator": finding.scope.generator,
            "scenario": finding.scope.scenario,
            "stage": finding.scope.stage,
            "name": finding.scope.name,
        },
        "message": finding.message,
        "observed": _quantity(finding.observed),
        "limit": _quantity(finding.limit),
        "evidence": list(finding.evidence),
        "fix": finding.fix,
        "fingerprint": fingerprint(result.id, finding),
    }


def fingerprint(rule: str, finding: Finding) -> str:
    """What stays the same when the numbers change: rule and scope."""
    scope = finding.scope
    parts = (rule, scope.generator, scope.scenario, scope.stage, scope.name)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _waived(result: RuleResult, finding: Finding | None, waiver: Waiver) -> dict[str, Any]:
    return {
        "rule": result.id,
        "message": finding.message if finding is not None else result.reason,
        "reason": waiver.reason,
        "owner": waiver.owner,
        "expires": waiver.expires,
    }


def _quantity(quantity: Quantity) -> dict[str, Any]:
    return {"value": quantity.value, "unit": quantity.unit, "text": quantity.text}


def _policy(audit: Audit) -> dict[str, Any]:
    config = _beside(audit.policy.path, audit.evidence.target)
    settings = [
        {"name": s.name, "value": s.value, "source": config if s.source == audit.policy.path else s.source}
        for s in audit.policy.settings
    ]
    in_force = audit.facts.get(PolicyLimits)
    limits = {name: in_force[name] for name in owned(r.rule for r in audit.results)}
    digest = hashlib.sha256(
        json.dumps([[s["name"], s["value"]] for s in settings] + sorted(limits.items())).encode()
    ).hexdigest()
    return {"digest": digest, "config": config or None, "settings": settings}


def _beside(config: str, target: str) -> str:
    """The policy file as seen from the run ("k6-audit.toml", "../k6-audit.toml"), or its name if it lies
    elsewhere: a result names no folder of the machine that made it. A URL is none of them."""
    if not config or "://" in config:
        return config
    folder = os.path.dirname(os.path.abspath(target)) if os.path.isfile(target) else os.path.abspath(target)
    relative = PurePath(os.path.relpath(os.path.abspath(config), folder))
    above = [part for part in relative.parts[:-1] if part != os.pardir]
    return relative.name if os.pardir in relative.parts and above else str(relative)


def finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
