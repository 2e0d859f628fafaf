"""The points reader: every shape k6 has written, odd lines, damage, and any bytes at all."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditor.evidence import ReadReport
from auditor.ingest.k6.points_json import JsonPoints, stamp_ns
from tests.builder import Run, Scenario

NEW = (
    '{"metric":"http_req_duration","type":"Point","data":{"time":"2026-11-29T21:53:39.450116018Z",'
    '"value":300.042211,"tags":{"group":"","scenario":"a"}}}'
)
OLD = (
    '{"type":"Point","data":{"time":"2026-11-29T21:53:39.450116018Z","value":300.042211,'
    '"tags":{"group":"","scenario":"a"}},"metric":"http_req_duration"}'
)
SPACED = NEW.replace(":", ": ", 2).replace('"type"', ' "type"')
REORDERED = (
    '{"data":{"tags":{"scenario":"a","group":""},"value":300.042211,"time":"2026-11-29T21:53:39.450116018Z"},'
    '"type":"Point","metric":"http_req_duration"}'
)
ESCAPED = NEW.replace('"a"', '"\\u0061"')
OFFSET = NEW.replace("21:53:39.450116018Z", "00:00:00Z").replace("2026-11-29", "2026-11-30")
Row = tuple[str, int, float, dict[str, str]]


def read(path: Path, *, pretty: bool = False, mixed: bool = False) -> tuple[list[Row], ReadReport]:
    """All samples as plain rows, and the report."""
    source = JsonPoints(path, path.name, pretty=pretty, mixed=mixed).parts(1)[0]
    rows = []
    for batch in source.batches():
        for metric, at, value, tagset in zip(
            batch.metric.tolist(),
            batch.time_ns.tolist(),
            batch.value.tolist(),
            batch.tagset.tolist(),
            strict=True,
        ):
            rows.append((source.tables.metrics[metric], at, value, dict(source.tables.tagsets[tagset])))
    return rows, ReadReport.of([source.report()])


def oracle(text: str) -> list[Row]:
    """The same by `json`, line by line."""
    rows = []
    for line in text.splitlines():
        item: Any = json.loads(line)
        if item["type"] == "Point":
            data = item["data"]
            rows.append((item["metric"], stamp_ns(data["time"]), float(data["value"]), data["tags"] or {}))
    return rows


def write(tmp_path: Path, text: str, name: str = "k6.json") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("line", [NEW, OLD, SPACED, REORDERED, ESCAPED])
def test_every_shape_gives_the_same_sample(tmp_path: Path, line: str) -> None:
    rows, report = read(write(tmp_path, line + "\n"))
    assert rows == [("http_req_duration", 1795989219450116018, 300.042211, {"group": "", "scenario": "a"})]
    assert (report.points, report.malformed, report.torn) == (1, 0, "")


def test_a_whole_run_equals_json_line_by_line(tmp_path: Path) -> None:
    run = Run([Scenario(duration_s=3, tags={'odd k"e\\y': 'a}b{c,"d" é <&>'})], setup_ms=5.0)
    text = "\n".join(run.lines()) + "\n"
    rows, report = read(write(tmp_path, text))
    key = str
    assert sorted(rows, key=key) == sorted(oracle(text), key=key)
    assert report.lines == text.count("\n")


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("1.234567e+06", 1234567.0),
        ("1e-07", 1e-7),
        ("-5", -5.0),
        ("0", 0.0),
        ("1e+20", 1e20),
        ("123456", 123456.0),
    ],
)
def test_numbers_as_go_writes_them(tmp_path: Path, number: str, expected: float) -> None:
    rows, _ = read(write(tmp_path, NEW.replace("300.042211", number) + "\n"))
    assert rows[0][2] == expected


@pytest.mark.parametrize("token", ["+Inf", "-Inf", "1e999"])
def test_values_that_are_no_finite_number_are_counted(tmp_path: Path, token: str) -> None:
    text = NEW.replace("300.042211", token) + "\n" + NEW + "\n"
    rows, report = read(write(tmp_path, text))
    assert len(rows) == 1
    assert report.dropped_values == 1
    assert report.malformed == 0


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("2026-11-30T03:23:40.877593381+05:30", 1795989220877593381),
        ("2026-11-29T21:53:40Z", 1795989220000000000),
        ("2026-11-29T21:53:40.7Z", 1795989220700000000),
        ("2026-11-29T14:53:40.05-07:00", 1795989220050000000),
    ],
)
def test_stamps_with_any_zone_and_fraction(tmp_path: Path, stamp: str, expected: int) -> None:
    rows, _ = read(write(tmp_path, NEW.replace("2026-11-29T21:53:39.450116018Z", stamp) + "\n"))
    assert rows[0][1] == expected
    assert stamp_ns(stamp) == expected


@pytest.mark.parametrize("bad", ["2026-13-29T21:53:39Z", "2026-11-29 21:53:39Z", "2026-11-29T21:53:39", "now"])
def test_a_stamp_that_is_none_makes_the_line_malformed(tmp_path: Path, bad: str) -> None:
    text = NEW + "\n" + NEW.replace("2026-11-29T21:53:39.450116018Z", bad) + "\n" + NEW + "\n"
    rows, report = read(write(tmp_path, text))
    assert len(rows) == 2
    assert (report.malformed, report.first_malformed_line) == (1, 2)


def test_no_tags_and_metadata(tmp_path: Path) -> None:
    text = OLD.replace('{"group":"","scenario":"a"}', "null") + "\n"
    text += NEW.replace("}}}", '},"metadata":{"iter":"0","vu":"1"}}}') + "\n"
    rows, report = read(write(tmp_path, text))
    assert sorted((r[3] for r in rows), key=len) == [{}, {"group": "", "scenario": "a"}]
    assert report.malformed == 0


def test_metric_lines_and_their_thresholds(tmp_path: Path) -> None:
    line = (
        '{"type":"Metric","data":{"name":"m","type":"trend","contains":"time","thresholds":["p(95)<500",'
        '{"threshold":"avg<1","abortOnFail":true}],"submetrics":[{"name":"m{a:b}","suffix":"a:b"}]},"metric":"m"}'
    )
    source = JsonPoints(write(tmp_path, f"{line}\n{line}\n{NEW}\n"), "k6.json").parts(1)[0]
    assert sum(len(batch.value) for batch in source.batches()) == 1
    definition = source.tables.definitions["m"]
    assert definition.thresholds == ("p(95)<500", "avg<1")
    assert definition.submetrics == ("m{a:b}",)


def test_torn_last_line_and_whole_last_line_without_its_end(tmp_path: Path) -> None:
    rows, report = read(write(tmp_path, NEW + "\n" + NEW[:70]))
    assert (len(rows), report.torn) == (1, "last line incomplete")
    rows, report = read(write(tmp_path, NEW + "\n" + NEW))
    assert (len(rows), report.torn) == (2, "")


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.99])
def test_gzip_cut_off_keeps_what_decodes(tmp_path: Path, keep: float) -> None:
    text = "\n".join(Run([Scenario(duration_s=2)]).lines()) + "\n"
    whole = gzip.compress(text.encode())
    path = tmp_path / "k6.json.gz"
    path.write_bytes(whole[: int(len(whole) * keep)])
    rows, report = read(path)
    expected = oracle(text)
    assert report.torn == "gzip stream cut off"
    assert rows == expected[: len(rows)]


def test_several_gzip_members_and_corruption(tmp_path: Path) -> None:
    path = tmp_path / "k6.json.gz"
    path.write_bytes(gzip.compress((NEW + "\n").encode()) + gzip.compress((NEW + "\n").encode()))
    assert len(read(path)[0]) == 2
    damaged = bytearray(gzip.compress((NEW + "\n").encode() * 500))
    damaged[len(damaged) // 2] ^= 0xFF
    path.write_bytes(bytes(damaged))
    assert read(path)[1].torn.startswith("gzip stream")


def test_pretty_printed_objects(tmp_path: Path) -> None:
    text = "\n".join(json.dumps(json.loads(line), indent=2) for line in (NEW, OLD)) + "\n"
    rows, report = read(write(tmp_path, text), pretty=True)
    assert len(rows) == 2
    assert report.malformed == 0


def test_blocks_larger_than_one_read_keep_every_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auditor.inputs.blocks.BLOCK_BYTES", 4000)
    text = "\n".join(Run([Scenario(duration_s=2)]).lines()) + "\n"
    rows, report = read(write(tmp_path, text))
    assert sorted(rows, key=str) == sorted(oracle(text), key=str)
    assert report.lines == text.count("\n")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=400), st.booleans(), st.booleans())
def test_any_bytes_are_read_without_a_crash(tmp_path: Path, junk: bytes, zipped: bool, beside: bool) -> None:
    data = (NEW + "\n").encode() + junk + b"\n" if beside else junk
    path = tmp_path / "k6.json"
    path.write_bytes(gzip.compress(data) if zipped else data)
    for pretty in (False, True):
        rows, _ = read(path, pretty=pretty)
        assert len(rows) >= (1 if beside and not pretty else 0)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.text(max_size=8), st.text(max_size=12), max_size=5),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_any_tags_and_values_survive(tmp_path: Path, tags: dict[str, str], value: float) -> None:
    data = {"time": "2026-11-29T21:53:39.450116018Z", "value": value, "tags": tags}
    for ascii_only in (True, False):
        line = json.dumps(
            {"metric": "m", "type": "Point", "data": data}, separators=(",", ":"), ensure_ascii=ascii_only
        )
        path = tmp_path / "k6.json"
        path.write_bytes((line + "\n").encode("utf-8", errors="surrogatepass"))
        rows, report = read(path)
        if report.malformed == 0:
            # Secrets are masked when all parts are merged, in the order of the tag sets.
            assert rows == [("m", 1795989219450116018, value, tags)]


@pytest.mark.parametrize("text", ["-0", "-0.0", "-0e0", "0"])
@pytest.mark.parametrize("line", [NEW, SPACED])
def test_a_zero_keeps_its_sign(tmp_path: Path, line: str, text: str) -> None:
    (row,), _ = read(write(tmp_path, line.replace("300.042211", text) + "\n"))
    assert math.copysign(1, row[2]) == math.copysign(1, float(text))
