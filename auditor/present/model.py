"""Everything that a report shows, as plain JSON values: the one thing that HTML and Markdown are made of.

It stands whole inside the HTML report, so that a report can be rendered again, byte for byte, without the
run. Every part can be missing: a figure or a table that the evidence does not allow says why instead.
"""

from __future__ import annotations

import datetime
import json
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from auditor.engine.limits import owned
from auditor.facts.limits import PolicyLimits
from auditor.facts.store import FactStore, Unknown
from auditor.facts.timeline import Timeline
from auditor.present import figure_data, table_data
from auditor.present.embedded import REPORT_VERSION
from auditor.present.json_v1 import as_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.engine.audit import Audit

FIGURES: dict[str, Callable[[FactStore], dict[str, Any]]] = {
    "load": figure_data.load,
    "latency": figure_data.latency,
    "percentiles": figure_data.percentiles,
    "cpu": figure_data.cpu,
}
TABLES: dict[str, Callable[[FactStore], dict[str, Any]]] = {
    "scenarios": table_data.scenarios,
    "names": table_data.names,
    "errors": table_data.errors,
    "generators": table_data.generators,
    "thresholds": table_data.thresholds,
    "stalls": table_data.stalls,
}


def model(audit: Audit) -> dict[str, Any]:
    """The report of an audit. Serialised and read back, it is the same."""
    found = {
        "report_version": REPORT_VERSION,
        "result": json.loads(as_json(audit)),
        "run": _run(audit),
        "figures": {name: _or_why_not(make, audit.facts) for name, make in FIGURES.items()},
        "tables": {name: _or_why_not(make, audit.facts) for name, make in TABLES.items()},
        "limits": _limits(audit),
    }
    return dict(json.loads(json.dumps(found, allow_nan=False)))


def _or_why_not(make: Callable[[FactStore], dict[str, Any]], facts: FactStore) -> dict[str, Any]:
    try:
        return make(facts)
    except Unknown as unknown:
        return {"why_not": unknown.reason, "fix": unknown.fix}
    except Exception as error:
        # What is broken in a run must not keep its report from being written: that is when it is read.
        return {"why_not": f"it could not be made: {type(error).__name__}: {error}", "fix": ""}


def _run(audit: Audit) -> dict[str, Any]:
    started = ended = None
    if audit.facts.why_not(Timeline) is None:
        ends = audit.facts.get(Timeline).ends.values()
        started = min((e.first_start_ns for e in ends if e.first_start_ns is not None), default=None)
        ended = max((e.last_ns for e in ends if e.last_ns is not None), default=None)
    target = audit.evidence.label or audit.evidence.target
    return {
        "title": PurePath(target).name or target or "run",
        "started": _utc(started),
        "ended": _utc(ended),
        "generators": len(audit.evidence.generators),
    }


def _utc(ns: int | None) -> str | None:
    if ns is None:
        return None
    try:
        at = datetime.datetime.fromtimestamp(ns // 1_000_000_000, tz=datetime.UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _limits(audit: Audit) -> dict[str, float]:
    """The limits in force that a figure draws, of the rules that ran."""
    in_force = audit.facts.get(PolicyLimits)
    ran = owned(result.rule for result in audit.results)
    return {limit.drawn_as: in_force[name] for name, limit in ran.items() if limit.drawn_as}
