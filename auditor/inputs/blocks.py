"""The lines of one file in blocks, read, hashed and decompressed by a thread beside those who parse them."""

from __future__ import annotations

import contextlib
import hashlib
import queue
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from auditor.errors import another_file
from auditor.inputs import streams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BLOCK_BYTES = 4 << 20
MAX_LINE_BYTES = 64 << 20
AHEAD = 1
"""Blocks that may wait for a reader. Few, so that they are still in the processor's cache."""
_LINE_FEED = b"\n"
_NUL = b"\0"


@dataclass(frozen=True)
class Block:
    """Whole lines, each with its line feed: ``first`` and then all of ``data``."""

    index: int
    """Blocks count up in the order of the file."""
    first: bytes
    """A line that began before ``data``, or nothing."""
    data: memoryview
    """Valid until the reader asks for its next block: the memory is used again."""
    tail: bool = False
    """``first`` is what followed the last line feed of the file, and has none itself."""

    def joined(self) -> bytes | memoryview:
        """All of it in one piece."""
        if not len(self.data):
            return self.first
        return self.first + self.data if self.first else self.data


class FileDigest:
    """SHA-256 of a file's bytes as they lie on disk: noted by who has read them, else found by reading them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found = ""

    def note(self, found: str) -> None:
        self._found = found

    def hex(self) -> str:
        if not self._found:
            digest = hashlib.sha256()
            with self._path.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
            self._found = digest.hexdigest()
        return self._found


class Blocks:
    """The lines of a file, or of a range of it, for one reader or for several threads that share them.

    Iterate it in every reader; each block goes to one of them. `damage` is known when the iteration has ended.
    A range holds the lines that begin in it; it can be sent to another process before it is iterated.
    """

    def __init__(
        self,
        path: Path,
        *,
        start: int = 0,
        end: int | None = None,
        hashed: bool = False,
        chunks: Callable[[streams.ByteFile], Iterator[bytes]] | None = None,
        cut: Callable[[bytes], int] | None = None,
        first_index: int = 0,
        of_bytes: int | None = None,
    ) -> None:
        """``end``: None for all that follows, else the file is not compressed. ``hashed``: find its SHA-256.

        ``chunks``: how to get the lines out of the file, if they are not simply its bytes, decompressed.
        ``cut``: where the last whole record of a block ends, if that is not at a line feed.
        ``first_index``: what the blocks count up from.
        ``of_bytes``: how large the file is; what lies elsewhere under the same name may be another.
        """
        self._made_of = {
            "start": start,
            "end": end,
            "hashed": hashed,
            "chunks": chunks,
            "cut": cut,
            "first_index": first_index,
            "of_bytes": of_bytes,
        }
        self._hashed = hashed
        self._of_bytes = of_bytes
        self._path, self._start, self._end, self._chunks, self._cut = path, start, end, chunks, cut
        self.damage = ""
        """Why the end is missing; empty if it is whole."""
        self.overwritten = False
        """Whether a NUL byte was met."""
        self.sha256 = ""
        """SHA-256 of the file as it lies on disk, if all of it was read."""
        self.read_bytes = 0
        """Bytes of the file that have been read."""
        self._ready: queue.Queue[tuple[Block, bytearray | None] | BaseException | None] = queue.Queue(AHEAD)
        self._free: queue.SimpleQueue[bytearray] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._begin = threading.Lock()
        self._thread: threading.Thread | None = None
        self._index = first_index

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (self._path, self._made_of)

    def begin(self) -> None:
        """Read ahead from now on; iterating begins it too."""
        with self._begin:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="read points", daemon=True)
                self._thread.start()

    def __iter__(self) -> Iterator[Block]:
        self.begin()
        ended = False
        try:
            while (item := self._ready.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                block, buffer = item
                yield block
                if buffer is not None:
                    self._free.put(buffer)
            ended = True
        finally:
            if not ended:
                self._stop.set()
                if self._thread is not None:
                    self._thread.join()
            self._let_go()

    def _let_go(self) -> None:
        """Tell the next reader that nothing follows. The thread has ended: nothing else can come.

        After a reader that gave up, a block may still lie in the queue: whoever took it would wait for ever.
        """
        with contextlib.suppress(queue.Empty):
            while True:
                self._ready.get_nowait()
        with contextlib.suppress(queue.Full):  # another reader has told it
            self._ready.put_nowait(None)

    # --- in the thread -----------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            self._read()
        except BaseException as problem:  # raised again where the blocks are read
            self._put(problem)
            self._put(None)
        else:
            self._put(None)

    def _put(self, item: tuple[Block, bytearray | None] | BaseException | None) -> bool:
        while not self._stop.is_set():
            with contextlib.suppress(queue.Full):
                self._ready.put(item, timeout=0.1)
                return True
        return False  # who stopped it lets go whoever still waits

    def _give(self, first: bytes, data: memoryview, buffer: bytearray | None, *, tail: bool = False) -> None:
        if not self._put((Block(self._index, first, data, tail), buffer)):
            raise _Stopped
        self._index += 1

    def _read(self) -> None:
        if self._of_bytes is not None and (found := self._path.stat().st_size) != self._of_bytes:
            raise another_file(self._path, found, self._of_bytes)
        with self._path.open("rb") as raw:
            file = _Watched(raw, self, hashed=self._hashed)
            try:
                self._lines(file)
            except streams.DamagedStream as damage:
                self.damage = str(damage)
            except _Stopped:
                return
            if file.hash is not None:
                while not self._stop.is_set() and file.read(1 << 20):
                    pass  # what follows the damage belongs to the file
                self.sha256 = file.hash.hexdigest()

    def _lines(self, file: _Watched) -> None:
        rest: list[bytes] = []
        size = 0
        for chunk, n, buffer in self._pieces(file):
            self.overwritten = self.overwritten or chunk.find(_NUL, 0, n) >= 0
            if self._cut is not None:
                joined = b"".join((*rest, memoryview(chunk)[:n]))
                cut = self._cut(joined)
                if cut:
                    self._give(joined[:cut], memoryview(b""), None)
                rest, size = [joined[cut:]], len(joined) - cut
                if buffer is not None:
                    self._free.put(buffer)
            else:
                begin = chunk.find(_LINE_FEED, 0, n) + 1
                if begin:
                    until = chunk.rfind(_LINE_FEED, 0, n) + 1
                    first = b"".join((*rest, memoryview(chunk)[:begin])) if size else b""
                    rest, size = [bytes(memoryview(chunk)[until:n])], n - until
                    self._give(first, memoryview(chunk)[begin if first else 0 : until], buffer)
                else:
                    rest.append(bytes(memoryview(chunk)[:n]))
                    size += n
                    if buffer is not None:
                        self._free.put(buffer)
            if size > MAX_LINE_BYTES:
                raise streams.DamagedStream(f"a line of more than {MAX_LINE_BYTES >> 20} MB")
        if size:
            self._give(b"".join(rest), memoryview(b""), None, tail=True)

    def _pieces(self, file: _Watched) -> Iterator[tuple[bytes | bytearray, int, bytearray | None]]:
        """Bytes, how many of them count, and the buffer to give back."""
        if self._chunks is not None:
            for chunk in _gathered(self._chunks(file)):
                yield chunk, len(chunk), None
            return
        if self._end is None and not self._start and streams.is_compressed(self._path):
            for chunk in _gathered(streams.decoded(file, BLOCK_BYTES)):
                yield chunk, len(chunk), None
            return
        at = self._start
        skipping = at > 0
        if skipping:
            at -= 1  # a line begins here if a line feed stands before it
            file.seek(at)
        while True:
            try:
                buffer = self._free.get_nowait()
            except queue.Empty:
                buffer = bytearray(BLOCK_BYTES)
            n = file.readinto(buffer)
            if not n:
                return
            if skipping:
                begin = buffer.find(_LINE_FEED, 0, n) + 1
                if not begin or (self._end is not None and at + begin >= self._end):
                    if begin:
                        return
                    at += n
                    continue
                at += begin
                n -= begin
                buffer[:n] = buffer[begin : begin + n]
                skipping = False
            if self._end is not None and at + n >= self._end:
                until = buffer.find(_LINE_FEED, max(0, self._end - 1 - at), n) + 1
                if until:
                    yield buffer, until, buffer
                    return
            yield buffer, n, buffer
            at += n


def _gathered(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Small chunks together, so that a block is worth its handling."""
    parts: list[bytes] = []
    size = 0
    damage: streams.DamagedStream | None = None
    while damage is None:
        try:
            chunk = next(chunks, None)
        except streams.DamagedStream as problem:
            chunk, damage = None, problem
        if chunk is None:
            break
        parts.append(chunk)
        size += len(chunk)
        if size >= BLOCK_BYTES // 4:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)
    if damage is not None:
        raise damage


def _rebuilt(path: Path, made_of: dict[str, Any]) -> Blocks:
    return Blocks(path, **made_of)


class _Stopped(Exception):
    """Stop reading: no reader is left."""


class _Watched:
    """A file that counts and hashes what is read of it."""

    def __init__(self, file: BinaryIO, reading: Blocks, *, hashed: bool) -> None:
        self._file = file
        self._reading = reading
        self.hash = hashlib.sha256() if hashed else None

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._note(data)
        return data

    def readinto(self, buffer: bytearray) -> int:
        """Fill the buffer, unless the file ends before."""
        view = memoryview(buffer)
        n = 0
        while n < len(view):
            # In steps that stay in the processor's cache until they are hashed.
            got: int = self._file.readinto(view[n : n + streams.PLAIN_STEP_BYTES])  # type: ignore[attr-defined]
            if not got:
                break
            self._note(view[n : n + got])
            n += got
        return n

    def _note(self, data: bytes | memoryview) -> None:
        self._reading.read_bytes += len(data)
        if self.hash is not None:
            self.hash.update(data)

    def seek(self, at: int) -> None:
        self._file.seek(at)
