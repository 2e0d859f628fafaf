"""Who reads points files: threads of this process or a cluster's workers. The result is the same to the bit."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from auditor import __version__
from auditor.errors import SHARED_PLACE, AuditError
from auditor.evidence import PointsSource, Position
from auditor.samples.reduce import Keep, Reduced, reduce_part
from auditor.samples.spill import Spill

CONNECT_S = 10.0
"""How long a cluster may take to answer, and to have a first worker."""
ALONE_S = 30.0
"""How long a cluster may be without any worker once it has begun."""
RETRIES = 3
"""Retries of a part whose reading failed. A part whose worker died is always sent to another."""

Wanted = tuple[PointsSource, Keep]
"""A points file, and the metrics whose samples are kept."""


class Workers(ABC):
    """Who reads points files: given to the facts, as the evidence is."""

    def __init__(self, spill: Spill | None = None) -> None:
        self.spill = spill or Spill()
        """Where the samples lie that are kept."""

    @abstractmethod
    def reduce(self, wanted: Sequence[Wanted]) -> list[list[Reduced]]:
        """Every file reduced, in parts."""

    @abstractmethod
    def position(self) -> Position:
        """Progress of all files; safe to call from another thread."""


class Threads(Workers):
    """Threads of this process: nearly all the work is done in native code that holds no lock.

    Beside each file that is being read another thread reads, hashes and decompresses it.
    """

    def __init__(self, n: int = 1, spill: Spill | None = None) -> None:
        super().__init__(spill)
        self.n = max(1, n)
        self._sources: list[PointsSource] = []

    def reduce(self, wanted: Sequence[Wanted]) -> list[list[Reduced]]:
        self._sources = [source for source, _ in wanted]
        if self.n == 1:
            return [[reduce_part(source.parts(1)[0], keep, self.spill)] for source, keep in wanted]
        share = max(1, self.n // max(1, len(wanted)))
        with ThreadPoolExecutor(self.n, thread_name_prefix="points") as pool:
            asked = [
                [pool.submit(reduce_part, part, keep, self.spill) for part in source.parts(share)]
                for source, keep in wanted
            ]
            return [[future.result() for future in futures] for futures in asked]

    def position(self) -> Position:
        return _sum([source.position() for source in self._sources])


class Cluster(Workers):
    """The workers of a Dask cluster. Each opens the files it reads itself, by the same path or URL.

    Connects when there is something to read. Dask exchanges pickles: only a cluster of one's own is for this.
    """

    def __init__(self, address: str, spill: Spill | None = None) -> None:
        """``address``: of the scheduler, ``tcp://host:8786``."""
        super().__init__(spill)
        self.address = address
        self._share: dict[Future[Any], int] = {}
        """Every part that was asked for, and its bytes."""

    def reduce(self, wanted: Sequence[Wanted]) -> list[list[Reduced]]:
        client = self._connected()
        try:
            executor = client.get_executor(pure=False, retries=RETRIES)
            asked = [
                (source, [executor.submit(reduce_part, chunk, keep) for chunk in source.chunks()])
                for source, keep in wanted
            ]
            # A part that is a whole file finds the file's digest on the way.
            digests = {
                executor.submit(source.sha256.hex): source for source, futures in asked if len(futures) > 1
            }
            self._share = {
                future: source.position().size_bytes // len(futures)
                for source, futures in asked
                for future in futures
            }
            self._wait(client, [*digests, *self._share])
            for future, source in digests.items():
                source.sha256.note(future.result())
            return [[future.result() for future in futures] for _, futures in asked]
        finally:
            for future in self._share:
                future.cancel()
            client.close(timeout=CONNECT_S)

    def position(self) -> Position:
        done = [f for f in self._share if f.done() and not f.cancelled() and f.exception() is None]
        return Position(
            sum(self._share[future] for future in done),
            sum(self._share.values()),
            sum(future.result().report.points for future in done),
        )

    def _connected(self) -> Any:
        try:
            import distributed
        except ImportError:
            raise AuditError(
                "--scheduler needs Dask", fix='pip install "k6-auditor[distributed]", here and on the workers'
            ) from None
        _quiet()
        connect: Any = distributed.Client
        try:
            client: Any = connect(self.address, timeout=CONNECT_S, set_as_default=False)
        except Exception as problem:  # of many kinds, by the way it fails
            raise AuditError(
                f"no Dask scheduler answers ({_first_line(problem)})",
                where=self.address,
                fix="start one with `dask scheduler` and name its address",
            ) from problem
        try:
            self._check(client)
        except BaseException:
            client.close(timeout=CONNECT_S)
            raise
        return client

    def _check(self, client: Any) -> None:
        try:
            client.wait_for_workers(1, timeout=CONNECT_S)
        except TimeoutError:
            raise AuditError(
                "the cluster has no workers", where=self.address, fix=f"start `dask worker {self.address}`"
            ) from None
        try:
            theirs = set(client.run(installed_version).values())
        except Exception as problem:
            raise AuditError(
                f"the workers cannot load k6-auditor ({_first_line(problem)})",
                where=self.address,
                fix=f"install k6-auditor {__version__} with its extra `distributed` there",
            ) from problem
        if others := theirs - {__version__}:
            raise AuditError(
                f"the workers have k6-auditor {', '.join(sorted(others))}, and this is {__version__}",
                where=self.address,
                fix="install the same version on both sides: what they find must not differ",
            )

    def _wait(self, client: Any, futures: list[Future[Any]]) -> None:
        """Until all is done; Dask gives a lost worker's parts to others itself, as long as there are any."""
        pending = set(futures)
        seen = time.monotonic()
        while pending:
            done, pending = wait(pending, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in done:
                if (problem := future.exception()) is not None:
                    raise self._told(problem) from problem
            if client.scheduler_info(n_workers=-1)["workers"]:
                seen = time.monotonic()
            elif time.monotonic() - seen > ALONE_S:
                raise AuditError(
                    f"the cluster has lost all of its workers for {ALONE_S:.0f} s",
                    where=self.address,
                    fix="see their logs; out of memory is the usual cause",
                )

    def _told(self, problem: BaseException) -> BaseException:
        if isinstance(problem, AuditError):
            return problem
        if isinstance(problem, FileNotFoundError):
            return AuditError(
                f"a worker cannot see {problem.filename or problem}",
                where=self.address,
                fix=SHARED_PLACE,
            )
        return AuditError(f"a worker failed: {_first_line(problem)}", where=self.address)


def installed_version() -> str:
    """Run on each worker."""
    return __version__


def _sum(positions: list[Position]) -> Position:
    return Position(
        sum(p.read_bytes for p in positions),
        sum(p.size_bytes for p in positions),
        sum(p.points for p in positions),
    )


def _first_line(problem: BaseException) -> str:
    return (str(problem).strip() or type(problem).__name__).splitlines()[0]


def _quiet() -> None:
    """Dask logs what is told here in one line, with tracebacks."""
    import logging

    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
