"""Logs and consoles as people keep them: whatever stands around k6's lines, the reading is the same.

The texts are k6's own (1.1 and 2.2, all layouts and log forms). A reading is compared with that of the same
text as k6 wrote it: it is equal, or it is declared unread; it is never another one.
"""

from __future__ import annotations

import json
import os
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditor.evidence import Console, LogEvidence
from auditor.ingest.k6.console import looks_like_console, read_console
from auditor.ingest.k6.dress import undress
from auditor.ingest.k6.logs import looks_like_log, read_log
from auditor.inputs.text import decode, plain

DATA = Path(__file__).resolve().parent.parent / "data" / "k6"
TEXTS = {path.name: decode(path.read_bytes()) for path in sorted(DATA.iterdir())}
NAMES = sorted(TEXTS)
RAW = {name for name in NAMES if "_raw_" in name}
TTY = {name for name in NAMES if "_tty_" in name}
PATIENT = settings(
    max_examples=int(os.environ.get("DRESS_EXAMPLES", "60")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

Reading = tuple[Console, LogEvidence]


def reading(text: str) -> Reading:
    """What the text says, without the times of prefixes."""
    return replace(read_console(text, "f"), span=None), read_log(text, "f")


PLAIN = {name: reading(text) for name, text in TEXTS.items()}


def lines_of(name: str) -> list[str]:
    return plain(TEXTS[name]).replace("\r\n", "\n").split("\n")


# --- prefixes ---------------------------------------------------------------------------------------------

DIGITS = st.integers(0, 9)


@st.composite
def clocks(draw: st.DrawFn) -> Any:
    """A stamp as a function of the line's number; time goes on, as it does."""
    digits = draw(DIGITS)
    zone = draw(st.sampled_from(("Z", "+00:00", "+05:30", "-0700", "")))
    joint = draw(st.sampled_from(("T", " ")))
    form = draw(st.sampled_from(("iso", "clock", "syslog", "epoch", "count")))
    per_line_ms = draw(st.integers(0, 2000))

    def stamp(number: int) -> str:
        ms = 37_000_123 + number * per_line_ms
        s, ms = divmod(ms, 1000)
        clock = f"{s // 3600 % 24:02d}:{s // 60 % 60:02d}:{s % 60:02d}"
        fraction = "." + f"{ms:03d}000000"[:digits] if digits else ""
        match form:
            case "iso":
                return f"2026-11-30{joint}{clock}{fraction}{zone}"
            case "clock":
                return clock + fraction
            case "syslog":
                return f"Nov {30:2d} {clock}"
            case "epoch":
                return f"{1796000000 + s}{fraction}"
        return f"{number + 1:6d}"

    return stamp


WORDS = st.from_regex(r"[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,6}){0,2}", fullmatch=True)
FIXED = st.one_of(
    WORDS,
    st.builds("[{}]".format, WORDS),
    st.builds("[pod/{}/k6]".format, WORDS),
    st.builds("{}[{}]:".format, WORDS, st.integers(1, 99999)),
    st.sampled_from(("stdout F", "stderr P", "<13>1", "00O", "INFO", "##", "k6-1")),
)
ENDS = st.sampled_from((" ", "\t", " | ", "  | ", ": ", "] ", " - ", "> "))


@st.composite
def prefixes(draw: st.DrawFn) -> Any:
    """A prefix that is stable over the lines, as a function of the line's number."""
    parts = draw(st.lists(st.one_of(FIXED, clocks()), min_size=1, max_size=4))
    joint = draw(st.sampled_from((" ", "\t", " ")))
    end = draw(ENDS)
    in_brackets = draw(st.booleans())

    def prefix(number: int) -> str:
        shown = joint.join(part(number) if callable(part) else part for part in parts)
        return (f"[{shown}]" if in_brackets else shown) + end

    return prefix


@PATIENT
@given(name=st.sampled_from(NAMES), prefix=prefixes(), trimmed=st.booleans())
def test_any_stable_prefix_gives_the_same_reading(name: str, prefix: Any, trimmed: bool) -> None:
    if name in RAW or not any(undress(TEXTS[name])):
        return  # messages alone: nothing in them is surely k6's, and a prefix cannot be told
    lines = [prefix(i) + line for i, line in enumerate(lines_of(name))]
    text = "\n".join(line.rstrip() if trimmed else line for line in lines)
    assert reading(text) == PLAIN[name], text[:400]


# --- other dress ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_every_encoding(name: str, encoding: str) -> None:
    assert reading(decode(TEXTS[name].encode(encoding))) == PLAIN[name]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("page", ["cp437", "cp850", "cp1252", "cp866"])
def test_utf8_taken_for_a_code_page(name: str, page: str) -> None:
    spoiled = TEXTS[name].encode().decode(page, errors="replace")
    if "�" in spoiled:
        return  # the page has no character for a byte of a mark
    console, log = reading(spoiled)
    expected, expected_log = PLAIN[name]
    assert replace(console, progress=(), thresholds=()) == replace(expected, progress=(), thresholds=())
    assert [t.passed for t in console.thresholds] == [t.passed for t in expected.thresholds]
    assert [(p.mark, p.share) for p in console.progress] == [(p.mark, p.share) for p in expected.progress]
    assert log.exceptions == expected_log.exceptions


@pytest.mark.parametrize("name", NAMES)
def test_colours_cursor_moves_and_carriage_returns(name: str) -> None:
    lines = lines_of(name)
    coloured = "".join(f"\x1b[0K\r\x1b[36m{line}\x1b[0m\x1b[K\r\r\n" for line in lines)
    assert reading(coloured) == PLAIN[name]


@pytest.mark.parametrize("name", sorted(set(NAMES) - RAW))
@pytest.mark.parametrize("key", ["log", "msg", "message", "textPayload", "MESSAGE"])
def test_wrapped_in_json(name: str, key: str) -> None:
    ends = "\n" if key == "log" else ""
    text = "\n".join(
        json.dumps(
            {key: line + ends, "stream": ("stdout", "stderr")[i % 2], "time": f"2026-11-30T08:00:{i % 60:02d}Z"}
        )
        for i, line in enumerate(lines_of(name))
    )
    assert reading(text) == PLAIN[name]


# --- folds ------------------------------------------------------------------------------------------------


def folded(line: str, width: int) -> list[str]:
    return [line[i : i + width] for i in range(0, len(line), width)] or [""]


def at_words(line: str, width: int, *, trim: bool) -> list[str]:
    """Folded at the last blank before the width, as PowerShell does; the blank stays at the end of its line."""
    out: list[str] = []
    while len(line) > width:
        at = line.rfind(" ", 0, width)
        if at <= 0 or not line[:at].strip():
            at = width - 1
        out.append(line[: at + 1].rstrip() if trim else line[: at + 1])
        line = line[at + 1 :]
    return [*out, line]


def same_or_declared_unread(got: Reading, name: str) -> None:
    console, log = got
    expected, expected_log = PLAIN[name]
    if not log.unread:
        assert replace(log, lines=0, exception_texts={}, request_errors={}) == replace(
            expected_log, lines=0, exception_texts={}, request_errors={}
        )
        assert sum(log.request_errors.values()) == sum(expected_log.request_errors.values())
    if console.scenarios != expected.scenarios:
        assert console.unread
    if console.totals is None:
        assert expected.totals is None
        return
    assert expected.totals is not None
    for metric, found in console.totals.metrics.items():
        assert found.values == expected.totals.metrics[metric].values, metric
    for metric in expected.totals.metrics:
        assert metric in console.totals.metrics or metric in console.totals.unread, metric


@PATIENT
@given(name=st.sampled_from(sorted(set(NAMES) - RAW - TTY)), width=st.integers(60, 200))
def test_folded_at_a_width(name: str, width: int) -> None:
    text = "\n".join(part for line in lines_of(name) for part in folded(line, width))
    same_or_declared_unread(reading(text), name)


@PATIENT
@given(
    name=st.sampled_from([n for n in NAMES if "stderr" in n and "json" not in n]),
    width=st.integers(60, 200),
    trim=st.booleans(),
)
def test_folded_between_words(name: str, width: int, trim: bool) -> None:
    text = "\n".join(part for line in lines_of(name) for part in at_words(line, width, trim=trim))
    same_or_declared_unread(reading(text), name)


# --- several processes in one text ------------------------------------------------------------------------


def interleaved(first: str, second: str, *prefixes_of: str) -> str:
    rows = [lines_of(first), lines_of(second)]
    out = []
    for i in range(max(map(len, rows))):
        out += [prefixes_of[k] + lines[i] for k, lines in enumerate(rows) if i < len(lines)]
    return "\n".join(out)


@pytest.mark.parametrize(
    "before",
    [
        ("k6-1  | ", "k6-2  | "),
        ("[pod/load-abc12/k6] ", "[pod/load-x9z8y/k6] "),
        ("2026-11-30T08:00:00.123456789Z a/k6 ", "2026-11-30T08:00:00.123456789Z b/k6 "),
    ],
)
def test_two_containers_are_told_apart(before: tuple[str, str]) -> None:
    names = ("mixed_v2.2.0.stdout.txt", "dropped_v1.1.0.stdout.txt")
    found = undress(interleaved(*names, *before))
    assert len(found) == 2
    for stream, name in zip(found, names, strict=True):
        assert list(stream.lines) == lines_of(name)


def test_another_service_beside_k6_is_left_out() -> None:
    """It writes the same log form, and none of its lines are k6's."""
    own = lines_of("mixed_v2.2.0.stdout.txt")
    other = 'time="2026-11-30T08:00:00Z" level=error msg="Error: upstream"'
    text = "\n".join(row for line in own for row in (f"k6-1   | {line}", f"api-1  | {other}"))
    assert reading(text) == PLAIN["mixed_v2.2.0.stdout.txt"]


def test_standard_output_and_error_are_one_process() -> None:
    out, err = lines_of("mixed_v1.1.0.stdout.txt"), lines_of("mixed_v1.1.0.stderr.txt")
    text = "\n".join(
        [f"2026-11-30T08:00:00.1Z stdout F {line}" for line in out]
        + [f"2026-11-30T08:00:01.123Z stderr F {line}" for line in err]
    )
    (stream,) = undress(text)
    assert list(stream.lines) == out + err


# --- damage -----------------------------------------------------------------------------------------------


@PATIENT
@given(name=st.sampled_from(NAMES), data=st.data())
def test_damaged_bytes_are_read_without_a_fault(name: str, data: st.DataObject) -> None:
    raw = bytearray((DATA / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 20))):
        at = data.draw(st.integers(0, max(len(raw) - 1, 0)))
        raw[at : at + data.draw(st.integers(0, 50))] = data.draw(st.binary(max_size=30))
    text = decode(bytes(raw))
    reading(text)
    looks_like_log(text)
    looks_like_console(text)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=2000))
def test_any_bytes_are_read(raw: bytes) -> None:
    reading(decode(raw))


def test_memory_is_bounded() -> None:
    line = 'k6-1  | time="2026-11-30T08:00:00Z" level=warning msg="Request Failed" error="EOF"\n'
    text = line * 40_000
    tracemalloc.start()
    log = read_log(text, "f")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert log.requests_failed == {"other": 40_000}
    assert peak < 10 * len(text)
