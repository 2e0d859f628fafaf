"""Runs in a bucket and behind a web server: the same words as of the folder on disk, and errors of one line.

Both servers run in this process, on loopback. By nature different is the ``target`` of a result, and nothing else.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import boto3
import pytest
from fsspec.implementations.http import HTTPFileSystem
from moto.server import ThreadedMotoServer
from s3fs import S3FileSystem

from auditor.errors import AuditError
from auditor.ingest.bundle import names_of
from auditor.inputs import remote
from auditor.inputs.locations import resolve
from tests import command
from tests.conftest import ROOT

SAMPLES = ROOT / "sample_runs"
DECLARED = ("--config", str(SAMPLES / "declarations.toml"))
PASSWORD, SIGNATURE = "hunter2-hunter2", "feedbeefcafe"


def run(
    *arguments: object, cwd: Path | None = None, without: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """As a process that has seen no server yet."""
    for known in (HTTPFileSystem, S3FileSystem):
        known.clear_instance_cache()
    return command.run(*arguments, cwd=cwd, without=without, **environment)


@pytest.fixture(scope="module")
def _alone() -> Iterator[pytest.MonkeyPatch]:
    """No account, settings or proxy of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("AWS_", "FSSPEC_")) or name.lower().endswith("_proxy"):
                patch.delenv(name)
        for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            patch.setenv(name, os.devnull)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        yield patch


def upload(client: Any, folder: Path, prefix: str) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            key = f"{prefix}/{path.relative_to(folder)}"
            client.put_object(Bucket="runs", Key=key, Body=path.read_bytes())


@pytest.fixture(scope="module")
def bucket(_alone: pytest.MonkeyPatch) -> Iterator[Any]:
    """A bucket with two sample runs and the empty objects that some tools make for folders."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        _alone.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        client = boto3.client("s3")
        client.create_bucket(Bucket="runs")
        for name in ("open_healthy", "distributed_3"):
            upload(client, SAMPLES / name, name)
        for marker in ("open_healthy/", "distributed_3/", "distributed_3/gen-1/", "empty/"):
            client.put_object(Bucket="runs", Key=marker, Body=b"")
        yield client
    finally:
        server.stop()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def copyfile(self, source: Any, outputfile: Any) -> None:
        with contextlib.suppress(ConnectionError):  # whoever has seen enough of a file goes away
            super().copyfile(source, outputfile)


@contextlib.contextmanager
def serving(handler: type[_Quiet], folder: Path) -> Iterator[str]:
    """A folder behind a web server on loopback: its host and port."""
    made = functools.partial(handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), made) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def web(_alone: pytest.MonkeyPatch) -> Iterator[str]:
    """The sample runs behind a server that lists folders and knows no ranges."""
    with serving(_Quiet, SAMPLES) as place:
        yield place


@pytest.fixture(scope="module")
def closed_port(_alone: pytest.MonkeyPatch) -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def result(*arguments: object, target: str) -> dict[str, Any]:
    """The result of lint, without its target, which is checked."""
    done = run("lint", *arguments, "--warmup", "5s", "--format", "json")
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    assert found.pop("target") == target
    return found


@functools.cache
def on_disk(*names: str) -> dict[str, Any]:
    folders = [SAMPLES / name for name in names]
    return result(*folders, target=", ".join(folder.name for folder in folders))


def one_line(done: subprocess.CompletedProcess[str], *says: str) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stderr
    for words in says:
        assert words in done.stderr


GENERATORS = tuple(f"distributed_3/gen-{n}" for n in (1, 2, 3))


# --- a bucket --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["open_healthy", "distributed_3"])
def test_a_run_in_a_bucket_is_judged_as_on_disk(name: str, bucket: Any) -> None:
    assert result(f"s3://runs/{name}", target=f"s3://runs/{name}") == on_disk(name)


def test_a_pattern_names_the_generators_of_one_run(bucket: Any) -> None:
    expected = on_disk(*GENERATORS)
    assert expected["sources"][0]["generator"] == "gen-1"
    assert (
        result("s3://runs/distributed_3/gen-*", target=", ".join(f"s3://runs/{g}" for g in GENERATORS))
        == expected
    )
    local = [SAMPLES / one for one in GENERATORS]
    assert result(SAMPLES / "distributed_3" / "gen-*", target=", ".join(one.name for one in local)) == expected
    with_host = result(
        "s3://runs/distributed_3/gen-*",
        "--host",
        "s3://runs/distributed_3/*.csv",
        target=", ".join(f"s3://runs/{g}" for g in GENERATORS),
    )
    assert [s["path"] for s in with_host["sources"] if not s["generator"]] == ["host.csv"]


IN_SMALL_CHUNKS = """
from auditor.inputs import points_file
points_file.CHUNK_BYTES = 700_000
from auditor.cli.app import main
main()
"""


def test_a_cluster_reads_a_run_in_a_bucket_and_judges_it_as_one_machine_does(
    bucket: Any, tmp_path: Path
) -> None:
    """JSON in many ranges, and the compressed files of several generators; local paths as well."""
    from tests.dask_cluster import cluster

    plain = tmp_path / "plain"
    shutil.copytree(SAMPLES / "open_healthy", plain)
    (plain / "k6.json").write_bytes(gzip.decompress((plain / "k6.json.gz").read_bytes()))
    (plain / "k6.json.gz").unlink()
    upload(bucket, plain, "plain")
    here = run("lint", plain, "--warmup", "5s", "--format", "json").stdout
    with cluster(tmp_path / "dask") as dask:
        how = ("--warmup", "5s", "--format", "json", "--scheduler", dask.address)
        for target in (str(plain), "s3://runs/plain"):
            done = subprocess.run(
                [sys.executable, "-c", IN_SMALL_CHUNKS, "lint", target, *how],
                capture_output=True,
                text=True,
                cwd=ROOT,
                timeout=120,
                check=False,
            )
            assert done.stderr == ""
            assert done.stdout.replace(target, "plain", 1) == here
        on_three = run("lint", "s3://runs/distributed_3", *how)
        expected = run("lint", SAMPLES / "distributed_3", *how[:4]).stdout
        assert on_three.stdout.replace("s3://runs/", "", 1) == expected


def test_a_report_and_a_signoff_of_a_run_in_a_bucket(bucket: Any, tmp_path: Path) -> None:
    report, signoff, copy = tmp_path / "report.html", tmp_path / "signoff.json", tmp_path / "of_disk.json"
    upload(bucket, SAMPLES / "open_healthy", "signed")
    url = "s3://runs/signed"
    assert run("report", url, *DECLARED, "-o", report).returncode == 0
    assert run("lint", report, "--run", url, *DECLARED).returncode == 0
    bucket.put_object(Bucket="runs", Key="pages/report.html", Body=report.read_bytes())
    page = "s3://runs/pages/report.html"
    done = run("lint", page, "--run", url, *DECLARED)
    assert (done.returncode, done.stderr) == (0, "")
    assert "ACCEPTED   report.html has every field" in done.stdout

    assert run("signoff", url, *DECLARED, "--by", "Ada", "--report", page, "-o", signoff).returncode == 0
    for run_at, page_at in ((url, page), (SAMPLES / "open_healthy", report)):
        done = run("verify", signoff, "--run", run_at, "--report", page_at, *DECLARED)
        assert (done.returncode, done.stderr) == (0, "")
        assert "VERIFIED" in done.stdout
    folder = SAMPLES / "open_healthy"
    assert run("signoff", folder, *DECLARED, "--by", "Ada", "--report", report, "-o", copy).returncode == 0

    def timeless(path: Path) -> Any:
        statement = json.loads(path.read_text())
        del statement["predicate"]["time"], statement["predicate"]["statementDigest"]
        return statement

    assert timeless(signoff) == timeless(copy)

    bucket.put_object(Bucket="runs", Key="signed/exit_code", Body=b"99\n")
    done = run("verify", signoff, "--run", url, "--report", page, *DECLARED)
    assert done.returncode == 1
    assert "input exit_code: changed: other bytes than were signed" in done.stdout
    # A run that can no longer be audited is compared file by file.
    bucket.put_object(Bucket="runs", Key="signed/exit_code_2", Body=b"0\n")
    bucket.delete_object(Bucket="runs", Key="signed/log.txt")
    done = run("verify", signoff, "--run", url, "--report", page, *DECLARED)
    assert done.returncode == 1
    assert "run: it cannot be audited: two exit codes that differ" in done.stdout
    assert "input exit_code: changed" in done.stdout
    assert "input log.txt: missing" in done.stdout
    assert done.stdout.count("\n  input ") == 2
    one_line(run("verify", signoff, "--run", "s3://runs/nowhere", *DECLARED), "s3://runs/nowhere: no such file")


def test_the_policy_beside_a_run_in_a_bucket(bucket: Any, tmp_path: Path) -> None:
    upload(bucket, SAMPLES / "open_healthy", "team/2026/run")
    bucket.put_object(Bucket="runs", Key="team/k6-audit.toml", Body=b'warmup = "7s"\n')
    done = run("lint", "s3://runs/team/2026/run", "--format", "json", cwd=tmp_path)
    settings = {s["name"]: s for s in json.loads(done.stdout)["policy"]["settings"]}
    assert (settings["warmup"]["value"], settings["warmup"]["source"]) == ("7s", "s3://runs/team/k6-audit.toml")
    shown = run("config", "show", "s3://runs/team/2026/run", cwd=tmp_path)
    assert shown.stdout.startswith("config: s3://runs/team/k6-audit.toml\n")


def test_a_copy_of_a_run_in_a_bucket(bucket: Any, tmp_path: Path) -> None:
    of_bucket, of_disk = tmp_path / "bucket.parquet", tmp_path / "disk.parquet"
    assert run("convert", "s3://runs/open_healthy", "-o", of_bucket).returncode == 0
    assert run("convert", SAMPLES / "open_healthy", "-o", of_disk).returncode == 0
    assert of_bucket.read_bytes() == of_disk.read_bytes()
    upload(bucket, SAMPLES / "open_healthy", "copied")
    bucket.delete_object(Bucket="runs", Key="copied/k6.json.gz")
    bucket.put_object(Bucket="runs", Key="copied/run.parquet", Body=of_bucket.read_bytes())
    found = result("s3://runs/copied", target="s3://runs/copied")
    assert (found["verdict"], found["header"]) == ("VALID", on_disk("open_healthy")["header"])


# --- what goes wrong -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("s3://runs/nowhere", "s3://runs/nowhere: no such file or folder"),
        ("s3://runs/open_healthy/k6.json.gz/nowhere", "no such file or folder"),
        ("s3://runs/open", "s3://runs/open: no such file or folder"),  # a prefix of a name is none
        ("s3://no-such-bucket/run", "s3://no-such-bucket/run: no such bucket (check its name"),
        ("s3://no-such-bucket", "s3://no-such-bucket: no such bucket"),
        ("s3://runs/gen-*", "s3://runs/gen-*: nothing matches"),
        ("s3://runs/empty", "s3://runs/empty: no evidence of a k6 run was found"),
        ("s3://not a bucket/run", "cannot be read"),
    ],
)
def test_what_is_not_there(url: str, says: str, bucket: Any) -> None:
    one_line(run("lint", url), says)


def test_a_server_that_cannot_be_reached(closed_port: int, bucket: Any) -> None:
    began = time.monotonic()
    one_line(
        run("lint", "s3://runs/open_healthy", AWS_ENDPOINT_URL=f"http://127.0.0.1:{closed_port}"),
        "s3://runs/open_healthy: the server cannot be reached",
        "(check the address and the network)",
    )
    one_line(run("lint", f"http://127.0.0.1:{closed_port}/run"), "the server cannot be reached")
    assert time.monotonic() - began < 30


def test_a_server_that_does_not_answer(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "ANSWER_S", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(50)
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{place}")
        for url in ("s3://runs/open_healthy", f"http://{place}/run"):
            began = time.monotonic()
            with pytest.raises(AuditError, match="no answer in time"):
                resolve(url)
            assert time.monotonic() - began < 20


def test_credentials_that_are_missing_or_refused(bucket: Any) -> None:
    keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    one_line(
        run("lint", "s3://runs/open_healthy", without=keys),
        "no credentials were found (set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)",
    )
    # fsspec reads its variables when it is imported.
    anonymous = command.process("lint", "s3://runs/open_healthy", without=keys, FSSPEC_S3_ANON="true")
    one_line(anonymous, "access was refused")
    one_line(
        run("lint", "s3://runs/open_healthy", without=keys, AWS_PROFILE="nobody"), "no credentials were found"
    )


@pytest.mark.parametrize(
    "url",
    [
        f"s3://AKIAIOSFODNN7EXAMPLE:{PASSWORD}/{PASSWORD}@runs/open_healthy",
        f"simplecache::s3://ada:{PASSWORD}@runs/open_healthy",
        f"ftp://ada:{PASSWORD}@host/run",
        f"https://ada:{PASSWORD}/x@host/run",
        f"http://ada:{PASSWORD}@127.0.0.1:{{closed_port}}/run?X-Amz-Signature={SIGNATURE}",
        f"http://ada:{PASSWORD}@{{web}}/nowhere?X-Amz-Signature={SIGNATURE}",
        f"http://ada:{PASSWORD}@127.0.0.1:x/run?X-Amz-Signature={SIGNATURE}",
    ],
)
def test_no_error_shows_credentials(url: str, web: str, closed_port: int) -> None:
    done = run("lint", url.format(web=web, closed_port=closed_port))
    one_line(done)
    assert PASSWORD not in done.stderr
    assert SIGNATURE not in done.stderr


def test_no_traceback_shows_credentials(web: str) -> None:
    done = run("lint", f"http://ada:{PASSWORD}@{web}/nowhere?X-Amz-Signature={SIGNATURE}", "--debug")
    assert "AuditError" in done.stderr
    assert PASSWORD not in done.stderr
    assert SIGNATURE not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "{run}", "-o", f"s3://ada:{PASSWORD}@runs/report.html"),
        ("signoff", "{run}", "--by", "Ada", "-o", f"s3://ada:{PASSWORD}@runs/signoff.json"),
        ("lint", "{run}", "--output", f"json=s3://ada:{PASSWORD}@runs/result.json"),
        ("lint", "{run}", "--config", "s3://runs/k6-audit.toml"),
        ("lint", "{run}", "--rules", "https://host/rules"),
        ("rule", "--all", "--rules", "https://host/rules"),
    ],
)
def test_outputs_policies_and_rules_are_on_disk(arguments: tuple[str, ...]) -> None:
    done = run(*(a.format(run=SAMPLES / "open_healthy") for a in arguments))
    one_line(done, "a URL, where a local path is needed")
    assert PASSWORD not in done.stderr


# --- a web server ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["open_healthy", "distributed_3/"])
def test_a_run_behind_a_web_server_is_judged_as_on_disk(name: str, web: str) -> None:
    found = result(f"http://{web}/{name}", target=f"http://{web}/{name}".rstrip("/"))
    assert found == on_disk(name.rstrip("/"))


def test_a_pattern_on_a_web_server(web: str) -> None:
    found = result(
        f"http://{web}/distributed_3/gen-*", target=", ".join(f"http://{web}/{g}" for g in GENERATORS)
    )
    assert found == on_disk(*GENERATORS)


class _Ranges(_Quiet):
    """Knows one kind of range, from a place to the end, and notes what it was asked."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        wanted = self.headers.get("Range", "")
        self.asked.append(wanted)
        data = Path(self.translate_path(self.path)).read_bytes()
        if wanted:
            data = data[int(wanted.removeprefix("bytes=").removesuffix("-")) :]
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(data)


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize("handler", [_Quiet, _Ranges])
def test_any_place_of_a_file_on_a_web_server(
    handler: type[_Quiet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "FIRST_BYTES", 1000)
    monkeypatch.setattr(_Ranges, "asked", [])
    data = os.urandom(300_000)
    (tmp_path / "file").write_bytes(data)
    with serving(handler, tmp_path) as place, resolve(f"http://{place}/file")[0].open("rb") as file:
        for at in (0, 250_000, 250_500, 299_999, 300_000, 10, 0):
            assert file.seek(at) == at
            assert file.read(700) == data[at : at + 700]
        assert file.seek(-100, os.SEEK_END) == 299_900
        assert file.read() == data[-100:]
    assert ("bytes=250000-" in _Ranges.asked) == (handler is _Ranges)


def test_nothing_shows_the_credentials_of_a_url(web: str, tmp_path: Path) -> None:
    url = f"http://ada:{PASSWORD}@{web}/open_healthy/k6.json.gz?X-Amz-Signature={SIGNATURE}"
    report = tmp_path / "report.html"
    as_text, as_json = run("lint", url), run("lint", url, "--format", "json")
    written = run("report", url, "-o", report)
    assert {as_text.returncode, as_json.returncode, written.returncode} == {3}
    assert json.loads(as_json.stdout)["target"] == f"http://{web}/open_healthy/k6.json.gz?…"
    assert [s["path"] for s in json.loads(as_json.stdout)["sources"]] == ["k6.json.gz"]
    everything = as_text.stdout + as_json.stdout + as_json.stderr + written.stderr + report.read_text()
    assert PASSWORD not in everything
    assert SIGNATURE not in everything


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize(
    ("urls", "names"),
    [
        (("http://one/runs/gen-1", "http://one/runs/gen-2"), ["gen-1", "gen-2"]),
        (("http://one/a/out", "http://one/b/out?x=1"), ["a/out", "b/out"]),
        (("https://one/runs/gen", "https://two/runs/gen"), ["one/runs/gen", "two/runs/gen"]),
        (("s3://runs/a/out/", "s3://runs/b/out"), ["a/out", "b/out"]),
        (("memory://a/out", "memory://b/out"), ["a/out", "b/out"]),
    ],
)
def test_generators_behind_urls_are_told_apart(urls: tuple[str, ...], names: list[str]) -> None:
    """By as much of the URL as that takes; the places above a URL end at its host or bucket."""
    places: list[Any] = [remote.Remote.at(url) for url in urls]
    assert names_of(places) == names
