"""The CSV points reader: against the csv module row by row, every time format, damage, and any bytes at all."""

from __future__ import annotations

import csv
import gzip
import io
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditor.errors import AuditError
from auditor.evidence import Ignored, ReadReport
from auditor.ingest.bundle import read_run
from auditor.ingest.k6 import points_csv
from auditor.ingest.k6.points_csv import CsvPoints
from auditor.ingest.k6.points_formats import CSV
from auditor.ingest.k6.points_json import stamp_ns
from auditor.ingest.sniff import sniff
from tests.builder import Run, Scenario
from tests.conftest import Recorded, recorded_files

HEADER = "metric_name,timestamp,metric_value,error,group,name,scenario,status,extra_tags,metadata\n"
ROW = "http_reqs,1795989222112830443,1.000000,,,GET /a,api,200,,\n"
POINT = (
    "http_reqs",
    1795989222112830443,
    1.0,
    {"group": "", "name": "GET /a", "scenario": "api", "status": "200"},
)
Row = tuple[str, int, float, dict[str, str]]


def read(path: Path) -> tuple[list[Row], ReadReport]:
    """All samples as plain rows, and the report."""
    source = CsvPoints(path, path.name).parts(1)[0]
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


def nanoseconds(stamp: str) -> int:
    if "T" in stamp:
        return stamp_ns(stamp)
    return int(stamp) * {10: 10**9, 13: 10**6, 16: 10**3, 19: 1}[len(stamp)]


def oracle(text: str) -> list[Row]:
    """The same by the csv module, record by record; values that are no finite number left out."""
    rows = []
    for record in csv.DictReader(io.StringIO(text, newline="")):
        value = float(record["metric_value"])
        if not math.isfinite(value):
            continue
        tags = {k: v for k, v in list(record.items())[3:] if k != "metadata" and (v or k == "group")}
        if "extra_tags" in tags:
            tags["extra_tags"] = "&".join(sorted(tags["extra_tags"].split("&")))
        rows.append((record["metric_name"], nanoseconds(record["timestamp"]), value, tags))
    return rows


def write(tmp_path: Path, text: str | bytes, name: str = "k6.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def decompressed(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8", errors="replace")


WHOLE = "csv_timeformat_* mixed_v?.?.?.csv.gz dropped_* errors_* interrupted_* timezone_* weird_values_*"


@pytest.mark.parametrize("pattern", WHOLE.split())
def test_recorded_examples_equal_the_csv_module(pattern: str) -> None:
    paths = [p for p in recorded_files(f"facts/k6_examples/{pattern}").values() if ".csv" in p.name]
    assert paths
    for path in paths:
        text = decompressed(path)
        rows, report = read(path)
        assert rows == oracle(text), path.name
        assert (report.malformed, report.torn) == (0, ""), path.name
        assert report.points + report.dropped_values == sum(1 for _ in csv.reader(io.StringIO(text))) - 1
        assert sniff(path).points is CSV


@pytest.mark.parametrize(
    ("stamp", "expected", "resolution"),
    [
        ("1795989221", 1795989221 * 10**9, 10**9),
        ("1795989222012", 1795989222012 * 10**6, 10**6),
        ("1795989222061393", 1795989222061393 * 10**3, 10**3),
        ("1795989222112830443", 1795989222112830443, 1),
        ("2026-11-30T03:23:42+05:30", 1795989222 * 10**9, 10**9),
        ("2026-11-29T21:53:42Z", 1795989222 * 10**9, 10**9),
        ("2026-11-30T03:23:42.234480714+05:30", 1795989222234480714, 1),
        ("2026-11-29T14:53:40.05-07:00", 1795989220050000000, 10**7),
    ],
)
def test_every_time_format(tmp_path: Path, stamp: str, expected: int, resolution: int) -> None:
    rows, report = read(write(tmp_path, HEADER + ROW.replace("1795989222112830443", stamp)))
    assert [r[1] for r in rows] == [expected]
    assert report.stamp_resolution_ns == resolution


def test_the_unit_of_the_format_is_the_resolution_however_few_samples_there_are(tmp_path: Path) -> None:
    text = HEADER + ROW.replace("1795989222112830443", "1795989222000")
    assert read(write(tmp_path, text))[1].stamp_resolution_ns == 10**9  # the stamps themselves say more
    text = HEADER + ROW.replace("1795989222112830443", "1795989222001")
    assert read(write(tmp_path, text))[1].stamp_resolution_ns == 10**6


def test_a_stamp_in_another_format_is_malformed(tmp_path: Path) -> None:
    for other in (
        "1795989222",
        "2026-11-29T21:53:42Z",
        "2026-13-29T21:53:42Z",
        "99999999999999999999",
        "-5",
        "",
    ):
        text = HEADER + ROW + ROW.replace("1795989222112830443", other) + ROW
        rows, report = read(write(tmp_path, text))
        assert rows == [POINT, POINT]
        assert (report.malformed, report.first_malformed_line, report.lines) == (1, 3, 4)


@pytest.mark.parametrize(
    "header",
    [
        "metric_name,timestamp,metric_value,name,scenario,status,extra_tags",
        "metric_name,timestamp,metric_value,group,ip,iter,name,scenario,status,vu,extra_tags,metadata",
        "metric_name,timestamp,metric_value,extra_tags,metadata",
        "metric_name,timestamp,metric_value",
    ],
)
def test_a_header_of_any_version_and_system_tags(tmp_path: Path, header: str) -> None:
    cells = {"metric_name": "m", "timestamp": "1795989222112830443", "metric_value": "-1.500000", "name": "x"}
    names = header.split(",")
    text = f"{header}\n{','.join(cells.get(n, '') for n in names)}\n"
    rows, report = read(write(tmp_path, text))
    assert rows == oracle(text)
    assert (report.points, report.malformed) == (1, 0)


def test_a_value_over_several_lines_with_quotes_commas_and_blank_lines(tmp_path: Path) -> None:
    value = 'a "quoted" \\ , value\n\nhttp_reqs,1,1\n"end"\r\n'
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(["m", "1795989222112830443", "1.0", value, *[""] * 6])
    rows, report = read(write(tmp_path, HEADER + ROW + out.getvalue() + ROW))
    assert rows[1] == ("m", 1795989222112830443, 1.0, {"error": value, "group": ""})
    assert (len(rows), report.malformed, report.torn) == (3, 0, "")


def test_extra_tags_are_one_tag_whatever_their_order(tmp_path: Path) -> None:
    text = HEADER + ROW.replace(",200,,", ",200,b=2&a=1,") + ROW.replace(",200,,", ",200,a=1&b=2,vu=1&iter=0")
    source = CsvPoints(write(tmp_path, text), "k6.csv").parts(1)[0]
    assert sum(len(b.value) for b in source.batches()) == 2
    assert len(source.tables.tagsets) == 1
    assert ("extra_tags", "a=1&b=2") in source.tables.tagsets[0]
    assert source.tables.definitions == {}


@pytest.mark.parametrize("token", ["+Inf", "-Inf", "NaN", "1e999"])
@pytest.mark.parametrize("damage", ["", "short,row\n"])
def test_values_that_are_no_finite_number_are_counted(tmp_path: Path, token: str, damage: str) -> None:
    rows, report = read(write(tmp_path, HEADER + ROW.replace("1.000000", token) + damage + ROW))
    assert rows == [POINT]
    assert (report.dropped_values, report.malformed) == (1, 1 if damage else 0)


@pytest.mark.parametrize(
    "bad",
    [
        "http_reqs,1795989222112830443,1.0\n",
        ROW.replace("1.000000", ""),
        ROW.replace("1.000000", "1_0"),
        ROW.replace("1.000000", "one"),
        ROW.replace("\n", ",\n"),
        HEADER,
    ],
)
def test_malformed_records_are_counted_and_located(tmp_path: Path, bad: str) -> None:
    multi = 'm,1795989222112830443,1.0,"two\nlines",,,,,,\n'
    rows, report = read(write(tmp_path, HEADER + ROW + multi + bad + ROW + bad))
    assert len(rows) == 3
    assert (report.malformed, report.first_malformed_line, report.lines) == (2, 5, 7)


def test_a_stray_quote_costs_its_own_line_alone(tmp_path: Path) -> None:
    stray = ROW.replace("GET /a", '"GET /a')
    rows, report = read(write(tmp_path, HEADER + ROW + stray + ROW * 50 + stray + ROW))
    assert rows == [POINT] * 52
    assert (report.malformed, report.first_malformed_line, report.torn) == (2, 3, "")


def test_blocks_cut_anywhere_keep_every_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    multi = 'm,1795989222112830443,1.0,"several ""quoted""\nlines\n\nof text",,,,,a=1&b=2,\n'
    text = HEADER + (ROW + multi) * 40
    path = write(tmp_path, text)
    for block in (150, 211, 1000):
        monkeypatch.setattr("auditor.inputs.blocks.BLOCK_BYTES", block)
        rows, report = read(path)
        assert rows == oracle(text)
        assert (report.lines, report.malformed, report.torn) == (text.count("\n"), 0, "")


def test_many_distinct_values_in_many_columns(tmp_path: Path) -> None:
    """The combined index of a tag set outgrows 64 bits, and is made small again."""
    names = [f"t{i:02}" for i in range(40)]
    lines = [",".join(["metric_name", "timestamp", "metric_value", *names])]
    for n in range(300):
        cells = [str((n * (i + 7)) % (50 + i)) for i in range(len(names))]
        lines.append(",".join(["m", "1795989222112830443", "1.0", *cells]))
    text = "\n".join(lines) + "\n"
    assert read(write(tmp_path, text))[0] == oracle(text)


@pytest.mark.parametrize(
    ("tail", "points", "torn"),
    [
        (ROW[:40], 1, "last line incomplete"),
        (ROW.rstrip("\n"), 2, ""),
        (ROW.replace("200,,", '200,"a=1\n'), 1, "last line incomplete"),
        ("\n\n", 1, ""),
    ],
)
def test_a_torn_last_record(tmp_path: Path, tail: str, points: int, torn: str) -> None:
    rows, report = read(write(tmp_path, HEADER + ROW + tail))
    assert (len(rows), report.torn, report.malformed) == (points, torn, 0)


def test_a_last_tag_without_line_end_may_be_cut(tmp_path: Path) -> None:
    old = "metric_name,timestamp,metric_value,name,extra_tags\nm,1795989222112830443,1.0,x,team=a"
    assert read(write(tmp_path, old))[1].torn == "last line incomplete"


def test_header_only_and_no_header(tmp_path: Path) -> None:
    assert read(write(tmp_path, HEADER)) == ([], ReadReport(lines=1, stamp_resolution_ns=1))
    assert read(write(tmp_path, HEADER.rstrip("\n")))[1].torn == "last line incomplete"
    assert read(write(tmp_path, "a,b\n1,2\n"))[1].torn == "no header of a k6 CSV file"


@pytest.mark.parametrize("version", ["v1.1.0", "v2.2.0"])
def test_a_killed_runs_gzip_keeps_what_decodes(version: str, recorded: Recorded) -> None:
    path = recorded(f"facts/k6_examples/killed_truncated_{version}.csv.gz")
    rows, report = read(path)
    assert report.torn == "gzip stream cut off"
    assert report.malformed == 0
    import zlib

    text = zlib.decompressobj(31).decompress(path.read_bytes()).decode()
    assert rows == oracle(text[: text.rindex("\n") + 1])


def test_crlf_and_byte_order_mark(tmp_path: Path) -> None:
    path = write(tmp_path, b"\xef\xbb\xbf" + (HEADER + ROW).replace("\n", "\r\n").encode())
    assert read(path)[0] == [POINT]
    assert sniff(path).points is CSV
    utf16 = sniff(write(tmp_path, (HEADER + ROW).encode("utf-16"), "wide.csv"))
    assert (utf16.kind, "UTF-16" in utf16.reason) == ("other", True)


def test_bytes_that_are_no_utf8(tmp_path: Path) -> None:
    for damage in ("", "short,row\n"):
        data = HEADER.encode() + ROW.encode().replace(b"GET /a", b"GET /\xff") + damage.encode()
        assert read(write(tmp_path, data))[0][0][3]["name"] == "GET /\ufffd"


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=400), st.booleans(), st.booleans())
def test_any_bytes_after_a_header_are_read_without_a_crash(
    tmp_path: Path, junk: bytes, zipped: bool, beside: bool
) -> None:
    data = HEADER.encode() + (ROW.encode() if beside else b"") + junk
    rows, report = read(write(tmp_path, gzip.compress(data) if zipped else data))
    assert report.points == len(rows)
    if beside:
        assert POINT in rows or b'"' in junk


def as_go_quotes(cell: str) -> str:
    if any(c in cell for c in ',"\r\n') or cell[:1].isspace():
        return '"' + cell.replace('"', '""') + '"'
    return cell


CELL = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(CELL, st.floats(-1e12, 1e12), st.integers(10**18, 2 * 10**18), CELL, CELL, CELL), max_size=8
    )
)
def test_any_cells_survive(tmp_path: Path, records: list[tuple[str, float, int, str, str, str]]) -> None:
    text = HEADER
    for metric, value, at, error, name, extra in records:
        cells = [metric, str(at), f"{value:f}", error, "", name, "api", "200", extra, ""]
        text += ",".join(as_go_quotes(cell) for cell in cells) + "\n"
    rows, report = read(write(tmp_path, text))
    assert rows == oracle(text)
    assert report.malformed == 0


def both(tmp_path: Path, run: Run, text: str) -> Path:
    folder = run.write(tmp_path / "run")
    (folder / "k6.csv").write_text(text)
    return folder


@pytest.mark.parametrize("unit_ns", [1, 1_000_000, 1_000_000_000])
def test_json_and_csv_of_one_run_are_one_run(tmp_path: Path, unit_ns: int) -> None:
    run = Run([Scenario(duration_s=3)])
    evidence = read_run([both(tmp_path, run, run.csv(unit_ns))])
    assert Ignored("k6.csv", "the same run as k6.json (JSON is used)") in evidence.ignored
    points = evidence.generators[0].points
    assert points is not None
    assert points.path == "k6.json"


def test_a_cut_csv_beside_the_json_is_the_same_run(tmp_path: Path) -> None:
    run = Run([Scenario(duration_s=3)])
    text = run.csv()
    evidence = read_run([both(tmp_path, run, text[: len(text) * 2 // 3])])
    assert [i.path for i in evidence.ignored] == ["k6.csv"]


@pytest.mark.parametrize("how", ["later", "fewer", "empty"])
def test_json_and_csv_of_two_runs_are_refused(tmp_path: Path, how: str) -> None:
    run = Run([Scenario(duration_s=3)])
    lines = run.csv().splitlines(keepends=True)
    if how == "later":
        lines = [lines[0], *lines[2:]] if lines[1].split(",")[1] != lines[2].split(",")[1] else lines
        lines[1] = lines[1].replace(lines[1].split(",")[1], str(int(lines[1].split(",")[1]) + 10**10))
    elif how == "fewer":
        lines.remove(next(line for line in lines if line.startswith("iterations,")))
    else:
        lines = lines[:1]
    with pytest.raises(AuditError, match=r"two points files that are not of one run .*k6\.json and k6\.csv"):
        read_run([both(tmp_path, run, "".join(lines))])


def test_two_csv_files(tmp_path: Path) -> None:
    run = Run([Scenario(duration_s=1)], csv_unit_ns=1)
    folder = run.write(tmp_path / "run")
    (folder / "copy.csv.gz").write_bytes(gzip.compress(run.csv().encode()))
    assert Ignored("k6.csv", "the same points as copy.csv.gz") in read_run([folder]).ignored
    (folder / "copy.csv.gz").write_bytes(gzip.compress(run.csv(1000).encode()))
    with pytest.raises(AuditError, match=r"two points files of different content: copy\.csv\.gz and k6\.csv"):
        read_run([folder])


fields = st.sampled_from(["", "a", "GET /x", "é", "0", " b", "a=1&b=2", "\u2028", "NaN"])
stamps = st.sampled_from(["1795989219", "1795989220", "0", " 1", "x", "+1", "1795989219000"])
values = st.sampled_from(
    ["1.000000", "0", "-2.5", "1e3", "+Inf", "NaN", "nan", "", "x", " 1", "1_0", "0.30000000000000004"]
)


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["m", "http_reqs", ""]), stamps, values, fields, fields),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(["extra_tags", "url", "metadata"]),
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from([",", "\n", "\r"])), max_size=1),
)
def test_cutting_at_commas_gives_what_pyarrow_reads(
    rows: list[tuple[str, ...]], last: str, damage: list[tuple[int, str]]
) -> None:
    header = points_csv._header(f"metric_name,timestamp,metric_value,name,{last}\n".encode())
    assert header is not None
    text = "".join(",".join(row) + "\n" for row in rows)
    for at, mark in damage:
        text = text[:at] + mark + text[at:]
    block = (text if text.endswith("\n") else text + "\n").encode()
    cut = points_csv._cut_at_commas(block, header)
    if cut is None:
        return
    read = points_csv._read_columns(block, header, rfc3339=False)
    assert read is not None
    assert cut.stamp.tolist() == read.stamp.tolist()
    finite = np.isfinite(cut.value)
    assert finite.tolist() == np.isfinite(read.value).tolist()
    assert cut.value[finite].tobytes() == read.value[finite].tobytes()
    assert [cut.metrics[i] for i in cut.metric] == [read.metrics[i] for i in read.metric]
    assert [cut.tagsets[i] for i in cut.tagset] == [read.tagsets[i] for i in read.tagset]


def test_a_usual_block_is_cut_at_commas(tmp_path: Path) -> None:
    header = points_csv._header(HEADER.encode())
    assert header is not None
    table = points_csv._cut_at_commas((ROW * 3).encode(), header)
    assert table is not None
    assert len(table.stamp) == 3
    assert len(table.tagsets) == 1
