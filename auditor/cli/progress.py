"""The progress of reading that a terminal shows."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.samples.workers import Workers

SHOW_AFTER_S = 1.0


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
