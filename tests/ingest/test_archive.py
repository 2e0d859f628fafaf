"""k6 archives: real ones of several versions, and hostile tars."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.evidence import Options
from auditor.ingest.bundle import read_run
from auditor.ingest.k6.archive import (
    MAX_METADATA_BYTES,
    Archive,
    UnusableArchive,
    looks_like_metadata,
    open_tar,
    read_archive,
)
from auditor.ingest.k6.options import read_options
from auditor.ingest.sniff import sniff
from tests.builder import Run
from tests.conftest import Judge, Recorded, outcomes

SCRIPT = 'import { sleep } from "k6";\nexport default function () {\n  sleep(0.5);\n}\n'


def metadata(options: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": "js",
        "options": options,
        "filename": "file:///load/a.js",
        "env": {},
        "k6version": "2.2.0",
        **more,
    }


def tar(path: Path, *members: tuple[str, bytes], kind: bytes = tarfile.REGTYPE) -> Path:
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as out:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size, info.type = len(data), kind
            out.addfile(info, io.BytesIO(data))
    return path


def archived(path: Path, options: dict[str, Any], script: str = SCRIPT, **more: Any) -> Path:
    item = json.dumps(metadata(options, **more)).encode()
    return tar(path, ("metadata.json", item), ("data", script.encode()), ("file/load/a.js", b""))


def read(path: Path) -> Options:
    return read_archive(open_tar(path), path.name)


@pytest.mark.parametrize("version", ["1.1.0", "2.2.0"])
def test_recorded_archive_says_what_inspect_says(recorded: Recorded, version: str) -> None:
    examples = recorded("facts/k6_examples")
    found = read(examples / f"archive_v{version}.tar")
    inspected = read_options(json.loads((examples / f"inspect_seg_req_v{version}.json").read_text()), "i")
    assert (found.kind, found.consolidated, found.k6_version) == ("archive", True, version)
    assert found.scenarios == inspected.scenarios
    assert found.thresholds == inspected.thresholds
    assert not found.problems
    assert found.script is not None
    assert found.script.lines["scenarios"] == 3
    alone = json.loads((examples / f"archive_metadata_v{version}.json").read_text())
    assert read_archive(Archive(alone), "m").scenarios == found.scenarios


@pytest.mark.parametrize("version", ["1.1.0", "2.2.0"])
def test_recorded_flags_of_the_archive_command_are_mapped(recorded: Recorded, version: str) -> None:
    path = recorded(f"facts/k6_examples/archive_short_metadata_v{version}.json")
    (only,) = read_archive(Archive(json.loads(path.read_text())), "m").scenarios
    assert (only.name, only.executor, only.vus, only.duration_s) == ("default", "constant-vus", 5, Fraction(7))


def test_archives_of_others(shared: Path) -> None:
    found = sorted((shared / "real" / "k6" / "archive_metadata").glob("*.json"))
    assert found
    for path in found:
        what = sniff(path)
        assert what.kind == "archive", path
        (only,) = read_archive(what.document, path.name).scenarios
        assert (only.executor, only.iterations) == ("per-vu-iterations", 1)


def test_values_of_the_environment_are_not_kept(tmp_path: Path) -> None:
    found = read(archived(tmp_path / "a.tar", {"vus": 1, "duration": "3s"}, env={"PIN": "4711 0815", "A": "x"}))
    assert found.environment == ("A", "PIN")
    assert "4711" not in repr(found)


def test_the_segment_of_an_archive_is_explicit(tmp_path: Path, judge: Judge) -> None:
    run = Run(percent=33.33)
    folder = run.write(tmp_path / "run")
    options = json.loads(run.inspect_json()) | {"executionSegment": "1/3:2/3"}
    archived(folder / "archive.tar", options)
    generator = read_run([folder]).generators[0]
    assert generator.options is not None
    assert generator.options.kind == "inspect"
    assert [o.kind for o in generator.other_options] == ["archive"]
    from auditor.facts.plan import Plan

    shares = judge(folder).facts.get(Plan).shares
    assert shares[""].segment == (Fraction(1, 3), Fraction(2, 3))


def test_an_archive_stands_in_for_inspect(tmp_path: Path, judge: Judge) -> None:
    run = Run(inspect=False)
    folder = run.write(tmp_path / "run")
    archived(folder / "archive.tar", json.loads(run.inspect_json()))
    result = judge(folder, warmup="5s")
    assert result.verdict == "VALID", outcomes(result)
    source = next(s for s in result.evidence.sources if s.path == "archive.tar")
    assert source.format == "k6 archive"
    assert "k6 2.2.0" in source.note


def test_an_archive_of_another_test_is_a_disagreement(tmp_path: Path, judge: Judge) -> None:
    folder = Run().write(tmp_path / "run")
    archived(folder / "archive.tar", {"scenarios": {"api": Run().scenarios[0].options() | {"rate": 90}}})
    result = judge(folder, warmup="5s")
    assert outcomes(result)["EV03"] == "fail:invalid"


def test_two_archives_that_differ_are_refused(tmp_path: Path) -> None:
    from auditor.errors import AuditError

    folder = Run(inspect=False).write(tmp_path / "run")
    archived(folder / "a.tar", {"vus": 1, "duration": "3s"})
    archived(folder / "b.tar", {"vus": 2, "duration": "3s"})
    with pytest.raises(AuditError, match="two sets of options"):
        read_run([folder])


def test_compressed(tmp_path: Path) -> None:
    plain = archived(tmp_path / "a.tar", {"vus": 1, "duration": "3s"})
    (tmp_path / "a.tgz").write_bytes(gzip.compress(plain.read_bytes()))
    assert sniff(tmp_path / "a.tgz").kind == "archive"
    assert read(tmp_path / "a.tgz").scenarios == read(plain).scenarios


# --- hostile ----------------------------------------------------------------------------------------------

GOOD = json.dumps(metadata({"vus": 1, "duration": "3s"})).encode()


@pytest.mark.parametrize(
    "name", ["../metadata.json", "/metadata.json", "./metadata.json", "x/metadata.json", "metadata.json\n"]
)
def test_only_the_exact_name_counts(tmp_path: Path, name: str) -> None:
    assert sniff(tar(tmp_path / "a.tar", (name, GOOD))).kind == "other"


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, b"x", b"L"]
)
def test_links_devices_and_extension_headers_are_refused(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "a.tar"
    info = tarfile.TarInfo("metadata.json")
    info.type, info.linkname = kind, "/etc/passwd"
    path.write_bytes(info.tobuf(tarfile.USTAR_FORMAT) + bytes(1024))
    with pytest.raises(UnusableArchive):
        open_tar(path)


def test_a_size_that_lies_is_not_believed(tmp_path: Path) -> None:
    info = tarfile.TarInfo("metadata.json")
    for size in (MAX_METADATA_BYTES + 1, 8**11 - 1, 5000):
        info.size = size
        (tmp_path / "a.tar").write_bytes(info.tobuf(tarfile.USTAR_FORMAT) + GOOD)
        with pytest.raises(UnusableArchive):
            open_tar(tmp_path / "a.tar")


def test_a_bomb_behind_the_first_members_is_never_inflated(tmp_path: Path) -> None:
    plain = archived(tmp_path / "a.tar", {"vus": 1, "duration": "3s"}).read_bytes()
    info = tarfile.TarInfo("file/big")
    info.size = 300 << 20
    end = len(plain.rstrip(b"\0")) // 512 * 512 + 512
    bomb = plain[:end] + info.tobuf(tarfile.USTAR_FORMAT)
    packed = gzip.compress(bomb) + b"".join(gzip.compress(bytes(30 << 20)) for _ in range(10))
    (tmp_path / "b.tgz").write_bytes(packed)
    import tracemalloc

    tracemalloc.start()
    assert read(tmp_path / "b.tgz").scenarios
    assert tracemalloc.get_traced_memory()[1] < 200 << 20
    tracemalloc.stop()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[1]",
        b"{",
        b'{"type":"js","options":[],"filename":"x"}',
        b'{"type":"js","options":{"scenarios":7},"filename":"x"}',
        b"[" * 100_000,
        b'{"type":"js","options":' + b"[" * 100_000,
    ],
)
def test_metadata_that_is_none_stops_nothing_else(tmp_path: Path, content: bytes) -> None:
    folder = Run().write(tmp_path / "run")
    tar(folder / "a.tar", ("metadata.json", content))
    evidence = read_run([folder])
    used = {s.path for s in evidence.sources} | {i.path for i in evidence.ignored}
    assert "a.tar" in used


@settings(deadline=None)
@given(st.binary(max_size=1600))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("tar") / "a.tar"
    path.write_bytes(data)
    try:
        open_tar(path)
    except UnusableArchive:
        return


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = [
    "scenarios",
    "vus",
    "duration",
    "iterations",
    "stages",
    "rps",
    "thresholds",
    "executionSegment",
    "systemTags",
]
OWN = [
    "executor",
    "rate",
    "duration",
    "stages",
    "timeUnit",
    "startTime",
    "vus",
    "iterations",
    "maxVUs",
    "target",
]


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), values, max_size=6), values)
def test_any_options(options: dict[str, Any], env: Any) -> None:
    item = metadata(options, env=env, k6version=env)
    assert looks_like_metadata(item)
    read_archive(Archive(item), "m")


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from(OWN), values | st.sampled_from(["constant-vus", "ramping-arrival-rate"]))
)
def test_any_scenario(scenario: dict[str, Any]) -> None:
    read_archive(Archive(metadata({"scenarios": {"a": scenario}})), "m")


@pytest.mark.parametrize(
    "part", ["1e999999999:1", "0:1e9", "1/0", "9" * 5000, "-1:1", "1/3:1/3", ":", "0:1:2", "1/2/3"]
)
def test_segments_that_are_none(part: str) -> None:
    found = read_archive(Archive(metadata({"executionSegment": part})), "m")
    assert found.execution_segment is None
    assert found.problems
