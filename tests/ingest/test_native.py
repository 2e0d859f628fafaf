"""Where compiled code is kept, and that a file reads the same wherever it cannot be had."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from auditor.evidence import Declared, Evidence
from auditor.facts.samples import Samples
from auditor.facts.store import FactStore
from auditor.ingest.bundle import read_run
from auditor.ingest.k6 import native, points_json
from auditor.samples.workers import Threads, Workers
from tests.builder import Run, Scenario

pytest.importorskip("numba")

ROOT = Path(__file__).parents[2]
READ = """
import hashlib, os, sys
from pathlib import Path
from auditor.ingest.k6 import native
{before}
from auditor.evidence import ReadReport
from auditor.ingest.k6.points_json import JsonPoints
source = JsonPoints(Path(sys.argv[1]), "x", fast=True)
source._scanner = {use!r}
(part,) = source.parts(1)
found = []
for batch in part.batches():
    for metric, at, value, tags in zip(batch.metric, batch.time_ns, batch.value, batch.tagset):
        found.append((part.tables.metrics[metric], int(at), float(value).hex(), part.tables.tagsets[tags]))
print(hashlib.sha256(repr(sorted(found)).encode()).hexdigest(), len(found))
print(part._scanner is not None, "numba" in sys.modules)
print(ReadReport.of([part.report()]).plain_because)
"""


class Read(NamedTuple):
    samples: str
    """A digest of all samples, and how many there are."""
    by_scanner: bool
    numba_loaded: bool
    plain_because: str


def start(path: Path, before: str = "", use: str = "made", **environment: str | None) -> subprocess.Popen[str]:
    env = {**os.environ, **environment}
    return subprocess.Popen(
        [sys.executable, "-c", READ.format(before=before, use=use), str(path)],
        env={name: value for name, value in env.items() if value is not None},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> Read:
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    samples, flags, why = said.split("\n")[:3]
    by_scanner, numba_loaded = (flag == "True" for flag in flags.split())
    return Read(samples, by_scanner, numba_loaded, why)


def read(
    path: Path, cache: Path | None, before: str = "", use: str = "made", **environment: str | None
) -> Read:
    place = None if cache is None else str(cache)
    return finish(start(path, before, use, K6_AUDIT_CACHE_DIR=place, **environment))


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "k6.json"
    path.write_text("\n".join(Run([Scenario(duration_s=2)]).lines()) + "\n")
    return path


@pytest.fixture(scope="module")
def plain(points: Path) -> str:
    """What the plain reader says, which is the reference."""
    found = read(points, None, use="none")
    assert (found.by_scanner, found.plain_because) == (False, "")  # it was not asked to be fast
    assert not found.samples.endswith(" 0")
    return found.samples


@pytest.fixture(scope="module")
def made(points: Path, plain: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with compiled code, made the first time somebody asked for it."""
    cache = tmp_path_factory.mktemp("made") / "cache"
    assert read(points, cache) == Read(plain, True, True, "")
    (kept,) = cache.iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    return cache


@pytest.fixture
def cache(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "cache")


def kept_in(cache: Path) -> Path:
    (kept,) = cache.glob("scan-*.o")
    return kept


def compiles_at_once(made: Path, then: str = "pass") -> str:
    """In place of numba, the code that it made before, which saves these tests some seconds each."""
    return f"""
import types
def compiled():
    {then}
    return Path({str(kept_in(made))!r}).read_bytes()[32:]
sys.modules["auditor.ingest.k6.scan_kernel"] = types.SimpleNamespace(compiled=compiled)
"""


FAILS = (
    'import types; sys.modules["auditor.ingest.k6.scan_kernel"] = types.SimpleNamespace(compiled=lambda: 1 / 0)'
)


@pytest.mark.parametrize("use", ["made", "kept"])
def test_what_was_made_is_loaded_without_numba(points: Path, plain: str, made: Path, use: str) -> None:
    assert read(points, made, use=use) == Read(plain, True, False, "")


@pytest.mark.parametrize(
    ("before", "why"),
    [
        ("sys.modules['llvmlite'] = None", "numba is not installed"),
        (
            "def none(name): raise native.metadata.PackageNotFoundError(name)\nnative.metadata.version = none",
            "numba is not installed",
        ),
        ("sys.byteorder = 'big'", "this machine is big-endian"),
        (
            "import llvmlite.binding\ndef no(): raise OSError('no such library')\n"
            "native.metadata.version = lambda name: no()",
            "numba cannot be used here (OSError: no such library)",
        ),
    ],
)
def test_without_its_libraries_the_plain_reader_serves(
    points: Path, plain: str, made: Path, before: str, why: str
) -> None:
    assert read(points, made, before) == Read(plain, False, False, why)


def test_numba_that_does_not_import_or_compile(points: Path, plain: str, tmp_path: Path) -> None:
    found = read(points, tmp_path / "empty", "sys.modules['numba'] = None")
    assert found[:2] == (plain, False)
    assert found.plain_because == "numba is not installed"
    found = read(points, tmp_path / "empty", FAILS)
    assert found[:2] == (plain, False)
    assert found.plain_because == "numba cannot be used here (ZeroDivisionError: division by zero)"


def test_code_of_another_numba_is_not_used(points: Path, plain: str, made: Path, cache: Path) -> None:
    other = "native.metadata.version = lambda name: '9.9.9'\n"
    found = read(points, cache, other, use="kept")
    assert found[:2] == (plain, False)
    assert "has not been compiled yet" in found.plain_because
    assert read(points, cache, other + compiles_at_once(made)) == Read(plain, True, False, "")
    assert len(list(cache.glob("scan-*.o"))) == 2
    assert read(points, cache, FAILS) == Read(plain, True, False, "")  # the first one's is there still


@pytest.mark.parametrize("damage", ["cut off", "a byte", "empty", "of another name", "text"])
def test_damaged_code_is_made_anew(points: Path, plain: str, made: Path, cache: Path, damage: str) -> None:
    kept = kept_in(cache)
    whole = bytearray(kept.read_bytes())
    other = "import llvmlite; llvmlite.__version__ = '9.9.9'\n" if damage == "of another name" else ""
    match damage:
        case "cut off":
            del whole[-100:]
        case "a byte":
            whole[len(whole) // 2] ^= 1
        case "empty":
            whole.clear()
        case "text":
            whole[:] = b"not code\n" * 1000
        case _:
            assert read(points, cache, other + compiles_at_once(made)).by_scanner
            (new,) = set(cache.glob("scan-*.o")) - {kept}
            kept = new  # gets whole code, and its digest, under the name of other code
    kept.write_bytes(whole)
    found = read(points, cache, other, use="kept")
    assert found[:2] == (plain, False)
    assert "has not been compiled yet" in found.plain_because
    assert read(points, cache, other + compiles_at_once(made)) == Read(plain, True, False, "")
    assert read(points, cache, other, use="kept") == Read(plain, True, False, "")


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_code_that_others_may_have_written_is_not_used(
    points: Path, plain: str, made: Path, cache: Path, mode: int
) -> None:
    kept_in(cache).chmod(mode)
    assert read(points, cache, use="kept")[:2] == (plain, False)
    assert read(points, cache, compiles_at_once(made)) == Read(plain, True, False, "")
    assert kept_in(cache).stat().st_mode & 0o077 == 0


def test_code_of_another_user_is_not_used(points: Path, plain: str, cache: Path) -> None:
    try:
        os.chown(kept_in(cache), os.getuid() + 12345, -1)
    except PermissionError:
        pytest.skip("only root gives files away")
    assert read(points, cache, use="kept")[:2] == (plain, False)


def test_where_nothing_can_be_kept_the_plain_reader_serves(points: Path, plain: str, tmp_path: Path) -> None:
    """Else every run would compile for some seconds. Root writes everywhere but through a file."""
    (tmp_path / "file").write_text("in the place of a folder")
    beside = f"native._BESIDE = Path({str(tmp_path / 'file' / 'cache')!r})\n"
    no_home = "import pwd\ndef nobody(uid): raise KeyError(uid)\npwd.getpwuid = nobody\n"
    for found in (
        read(points, tmp_path / "file", FAILS),
        read(points, None, beside + FAILS, HOME=str(tmp_path / "file"), XDG_CACHE_HOME=None),
        read(points, None, beside + no_home + FAILS, HOME=None, XDG_CACHE_HOME=None),
        read(points, None, beside + FAILS, XDG_CACHE_HOME="relative"),
    ):
        assert found[:2] == (plain, False)
        assert (
            found.plain_because == "no folder where compiled code can be kept: name one in K6_AUDIT_CACHE_DIR"
        )


def test_a_package_that_cannot_be_written_beside_a_home_that_can(
    points: Path, plain: str, made: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the place of a folder")
    before = f"native._BESIDE = Path({str(tmp_path / 'file')!r})\n" + compiles_at_once(made)
    home = tmp_path / "home"
    assert read(points, None, before, HOME=str(home), XDG_CACHE_HOME=None) == Read(plain, True, False, "")
    assert kept_in(home / ".cache" / "k6-audit").stat().st_mode & 0o077 == 0


def test_a_full_disk_costs_the_next_run_and_not_this_one(
    points: Path, plain: str, made: Path, tmp_path: Path
) -> None:
    full = "def full(*paths): raise OSError(28, 'No space left on device')\nos.replace = full\n"
    assert read(points, tmp_path / "cache", full + compiles_at_once(made)) == Read(plain, True, False, "")
    assert list((tmp_path / "cache").iterdir()) == []


def test_two_processes_at_once(points: Path, plain: str, made: Path, tmp_path: Path) -> None:
    """Both find nothing, both compile, each keeps what it made; one after them finds one whole file."""
    at = tmp_path / "at"
    at.mkdir()
    wait = (
        f"import time; place = Path({str(at)!r}); (place / str(os.getpid())).touch()\n"
        "    while len(list(place.iterdir())) < 2: time.sleep(0.01)"
    )
    cache = tmp_path / "cache"
    both = [start(points, compiles_at_once(made, wait), K6_AUDIT_CACHE_DIR=str(cache)) for _ in range(2)]
    assert [finish(one) for one in both] == [Read(plain, True, False, "")] * 2
    assert [path.name for path in cache.iterdir()] == [kept_in(made).name]
    assert read(points, cache, use="kept") == Read(plain, True, False, "")


def test_the_facts_say_why_the_plain_reader_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Run([Scenario(duration_s=2)]).write(tmp_path / "run")

    def note() -> str:
        given = {Evidence: read_run([folder]), Declared: Declared(), Workers: Threads(1)}
        return FactStore(given).get(Samples).plain_reader_note

    def absent(names: tuple[str, ...], *, make: bool) -> None:
        raise native.Unavailable("numba is not installed")

    monkeypatch.setattr(native, "load", absent)
    assert note() == ""  # a small file is read plainly as it is
    monkeypatch.setattr(points_json, "FAST_FROM_BYTES", 1)
    assert note() == "plain reader for k6.json: numba is not installed"
