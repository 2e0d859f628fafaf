"""Bytes of a file, decompressed, with a damaged end kept apart from a whole one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from auditor.inputs.text import decode as decode_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
GZIP_STEP_BYTES = 256 << 10
ZSTD_STEP_BYTES = 64 << 10
PLAIN_STEP_BYTES = 1 << 20
OUTPUT_STEP_BYTES = 1 << 20
"""The most bytes yielded at once, however well the data was compressed."""
MAX_EXPANSION = 300
"""A stream may expand at most this many times. k6's lines shrink 25- to 80-fold; one that expands further was
made to fill a disk or memory."""
EXPANSION_FREE_BYTES = 64 << 20
"""Up to this size any expansion is harmless."""


class DamagedStream(Exception):
    """Decompression ended before the data did; what came before it was yielded."""


class ByteFile(Protocol):
    """What decompression needs of an open file."""

    def read(self, size: int, /) -> bytes: ...


def compression(magic: bytes) -> Literal["gzip", "zstd", ""]:
    """How a file is compressed that begins with these four bytes."""
    if magic[:2] == GZIP_MAGIC:
        return "gzip"
    return "zstd" if magic == ZSTD_MAGIC else ""


def is_compressed(path: Path) -> bool:
    with path.open("rb") as file:
        return bool(compression(file.read(4)))


def chunks(path: Path) -> Iterator[bytes]:
    """Yield the file's bytes, decompressed if it is gzip or zstd (several members or frames too).

    Raises:
        DamagedStream: after the last byte that could be decoded (zstd: up to 64 KB before it), if the stream
            is cut off or corrupt, or if it expands so far that it was made to do harm.
    """
    with path.open("rb") as file:
        yield from decoded(file)


def decoded(file: ByteFile, step_bytes: int = OUTPUT_STEP_BYTES) -> Iterator[bytes]:
    """The same of an open file; at most ``step_bytes`` at once.

    Raises:
        DamagedStream: as `chunks` does.
    """
    start = _Started(file)
    match compression(start.magic):
        case "gzip":
            yield from _gunzip(start, step_bytes)
        case "zstd":
            yield from _unzstd(start)
        case _:
            while block := start.read(PLAIN_STEP_BYTES):
                yield block


class _Started:
    """A file whose first four bytes were looked at; they are read again."""

    def __init__(self, file: ByteFile) -> None:
        self._file = file
        self.magic = self._pending = file.read(4)
        self.taken = 0
        self.closed = False

    def read(self, size: int) -> bytes:
        data = self._pending + self._file.read(size - len(self._pending))
        self._pending = b""
        self.taken += len(data)
        return data

    def close(self) -> None:
        """pyarrow closes what it has read."""


def _gunzip(file: _Started, step_bytes: int) -> Iterator[bytes]:
    from isal import igzip_lib

    decoder = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    block = b""
    in_member = False
    given = 0
    while True:
        if not in_member:
            block = block.lstrip(b"\0")  # padding between or after members is legal
            if not block:
                block = file.read(GZIP_STEP_BYTES)
                if not block:
                    return
                continue
            in_member = True
        elif decoder.needs_input:
            block = file.read(GZIP_STEP_BYTES)
            if not block:
                raise DamagedStream("gzip stream cut off")
        try:
            data = decoder.decompress(block, step_bytes)
        except igzip_lib.IsalError as problem:  # type: ignore[misc]  # its stub is no class
            raise DamagedStream(f"gzip stream corrupt ({problem})") from problem
        block = b""
        given += len(data)
        _refuse_bomb("gzip", file.taken, given)
        if data:
            yield data
        if decoder.eof:
            block = decoder.unused_data
            decoder = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
            in_member = False


def _unzstd(file: _Started) -> Iterator[bytes]:
    import pyarrow as pa

    given = 0
    with pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd") as decoder:
        while True:
            try:
                data = decoder.read(ZSTD_STEP_BYTES)
            except OSError as problem:
                cut = "Truncated" in str(problem)
                raise DamagedStream(f"zstd stream {'cut off' if cut else 'corrupt'}") from problem
            if not data:
                return
            given += len(data)
            _refuse_bomb("zstd", file.taken, given)
            yield data


def _refuse_bomb(kind: str, taken: int, given: int) -> None:
    if given > EXPANSION_FREE_BYTES and given > MAX_EXPANSION * taken:
        raise DamagedStream(
            f"{kind} stream expands more than {MAX_EXPANSION}-fold, as no k6 output does; not read further"
        )


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
    """A text file as str, whatever its encoding; second, whether it was cut at ``limit_bytes``."""
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
    return decode_text(data), cut


def decode(data: bytes) -> str:
    """Decode by byte-order mark, else as UTF-8; bytes that are neither become U+FFFD."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8-sig", errors="replace")
