"""Log lines that matter, in all three forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.evidence import merged_log as merge
from auditor.ingest.k6.logs import has_log_lines, looks_like_log, read_log
from auditor.inputs.text import plain

SERIES = (
    "The test has generated metrics with {n} unique time series, which is higher than the suggested limit of "
    "100000 and could cause high memory usage."
)


def logfmt(message: str, level: str = "warning", **fields: str) -> str:
    tail = "".join(f" {k}={json.dumps(v) if ' ' in v else v}" for k, v in fields.items())
    return f'time="2026-11-29T21:51:50Z" level={level} msg={json.dumps(message)}{tail}'


def tty(message: str, level: str = "WARN", **fields: str) -> str:
    tail = "".join(f" \x1b[33m{k}\x1b[0m={json.dumps(v) if ' ' in v else v}" for k, v in fields.items())
    return f"\x1b[33m{level}\x1b[0m[0312] {message:<40} {tail}"


def as_json(message: str, level: str = "warning", **fields: str) -> str:
    return json.dumps({**fields, "level": level, "msg": message, "time": "2026-11-29T21:51:50Z"})


@pytest.mark.parametrize("form", [logfmt, tty, as_json])
def test_lines_that_matter_in_every_form(form: object) -> None:
    assert callable(form)
    text = "\n".join(
        [
            form("Insufficient VUs, reached 60 active VUs and cannot initialize more", scenario="sale"),
            form(SERIES.format(n=100239)),
            form(SERIES.format(n=200100)),
            form("Request Failed", error='Get "http://t/": dial tcp 1.2.3.4:80: connect: connection refused'),
            form("Request Failed", error='Get "http://t/": dial: cannot assign requested address'),
            form("Request Failed", error='Get "http://t/": request timeout'),
            form("Error: boom", source="stacktrace", executor="per-vu-iterations"),
        ]
    )
    log = read_log(text, "log.txt")
    assert looks_like_log(text)
    assert log.insufficient_vus == {"sale": 60}
    assert log.time_series == 200100
    assert log.requests_failed == {"refused": 1, "address": 1, "other": 1}
    assert log.exceptions == 1
    assert not log.stopped
    assert not log.thresholds_crossed


@pytest.mark.parametrize(
    "message",
    [
        "test run was aborted because k6 received a 'interrupt' signal",
        "test aborted: enough at default (file:///s.js:1:1)",
        "thresholds on metrics 'a' were crossed; at least one has abortOnFail enabled, stopping test prematurely",
        "setup() execution timed out after 60 seconds",
    ],
)
def test_k6s_own_word_that_it_stopped(message: str) -> None:
    assert read_log(logfmt(message, "error"), "l").stopped


@pytest.mark.parametrize(
    "message",
    [
        "thresholds on metrics 'a, b' have been crossed",
        "thresholds on metrics 'a' have been breached",
        "some thresholds have failed",
    ],
)
def test_thresholds_crossed_in_every_wording(message: str) -> None:
    log = read_log(logfmt(message, "error"), "l")
    assert log.thresholds_crossed
    assert not log.stopped


def test_overridden_options_and_lost_output() -> None:
    log = read_log(
        logfmt('"cli" level configuration overrode scenarios configuration entirely')
        + "\n"
        + logfmt("Sample(s) couldn't be marshalled to JSON", "error"),
        "l",
    )
    assert log.options_overridden.startswith('"cli" level')
    assert log.output_lost == 1


def test_an_empty_log_is_evidence_of_none() -> None:
    log = read_log("", "log.txt")
    assert (log.lines, log.exceptions, dict(log.insufficient_vus)) == (0, 0, {})


def test_one_run_in_two_logs_is_not_counted_twice() -> None:
    line = logfmt("Error: boom", "error", source="stacktrace")
    both = merge(read_log(line, "a"), read_log(line + "\n" + line, "b"))
    assert both.exceptions == 2
    assert both.paths == ("a", "b")


def test_console_with_log_lines_in_it() -> None:
    assert has_log_lines(["banner", logfmt("x")])
    assert has_log_lines([plain(tty("x"))])
    assert not has_log_lines(["running (01.0s), 1/1 VUs, 3 complete and 0 interrupted iterations"])


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    read_log(logfmt("x") + text, "l")
    looks_like_log(text)


def test_recorded_logs(shared: Path) -> None:
    stories = shared / "recordings" / "stories"
    throws = read_log((stories / "throws" / "log.txt").read_text(), "log.txt")
    assert throws.exceptions == 1001
    failing = read_log((stories / "errors_20pct" / "log.txt").read_text(), "log.txt")
    assert sum(failing.requests_failed.values()) == 264
    assert read_log((stories / "url_cardinality" / "log.txt").read_text(), "l").time_series == 100239
