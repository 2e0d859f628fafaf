"""The standard streams of a command whose reader may go away: `k6-audit lint run | head -1`."""

from __future__ import annotations

import contextlib
import io
import os
from typing import TextIO, cast


class _UntilGone(io.FileIO):
    """What is written after the reader of a pipe has gone is dropped: the verdict's exit code stands.

    Any other error, as of a full disk, is raised once; what the interpreter writes at its end is dropped.
    """

    gone = False

    def write(self, data: object) -> int:
        if not self.gone:
            try:
                return super().write(data)  # type: ignore[arg-type]
            except BrokenPipeError:
                self.gone = True
            except BlockingIOError:
                raise
            except OSError:
                self.gone = True
                raise
        return memoryview(data).nbytes  # type: ignore[arg-type]


def until_gone(stream: TextIO | None) -> TextIO:
    """A standard stream that outlives its reader, and writes "?" for a character that it lacks.

    A stream that is closed becomes one that drops everything; one that a test has put there stays.
    """
    if stream is None:
        return open(os.devnull, "w")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    raw = getattr(stream.buffer, "raw", stream.buffer)  # with PYTHONUNBUFFERED there is no buffer between
    if not isinstance(raw, io.FileIO):
        return stream
    with contextlib.suppress(OSError):
        stream.flush()
    return cast(
        TextIO,
        io.TextIOWrapper(
            io.BufferedWriter(_UntilGone(raw.fileno(), "w", closefd=False)),
            encoding=stream.encoding,
            errors="replace",
            line_buffering=stream.line_buffering or stream.write_through,
        ),
    )
