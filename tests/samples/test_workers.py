"""However many read a points file, and wherever, what is known of it is the same, to the bit."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from auditor.errors import AuditError
from auditor.evidence import MetricDefinition, PointsSource, Position
from auditor.facts.samples import _defined_late
from auditor.ingest.k6.points_csv import CsvPoints
from auditor.ingest.k6.points_json import JsonPoints
from auditor.inputs import blocks, points_file
from auditor.samples import workers as at_work
from auditor.samples.columns import GeneratorSamples, merged
from auditor.samples.reduce import KEPT, Reduced, reduce_part
from auditor.samples.spill import Spill
from auditor.samples.workers import Cluster, Threads, Workers
from tests.builder import Run, Scenario
from tests.conftest import ROOT
from tests.dask_cluster import Dask, cluster

LIMITED = (
    '{"type":"Metric","data":{"name":"mine","type":"trend","contains":"time","thresholds":["p(95)<500"],'
    '"submetrics":null},"metric":"mine"}'
)


def built(lines: int = 0) -> list[str]:
    """A run with two scenarios, secrets in its tags, damage in the middle, and a metric of its own at its end."""
    tags = {"url": "https://x/a?token=Zq9secret"}
    run = Run([Scenario(duration_s=4, tags=tags), Scenario("b", duration_s=4, rate=30)], setup_ms=5.0)
    found = list(run.lines())
    middle = len(found) // 2
    found[middle:middle] = ["{broken", '{"type":"Metric"}', ""]
    stamp = '"time":"2026-11-29T21:53:39.450116018Z"'
    mine = f'{{"metric":"mine","type":"Point","data":{{{stamp},"value":1.5,"tags":{{"scenario":"b"}}}}}}'
    return [*found, LIMITED, *[mine] * 50]


def same(one: GeneratorSamples, other: GeneratorSamples) -> None:
    for name in ("path", "metrics", "tagsets", "definitions", "read"):
        assert getattr(one, name) == getattr(other, name), name
    for name in ("series_metric", "series_tagset", "series_count", "second_first_ns", "second_last_ns"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert list(one.columns) == list(other.columns)
    for name, column in one.columns.items():
        twin = other.columns[name]
        for a, b in ((column.time_ns, twin.time_ns), (column.value, twin.value), (column.tagset, twin.tagset)):
            assert np.array(a).tobytes() == np.array(b).tobytes(), name


def read(source: PointsSource, workers: Workers) -> GeneratorSamples:
    (parts,) = workers.reduce([(source, KEPT)])
    if late := _defined_late(parts):
        (parts,) = workers.reduce([(source, KEPT | late)])
    return merged(source, parts, workers.spill)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 5_000)
    monkeypatch.setattr(points_file, "CHUNK_BYTES", 60_000)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("torn", [False, True])
def test_threads(tmp_path: Path, fast: bool, packed: bool, torn: bool) -> None:
    data = ("\n".join(built()) + ("" if torn else "\n")).encode()
    data = data[:-20] if torn else data
    path = tmp_path / "k6.json"
    path.write_bytes(gzip.compress(data) if packed else data)
    one = read(JsonPoints(path, "k6.json", fast=fast), Threads(1))
    assert one.read.malformed == 2
    broken = data.decode().split("\n").index("{broken") + 1
    assert one.read.first_malformed_line == broken
    assert one.read.torn == ("last line incomplete" if torn else "")
    assert one.definitions["mine"].thresholds == ("p(95)<500",)
    assert len(one.column("mine")) == 50 - torn
    assert "Zq9secret" not in repr(one.tagsets)
    for n in (2, 3, 7):
        source = JsonPoints(path, "k6.json", fast=fast)
        same(read(source, Threads(n)), one)
        assert source.sha256.hex() == JsonPoints(path, "k6.json").sha256.hex()


@pytest.mark.usefixtures("small")
def test_chunks_hold_together_what_the_whole_holds(tmp_path: Path) -> None:
    path = tmp_path / "k6.json"
    path.write_text("\n".join(built()) + "\n")
    one = read(JsonPoints(path, "k6.json"), Threads(1))
    source = JsonPoints(path, "k6.json")
    chunks = source.chunks()
    assert len(chunks) == -(-path.stat().st_size // 60_000) > 4

    class InTurn(Workers):
        def reduce(self, wanted: object) -> list[list[Reduced]]:
            assert isinstance(wanted, list)
            return [[reduce_part(chunk, keep) for chunk in source.chunks()] for source, keep in wanted]

        def position(self) -> Position:
            raise NotImplementedError

    same(read(source, InTurn()), one)


def test_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 500)
    path = tmp_path / "k6.csv"
    rows = [f"iterations,{1795989219 + i},1.0,a,{i % 5}" for i in range(400)]
    rows[200:200] = ["iterations,broken,1,a,b", 'iterations,1795989220,1.0,"a\n,b",c']
    path.write_text("\n".join(["metric_name,timestamp,metric_value,scenario,extra_tags", *rows]) + "\n")
    one = read(CsvPoints(path, "k6.csv"), Threads(1))
    assert (one.read.points, one.read.malformed, one.read.first_malformed_line) == (401, 1, 202)
    for n in (2, 5):
        same(read(CsvPoints(path, "k6.csv"), Threads(n)), one)


def test_a_definition_that_comes_late_costs_a_second_reading_and_no_sample(tmp_path: Path) -> None:
    """Whoever met the metric first did not know that it has thresholds."""
    path = tmp_path / "k6.json"
    lines = built()
    lines.remove(LIMITED)
    path.write_text("\n".join([*lines, LIMITED]) + "\n")
    found = read(JsonPoints(path, "k6.json"), Threads(1))
    assert len(found.column("mine")) == 50
    assert isinstance(found.definitions["mine"], MetricDefinition)


def test_several_files_at_once(tmp_path: Path) -> None:
    sources = []
    for i in range(3):
        path = tmp_path / f"{i}.json"
        path.write_text("\n".join(built()[: 500 * (i + 1)]) + "\n")
        sources.append(path)
    for n in (1, 2, 4):
        threads = Threads(n)
        every = threads.reduce([(JsonPoints(p, p.name), KEPT) for p in sources])
        for path, parts in zip(sources, every, strict=True):
            same(merged(JsonPoints(path, path.name), parts), read(JsonPoints(path, path.name), Threads(1)))
        position = threads.position()
        assert position.read_bytes == position.size_bytes == sum(p.stat().st_size for p in sources)
        assert position.points > 1000


def test_what_one_thread_meets_ends_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "k6.json"
    path.write_text("\n".join(built()) + "\n")
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 5_000)

    def broken(self: object, batch: object) -> None:
        raise MemoryError("no more")

    monkeypatch.setattr("auditor.samples.reduce.SampleReducer.add", broken)
    for n in (1, 3):
        with pytest.raises(MemoryError):
            read(JsonPoints(path, "k6.json"), Threads(n))
    deadline = time.monotonic() + 5
    while any(t.name == "read points" for t in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("limit_bytes", [0, 3_000, 100_000])
def test_what_does_not_fit_into_memory_lies_in_files(tmp_path: Path, limit_bytes: int) -> None:
    path = tmp_path / "k6.json"
    lines = built()
    if not limit_bytes:
        lines = lines[: len(lines) // 2]  # every column of every small block is a file that stays open
    path.write_text("\n".join(lines + lines[::-1]) + "\n")
    one = read(JsonPoints(path, "k6.json"), Threads(1))
    for n in (1, 3):
        spill = Spill(limit_bytes)
        found = read(JsonPoints(path, "k6.json"), Threads(n, spill))
        same(found, one)
        assert spill.spilled_bytes > 0
    assert isinstance(found.column("http_req_duration").value, np.memmap) or limit_bytes


NO_ROOM = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
from auditor.errors import AuditError
from auditor.samples.reduce import KEPT
from auditor.samples.spill import Spill
from auditor.samples.workers import Threads
from auditor.ingest.k6.points_json import JsonPoints
try:
    Threads(2, Spill(0)).reduce([(JsonPoints(Path(sys.argv[1]), "k6.json"), KEPT)])
except AuditError as error:
    print(error)
"""


def test_no_room_for_the_files_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    path, place = tmp_path / "k6.json", tmp_path / "tmp"
    place.mkdir()
    path.write_text("\n".join(built()) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", NO_ROOM, str(path)],
        check=True,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(place)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.startswith(f"{place}: no room for 0 MB of temporary samples (File too large)")
    assert "TMPDIR" in done.stdout
    assert list(place.iterdir()) == []


# --- a real cluster -----------------------------------------------------------------------------------------


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    with cluster(tmp_path / "dask") as found:
        yield found


@pytest.mark.usefixtures("small")
def test_a_cluster_and_a_worker_killed_in_the_middle(
    tmp_path: Path, dask: Dask, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, packed = tmp_path / "k6.json", tmp_path / "packed.json.gz"
    data = ("\n".join(built()) + "\n").encode()
    path.write_bytes(data)
    packed.write_bytes(gzip.compress(data))
    one = read(JsonPoints(path, "k6.json"), Threads(1))
    source = JsonPoints(path, "k6.json")
    same(read(source, Cluster(dask.address)), one)
    assert source.sha256.hex() == JsonPoints(path, "k6.json").sha256.hex()
    source = JsonPoints(packed, "k6.json")
    same(read(source, Cluster(dask.address)), read(JsonPoints(packed, "k6.json"), Threads(1)))
    assert source.sha256._found == JsonPoints(packed, "k6.json").sha256.hex()

    # Many parts; the first worker to have finished one is killed while it reads others.
    monkeypatch.setattr(points_file, "CHUNK_BYTES", 2_000)
    cluster = Cluster(dask.address)
    found: list[GeneratorSamples] = []
    reading = threading.Thread(target=lambda: found.append(read(JsonPoints(path, "k6.json"), cluster)))
    reading.start()
    while not cluster.position().read_bytes:
        assert reading.is_alive()
        time.sleep(0.005)
    dask.processes["one"].send_signal(signal.SIGKILL)
    assert cluster.position().read_bytes < cluster.position().size_bytes
    reading.join(120)
    assert not reading.is_alive()
    same(found[0], one)


def test_a_worker_that_sees_another_file_or_none(tmp_path: Path, dask: Dask) -> None:
    path = tmp_path / "k6.json"
    path.write_text("\n".join(built()) + "\n")
    source = JsonPoints(path, "k6.json")
    path.write_text("{}\n")
    with pytest.raises(AuditError, match="another file: 3 bytes"):
        read(source, Cluster(dask.address))
    path.unlink()
    with pytest.raises(AuditError, match="a worker cannot see"):
        read(source, Cluster(dask.address))


def test_a_cluster_that_has_lost_its_workers(
    tmp_path: Path, dask: Dask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_work, "CONNECT_S", 1.0)
    for name in ("one", "two"):
        dask.processes[name].kill()
        dask.processes[name].wait(10)
    path = tmp_path / "k6.json"
    path.write_text("\n".join(built()) + "\n")
    with pytest.raises(AuditError, match="the cluster has no workers"):
        read(JsonPoints(path, "k6.json"), Cluster(dask.address))


def test_no_scheduler_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="the extra `distributed` is not installed")
    monkeypatch.setattr(at_work, "CONNECT_S", 1.0)
    path = tmp_path / "k6.json"
    path.write_text("\n".join(built()) + "\n")
    with pytest.raises(AuditError, match="no Dask scheduler answers"):
        read(JsonPoints(path, "k6.json"), Cluster("tcp://127.0.0.1:9"))
