"""The banner with every executor form, old and new indents, colours, prefixes, UTF-16; and the last count."""

from __future__ import annotations

from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.ingest.k6.console import looks_like_console, read_console
from auditor.inputs.streams import decode
from tests.conftest import recorded_files, shared_folder

HEAD = "     scenarios: (100.00%) 1 scenario, 9 max VUs, 33s max duration (incl. graceful stop):\n"


def banner(line: str, head: str = HEAD) -> str:
    return f"     execution: local\n\n{head}              * {line}\n\n"


@pytest.mark.parametrize(
    ("line", "executor", "expected"),
    [
        (
            "a: 10.00 iterations/s for 4s (maxVUs: 3-5, gracefulStop: 2s)",
            "constant-arrival-rate",
            {
                "peak_per_s": F(10),
                "duration_s": F(4),
                "pre_allocated_vus": 3,
                "max_vus": 5,
                "graceful_stop_s": F(2),
            },
        ),
        (
            "a: 5.55 iterations/s for 1.5s (maxVUs: 0-3, startTime: 1s, gracefulStop: 30s)",
            "constant-arrival-rate",
            {"peak_per_s": F(555, 100), "duration_s": F(3, 2), "start_time_s": F(1), "max_vus": 3},
        ),
        (
            "a: Up to 300.00 iterations/s for 1m10s over 2 stages (maxVUs: 60, exec: slow, gracefulStop: 30s)",
            "ramping-arrival-rate",
            {"peak_per_s": F(300), "duration_s": F(70), "stages": 2, "pre_allocated_vus": 60, "max_vus": 60},
        ),
        (
            "a: 1 looping VUs for 3s (exec: closed, gracefulStop: 30s)",
            "constant-vus",
            {"vus": 1, "duration_s": F(3)},
        ),
        ("a: 20 looping VUs for 1h0m0s", "constant-vus", {"vus": 20, "duration_s": F(3600)}),
        (
            "a: Up to 7 looping VUs for 2s over 2 stages (gracefulRampDown: 30s, gracefulStop: 30s)",
            "ramping-vus",
            {"vus": 7, "stages": 2, "duration_s": F(2)},
        ),
        (
            "a: 3 iterations shared among 2 VUs (maxDuration: 10m0s, gracefulStop: 30s)",
            "shared-iterations",
            {"iterations": 3, "vus": 2, "duration_s": F(600)},
        ),
        (
            "a: 5 iterations for each of 4 VUs (maxDuration: 5s, startTime: 1s, gracefulStop: 30s)",
            "per-vu-iterations",
            {"iterations": 5, "vus": 4, "start_time_s": F(1)},
        ),
        (
            "a: Externally controlled execution with 2 VUs, 5 max VUs, 2s duration",
            "externally-controlled",
            {"vus": 5, "duration_s": F(2)},
        ),
        (
            "a: Externally controlled execution with 2 VUs, 5 max VUs, infinite duration",
            "externally-controlled",
            {"duration_s": None},
        ),
    ],
)
def test_every_executor_form(line: str, executor: str, expected: dict[str, object]) -> None:
    console = read_console(banner(line), "console.txt")
    assert not console.unread
    (scenario,) = console.scenarios
    assert (scenario.name, scenario.executor) == ("a", executor)
    assert {name: getattr(scenario, name) for name in expected} == expected


def test_old_indent_colours_prefix_and_utf16() -> None:
    line = "shop: 10.00 iterations/s for 4s (maxVUs: 3-5, gracefulStop: 2s)"
    plain = banner(line)
    old = plain.replace("     scenarios", "  scenarios").replace("              *", "           *")
    coloured = plain.replace("10.00", "\x1b[36m10.00\x1b[0m").replace("\n", "\x1b[K\r\n")
    prefixed = "".join(f"k6-1  | {row}\n" for row in plain.splitlines())
    utf16 = decode(plain.encode("utf-16"))
    for text in (old, coloured, prefixed, utf16):
        assert read_console(text, "c").scenarios == read_console(plain, "c").scenarios, text


def test_a_scenario_line_that_cannot_be_read_is_kept() -> None:
    console = read_console(banner("a: 10 somethings for 4s"), "c")
    assert console.scenarios == ()
    assert "10 somethings" in console.unread[0]


def test_a_banner_cut_off_before_its_scenarios_says_so() -> None:
    assert read_console(HEAD, "c").unread


def test_segment_percentage() -> None:
    console = read_console(banner("a: 1 looping VUs for 3s", HEAD.replace("100.00", "33.33")), "c")
    assert console.segment_percent == F("33.33")


def test_the_last_count_is_final_only_after_the_run() -> None:
    running = "running (0m24.0s), 004/060 VUs, 5836 complete and 0 interrupted iterations\n"
    progress = "shop   [  34% ] 004/060 VUs  0m24.0s/1m10s  300.00 iters/s\n"
    cut = read_console(running + progress, "c")
    assert cut.counts is not None
    assert (cut.counts.completed, cut.counts.final) == (5836, False)
    ended = running.replace("5836 complete and 0", "6128 complete and 5") + progress.replace("shop  ", "shop ✗")
    done = read_console(running + progress + ended, "c")
    assert done.counts is not None
    assert (done.counts.completed, done.counts.interrupted, done.counts.final) == (6128, 5, True)
    assert done.counts.running_s == 24.0


def test_clock_with_days() -> None:
    console = read_console("running (0d00h01m42.7s), 0/1 VUs, 30 complete and 0 interrupted iterations\n", "c")
    assert console.counts is not None
    assert console.counts.running_s == pytest.approx(102.7)


def test_thresholds_printed_or_not() -> None:
    assert read_console("  █ THRESHOLDS \n\n  █ TOTAL RESULTS \n", "c").thresholds_printed is True
    assert read_console("  █ TOTAL RESULTS \n", "c").thresholds_printed is False
    assert read_console("nothing\n", "c").thresholds_printed is None


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    read_console(HEAD + text, "c")
    looks_like_console(text)


def test_published_and_recorded_consoles() -> None:
    """Every console of the data that has a banner gives its scenarios, none unread."""
    files = recorded_files(
        "facts/k6_examples/*.stdout.txt",
        "facts/k6_examples/banner_*.txt",
        "real/k6/console/*",
        "recordings/*/*/console.txt",
    )
    with_banner = 0
    for path in files.values():
        text = decode(path.read_bytes())
        console = read_console(text, path.name)
        if console.has_banner:
            with_banner += 1
            assert console.scenarios, path
            assert not console.unread, path
    assert with_banner >= (30 if shared_folder() else 15)
