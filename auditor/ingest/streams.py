"""Bytes of a file, decompressed, with a damaged end kept apart from a whole one."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GZIP_MAGIC = b"\x1f\x8b"
GZIP_STEP_BYTES = 64 << 10
"""Deflate expands at most 1,032-fold, so that a step never yields more than about 66 MB."""
PLAIN_STEP_BYTES = 4 << 20


class DamagedStream(Exception):
    """Decompression ended before the data did; what came before it was yielded."""


def is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == GZIP_MAGIC


def chunks(path: Path) -> Iterator[bytes]:
    """Yield the file's bytes, decompressed if it is gzip (several members too).

    Raises:
        DamagedStream: after the last byte that could be decoded, if the stream is cut off or corrupt.
    """
    with path.open("rb") as file:
        magic = file.read(2)
        file.seek(0)
        yield from _gunzip(file) if magic == GZIP_MAGIC else _plain(file)


def _plain(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(PLAIN_STEP_BYTES):
        yield block


def _gunzip(file: BinaryIO) -> Iterator[bytes]:
    from isal import igzip_lib, isal_zlib

    decoder = isal_zlib.decompressobj(31)
    pending = b""
    in_member = False
    while True:
        block = pending or file.read(GZIP_STEP_BYTES)
        pending = b""
        if not block:
            break
        if not in_member:
            block = block.lstrip(b"\0")  # padding between or after members is legal
            if not block:
                continue
            in_member = True
        try:
            data = decoder.decompress(block)
        except igzip_lib.IsalError as problem:  # type: ignore[misc]  # its stub is no class
            raise DamagedStream(f"gzip stream corrupt ({problem})") from problem
        if data:
            yield data
        if decoder.eof:
            pending = decoder.unused_data
            decoder = isal_zlib.decompressobj(31)
            in_member = False
    if in_member:
        raise DamagedStream("gzip stream cut off")


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
