"""What points files of every format have in common: they are read in parts, once, and hashed on the way."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from auditor.evidence import PartReport, PointTables, Position
from auditor.inputs.blocks import Blocks, FileDigest
from auditor.inputs.redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

    from auditor.evidence import PointsPart, Tags

CHUNK_BYTES = 256 << 20
"""Bytes of a file for a worker in another process: some seconds of work, so that a lost worker costs little."""


class PointsFile:
    """A points file; a format says how blocks of its lines are parsed (`_part`)."""

    mixed = False
    """Whether k6's console text stands between the samples (--out json=-)."""
    note = ""
    """What is to be said of the file beside its format."""

    def __init__(self, file: Path, label: str, redactor: Redactor | None = None) -> None:
        self.path = label
        self.file = file.absolute()
        self.size_bytes = file.stat().st_size
        self.sha256 = FileDigest(self.file)
        self._redactor = redactor or Redactor()
        self._parts: Sequence[PointsPart] = ()
        self._blocks: Blocks | None = None

    def parts(self, n: int, *, hashed: bool = True) -> Sequence[PointsPart]:
        self._blocks = self._whole(hashed=hashed)
        self._parts = [self._part(self._blocks) for _ in range(max(1, n))]
        return self._parts

    def chunks(self) -> Sequence[PointsPart]:
        if not self._splits():
            return [self._part(self._whole(hashed=True))]
        starts = range(0, max(1, self.size_bytes), CHUNK_BYTES)
        ends = [*starts[1:], None]
        return [
            self._part(Blocks(self.file, start=start, end=end, first_index=i << 32, of_bytes=self.size_bytes))
            for i, (start, end) in enumerate(zip(starts, ends, strict=True))
        ]

    def masked(self, tables: PointTables) -> PointTables:
        """In the order of the tables, so that a mask's number does not depend on who read what first."""
        return PointTables(
            [self._redactor.text(name) for name in tables.metrics],
            [self._redactor.tags(tags) for tags in tables.tagsets],
            {
                masked.name: masked
                for definition in tables.definitions.values()
                for masked in [self._redactor.value(definition)]
            },
        )

    def position(self) -> Position:
        read = self._blocks.read_bytes if self._blocks is not None else 0
        return Position(read, self.size_bytes, sum(part.report().points for part in self._parts))

    def _whole(self, *, hashed: bool) -> Blocks:
        return Blocks(self.file, hashed=hashed)

    def _part(self, blocks: Blocks) -> PointsPart:
        raise NotImplementedError

    def _splits(self) -> bool:
        """Whether any place in the file can be found without what stands before it."""
        return False


class BlockPart:
    """Blocks of lines, whatever their format: names and tag sets are interned, and damage is counted."""

    def __init__(self, blocks: Blocks) -> None:
        self.tables = PointTables()
        self._blocks = blocks
        self._lines: list[tuple[int, int]] = []
        self._points = self._malformed = self._unfinite = 0
        self._first_malformed: tuple[int, int] | None = None
        self._torn = ""
        self._plain_because = ""
        self._metric_ids: dict[bytes, int] = {}
        self._tagset_of: dict[Tags, int] = {}
        self._stamp_gcd = 0

    def report(self) -> PartReport:
        return PartReport(
            lines=tuple(self._lines),
            points=self._points,
            malformed=self._malformed,
            first_malformed=self._first_malformed,
            dropped_values=self._unfinite,
            torn=self._blocks.damage or self._torn,
            overwritten=self._blocks.overwritten,
            stamp_gcd_ns=self._stamp_gcd,
            stamp_unit_ns=self._stamp_unit_ns(),
            sha256=self._blocks.sha256,
            plain_because=self._plain_because,
        )

    def _stamp_unit_ns(self) -> int:
        """What stamps of the format cannot be finer than."""
        return 1

    def _note(self, time_ns: npt.NDArray[np.int64]) -> None:
        """Count samples by their stamps."""
        self._points += len(time_ns)
        if self._stamp_gcd != 1 and len(time_ns):
            self._stamp_gcd = math.gcd(self._stamp_gcd, int(np.gcd.reduce(time_ns)))

    def _note_malformed(self, block: int, line: int) -> None:
        self._malformed += 1
        place = (block, line)
        self._first_malformed = min(self._first_malformed or place, place)

    def _metric_id(self, name: bytes) -> int:
        known = self._metric_ids.get(name)
        if known is None:
            known = self._metric_ids[name] = len(self.tables.metrics)
            self.tables.metrics.append(name.decode("utf-8", errors="replace"))
        return known

    def _tagset_id(self, tags: Tags) -> int:
        known = self._tagset_of.get(tags)
        if known is None:
            known = self._tagset_of[tags] = len(self.tables.tagsets)
            self.tables.tagsets.append(tags)
        return known
