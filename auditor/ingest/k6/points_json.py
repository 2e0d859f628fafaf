"""k6's JSON points (`--out json=FILE`): one object a line, read in columns.

Lines in the two shapes that k6 writes (0.30 to 0.40: type, data, metric; from 0.41: metric, type, data) are
matched in native code, block by block; no Python object is made for a sample. Every other line (Metric
lines, +Inf, odd spacing, damage) goes through `json`, one by one.

For large files a compiled scanner (`points_fast`) takes the canonical lines first, and what is here reads
what it leaves: the samples and the report are the same with and without it.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from auditor.evidence import MetricDefinition, PointBatch, Tags
from auditor.inputs import columns, streams
from auditor.inputs.blocks import MAX_LINE_BYTES, Blocks
from auditor.inputs.points_file import BlockPart, PointsFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy.typing as npt
    import pyarrow as pa

    from auditor.ingest.k6.points_fast import Interned, Scanned, Scanner
    from auditor.inputs.blocks import Block
    from auditor.inputs.redact import Redactor

FAST_FROM_BYTES = 16 << 20
"""From this size on the scanner saves more time than loading it costs (50 ms)."""
MAKE_FROM_BYTES = 150 << 20
"""From this size on the scanner is worth compiling, which takes some seconds once."""
EXPECTED_EXPANSION = 25
"""How many times smaller a compressed file is assumed to be than its text."""
FEW = 200
"""Up to this many lines of a block that the scanner leaves go through `json`, without loading pyarrow."""
ScannerUse = Literal["none", "kept", "made"]
"""Whether the compiled scanner is used: never, only if it has been compiled before, or always."""

# A JSON string and a flat object of strings, deterministic so that the matcher needs no backtracking.
_STRING = r'"(?:[^"\\]|\\.)*"'
_PLAIN = r"[ !#-\[\]-~]*"  # what `json` takes as it is, where nothing else looks at it
_TAGS = rf"\{{(?:{_STRING}:{_STRING},?)*\}}|null"
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_STAMP = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})"
_DATA = (
    rf'"data":\{{"time":"(?P<time>{_STAMP})","value":(?P<value>{_NUMBER}),"tags":(?P<tags>{_TAGS})'
    rf'(?:,"metadata":\{{(?:"{_PLAIN}":"{_PLAIN}",?)*\}})?\}}'
)
_NAME = rf'"metric":"(?P<metric>{_PLAIN})"'
_SHAPES = (
    rf'^\{{{_NAME},"type":"Point",{_DATA}\}}\r?\n$',
    rf'^\{{"type":"Point",{_DATA},{_NAME}\}}\r?\n$',
)
_OBJECT_START = re.compile(r"\{")
_STAMP_PARTS = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$")


class JsonPoints(PointsFile):
    """A points file in JSON lines."""

    def __init__(
        self,
        file: Path,
        label: str,
        *,
        pretty: bool = False,
        mixed: bool = False,
        redactor: Redactor | None = None,
        fast: bool | None = None,
    ) -> None:
        """``pretty``: objects span lines. ``mixed``: console text stands between them (--out json=-).

        ``fast``: whether the compiled scanner takes the canonical lines; by default where it pays.
        """
        super().__init__(file, label, redactor)
        self._pretty = pretty
        self.mixed = mixed
        self.note = "with console text in it" if mixed else ""
        self._compressed = streams.is_compressed(file)
        if fast is None:
            expected_bytes = self.size_bytes * (EXPECTED_EXPANSION if self._compressed else 1)
            self._scanner: ScannerUse = (
                "made"
                if expected_bytes >= MAKE_FROM_BYTES
                else "kept"
                if expected_bytes >= FAST_FROM_BYTES
                else "none"
            )
        else:
            self._scanner = "made" if fast else "none"

    def _whole(self, *, hashed: bool) -> Blocks:
        return Blocks(self.file, hashed=hashed, chunks=_compacted if self._pretty else None)

    def _part(self, blocks: Blocks) -> JsonPart:
        return JsonPart(blocks, mixed=self.mixed, scanner=self._scanner)

    def _splits(self) -> bool:
        return not (self._pretty or self._compressed)


class JsonPart(BlockPart):
    """Blocks of lines as columns. Iterate `batches` once; `report` is whole after the last batch."""

    def __init__(self, blocks: Blocks, *, mixed: bool, scanner: ScannerUse) -> None:
        super().__init__(blocks)
        self._mixed = mixed
        self._use = scanner
        self._scanner: Scanner | None = None
        self._tagset_ids: dict[bytes, int] = {}
        self._preferred = 0
        self._metric_map, self._tagset_map = _IdMap(), _IdMap()

    def batches(self) -> Iterator[PointBatch]:
        """Yield columns, in no particular order inside a block; damage is counted, never raised.

        A batch is valid until the next one is asked for.
        """
        self._blocks.begin()  # while the scanner is loaded
        self._scanner, self._plain_because = _scanner(self._use)
        for block in self._blocks:
            if not block.tail:
                yield from self._read(block)
            elif block.first.strip():
                # k6 ends every line; a last one that parses has lost nothing but its end.
                if _is_whole(block.first):
                    yield from self._read(replace(block, first=block.first + b"\n"))
                else:
                    self._torn = "last line incomplete"

    def _read(self, block: Block) -> Iterator[PointBatch]:
        """Whole lines: the scanner takes the canonical ones, if there is one, and the plain reader the rest."""
        if self._scanner is None:
            data = block.joined()
            newline = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == 10)
            self._lines.append((block.index, len(newline)))
            numbers = np.arange(1, 1 + len(newline))
            yield from self._read_plain(data, newline, numbers, block.index)
            return
        scanned = self._scanner.scan(block.first, block.data)
        good, odd, odd_line = self._resolve(block, scanned)
        self._lines.append((block.index, scanned.lines))
        numbers = odd_line.astype(np.int64) + 1
        if len(numbers) > FEW:
            newline = np.flatnonzero(np.frombuffer(odd, dtype=np.uint8) == 10)
            yield from self._read_plain(odd, newline, numbers, block.index)
        elif odd:
            yield from self._read_odd(odd.split(b"\n")[:-1], numbers, block.index)
        if good is not None:
            self._note(good.time_ns)
            yield good

    def _resolve(
        self, block: Block, scanned: Scanned
    ) -> tuple[PointBatch | None, bytes, npt.NDArray[np.int32]]:
        """The scanner's rows under the ids of this file's tables; and all lines that are for the plain reader.

        Among those are lines whose tags `json` does not parse, and lines whose value is not finite.
        """
        assert self._scanner is not None
        if not len(scanned.value):
            return None, scanned.odd, scanned.odd_line
        tagset = self._tagset_map.take(scanned.tagset, self._scanner.tagsets, self._tagset_of_raw)
        finite = np.isfinite(scanned.value)
        if tagset.min() >= 0 and finite.all():
            metric = self._metric_map.take(scanned.metric, self._scanner.metrics, self._metric_id)
            batch = PointBatch(metric, scanned.time_ns, scanned.value, tagset)
            return batch, scanned.odd, scanned.odd_line
        sound = (tagset >= 0) & finite
        metric = self._metric_map.take(scanned.metric[sound], self._scanner.metrics, self._metric_id)
        batch = PointBatch(metric, scanned.time_ns[sound], scanned.value[sound], tagset[sound])
        odd_line = np.sort(np.concatenate((scanned.odd_line, scanned.line[~sound])))
        data = block.joined()
        ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == 10) + 1
        starts = np.concatenate(([0], ends[:-1]))
        odd = b"".join(
            data[start:end]
            for start, end in zip(starts[odd_line].tolist(), ends[odd_line].tolist(), strict=True)
        )
        return batch if len(metric) else None, odd, odd_line

    def _read_plain(
        self,
        data: bytes | memoryview,
        newline: npt.NDArray[np.int64],
        numbers: npt.NDArray[np.int64],
        block: int,
    ) -> Iterator[PointBatch]:
        """Lines by where their line feeds stand and by their numbers in the block."""
        import pyarrow as pa

        offsets = np.empty(len(newline) + 1, dtype=np.int64)
        offsets[0] = 0
        offsets[1:] = newline + 1
        lines = pa.Array.from_buffers(
            pa.large_binary(), len(newline), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        )
        open_rows: npt.NDArray[np.int64] = np.arange(len(newline))
        matches: list[PointBatch] = []
        for shape in (self._preferred, 1 - self._preferred):
            matched = self._match(lines, shape)
            if matched is not None:
                batch, hit = matched
                if 2 * int(hit.sum()) > len(hit):
                    self._preferred = shape
                matches.append(batch)
                open_rows = open_rows[~hit]
                lines = lines.filter(columns.mask(~hit))
            if not len(open_rows):
                break
        # Metric lines first: they say which metrics have thresholds before the first of their samples.
        yield from self._read_odd(lines.to_pylist(), numbers[open_rows], block)
        yield from matches

    def _match(self, lines: pa.Array, shape: int) -> tuple[PointBatch, npt.NDArray[np.bool_]] | None:
        import pyarrow as pa
        import pyarrow.compute as pc

        found = pc.extract_regex(lines, _SHAPES[shape])
        hit = columns.is_valid(found)
        if not hit.any():
            return None
        if not hit.all():
            found = found.filter(columns.mask(hit))
        stamp = found.field("time").cast(pa.string())
        try:
            time_ns = columns.to_numpy(stamp.cast(pa.timestamp("ns", tz="UTC")).cast(pa.int64()), np.int64)
            value = columns.to_numpy(found.field("value").cast(pa.string()).cast(pa.float64()), np.float64)
        except pa.ArrowInvalid:
            return None  # a 13th month, say: the line-by-line reader finds and counts it
        if not np.isfinite(value).all():
            return None
        batch = PointBatch(
            metric=self._intern(found.field("metric"), self._metric_id),
            time_ns=time_ns,
            value=value,
            tagset=self._intern(found.field("tags"), self._tagset_of_raw),
        )
        if (batch.tagset < 0).any() or (batch.metric < 0).any():
            return None
        self._note(time_ns)
        return batch, hit

    @staticmethod
    def _intern(column: pa.Array, identify: Any) -> npt.NDArray[np.int32]:
        encoded = column.dictionary_encode()
        ids = np.fromiter((identify(text.as_py()) for text in encoded.dictionary), dtype=np.int32)
        taken: npt.NDArray[np.int32] = ids[columns.to_numpy(encoded.indices, np.int32)]
        return taken

    def _tagset_of_raw(self, raw: bytes) -> int:
        known = self._tagset_ids.get(raw)
        if known is None:
            try:
                tags = _tags(json.loads(raw))
            except (ValueError, RecursionError):
                return -1
            known = self._tagset_ids[raw] = self._tagset_id(tags)
        return known

    def _read_odd(self, lines: list[bytes], numbers: npt.NDArray[np.int64], block: int) -> Iterator[PointBatch]:
        metric: list[int] = []
        time_ns: list[int] = []
        value: list[float] = []
        tagset: list[int] = []
        for number, raw in zip(numbers.tolist(), lines, strict=True):
            place = (block, number)
            if not raw.strip() or (self._mixed and not raw.lstrip().startswith(b"{")):
                continue
            try:
                point = self._parse(raw, place)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
                self._note_malformed(block, number)
                continue
            if point is not None:
                metric.append(point[0])
                time_ns.append(point[1])
                value.append(point[2])
                tagset.append(point[3])
        if metric:
            times = np.array(time_ns, dtype=np.int64)
            self._note(times)
            yield PointBatch(
                np.array(metric, dtype=np.int32),
                times,
                np.array(value, dtype=np.float64),
                np.array(tagset, dtype=np.int32),
            )

    def _parse(self, raw: bytes, place: tuple[int, int]) -> tuple[int, int, float, int] | None:
        """One line through `json`: a point; None for a Metric line (noted) or a value that is no number."""
        if b'"value":+Inf' in raw:
            raw = raw.replace(b'"value":+Inf', b'"value":Infinity')
        elif b'"value":-Inf' in raw:
            raw = raw.replace(b'"value":-Inf', b'"value":-Infinity')
        item = json.loads(raw, parse_int=_whole_number)
        kind = item["type"]
        name, data = item["metric"], item["data"]
        if not isinstance(name, str):
            raise TypeError("metric is not a string")
        if kind == "Metric":
            definition = _definition(name, data)
            if definition.name not in self.tables.definitions:
                self.tables.definitions[definition.name] = definition
                self.tables.defined_at[definition.name] = place
            return None
        if kind != "Point":
            raise ValueError("neither Metric nor Point")
        value = data["value"]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError("value is not a number")
        stamp = stamp_ns(data["time"])
        if not math.isfinite(value):
            self._unfinite += 1
            return None
        metric = self._metric_id(name.encode("utf-8", errors="replace"))
        return metric, stamp, float(value), self._tagset_id(_tags(data.get("tags")))


class _IdMap:
    """From the scanner's ids to those of a file's tables, filled in as they first occur in a sample."""

    def __init__(self) -> None:
        self._known: npt.NDArray[np.int32] = np.empty(0, dtype=np.int32)

    def take(
        self, ids: npt.NDArray[np.int32], interned: Interned, identify: Callable[[bytes], int]
    ) -> npt.NDArray[np.int32]:
        if len(interned) > len(self._known):
            grown = np.full(2 * len(interned), _UNSEEN, dtype=np.int32)
            grown[: len(self._known)] = self._known
            self._known = grown
        found: npt.NDArray[np.int32] = self._known.take(ids)
        if len(found) and found.min() <= _UNSEEN:
            for i in np.unique(ids[found == _UNSEEN]).tolist():
                self._known[i] = identify(interned[i])
            found = self._known.take(ids)
        return found


_UNSEEN = -2


def _scanner(use: ScannerUse) -> tuple[Scanner | None, str]:
    """The compiled scanner, where it is wanted and can be had; why it cannot be had."""
    if use == "none":
        return None, ""
    from auditor.ingest.k6.native import Unavailable
    from auditor.ingest.k6.points_fast import Scanner

    try:
        return Scanner(make=use == "made"), ""
    except Unavailable as problem:
        return None, str(problem)


def stamp_ns(stamp: str) -> int:
    """RFC 3339 with up to nine decimals and any offset, as ns since the epoch.

    Raises:
        ValueError: if it is not a time stamp.
    """
    import datetime

    parts = _STAMP_PARTS.match(stamp)
    if parts is None:
        raise ValueError(f"not a time stamp: {stamp!r}")
    zone = parts[8].replace("Z", "+00:00")
    whole = datetime.datetime.fromisoformat(f"{stamp[:19]}{zone}")
    found = int(whole.timestamp()) * 1_000_000_000 + int((parts[7] or "0").ljust(9, "0"))
    if not -(2**63) <= found < 2**63:
        raise ValueError(f"a time stamp out of range: {stamp!r}")
    return found


def _compacted(file: streams.ByteFile) -> Iterator[bytes]:
    """Objects that span several lines, one a line; what is no JSON is passed on, to be counted."""
    decoder = json.JSONDecoder(parse_int=_whole_number)
    rest = ""
    damage: streams.DamagedStream | None = None
    blocks = streams.decoded(file)
    while True:
        try:
            block = next(blocks, None)
        except streams.DamagedStream as problem:
            damage, block = problem, None
        rest += streams.decode(block) if block else ""
        out: list[str] = []
        at = 0
        while match := _OBJECT_START.search(rest, at):
            try:
                item, end = decoder.raw_decode(rest, match.start())
            except (ValueError, RecursionError):
                if block is not None and len(rest) - match.start() < MAX_LINE_BYTES:
                    break  # its end may come with the next block
                end_of_line = rest.find("\n", match.start())
                end = len(rest) if end_of_line < 0 else end_of_line + 1
                out.append(rest[match.start() : end].rstrip("\n"))
            else:
                out.append(json.dumps(item, separators=(",", ":"), ensure_ascii=False))
            at = end
        rest = rest[at:]
        if out:
            yield ("\n".join(out) + "\n").encode("utf-8", errors="replace")
        if block is None:
            break
    if damage is not None:
        raise damage


def _whole_number(text: str) -> float:
    """An int; but "-0", as Go writes it, keeps its sign, which an int has no place for."""
    return -0.0 if text == "-0" else int(text)


def _is_whole(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _tags(tags: Any) -> Tags:
    if tags is None:
        return ()
    if not isinstance(tags, dict) or not all(isinstance(v, str) for v in tags.values()):
        raise TypeError("tags are not an object of strings")
    return tuple(sorted(tags.items()))


def _definition(name: str, data: Any) -> MetricDefinition:
    thresholds = data.get("thresholds") or []
    submetrics = data.get("submetrics") or []
    return MetricDefinition(
        name=name,
        type=str(data["type"]),
        contains=str(data.get("contains", "default")),
        thresholds=tuple(str(t["threshold"]) if isinstance(t, dict) else str(t) for t in thresholds),
        submetrics=tuple(str(s["name"]) for s in submetrics),
    )
