"""HD: every field of the header has an answer, or the run is not proven."""

from __future__ import annotations

import pytest

from auditor.fields import FIELD_OF, FIELDS
from tests.builder import Scenario
from tests.rules.cases import (
    CLOSED_DECLARED,
    CLOSED_RUN,
    HEALTHY,
    NO_HOST,
    NO_OPTIONS_RAMP,
    NO_POINTS,
    NO_REQUESTS,
    NO_WARMUP,
    PAIR,
    Case,
    World,
    fails,
    half,
    point,
    several,
    table,
    world,
)

NAMES = {
    "HD01": "Target rate",
    "HD02": "Achieved rate",
    "HD03": "Dropped iterations",
    "HD04": "Generator CPU",
    "HD05": "Test duration",
    "HD06": "Warm-up excluded",
    "HD07": "p50",
    "HD08": "p90",
    "HD09": "p95",
    "HD10": "p99",
    "HD11": "p99.9",
}
EVERY = [f"HD{i:02d}" for i in range(1, 12)]
PERCENTILES = EVERY[6:]
CUT_OFF = world(end_s=6.0)
EMPTY_WINDOW = world(Scenario(duration_s=10), warmup="10s")
TWO_PROTOCOLS = world(extra_lines=[point("grpc_req_duration", 5.0, 3.0, scenario="api", status="0", group="")])

CASES = [
    *(Case(rule, "a healthy run", "pass", HEALTHY) for rule in EVERY),
    *(Case(rule, "two generators", "pass", PAIR) for rule in EVERY),
    *(Case(rule, "no points", "unknown", NO_POINTS, says=NAMES[rule]) for rule in EVERY if rule != "HD06"),
    *(Case(rule, "nothing left of the run", "unknown", EMPTY_WINDOW) for rule in ("HD01", "HD02", "HD04")),
    *(Case(rule, "cells that are n/a are an answer", "pass", world(Scenario(rate=1, duration_s=10))) for rule in PERCENTILES),
    *(Case(rule, "no request is an answer", "pass", NO_REQUESTS) for rule in PERCENTILES),
    *(Case(rule, "not identified is an answer", "pass", world(Scenario(duration_s=10, answer=fails(900)))) for rule in PERCENTILES),
    *(Case(rule, "two protocols, none named", "unknown", TWO_PROTOCOLS, says="several protocols") for rule in PERCENTILES),
    Case("HD01", "closed, nothing declared", "unknown", CLOSED_RUN, says=NAMES["HD01"]),
    Case("HD01", "closed by declaration", "pass", CLOSED_DECLARED),
    Case("HD01", "only the banner of a ramp", "unknown", NO_OPTIONS_RAMP),
    Case("HD03", "cut off: no drop proves nothing", "unknown", CUT_OFF, says=NAMES["HD03"]),
    Case("HD03", "looping VUs cannot drop", "pass", CLOSED_DECLARED),
    Case("HD04", "no host metrics", "unknown", NO_HOST, says=NAMES["HD04"]),
    Case("HD04", "one of two hosts missing", "unknown", several(half(), half(1, host=False)), says="gen-2"),
    Case("HD06", "no warm-up declared", "unknown", NO_WARMUP, says=NAMES["HD06"]),
]  # fmt: skip


@table(*CASES)
def test_header(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    case.check(tmp_path_factory)


def test_the_window_of_a_run_that_was_cut_off_is_the_part_reached(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    header = CUT_OFF.audited(tmp_path_factory).header
    last_s = header.fields["test_duration"].value
    assert last_s is not None
    assert 5.9 <= last_s <= 6.0


@pytest.mark.parametrize(
    "world",
    [HEALTHY, PAIR, CLOSED_DECLARED, NO_REQUESTS, NO_HOST, NO_WARMUP, NO_POINTS, NO_OPTIONS_RAMP],
    ids=["healthy", "pair", "closed", "no-requests", "no-host", "no-warmup", "no-points", "no-options"],
)
def test_a_run_says_of_a_field_only_what_it_may(world: World, tmp_path_factory: pytest.TempPathFactory) -> None:
    header = world.audited(tmp_path_factory).header
    for found in (header.fields, *header.by_scenario.values()):
        assert list(found) == [field.name for field in FIELDS]
        for name, field in found.items():
            assert field.status in FIELD_OF[name].statuses, name
