"""Points files as their readers hand them on: tables, batches of columns, and what was read."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    import numpy.typing as npt


Tags = tuple[tuple[str, str], ...]
"""A tag set: sorted (key, value) pairs."""


class Digest(Protocol):
    """SHA-256 of a file, found when it is first asked for, if reading the file has not found it before."""

    def hex(self) -> str: ...

    def note(self, found: str) -> None: ...


@dataclass(frozen=True)
class MetricDefinition:
    """A ``Metric`` line: what k6 says of a metric before its first sample."""

    name: str
    type: str
    contains: str
    thresholds: tuple[str, ...]
    submetrics: tuple[str, ...]


@dataclass
class PointTables:
    """Interned names of what one reader has read: ids in a batch are indices into lists, which only grow."""

    metrics: list[str] = field(default_factory=list)
    tagsets: list[Tags] = field(default_factory=list)
    definitions: dict[str, MetricDefinition] = field(default_factory=dict)
    defined_at: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Block and line of each definition: the first of a metric counts, whoever read it."""


@dataclass(frozen=True)
class PointBatch:
    """Columns of samples, all of one length; time is the stamp that k6 wrote, ns since the epoch (UTC).

    Valid until its reader is asked for the next one: memory is used again.
    """

    metric: npt.NDArray[np.int32]
    time_ns: npt.NDArray[np.int64]
    value: npt.NDArray[np.float64]
    tagset: npt.NDArray[np.int32]


@dataclass(frozen=True)
class MetricBatch:
    """Samples of one metric, whose values are read when somebody asks for them.

    Batches of metrics that have stamps and tag sets in common may hold the same arrays.
    """

    metric_id: int
    time_ns: npt.NDArray[np.int64]
    tagset: npt.NDArray[np.int32]
    read_value: Callable[[], npt.NDArray[np.float64]]

    @cached_property
    def value(self) -> npt.NDArray[np.float64]:
        return self.read_value()

    @property
    def metric(self) -> npt.NDArray[np.int32]:
        import numpy as np

        return np.full(len(self.time_ns), self.metric_id, dtype=np.int32)


@dataclass(frozen=True)
class PartReport:
    """How reading a part of a points file went; known after its last batch."""

    lines: tuple[tuple[int, int], ...] = ()
    """(number of a block in the file, its lines), in any order."""
    points: int = 0
    malformed: int = 0
    first_malformed: tuple[int, int] | None = None
    """Block, and line in it, from 1."""
    dropped_values: int = 0
    torn: str = ""
    overwritten: bool = False
    """Whether NUL bytes stand in it, which k6 never writes: something else wrote on the same file."""
    stamp_gcd_ns: int = 0
    """Greatest common divisor of all stamps; 0 if there was none."""
    stamp_unit_ns: int = 1
    """What the format cannot be finer than."""
    sha256: str = ""
    """Of the file, if this part was all of it, or the last to share it."""
    plain_because: str = field(default="", compare=False)
    """As in `ReadReport`."""


@dataclass(frozen=True)
class ReadReport:
    """How reading a points file went."""

    lines: int = 0
    points: int = 0
    malformed: int = 0
    first_malformed_line: int | None = None
    dropped_values: int = 0
    """Points whose value is no finite number (k6 0.38 to 1.8 writes +Inf)."""
    torn: str = ""
    """Why the end is missing ("gzip stream cut off", "last line incomplete"); empty if it is whole."""
    overwritten: bool = False
    """Whether NUL bytes stand in it."""
    stamp_resolution_ns: int = 1
    """The coarsest power of ten that divides every stamp."""
    plain_because: str = field(default="", compare=False)
    """Why the plain reader read a large file alone ("numba is not installed"); empty if it did not.

    What it says of the file is the same, more slowly: two reports that differ in this are equal.
    """

    @classmethod
    def of(cls, parts: Sequence[PartReport]) -> ReadReport:
        """The whole file's, of those of all its parts."""
        in_order = sorted(pair for part in parts for pair in part.lines)
        first = min((p.first_malformed for p in parts if p.first_malformed is not None), default=None)
        before = sum(lines for block, lines in in_order if first is not None and block < first[0])
        return cls(
            lines=sum(lines for _, lines in in_order),
            points=sum(p.points for p in parts),
            malformed=sum(p.malformed for p in parts),
            first_malformed_line=None if first is None else before + first[1],
            dropped_values=sum(p.dropped_values for p in parts),
            torn=next((p.torn for p in parts if p.torn), ""),
            overwritten=any(p.overwritten for p in parts),
            stamp_resolution_ns=max(
                _power_of_ten(math.gcd(*(p.stamp_gcd_ns for p in parts))),
                *(p.stamp_unit_ns for p in parts),
                1,
            ),
            plain_because=next((p.plain_because for p in parts if p.plain_because), ""),
        )


def _power_of_ten(divisor: int) -> int:
    """The largest power of ten, up to 1 s, that divides every stamp (1 if there was none)."""
    resolution = 1
    while divisor and resolution < 1_000_000_000 and divisor % (resolution * 10) == 0:
        resolution *= 10
    return resolution


class PointsPart(Protocol):
    """Some of the samples of a points file, read once, in batches, by one thread."""

    tables: PointTables

    def batches(self) -> Iterator[PointBatch | MetricBatch]: ...

    def report(self) -> PartReport: ...


@dataclass(frozen=True)
class Position:
    """How far the reading of a points file has come."""

    read_bytes: int
    size_bytes: int
    points: int


class PointsSource(Protocol):
    """A points file. What its parts hold together does not depend on how many there are."""

    path: str

    @property
    def sha256(self) -> Digest: ...

    def parts(self, n: int, *, hashed: bool = True) -> Sequence[PointsPart]:
        """At most n parts, for as many threads, which share one pass over the file: none may be left unread."""

    def chunks(self) -> Sequence[PointsPart]:
        """Parts that can each be sent to another process, which opens the file itself, in their order."""

    def masked(self, tables: PointTables) -> PointTables:
        """The same tables, in the same order, without secrets."""

    def position(self) -> Position: ...


# --- what was asked for -------------------------------------------------------------------------------
