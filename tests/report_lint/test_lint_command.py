"""`k6-audit lint` of a report, from the command line: recognised by content, exit codes, streams, formats."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from auditor.cli.app import app
from auditor.errors import AuditError
from tests.builder import Run, Scenario

DOCUMENTS = Path(__file__).parent / "documents"


def call(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if isinstance(result.exception, AuditError):
        return 2, str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Run([Scenario(duration_s=65)]).write(tmp_path_factory.mktemp("lint") / "run")


def test_accepted_is_0_and_not_accepted_is_1_with_the_fields_named() -> None:
    code, said = call("lint", DOCUMENTS / "good.md")
    assert code == 0
    assert "ACCEPTED" in said
    code, said = call("lint", DOCUMENTS / "bad.md")
    assert code == 1
    assert "NOT ACCEPTED" in said
    for label in ("Dropped iterations", "Test duration", "Warm-up excluded", "p99", "p99.9"):
        assert label in said
    assert call("lint", DOCUMENTS / "bad.md", "--exit-zero")[0] == 0


def test_the_name_does_not_matter(tmp_path: Path) -> None:
    shutil.copy(DOCUMENTS / "page_table.html", tmp_path / "k6.json")
    code, said = call("lint", tmp_path / "k6.json", "--format", "json")
    assert code == 1
    assert json.loads(said)["report"]["format"] == "html"
    (tmp_path / "report.html").write_text("nothing of the kind\n")
    code, said = call("lint", tmp_path / "report.html")
    assert code == 2
    assert "no evidence" in said or "evidence" in said


def test_json_and_outputs(tmp_path: Path) -> None:
    out = tmp_path / "lint.json"
    code, said = call("lint", DOCUMENTS / "good.md", "--format", "json", "--output", f"json={out}")
    assert code == 0
    assert json.loads(said) == json.loads(out.read_text())
    assert json.loads(said)["accepted"] is True
    code, said = call("lint", DOCUMENTS / "good.md", "--format", "html")
    assert code == 2
    assert "use text or json" in said


def test_beside_its_run_the_warmup_of_the_report_is_used(run: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    assert call("report", run, "--warmup", "5s", "-o", report)[0] == 0
    code, said = call("lint", report, "--run", run)
    assert code == 0, said
    code, said = call("lint", report, "--run", run, "--warmup", "20s")
    assert code == 1
    assert "HD13" in said


def test_the_runs_own_verdict_counts(run: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    assert call("report", run, "--warmup", "5s", "-o", report)[0] == 0
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    (folder / "host.csv").unlink()
    code, said = call("lint", report, "--run", folder)
    assert code == 1  # it says VALID, and its run is NOT PROVEN
    assert "NOT PROVEN" in said


def test_run_is_for_reports_only(run: Path) -> None:
    code, said = call("lint", run, "--run", run)
    assert code == 2
    assert "--run" in said
