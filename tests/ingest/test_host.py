"""Host metrics: sadf -j and the plain CSV; ends of intervals, zones, cores, and what is refused."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.ingest.host.format import UnusableHost
from auditor.ingest.host.plain_csv import looks_like_host_csv, read_host_csv
from auditor.ingest.host.sadf_json import looks_like_sadf, read_sadf

T = 1795989600  # 2026-11-29T22:00:00Z


def sadf(rows: list[dict[str, Any]], **host: Any) -> Any:
    return {"sysstat": {"hosts": [{"nodename": "gen", "number-of-cpus": 2, "statistics": rows, **host}]}}


def row(second: int, idle: float, iowait: float = 0.0, utc: int = 1, **more: Any) -> dict[str, Any]:
    load = [{"cpu": "all", "idle": idle, "iowait": iowait, "steal": 1.5}]
    load += [{"cpu": str(core), "idle": idle - 5 + 10 * core, "iowait": iowait} for core in (0, 1)]
    stamp = {"date": "2026-11-29", "time": f"22:00:{second:02d}", "utc": utc, "interval": 1}
    return {"timestamp": stamp, "cpu-load": load, **more}


def test_sadf_busy_is_all_but_idle_and_iowait() -> None:
    memory = {"memfree": 10, "memused": 600, "memused-percent": 60.0, "avail": 400}
    item = sadf([row(2, 70.0, 10.0, memory=memory), row(1, 90.0)])
    assert looks_like_sadf(item)
    (host,) = read_sadf(item, "h.json")
    assert host.stamp_ns.tolist() == [(T + 1) * 10**9, (T + 2) * 10**9]  # sorted
    assert host.cpu_busy_percent.tolist() == [10.0, 20.0]
    assert host.core_busy_percent is not None
    assert host.core_busy_percent.tolist() == [[15.0, 5.0], [25.0, 15.0]]
    assert host.steal_percent is not None
    assert host.mem_used_percent is not None
    assert host.mem_used_percent[1] == pytest.approx(60.0)  # 600 of 1,000; the rest is available
    assert (host.host, host.cores) == ("gen", 2)


def test_sadf_local_times_and_missing_cpu_are_refused() -> None:
    with pytest.raises(UnusableHost, match="local"):
        read_sadf(sadf([row(1, 90.0, utc=0)]), "h")
    with pytest.raises(UnusableHost, match="no CPU"):
        read_sadf(sadf([]), "h")


@pytest.mark.parametrize(
    "stamps",
    [
        ["2026-11-29T22:00:01Z", "2026-11-29T22:00:02Z"],
        ["2026-11-30T03:30:01+05:30", "2026-11-30T03:30:02.000+05:30"],
        [str(T + 1), str(T + 2)],
        [f"{T + 1}000", f"{T + 2}000"],
        [f"{T + 1}000000000", f"{T + 2}000000000"],
        [f"{T + 1}.0", f"{T + 2}.0"],
    ],
)
def test_csv_stamps_in_every_form(stamps: list[str]) -> None:
    text = "timestamp,cpu_busy_percent\n" + "".join(f"{s},{10 * i + 5}\n" for i, s in enumerate(stamps))
    assert looks_like_host_csv(text)
    host = read_host_csv(text, "host.csv")
    assert host.stamp_ns.tolist() == [(T + 1) * 10**9, (T + 2) * 10**9]
    assert host.cpu_busy_percent.tolist() == [5.0, 15.0]
    assert host.interval_s.tolist() == [1.0, 1.0]


def test_csv_columns_and_rows_left_out() -> None:
    text = (
        "\ufefftimestamp, cpu1_busy_percent, cpu_busy_percent, cpu0_busy_percent, mem_used_percent\n"
        "2026-11-29T22:00:01Z,4,3,2,50\n2026-11-29T22:00:02Z,,,,\nrubbish,1,1,1,1\n2026-11-29T22:00:03Z,8,7,6,60\n"
    )
    host = read_host_csv(text, "host.csv")
    assert host.cpu_busy_percent.tolist() == [3.0, 7.0]
    assert host.core_busy_percent is not None
    assert host.core_busy_percent.tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert host.mem_used_percent is not None
    assert np.array_equal(host.mem_used_percent, [50.0, 60.0])
    assert "2 rows" in host.notes[0]


def test_csv_without_a_zone_or_a_usable_row_is_refused() -> None:
    with pytest.raises(UnusableHost, match="zone"):
        read_host_csv("timestamp,cpu_busy_percent\n2026-11-29 22:00:01,5\n", "h")
    with pytest.raises(UnusableHost, match="no row"):
        read_host_csv("timestamp,cpu_busy_percent\n2026-11-29T22:00:01Z,NaN\n2026-11-29T22:00:02Z,-5\n", "h")


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_any_table_is_read_or_refused(rest: str) -> None:
    with contextlib.suppress(UnusableHost):
        read_host_csv("timestamp,cpu_busy_percent\n" + rest, "h")


def test_the_same_22_seconds_in_sadf(shared: Path) -> None:
    path = shared / "real" / "host" / "generated" / "sadf_j_A.json"
    (host,) = read_sadf(json.loads(path.read_text()), path.name)
    assert (np.diff(host.stamp_ns) == 10**9).all()
    assert 20 <= len(host.stamp_ns) <= 26
    assert host.cpu_busy_percent.mean() > 50  # the host was busy in that window


def test_a_row_whose_interval_cannot_be_read_is_left_out_and_said(tmp_path: Path) -> None:
    path = tmp_path / "host.csv"
    rows = [
        f"2026-11-29T12:00:0{i}Z,{interval},30" for i, interval in enumerate(["1", "", "x", "0", "-1", "1"])
    ]
    path.write_text("\n".join(["timestamp,interval_s,cpu_busy_percent", *rows]) + "\n")
    found = read_host_csv(path.read_text(), "host.csv")
    assert found.interval_s.tolist() == [1.0, 1.0]
    assert (found.stamp_ns // 10**9 % 60).tolist() == [0, 5]
    assert found.notes == ("4 rows without a stamp, an interval or a CPU figure left out",)


cells = st.sampled_from(["1", "30.5", "-1", "1e2", "0", "nan", "", " 7", "x", '"8"', "101", "1.5.2", "1_0"])
times = st.sampled_from(
    ["2026-11-29T12:00:00Z", "2026-11-29T12:00:01.5Z", "2026-02-30T12:00:00Z", "1795989600", "2026-11-29T12:00:02+01:00", "", "x"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(times, cells, cells), min_size=1, max_size=6),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_a_plain_table_is_read_without_pandas_as_with_it(
    rows: list[tuple[str, str, str]], end: str, bom: bool
) -> None:
    from auditor.ingest.host import plain_csv

    text = end.join(["timestamp,cpu_busy_percent,mem_used_percent", *(",".join(row) for row in rows), ""])
    text = "\ufeff" + text if bom else text
    quick = plain_csv._plain_table(text)
    if quick is None:
        return
    stamps, numbers = plain_csv._any_table(text)
    assert quick[0].tolist() == stamps.tolist()
    assert list(quick[1]) == list(numbers)
    for name, values in numbers.items():
        assert quick[1][name].tobytes() == values.tobytes()


def test_the_tables_of_the_sample_runs_need_no_pandas() -> None:
    from auditor.ingest.host import plain_csv

    found = sorted((Path(__file__).parents[2] / "sample_runs").glob("**/host.csv"))
    assert found
    assert all(plain_csv._plain_table(path.read_text()) is not None for path in found)
