"""Where kept samples lie: in memory up to a limit, beyond it in temporary files that are mapped into memory.

Percentiles are exact, so every sample of some metrics is needed until the end; a sketch would be smaller but
inexact.
The files have no name: they vanish with the process, however it ends.
"""

from __future__ import annotations

import errno
import os
import tempfile
import threading
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from auditor.errors import AuditError

Array = npt.NDArray[Any]


class Spill:
    """Room for arrays, shared by all threads that read."""

    def __init__(self, limit_bytes: int | None = None) -> None:
        """``limit_bytes``: how much may lie in memory; None: all of it."""
        self.limit_bytes = limit_bytes
        self.spilled_bytes = 0
        self._used = 0
        self._lock = threading.Lock()

    def reserve(self, size_bytes: int) -> bool:
        """Reserve memory; return False if the limit is now exceeded (the reservation stands)."""
        with self._lock:
            self._used += size_bytes
            return self.limit_bytes is None or self._used <= self.limit_bytes

    def give_back(self, size_bytes: int) -> None:
        with self._lock:
            self._used -= size_bytes

    def drop(self, *arrays: Array) -> None:
        """Release the reservation of arrays that are no longer used. Single values are not counted: they may be
        shared."""
        self.give_back(sum(a.nbytes for a in arrays if len(a) > 1 and not isinstance(a, np.memmap)))

    def joined(self, parts: Sequence[Array], dtype: Any) -> Array:
        """The parts as one array of its own, in memory or in a file."""
        found = self.empty(sum(len(part) for part in parts), dtype)
        if len(found):
            np.concatenate(parts, out=found, casting="same_kind")
        return found

    def ordered(self, array: Array, order: npt.NDArray[np.int64]) -> Array:
        """``array[order]``, likewise."""
        found = self.empty(len(array), array.dtype)
        np.take(array, order, out=found, mode="clip")  # "raise" would make a copy first
        return found

    def empty(self, n: int, dtype: Any) -> Array:
        """An array without contents.

        Raises:
            AuditError: if it has to be in a file and there is no room on the disk.
        """
        size_bytes = n * np.dtype(dtype).itemsize
        if self.reserve(size_bytes) or not n:
            return np.empty(n, dtype)
        self.give_back(size_bytes)
        return self._mapped(n, dtype)

    def moved(self, parts: Sequence[Array], dtype: Any) -> Array:
        """The parts as one array in a file."""
        found = self._mapped(sum(len(part) for part in parts), dtype)
        np.concatenate(parts, out=found, casting="same_kind")
        return found

    def _mapped(self, n: int, dtype: Any) -> Array:
        size_bytes = n * np.dtype(dtype).itemsize
        try:
            # Unlinked from the beginning; the mapping keeps it.
            with tempfile.TemporaryFile(prefix="k6-audit-") as file:
                _reserve(file, size_bytes)
                found: Array = np.memmap(file, dtype=dtype, mode="r+", shape=(n,))
        except OSError as problem:
            if problem.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
                raise
            raise AuditError(
                f"no room for {size_bytes / 1e6:,.0f} MB of temporary samples ({problem.strerror})",
                where=tempfile.gettempdir(),
                fix="let TMPDIR name a folder on a larger disk, or allow more memory with --memory",
            ) from problem
        with self._lock:
            self.spilled_bytes += size_bytes
        return found


def _reserve(file: IO[bytes], size_bytes: int) -> None:
    """Room on the disk, now: a mapped page without any would end the process when it is written to."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size_bytes)
        return
    zeros = bytes(1 << 20)
    for start in range(0, size_bytes, len(zeros)):
        file.write(zeros[: size_bytes - start])
    file.flush()
