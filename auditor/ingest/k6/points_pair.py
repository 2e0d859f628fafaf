"""Whether two points files of different formats are of one run. Looks, without reading the samples."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from auditor.ingest.k6 import points_csv
from auditor.ingest.k6.points_json import stamp_ns
from auditor.inputs import streams

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_TIME = re.compile(rb'"time"\s*:\s*"([^"]+)"')
_METRIC_LINE = re.compile(rb'^\{"type":"Metric",[^\n]*"metric":"iterations"\}', re.M)


class Stamp(NamedTuple):
    ns: int
    resolution_ns: int


class Count(NamedTuple):
    iterations: int
    torn: bool


class Glance(NamedTuple):
    """What can be told of a points file at a glance."""

    first_stamp: Callable[[Path], Stamp | None]
    """Of the first sample; None if there is none."""
    iterations: Callable[[Path], Count]


def difference(one: Path, at_one: Glance, other: Path, at_other: Glance) -> str:
    """Why the two cannot be one run; empty if nothing speaks against it.

    k6 hands every sample to both outputs in the same order, so the first stamps are equal, at the coarser
    resolution, and so are the counts, unless one of the files is cut off: a killed k6 has written the JSON up
    to 200 ms before its end, the CSV up to 1 s.
    """
    first, first_other = at_one.first_stamp(one), at_other.first_stamp(other)
    if first is None or first_other is None:
        return "one of them holds no sample"
    resolution_ns = max(first.resolution_ns, first_other.resolution_ns)
    if first.ns // resolution_ns != first_other.ns // resolution_ns:
        return "their first samples are of different times"
    counted, counted_other = at_one.iterations(one), at_other.iterations(other)
    if counted.iterations != counted_other.iterations and not (counted.torn or counted_other.torn):
        return f"one has {counted.iterations:,} iterations, the other {counted_other.iterations:,}"
    return ""


def _first_json_stamp(path: Path) -> Stamp | None:
    found = _TIME.search(streams.head(path))
    try:
        return Stamp(stamp_ns(found[1].decode()), 1) if found else None
    except ValueError:
        return None


def _first_csv_stamp(path: Path) -> Stamp | None:
    found = points_csv.first_stamp(path)
    return None if found is None else Stamp(found.stamp_ns, found.resolution_ns)


def _count_json(path: Path) -> Count:
    points = 0
    torn = False
    rest = b""
    try:
        for chunk in streams.chunks(path):
            block = rest + chunk
            cut = block.rfind(b"\n") + 1
            block, rest = block[:cut], block[cut:]
            points += block.count(b'"metric":"iterations"')
            if b'"type":"Metric"' in block:
                points -= len(_METRIC_LINE.findall(block))
    except streams.DamagedStream:
        torn = True
    return Count(points, torn or bool(rest.strip()))


def _count_csv(path: Path) -> Count:
    rows = 0
    torn = False
    rest = b"\n"
    try:
        for chunk in streams.chunks(path):
            block = rest + chunk
            cut = block.rfind(b"\n")
            rows += block.count(b"\niterations,", 0, cut)
            rest = block[cut:]
    except streams.DamagedStream:
        torn = True
    return Count(rows, torn or bool(rest.strip()))


JSON = Glance(_first_json_stamp, _count_json)
CSV = Glance(_first_csv_stamp, _count_csv)
