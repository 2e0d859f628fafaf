"""The shared small cases, through the command: verdict, failing rules, figures and words of expected.json.

Each case stands for a kind of fault. The table beside the cases says what must come out and was worked out from
the definitions; `NOT_YET` lists those that do not hold, so that it can only shrink.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.command import run
from tests.conftest import shared_folder

PLACE = (shared_folder() or Path("nowhere")) / "cases"
TABLE = PLACE / "expected.json"
EXPECTED: dict[str, dict[str, Any]] = json.loads(TABLE.read_text()) if TABLE.is_file() else {}

NOT_YET = {  # case -> what is missing
    "browser_summary": "says why a trend of a summary cannot be the latency metric in other words",
    "summary_alone": "length and drops of a summary alone",
    "shared_iterations_console": "length of a run kept as totals",
    "interrupted_not_sent": "interrupted iterations are counted among the requests",
    "all_failed": "failures that no warm-up can hold",
    "p50_with_drops_from_summary": "n of percentiles from totals",
    "threshold_on_drops_in_console": "the console's THRESHOLDS block is not read",
    "setup_timed_out": "a setup time-out is not evidence",
    "console_stopped_early": "the progress line's last time is not evidence",
    "csv_with_stray_cells": "a CSV that a spreadsheet wrote again",
    "late_bursts": "late starts are not judged (SD05)",
    "recovery_tail": "recovery after a stall is not judged",
    "report_two_tables.md": "reading of report fields",
    "report_warm_vus.md": "reading of report fields",
    "report_warm_text.md": "reading of report fields",
    "report_target_vus2.md": "reading of report fields",
    "report_cpu_k6limit.md": "reading of report fields",
    "report_target_url.md": "reading of report fields",
    "report_code_above.md": "reading of report fields",
    "report_slo.md": "reading of report fields",
    "report_failed_20.md": "reading of report fields",
}


@functools.cache
def audited(name: str) -> tuple[int, str, dict[str, Any] | None]:
    """(exit code, everything that was printed on one line, the JSON result if there is one)."""
    case = EXPECTED[name]
    path = PLACE / str(case.get("path", name))
    paths = [path / one for one in case["paths"]] if "paths" in case else [path]
    words = list(case.get("args", []))
    own_policy = path.is_dir() and (path / "k6-audit.toml").exists()
    if path.is_dir() and not own_policy and "--warmup" not in words:
        words += ["--warmup", "0s"]
    where = path if own_policy else PLACE
    text = run("lint", *paths, *words, cwd=where, COLUMNS="4000", NO_COLOR="1")
    said = re.sub(r"\s+", " ", f"{text.stdout} {text.stderr}")
    assert "Traceback" not in said
    as_json = run("lint", *paths, *words, "--format", "json", cwd=where, COLUMNS="4000", NO_COLOR="1")
    assert as_json.returncode == text.returncode
    return text.returncode, said, json.loads(as_json.stdout) if as_json.stdout.startswith("{") else None


def failed_rules(result: dict[str, Any] | None) -> set[str]:
    return {r["id"] for r in (result or {}).get("rules", []) if r["outcome"] == "fail"}


def header_values(result: dict[str, Any]) -> dict[str, Any]:
    return {name: cell["value"] for name, cell in result["header"].items()}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=[pytest.mark.xfail(reason=NOT_YET[name], strict=True, raises=AssertionError)]
            if name in NOT_YET
            else [],
        )
        for name in EXPECTED
    ],
)
def test_case(name: str) -> None:
    case = EXPECTED[name]
    code, said, result = audited(name)
    assert code in case.get("exit", [code]), said
    failed = failed_rules(result)
    assert set(case.get("fails", [])) <= failed
    assert not set(case.get("not_fails", [])) & failed
    for pattern in case.get("says", []):
        assert re.search(pattern, said, re.IGNORECASE), f"does not say {pattern!r}: {said}"
    for pattern in case.get("never", []):
        assert not re.search(pattern, said, re.IGNORECASE), f"says {pattern!r}: {said}"
    for field, (value, tolerance) in case.get("header", {}).items():
        assert result is not None
        assert result["header"][field]["value"] == pytest.approx(value, abs=tolerance, rel=0), field
    if "same_as" in case:
        _, _, other = audited(case["same_as"])
        assert result is not None
        assert other is not None
        assert result["verdict"] == other["verdict"]
        assert header_values(result) == header_values(other)
        assert failed == failed_rules(other)


def test_every_case_that_does_not_hold_is_one_of_the_table(shared: Path) -> None:
    assert shared
    assert len(EXPECTED) >= 60
    assert set(NOT_YET) <= set(EXPECTED)
