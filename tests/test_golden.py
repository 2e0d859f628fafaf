"""Inputs whose right answer can be worked out: two published documents (M) and public issue threads (P).

Every run is built with the numbers of its source; where size forbids it, the comment says how it was scaled.
Cases that need summaries, HTML reports or the expansion of a closed run's stall wait for their readers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from auditor.api import Cardinality, Iterations, Plan, Requests, Thresholds
from auditor.engine.audit import Audit
from auditor.engine.rule import RuleResult
from auditor.facts.keys import Key
from auditor.facts.latency import Latency
from tests.builder import Answer, Run, Scenario
from tests.conftest import Judge, outcomes
from tests.rules.cases import CLOSED, LOG, edit, inspect, less, more, point, request_lines, slots

KEY = Key("", "api")


def of(result: Audit, rule: str) -> RuleResult:
    return next(r for r in result.results if r.id == rule)


def account(result: Audit) -> Any:
    assert result.accounting is not None
    return result.accounting.whole[KEY]


def cell(result: Audit, name: str) -> tuple[str, Any]:
    field = result.header.fields[name]
    return field.status, field.value


def built(run: Run, folder: Path, *changes: Any) -> Path:
    run.write(folder)
    for change in changes:
        change(folder)
    return folder


def series_warning(n: int) -> str:
    return (
        LOG
        + f'warning msg="The test has generated metrics with {n} unique time series, which is higher than the suggested limit of 100000"\n'
    )


# --- the two documents ------------------------------------------------------------------------------------


def test_m4_a_million_series_is_a_lower_bound(judge: Judge) -> None:
    result = judge(Run(log=series_warning(1_002_345)))
    assert outcomes(result)["CA01"] == "fail:warning"
    assert "at least 1,002,345" in of(result, "CA01").reason


@pytest.mark.parametrize("urls", [1, 10, 100])
def test_m4_every_url_costs_nine_series(urls: int, judge: Judge) -> None:
    scenario = Scenario(duration_s=2, request_name=lambda i: f"GET /page-{i % urls}x")
    counted = judge(Run(scenarios=[scenario])).facts.get(Cardinality).by_generator[""]
    assert counted.series == 9 * urls + 4 + 2  # iterations, their duration, data sent and received; two gauges


STALL_FROM, STALL_TO = 200.0, 205.0


def open_stall() -> Run:
    """100/s on 100 VUs for 420 s with a stall of 5 s, at a tenth of the rate and of the VUs, so that every
    share is the same: 4,200 slots; of the 50 due in the stall ten hold the VUs and 40 are dropped."""
    every = slots(10, 420)
    held = [s for s in every if STALL_FROM <= s < STALL_FROM + 1]
    dropped = [s for s in every if STALL_FROM + 1 <= s < STALL_TO]
    assert (len(every), len(held), len(dropped)) == (4200, 10, 40)

    def answer(index: int, start_s: float) -> Answer:
        return Answer((STALL_TO - start_s) * 1000 + 20 if STALL_FROM <= start_s < STALL_TO else 20.0)

    scenario = Scenario(
        rate=10, duration_s=420, pre_allocated_vus=10, max_vus=10, think_ms=0.0, answer=answer,
        starts_s=[s for s in every if s not in set(dropped)], drops_s=dropped,
    )  # fmt: skip
    return Run(scenarios=[scenario])


def closed_twin() -> Run:
    """The same on ten VUs that each ask once a second: 200 times before the stall, once into it, and from
    206 s on 214 times more: 4,150 requests."""

    def answer(index: int, start_s: float) -> Answer:
        return Answer((STALL_TO - start_s) * 1000 + 20 if STALL_FROM <= start_s < STALL_TO else 20.0)

    starts = [vu / 10 + turn for vu in range(10) for turn in range(201)]
    starts += [206.0 + turn for _ in range(10) for turn in range(214)]
    scenario = Scenario(
        executor="constant-vus",
        rate=10,
        duration_s=420,
        vus=10,
        think_ms=980.0,
        starts_s=sorted(starts),
        answer=answer,
    )
    return Run(scenarios=[scenario])


def test_m5_an_open_run_shows_the_stall(judge: Judge) -> None:
    result = judge(open_stall())
    found = outcomes(result)
    assert result.verdict == "INVALID"
    assert found["OL01"] == "pass"  # 40 of 4,200 are 0.95 %: the whole run says nothing
    assert found["OL03"] == "fail:invalid"  # 160 of the 200 slots of its window of 20 s
    assert found["CO02"] == "fail:invalid"  # 10 of 50 starts made
    assert found["SD01"] == "fail:warning"  # p99.9: 4 of 4,200 may be lost; p99: 41
    assert account(result).dropped == 40
    # Offered: rank 0.99 × 4,199 = 4,157.01 of 4,160 measured, the slowest of which are 5,020, 4,920, 4,820 ms.
    assert cell(result, "p99") == ("ok", pytest.approx(4820 + 0.01 * 100, abs=0.01))
    assert result.header.fields["p99"].detail["of_successful"] == pytest.approx(20, abs=0.001)


def test_m5_its_closed_twin_hides_it(judge: Judge) -> None:
    result = judge(closed_twin(), **CLOSED)
    assert cell(result, "p99") == ("ok", pytest.approx(20, abs=0.001))  # ten slow of 4,150
    assert result.facts.get(Latency).pooled.sent == 4150
    assert outcomes(result)["CO02"] == "fail:invalid"  # 51 were due, one (at its first instant) was made
    assert "51 starts were due at the rate before it, 1 made" in of(result, "CO02").reason
    assert result.verdict == "INVALID"


def test_m5_the_closed_twin_without_a_declaration(judge: Judge) -> None:
    assert outcomes(judge(closed_twin()))["WM01"] == "fail:invalid"


def test_m6_a_percentile_of_successes_with_a_fifth_failing(judge: Judge) -> None:
    scenario = Scenario(
        duration_s=10, answer=lambda i, s: Answer(20.0 + i % 9, "500" if i % 5 == 0 else "200", i % 5 == 0)
    )
    result = judge(Run(scenarios=[scenario]))
    assert result.verdict == "INVALID"
    assert outcomes(result)["ER03"] == "fail:invalid"
    assert [cell(result, name)[0] for name in ("p50", "p90", "p95", "p99")] == ["ok", *3 * ["not-identified"]]
    # 1,000 requests are too few for p99.9, and it says that first.
    assert cell(result, "p999") == ("n/a", None)


def test_m6_with_enough_requests_p999_is_not_identified_either(judge: Judge) -> None:
    scenario = Scenario(duration_s=10, requests=4, answer=lambda i, s: Answer(20.0, failed=i % 5 == 0))
    result = judge(Run(scenarios=[scenario]))
    assert cell(result, "p999")[0] == "not-identified"


# --- public threads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "expected"),
    [(900, {}), (899, {}), (901, {}), (897, {"SD03": "fail:invalid"}), (903, {"SD04": "fail:invalid"})],
)
def test_p1_thirty_a_second_for_thirty_seconds(made: int, expected: dict[str, str], judge: Judge) -> None:
    every = slots(30, 30)
    starts = less(every, 900 - made) if made <= 900 else more(every, made - 900)
    result = judge(Run(scenarios=[Scenario(rate=30, starts_s=starts)]))
    found = outcomes(result)
    assert account(result).planned == 900
    assert {rule: found[rule] for rule in ("SD03", "SD04")} == {"SD03": "pass", "SD04": "pass", **expected}


def test_p2_no_drop_series_means_zero_or_nothing(judge: Judge) -> None:
    open_run = judge(Run(scenarios=[Scenario(duration_s=10)]))
    assert cell(open_run, "dropped_iterations") == ("ok", 0)


def test_p2_looping_vus_cannot_drop(judge: Judge) -> None:
    result = judge(Run(scenarios=[Scenario(executor="constant-vus", rate=50, duration_s=10)]))
    assert cell(result, "dropped_iterations") == ("n/a", None)


def test_p3_a_threshold_on_nothing_is_vacuous(judge: Judge) -> None:
    result = judge(
        Run(
            scenarios=[Scenario(duration_s=5)],
            thresholds={"checks": ["rate>=0.9"], "dropped_iterations": ["count<5"]},
        )
    )
    states = {t.metric: t.state for t in result.facts.get(Thresholds).found}
    assert states == {"checks": "vacuous", "dropped_iterations": "passed"}


def test_p6_requests_of_setup_are_kept_out(judge: Judge) -> None:
    # 3,999 iterations at 2,393/s on 50 VUs, and two requests of 7.35 s in setup(): 4,001 requests.
    starts = [i / 2393 for i in range(3999)]
    scenario = Scenario(
        executor="constant-vus", vus=50, duration_s=2, starts_s=starts, think_ms=0.0,
        answer=lambda i, s: Answer(62.0 if i == 7 else 20.0),
    )  # fmt: skip
    setup = [x for end in (-0.05, -0.01) for x in request_lines(end, 7350.0, "", group="::setup")]
    result = judge(Run(scenarios=[scenario], extra_lines=setup), purpose="smoke", **CLOSED)
    found = outcomes(result)
    assert (found["EV04"], found["LS11"], found["EV03"]) == ("pass", "pass", "pass")
    population = result.facts.get(Latency).pooled
    assert population.sent == 3999
    assert population.sent_ms[-1] == 62.0
    assert len(result.facts.get(Requests).by_generator[""]) == 3999


def test_p7_nothing_completes(judge: Judge) -> None:
    # Ten VUs for 60 s, the server answers after 100 s: all are cut off at 60 + 30 s.
    scenario = Scenario(executor="constant-vus", vus=10, duration_s=60, starts_s=[], interrupted_s=[90.0] * 10)
    result = judge(Run(scenarios=[scenario]), **CLOSED)
    assert result.verdict == "INVALID"
    assert outcomes(result)["OL08"] == "fail:invalid"
    assert "nothing completed" in of(result, "OL08").reason
    assert "10 iterations were interrupted" in of(result, "CO05").reason
    assert (account(result).started, account(result).completed) == (10, 0)


def test_p8_every_iteration_throws(judge: Judge) -> None:
    line = (
        LOG + 'error msg="ReferenceError: randomId is not defined" executor=x scenario=api source=stacktrace\n'
    )
    result = judge(Run(scenarios=[Scenario(duration_s=10, requests=0)], log=1000 * line))
    assert result.verdict == "INVALID"
    found = outcomes(result)
    assert (found["OL08"], found["ER11"], found["EV12"]) == ("fail:invalid", "fail:invalid", "pass")
    assert of(result, "OL08").cause == "ER11"


def test_p8_without_its_log_it_is_zero_work_all_the_same(judge: Judge) -> None:
    result = judge(Run(scenarios=[Scenario(duration_s=10, requests=0)], log=None))
    assert outcomes(result)["OL08"] == "fail:invalid"


def test_p9_two_of_45_unfinished(judge: Judge) -> None:
    scenario = Scenario(
        rate=3,
        duration_s=15,
        starts_s=slots(3, 15)[:43],
        interrupted_s=[45.0, 45.0],
        max_vus=5,
        pre_allocated_vus=5,
    )
    result = judge(Run(scenarios=[scenario]))
    counted = account(result)
    assert (counted.planned, counted.started, counted.completed, counted.interrupted) == (45, 45, 43, 2)
    assert (counted.dropped, counted.silent, counted.not_reached) == (0, 0, 0)
    found = outcomes(result)
    assert (found["OL01"], found["SD03"]) == ("pass", "pass")
    assert "2 iterations were interrupted" in of(result, "CO05").reason


def test_p10_the_users_id_is_the_tag(tmp_path: Path, judge: Judge) -> None:
    def tagged(text: str) -> str:
        lines, user = [], 0
        for line in text.splitlines():
            user += '"metric":"http_reqs","type":"Point"' in line
            lines.append(
                line.replace('"url":', f'"userId":"{user}","url":') if '"metric":"http_' in line else line
            )
        return "\n".join(lines) + "\n"

    run = Run(scenarios=[Scenario(duration_s=5)], log=series_warning(1_600_017))
    result = judge(built(run, tmp_path / "users", edit("k6.json", tagged)))
    assert "at least 1,600,017" in of(result, "CA01").reason
    assert "'userId'" in of(result, "CA01").reason
    assert "'userId'" in of(result, "CA03").reason


def test_p12_a_plan_by_the_minute(tmp_path: Path, judge: Judge) -> None:
    scenario = Scenario(
        executor="ramping-arrival-rate",
        start_rate=5,
        stages=[(60, 5), (120, 10), (240, 10), (120, 1)],
        requests=0,
    )

    def by_the_minute(options: dict[str, Any]) -> None:
        stages = [{"duration": d, "target": t} for d, t in (("1m", 300), ("2m", 600), ("4m", 600), ("2m", 60))]
        options["scenarios"]["api"] |= {"timeUnit": "1m", "startRate": 300, "stages": stages}

    result = judge(built(Run(scenarios=[scenario]), tmp_path / "minutes", inspect(by_the_minute)))
    assert account(result).planned == 4260
    assert account(result).started == 4260
    schedule = result.facts.get(Plan).keys[KEY].schedule
    assert schedule is not None
    stages = [schedule.slots_between(s.start_s, s.end_s) for s in schedule.stages]
    assert stages == [300, 900, 2400, 660]
    found = outcomes(result)
    assert (found["EV03"], found["OL01"], found["OL02"]) == ("pass", "pass", "pass")


def test_p13_rps_makes_the_vus_wait_where_no_request_shows_it(judge: Judge) -> None:
    # Ten VUs and rps 1: one request a second, each VU waits 10 s for its turn.
    scenario = Scenario(
        executor="constant-vus",
        vus=10,
        rate=1,
        duration_s=60,
        think_ms=9980.0,
        answer=lambda i, s: Answer(20.0),
    )
    result = judge(Run(scenarios=[scenario], rps=1))
    found = outcomes(result)
    assert (found["WM04"], found["WM01"]) == ("fail:invalid", "fail:invalid")
    assert result.facts.get(Latency).pooled.sent_ms[-1] == 20.0
    assert result.facts.get(Iterations).by_key[KEY].duration_ms.min() == 10_000


def test_p14_no_address_left(judge: Judge) -> None:
    bad = Answer(0.0, "0", True, "1210", "dial tcp 10.0.0.1:80: connect: cannot assign requested address")
    scenario = Scenario(rate=1500, duration_s=2, answer=lambda i, s: bad if i >= 2000 else Answer(15.0))
    result = judge(Run(scenarios=[scenario]))
    found = outcomes(result)
    assert (found["ER06"], found["ER04"]) == ("fail:invalid", "fail:warning")
    assert of(result, "ER06").reason.startswith("1,000 of 3,000 requests failed at the generator")
    assert of(result, "ER03").cause == "ER06"


def test_p15_twenty_a_second_for_ten_seconds(judge: Judge) -> None:
    result = judge(Run(scenarios=[Scenario(rate=20, duration_s=10)]))
    assert (account(result).planned, account(result).started) == (200, 200)
    assert outcomes(result)["OL01"] == "pass"


@pytest.mark.parametrize("n", [5, 8])
def test_p16_p95_of_a_handful(n: int, judge: Judge) -> None:
    scenario = Scenario(
        executor="per-vu-iterations", vus=n, iterations=1, duration_s=10, starts_s=[i / 10 for i in range(n)]
    )
    result = judge(Run(scenarios=[scenario]), **CLOSED)
    assert cell(result, "p95") == ("n/a", None)
    assert result.header.fields["p95"].reason == f"n/a, need 72 (have {n})"
    assert "p95 (need 72)" in of(result, "LS02").reason


def test_p17_a_rate_limiter_answers(judge: Judge) -> None:
    # 167 of 1,000 answers are 429; a rule for the limiter itself is still to come.
    scenario = Scenario(
        duration_s=10, answer=lambda i, s: Answer(2.0, "429", True) if i % 6 == 0 else Answer(18.0)
    )
    result = judge(Run(scenarios=[scenario]))
    assert result.verdict == "INVALID"
    assert of(result, "ER03").reason.startswith("167 of 1,000 offered requests failed (16.70 %)")
    assert "167 × status 429" in of(result, "ER03").reason
    assert cell(result, "p50") == ("ok", 18.0)
    assert cell(result, "p90")[0] == "not-identified"


def test_p19_pretty_printed_objects_are_read(tmp_path: Path, judge: Judge) -> None:
    run = Run(scenarios=[Scenario(rate=100, duration_s=10)])
    plain = judge(built(run, tmp_path / "lines"))

    def pretty(text: str) -> str:
        return "\n".join(json.dumps(json.loads(line), indent=2) for line in text.splitlines()) + "\n"

    other = judge(built(run, tmp_path / "pretty", edit("k6.json", pretty)))
    assert plain.verdict == other.verdict == "VALID"
    assert {n: f.value for n, f in plain.header.fields.items()} == {
        n: f.value for n, f in other.header.fields.items()
    }


def test_p19_what_cannot_be_read_is_counted_and_named(tmp_path: Path, judge: Judge) -> None:
    run = Run(scenarios=[Scenario(duration_s=10)])
    lines = run.lines()
    at = next(i for i, line in enumerate(lines) if i > 5000)
    result = judge(
        built(
            run, tmp_path / "torn", edit("k6.json", lambda t: "\n".join([*lines[:at], "{", *lines[at:]]) + "\n")
        )
    )
    assert f"1 of {len(lines) + 1:,} lines" in of(result, "EV02").reason
    assert f"line {at + 1:,}" in of(result, "EV02").reason


def test_p20_an_aborted_ramp(judge: Judge) -> None:
    # A ramp to 500 VUs in 60 s, aborted at 29 s (243 VUs).
    log = (
        LOG
        + "error msg=\"thresholds on metrics 'http_req_duration' were crossed; at least one has abortOnFail enabled, stopping test prematurely\"\n"
    )
    scenario = Scenario(executor="ramping-vus", rate=20, stages=[(60, 500)])
    run = Run(
        scenarios=[scenario], end_s=29.0, extra_lines=[point("vus", 29.0, 243)], exit_code=99, log=log,
        thresholds={"http_req_duration": ["p(95)<10"]},
    )  # fmt: skip
    result = judge(run, **CLOSED)
    found = outcomes(result)
    assert result.verdict == "INVALID"
    assert (found["OL09"], found["EV01"], found["EV12"]) == ("fail:invalid", "pass", "pass")
    assert "31.0 s before its planned end: 29.0 of 60.0 s" in of(result, "OL09").reason
    assert cell(result, "test_duration") == ("ok", pytest.approx(29.0))
    assert result.header.fields["test_duration"].detail["planned_s"] == 60
