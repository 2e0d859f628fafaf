"""k6's end-of-test summaries: the legacy export, handleSummary data, and the machine-readable form.

The same words mean different things in them (docs/formats.md): a threshold's ``true`` is *crossed* in the
legacy export and ``ok: true`` is *passed* in handleSummary data; the machine-readable form has none. In a
rate, ``passes`` counts samples that are not zero: of `http_req_failed`, the failed ones.
"""

from __future__ import annotations

from typing import Any

from auditor.evidence import Summary, SummaryMetric
from auditor.ingest.k6.printed import Printed, read_rows
from auditor.inputs.text import lines_of, plain

LEGACY, HANDLE, MACHINE = "legacy export", "handleSummary data", "machine-readable"
CONSOLE = "console text"
SUMMARY_KINDS = (HANDLE, LEGACY, MACHINE, CONSOLE)
"""What says most first: handleSummary data has the run's length, the legacy export thresholds."""
_MACHINE_KEYS = {"matches": "passes", "p90": "p(90)", "p95": "p(95)"}


def summary_kind(item: Any) -> str:
    """Which summary a JSON value is; empty if none."""
    if not isinstance(item, dict):
        return ""
    if isinstance(item.get("results"), dict) and isinstance(item["results"].get("metrics"), list):
        return MACHINE
    metrics = item.get("metrics")
    if not isinstance(metrics, dict) or not metrics:
        return ""
    described = [m for m in metrics.values() if isinstance(m, dict)]
    if len(described) != len(metrics):
        return ""
    if all(isinstance(m.get("values"), dict) for m in described):
        return HANDLE
    return LEGACY if "root_group" in item or all(_is_flat(m) for m in described) else ""


def find_summary(item: Any) -> Any:
    """The summary in a JSON value: itself, or one that a script wrapped with words of its own."""
    if summary_kind(item):
        return item
    inside = item.values() if isinstance(item, dict) else ()
    return next((value for value in inside if summary_kind(value)), None)


def _is_flat(metric: dict[str, Any]) -> bool:
    return any(isinstance(metric.get(key), int | float) for key in ("count", "rate", "value", "avg", "max"))


def read_summary(item: dict[str, Any], path: str) -> Summary:
    """Build a Summary; values that are no numbers are left out."""
    kind = summary_kind(item)
    if kind == MACHINE:
        return _machine(item, path)
    metrics = {}
    for name, raw in item["metrics"].items():
        values = raw["values"] if kind == HANDLE else raw
        metrics[str(name)] = SummaryMetric(str(name), _numbers(values), _crossed(raw.get("thresholds"), kind))
    state = item.get("state")
    length_ms = state.get("testRunDurationMs") if isinstance(state, dict) else None
    told = item.get("metadata")
    return Summary(
        path=path,
        kind=kind,
        metrics=metrics,
        duration_s=length_ms / 1000 if isinstance(length_ms, int | float) else None,
        k6_version=_version(told),
    )


def _machine(item: dict[str, Any], path: str) -> Summary:
    metrics = {}
    listed = list(item["results"]["metrics"])
    checks = item["results"].get("checks")
    if isinstance(checks, dict):
        listed += checks.get("metrics") or []
    for raw in listed:
        values = _numbers(raw["values"])
        values = {_MACHINE_KEYS.get(key, key): value for key, value in values.items()}
        if "total" in values and "passes" in values:
            values["fails"] = values["total"] - values["passes"]
            values["value"] = values.get("rate", 0.0)
        metrics[str(raw["name"])] = SummaryMetric(str(raw["name"]), values)
    config = item.get("config")
    length = config.get("duration") if isinstance(config, dict) else None
    return Summary(
        path=path,
        kind=MACHINE,
        metrics=metrics,
        duration_s=float(length) if isinstance(length, int | float) else None,
        k6_version=_version(item.get("metadata")),
    )


def _version(told: Any) -> str:
    if not isinstance(told, dict):
        return ""
    return str(told.get("k6_version") or told.get("k6Version") or "")


def _numbers(values: dict[str, Any]) -> dict[str, float]:
    """The numbers of a metric; a rate's value is "rate" in one form and "value" in the other."""
    found = {str(k): float(v) for k, v in values.items() if _is_number(v)}
    if "passes" in found and "value" not in found and "rate" in found:
        found["value"] = found["rate"]
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _crossed(raw: Any, kind: str) -> dict[str, bool]:
    """Expression -> crossed. Legacy: true means crossed; handleSummary: {"ok": true} means passed."""
    if not isinstance(raw, dict):
        return {}
    if kind == LEGACY:
        return {str(text): bool(state) for text, state in raw.items() if isinstance(state, bool)}
    return {
        str(text): not state["ok"]
        for text, state in raw.items()
        if isinstance(state, dict) and isinstance(state.get("ok"), bool)
    }


def read_totals(text: str, path: str) -> Summary | None:
    """The end-of-test text of a console; None if it has no iterations."""
    totals = totals_of(read_rows(lines_of(plain(text))), path)
    return totals if totals is not None and "iterations" in totals.metrics else None


def totals_of(printed: Printed, path: str) -> Summary | None:
    """The rows of an end-of-test text as a summary; None without such a text."""
    if not printed.has_text:
        return None
    crossed: dict[str, dict[str, bool]] = {}
    for one in printed.thresholds:
        if one.expression and one.passed is not None:
            crossed.setdefault(one.metric, {})[one.expression] = not one.passed
    metrics = {
        name: SummaryMetric(name, values, crossed.get(name, {}), printed.steps.get(name, {}))
        for name, values in printed.metrics.items()
    }
    return Summary(path, CONSOLE, metrics, unread=frozenset(printed.unread))
