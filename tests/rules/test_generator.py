"""GH: the generator's own host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builder import Run, Scenario
from tests.rules.cases import (
    HEALTHY,
    NO_HOST,
    NO_POINTS,
    PAIR,
    Case,
    Change,
    World,
    both,
    edit,
    half,
    less,
    lost,
    remove,
    several,
    slots,
    table,
    world,
)

IDLE = Scenario(duration_s=10, requests=0)


def cpu(busy: Callable[[float], float], length_s: float = 10, rate: int = 100) -> World:
    return world(Scenario(rate=rate, duration_s=length_s, requests=0), cpu_percent=busy)


def rows(keep: Callable[[int], bool], interval_s: int = 1) -> Change:
    """Keep some seconds of host.csv (its stamps are whole seconds, from -2 on)."""

    def change(text: str) -> str:
        head, *body = text.splitlines()
        return "\n".join([head, *(row for i, row in enumerate(body) if keep(i - 2))]) + "\n"

    return edit("host.csv", change)


def rotated(folder: Path) -> None:
    """host.csv goes on in another file from its sixth row on."""
    head, *body = (folder / "host.csv").read_text().splitlines()
    (folder / "host.csv").write_text("\n".join([head, *body[:6], ""]))
    (folder / "host2.csv").write_text("\n".join([head, *body[6:], ""]))


def with_column(name: str, value: str) -> Change:
    def change(text: str) -> str:
        head, *body = text.splitlines()
        return "\n".join([f"{head},{name}", *(f"{row},{value}" for row in body), ""])

    return edit("host.csv", change)


def two_hosts(folder: Path) -> None:
    """Rows of two machines in one file: one at 20 %, one at 95 %; their average is harmless."""
    head, *body = (folder / "host.csv").read_text().splitlines()
    mine = [f"{row},a" for row in body]
    other = [f"{row.split(',')[0]},95,{','.join([*row.split(',')[2:], 'b'])}" for row in body]
    (folder / "host.csv").write_text("\n".join([f"{head},host", *mine, *other, ""]))


def covered(missing: int) -> World:
    """22 s at 50/s; one second forgiven at each edge, and of the 20 s between so many have no sample."""
    return world(
        Scenario(rate=50, duration_s=22, requests=0),
        change=rows(lambda s: not 6 <= s < 6 + missing) if missing else None,
    )


def step(seconds: int) -> World:
    """A sample only every so many seconds, over 44 s and beyond both its ends."""
    run = Run(
        scenarios=[
            Scenario(rate=30, duration_s=44, requests=0),
            Scenario("late", rate=1, duration_s=1, start_time_s=60, requests=0),
        ]
    )
    return World((run,), change=rows(lambda s: s % seconds == 0))


def core(hot: Callable[[float], float], length_s: float = 30, **scenario: Any) -> World:
    """Two cores, the first of them as busy as told, over 30 s at 50/s: 500 slots in each window of 10 s."""
    one = Scenario(**{"rate": 50, "duration_s": length_s, "requests": 0, "pre_allocated_vus": 100, **scenario})
    return world(one, core_percent=lambda at_s, number: hot(at_s) if number == 0 else 5.0)


def first_ten(at_s: float) -> float:
    return 95.0 if 0 <= at_s <= 10 else 5.0


def swapping(gone: int) -> World:
    """5 pages/s swapped in, and so many of 1,000 starts dropped."""
    return world(
        Scenario(**lost(100, 10, gone, dropped=True), requests=0),
        change=edit("host.csv", lambda t: t.replace(",0\n", ",5\n")),
    )


WINDOW_SHORT = less(slots(50, 30), 11, 1, 9)
"""489 of 500 in the first window: below 98 %."""
LATER_SHORT = less(slots(50, 30), 11, 20)
DROP_AT = [3.0, 4.0]
KEPT = [s for s in slots(50, 30) if s not in DROP_AT]
LATE_KEPT = [s for s in slots(50, 30) if s not in (25.0, 26.0)]
FOUR_SILENT = less(slots(50, 30), 4, 2, 8)
"""Of 1,500 at 50/s; e = 1 + ⌈50 × 5 ms⌉ = 2; 496 of 500 in the window are within 98 %."""

CASES = [
    Case("GH01", "the whole window", "pass", HEALTHY),
    Case("GH01", "no metrics", "unknown", NO_HOST),
    Case("GH01", "19 of 20 s: 95 %", "pass", covered(1)),
    Case("GH01", "18 of 20 s: 90 %", "unknown", covered(2), says="90.0%"),
    Case("GH01", "a sample every 10 s", "pass", step(10)),
    Case("GH01", "a sample every 11 s", "unknown", step(11), says="11 s"),
    Case("GH01", "of another day", "unknown", world(IDLE, change=edit("host.csv", lambda t: t.replace("2026-11", "2026-10")))),
    # 1,000 starts in 10 s on 64 cores, as none are stated: 0.015 % is 0.096 ms each, 0.016 % is 0.1024 ms.
    Case("GH01", "0.096 ms of CPU an iteration", "unknown", cpu(lambda s: 0.015), says="another machine"),
    Case("GH01", "0.1024 ms of CPU an iteration", "pass", cpu(lambda s: 0.016)),
    Case("GH01", "rotated in the middle", "pass", world(IDLE, change=rotated)),
    Case("GH01", "rotated, and a part is lost", "unknown", world(IDLE, change=both(rotated, remove("host.csv")))),
    Case("GH01", "cores of another machine", "unknown", world(IDLE, change=with_column("cpu0_busy_percent", "90")), says="not of one machine"),
    Case("GH01", "cores of this machine", "pass", world(IDLE, change=with_column("cpu0_busy_percent", "25"))),
    Case("GH01", "a file that cannot be read is named", "unknown", world(IDLE, change=edit("host.csv", lambda t: t.replace("Z,", ",")), ), says="host.csv"),
    Case("GH05", "no figure", "not-applicable", HEALTHY),
    Case("GH05", "5 %", "pass", world(IDLE, change=with_column("cpu_steal_percent", "5"))),
    Case("GH05", "5.1 %", "fail:warning", world(IDLE, change=with_column("cpu_steal_percent", "5.1")), ("",), "5.1 %"),
    Case("GH05", "20 %", "fail:warning", world(IDLE, change=with_column("cpu_steal_percent", "20"))),
    Case("GH05", "20.1 %", "fail:invalid", world(IDLE, change=with_column("cpu_steal_percent", "20.1")), ("",), "hypervisor"),
    Case("GH03", "one of two hosts in a file is saturated", "fail:invalid", world(IDLE, change=two_hosts)),
    Case("GH01", "two generators", "pass", PAIR),
    Case("GH01", "one of two generators without", "unknown", several(half(), half(1, host=False)), says="gen-2"),
    Case("GH01", "no points", "unknown", NO_POINTS),
    Case("GH02", "60 %", "pass", cpu(lambda s: 60.0)),
    Case("GH02", "60.1 %", "fail:warning", cpu(lambda s: 60.1), ("",), "60.1 %"),
    Case("GH02", "100 %, and it stays a warning", "fail:warning", cpu(lambda s: 100.0)),
    Case("GH02", "busy before the window only", "pass", cpu(lambda s: 100.0 if s <= 0 else 20.0)),
    Case("GH02", "one of two generators", "fail:warning", several(half(), half(1, cpu_percent=lambda s: 70.0)), ("gen-2",)),
    Case("GH02", "no metrics", "unknown", NO_HOST),
    Case("GH03", "80 % throughout", "pass", cpu(lambda s: 80.0)),
    Case("GH03", "80.1 % throughout", "fail:invalid", cpu(lambda s: 80.1), ("",), "80.1 %"),
    # 5 of 120 samples are 4 %: no 95th percentile, but 5 s.
    Case("GH03", "90 % for 5 s of 120", "fail:invalid", cpu(lambda s: 90.0 if 40 < s <= 45 else 20.0, 120, 10), ("",), "90.0 % over 5 s"),
    # (4 × 90 + 20) ÷ 5 = 76.
    Case("GH03", "90 % for 4 s of 120", "pass", cpu(lambda s: 90.0 if 40 < s <= 44 else 20.0, 120, 10)),
    # (4 × 95 + 20) ÷ 5 = 80, and with 21 it is 80.2.
    Case("GH03", "80 % as the mean of 5 s", "pass", cpu(lambda s: 95.0 if 40 < s <= 44 else 20.0, 120, 10)),
    Case("GH03", "80.2 % as the mean of 5 s", "fail:invalid", cpu(lambda s: 95.0 if 40 < s <= 44 else 21.0, 120, 10)),
    # One sample of ten at 100 %: 5 s hold one of them, (100 + 4 × 20) ÷ 5 = 36; the 95th percentile is 100.
    Case("GH03", "every tenth second at 100 %", "fail:invalid", cpu(lambda s: 100.0 if s % 10 == 5 else 20.0, 120, 10), ("",), "p95 100.0 %"),
    Case("GH03", "a single spike", "pass", cpu(lambda s: 100.0 if s == 50 else 20.0, 120, 10)),
    Case("GH03", "no metrics", "unknown", NO_HOST),
    Case("GH04", "80 % of a core", "pass", core(lambda s: 80.0)),
    Case("GH04", "80.1 % of a core", "fail:warning", core(lambda s: 80.1), ("",), "core 0"),
    # 10 s that hold 8 s of 100 % are 80 % busy, with 9 s they are 90 %.
    Case("GH04", "100 % for 8 s", "pass", core(lambda s: 100.0 if 10 < s <= 18 else 0.0)),
    Case("GH04", "100 % for 9 s", "fail:warning", core(lambda s: 100.0 if 10 < s <= 19 else 0.0), ("",), "90.0 %"),
    Case("GH04", "while a window lost 2.2 %", "fail:invalid", core(first_ten, starts_s=WINDOW_SHORT), ("",), "489 of 500"),
    Case("GH04", "while another window lost 2.2 %", "fail:warning", core(first_ten, starts_s=LATER_SHORT), ("",), "no load was lost"),
    Case("GH04", "while starts were dropped", "fail:invalid", core(first_ten, starts_s=KEPT, drops_s=DROP_AT), ("",), "dropped 2"),
    Case("GH04", "while as many were dropped as VUs were allocated", "fail:warning", core(first_ten, starts_s=KEPT, drops_s=DROP_AT, pre_allocated_vus=98, max_vus=100)),
    Case("GH04", "while one more was dropped than VUs were allocated", "fail:invalid", core(first_ten, starts_s=KEPT, drops_s=DROP_AT, pre_allocated_vus=99, max_vus=100)),
    Case("GH04", "drops at another time", "fail:warning", core(first_ten, starts_s=LATE_KEPT, drops_s=[25.0, 26.0])),
    Case("GH04", "while starts were forgotten", "fail:invalid", core(first_ten, starts_s=FOUR_SILENT), ("",), "4 silently lost starts of api"),
    Case("GH04", "no figures per core", "not-applicable", HEALTHY),
    Case("GH04", "no metrics", "unknown", NO_HOST),
    Case("GH06", "90 %", "pass", world(IDLE, memory_percent=90.0)),
    Case("GH06", "90.1 %", "fail:warning", world(IDLE, memory_percent=90.1), ("",), "90.1 %"),
    Case("GH06", "98.9 %", "fail:warning", world(IDLE, memory_percent=98.9)),
    Case("GH06", "99 %: full", "fail:invalid", world(IDLE, memory_percent=99.0)),
    Case("GH06", "swapping", "fail:warning", swapping(0), ("",), "5 pages/s"),
    Case("GH06", "swapping, 9 of 1,000 dropped", "fail:warning", swapping(9)),
    Case("GH06", "swapping, 10 of 1,000 dropped: load lost", "fail:invalid", swapping(10), ("",), "10 of 1,000"),
    Case("GH06", "no figures for memory", "not-applicable", world(IDLE, memory_percent=None)),
    Case("GH06", "no metrics", "unknown", NO_HOST),
]  # fmt: skip


@table(*CASES)
def test_generator(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    case.check(tmp_path_factory)
