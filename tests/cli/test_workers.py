"""`--jobs`, `--memory`, `--scheduler`: who reads the points."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from auditor.cli import workers
from auditor.errors import AuditError
from auditor.samples.workers import Cluster, Threads

ROOT = Path(__file__).parents[2]
RUN = ROOT / "sample_runs" / "open_healthy"
KB, KIB = 1000, 1024


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("1000", 1000),
        ("512MB", 512 * KB**2),
        ("512 m", 512 * KB**2),
        ("2GiB", 2 * KIB**3),
        ("1.5k", 1500),
        ("1TiB", KIB**4),
        ("7b", 7),
    ],
)
def test_sizes(text: str, expected: int) -> None:
    assert workers.size_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "lots", "-1", "1 GBit", "1e9", "GB", "1PB", "nan"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(AuditError, match="not a size"):
        workers.size_bytes(text)


def test_who_reads() -> None:
    threads = workers.workers(3, None, "1GB")
    assert isinstance(threads, Threads)
    assert (threads.n, threads.spill.limit_bytes) == (3, KB**3)
    usual = workers.workers(None, None, None)
    assert isinstance(usual, Threads)
    assert 1 <= usual.n <= workers.MOST_THREADS
    assert usual.spill.limit_bytes is not None
    assert usual.spill.limit_bytes > 50e6
    cluster = workers.workers(None, "tcp://host:8786", None)
    assert isinstance(cluster, Cluster)
    assert cluster.address == "tcp://host:8786"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--jobs", "0"], "--jobs: not a number of threads: 0 (from 1 to 1024)"),
        (["--memory", "much"], "--memory: not a size: 'much' (for example 512MB or 2GiB)"),
        (["--scheduler", "host"], "--scheduler: not the address of a Dask scheduler: 'host' (for example tcp://host:8786)"),
        (["--scheduler", "tcp://h:1", "--jobs", "2"], "--jobs is for threads, --scheduler for a cluster"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_said_in_one_line(arguments: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "auditor", "lint", str(RUN), *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_result_is_the_same_for_any_number_of_threads_and_any_memory() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-m", "auditor", "lint", str(RUN), "--warmup", "5s", "--format", "json", *how],
            capture_output=True,
            cwd=ROOT,
            check=True,
        ).stdout
        for how in ([], ["--jobs", "1"], ["--jobs", "3", "--memory", "0"])
    }
    assert len(outputs) == 1
