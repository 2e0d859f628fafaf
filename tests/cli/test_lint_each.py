"""`lint --each`: many runs, one table, the worst exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from auditor.cli.lint_each import EachRun, worst
from auditor.engine.verdict import CommandExit
from tests.builder import Run, Scenario
from tests.command import run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A healthy run, one without a quarter of its starts, one without host metrics, a folder without a run."""
    folder = tmp_path_factory.mktemp("each")
    Run().write(folder / "healthy")
    slots = Scenario().slots_s()
    Run([Scenario(starts_s=[s for i, s in enumerate(slots) if i % 4])]).write(folder / "short")
    (Run().write(folder / "hostless") / "host.csv").unlink()
    (folder / "empty").mkdir()
    (folder / "empty" / "notes.txt").write_text("nothing was kept\n")
    return folder


def test_one_table_of_all_runs_in_their_order_and_the_worst_exit_code(runs: Path) -> None:
    done = run("lint", "--each", "healthy", "short", "hostless", "empty", "--warmup", "5s", cwd=runs)
    assert done.returncode == 2
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["run", "verdict", "exit", "root", "cause"]
    assert [row.split()[0] for row in rows] == ["healthy", "short", "hostless", "empty"]
    assert "VALID" in rows[0]
    assert "INVALID" in rows[1]
    assert " 1     SD03 " in rows[1]
    assert "NOT PROVEN" in rows[2]
    assert "not known: " in rows[2]
    assert "could not run" in rows[3]
    assert "no evidence of a k6 run" in rows[3]


def test_as_json(runs: Path) -> None:
    done = run("lint", "--each", "healthy", "hostless", "short", "--warmup", "5s", "--format", "json", cwd=runs)
    assert done.returncode == 1
    said = json.loads(done.stdout)
    assert [(one["run"], one["verdict"], one["exit_code"]) for one in said["runs"]] == [
        ("healthy", "VALID", 0),
        ("hostless", "NOT PROVEN", 3),
        ("short", "INVALID", 1),
    ]
    assert said["runs"][2]["rule"] == "SD03"
    assert said["exit_code"] == 1


def test_a_pattern_names_the_runs_and_the_table_goes_to_a_file(runs: Path, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    done = run("lint", "--each", "h*", "--warmup", "5s", "--output", f"json={path}", cwd=runs)
    assert done.returncode == 3
    assert [one["run"] for one in json.loads(path.read_text())["runs"]] == ["healthy", "hostless"]


def test_exit_zero_and_formats(runs: Path) -> None:
    assert run("lint", "--each", "empty", "--exit-zero", cwd=runs).returncode == 0
    done = run("lint", "--each", "empty", "--format", "html", cwd=runs)
    assert done.returncode == 2
    assert "not written as html" in done.stderr


@pytest.mark.parametrize(
    ("codes", "expected"), [((0, 3), 3), ((3, 1, 0), 1), ((1, 2, 3), 2), ((0, 2), 2), ((0,), 0)]
)
def test_worst(codes: tuple[int, ...], expected: int) -> None:
    assert worst([EachRun("r", "", "", CommandExit(code)) for code in codes]) == expected
