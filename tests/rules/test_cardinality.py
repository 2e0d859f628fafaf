"""CA: time series, names, and the tag that makes them."""

from __future__ import annotations

import pytest

from tests.builder import Scenario
from tests.rules.cases import LOG, NO_POINTS, PAIR, Case, World, edit, half, points, several, table, world


def warned(n: int) -> str:
    return LOG + f'warning msg="The test has generated metrics with {n} unique time series, which is higher than the suggested limit of 100000 and could cause high memory usage."\n'  # fmt: skip


def series(limit: int) -> World:
    """One name and one scenario: 9 series of requests, 4 of iterations, 2 gauges, so 15."""
    return world(Scenario(duration_s=10), policy={"limits": {"CA01": {"series": limit}}})


def names(distinct: int, name: str = "GET /route-{}x") -> World:
    """1,000 requests of so many names."""
    return world(Scenario(duration_s=10, request_name=lambda i: name.format(f"{i % distinct:03d}")))


def with_ids(ids: int, others: int) -> World:
    """So many names with an id in them, and others without."""
    every = [f"GET /item/{i}" for i in range(ids)] + [f"GET /page-{chr(97 + i)}" for i in range(others)]
    return world(Scenario(duration_s=10, request_name=lambda i: every[i % len(every)]))


def named(name: str) -> World:
    return world(Scenario(duration_s=10, request_name=lambda i: name))


def users(found: list[str]) -> list[str]:
    """A tag of the user's id on every request: 600 users, 600 values, one name."""
    out, user = [], 0
    for line in found:
        if '"metric":"http_reqs","type":"Point"' in line:
            user += 1
        out.append(
            line.replace('"url":', f'"userId":"u{user % 600}","url":') if '"metric":"http_' in line else line
        )
    return out


IDLE = Scenario(duration_s=10, requests=0)
OVER = warned(100_001)

CASES = [
    Case("CA01", "15 of 15", "pass", series(15)),
    Case("CA01", "15 of 14", "fail:warning", series(14), ("",), "15 time series"),
    Case("CA01", "k6 warned of 100,000", "pass", world(IDLE, log=warned(100_000))),
    Case("CA01", "k6 warned of 100,001", "fail:warning", world(IDLE, log=OVER), ("",), "at least 100,001"),
    Case("CA01", "the largest of its warnings", "fail:warning", world(IDLE, log=OVER + warned(400_004)), ("",), "at least 400,004"),
    Case("CA01", "with 60 % CPU", "fail:warning", world(IDLE, log=OVER, cpu_percent=lambda s: 60.0)),
    Case("CA01", "with 60.1 % CPU", "fail:invalid", world(IDLE, log=OVER, cpu_percent=lambda s: 60.1), ("",), "strained"),
    Case("CA01", "with 80.1 % CPU in 5 s", "fail:invalid", world(IDLE, log=OVER, cpu_percent=lambda s: 80.1 if 3 < s <= 8 else 0.0)),
    Case("CA01", "with 90 % of memory", "fail:warning", world(IDLE, log=OVER, memory_percent=90.0)),
    Case("CA01", "with 90.1 % of memory", "fail:invalid", world(IDLE, log=OVER, memory_percent=90.1)),
    Case("CA01", "swapping", "fail:invalid", world(IDLE, log=OVER, change=edit("host.csv", lambda t: t.replace(",0\n", ",5\n")))),
    Case("CA01", "no host metrics", "fail:warning", world(IDLE, log=OVER, host=False)),
    Case("CA01", "busy without too many series", "pass", world(IDLE, cpu_percent=lambda s: 99.0)),
    # The strained host is the other generator's.
    Case("CA01", "another generator is strained", "fail:warning", several(half(log=OVER), half(1, cpu_percent=lambda s: 99.0)), ("gen-1",)),
    Case("CA01", "the same generator is strained", "fail:invalid", several(half(), half(1, log=OVER, cpu_percent=lambda s: 99.0)), ("gen-2",)),
    Case("CA01", "two generators", "pass", PAIR),
    Case("CA01", "no points", "unknown", NO_POINTS),
    Case("CA02", "500 names", "pass", names(500)),
    Case("CA02", "501 names", "fail:warning", names(501), ("",), "501 distinct names"),
    Case("CA02", "half of the names have an id", "pass", with_ids(6, 6)),
    Case("CA02", "more than half have an id", "fail:warning", with_ids(7, 6), ("",), "7 of them with an id"),
    *(Case("CA02", f"an id: {n}", "fail:warning", named(n)) for n in ("http://shop:8080/items/17", "GET /items/17/parts", "/u/0af3c2d91b", "/u/3f2504e0-4f89-11d3-9a0c-0305e82c3301", "/find?user=42", "/17")),
    *(Case("CA02", f"no id: {n}", "pass", named(n)) for n in ("http://shop:8080/items", "/v1/items", "/deadbeef", "/items/:id", "/find?q=shoes", "/top10", "/items#17")),
    Case("CA02", "no points", "unknown", NO_POINTS),
    Case("CA03", "few names", "pass", names(500)),
    Case("CA03", "501 names", "fail:info", names(501), ("",), "tag 'name' has 501 values"),
    Case("CA03", "too many series, by a tag of users", "fail:info", world(log=OVER, change=points(users)), ("",), "tag 'userId' has 600 values"),
    Case("CA03", "no points", "unknown", NO_POINTS),
]  # fmt: skip


@table(*CASES)
def test_cardinality(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    case.check(tmp_path_factory)
