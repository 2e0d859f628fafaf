"""EV: whether the evidence is whole, of one run, and consistent; and whether the audit itself was."""

from __future__ import annotations

import dataclasses
import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest

from auditor.engine.audit import audit
from auditor.engine.policy import load_policy
from auditor.engine.rule import Findings, LoadedRule
from auditor.evidence import Declared
from auditor.ingest.bundle import read_run
from tests.builder import Run, Scenario
from tests.conftest import outcomes
from tests.rules.cases import (
    BANNER_ALONE,
    CLOSED,
    HEALTHY,
    LOG,
    NO_PLAN,
    NO_POINTS,
    PAIR,
    RULES,
    TORN,
    Case,
    Change,
    World,
    always,
    both,
    closed,
    edit,
    fails,
    half,
    inspect,
    point,
    points,
    remove,
    request_lines,
    scripted,
    several,
    slots,
    table,
    without_requests,
    world,
)
from tests.rules.test_summaries import summary


def torn_gzip(folder: Path) -> None:
    data = (folder / "k6.json.gz").read_bytes()
    (folder / "k6.json.gz").write_bytes(data[: len(data) * 9 // 10])


def ended(last_s: float, **run: Any) -> World:
    return world(
        Scenario(duration_s=10, requests=0), end_s=last_s, extra_lines=[point("vus", last_s, 3)], **run
    )


def lines_in_all(total: int, bad: int = 1) -> World:
    """Padded with gauges to so many lines, of which some cannot be read."""
    run = Run(scenarios=[Scenario(duration_s=10, requests=0)])
    padding = [point("queue_length", 5.0 + i / 10_000, 3) for i in range(total - bad - len(run.lines()))]
    return world(Scenario(duration_s=10, requests=0), extra_lines=[*padding, *(bad * ["{broken"])])


def big(lost: int) -> World:
    """10,000 requests in 1,000 iterations of ten, of which some lack their waiting time."""

    def without(found: list[str]) -> list[str]:
        chosen = [i for i, x in enumerate(found) if '"metric":"http_req_waiting"' in x and '"Point"' in x]
        gone = set(chosen[100 : 100 + lost])
        return [x for i, x in enumerate(found) if i not in gone]

    return world(
        Scenario(duration_s=10, requests=10, answer=always(2.0)), change=points(without) if lost else None
    )


def without_metric(metric: str, nth: int) -> World:
    """One line of a metric is missing."""

    def change(found: list[str]) -> list[str]:
        at = [i for i, x in enumerate(found) if f'"metric":"{metric}","type":"Point"' in x][nth]
        return [x for i, x in enumerate(found) if i != at]

    return world(change=points(change))


def console(old: str, new: str, **options: Any) -> World:
    return world(change=edit("console.txt", lambda t: t.replace(old, new)), **options)


def options(name: str, value: object) -> World:
    return world(change=inspect(lambda o: o["scenarios"]["api"].update({name: value})))


def busy(vus: int, duration_ms: float = 50.0, **run: Any) -> World:
    """100/s of 50 ms: 1,000 × 50 ms in 10.04 s (the last ends at 9.99 + 0.05) keep 4.98 VUs busy."""
    sizes: dict[str, Any] = {"pre_allocated_vus": vus, "max_vus": vus, "think_ms": 0.0}
    return world(Scenario(duration_s=10, answer=always(duration_ms), **sizes), **run)


def parallel() -> World:
    """As before on five VUs, and each iteration has a second request of 50 ms beside its first: 9.96 VUs."""
    more = [x for s in slots(100, 10) for x in request_lines(s + 0.05, 50.0)]
    return busy(5, extra_lines=more)


def code(number: int | None, **run: Any) -> World:
    return world(exit_code=number, **run)


def outside(place: str) -> str:
    """An exception that no iteration threw."""
    return LOG + f'error msg="Error: boom\\n\\tat {place} (file:///s.js:6:75(16))\\n" hint="script exception"\n'


SAME = [Scenario("a", duration_s=10), Scenario("b", duration_s=10)]
OVERRODE = LOG + 'warning msg="CLI level configuration overrode scenarios configuration entirely"\n'
CROSSED = {"http_req_duration": ["p(95)<10"]}
"""Every request takes 20 ms or more."""
NO_THRESHOLDS_PRINTED = edit("console.txt", lambda t: t.replace("  █ THRESHOLDS \n", ""))
PROGRESS_ONLY = edit(
    "console.txt", lambda t: t.split("  █ THRESHOLDS")[0].replace("0 complete", "700 complete")
)


def progress(printed_n: int) -> Change:
    """A console that was cut off at a progress line, which counts so many iterations."""
    return edit(
        "console.txt", lambda t: t.split("  █ THRESHOLDS")[0].replace("0 complete", f"{printed_n} complete")
    )


REQUEST_FAILED = LOG + 'warning msg="Request Failed" error="Get \\"http://x/\\": request timeout"\n'
INSUFFICIENT = (
    LOG + 'warning msg="Insufficient VUs, reached 100 active VUs and cannot initialize more" scenario=api\n'
)
PROGRESS_ABOVE = edit(
    "console.txt", lambda t: t.split("  █ THRESHOLDS")[0].replace("0 complete", "1002 complete")
)


def two_instances(line: str) -> list[str]:
    """A sample of `vus` of two processes."""
    if '"metric":"vus' not in line or '"type":"Point"' not in line:
        return [line]
    return [line.replace('"tags":{', f'"tags":{{"instance_id":"{i}"') for i in (1, 2)]


CASES = [
    Case("EV01", "whole", "pass", HEALTHY),
    Case("EV01", "last line torn", "fail:invalid", world(change=TORN), ("",), "breaks off"),
    Case("EV01", "gzip torn", "fail:invalid", world(gzip=True, change=torn_gzip), ("",), "breaks off"),
    Case("EV01", "compressed and whole", "pass", world(gzip=True)),
    Case("EV01", "2 s before the end", "pass", ended(8.0)),
    Case("EV01", "2.001 s before the end", "fail:invalid", ended(7.999), ("",), "ends too early"),
    Case("EV01", "stopped by a signal", "pass", ended(5.0, exit_code=105)),
    Case("EV01", "aborted by the script", "pass", ended(5.0, exit_code=108)),
    Case("EV01", "killed", "fail:invalid", ended(5.0, exit_code=137)),
    Case("EV01", "empty", "fail:invalid", world(change=lambda f: (f / "k6.json").write_text("")), ("",), "no sample"),
    Case("EV01", "Metric lines alone", "fail:invalid", world(change=points(lambda found: [x for x in found if '"Metric"' in x])), ("",), "no sample"),
    Case("EV01", "no plan", "unknown", NO_PLAN),
    Case("EV01", "no points", "unknown", NO_POINTS),
    Case("EV01", "one generator's points missing", "fail:invalid", World((half(), half(1)), change=remove("gen-2/k6.json")), ("gen-2",), "gen-2 has no points file"),
    Case("EV01", "two whole generators", "pass", PAIR),
    Case("EV02", "whole", "pass", HEALTHY),
    # 0.01 % of 10,000 lines is 1.
    Case("EV02", "1 of 10,000 lines unreadable", "fail:warning", lines_in_all(10_000), ("",), "1 of 10,000"),
    Case("EV02", "1 of 9,999 lines unreadable", "fail:invalid", lines_in_all(9_999), ("",), "1 of 9,999"),
    Case("EV02", "2 of 10,000 lines unreadable", "fail:invalid", lines_in_all(10_000, 2)),
    Case("EV02", "10,000 requests, none incomplete", "pass", big(0)),
    Case("EV02", "1 of 10,000 requests incomplete", "fail:warning", big(1), ("",), "1 of 10,000 requests"),
    Case("EV02", "2 of 10,000 requests incomplete", "fail:invalid", big(2)),
    *(Case("EV02", f"a lost {m}", "fail:invalid", without_metric(m, 500)) for m in ("http_reqs", "http_req_duration", "http_req_blocked", "http_req_failed", "iterations", "iteration_duration", "data_sent", "data_received")),
    Case("EV02", "a metric left out as a whole", "pass", world(change=points(lambda found: [x for x in found if "http_req_tls" not in x]))),
    Case("EV02", "vus of two instances", "fail:invalid", world(change=points(lambda found: [x for line in found for x in two_instances(line)])), ("",), "instance_id=1, instance_id=2"),
    Case("EV02", "two ticks of vus a second", "fail:invalid", world(change=points(lambda found: [x for line in found for x in [line] * (2 if '"metric":"vus"' in line else 1)])), ("",), "samples of vus"),
    Case("EV02", "NUL bytes in the middle", "fail:invalid", world(change=points(lambda found: [*found[:500], "\0" * 4096, *found[500:]])), ("", ""), "NUL bytes"),
    Case("EV02", "a torn end is EV01's", "pass", world(change=TORN)),
    Case("EV02", "values that are no number", "fail:warning", world(extra_lines=[point("mine", 5.0, 1.0).replace('"value":1.0', '"value":+Inf')]), ("",), "not a finite number"),
    # 2 of 1,000 iterations that sent bytes have no request: 0.2 %; 1 of 1,000 is 0.1 %, the limit.
    Case("EV02", "every iteration has a request", "pass", without_requests(0)),
    Case("EV02", "1 of 1,000 iterations has bytes and no request", "pass", without_requests(1)),
    Case("EV02", "2 of 1,000, script not kept", "fail:warning", without_requests(2), ("api",), "2 of 1,000 iterations sent bytes"),
    Case("EV02", "2 of 1,000, the script speaks HTTP alone", "fail:invalid", without_requests(2, change=scripted("http.get('http://x/')")), ("api",)),
    Case("EV02", "2 of 1,000, the script has a socket", "fail:warning", without_requests(2, change=scripted("http.get('http://x/')", 'import http from "k6/http"', 'import ws from "k6/ws"'))),
    Case("EV02", "k6 says that samples were lost", "fail:invalid", world(log=LOG + 'error msg="Samples were not written"\n'), ("log",), "samples were not written"),
    Case("EV02", "a database was not reached", "fail:warning", world(log=LOG + "error msg=\"Couldn't write stats\"\n"), ("log",)),
    Case("EV02", "an output could not keep up", "fail:warning", world(log=LOG + 'warning msg="The flush operation took higher than the expected set push interval."\n'), ("log",)),
    Case("EV03", "all agree", "pass", HEALTHY),
    Case("EV03", "another rate", "fail:invalid", options("rate", 130), ("api",), "100.00/s"),
    Case("EV03", "another length", "fail:invalid", options("duration", "40s"), ("api",)),
    Case("EV03", "another executor", "fail:invalid", console("100.00 iterations/s for 10s (maxVUs: 50-100, ", "20 looping VUs for 10s ("), ("api",)),
    Case("EV03", "another scenario: a console of another run", "unknown", console("* api:", "* web:")),
    Case("EV03", "stages left out", "fail:invalid", world(Scenario(executor="ramping-arrival-rate", start_rate=50, stages=[(5, 100), (5, 100)]), change=edit("console.txt", lambda t: t.replace("over 2 stages", "over 3 stages"))), ("api",)),
    Case("EV03", "maxVUs differ", "fail:warning", options("maxVUs", 200), ("api",), "maxVUs"),
    Case("EV03", "preAllocatedVUs differ", "fail:warning", options("preAllocatedVUs", 60), ("api",)),
    Case("EV03", "startTime differs", "fail:warning", options("startTime", "3s"), ("api",), "startTime"),
    Case("EV03", "the console counts 1 more", "fail:invalid", console("1000 complete", "1001 complete"), ("",), "console.txt counts 1,001 complete iterations; k6.json has 1,000"),
    Case("EV03", "the console counts 1 fewer", "fail:invalid", console("1000 complete", "999 complete")),
    Case("EV05", "the console counts 1 request more", "fail:invalid", console(": 1000   ", ": 1001   "), ("requests",), "console.txt has 1,001 requests, k6.json has 1,000"),
    # 1,000 of a progress line: max(1, 0.1 %) is 1. Above 1,000 a thousandth counts: 3 of 3,003 (3.003).
    Case("EV03", "the last progress is 1 above", "pass", world(change=progress(1001))),
    Case("EV03", "the last progress is 2 above", "fail:invalid", world(change=progress(1002)), ("",), "its last progress line"),
    Case("EV03", "the last progress is 3 above 3,000", "pass", world(Scenario(duration_s=30, requests=0), change=progress(3003))),
    Case("EV03", "the last progress is 4 above 3,000", "fail:invalid", world(Scenario(duration_s=30, requests=0), change=progress(3004))),
    # 5 requests end with status 0, and k6 logs one warning for each.
    Case("EV03", "5 failed requests logged, 5 in the points", "pass", world(Scenario(duration_s=10, answer=fails(5, status="0", error_code="1050")), log=REQUEST_FAILED * 5)),
    Case("EV03", "6 failed requests logged, 5 in the points", "pass", world(Scenario(duration_s=10, answer=fails(5, status="0", error_code="1050")), log=REQUEST_FAILED * 6)),
    Case("EV03", "7 failed requests logged, 5 in the points", "fail:invalid", world(Scenario(duration_s=10, answer=fails(5, status="0", error_code="1050")), log=REQUEST_FAILED * 7), ("",), "log.txt counts 7 failed requests; k6.json has 5"),
    Case("EV03", "URLs that cannot be sent leave no sample", "pass", world(log=REQUEST_FAILED.replace("request timeout", "invalid URL") * 7)),
    Case("EV03", "the log ran out of VUs, and nothing was dropped", "fail:invalid", world(log=INSUFFICIENT), ("",), "Insufficient VUs"),
    Case("EV03", "the log ran out of VUs, and one was dropped", "pass", world(Scenario(duration_s=10, starts_s=slots(100, 10)[:-1], drops_s=[9.99]), log=INSUFFICIENT)),
    Case("EV03", "another threshold in the options", "fail:warning", world(change=inspect(lambda o: o["thresholds"].update(http_req_duration=["p(95)<500"]))), ("http_req_duration",), "p(95)<500"),
    Case("EV03", "another threshold in a summary", "fail:invalid", world(change=summary({"http_req_duration": {"max": 26.0, "thresholds": {"max<27": False}}})), ("http_req_duration", "http_req_duration")),
    Case("EV03", "the last progress is below", "pass", world(change=PROGRESS_ONLY)),
    Case("EV03", "the last progress is above", "fail:invalid", world(change=PROGRESS_ABOVE)),
    Case("EV03", "samples of an unplanned scenario", "fail:invalid", world(*SAME, change=both(inspect(lambda o: o["scenarios"].pop("b")), remove("console.txt"))), ("b",)),
    Case("EV03", "a planned scenario without a sample", "fail:invalid", world(Scenario("a", duration_s=10), Scenario("b", duration_s=10, starts_s=[])), ("b",), "no sample"),
    Case("EV03", "replaced from outside, no banner", "fail:warning", world(console=False, log=OVERRODE)),
    Case("EV03", "replaced from outside, banner agrees", "pass", world(log=OVERRODE)),
    Case("EV03", "the banner alone", "pass", BANNER_ALONE),
    Case("EV03", "neither banner nor options", "unknown", NO_PLAN),
    Case("EV03", "one of two generators", "fail:invalid", World((half(), half(1)), change=edit("gen-2/console.txt", lambda t: t.replace("1000 complete", "900 complete"))), ("gen-2",)),
    Case("EV04", "4.98 VUs busy, 5 there", "pass", busy(5)),
    Case("EV04", "4.98 VUs busy, 4 there", "fail:invalid", busy(4), ("api",), "4.98"),
    # Two of 101 ms from 0 and 99 ms on: 202 ms in 200 ms are 1.01 VUs of one, the limit.
    Case("EV04", "1.01 VUs busy, 1 there", "pass", world(Scenario(rate=2, duration_s=1, starts_s=[0.0, 0.099], think_ms=0.0, answer=always(101.0), pre_allocated_vus=1, max_vus=1))),
    Case("EV04", "1.02 VUs busy, 1 there", "fail:invalid", world(Scenario(rate=2, duration_s=1, starts_s=[0.0, 0.098], think_ms=0.0, answer=always(102.0), pre_allocated_vus=1, max_vus=1))),
    Case("EV04", "requests beside each other", "fail:warning", parallel(), ("api",), "in parallel"),
    Case("EV04", "closed: 50/s of 50 ms on two VUs", "fail:invalid", world(closed(vus=2, answer=always(50.0)), policy=CLOSED)),
    Case("EV04", "closed: 50/s of 50 ms on three VUs", "pass", world(closed(vus=3, answer=always(50.0)), policy=CLOSED)),
    Case("EV04", "no VUs known", "unknown", NO_PLAN),
    Case("EV12", "0 and nothing crossed", "pass", HEALTHY),
    Case("EV12", "99 and one crossed", "pass", code(99, thresholds=CROSSED)),
    Case("EV12", "99 and none crossed", "fail:invalid", code(99), ("",), "none of the 2"),
    Case("EV12", "99, none crossed by the points, but by the log", "pass", code(99, log=LOG + "error msg=\"thresholds on metrics 'x' have been crossed\"\n")),
    Case("EV12", "99 and a threshold on nothing", "unknown", code(99, thresholds={"checks": ["rate>0.9"]})),
    Case("EV12", "99 and no options", "unknown", code(99, inspect=False)),
    Case("EV12", "0 and one crossed", "fail:invalid", code(0, thresholds=CROSSED), ("",), "p(95)<10"),
    Case("EV12", "0, one crossed, thresholds off", "pass", code(0, thresholds=CROSSED, change=NO_THRESHOLDS_PRINTED)),
    Case("EV12", "0, one crossed, no console", "unknown", code(0, thresholds=CROSSED, console=False)),
    *(Case("EV12", f"code {n}", "fail:invalid", code(n), ("",), f"exit code {n}") for n in (1, 97, 100, 101, 104, 105, 107, 108, 109, 137, 143, 255)),
    Case("EV12", "110 after the planned end", "fail:warning", code(110), ("",), "exec.test.fail"),
    Case("EV12", "107, thrown in teardown() after the planned end", "fail:warning", code(107, log=outside("teardown")), ("",), "teardown"),
    Case("EV12", "107, thrown in handleSummary()", "fail:warning", code(107, log=outside("handleSummary")), ("",), "handleSummary"),
    Case("EV12", "107, thrown in setup()", "fail:invalid", code(107, log=outside("setup")), ("",), "boom"),
    Case("EV12", "104, in k6's own words", "fail:invalid", code(104, log=LOG + 'error msg="bad threshold"\n'), ("",), "bad threshold"),

    Case("EV12", "no code", "not-applicable", code(None)),
    Case("EV12", "cut off: 0 is not asked about", "pass", code(0, thresholds=CROSSED, change=TORN)),
    Case("EV12", "one of two generators", "fail:invalid", several(half(), half(1, exit_code=137)), ("gen-2",)),
    Case("EV13", "all rules ran", "pass", HEALTHY),
    Case("EV13", "a rule was left out", "unknown", world(policy={"ignore": ["OL01"]}), says="OL01"),
    Case("EV13", "a warning was left out", "pass", world(policy={"ignore": ["SD09"]})),
    Case("EV13", "only some ran", "unknown", world(policy={"select": ["HD"]})),
    Case("EV13", "EV13 itself cannot be left out", "pass", world(policy={"ignore": ["EV13"]})),
]  # fmt: skip


@table(*CASES)
def test_evidence(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    case.check(tmp_path_factory)


@pytest.mark.parametrize("broken", ["OL01", "SD09"])
def test_a_rule_that_breaks_leaves_the_verdict_open(broken: str, tmp_path: Path) -> None:
    """Whatever its severity: what broke judged nothing."""

    def check(declared: Declared) -> Findings:
        raise ZeroDivisionError(declared.purpose)

    rules: list[LoadedRule] = [dataclasses.replace(r, check=check) if r.meta.id == broken else r for r in RULES]
    HEALTHY.runs[0].write(tmp_path / "run")
    policy = load_policy(None, {"warmup": ("0s", "--warmup")}, rules)
    result = audit(read_run([tmp_path / "run"]), policy, rules)
    assert outcomes(result)[broken] == "error"
    assert outcomes(result)["EV13"] == "unknown"
    assert result.verdict == "NOT PROVEN"
    shutil.rmtree(tmp_path / "run")


def test_the_torn_file_is_torn(tmp_path: Path) -> None:
    Run(gzip=True, scenarios=[Scenario(duration_s=1)]).write(tmp_path)
    torn_gzip(tmp_path)
    with pytest.raises(EOFError):
        gzip.decompress((tmp_path / "k6.json.gz").read_bytes())
