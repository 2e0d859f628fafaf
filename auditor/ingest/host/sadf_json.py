"""`sadf -j`: sysstat's samples as JSON. A stamp is the end of its interval; times must be UTC."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from auditor.evidence import HostSeries
from auditor.ingest.host.format import HostFormat, UnusableHost

_NS = 1_000_000_000


def looks_like_sadf(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("sysstat"), dict) and "hosts" in item["sysstat"]


def read_sadf(item: dict[str, Any], path: str) -> list[HostSeries]:
    """One series a host in the file.

    Raises:
        UnusableHost: if times are local without a zone, or no CPU is in it.
    """
    return [_host(host, path) for host in item["sysstat"]["hosts"]]


def _host(host: dict[str, Any], path: str) -> HostSeries:
    rows = [row for row in host.get("statistics") or [] if "timestamp" in row and _loads(row)]
    if not rows:
        raise UnusableHost("no CPU load in it (record it with `sar -u ALL -P ALL`, say)")
    stamps, intervals, busy, steal, memory, swap = [], [], [], [], [], []
    cores: dict[str, list[float]] = {}
    for row in rows:
        stamps.append(_stamp_ns(row["timestamp"]))
        intervals.append(float(row["timestamp"].get("interval") or 0))
        loads = {str(load.get("cpu")): load for load in _loads(row)}
        total = loads.pop("all", loads.pop("-1", None))
        busy.append(_busy(total))
        steal.append(float(total["steal"]) if total and "steal" in total else np.nan)
        for core, load in loads.items():
            cores.setdefault(core, [np.nan] * (len(stamps) - 1)).append(_busy(load))
        for column in cores.values():
            column.extend([np.nan] * (len(stamps) - len(column)))
        memory.append(_memory_used_percent(row.get("memory") or {}))
        swap.append(_swap_in(row))
    order = np.argsort(np.array(stamps), kind="stable")
    table = np.array([cores[name] for name in sorted(cores, key=_core_number)], dtype=np.float64).T
    return HostSeries(
        path=path,
        host=str(host.get("nodename", "")),
        stamp_ns=np.array(stamps, dtype=np.int64)[order],
        interval_s=np.array(intervals, dtype=np.float64)[order],
        cpu_busy_percent=np.array(busy, dtype=np.float64)[order],
        cores=int(host["number-of-cpus"]) if "number-of-cpus" in host else (len(cores) or None),
        core_busy_percent=table[order] if cores else None,
        steal_percent=_column(steal, order),
        mem_used_percent=_column(memory, order),
        swap_in_pages_per_s=_column(swap, order),
    )


def _loads(row: dict[str, Any]) -> list[dict[str, Any]]:
    found = row.get("cpu-load") or row.get("cpu-load-all") or []
    return [load for load in found if isinstance(load, dict)]


def _busy(load: dict[str, Any] | None) -> float:
    """100 − idle − iowait: time in which the generator could not have run more."""
    if load is None or "idle" not in load:
        return float("nan")
    return float(min(max(100.0 - float(load["idle"]) - float(load.get("iowait", 0.0)), 0.0), 100.0))


def _stamp_ns(stamp: dict[str, Any]) -> int:
    if not int(stamp.get("utc", 0)):
        raise UnusableHost("its times are local and name no zone (write it with `sadf -j`, without -t or -T)")
    whole = datetime.datetime.fromisoformat(f"{stamp['date']}T{stamp['time']}+00:00")
    return int(whole.timestamp()) * _NS


def _memory_used_percent(memory: dict[str, Any]) -> float:
    """Memory that is not available, in percent: page cache does not count as used."""
    if not {"memfree", "memused", "memused-percent", "avail"} <= memory.keys():
        return float("nan")
    percent = float(memory["memused-percent"])
    if percent <= 0:
        return float("nan")
    total = max(float(memory["memused"]) * 100 / percent, float(memory["avail"]))
    return 100 * (1 - float(memory["avail"]) / total)


def _swap_in(row: dict[str, Any]) -> float:
    pages = row.get("swap-pages")
    return float(pages["pswpin"]) if isinstance(pages, dict) and "pswpin" in pages else float("nan")


def _column(values: list[float], order: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    column = np.array(values, dtype=np.float64)
    return None if np.isnan(column).all() else column[order]


def _core_number(name: str) -> tuple[int, str]:
    return (int(name), name) if name.isdigit() else (1 << 30, name)


FORMAT = HostFormat(
    name="sadf",
    label="sadf -j host metrics",
    content="document",
    looks_like=looks_like_sadf,
    read=read_sadf,
    mark='"sysstat"',
)
