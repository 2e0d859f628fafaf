"""What a columnar copy says of the points file that it was made of: JSON in the file's key-value metadata."""

from __future__ import annotations

import functools
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from auditor.evidence import MetricDefinition, PartReport

if TYPE_CHECKING:
    from auditor.evidence import Tags

FORMAT_VERSION = 1
ABOUT_KEY, DIGEST_KEY = b"k6-auditor", b"k6-auditor.sha256"
"""The JSON, and the SHA-256 of that."""


@dataclass(frozen=True)
class Original:
    """The points file that a copy was made of."""

    name: str
    format: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class About:
    """What a copy says beside the samples."""

    tool: str
    original: Original
    read: PartReport
    """How reading the original went, as if one part of one block had read it."""
    definitions: tuple[MetricDefinition, ...]
    metrics_without_samples: tuple[str, ...] = ()
    """Metric names that occur only in lines without a sample; `tagsets` likewise."""
    tagsets_without_samples: tuple[Tags, ...] = ()

    def as_json(self) -> bytes:
        read = self.read
        document = {
            "format": FORMAT_VERSION,
            "tool": self.tool,
            "original": asdict(self.original),
            "read": {
                "lines": sum(lines for _, lines in read.lines),
                "points": read.points,
                "malformed": read.malformed,
                "first_malformed_line": read.first_malformed[1] if read.first_malformed else None,
                "dropped_values": read.dropped_values,
                "torn": read.torn,
                "overwritten": read.overwritten,
                "stamp_unit_ns": read.stamp_unit_ns,
            },
            "definitions": [asdict(definition) for definition in self.definitions],
            "without_samples": {
                "metrics": list(self.metrics_without_samples),
                "tags": [tags_text(tags) for tags in self.tagsets_without_samples],
            },
        }
        return json.dumps(document, separators=(",", ":")).encode()


def version_of(raw: bytes) -> int:
    """
    Raises:
        ValueError, TypeError, KeyError: if the metadata names no original.
    """
    return _natural(json.loads(raw)["format"])


def read_about(raw: bytes) -> About:
    """
    Raises:
        ValueError, TypeError, KeyError: if it is not as it should be.
    """
    said = json.loads(raw)
    read, original = said["read"], said["original"]
    malformed, first = _natural(read["malformed"]), read["first_malformed_line"]
    lines, points, unit_ns = _natural(read["lines"]), _natural(read["points"]), _natural(read["stamp_unit_ns"])
    if (first is None) != (malformed == 0) or (first is not None and not 1 <= _natural(first) <= lines):
        raise ValueError("the first malformed line is not one of its lines")
    if points + malformed > lines or unit_ns not in (1, 10**3, 10**6, 10**9):
        raise ValueError("its counts contradict each other")
    return About(
        tool=_text(said["tool"]),
        original=Original(
            _text(original["name"]),
            _text(original["format"]),
            _natural(original["size_bytes"]),
            _text(original["sha256"]),
        ),
        read=PartReport(
            lines=((0, lines),),
            points=points,
            malformed=malformed,
            first_malformed=None if first is None else (0, first),
            dropped_values=_natural(read["dropped_values"]),
            torn=_text(read["torn"]),
            overwritten=read.get("overwritten", False) is not False,
            stamp_unit_ns=unit_ns,
        ),
        definitions=tuple(
            MetricDefinition(
                name=_text(one["name"]),
                type=_text(one["type"]),
                contains=_text(one["contains"]),
                thresholds=tuple(_text(text) for text in one["thresholds"]),
                submetrics=tuple(_text(text) for text in one["submetrics"]),
            )
            for one in said["definitions"]
        ),
        metrics_without_samples=tuple(_text(name) for name in said["without_samples"]["metrics"]),
        tagsets_without_samples=tuple(tags_of(_text(text)) for text in said["without_samples"]["tags"]),
    )


def _natural(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise TypeError(f"{value!r} is not a count")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def tags_text(tags: Tags) -> str:
    """A tag set as compact JSON, keys in order. What UTF-8 cannot hold (half a surrogate pair) is escaped."""
    try:
        "".join(part for pair in tags for part in pair).encode()
    except UnicodeEncodeError:
        escaped = True
    else:
        escaped = False
    write = functools.partial(json.dumps, ensure_ascii=escaped)
    return "{" + ",".join(f"{write(key)}:{write(value)}" for key, value in tags) + "}"


def tags_of(text: str) -> Tags:
    """
    Raises:
        ValueError, RecursionError: if it is not a JSON object of strings.
    """
    if not text.startswith("{"):
        raise ValueError("tags that are not an object of strings")
    # Objects become tuples of pairs, so that one within another is no string either.
    pairs = json.loads(text, object_pairs_hook=tuple)
    if not all(isinstance(value, str) for _, value in pairs):
        raise ValueError("tags that are not an object of strings")
    return tuple(sorted(pairs))
