"""The project's plain host CSV: `timestamp,cpu_busy_percent,...` (docs/formats.md).

``timestamp`` is RFC 3339 with a zone, or seconds, ms, µs or ns since the epoch; it is the END of the
interval that the row describes. A percentage is of all cores; cpuN_busy_percent is one core.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

import numpy as np

from auditor.evidence import HostSeries
from auditor.ingest.host.format import HostFormat, UnusableHost

HOST_COLUMNS = ("host", "hostname", "instance", "node")
"""A column that names the machine of each row."""
REQUIRED = ("timestamp", "cpu_busy_percent")
_CORE = re.compile(r"cpu(\d+)_busy_percent$")
MOST_PERCENT = 100.5
"""A share of all cores; half a percent for rounding."""
_PLAIN = re.compile(r"[-+0-9.e,:TZ\n]*")
_UTC = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z", re.ASCII)
_Table = tuple[
    np.ndarray[tuple[int], np.dtype[np.int64]], dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]
]
"""Stamps (−1 where one cannot be read), and the other columns by name."""
_EPOCH_NS = ((1e17, 1), (1e14, 1_000), (1e11, 1_000_000), (0.0, 1_000_000_000))


def looks_like_host_csv(text: str) -> bool:
    header = text.lstrip("\ufeff").split("\n", 1)[0].strip().replace(" ", "").split(",")
    return all(name in header for name in REQUIRED)


def read_host_csvs(text: str, path: str) -> list[HostSeries]:
    """The hosts of a table: one, or as many as a column names (host, hostname, instance, node)."""
    head, _, body = text.lstrip("\ufeff").partition("\n")
    names = [name.strip().lower() for name in head.split(",")]
    at = next((names.index(name) for name in HOST_COLUMNS if name in names), None)
    if at is None:
        return [read_host_csv(text, path)]
    rows: dict[str, list[str]] = {}
    for line, cells in zip(body.splitlines(), csv.reader(body.splitlines()), strict=False):
        if len(cells) > at:
            rows.setdefault(cells[at].strip(), []).append(line)
    return [
        replace(read_host_csv("\n".join([head, *mine, ""]), path), host=host) for host, mine in rows.items()
    ]


def read_host_csv(text: str, path: str) -> HostSeries:
    """Read the table; rows without a stamp, an interval or a CPU figure are left out and said.

    Raises:
        UnusableHost: if no usable row is left, or the times name no zone.
    """
    stamps, numbers = _plain_table(text) or _any_table(text)
    busy = numbers["cpu_busy_percent"]
    usable = (stamps >= 0) & (busy >= 0) & (busy <= MOST_PERCENT)  # NaN is neither
    if "interval_s" in numbers:
        usable &= numbers["interval_s"] > 0
    if not usable.any():
        raise UnusableHost("no row has a stamp, an interval and a CPU figure")
    # A row covers the time since the row before, even if that one has no usable figure.
    stamped = np.flatnonzero(stamps >= 0)
    stamped = stamped[np.argsort(stamps[stamped], kind="stable")]
    order = stamped[usable[stamped]]
    kept = stamps[order]
    cores = sorted((name for name in numbers if _CORE.match(name)), key=lambda n: int(_CORE.match(n)[1]))  # type: ignore[index]
    lost = int((~usable).sum())

    def column(name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
        values = numbers.get(name)
        return None if values is None or np.isnan(values[order]).all() else values[order]

    return HostSeries(
        path=path,
        host="",
        stamp_ns=kept,
        interval_s=numbers["interval_s"][order]
        if "interval_s" in numbers
        else _intervals_s(stamps[stamped])[usable[stamped]],
        cpu_busy_percent=numbers["cpu_busy_percent"][order],
        cores=len(cores) or None,
        core_busy_percent=np.stack([numbers[name][order] for name in cores], axis=1) if cores else None,
        steal_percent=column("cpu_steal_percent"),
        mem_used_percent=column("mem_used_percent"),
        swap_in_pages_per_s=column("swap_in_pages_per_s"),
        notes=(f"{lost} rows without a stamp, an interval or a CPU figure left out",) if lost else (),
    )


def _plain_table(text: str) -> _Table | None:
    """A table of which every cell is there and plain: numbers, and times in UTC. None if it is any other.

    What a recorder writes is of this kind, and importing pandas would cost more than all else of a small run.
    """
    head, _, body = text.lstrip("\ufeff").partition("\n")
    names = [name.strip() for name in head.split(",")]
    rows = [line.split(",") for line in body.splitlines()]
    if not _PLAIN.fullmatch(body) or len({*names}) < len(names) or {len(row) for row in rows} != {len(names)}:
        return None
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    texts = columns.pop("timestamp", ("",))
    if not all(_UTC.fullmatch(one) for one in texts):
        return None
    try:
        stamps = np.array([one[:-1] for one in texts], dtype="datetime64[ns]").astype(np.int64)
        return stamps, {name: np.array([float(v) for v in values]) for name, values in columns.items()}
    except ValueError:
        return None


def _any_table(text: str) -> _Table:
    """The same of any table, by pandas: quotes, gaps, times of every form."""
    import pandas as pd

    try:
        table = pd.read_csv(io.StringIO(text.lstrip("\ufeff")), skipinitialspace=True, dtype=str)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise UnusableHost(f"not a table: {error}") from error
    table.columns = [str(name).strip() for name in table.columns]
    return _stamps_ns(table["timestamp"]), {
        name: pd.to_numeric(table[name], errors="coerce").to_numpy(dtype=np.float64)
        for name in table.columns
        if name != "timestamp"
    }


def _stamps_ns(column: object) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """ns since the epoch; −1 where a stamp cannot be read."""
    import pandas as pd

    texts = pd.Series(column).astype("string").str.strip()
    numeric = pd.to_numeric(texts, errors="coerce")
    if numeric.notna().sum() > len(texts) / 2:
        # A stamp of 19 digits does not fit a float: whole numbers stay whole.
        whole = [int(t) if str(t).isdigit() else (float(t) if _is_number(t) else -1.0) for t in texts]
        return np.array([_epoch_ns(value) for value in whole], dtype=np.int64)
    dated = texts[texts.str.contains(r"^\d{4}-\d\d-\d\d[T ]", regex=True).fillna(False)]
    if not dated.str.contains(r"(?:Z|[+-]\d\d:?\d\d)$", regex=True).all():
        raise UnusableHost("its timestamps name no zone (write them as 2026-11-29T12:00:00Z)")
    parsed = pd.to_datetime(texts, utc=True, errors="coerce", format="ISO8601")
    out = np.full(len(texts), -1, dtype=np.int64)
    good = parsed.notna().to_numpy()
    out[good] = parsed[good].dt.tz_localize(None).to_numpy(dtype="datetime64[ns]").astype(np.int64)
    return out


def _is_number(text: object) -> bool:
    try:
        float(str(text))
    except ValueError:
        return False
    return True


def _epoch_ns(value: float) -> int:
    if not 0 < value < 1e19:
        return -1
    factor = next(f for limit, f in _EPOCH_NS if value >= limit)
    return value * factor if isinstance(value, int) else round(value * factor)


def _intervals_s(
    stamps: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Time since the row before. A row after a hole (more than 1.5 times the median step) is taken to cover
    the median step and not the hole, and so is the first row."""
    if len(stamps) < 2:
        return np.zeros(len(stamps), dtype=np.float64)
    steps = np.diff(stamps) / 1e9
    usual = float(np.median(steps))
    return np.concatenate([[usual], np.where(steps > 1.5 * usual, usual, steps)])


FORMAT = HostFormat(
    name="host-csv",
    label="plain host CSV",
    content="text",
    looks_like=looks_like_host_csv,
    read=lambda text, label: read_host_csvs(text, label),
)
