"""Who reads the points of a run, as the options say it: threads here, or a cluster."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.errors import AuditError

if TYPE_CHECKING:
    from auditor.samples.workers import Workers

MOST_THREADS = 4
"""By default: reading, hashing and decompressing one file keeps up with no more."""
MEMORY_SHARE = 4
"""By default kept samples may fill one part in so many of the machine's memory."""
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
            raise AuditError("--jobs is for threads, --scheduler for a cluster", fix="give one of them")
        return Cluster(scheduler, spill)
    if jobs is not None and not 1 <= jobs <= 1024:
        raise AuditError(f"not a number of threads: {jobs}", where="--jobs", fix="from 1 to 1024")
    return Threads(jobs or min(MOST_THREADS, max(1, _cores() - 1)), spill)


def size_bytes(text: str) -> int:
    """Read "512MB", "2GiB" or "1000" as bytes.

    Raises:
        AuditError: if it is not a size.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise AuditError(f"not a size: {text!r}", where="--memory", fix="for example 512MB or 2GiB")
    base = 1024 if found[3] else 1000
    return int(float(found[1]) * base ** (" kmgt".index(found[2].lower() or " ")))


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
