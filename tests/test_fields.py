"""The registry of the header's fields: sound in itself, and the one place that a further field is added to."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from auditor.fields import DECIDING, FIELD_OF, FIELDS, MINIMUM_N, PERCENTILES, minimum_n
from auditor.present import schema
from tests.builder import Answer, Run, Scenario
from tests.conftest import ROOT
from tests.rules.cases import RULES

# --- sound in itself ------------------------------------------------------------------------------------


def test_names_labels_and_rules_are_unique() -> None:
    for part in ("name", "label", "rule"):
        values = [getattr(field, part) for field in FIELDS]
        assert len(values) == len(set(values)), part


def test_every_field_has_the_rule_that_demands_it() -> None:
    titles = {rule.meta.id: rule.meta.title for rule in RULES}
    for field in FIELDS:
        assert titles[field.rule] == f"{field.label} is missing from the header"


def test_percentiles_come_last_and_ascend_and_those_that_do_not_decide_stand_above_the_others() -> None:
    kinds = [field.kind == "percentile" for field in FIELDS]
    assert kinds == sorted(kinds)
    assert all((field.percentile is not None) == (field.kind == "percentile") for field in FIELDS)
    assert [p for _, p in PERCENTILES] == sorted({p for _, p in PERCENTILES})
    assert [name in DECIDING for name, _ in PERCENTILES] == [True] * len(DECIDING) + [False] * (
        len(PERCENTILES) - len(DECIDING)
    )


def by_definition(p: Fraction) -> int:
    """The smallest n with P(no sample is below the quantile) and P(none is above it) at most one in forty."""
    n = 1
    while max((1 - p) ** n, p**n) > Fraction(1, 40):
        n += 1
    return n


@pytest.mark.parametrize(
    ("p", "expected"), [("0.5", 6), ("0.75", 13), ("0.9", 36), ("0.95", 72), ("0.99", 368), ("0.999", 3688)]
)
def test_the_minimum_n_follows_from_its_definition(p: str, expected: int) -> None:
    assert by_definition(Fraction(p)) == minimum_n(float(p)) == expected


def test_the_minimum_n_of_a_low_percentile_is_that_of_its_mirror_image() -> None:
    assert minimum_n(0.1) == by_definition(Fraction("0.1")) == 36


def test_every_percentile_of_the_header_has_its_own_minimum_n() -> None:
    assert MINIMUM_N == {"p50": 6, "p90": 36, "p95": 72, "p99": 368, "p999": 3688}


def test_rules_are_about_fields_that_exist_and_the_load_is_watched_by_some() -> None:
    about = {name for rule in RULES for name in rule.meta.about}
    assert about <= set(FIELD_OF)
    assert about == {field.name for field in FIELDS if field.percentile is None}


@pytest.mark.parametrize("path", schema.paths(), ids=lambda path: path.name)
def test_the_committed_schemas_list_the_fields(path: Path) -> None:
    assert path.read_text() == schema.text(path)
    assert all(path.read_text().count(f'"{field.name}"') >= 2 for field in FIELDS)


# --- one more percentile: p75 ---------------------------------------------------------------------------

RATE, LENGTH_S = 50, 20.0
NOT_MEASURED = (
    ("dropped iterations", "0"),
    ("generator CPU", "20 %, highest 5 s, 1 host of 4 cores"),
    ("warm-up excluded", "0 s"),
)


def quarters(index: int, start_s: float) -> Answer:
    """Of ten requests in a row six take 20 ms, three 40 ms and one 60 ms: p50 20, p75 40, p95 and above 60. The
    p90 of 2,000 lies a tenth of the way from the last 40 to the first 60: 42."""
    return Answer((20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 40.0, 40.0, 40.0, 60.0)[index % 10])


def report(p75: str) -> str:
    """A report of another tool about the run, with what it says of p75."""
    return "\n".join(
        [
            "# Load test",
            "",
            "Verdict: VALID. Latency of all requests, failures included.",
            "",
            "| Field | Value |",
            "|---|---|",
            f"| Target rate | {2 * RATE}/s |",
            f"| Achieved rate | {2 * RATE}/s |",
            *(f"| {label} | {value} |" for label, value in NOT_MEASURED),
            f"| Test duration | {LENGTH_S:g} s |",
            "| p50 | 20 ms |",
            *filter(None, [p75]),
            "| p90 | 42 ms |",
            "| p95 | 60 ms |",
            "| p99 | 60 ms |",
            "| p99.9 | n/a, need 3,688 (have 2,000) |",
            "",
        ]
    )


STATED = {
    "right": "| 75th percentile | 40 ms |",
    "wrong": "| p(75) | 41 ms |",
    "unit": "| p75 | 40 |",
    "absent": "",
}


@pytest.fixture(scope="module")
def with_p75(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Everything that k6-audit prints about one run once p75 is a field."""
    folder = tmp_path_factory.mktemp("p75")
    run = folder / "run"
    browse = Scenario(name="browse", rate=RATE, duration_s=LENGTH_S, answer=quarters)
    Run([browse, replace(browse, name="buy", think_ms=0.7)]).write(run)
    about = ["--warmup", "0s", "--no-config"]
    commands = {
        "json": ["lint", str(run), *about, "--format", "json"],
        "terminal": ["lint", str(run), "--verbose", *about],
        "markdown": ["report", str(run), *about, "-o", str(folder / "report.md")],
        "html": ["report", str(run), *about, "-o", str(folder / "report.html")],
        "own": ["lint", str(folder / "report.html"), "--run", str(run), *about, "--format", "json"],
        "page": ["rule", "HD75"],
        "absent in words": ["lint", str(folder / "absent.md"), "--no-config"],
    }
    for name, line in STATED.items():
        (folder / f"{name}.md").write_text(report(line))
        commands[name] = ["lint", str(folder / f"{name}.md"), "--run", str(run), *about, "--format", "json"]
    (folder / "commands.json").write_text(json.dumps(commands))
    done = subprocess.run(
        [sys.executable, "-m", "tests.one_more_percentile", folder / "commands.json", folder / "results.json"],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "200"},  # wide enough for the table of scenarios
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((folder / "results.json").read_text())
    assert {name: found[name]["exit_code"] for name in commands} == {
        **dict.fromkeys(("json", "terminal", "markdown", "html", "own", "page", "right", "unit"), 0),
        **dict.fromkeys(("wrong", "absent", "absent in words"), 1),
    }
    found["report.md"] = (folder / "report.md").read_text()
    found["report.html"] = (folder / "report.html").read_text()
    return found


def result(found: Mapping[str, Any], name: str) -> dict[str, Any]:
    parsed = json.loads(found[name]["text"])
    assert isinstance(parsed, dict)
    return parsed


def outcome(found: Mapping[str, Any], name: str, rule: str) -> str:
    return str(next(r["outcome"] for r in result(found, name)["rules"] if r["id"] == rule))


def test_p75_is_in_the_json_and_in_its_schema(with_p75: dict[str, Any]) -> None:
    lint = result(with_p75, "json")
    made = json.loads(with_p75["schemas"]["result_v1.schema.json"])
    jsonschema.validate(lint, made)
    for header in (lint["header"], *(one["header"] for one in lint["scenarios"].values())):
        assert list(header) == [*list(FIELD_OF)[:7], "p75", *list(FIELD_OF)[7:]]
        assert (header["p50"]["value"], header["p75"]["value"], header["p95"]["value"]) == (20, 40, 60)
        assert header["p75"]["label"] == "p75"
        assert header["p75"]["unit"] == "ms"
    assert outcome(with_p75, "json", "HD75") == "pass"
    assert "The twelve fields" in with_p75["schemas"]["result_v1.schema.json"]
    del lint["header"]["p75"]
    with pytest.raises(jsonschema.ValidationError, match="'p75' is a required property"):
        jsonschema.validate(lint, made)


def test_p75_is_in_the_terminal_by_run_and_by_scenario(with_p75: dict[str, Any]) -> None:
    lines = with_p75["terminal"]["text"].splitlines()
    row = next(line for line in lines if line.split()[:1] == ["p75"])
    assert "40.00 ms" in row
    head = next(line for line in lines if line.split()[:1] == ["scenario"])
    assert re.search(r"p50 +p75 +p95", head)
    cells = [line for line in lines if line.split()[:1] in (["browse"], ["buy"]) and "40.00 ms" in line]
    assert len(cells) == 2


def test_p75_is_in_the_html_and_in_the_markdown(with_p75: dict[str, Any]) -> None:
    row = re.search(r'<tr data-field="p75"[^>]*>.*?</tr>', with_p75["report.html"], re.S)
    assert row is not None
    assert 'data-value="40" data-unit="ms" data-status="ok"' in row[0]
    assert "40.00 ms" in row[0]
    lines = with_p75["report.md"].splitlines()
    assert any(line.startswith("| p75 | 40.00 ms | over offered demand, 95 % 4") for line in lines)
    head = next(line for line in lines if line.startswith("| Scenario |"))
    assert "| p50 | p75 | p95 | p99 | p99.9 |" in head
    assert "| Failed share | p50 | p75 | p95 | p99 | Max |" in with_p75["report.md"]


def test_a_report_of_another_tool_is_asked_for_p75(with_p75: dict[str, Any]) -> None:
    made = json.loads(with_p75["schemas"]["report_lint_v1.schema.json"])
    for name in STATED:
        jsonschema.validate(result(with_p75, name), made)
    assert result(with_p75, "right")["fields"]["p75"]["value"] == 40
    assert outcome(with_p75, "right", "HD75") == "pass"
    assert outcome(with_p75, "right", "HD13") == "pass"
    assert outcome(with_p75, "wrong", "HD75") == "pass"
    assert outcome(with_p75, "wrong", "HD13") == "fail"
    assert [f["message"] for f in result(with_p75, "wrong")["findings"] if f["rule"] == "HD13"] == [
        "p75 is '41 ms' in the report; the run gives 40 ms"
    ]
    assert [f["message"] for f in result(with_p75, "unit")["findings"] if f["rule"] == "HD12"] == [
        "p75 is '40', without a unit"
    ]
    assert outcome(with_p75, "absent", "HD75") == "fail"
    assert result(with_p75, "absent")["missing"] == ["p75"]
    assert "1 of 12 fields is missing: p75." in with_p75["absent in words"]["text"]


def test_its_own_report_has_p75(with_p75: dict[str, Any]) -> None:
    own = result(with_p75, "own")
    assert own["accepted"]
    assert own["fields"]["p75"]["value"] == 40
    assert own["fields"]["p75"]["found_by"] == "name"


def test_the_rule_of_p75_has_a_page(with_p75: dict[str, Any]) -> None:
    text = with_p75["page"]["text"]
    assert text.startswith("# HD75: p75 is missing from the header\n")
    assert "one request in four was slower" in text
    assert '"n/a" below 13 requests' in text
    assert "{" not in text
