"""`k6-audit convert`, end to end: one line, whole or nothing, inputs untouched, secrets kept and still masked."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from auditor.cli.convert import convert
from auditor.columnar import write as parquet
from auditor.errors import AuditError
from tests.builder import Run, Scenario
from tests.command import COMMAND, run

SECRET = "hunter22-t0psecret"


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Run(gzip=True).write(tmp_path_factory.mktemp("convert") / "healthy")


def digests(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}


def test_one_line_says_what_was_written(healthy: Path, tmp_path: Path) -> None:
    before = digests(healthy)
    done = run("convert", healthy, "-o", tmp_path / "run.parquet")
    assert (done.returncode, done.stderr) == (0, "")
    samples = sum('"Point"' in line for line in Run().lines())
    assert f"run.parquet: {samples:,} samples of k6.json.gz, " in done.stdout
    assert done.stdout.count("\n") == 1
    assert digests(healthy) == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.parquet"]
    assert (tmp_path / "run.parquet").stat().st_mode & 0o777 == 0o666 & ~current_umask()


def current_umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


def test_every_command_reads_it_in_place_of_the_points(healthy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for path in healthy.iterdir():
        if path.name != "k6.json.gz":
            (folder / path.name).write_bytes(path.read_bytes())
    assert run("convert", healthy, "-o", folder / "k6.parquet").returncode == 0
    mine, theirs = (run("lint", one, "--warmup", "5s", "--verbose") for one in (folder, healthy))
    assert mine.returncode == theirs.returncode == 0
    assert "read k6.parquet as columnar copy of k6 points (made of k6.json.gz (k6 JSON points, " in mine.stdout

    def lines(text: str) -> list[str]:
        return [x for x in text.replace("k6.parquet", "k6.json.gz").splitlines() if not x.startswith("read ")]

    assert lines(mine.stdout) == lines(theirs.stdout)
    report = run("report", folder, "--warmup", "5s", "-o", tmp_path / "report.html")
    assert (report.returncode, report.stderr.count("\n")) == (0, 1)
    assert run("lint", tmp_path / "report.html", "--run", folder).returncode == 0


def test_a_points_file_alone_and_an_earlier_copy_in_the_way(healthy: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run.parquet"
    assert run("convert", healthy / "k6.json.gz", "-o", copy).returncode == 0
    first = copy.read_bytes()
    assert "run.parquet: is there: a columnar copy (--force replaces it)" in refused(healthy, "-o", copy)
    assert run("convert", healthy, "-o", copy, "--jobs", "2", "--force").returncode == 0
    assert copy.read_bytes() == first
    pq.write_table(pa.table({"x": [1]}), copy)
    assert "is there, and not a columnar copy of k6-audit" in refused(healthy, "-o", copy, "--force")
    assert pq.read_table(copy)["x"].to_pylist() == [1]


def refused(*arguments: object, cwd: Path | None = None) -> str:
    done = run("convert", *arguments, cwd=cwd)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_what_cannot_be_converted_is_told_in_a_line(healthy: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run.parquet"
    assert "has no known suffix (use .parquet)" in refused(healthy, "-o", tmp_path / "run.json")
    assert "no such file or folder" in refused(tmp_path / "nothing", "-o", copy)
    assert "cannot be written" in refused(healthy, "-o", tmp_path / "nowhere" / "run.parquet")
    assert "a local path is needed" in refused(healthy, "-o", "s3://bucket/run.parquet")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "inspect.json").write_bytes((healthy / "inspect.json").read_bytes())
    assert "no points file found" in refused(tmp_path / "alone", "-o", copy)
    assert run("convert", healthy, "-o", copy).returncode == 0
    assert "run.parquet: already a columnar copy" in refused(copy, "-o", tmp_path / "again.parquet")


def test_several_generators_are_converted_each(tmp_path: Path) -> None:
    for name in ("gen-1", "gen-2"):
        Run(tags={"instance": name}).write(tmp_path / "run" / name)
    told = refused(tmp_path / "run", "-o", tmp_path / "run.parquet")
    assert "2 generators: gen-1, gen-2 (convert each by itself, for example " in told


def test_console_text_within_is_not_lost(tmp_path: Path) -> None:
    built = Run()
    lines = built.lines()
    mixed = "\n".join([*built.console_text().splitlines(), *lines])
    (tmp_path / "k6.json").write_text(mixed + "\n")
    told = refused(tmp_path / "k6.json", "-o", tmp_path / "run.parquet")
    assert "k6.json: it contains console text" in told


def test_an_input_is_not_written_over(tmp_path: Path) -> None:
    """Content decides what a file is, so points may have any name."""
    points = tmp_path / "k6.parquet"
    points.write_bytes(gzip.compress(("\n".join(Run().lines()) + "\n").encode()))
    before = points.read_bytes()
    link = tmp_path / "link.parquet"
    link.symlink_to(points)
    for output in (points, link, Path("k6.parquet")):
        assert "is an input, which is never replaced" in refused(points, "-o", output, "--force", cwd=tmp_path)
    assert points.read_bytes() == before


# --- whole or nothing ---------------------------------------------------------------------------------------


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    built = Run([Scenario(duration_s=60)]).write(tmp_path / "run")
    (tmp_path / "out").mkdir()
    convert(str(built), tmp_path / "out" / "run.parquet")
    older = (tmp_path / "out" / "run.parquet").read_bytes()
    done = subprocess.run(
        [str(COMMAND), "convert", str(built), "--force", "-o", str(tmp_path / "out" / "run.parquet")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )
    assert done.returncode == 2
    assert done.stderr == f"k6-audit: {tmp_path / 'out' / 'run.parquet'}: cannot be written: File too large\n"
    assert {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()} == {"run.parquet": older}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_no_room_is_told_as_such(healthy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.open
    monkeypatch.setattr(
        Path,
        "open",
        lambda self, mode="r", *a, **k: real(Path("/dev/full") if mode == "wb" else self, mode, *a, **k),
    )
    with pytest.raises(AuditError, match="cannot be written: No space left on device"):
        convert(str(healthy), tmp_path / "run.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "problem", [KeyboardInterrupt(), MemoryError(), AuditError("no")], ids=lambda p: type(p).__name__
)
def test_whatever_happens_nothing_is_left_behind(
    problem: BaseException, healthy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object) -> None:
        (written,) = tmp_path.iterdir()
        assert written.stat().st_size > 1000
        raise problem

    monkeypatch.setattr(parquet, "_check", breaks)
    with pytest.raises(type(problem)):
        convert(str(healthy), tmp_path / "run.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_copy_that_says_something_else_is_given_up(
    healthy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if pyarrow wrote one value wrongly."""
    real: Any = parquet._table

    def wrong(*arguments: Any) -> pa.Table:
        table = real(*arguments)
        values = table["value"].to_numpy().copy()
        values[-1] += 1.0
        return table.set_column(2, table.schema.field("value"), pa.array(values))

    monkeypatch.setattr(parquet, "_table", wrong)
    with pytest.raises(AuditError, match="the copy differs from the original when read back"):
        convert(str(healthy), tmp_path / "run.parquet")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_from_the_terminal(tmp_path: Path) -> None:
    folder = Run([Scenario(duration_s=120)]).write(tmp_path / "run")
    out = tmp_path / "out"
    out.mkdir()
    child = subprocess.Popen(
        [str(COMMAND), "convert", str(folder), "-o", str(out / "run.parquet")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not list(out.iterdir()) and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=60)
    assert [p.name for p in out.iterdir()] == (["run.parquet"] if child.returncode == 0 else [])
    assert "Traceback" not in told


# --- secrets --------------------------------------------------------------------------------------------------


def test_secrets_stay_in_the_copy_and_are_masked_by_who_reads_it(tmp_path: Path) -> None:
    scenario = Scenario(
        request_name=lambda i: f"https://x.example/a?token={SECRET}{i % 3}", tags={"password": SECRET}
    )
    folder = Run([scenario]).write(tmp_path / "run")
    theirs = run("lint", folder, "--warmup", "5s", "--format", "json")
    done = run("convert", folder, "-o", tmp_path / "copied.parquet")
    assert SECRET not in done.stdout + done.stderr
    tags = {
        json.loads(text)["url"]
        for text in pq.read_table(tmp_path / "copied.parquet")["tags"].to_pylist()
        if "url" in text
    }
    assert tags == {f"https://x.example/a?token={SECRET}{i}" for i in range(3)}
    (folder / "k6.json").unlink()
    (tmp_path / "copied.parquet").rename(folder / "k6.parquet")
    mine = run("lint", folder, "--warmup", "5s", "--format", "json")
    assert SECRET not in mine.stdout + mine.stderr
    one, other = (json.loads(done.stdout.replace("k6.parquet", "k6.json")) for done in (mine, theirs))
    for part in (
        "verdict",
        "header",
        "accounting",
        "scenarios",
        "rules",
        "findings",
        "notes",
        "ignored",
        "policy",
    ):
        assert one[part] == other[part], part
