"""Compressed files: whole, in pieces, cut off, corrupt, and made to do harm."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from auditor.inputs import streams

ROOT = Path(__file__).parents[2]
TEXT = b"".join(b"line %d of a text that shrinks\n" % (i * i) for i in range(60_000))
Pack = Callable[[bytes], bytes]


def zstd(data: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


PACKS = [pytest.param(gzip.compress, "gzip", id="gzip"), pytest.param(zstd, "zstd", id="zstd")]


def read(path: Path) -> tuple[bytes, str]:
    found = b""
    try:
        for block in streams.chunks(path):
            assert 0 < len(block) <= streams.OUTPUT_STEP_BYTES
            found += block
    except streams.DamagedStream as damage:
        return found, str(damage)
    return found, ""


@pytest.mark.parametrize(("pack", "kind"), PACKS)
def test_whole_and_in_several_pieces(tmp_path: Path, pack: Pack, kind: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(pack(TEXT))
    assert read(path) == (TEXT, "")
    path.write_bytes(pack(TEXT[:1000]) + pack(b"") + pack(TEXT[1000:]))
    assert read(path) == (TEXT, "")
    path.write_bytes(TEXT)
    assert read(path) == (TEXT, "")
    path.write_bytes(b"")
    assert read(path) == (b"", "")


@pytest.mark.parametrize(("pack", "kind"), PACKS)
def test_cut_off_and_corrupt(tmp_path: Path, pack: Pack, kind: str) -> None:
    path = tmp_path / "x"
    packed = pack(TEXT)
    for keep in (len(packed) // 2, len(packed) - 1):
        path.write_bytes(packed[:keep])
        found, damage = read(path)
        assert TEXT.startswith(found)
        assert damage == f"{kind} stream cut off"
    broken = bytearray(packed)
    # zstd as pyarrow writes it has no checksum, so that only a broken structure is seen: its reserved bit.
    at, bits = (len(broken) // 2, 0xFF) if kind == "gzip" else (4, 0x08)
    broken[at] ^= bits
    path.write_bytes(bytes(broken))
    found, damage = read(path)
    assert damage.startswith(f"{kind} stream ")
    path.write_bytes(packed + b"junk after the end")
    found, damage = read(path)
    assert TEXT.startswith(found)
    assert len(found) > len(TEXT) - (64 << 10)  # zstd gives nothing of the step in which damage is met
    assert damage.startswith(f"{kind} stream corrupt")


def bomb(path: Path, megabytes: int) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    with path.open("wb") as file:
        for _ in range(megabytes):
            file.write(packer.compress(bytes(1 << 20)))
        file.write(packer.flush())


def test_a_bomb_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "k6.json.gz"
    bomb(path, 1000)
    total = 0
    blocks = streams.chunks(path)
    damage = ""
    try:
        for block in blocks:
            total += len(block)
    except streams.DamagedStream as problem:
        damage = str(problem)
    assert damage.startswith("gzip stream expands more than 300-fold")
    assert total <= streams.EXPANSION_FREE_BYTES + streams.MAX_EXPANSION * streams.GZIP_STEP_BYTES
    harmless = tmp_path / "small.gz"
    bomb(harmless, 20)
    assert read(harmless) == (bytes(20 << 20), "")


@pytest.mark.parametrize("name", ["k6.json", "k6.json.gz"])
def test_a_line_of_100_mb_is_said_and_memory_stays_bounded(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    line = b'{"metric":"m","type":"Point","data":{"time":"' + TEXT.replace(b"\n", b" ") * 60 + b"\n"
    assert len(line) > 100e6
    path.write_bytes(line if name == "k6.json" else gzip.compress(line, 1))
    code = (
        "import sys, resource; from pathlib import Path\n"
        "from auditor.ingest.k6.points_json import JsonPoints\n"
        "import pyarrow.compute\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "source = JsonPoints(Path(sys.argv[1]), 'x', fast=False).parts(1)[0]\n"
        "assert sum(len(b.value) for b in source.batches()) == 0\n"
        "print(source.report().torn, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, sep='|')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], check=True, cwd=ROOT, capture_output=True, text=True
    )
    torn, grown_kb = done.stdout.strip().split("|")
    assert torn == "a line of more than 64 MB"
    assert int(grown_kb) < 260_000
