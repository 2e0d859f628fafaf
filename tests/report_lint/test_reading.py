"""Reports of every kind: exactly what is found in them, and exactly what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.engine.loader import load_rules
from auditor.engine.policy import load_policy
from auditor.fields import FIELD_OF
from auditor.report_lint.judge import ReportAudit, audit_report
from auditor.report_lint.read import reader
from auditor.report_lint.read.labels import field_of
from auditor.report_lint.read.reader import is_report, read_report
from auditor.report_lint.read.values import numbers, written

DOCUMENTS = Path(__file__).parent / "documents"
RULES = load_rules()
NAMES = tuple(FIELD_OF)


def lint(path: Path) -> ReportAudit:
    return audit_report(read_report(path), load_policy(None, {}, RULES), RULES)


EXPECTED: dict[str, tuple[dict[str, float | str], str]] = {
    # document: what is found (a number, or the kind of answer), and what is missing
    "reporter_page.html": (
        {"achieved_rate": 61.5, "p50": 32.07, "p90": 62.95, "p95": 81.66},
        "target_rate dropped_iterations generator_cpu test_duration warmup_excluded p99 p999",
    ),
    "dashboard_export.html": (
        {"achieved_rate": 41.2, "p50": 262, "p90": 610, "p95": 1020, "p99": 1200},
        "target_rate dropped_iterations generator_cpu test_duration warmup_excluded p999",
    ),
    "good.md": (
        {
            "target_rate": 100,
            "achieved_rate": 99.9,
            "dropped_iterations": 0,
            "generator_cpu": 41,
            "test_duration": 62,
            "warmup_excluded": 5,
            "p50": 15.6,
            "p90": 22.9,
            "p95": 25.4,
            "p99": 30.5,
            "p999": "n/a",
        },
        "",
    ),
    "columns.md": (
        {
            "target_rate": 300,
            "achieved_rate": 299.2,
            "dropped_iterations": 12,
            "generator_cpu": 48,
            "test_duration": 600,
            "warmup_excluded": 30,
            "p50": 16,
            "p90": 1023,
            "p95": 2025.5,
            "p99": 3131,
            "p999": "placeholder",
        },
        "p999",
    ),
    "page_table.html": (
        {
            "target_rate": 287.5,
            "achieved_rate": 171.6,
            "dropped_iterations": 5796,
            "generator_cpu": "placeholder",
            "test_duration": 50,
            "warmup_excluded": 0,
            "p50": 294,
            "p90": "not-identified",
            "p95": "placeholder",
            "p99": "placeholder",
        },
        "generator_cpu p95 p99 p999",
    ),
    "definitions.html": (
        {
            "target_rate": 1200,
            "achieved_rate": 1198,
            "dropped_iterations": "n/a",
            "generator_cpu": 52.5,
            "test_duration": 5400,
            "warmup_excluded": 120,
            "p50": 12,
            "p90": 31,
            "p95": 40,
            "p99": 310,
            "p999": 1410,
        },
        "",
    ),
    "prose.txt": (
        {
            "target_rate": 300,
            "achieved_rate": 299.8,
            "dropped_iterations": 0,
            "generator_cpu": 48,
            "test_duration": 60,
            "warmup_excluded": 10,
            "p50": 16.2,
            "p90": 23.3,
            "p95": 25.8,
            "p99": 31.4,
            "p999": 38.5,
        },
        "",
    ),
    "console.txt": (
        {"achieved_rate": 15.77, "dropped_iterations": 17, "p50": 270.43, "p90": 273.31, "p95": 275.05},
        "target_rate generator_cpu test_duration warmup_excluded p99 p999",
    ),
    "bad.md": (
        {
            "target_rate": 300,
            "achieved_rate": 250,
            "dropped_iterations": "placeholder",
            "generator_cpu": 58,
            "test_duration": "placeholder",
            "warmup_excluded": "placeholder",
            "p50": 40,
            "p90": 25,
            "p95": 30,
            "p99": "placeholder",
            "p999": "placeholder",
        },
        "dropped_iterations test_duration warmup_excluded p99 p999",
    ),
    "successes.md": (
        {"p50": 16, "p90": 23, "p95": 26, "p99": 31, "p999": 38},
        "target_rate achieved_rate dropped_iterations generator_cpu test_duration warmup_excluded",
    ),
    "averages.md": ({}, " ".join(NAMES)),
}


def test_every_document_is_expected() -> None:
    assert {p.name for p in DOCUMENTS.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_found_and_what_is_missing(name: str) -> None:
    found, missing = EXPECTED[name]
    path = DOCUMENTS / name
    assert is_report(path) == (name != "console.txt")  # k6's own rows are evidence of a run
    result = lint(path)
    said = {k: f.value if f.answer == "value" else f.answer for k, f in result.report.fields.items()}
    assert said == pytest.approx(found)
    assert result.missing() == missing.split()
    if missing:
        assert not result.accepted
        assert result.exit_code == 1
        ids = {f"HD{NAMES.index(one) + 1:02d}" for one in missing.split()}
        assert {r.id for r in result.failed("invalid") if r.id <= "HD11" and r.id.startswith("HD")} == ids


WRONG = {
    "reporter_page.html": {"HD14", "HD15", "HD17"},
    "dashboard_export.html": {"HD14", "HD15", "HD17"},
    "good.md": set(),
    "columns.md": set(),
    "page_table.html": {"OL01"},
    "definitions.html": set(),
    "prose.txt": set(),
    "console.txt": {"HD14", "HD15"},
    "bad.md": {"HD12", "HD14", "HD15", "HD17", "HD18", "OL01", "LS05"},
    "successes.md": {"ER01"},
    "averages.md": {"LS12"},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_else_is_wrong(name: str) -> None:
    result = lint(DOCUMENTS / name)
    fields = {f"HD{i:02d}" for i in range(1, 12)}
    assert {r.id for r in result.failed("invalid", "warning", "info")} - fields == WRONG[name]
    assert not [r.id for r in result.results if r.outcome in ("error", "unknown")]


@pytest.mark.parametrize(
    ("label", "field"),
    [
        ("p(95)", "p95"),
        ("99th percentile", "p99"),
        ("99 %ile", "p99"),
        ("99.9th percentile", "p999"),
        ("Median response time", "p50"),
        ("p95 latency (ms)", "p95"),
        ("http_req_duration p(99)", "p99"),
        ("Throughput", "achieved_rate"),
        ("RPS", "achieved_rate"),
        ("req/s", "achieved_rate"),
        ("dropped_iterations", "dropped_iterations"),
        ("Dropped", "dropped_iterations"),
        ("load generator CPU", "generator_cpu"),
        ("CPU (generator)", "generator_cpu"),
        ("warmup", "warmup_excluded"),
        ("Warm-up time", "warmup_excluded"),
        ("ramp-up excluded", "warmup_excluded"),
        ("Planned rate (/s)", "target_rate"),
        ("p95 of TTFB", None),
        ("p99.95", None),
        ("p9", None),
        ("System CPU", None),
        ("CPU", None),
        ("Price", None),
    ],
)
def test_synonyms(label: str, field: str | None) -> None:
    found = field_of(label)
    assert (found[0] if found else None) == field


@pytest.mark.parametrize(
    "text", ["", " ", "-", "—", "?", "TBD", "tbd (Ann)", "NaN", "nan ms", "n/a", "N/A", "none", "null", "…"]
)
def test_what_is_no_answer(text: str) -> None:
    assert written(text).answer == "placeholder"


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("5,796", 5796, ""),
        ("3 131 ms", 3131, "ms"),
        ("18 000/s", 18000, "/s"),
        ("1.41s", 1.41, "s"),
        ("310ms", 310, "ms"),
        ("0,5 ms", 0.5, "ms"),
        ("1.2k req/s", 1200, "/s"),
        ("18,000/min", 18000, "/min"),
        ("58 %", 58, "%"),
        ("14µs", 14, "us"),
    ],
)
def test_numbers(text: str, value: float, unit: str) -> None:
    found = numbers(text)[0]
    assert found.value == pytest.approx(value)
    assert found.unit == unit


REAL_MISSING = {
    "html_dashboard": {
        "target_rate",
        "dropped_iterations",
        "generator_cpu",
        "test_duration",
        "warmup_excluded",
        "p999",
    },
    "html_k6reporter": {
        "target_rate",
        "dropped_iterations",
        "generator_cpu",
        "test_duration",
        "warmup_excluded",
        "p99",
        "p999",
    },
}
REAL_EXTRA = {
    # Drawn by a script from compressed data: the page's text has no figure at all.
    "fatmanmclone90__k6-browser__html-report.html": set(NAMES),
    "jameson-athanasiou__perf-testing__html-report.html": set(NAMES),
    "joheiss__k6-ts-primer__k6-report.html": set(NAMES),
    "petechain23__K6__01-Practices_Executors_html-report.html": set(NAMES),
    "trangle-sioux__k6-performance__html-report.html": set(NAMES),
    # Its p90 is "-".
    "centminmod__k6-benchmarking__screenshots_scenarios_result-scenarios.html": {"p90"},
}


def test_real_reports_lack_fields_and_none_crashes(shared: Path) -> None:
    seen = 0
    for folder, missing in REAL_MISSING.items():
        for path in sorted((shared / "real" / "k6" / folder).iterdir()):
            result = lint(path)
            assert is_report(path)
            assert set(result.missing()) == missing | REAL_EXTRA.get(path.name, set()), path.name
            assert result.exit_code == 1
            assert not [r.id for r in result.results if r.outcome in ("error", "unknown")]
            seen += 1
    assert seen == 14


@settings(max_examples=150, deadline=2000)
@given(st.binary(max_size=2000))
def test_any_bytes(data: bytes) -> None:
    reader._read("x", data)


PIECES = st.sampled_from(
    ["<table>", "</table>", "<tr data-field=p50 data-value=x>", "<td>", "p95", "| a | b |\n|---|---|\n", "| p99 | 3 ms |", "\n",
     ": ", "<dl><dt>", "<dd data-field='p99'>", "12 ms", "=", "\0", "<script id=k6-audit-result>", "{", '{"schema_version":1,"verdict":[],"header":3}',
     "# ", "NaN", "1e999", "9" * 30, "<svg>", "<!--", "&#0;", "Verdict", "INVALID", "–", "<h1>", "%", "avg=", "http_req_duration: "]
)  # fmt: skip


@settings(max_examples=300, deadline=2000)
@given(st.lists(PIECES, max_size=60), st.booleans())
def test_any_pieces_of_reports(pieces: list[str], page: bool) -> None:
    text = ("<html>" if page else "") + "".join(pieces)
    result = audit_report(reader._read("x", text.encode()), load_policy(None, {}, RULES), RULES)
    assert not [r.reason for r in result.results if r.outcome == "error"]


def test_a_drawing_of_many_parts_is_not_deep() -> None:
    parts = "<path d='M0 0'/>" * 3000
    page = f"<html><body><svg><g>{parts}</g></svg><p>p95: 12 ms</p>"
    report = reader._read("x", page.encode())
    assert report.fields["p95"].value == 12
    assert not report.notes
    cut = reader._read("x", f"<html>{'<div>' * 1001}<p>p95: 12 ms</p>".encode())
    assert not cut.fields
    assert "nested too deeply" in cut.notes[0]


@pytest.mark.parametrize(
    "opening",
    [
        "<div>",
        "<div/>",
        "<svg><path>",
        "<svg><div><path/>",
        '<b a=">">',
        "<table><tr><td>",
        "<dl><dd>",
        "> ",
        "[",
        "**",
        "p95 = ",
        "| ",
        "1 ",
        "1,",
        "(" * 3,
    ],
)
def test_deep_and_long_documents_do_not_hang(opening: str) -> None:
    import time

    started = time.monotonic()
    for start in ("<html>", ""):
        reader._read("x", (start + opening * 20_000).encode())
    assert time.monotonic() - started < 20
