"""Blocks of lines: however the file is read, and by however many, each line comes once, whole, in order."""

from __future__ import annotations

import gzip
import hashlib
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditor.inputs import blocks, streams
from auditor.inputs.blocks import Blocks, FileDigest

quick = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
lines = st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"x")), max_size=40).filter(
    lambda found: not streams.compression(b"\n".join(found)[:4])  # what begins like gzip is read as gzip
)


def read(source: Blocks) -> bytes:
    """All lines put together, after checking that blocks hold whole lines and count up."""
    found = b""
    numbers = []
    for block in source:
        data = bytes(block.joined())
        assert data
        assert block.tail != data.endswith(b"\n")
        if block.first and not block.tail:
            assert block.first.count(b"\n") == 1
        numbers.append(block.index)
        found += data
    assert numbers == list(range(numbers[0] if numbers else 0, (numbers[0] if numbers else 0) + len(numbers)))
    return found


@quick
@given(lines, st.booleans(), st.integers(1, 30), st.booleans())
def test_whole_files(tmp_path: Path, found: list[bytes], ends: bool, size: int, packed: bool) -> None:
    data = b"\n".join(found) + (b"\n" if ends else b"")
    path = tmp_path / "x"
    on_disk = gzip.compress(data) if packed else data
    path.write_bytes(on_disk)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", size)
        source = Blocks(path, hashed=True)
        assert read(source) == data
    assert source.damage == ""
    assert source.sha256 == hashlib.sha256(on_disk).hexdigest() == FileDigest(path).hex()


@quick
@given(lines, st.booleans(), st.integers(1, 30), st.integers(1, 60))
def test_ranges_hold_the_lines_that_begin_in_them(
    tmp_path: Path, found: list[bytes], ends: bool, size: int, step: int
) -> None:
    data = b"\n".join(found) + (b"\n" if ends else b"")
    path = tmp_path / "x"
    path.write_bytes(data)
    starts = [0, *(i for i, byte in enumerate(data, 1) if byte == 10 and i < len(data))] if data else []
    edges = [*range(0, max(1, len(data)), step)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", size)
        for start, end in zip(edges, [*edges[1:], None], strict=True):
            begun = [s for s in starts if s >= start and (end is None or s < end)]
            after = [s for s in starts if end is not None and s >= end]
            expected = data[begun[0] : after[0] if after else len(data)] if begun else b""
            piece = pickle.loads(pickle.dumps(Blocks(path, start=start, end=end)))
            assert read(piece) == expected, (start, end)


def test_several_readers_share_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1000)
    path = tmp_path / "x"
    data = b"".join(b"%d\n" % i for i in range(20_000))
    path.write_bytes(data)
    source = Blocks(path, hashed=True)

    def take() -> list[tuple[int, bytes]]:
        return [(block.index, bytes(block.joined())) for block in source]

    with ThreadPoolExecutor(3) as pool:
        shares = [future.result() for future in [pool.submit(take) for _ in range(3)]]
    every = sorted(pair for share in shares for pair in share)
    assert b"".join(piece for _, piece in every) == data
    assert [index for index, _ in every] == list(range(len(every)))
    assert source.sha256 == hashlib.sha256(data).hexdigest()


def test_a_reader_that_stops_early_leaves_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1000)  # far more blocks than may wait to be read
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"".join(b"line %d\n" % (i * i) for i in range(100_000)), 1))
    reading = iter(Blocks(path))
    next(reading)
    assert "read points" in {thread.name for thread in threading.enumerate()}
    reading.close()  # type: ignore[attr-defined]  # a generator
    assert "read points" not in {thread.name for thread in threading.enumerate()}


def test_a_reader_that_fails_beside_a_waiting_block_lets_the_others_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three readers; one gives up while a block lies ready, another takes that block, the third finds nothing."""
    path = tmp_path / "file"
    path.write_bytes(b"line\n" * 10_000)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 100)
    file = Blocks(path)
    first = iter(file)
    next(first)
    while not file._ready.full():
        pass
    first.close()  # type: ignore[attr-defined]  # as an error in its loop does
    others = [threading.Thread(target=lambda: list(file), daemon=True) for _ in range(2)]
    for other in others:
        other.start()
    for other in others:
        other.join(5)
        assert not other.is_alive()


def test_damage_is_said_and_the_digest_is_of_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    packed = gzip.compress(b"".join(b"line %d\n" % (i * i) for i in range(10_000)))
    broken = bytearray(packed)
    broken[len(broken) // 2] ^= 0xFF
    path.write_bytes(bytes(broken))
    source = Blocks(path, hashed=True)
    read(source)
    assert source.damage.startswith("gzip stream")
    assert source.sha256 == hashlib.sha256(bytes(broken)).hexdigest()


def test_a_file_that_vanishes_is_an_error_where_it_is_read(tmp_path: Path) -> None:
    source = Blocks(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        read(source)


def test_a_line_that_never_ends_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(blocks, "MAX_LINE_BYTES", 1 << 20)
    path = tmp_path / "x"
    path.write_bytes(b"short\n" + b"x" * (3 << 20) + b"\nafter\n")
    source = Blocks(path)
    assert read(source) == b"short\n"
    assert source.damage == "a line of more than 1 MB"
