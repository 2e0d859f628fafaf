"""What points files of every format have in common: they are read in parts, once, and hashed on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.evidence import PointTables, Position
from auditor.ingest.blocks import Blocks, FileDigest
from auditor.ingest.redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from auditor.evidence import PointsPart

CHUNK_BYTES = 256 << 20
"""Of a file, for a worker in another process: some seconds of work, so that a lost one costs little."""


class PointsFile:
    """A points file; a format says how blocks of its lines are parsed (`_part`)."""

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
