"""Who reads the points of a run, as the options say it, and the progress that a terminal shows meanwhile."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.errors import AuditError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.samples.workers import Workers

MOST_THREADS = 4
"""By default: reading, hashing and decompressing one file keeps up with no more."""
MEMORY_SHARE = 4
"""By default kept samples may fill one part in so many of the machine's memory."""
SHOW_AFTER_S = 1.0
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.I)
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def workers(jobs: int | None, scheduler: str | None, memory: str | None) -> Workers:
    """The workers that the options name.

    Raises:
        AuditError: if an option makes no sense.
    """
    from auditor.samples.spill import Spill
    from auditor.samples.workers import Cluster, Threads

    spill = Spill(size_bytes(memory) if memory is not None else _memory_bytes() // MEMORY_SHARE)
    if scheduler is not None:
        if not re.match(r"(?:tcp|tls|ucx|ws|wss)://[^\s/]+", scheduler):
            raise AuditError(
                f"not the address of a Dask scheduler: {scheduler!r}",
                where="--scheduler",
                fix="for example tcp://host:8786",
            )
        if jobs is not None:
            raise AuditError(
                "--jobs (threads) and --scheduler (a cluster) exclude each other", fix="name one of them"
            )
        return Cluster(scheduler, spill)
    if jobs is not None and not 1 <= jobs <= 1024:
        raise AuditError(f"not a number of threads: {jobs}", where="--jobs", fix="from 1 to 1024")
    return Threads(jobs or min(MOST_THREADS, max(1, _cores() - 1)), spill)


def size_bytes(text: str) -> int:
    """ "512MB", "2GiB", "1e" with a unit or without: bytes.

    Raises:
        AuditError: if it is no size.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise AuditError(f"not a size: {text!r}", where="--memory", fix="for example 512MB or 2GiB")
    base = 1024 if found[3] else 1000
    return int(float(found[1]) * base ** (" kmgt".index(found[2].lower() or " ")))


@contextlib.contextmanager
def progress(at_work: Workers) -> Iterator[None]:
    """Show how far the reading has come, if standard error is a terminal and it takes longer than a second."""
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(at_work, done), name="progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(at_work: Workers, done: threading.Event) -> None:
    begun = time.monotonic()
    if done.wait(SHOW_AFTER_S):
        return
    from rich import progress as rich_progress
    from rich.console import Console

    with rich_progress.Progress(
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(bar_width=30),
        rich_progress.DownloadColumn(),
        rich_progress.TextColumn("{task.fields[speed]}"),
        rich_progress.TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("reading", total=None, speed="")
        while not done.wait(0.1):
            now = at_work.position()
            speed = now.points / (time.monotonic() - begun)
            judging = bool(now.size_bytes) and now.read_bytes >= now.size_bytes
            bar.update(
                task,
                total=now.size_bytes or None,
                completed=now.read_bytes,
                description="judging" if judging else "reading",
                speed=f"{speed:,.0f} samples/s" if now.points and not judging else "",
            )


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory_bytes() -> int:
    """Of the machine, or of the container."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        allowed = int(_CGROUP_LIMIT.read_text())
    except (OSError, ValueError):  # there is none, or "max"
        return found
    return min(found, allowed)
