"""A real Dask scheduler and two workers on loopback, for the tests that need them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT

START_S = 60.0


@dataclass
class Dask:
    address: str
    processes: dict[str, subprocess.Popen[bytes]]


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Dask]:
    """A scheduler and the workers "one" and "two", of one thread each and not restarted when they die.

    They have this process's environment; their logs lie in ``folder``.
    """
    pytest.importorskip("distributed", reason="the extra `distributed` is not installed")
    folder.mkdir()
    log, where = folder / "scheduler.log", folder / "scheduler.json"
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        arguments = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(where))
        processes["scheduler"] = _started("distributed.cli.dask_scheduler", *arguments, log=log)
        _until(where.exists, "no scheduler", log)
        address = json.loads(where.read_text())["address"]
        for name in ("one", "two"):
            arguments = (address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--name", name)
            processes[name] = _started("distributed.cli.dask_worker", *arguments, log=folder / f"{name}.log")
        for name in ("one", "two"):
            log = folder / f"{name}.log"
            _until(lambda log=log: b"Registered to" in log.read_bytes(), "no worker", log)  # type: ignore[misc]
        yield Dask(address, processes)
    finally:
        for process in processes.values():
            process.kill()
        for process in processes.values():
            process.wait(10)


def _started(*command: str, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, "-m", *command],
            stdout=file,
            stderr=file,
            cwd=log.parent,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )


def _until(condition: Callable[[], bool], what: str, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while not condition():
        assert time.monotonic() < deadline, f"{what}\n{log.read_text() if log.exists() else ''}"
        time.sleep(0.1)
