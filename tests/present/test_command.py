"""`k6-audit report` as it is installed: files, exit codes, errors in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builder import Run
from tests.command import run
from tests.present.conftest import starved


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Run().write(tmp_path_factory.mktemp("command") / "healthy")


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return starved().write(tmp_path_factory.mktemp("command") / "short")


def test_three_formats_at_once_and_lint_writes_the_same(short: Path, tmp_path: Path) -> None:
    names = ["r.html", "r.md", "r.json"]
    outputs = [part for name in names for part in ("-o", tmp_path / name)]
    done = run("report", short, "--warmup", "5s", *outputs)
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == ["INVALID"] * 3
    same = [tmp_path / f"lint.{name}" for name in names]
    kinds = ["html", "markdown", "json"]
    asked = [part for kind, path in zip(kinds, same, strict=True) for part in ("--output", f"{kind}={path}")]
    assert run("lint", short, "--warmup", "5s", *asked).returncode == 1
    for name, path in zip(names, same, strict=True):
        assert (tmp_path / name).read_bytes() == path.read_bytes()


def test_from_an_earlier_report_without_the_run(short: Path, tmp_path: Path) -> None:
    first, second, result = tmp_path / "1.html", tmp_path / "2.html", tmp_path / "2.json"
    assert run("report", short, "--warmup", "5s", "-o", first).returncode == 1
    done = run("report", "--from", first, "-o", second, "-o", result)
    assert done.returncode == 1
    assert first.read_bytes() == second.read_bytes()
    assert json.loads(result.read_text())["verdict"] == "INVALID"
    assert run("report", "--from", first, "-o", second, "--exit-zero", "--force").returncode == 0


def test_exits_as_lint_does(healthy: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    assert run("report", healthy, "--warmup", "5s", "-o", out).returncode == 0
    assert run("report", healthy, "-o", out, "--force").returncode == 3
    config = tmp_path / "policy.toml"
    config.write_text('warmup = "5s"\nfail_on = "warning"\n')
    assert run("report", healthy, "--config", config, "-o", out, "--force").returncode == 1
    assert run("report", "--from", out, "-o", tmp_path / "again.html").returncode == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["report", "-o", "r.html"], "no run given"),
        (["report", "{healthy}"], "no output file given"),
        (["report", "{healthy}", "-o", "r.pdf"], "no known suffix"),
        (["report", "{healthy}", "-o", "r.html", "-o", "r.html"], "named twice"),
        (["report", "nowhere", "-o", "r.html"], "no such file or folder"),
        (["report", "--from", "nowhere.html", "-o", "r.html"], "cannot be read"),
        (["report", "{healthy}", "--from", "x.html", "-o", "r.html"], "leave out TARGET"),
        (["report", "--from", "{damaged}", "-o", "r.html"], "damaged"),
    ],
)
def test_errors_are_one_line_and_2(arguments: list[str], says: str, healthy: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.html"
    damaged.write_text(
        '<script type="application/json" id="k6-audit-result">{"report_version":1,"result":{"verdict":1}}</script>'
    )
    done = run(*(a.format(healthy=healthy, damaged=damaged) for a in arguments), cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["damaged.html"]
