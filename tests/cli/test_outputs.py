"""No output ever replaces an input, a config, or anything but an earlier output of the same kind."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from auditor.cli import outputs
from auditor.cli.app import app
from auditor.cli.outputs import COPY, LINTED, RESULT, SIGNOFF, Output
from auditor.errors import AuditError
from tests.builder import Run, Scenario

POLICY = """warmup = "5s"
[declarations]
synthetic_data = true
rate_limiter = "token"
generator_network = "same region, private network"
git_commit = "9fceb02"
k6_version = "1.1.0"
colocated = false
"""


def call(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if isinstance(result.exception, AuditError):
        return 2, str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def state(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that may be signed off, and one output of every kind beside it."""
    place = tmp_path_factory.mktemp("outputs")
    run = Run([Scenario(duration_s=65)], gzip=True).write(place / "run")
    (run / "k6-audit.toml").write_text(POLICY)
    out = place / "earlier"
    out.mkdir()
    kinds = [f"--output={kind}={out / kind}" for kind in RESULT]
    assert call("lint", run, *kinds)[0] == 0
    shutil.copy(out / "html", out / "r.html")
    linted = [f"--output={kind}={out / f'linted-{kind}'}" for kind in LINTED]
    assert call("lint", out / "r.html", "--run", run, *linted)[0] == 0
    assert call("convert", run, "-o", out / "run.parquet")[0] == 0
    assert call("signoff", run, "--by", "Ann", "-o", out / "signoff")[0] == 0
    return place


@pytest.fixture
def place(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "it"))


KINDS = {
    **{name: (name, RESULT) for name in RESULT},
    **{f"linted-{name}": (name, LINTED) for name in LINTED},
    "run.parquet": ("parquet", COPY),
    "signoff": ("sign-off", SIGNOFF),
}


@pytest.mark.parametrize("name", KINDS)
def test_an_earlier_output_is_told_by_its_content(name: str, original: Path, tmp_path: Path) -> None:
    """Of each kind only its own is replaced, and that only with --force; whatever its name."""
    kind, kinds = KINDS[name]
    for other in KINDS:
        file = tmp_path / "file"
        shutil.copy(original / "earlier" / other, file)
        with pytest.raises(AuditError, match="is there: " if other == name else "is there, and not"):
            outputs.refuse_overwriting([Output(kind, file)], kinds, force=False)
        if other == name:
            outputs.refuse_overwriting([Output(kind, file)], kinds, force=True)
        else:
            with pytest.raises(AuditError, match="is there, and not"):
                outputs.refuse_overwriting([Output(kind, file)], kinds, force=True)
    for path in (original / "run").iterdir():
        with pytest.raises(AuditError, match="is there, and not"):
            outputs.refuse_overwriting([Output(kind, path)], kinds, force=True)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(AuditError, match="is there, and not"):
        outputs.refuse_overwriting([Output(kind, tmp_path / "file")], kinds, force=True)


def spellings(file: Path, place: Path) -> list[Path]:
    """One file under other names."""
    (place / "soft").symlink_to(file)
    os.link(file, place / "hard")
    (place / "loop").symlink_to(file.parent, target_is_directory=True)
    return [
        file,
        file.parent / "." / file.name,
        file.parent / ".." / file.parent.name / file.name,
        place / "soft",
        place / "hard",
        place / "loop" / file.name,
    ]


@pytest.mark.parametrize("name", ["k6.json.gz", "inspect.json", "k6-audit.toml", "host.csv", "exit_code"])
def test_nothing_of_the_run_is_replaced_by_a_signoff(name: str, place: Path) -> None:
    for output in spellings(place / "run" / name, place):
        before = state(place)
        code, said = call("signoff", place / "run", "--by", "Ann", "-o", output, "--force")
        assert code == 2, output
        assert said.startswith(f"{output}: is there, and not a sign-off of k6-audit"), said
        assert "\n" not in said
        assert state(place) == before


@pytest.mark.parametrize(
    ("command", "kind"),
    [(["lint"], "--output=json={}"), (["lint"], "--output=text={}"), (["signoff", "--by", "A"], "--output={}")],
)
def test_nothing_of_the_run_is_replaced_by_any_command(command: list[str], kind: str, place: Path) -> None:
    for name in ("k6.json.gz", "k6-audit.toml", "inspect.json"):
        before = state(place)
        code, said = call(*command, place / "run", kind.format(place / "run" / name), "--force")
        assert code == 2
        assert "is there, and not" in said
        assert state(place) == before


def test_the_report_that_is_read_is_an_input(place: Path) -> None:
    report, run = place / "earlier" / "r.html", place / "run"
    again = [*spellings(report, place)]
    for output in again:
        before = state(place)
        if output.suffix == ".html":
            code, said = call("report", "--from", report, "-o", output, "--force")
            assert (code, "is an input, which is never replaced" in said) == (2, True), said
        code, said = call("signoff", run, "--by", "Ann", "--report", report, "-o", output, "--force")
        assert (code, "is an input, which is never replaced" in said) == (2, True), said
        assert state(place) == before
    result = place / "earlier" / "json"
    code, said = call("lint", result, "--output", f"json={result}", "--force")
    assert (code, "is an input" in said) == (2, True), said


def test_a_copy_that_the_run_is_read_from_is_an_input(place: Path) -> None:
    """It is an earlier output of the same kind, and evidence."""
    shutil.copy(place / "earlier" / "run.parquet", place / "run" / "k6.parquet")
    (place / "run" / "k6.json.gz").unlink()
    for output in spellings(place / "run" / "k6.parquet", place):
        if output.suffix != ".parquet":
            continue
        before = state(place)
        code, said = call("convert", place / "run", "-o", output, "--force")
        assert code == 2, said
        assert "is an input" in said or "already a columnar copy" in said
        assert state(place) == before


def test_an_earlier_output_is_replaced_with_force_alone(place: Path) -> None:
    run = place / "run"
    for command, output in (
        (["lint", run, "--output"], f"json={place / 'earlier' / 'json'}"),
        (["lint", place / "earlier" / "r.html", "--output"], f"json={place / 'earlier' / 'linted-json'}"),
        (["report", run, "-o"], place / "earlier" / "r.html"),
        (["convert", run, "-o"], place / "earlier" / "run.parquet"),
        (["signoff", run, "--by", "Ben", "-o"], place / "earlier" / "signoff"),
    ):
        before = state(place)
        code, said = call(*command, output)
        assert code == 2, said
        assert "(--force replaces it)" in said
        assert state(place) == before
        code, said = call(*command, output, "--force")
        assert code == 0, said
    assert json.loads((place / "earlier" / "signoff").read_text())["predicate"]["signedBy"] == "Ben"
    assert json.loads((place / "earlier" / "json").read_text())["verdict"] == "VALID"


def test_one_refused_output_keeps_all_from_being_written(place: Path) -> None:
    before = state(place)
    code, _ = call("report", place / "run", "-o", place / "new.md", "-o", place / "earlier" / "r.html")
    assert code == 2
    assert state(place) == before


def test_a_link_stays_a_link(place: Path) -> None:
    link = place / "latest.html"
    link.symlink_to(place / "earlier" / "r.html")
    assert call("report", place / "run", "-o", link, "--force")[0] == 0
    assert link.is_symlink()
    assert "k6-audit-verdict" in (place / "earlier" / "r.html").read_text()


@pytest.mark.parametrize("other", ["./r.html", "r.html", "sub/../r.html"])
def test_one_file_is_not_named_twice(other: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "sub").mkdir()
    monkeypatch.chdir(place)
    code, said = call("report", place / "run", "-o", "r.html", "-o", other)
    assert (code, "named twice" in said) == (2, True)
    assert not (place / "r.html").exists()


def test_folders_and_devices_are_no_outputs(place: Path) -> None:
    for path, says in ((place / "run", "is a folder"), (Path("/dev/null"), "not a regular file")):
        code, said = call("lint", place / "run", "--output", f"json={path}", "--force")
        assert (code, says in said) == (2, True), said
    assert Path("/dev/null").is_char_device()
