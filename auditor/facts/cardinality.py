"""Time series counted the k6 way: distinct (metric, tag set), metadata left out, per k6 process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from auditor.evidence import Evidence
from auditor.facts.missing import Missing
from auditor.facts.samples import Samples
from auditor.facts.store import Unknown, provides
from auditor.samples.columns import GeneratorSamples

_ID = re.compile(
    r"^(?:\d+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?=[0-9a-f]*\d)[0-9a-f]{8,}|\[redacted-\d+\])$",
    re.I,
)
_ORIGIN = re.compile(r"^[a-z][a-z0-9+.-]*://[^/?#]*", re.I)
_METHOD = re.compile(r"^[A-Z]+ ")


@dataclass(frozen=True)
class SeriesCount:
    """Series of one generator."""

    generator: str
    series: int | None
    """None without points: then only k6's warning tells."""
    warned: int
    """The largest number k6 itself warned of; 0 if it did not."""
    names: int
    """Distinct `name` tags."""
    names_with_id: int
    example: str
    worst_tag: str
    worst_tag_values: int
    """Distinct values of the tag with the most of them."""

    @property
    def at_least(self) -> int:
        return max(self.series or 0, self.warned)


@dataclass(frozen=True)
class Cardinality:
    """By generator."""

    by_generator: Mapping[str, SeriesCount]


@provides
def cardinality(samples: Samples | None, evidence: Evidence) -> Cardinality:
    """Count series and find the tag that makes most of them; without points, what k6 warned of.

    Raises:
        Unknown: without points, if k6's log warns of nothing.
    """
    warned = {g.name: g.log.time_series if g.log is not None else 0 for g in evidence.generators}
    if samples is None and not any(warned.values()):
        raise Unknown(
            "no k6 points file was found, and k6's log warns of no number of time series",
            "record the run with `k6 run --out json=k6.json.gz` and keep the file",
            missing=Missing.POINTS,
        )
    found = {name: _warned(name, number) for name, number in warned.items() if number}
    for name, one in samples.by_generator.items() if samples is not None else ():
        found[name] = _count(name, one, warned.get(name, 0))
    return Cardinality(found)


def _warned(generator: str, number: int) -> SeriesCount:
    return SeriesCount(generator, None, number, 0, 0, "", "", 0)


def _count(generator: str, samples: GeneratorSamples, warned: int) -> SeriesCount:
    values: dict[str, set[str]] = {}
    used = np.unique(samples.series_tagset)
    for index in used.tolist():
        for key, value in samples.tagsets[index]:
            values.setdefault(key, set()).add(value)
    names = {name for name in values.get("name", set()) if name}
    with_id = sorted(name for name in names if has_id(name))
    # `url` follows `name` since k6 0.41: the name is the one to fix.
    ranked = sorted(values, key=lambda tag: (-len(values[tag]), tag == "url", tag))
    worst = ranked[0] if ranked else ""
    return SeriesCount(
        generator=generator,
        series=len(samples.series_tagset),
        warned=warned,
        names=len(names),
        names_with_id=len(with_id),
        example=with_id[0] if with_id else "",
        worst_tag=worst,
        worst_tag_values=len(values.get(worst, ())),
    )


def has_id(name: str) -> bool:
    """Whether a request name has a path segment or query value that is a number, a hex id or a UUID."""
    path = _ORIGIN.sub("", _METHOD.sub("", name))
    path, _, query = path.partition("?")
    query = query.split("#", 1)[0]
    path = path.split("#", 1)[0]
    parts = path.split("/") + [pair.partition("=")[2] for pair in query.split("&") if pair]
    return any(_ID.match(part) for part in parts)
