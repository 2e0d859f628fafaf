"""ER: failures that void percentiles, failures of 0 ms, failures of the generator itself, and exceptions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builder import Scenario
from tests.rules.cases import (
    CLOSED_DECLARED,
    HEALTHY,
    LOG,
    NO_LOG,
    NO_POINTS,
    NO_REQUESTS,
    PAIR,
    Case,
    World,
    closed,
    edit,
    fails,
    half,
    lost,
    point,
    request_lines,
    several,
    table,
    without_requests,
    world,
)


def beside(metric: str, failed: int, well: str, bad: str) -> World:
    """1,000 calls of another protocol beside 1,000 HTTP requests, of which so many have a bad status; "" is none."""
    lines = []
    for i in range(1000):
        status = bad if i < failed else well
        tags = {"scenario": "api", "group": "", **({"status": status} if status else {})}
        lines.append(point(metric, 0.05 + i / 100, 20.0, **tags))
    return world(extra_lines=lines, policy={"latency_metric": "http_req_duration"})


def waits(**policy: str) -> World:
    """A trend of the script's own is named as the latency, beside 1,000 HTTP requests."""
    lines = [point("wait_for_token", 0.05 + i / 100, 20.0, scenario="api", group="") for i in range(1000)]
    return world(extra_lines=lines, policy={"latency_metric": "wait_for_token", **policy})


def checked(made: int, refused: int, **run: Any) -> World:
    """So many checks in 10 s, of which the first ones refused the answer."""
    lines = [
        point(
            "checks",
            0.05 + i * 9.9 / made,
            0.0 if i < refused else 1.0,
            check="is json",
            scenario="api",
            group="",
        )
        for i in range(made)
    ]
    return world(extra_lines=lines, **run)


def failing(first: int, policy: Any = None, log: str | None = "", **answer: Any) -> World:
    """1,000 requests, of which the first so many fail."""
    return world(Scenario(duration_s=10, answer=fails(first, **answer)), policy=policy, log=log)


def code(number: str, count: int = 2, **more: str) -> World:
    return failing(count, status="0", error_code=number, duration_ms=3.0, **more)


def told(count: int, words: str) -> World:
    """Two requests failed without any tag of their cause; the log has it."""
    return failing(count, status="0", log=count * (LOG + f'warning msg="Request Failed" error="{words}"\n'))


def thrown(times: int) -> World:
    line = (
        LOG
        + 'error msg="Error: boom\\n\\tat default (file:///s.js:3:9(4))" executor=x scenario=api source=stacktrace\n'
    )
    return world(log=times * line)


def failed_by_script(times: int) -> World:
    """fail() in so many of 1,000 iterations."""
    line = (
        LOG + 'error msg="GoError: no id\\n\\tat go.k6.io/k6/internal/js/modules/k6.(*K6).Fail-fm (native)\\n'
        '\\tat default (file:///s.js:8:82(27))\\n" executor=x scenario=api source=stacktrace\n'
    )
    return world(log=times * line)


def further(count: int) -> World:
    """No log; 1,000 iterations of one request each, and so many requests more."""
    lines = [line for i in range(count) for line in request_lines(1.0 + i / 1000, 20.0)]
    return world(log=None, extra_lines=lines)


CROSSED = LOG + "error msg=\"thresholds on metrics 'http_req_duration' have been crossed\"\n"

CASES = [
    # n = 1,000: 9 may be without a latency for p99, none for p99.9 (see SD01).
    Case("ER03", "none failed", "pass", HEALTHY),
    Case("ER03", "1 of 1,000 failed", "fail:warning", failing(1), ("",), "p99.9 is not identified"),
    Case("ER03", "9 of 1,000 failed", "fail:warning", failing(9)),
    Case("ER03", "10 of 1,000 failed", "fail:invalid", failing(10), ("",), "p99 and p99.9"),
    # Rank ⌈0.5 × 999⌉ = 500 leaves 499.
    Case("ER03", "500 of 1,000 failed: nothing is left", "fail:invalid", failing(500), ("",), "p50, p90, p95, p99 and p99.9"),
    Case("ER03", "499 of 1,000 failed: the median is left", "fail:invalid", failing(499), ("",), ": p90, p95, p99 and p99.9"),
    Case("ER03", "5 of 1,000, 0.5 % allowed", "fail:warning", failing(5, {"error_objective": 0.005})),
    Case("ER03", "6 of 1,000, 0.5 % allowed", "fail:invalid", failing(6, {"error_objective": 0.005}), ("", ""), "objective allows 0.5 %"),
    Case("ER03", "6 dropped with 6 failed", "fail:invalid", world(Scenario(**lost(100, 10, 6, dropped=True), answer=fails(6)))),
    Case("ER03", "10 dropped, none failed", "pass", world(Scenario(**lost(100, 10, 10, dropped=True)))),
    # Closed, 500 requests: rank ⌈0.99 × 499⌉ = 495 leaves 4.
    Case("ER03", "closed, 4 of 500 failed", "fail:warning", world(closed(answer=fails(4)))),
    Case("ER03", "closed, 5 of 500 failed", "fail:invalid", world(closed(answer=fails(5)))),
    # a: 10 of 1,000; together 10 of 3,000 leave p99 (29 may fail).
    Case("ER03", "one scenario's p99, not the pooled one", "fail:invalid", world(Scenario("a", duration_s=10, answer=fails(10)), Scenario("b", rate=200, duration_s=10)), ("", "a")),
    Case("ER03", "no request", "not-applicable", NO_REQUESTS),
    Case("ER03", "no points", "unknown", NO_POINTS),
    Case("ER04", "none failed", "pass", HEALTHY),
    Case("ER04", "one refused in 0 ms", "fail:warning", failing(1, status="0", duration_ms=0.0), ("",), "1 of 1,000"),
    Case("ER04", "many, and it stays a warning", "fail:warning", failing(600, status="0", duration_ms=0.0)),
    Case("ER04", "failed after 5 ms", "pass", failing(10, status="0", duration_ms=5.0)),
    Case("ER04", "an error of 0 ms that the system sent", "pass", failing(10, status="503", duration_ms=0.0)),
    Case("ER04", "0 ms and well", "pass", failing(10, status="204", duration_ms=0.0, failed=False)),
    Case("ER04", "no request", "not-applicable", NO_REQUESTS),
    # Whatever the script expects, status 0 is no answer. p99 of 1,000 bears 1,000 − 1 − ⌈0.99 × 999⌉ = 9.
    Case("ER03", "9 without an answer, declared expected", "fail:warning", failing(9, status="0", failed=False)),
    Case("ER03", "10 without an answer, declared expected", "fail:invalid", failing(10, status="0", failed=False)),
    Case("ER03", "9 of 1,000 gRPC calls failed beside HTTP", "fail:warning", beside("grpc_req_duration", 9, "0", "14"), ("grpc_req_duration",), "9 × status 14"),
    Case("ER03", "10 of 1,000 gRPC calls failed beside HTTP", "fail:invalid", beside("grpc_req_duration", 10, "0", "14"), ("grpc_req_duration",), "gRPC calls"),
    Case("ER03", "no gRPC call failed", "pass", beside("grpc_req_duration", 0, "0", "14")),
    Case("ER03", "gRPC calls without a status", "unknown", beside("grpc_req_duration", 0, "", "")),
    Case("ER03", "11 of 1,000 handshakes answered 503", "fail:invalid", beside("ws_connecting", 11, "101", "503"), ("ws_connecting",), "503"),
    Case("ER03", "11 of 1,000 handshakes without an answer", "fail:invalid", beside("ws_connecting", 11, "101", ""), ("ws_connecting",), "(none)"),
    Case("ER03", "no handshake failed", "pass", beside("ws_connecting", 0, "101", "503")),
    Case("ER03", "11 of 1,000 browser requests without an answer", "fail:invalid", beside("browser_http_req_duration", 11, "200", "0"), ("browser_http_req_duration",)),
    Case("HD07", "a trend of the script's beside HTTP, no reason", "unknown", waits(), says="latency"),
    Case("HD07", "a trend of the script's beside HTTP, with its reason", "pass", waits(latency_reason="the answer comes later")),
    Case("ER12", "none made", "not-applicable", HEALTHY),
    Case("ER12", "1 of 100 refused", "pass", checked(100, 1)),
    Case("ER12", "2 of 100 refused", "fail:warning", checked(100, 2), ("is json",), "2 times of 100"),
    Case("ER12", "all refused", "fail:warning", checked(100, 100), ("is json",), "answers that it refused"),
    Case("ER12", "a threshold is on them", "not-applicable", checked(100, 100, thresholds={"checks": ["rate>0.9"]})),
    Case("ER12", "a threshold is on this one", "pass", checked(100, 100, thresholds={"checks{check:is json}": ["rate>0.9"]})),
    Case("ER12", "a threshold is on another", "fail:warning", checked(100, 100, thresholds={"checks{check:other}": ["rate>0.9"]})),
    # 0.1 % of 1,000 is 1.
    Case("ER06", "none", "pass", HEALTHY),
    Case("ER06", "1 of 1,000 could not dial", "pass", code("1210", 1)),
    Case("ER06", "2 of 1,000 could not dial", "fail:invalid", code("1210"), ("",), "2 of 1,000"),
    *(Case("ER06", f"code {n}", "fail:invalid", code(n)) for n in ("1100", "1101", "1111", "1200", "1211", "1213")),
    *(Case("ER06", f"code {n}: the system's, perhaps", "fail:warning", code(n)) for n in ("1212", "1220")),
    *(Case("ER06", f"code {n}: not the generator's", "pass", code(n)) for n in ("1000", "1050", "1112", "1310", "1503")),
    Case("ER06", "no port, whatever its code", "fail:invalid", code("1220", error="dial: cannot assign requested address")),
    Case("ER06", "no port, in its own words", "fail:invalid", code("1210", error="dial: cannot assign requested address"), ("",), "2 × dial: cannot assign requested address"),
    Case("ER06", "no descriptor, without a code", "fail:invalid", code("", error="socket: too many open files")),
    Case("ER06", "refused and out of ports", "fail:invalid", world(Scenario("a", duration_s=10, answer=fails(4, status="0", error_code="1212")), Scenario("b", duration_s=10, answer=fails(4, status="0", error_code="1211"))), ("", "")),
    Case("ER06", "known from the log alone", "fail:invalid", told(2, "dial tcp: socket: too many open files")),
    Case("ER06", "refused, known from the log alone", "fail:warning", told(2, "dial tcp 127.0.0.1:1: connect: connection refused")),
    Case("ER06", "answers of 500", "pass", failing(100)),
    Case("ER06", "no request", "not-applicable", NO_REQUESTS),
    # 0.1 % of 1,000 iterations is 1.
    # 10 of 1,000 is 1 %, the limit.
    Case("ER02", "no error is expected", "pass", HEALTHY),
    Case("ER02", "10 of 1,000 expected 404", "pass", world(Scenario(duration_s=10, answer=fails(10, status="404", failed=False)))),
    Case("ER02", "11 of 1,000 expected 404", "fail:warning", world(Scenario(duration_s=10, answer=fails(11, status="404", failed=False))), ("",), "11 of 1,000 requests that count as successes (1.10 %)"),
    Case("ER02", "404 that failed", "pass", world(Scenario(duration_s=10, answer=fails(11, status="404")))),
    Case("ER02", "another protocol", "not-applicable", NO_REQUESTS),
    Case("ER11", "an empty log", "pass", HEALTHY),
    Case("ER11", "an empty log, 1 of 1,000 iterations without a request", "pass", without_requests(1)),
    Case("ER11", "an empty log, 2 of 1,000 iterations without a request", "unknown", without_requests(2), says="log.txt is empty, and 2 of 1,000"),
    Case("ER11", "an empty log, and a crossed threshold in the console", "unknown", world(change=edit("console.txt", lambda t: t.replace("  █ THRESHOLDS \n", "  █ THRESHOLDS \n\n    http_req_duration\n    ✗ 'p(95)<10' p(95)=26ms\n"))), says="crossed threshold, which k6 logs"),
    Case("ER11", "1 of 1,000 threw", "pass", thrown(1)),
    Case("ER11", "2 of 1,000 threw", "fail:invalid", thrown(2), ("",), "2 exceptions in 1,000"),
    Case("ER11", "crossed thresholds are no exceptions", "pass", world(log=5 * CROSSED)),
    Case("ER11", "one of two generators", "fail:invalid", several(half(), half(1, log=thrown(2).runs[0].log)), ("gen-2",)),
    Case("ER11", "two generators with logs", "pass", PAIR),
    Case("ER11", "fail() is no exception", "pass", failed_by_script(100)),
    Case("ER11", "thrown in teardown(), not in an iteration", "pass", world(log=5 * (LOG + 'error msg="Error: td\\n\\tat teardown (file:///s.js:6:75(16))\\n" hint="script exception"\n'))),
    Case("ER11", "a terminal's form, the stack on the next line", "fail:invalid", world(log=2 * "ERRO[0001] TypeError: x\n\tat default (file:///s.js:8:120(33))  executor=x scenario=api source=stacktrace\n")),
    Case("ER11", "messages alone", "fail:invalid", world(log=2 * "TypeError: x\n\tat default (file:///s.js:8:120(33))\n\n")),
    Case("ER11", "a record without its end", "unknown", world(log=LOG + 'error msg="TypeError: Cannot read property\n')),
    Case("ER11", "a log of another day", "unknown", world(log='time="2026-08-02T17:20:00+05:30" level=info msg=hello source=console\n'), says="another run"),
    Case("ER15", "none", "pass", HEALTHY),
    Case("ER15", "1 of 1,000", "pass", failed_by_script(1)),
    Case("ER15", "2 of 1,000", "fail:warning", failed_by_script(2), ("",), "fail()"),
    Case("ER15", "no log", "unknown", NO_LOG),
    Case("ER11", "no log, one request each", "pass", NO_LOG),
    Case("ER11", "no log, 1.001 requests each", "pass", further(1)),
    Case("ER11", "no log, 1.002 requests each", "unknown", further(2)),
    Case("ER11", "no log, no request", "unknown", world(Scenario(duration_s=10, requests=0), log=None)),
    Case("ER11", "closed, no log", "pass", world(closed(requests=3), log=None)),
    Case("ER11", "closed, with a log", "pass", CLOSED_DECLARED),
]  # fmt: skip


@table(*CASES)
def test_errors(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    case.check(tmp_path_factory)
