"""k6's end-of-test summaries: the legacy export, handleSummary data, and the machine-readable form.

The same words mean different things in them (docs/formats.md): a threshold's ``true`` is *crossed* in the
legacy export and ``ok: true`` is *passed* in handleSummary data; the machine-readable form has none. In a
rate, ``passes`` counts samples that are not zero: of `http_req_failed`, the failed ones.
"""

from __future__ import annotations

import re
from typing import Any

from auditor.evidence import Summary, SummaryMetric
from auditor.ingest.k6.durations import seconds

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


_ROW = re.compile(r"^\s*(?:[✓✗] )?([a-z_]\w*)\.{2,}: (\S.*)$")
_COUNTER = re.compile(r"(\d+)\s+([\d.]+)/s\s*$")
_RATE = re.compile(r"[\d.]+%\s+(?:(\d+) out of (\d+)|✓ (\d+)\s+✗ (\d+))\s*$")
_STATISTIC = re.compile(r"(avg|min|med|max|count|p\([\d.]+\))=(\S+)")


def read_totals(text: str, path: str) -> Summary | None:
    """The end-of-test text of a console, as far as it has counts and trends; None if it has no iterations.

    Its figures are cut to two decimals. Blocks of single scenarios and groups come after the totals, so the
    first row of a metric is the one that counts.
    """
    metrics: dict[str, SummaryMetric] = {}
    for line in text.splitlines():
        row = _ROW.match(line)
        if row is None or row[1] in metrics:
            continue
        values = _row(row[2])
        if values:
            metrics[row[1]] = SummaryMetric(row[1], values)
    return Summary(path, CONSOLE, metrics) if "iterations" in metrics else None


def _row(text: str) -> dict[str, float]:
    if counter := _COUNTER.match(text):
        return {"count": float(counter[1]), "rate": float(counter[2])}
    if rate := _RATE.match(text):
        passes = int(rate[1] or rate[3])
        fails = int(rate[2]) - passes if rate[2] else int(rate[4])
        total = passes + fails
        return {"passes": float(passes), "fails": float(fails), "value": passes / total if total else 0.0}
    found: dict[str, float] = {}
    for name, printed in _STATISTIC.findall(text):
        try:
            number = printed.replace(".", "", 1).isdigit()
            found[name] = float(printed) if number else float(seconds(printed) * 1000)
        except ValueError:
            return {}
    return found
