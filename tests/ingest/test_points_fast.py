"""The compiled scanner says what the plain reader says: on real files, on built runs, and on damaged ones."""

from __future__ import annotations

import importlib
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditor.evidence import MetricDefinition, ReadReport
from auditor.ingest.k6 import points_json
from auditor.ingest.k6.points_json import JsonPoints
from auditor.inputs import blocks
from tests.builder import Run, Scenario
from tests.conftest import recorded_files
from tests.ingest.test_points_json import NEW, OLD

pytest.importorskip("numba")
points_fast = importlib.import_module("auditor.ingest.k6.points_fast")

Read = tuple[Counter[Any], dict[str, MetricDefinition], ReadReport]
quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(path: Path, *, fast: bool, mixed: bool = False) -> Read:
    """Samples as a multiset (values by their bits), definitions and report."""
    source = JsonPoints(path, path.name, fast=fast, mixed=mixed).parts(1)[0]
    found: Counter[Any] = Counter()
    for batch in source.batches():
        metrics, tagsets = source.tables.metrics, source.tables.tagsets
        assert len(batch.metric) == len(batch.time_ns) == len(batch.value) == len(batch.tagset)
        columns = (batch.metric, batch.time_ns, batch.value.view("int64"), batch.tagset)
        for metric, at, bits, tagset in zip(*(c.tolist() for c in columns), strict=True):
            found[metrics[metric], at, bits, tagsets[tagset]] += 1
    return found, source.tables.definitions, ReadReport.of([source.report()])


def same(path: Path, **how: bool) -> Read:
    plain, fast = read(path, fast=False, **how), read(path, fast=True, **how)
    assert fast[2] == plain[2]
    assert fast[1] == plain[1]
    assert fast[0] == plain[0]
    return fast


def same_bytes(folder: Path, data: bytes) -> Read:
    path = folder / "k6.json"
    path.write_bytes(data)
    return same(path)


def small_blocks(monkeypatch: pytest.MonkeyPatch, size: int = 3000) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", size)


def built() -> bytes:
    odd = {'odd k"e\\y': 'a}b{c,"d" é <&>', "group": "::a\u2028::b"}
    run = Run([Scenario(duration_s=2, tags=odd), Scenario("b", duration_s=2, rate=30)], setup_ms=5.0)
    return ("\n".join(run.lines()) + "\n").encode()


REAL = [
    path
    for path in recorded_files(
        "recordings/stories/*/k6.json.gz", "recordings/versions/**/*.json*", "facts/k6_examples/*.json*"
    ).values()
    if path.stat().st_size < 1_500_000
]


@pytest.mark.parametrize("path", REAL, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_recorded_files(path: Path) -> None:
    same(path)


def test_sample_runs() -> None:
    found = sorted((Path(__file__).parents[2] / "sample_runs").glob("*/k6.json.gz"))[:4]
    assert found
    for path in found:
        samples, _, report = same(path)
        assert report.points == samples.total()


def test_a_built_run_and_how_much_of_it_the_scanner_takes(tmp_path: Path) -> None:
    data = built()
    samples, _, report = same_bytes(tmp_path, data)
    assert report.malformed == 0
    scanned = points_fast.Scanner().scan(data)
    assert len(scanned.value) == samples.total() == report.points
    assert len(scanned.odd_line) == data.count(b'"type":"Metric"')


def test_blocks_smaller_than_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch)
    same_bytes(tmp_path, built())
    same_bytes(tmp_path, built()[:-1])
    same_bytes(tmp_path, built()[:-40])


STAMP, VALUE = "2026-11-29T21:53:39.450116018Z", "300.042211"
STAMPS = (
    "2026-11-30T03:23:40.877593381+05:30", "2026-11-29T21:53:40Z", "2026-11-29T21:53:40.7Z", "2024-02-29T23:59:59.05-07:00",
    "2023-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2000-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-00-10T00:00:00Z",
    "2026-01-00T00:00:00Z", "2026-13-10T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T23:60:00Z", "2026-01-01T23:59:60Z",
    "2026-01-01T23:59:59.Z", "2026-01-01T23:59:59.1234567890Z", "2026-01-01T23:59:59", "2026-01-01T23:59:59z",
    "2026-01-01 23:59:59Z", "2026-01-01T23:59:59+0530", "2026-01-01T23:59:59+05:60", "2026-01-01T23:59:59+24:00",
    "2026-01-01T23:59:59-15:59", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "2200-12-31T23:59:59.999999999Z",
    "2262-04-12T00:00:00Z", "9999-12-31T23:59:59Z", "1600-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "20x6-01-01T00:00:00Z", "",
)  # fmt: skip
NUMBERS = (
    "0", "-0", "-0.0", "0.0", "1", "-1", "01", "1.", ".5", "+1", "1e5", "1E5", "1e+05", "1e-07", "1.234567e+06", "1e", "1e+",
    "1.5e22", "1.5e23", "9007199254740992", "9007199254740993", "9007199254740991e22", "9007199254740991e-22", "1e-400",
    "0.1234567890123456789", "123456789012345678901234567890", "1e308", "1e309", "1e999", "-1e999", "4.9e-324", "2.2250738585072011e-308",
    "0.000000000000000000000000000000001", "1" * 70, "0." + "0" * 70 + "1", "1e9999999999", "--1", "1-1", "1e5e5", "1.2.3", "NaN",
    "+Inf", "-Inf", "Infinity", "null", "true", '"1"', "0x10", "1_0", " 1", "1 ", "[1]", "5e-1", "0e0", "-5.25e-3", "17.3", "0.30000000000000004",
)  # fmt: skip
TAGS = (
    "{}", "null", "[]", "{ }", '{"a":"b"}', '{"a":"b",}', '{"a": "b"}', '{"a":1}', '{"a":{"b":"c"}}', '{"a":null}', '{"a":"b","a":"c"}',
    '{"a":"}}}"}', '{"a":"{\\"x\\":\\"y\\"}"}', '{"a":"\\\\"}', '{"a":"\\q"}', '{"a":"\\u0041"}', '{"a":"\\ud800"}', '{"\\u0061":"b"}',
    '{"b":"1","a":"2"}', '{"a":"tab\there"}', '{"a":"\\n"}', '{"":""}', '{"a"}', '{"a":"b"', '"a":"b"}', '{"a":"é\u2028"}', '{a:"b"}', "nul", "nulL",
)  # fmt: skip
METRICS = ("m", "", "http_reqs", "é", "a b", "a\\u0062", "a\\\\", "a/b{c:d}", "x" * 300, "tab\t", "a\u007fb")


@pytest.mark.parametrize("line", [NEW, OLD])
@pytest.mark.parametrize(
    ("part", "others"),
    [(STAMP, STAMPS), (VALUE, NUMBERS), ('{"group":"","scenario":"a"}', TAGS), ("http_req_duration", METRICS)],
)
def test_each_part_of_a_line(tmp_path: Path, line: str, part: str, others: tuple[str, ...]) -> None:
    assert part in line
    for other in others:
        changed = line.replace(part, other)
        found, _, report = same_bytes(tmp_path, f"{line}\n{changed}\n{line}\n{changed}\n".encode())
        assert found.total() >= 2, other
        assert report.lines == 4
    every = "\n".join(line.replace(part, other) for other in others)
    same_bytes(tmp_path, f"{every}\n{line}\n{every}\n".encode())


@pytest.mark.parametrize("end", ["\r\n", " \n", "\n\n", "}\n", ",\n", "\x00\n"])
@pytest.mark.parametrize(
    "metadata",
    ["", '"metadata":{"iter":"0","vu":"1"}', '"metadata":{}', '"metadata":null', '"metadata":{"a":"\\q"}',
     '"metadata":{"a":"é"}', '"metadata":{"a":1}', '"metadata":{"a":"}"}', '"meta":{}'],
)  # fmt: skip
def test_ends_of_lines_and_metadata(tmp_path: Path, end: str, metadata: str) -> None:
    lines = []
    for line in (NEW, OLD):
        if metadata:
            line = line.replace('"scenario":"a"}', f'"scenario":"a"}},{metadata}')
        lines += [line, end]
    same_bytes(tmp_path, ("".join(lines) * 2).encode())


@quick
@given(st.floats(allow_nan=False), st.sampled_from(["r", ".3f", ".17g", ".20e", "e"]))
def test_any_number_is_what_python_makes_of_it(tmp_path: Path, value: float, how: str) -> None:
    text = repr(value) if how == "r" else format(value, how)
    samples, _, report = same_bytes(tmp_path, (NEW.replace(VALUE, text) + "\n").encode())
    if report.points:
        bits = next(iter(samples))[2]
        import struct

        assert struct.pack("<q", bits) == struct.pack("<d", float(text))


@quick
@given(st.integers(0, 2**63), st.integers(-30, 30))
def test_figures_and_powers(tmp_path: Path, figures: int, power: int) -> None:
    same_bytes(tmp_path, (NEW.replace(VALUE, f"{figures}e{power}") + "\n").encode())


@quick
@given(
    st.dictionaries(st.text(max_size=8), st.text(max_size=12), max_size=5), st.booleans(), st.text(max_size=6)
)
def test_any_tags(tmp_path: Path, tags: dict[str, str], ascii_only: bool, metric: str) -> None:
    lines = [NEW]
    for more in ({}, {"z": "}"}, {"z": "}}\\"}):
        data = {"time": STAMP, "value": 1, "tags": {**tags, **more}}
        item = {"metric": metric, "type": "Point", "data": data}
        lines += [json.dumps(item, separators=(",", ":"), ensure_ascii=ascii_only)] * 2
        item = {"type": "Point", "data": data, "metric": metric}
        lines += [json.dumps(item, separators=(",", ":"), ensure_ascii=ascii_only)] * 2
    same_bytes(tmp_path, ("\n".join(lines) + "\n").encode("utf-8", errors="surrogatepass"))


JUNK = (b"\n", b'"', b"\\", b"}", b"{", b"\r", b"\x00", b"\xff", b",", b":", b"1", b"e", b".", b"-", b"+Inf", b"null", b"\t", b" ",
        b'{"metric":"', b'"tags":{', b"\xc3", b"\xed\xa0\x80", b"\\u00e9", b"}}}\n", NEW.encode() + b"\n", OLD.encode())  # fmt: skip


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_anywhere(tmp_path: Path, data: st.DataObject) -> None:
    lines = data.draw(st.lists(st.sampled_from(built_lines()), min_size=1, max_size=12))
    text = bytearray(b"\n".join(lines) + b"\n")
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(text)))
        match data.draw(st.sampled_from(("flip", "put", "cut", "over"))):
            case "flip" if at < len(text):
                text[at] ^= 1 << data.draw(st.integers(0, 7))
            case "put":
                text[at:at] = data.draw(st.sampled_from(JUNK))
            case "over":
                text[at : at + 1] = data.draw(st.sampled_from(JUNK))
            case _:
                del text[at : at + data.draw(st.integers(1, 40))]
    same_bytes(tmp_path, bytes(text))


_LINES: list[bytes] = []


def built_lines() -> list[bytes]:
    if not _LINES:
        lines = built().splitlines()
        _LINES.extend(
            [
                *lines[:40],
                NEW.encode(),
                OLD.encode(),
                OLD.replace('{"group":"","scenario":"a"}', "null").encode(),
            ]
        )
    return _LINES


def test_many_tag_sets_and_metrics_outgrow_every_table(tmp_path: Path) -> None:
    lines = [
        NEW.replace('"a"', f'"{"x" * (i % 97)}{i}"').replace("http_req_duration", f"m{i % 900}")
        for i in range(12_000)
    ]
    random.Random(1).shuffle(lines)
    samples, _, _ = same_bytes(tmp_path, ("\n".join(lines + lines[::-1]) + "\n").encode())
    assert len(samples) == 12_000
    assert set(samples.values()) == {2}


def test_equal_hashes_do_not_merge_tag_sets(tmp_path: Path) -> None:
    """The table's hash is replaced by a constant, so that every tag set collides with every other."""
    code = """
import inspect, sys, types
from pathlib import Path
from auditor.ingest.k6 import native, points_fast, scan_kernel
source = inspect.getsource(scan_kernel).replace("return h ^ (h >> np.uint64(32))", "return np.uint64(7)")
assert source.count("np.uint64(7)") == 1
collide = types.ModuleType("collide")
exec(compile(source, scan_kernel.__file__, "exec"), collide.__dict__)
native._kept_or_made = lambda made_for, make: collide.compiled()
from tests.ingest.test_points_json import NEW
block = "".join(NEW.replace('"a"', f'"{i % 50:03}"') + "\\n" for i in range(500)).encode()
scanner = points_fast.Scanner()
found = scanner.scan(block)
assert len(scanner.tagsets) == 50, len(scanner.tagsets)
assert [scanner.tagsets[i][-6:-2] for i in found.tagset] == [f'"{i % 50:03}'.encode() for i in range(500)]
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


def test_console_text_between_the_lines(tmp_path: Path) -> None:
    path = tmp_path / "k6.json"
    path.write_text(f"\n  execution: local\n{NEW}\nrunning (0m01s) {{x}}\n{{broken\n{NEW}\n")
    samples, _, report = same(path, mixed=True)
    assert samples.total() == 2
    assert report.malformed == 1


def test_a_small_file_does_not_load_the_scanner(tmp_path: Path) -> None:
    path = tmp_path / "k6.json"
    path.write_bytes(built())
    code = (
        "import sys; from pathlib import Path; from auditor.ingest.k6.points_json import JsonPoints\n"
        "n = sum(len(b.value) for b in JsonPoints(Path(sys.argv[1]), 'x').parts(1)[0].batches())\n"
        "assert n and 'numba' not in sys.modules and 'llvmlite' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, cwd=Path(__file__).parents[2])


def test_small_files_use_the_scanner_only_where_it_has_been_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "k6.json"
    path.write_bytes(built())
    assert JsonPoints(path, "x")._scanner == "none"
    monkeypatch.setattr(points_json, "FAST_FROM_BYTES", 1)
    assert JsonPoints(path, "x")._scanner == "kept"
    monkeypatch.setattr(points_json, "MAKE_FROM_BYTES", 1)
    assert JsonPoints(path, "x")._scanner == "made"
