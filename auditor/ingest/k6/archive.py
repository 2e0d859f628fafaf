"""`k6 archive`: a tar, or its metadata.json alone.

Nothing is written to disk and no path in an archive is followed: the headers are read here, and only the
first two members, metadata.json and data (the main script), with a limit on each. An archive's options have
the environment, the config file and the flags of `k6 archive` in them, and the shortcuts not mapped yet.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from auditor.ingest.k6.options import read_options
from auditor.ingest.k6.script import MAX_SCRIPT_BYTES, UnreadableScript, read_script_text
from auditor.inputs import streams

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from auditor.evidence import Options

BLOCK = 512
MAX_METADATA_BYTES = 4 << 20
_MAGIC_AT = 257
_REGULAR = (b"0", b"\0")


class UnusableArchive(Exception):
    """Why an archive is not used."""


@dataclass(frozen=True)
class Archive:
    """What is used of an archive: its metadata and, from a tar, the text of the main script."""

    metadata: dict[str, Any]
    script: str = ""


def is_tar(start: bytes) -> bool:
    return start[_MAGIC_AT : _MAGIC_AT + 5] == b"ustar"


def looks_like_metadata(item: Any) -> bool:
    """Whether a JSON value is the metadata.json of an archive."""
    return isinstance(item, dict) and item.keys() >= {"type", "options", "filename"}


def open_tar(path: Path) -> Archive:
    """The first two members of a tar, which k6 writes first.

    Raises:
        UnusableArchive: if it is not a k6 archive, or damaged, or too large to be one.
    """
    data = _Bytes(streams.chunks(path))
    name, size = _header(data)
    if name != "metadata.json":
        raise UnusableArchive("a tar that does not begin with metadata.json is not a k6 archive")
    if size > MAX_METADATA_BYTES:
        raise UnusableArchive(f"its metadata.json is larger than {MAX_METADATA_BYTES >> 20} MB")
    text = streams.decode(data.take(size))
    try:
        item = json.loads(text)
    except (ValueError, RecursionError):
        raise UnusableArchive("its metadata.json is not JSON") from None
    if not looks_like_metadata(item):
        raise UnusableArchive("its metadata.json is not that of a k6 archive")
    try:
        data.take(-size % BLOCK)
        name, size = _header(data)
        script = streams.decode(data.take(size)) if name == "data" and size <= MAX_SCRIPT_BYTES else ""
    except UnusableArchive:
        script = ""  # the options stand in the first member, which is whole
    return Archive(item, script)


def read_archive(archive: Archive, path: str) -> Options:
    """Options of an archive.

    Raises:
        UnusableArchive: if it has none.
    """
    metadata = archive.metadata
    if not isinstance(metadata["options"], dict):
        raise UnusableArchive("its metadata.json has no options")
    version, environment = metadata.get("k6version"), metadata.get("env")
    try:
        script = read_script_text(archive.script, path) if archive.script else None
    except UnreadableScript:
        script = None
    return replace(
        read_options(metadata["options"], path),
        kind="archive",
        consolidated=True,
        k6_version=version if isinstance(version, str) else "",
        environment=tuple(sorted(environment)) if isinstance(environment, dict) else (),
        script=script,
    )


class _Bytes:
    """A stream of blocks, taken piece by piece; no more of it is read than was asked for."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = b""

    def take(self, size: int) -> bytes:
        while len(self._rest) < size:
            try:
                block = next(self._blocks, None)
            except streams.DamagedStream as damage:
                raise UnusableArchive(f"a tar that is cut off ({damage})") from damage
            if block is None:
                raise UnusableArchive("a tar that is cut off")
            self._rest += block
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken


def _header(data: _Bytes) -> tuple[str, int]:
    """Name and size of the next member, which must be a plain file.

    The standard library's reader follows extension headers of any size and kind before it shows the first
    member; k6 needs none for these two.
    """
    block = data.take(BLOCK)
    if not is_tar(block) or block[156:157] not in _REGULAR:
        raise UnusableArchive("a tar whose first members are not plain files is not a k6 archive")
    told = _octal(block[148:156])
    if told != sum(block[:148]) + sum(block[156:]) + 8 * ord(" "):
        raise UnusableArchive("a tar with a damaged header")
    return block[:100].split(b"\0", 1)[0].decode("utf-8", errors="replace"), _octal(block[124:136])


def _octal(field: bytes) -> int:
    text = field.strip(b" \0")
    if not text or not all(c in b"01234567" for c in text):
        raise UnusableArchive("a tar with a damaged header")
    return int(text, 8)
