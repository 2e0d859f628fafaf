"""Whether a JSON and a CSV points file in one folder are of one run. Looks, without reading the samples."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from auditor.ingest.k6 import points_csv
from auditor.ingest.k6.points_json import stamp_ns
from auditor.inputs import streams

if TYPE_CHECKING:
    from pathlib import Path

_TIME = re.compile(rb'"time"\s*:\s*"([^"]+)"')
_METRIC_LINE = re.compile(rb'^\{"type":"Metric",[^\n]*"metric":"iterations"\}', re.M)


class _Count(NamedTuple):
    iterations: int
    torn: bool


def difference(json_path: Path, csv_path: Path) -> str:
    """Why the two cannot be one run; empty if nothing speaks against it.

    k6 hands every sample to both outputs in the same order, so the first stamps are equal, at the coarser
    resolution, and so are the counts, unless one of the files is cut off: a killed k6 has written the JSON up
    to 200 ms before its end, the CSV up to 1 s.
    """
    first_json, first_csv = _first_json_stamp(json_path), points_csv.first_stamp(csv_path)
    if first_json is None or first_csv is None:
        return "one of them holds no sample"
    resolution_ns = first_csv.resolution_ns
    if first_json // resolution_ns != first_csv.stamp_ns // resolution_ns:
        return "their first samples are of different times"
    in_json, in_csv = _count_json(json_path), _count_csv(csv_path)
    if in_json.iterations != in_csv.iterations and not (in_json.torn or in_csv.torn):
        return f"one has {in_json.iterations:,} iterations, the other {in_csv.iterations:,}"
    return ""


def _first_json_stamp(path: Path) -> int | None:
    found = _TIME.search(streams.head(path))
    try:
        return stamp_ns(found[1].decode()) if found else None
    except ValueError:
        return None


def _count_json(path: Path) -> _Count:
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
    return _Count(points, torn or bool(rest.strip()))


def _count_csv(path: Path) -> _Count:
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
    return _Count(rows, torn or bool(rest.strip()))
