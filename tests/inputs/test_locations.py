"""What names an input: patterns on disk and in fsspec's memory, what is refused, and what is never shown."""

from __future__ import annotations

import io
import os
import pickle
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
import upath

from auditor.engine.audit import audit
from auditor.engine.policy import find_config, load_policy
from auditor.engine.rule import LoadedRule
from auditor.errors import AccessRefused, AuditError
from auditor.ingest.bundle import read_run
from auditor.inputs import locations, remote
from auditor.inputs.locations import is_url, resolve, resolve_all, resolve_one
from auditor.inputs.urls import shown
from tests.builder import Run, Scenario


@pytest.fixture
def memory() -> Iterator[Any]:
    """fsspec's file system in memory, which is one for the process."""
    files = fsspec.filesystem("memory")
    files.store.clear()
    files.pseudo_dirs[:] = [""]
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]


def put(files: Any, *names: str, data: bytes = b"x") -> None:
    for name in names:
        files.pipe_file(name, data)


def upload(files: Any, folder: Path, place: str) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            files.pipe_file(f"{place}/{path.relative_to(folder)}", path.read_bytes())


def texts(found: list[Path]) -> list[str]:
    return [str(one) for one in found]


# --- on disk ---------------------------------------------------------------------------------------------


def folders(place: Path, *names: str) -> None:
    for name in names:
        (place / name).mkdir(parents=True)


def test_a_path_is_itself_whether_or_not_it_is_there(tmp_path: Path) -> None:
    assert resolve("runs/nowhere") == [Path("runs/nowhere")]
    assert resolve(str(tmp_path)) == [tmp_path]


def test_a_pattern_is_all_that_match_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders(tmp_path, "runs/gen-2", "runs/gen-1", "runs/other", "runs/.gen-3", "runs/gen-10")
    assert resolve(f"{tmp_path}/runs/gen-*") == [tmp_path / "runs" / f"gen-{n}" for n in (1, 10, 2)]
    assert resolve(f"{tmp_path}/runs/gen-?") == [tmp_path / "runs" / f"gen-{n}" for n in (1, 2)]
    assert resolve(f"{tmp_path}/r*/gen-[13]") == [tmp_path / "runs" / "gen-1"]
    assert resolve(f"{tmp_path}/runs/.gen*") == [tmp_path / "runs" / ".gen-3"]
    monkeypatch.chdir(tmp_path)
    assert texts(resolve("runs/gen-*")) == ["runs/gen-1", "runs/gen-10", "runs/gen-2"]
    assert texts(resolve("../*/runs/oth*"))[-1].endswith("/runs/other")


def test_a_name_that_is_there_is_no_pattern(tmp_path: Path) -> None:
    folders(tmp_path, "run[1]/gen-1", "run[1]/gen-2", "run1", "what?")
    assert resolve(f"{tmp_path}/run[1]") == [tmp_path / "run[1]"]
    assert resolve(f"{tmp_path}/what?") == [tmp_path / "what?"]
    assert resolve(f"{tmp_path}/run[1]/gen-*") == [tmp_path / "run[1]" / f"gen-{n}" for n in (1, 2)]


def test_a_pattern_that_matches_nothing(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match=r"gen-\*: nothing matches \(check the path"):
        resolve(f"{tmp_path}/gen-*")
    with pytest.raises(AuditError, match="nothing matches"):
        resolve(f"{tmp_path}/no-*/gen-1")


def test_one_and_all(tmp_path: Path) -> None:
    folders(tmp_path, "gen-1", "gen-2")
    assert resolve_one(f"{tmp_path}/gen-1*") == tmp_path / "gen-1"
    with pytest.raises(AuditError, match="2 match, where one is needed"):
        resolve_one(f"{tmp_path}/gen-*")
    assert resolve_all([f"{tmp_path}/gen-2", f"{tmp_path}/gen-1"]) == [tmp_path / "gen-2", tmp_path / "gen-1"]
    with pytest.raises(AuditError, match="named twice"):
        resolve_all([f"{tmp_path}/gen-1", f"{tmp_path}/gen-*"])


def test_file_urls(tmp_path: Path) -> None:
    folders(tmp_path, "my runs/gen-1", "my runs/gen-2")
    base = f"{tmp_path}".replace(" ", "%20")
    assert resolve(f"file://{base}/my%20runs") == [tmp_path / "my runs"]
    assert resolve(f"FILE://localhost{base}/my%20runs/*") == [tmp_path / "my runs" / f"gen-{n}" for n in (1, 2)]
    for wrong in ("file://host/run", "file://run"):
        with pytest.raises(AuditError, match="another host"):
            resolve(wrong)


# --- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ftp://host/run", "ftp:// is not read (use a path, or one of file, s3, s3a, gs,"),
        ("github://org:repo@main/run", "github:// is not read"),
        ("ssh://host/run", "ssh:// is not read"),
        ("zip://run/x", "zip:// is not read"),
        ("reference://x", "reference:// is not read"),
        ("simplecache::s3://bucket/run", "chained URL is not read"),
        ("zip://run::s3://bucket/all.zip", "chained URL is not read"),
        ("s3://bucket/zip::file:///etc", "chained URL is not read"),
        ("memory://a::b", "chained URL is not read"),
        ("s3://", "no host or bucket is named (write s3://name/run)"),
        ("s3:///run", "no host or bucket is named"),
        ("https:///run", "no host or bucket is named"),
        ("s3://key:secret@bucket/run", "s3://bucket/run: credentials in a URL are not read"),
        ("gs://user@bucket/run", "credentials in a URL are not read"),
        ("abfs://user:pass@account/run", "credentials in a URL are not read"),
        ("https://user:pa/ss@host/run", "https://host/run: a password in a URL holds"),
    ],
)
def test_refused_before_anything_is_asked(text: str, says: str) -> None:
    with pytest.raises(AuditError) as refused:
        resolve(text)
    assert says in str(refused.value)
    assert "secret" not in str(refused.value)
    assert "pa/ss" not in str(refused.value)


def test_a_folder_on_disk_may_look_like_a_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders(tmp_path, "a::b")
    monkeypatch.chdir(tmp_path)
    assert resolve("a::b") == [Path("a::b")]


def test_what_is_to_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "auditor.inputs.remote")
    monkeypatch.setitem(sys.modules, "upath.extensions", None)
    with pytest.raises(AuditError, match=r'pip install "k6-auditor\[distributed\]"'):
        resolve("s3://bucket/run")
    assert resolve("run") == [Path("run")]


@pytest.mark.parametrize(
    ("protocol", "package"), [("s3", "k6-auditor[distributed]"), ("gs", "gcsfs"), ("az", "adlfs")]
)
def test_what_is_to_be_installed_for_a_protocol(
    protocol: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(name: str) -> None:
        raise ImportError(f"Install the package for {name}")

    monkeypatch.setattr(upath.core, "get_filesystem_class", lacking)
    with pytest.raises(AuditError) as refused:
        resolve(f"{protocol}://bucket-of-nobody/run")
    assert f"{protocol}:// needs a package that is not installed" in str(refused.value)
    assert package in refused.value.fix


@pytest.mark.parametrize("text", ["s3://b/x.html", "s3:/b/x.html", "https://h/x", "zip::x", "file:///x"])
def test_a_url_where_only_a_path_is_taken(text: str) -> None:
    assert is_url(text)
    assert is_url(Path(text))


@pytest.mark.parametrize("text", ["x.html", "/tmp/x.html", "a:b.html", "./s3:/b", "C:/x"])
def test_a_path_is_no_url(text: str) -> None:
    assert not is_url(text)


# --- what is shown ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "as_shown"),
    [
        ("s3://bucket/run/gen-1", "s3://bucket/run/gen-1"),
        ("s3://bucket/what?", "s3://bucket/what?"),
        ("s3://AKIA:abc/d+e/f@bucket/run", "s3://bucket/run"),
        ("s3://AKIA:a@b@bucket/run", "s3://bucket/run"),
        ("ftp://me:pw@host/x", "ftp://host/x"),
        ("https://host:8443/run", "https://host:8443/run"),
        ("https://host:8443/run@2", "https://host:8443/run@2"),
        ("https://me:pw@host:8443/run", "https://host:8443/run"),
        ("https://me@host/run", "https://host/run"),
        ("https://host/k6.json.gz?X-Amz-Signature=abc&X-Amz-Credential=d", "https://host/k6.json.gz?…"),
        ("https://host/k6.json.gz?anything=abc", "https://host/k6.json.gz?…"),
        ("https://host/run#part", "https://host/run"),
        ("abfs://container@account.dfs.core.windows.net/run", "abfs://container/run"),
        ("gs://bucket/run-token=abcdefgh", "gs://bucket/run-token=[redacted-1]"),
    ],
)
def test_no_credentials_in_what_is_shown(url: str, as_shown: str) -> None:
    assert shown(url) == as_shown


class NoCredentialsError(Exception):
    pass


class EndpointConnectionError(ConnectionError):
    pass


class HttpStatus(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(f"{status} for https://me:hunter2@host/x?sig=hunter2")
        self.status = status


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (PermissionError("Forbidden"), "access was refused"),
        (HttpStatus(401), "access was refused"),
        (HttpStatus(503), "the server answered with HTTP 503"),
        (NoCredentialsError("Unable to locate credentials"), "no credentials were found"),
        (TimeoutError(), "no answer in time"),
        (EndpointConnectionError('"http://me:hunter2@host/"'), "the server cannot be reached"),
        (socket.gaierror(-2, "Name or service not known"), "the server cannot be reached"),
        (ValueError("no https://me:hunter2@host/x?sig=hunter2\nand more"), "cannot be read (ValueError: no"),
        (RuntimeError(), "cannot be read (RuntimeError)"),
    ],
)
def test_failures_are_one_line_without_secrets(
    error: Exception, says: str, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(memory, "/run/k6.json")

    def failing(*args: object, **kwargs: object) -> None:
        raise error

    (place,) = resolve("memory://run")
    monkeypatch.setattr(memory, "info", failing)
    with pytest.raises(AuditError) as told:
        (place / "k6.json").exists()
    assert str(told.value).startswith(f"memory://run/k6.json: {says}")
    assert "hunter2" not in str(told.value)
    assert "\n" not in str(told.value)
    assert told.value.__cause__ is None


# --- a place behind a URL --------------------------------------------------------------------------------


def test_a_place_has_what_reading_needs_of_a_path(memory: Any) -> None:
    put(memory, "/run/gen-1/k6.json", data=b"0123456789")
    (place,) = resolve("memory://run")
    file = place / "gen-1" / "k6.json"
    assert (place.name, file.name, file.parent.name, str(file)) == (
        "run",
        "k6.json",
        "gen-1",
        "memory://run/gen-1/k6.json",
    )
    assert (place.is_dir(), place.is_file(), file.is_dir(), file.is_file()) == (True, False, False, True)
    assert not (place / "nowhere").exists()
    assert file.stat().st_size == 10
    assert file.read_bytes() == b"0123456789"
    assert file.read_text(encoding="utf-8") == "0123456789"
    assert issubclass(type(file), upath.UPath)
    assert pickle.loads(pickle.dumps(file)) == file
    with pytest.raises(io.UnsupportedOperation):
        file.open("wb")
    with pytest.raises(AuditError, match="no such file or folder"):
        (place / "nowhere").open("rb")


@pytest.mark.parametrize("size", [0, 1, 1000, 5000])
def test_bytes_are_those_of_the_file(size: int, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks that are much smaller than the file, so that their edges are crossed."""
    monkeypatch.setattr(remote, "FIRST_BYTES", 16)
    monkeypatch.setattr(remote, "MOST_BYTES", 300)
    data = os.urandom(size)
    put(memory, "/run/file", data=data)
    file = resolve_one("memory://run/file")
    assert file.read_bytes() == data
    for buffering in (0, -1):
        with file.open("rb", buffering=buffering) as opened:
            buffer, found = bytearray(7), b""
            while n := opened.readinto(buffer):  # type: ignore[attr-defined]
                found += buffer[:n]
            assert found == data
            assert opened.read(5) == b""
            assert opened.seek(size // 2) == size // 2
            assert opened.read(4) == data[size // 2 : size // 2 + 4]
            assert opened.seek(-1 if size else 0, io.SEEK_END) == max(0, size - 1)
            assert opened.read() == data[-1:]
            assert opened.seek(0) == 0
            assert opened.read(1) == data[:1]


def test_a_fetch_is_tried_again_and_a_changed_file_is_told(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(memory, "/run/file", data=b"x" * 100)
    fetch, failures = memory.cat_file, [ConnectionResetError("reset by peer")]

    def flaky(*args: Any, **kwargs: Any) -> bytes:
        if failures:
            raise failures.pop()
        return bytes(fetch(*args, **kwargs))

    monkeypatch.setattr(memory, "cat_file", flaky)
    assert resolve_one("memory://run/file").read_bytes() == b"x" * 100
    failures += [ConnectionResetError("reset by peer")] * 2
    with pytest.raises(AuditError, match="cannot be reached"):
        resolve_one("memory://run/file").read_bytes()
    file = resolve_one("memory://run/file")
    monkeypatch.setattr(memory, "cat_file", lambda *args, **kwargs: b"x" * 50)
    with pytest.raises(AuditError, match="changed while it was read"):
        file.read_bytes()


def test_a_folder_lists_what_lies_in_it_once(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As object stores list: the empty object that stands for the folder, and a name that is file and folder."""
    put(memory, "/run/a")
    (place,) = resolve("memory://run")
    listed = [
        {"name": "/run/", "type": "file", "size": 0},
        {"name": "/run", "type": "directory", "size": 0},
        {"name": "/run/b", "type": "file", "size": 3},
        {"name": "/run/b", "type": "directory", "size": 0},
        {"name": "/run/sub/", "type": "directory", "size": 0},
        {"name": "/run/marker/", "type": "file", "size": 0},
        {"name": "/run//x", "type": "file", "size": 0},
        {"name": "/run/..", "type": "directory", "size": 0},
        {"name": "/elsewhere/c", "type": "file", "size": 0},
    ]
    monkeypatch.setattr(memory, "ls", lambda *args, **kwargs: listed)
    found = sorted(place.iterdir())
    assert [one.name for one in found] == ["b", "sub"]
    assert (found[0].is_file(), found[0].stat().st_size, found[1].is_dir()) == (True, 3, True)


def test_a_name_is_never_another_url(memory: Any) -> None:
    """`upath` alone would open the file "a" here, or go to another protocol."""
    put(memory, "/run/a", "/run/a::b")
    (place,) = resolve("memory://run")
    with pytest.raises(AuditError, match="a name with :: in it"):
        read_run([place])
    with pytest.raises(AuditError, match="a name with :: in it"):
        place / "zip::file:///etc/passwd"


def test_patterns_in_a_store(memory: Any) -> None:
    put(memory, "/runs/gen-2/k6.json", "/runs/gen-10/k6.json", "/runs/gen-1/k6.json", "/runs/other/k6.json")
    put(memory, "/runs/[1]/gen-1/k6.json", "/runs/1/gen-1/k6.json", "/runs/.gen-3/k6.json")
    base = "memory://runs"
    assert texts(resolve("memory://runs/gen-*")) == [f"{base}/gen-{n}" for n in (1, 10, 2)]
    assert texts(resolve("memory://runs/gen-*/k6*")) == [f"{base}/gen-{n}/k6.json" for n in (1, 10, 2)]
    assert texts(resolve("memory://runs/[1]/gen-*")) == [f"{base}/[1]/gen-1"]
    assert texts(resolve("memory://runs/gen-1/")) == [f"{base}/gen-1"]
    with pytest.raises(AuditError, match=r"memory://runs/no-\*: nothing matches"):
        resolve("memory://runs/no-*")
    with pytest.raises(AuditError, match="memory://runs/nowhere: no such file or folder"):
        resolve("memory://runs/nowhere")


def test_a_run_in_a_store_is_judged_as_on_disk(
    tmp_path: Path, memory: Any, rules: tuple[LoadedRule, ...]
) -> None:
    generators = [Run([Scenario(duration_s=5)]).write(tmp_path / "run" / f"gen-{n}") for n in (1, 2)]
    (tmp_path / "run" / "notes").mkdir()
    (tmp_path / "run" / "notes" / "todo.txt").write_text("nothing")
    upload(memory, tmp_path / "run", "/run")
    policy = load_policy(None, {"warmup": ("0s", "--warmup")}, rules)

    def told(targets: list[Path]) -> tuple[object, ...]:
        result = audit(read_run(targets), policy, rules)
        sources = [
            (s.path, s.sha256, s.size_bytes, s.format, s.generator, s.note) for s in result.evidence.sources
        ]
        outcomes = [(r.id, r.outcome, r.reason, [f.message for f in r.findings]) for r in result.results]
        return result.verdict, sources, result.evidence.ignored, outcomes

    assert told(resolve("memory://run")) == told([tmp_path / "run"])
    assert told(resolve("memory://run/gen-*")) == told(generators)


# --- the policy beside a run -----------------------------------------------------------------------------


def test_the_policy_is_searched_for_as_on_disk(memory: Any) -> None:
    put(memory, "/team/runs/7/k6.json")
    (place,) = resolve("memory://team/runs/7")
    assert find_config(place) is None
    put(memory, "/team/k6-audit.toml", data=b'warmup = "7s"\n')
    assert str(find_config(place)) == "memory://team/k6-audit.toml"
    assert str(find_config(place / "k6.json")) == "memory://team/k6-audit.toml"
    put(memory, "/team/runs/pyproject.toml", data=b'[tool.k6-audit]\nwarmup = "8s"\n')
    found = find_config(place)
    assert str(found) == "memory://team/runs/pyproject.toml"
    settings = {s.name: (s.value, s.source) for s in load_policy(found, {}, ()).settings}
    assert settings["warmup"] == ("8s", "memory://team/runs/pyproject.toml")


def test_the_search_ends_where_nothing_may_be_seen(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    put(memory, "/team/runs/7/k6.json")
    (place,) = resolve("memory://team/runs/7")
    look = memory.info
    refused = "/team/runs"

    def guarded(path: str, **kwargs: Any) -> Any:
        if os.path.dirname(path) == refused:
            raise PermissionError("Forbidden")
        return look(path, **kwargs)

    monkeypatch.setattr(memory, "info", guarded)
    assert find_config(place) is None
    refused = "/team/runs/7"
    with pytest.raises(AccessRefused, match="access was refused"):
        find_config(place)


def test_on_the_web_no_policy_is_searched_for(tmp_path: Path) -> None:
    place = remote.Remote.at("https://host/run")
    assert locations.policy_place(place) is None  # type: ignore[arg-type]
    assert locations.policy_place(tmp_path) == tmp_path
