"""Bytes of a file, decompressed, with a damaged end kept apart from a whole one."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
GZIP_STEP_BYTES = 64 << 10
PLAIN_STEP_BYTES = 256 << 10
OUTPUT_STEP_BYTES = 1 << 20
"""What is yielded at once, however well the data was compressed."""
MAX_EXPANSION = 300
"""k6's lines shrink 25- to 80-fold. What expands further was made to fill a disk or a memory."""
EXPANSION_FREE_BYTES = 64 << 20
"""Up to here any expansion is harmless."""
AHEAD = 4
"""Blocks that may wait for the reader."""


class DamagedStream(Exception):
    """Decompression ended before the data did; what came before it was yielded."""


def is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == GZIP_MAGIC


def is_compressed(path: Path) -> bool:
    with path.open("rb") as file:
        magic = file.read(4)
    return magic[:2] == GZIP_MAGIC or magic == ZSTD_MAGIC


def chunks(path: Path) -> Iterator[bytes]:
    """Yield the file's bytes, decompressed if it is gzip or zstd (several members or frames too).

    Raises:
        DamagedStream: after the last byte that could be decoded (zstd: up to 64 KB before it), if the stream
            is cut off or corrupt, or if it expands so far that it was made to do harm.
    """
    with path.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic[:2] == GZIP_MAGIC:
            yield from _gunzip(file)
        elif magic == ZSTD_MAGIC:
            yield from _unzstd(file)
        else:
            yield from _plain(file)


def chunks_ahead(path: Path) -> Iterator[bytes]:
    """The same, with decompression running beside the reader in a thread of its own (it holds no lock).

    Raises:
        DamagedStream: as `chunks` does.
    """
    ready: queue.Queue[bytes | BaseException | None] = queue.Queue(AHEAD)
    stop = threading.Event()

    def put(item: bytes | BaseException | None) -> None:
        while not stop.is_set():
            try:
                ready.put(item, timeout=0.1)
            except queue.Full:
                continue
            return

    def work() -> None:
        try:
            for block in chunks(path):
                put(block)
                if stop.is_set():
                    return
        except BaseException as problem:  # raised again where the blocks are read
            put(problem)
        else:
            put(None)

    thread = threading.Thread(target=work, name="decompress", daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        thread.join()


def _plain(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(PLAIN_STEP_BYTES):
        yield block


def _gunzip(file: BinaryIO) -> Iterator[bytes]:
    from isal import igzip_lib, isal_zlib

    decoder = isal_zlib.decompressobj(31)
    pending = b""
    in_member = False
    taken = given = 0
    while True:
        block = pending
        if not block:
            block = file.read(GZIP_STEP_BYTES)
            taken += len(block)
        pending = b""
        if not block:
            break
        if not in_member:
            block = block.lstrip(b"\0")  # padding between or after members is legal
            if not block:
                continue
            in_member = True
        try:
            data = decoder.decompress(block, OUTPUT_STEP_BYTES)
        except igzip_lib.IsalError as problem:  # type: ignore[misc]  # its stub is no class
            raise DamagedStream(f"gzip stream corrupt ({problem})") from problem
        given += len(data)
        _refuse_bomb("gzip", taken, given)
        if data:
            yield data
        pending = decoder.unconsumed_tail
        if decoder.eof:
            pending = decoder.unused_data
            decoder = isal_zlib.decompressobj(31)
            in_member = False
    if in_member:
        raise DamagedStream("gzip stream cut off")


def _unzstd(file: BinaryIO) -> Iterator[bytes]:
    import pyarrow as pa

    given = 0
    with pa.CompressedInputStream(file, "zstd") as decoder:
        while True:
            try:
                data = decoder.read(GZIP_STEP_BYTES)
            except OSError as problem:
                cut = "Truncated" in str(problem)
                raise DamagedStream(f"zstd stream {'cut off' if cut else 'corrupt'}") from problem
            if not data:
                return
            given += len(data)
            _refuse_bomb("zstd", file.tell(), given)
            yield data


def _refuse_bomb(kind: str, taken: int, given: int) -> None:
    if given > EXPANSION_FREE_BYTES and given > MAX_EXPANSION * taken:
        raise DamagedStream(
            f"{kind} stream expands more than {MAX_EXPANSION}-fold, as no k6 output does; not read further"
        )


class LineBuffer:
    """Collects chunks and hands on whole lines. One buffer is reused, so that no block is allocated anew."""

    def __init__(self, size: int) -> None:
        self._data = bytearray(size + PLAIN_STEP_BYTES)
        self._used = 0
        self._searched = 0

    def __len__(self) -> int:
        return self._used

    def fill(self, path: Path) -> Iterator[None]:
        """Add a file's bytes, decompressed, bit by bit; those of a plain file are copied nowhere else.

        Raises:
            DamagedStream: as `chunks` does.
        """
        if is_compressed(path):
            for chunk in chunks_ahead(path):
                self.add(chunk)
                yield
            return
        with path.open("rb", buffering=0) as file:
            while True:
                end = self._used + PLAIN_STEP_BYTES
                self._make_room(end)
                got = file.readinto(memoryview(self._data)[self._used : end])
                if not got:
                    return
                self._used += got
                yield

    def add(self, chunk: bytes) -> None:
        end = self._used + len(chunk)
        self._make_room(end)
        self._data[self._used : end] = chunk
        self._used = end

    def _make_room(self, end: int) -> None:
        if end > len(self._data):
            larger = bytearray(max(end, 2 * len(self._data)))
            larger[: self._used] = memoryview(self._data)[: self._used]
            self._data = larger

    def lines(self) -> memoryview:
        """What is there up to the last line feed; valid until `keep_rest`."""
        cut = self._data.rfind(b"\n", self._searched, self._used) + 1
        if not cut:
            self._searched = self._used
        return memoryview(self._data)[:cut]

    def rest(self) -> bytes:
        """What follows the last line feed."""
        return bytes(self._data[len(self.lines()) : self._used])

    def keep_rest(self) -> None:
        """Drop the lines that `lines` gave."""
        cut = len(self.lines())
        self._data[: self._used - cut] = self._data[cut : self._used]
        self._used -= cut
        self._searched = 0


def head(path: Path, size: int = 65536) -> bytes:
    """The first decompressed bytes of a file, at most ``size``; less if the stream is damaged."""
    found = b""
    try:
        for block in chunks(path):
            found += block
            if len(found) >= size:
                break
    except DamagedStream:
        pass
    return found[:size]


def text(path: Path, limit_bytes: int = 64 << 20) -> tuple[str, bool]:
    """A text file as str, whether UTF-8 or UTF-16; second, whether it was cut at ``limit_bytes``."""
    data = b""
    cut = False
    try:
        for block in chunks(path):
            data += block
            if len(data) > limit_bytes:
                data, cut = data[:limit_bytes], True
                break
    except DamagedStream:
        cut = True
    return decode(data), cut


def decode(data: bytes) -> str:
    """Decode by byte-order mark, else as UTF-8; bytes that are neither become U+FFFD."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8-sig", errors="replace")
