"""Where the counts of each generator come from: its points, or, without them, its end-of-test summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from auditor.evidence import Evidence, Summary
from auditor.facts.missing import Missing
from auditor.facts.store import Unknown, provides


@dataclass(frozen=True)
class CountSources:
    """By generator: the file its figures are counted from."""

    path_of: Mapping[str, str]
    summaries: Mapping[str, Summary]
    """Generators that left no points, and the summary that stands in for them."""

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(self.path_of.values())

    def file(self, generator: str) -> tuple[str, ...]:
        """The file of one generator, as a finding's evidence; empty if it left none."""
        path = self.path_of.get(generator)
        return (path,) if path else ()


@provides
def counted(evidence: Evidence) -> CountSources:
    """Points before summaries.

    Raises:
        Unknown: if no generator left either.
    """
    paths: dict[str, str] = {}
    summaries: dict[str, Summary] = {}
    for generator in evidence.generators:
        if generator.points is not None:
            paths[generator.name] = generator.points.path
        elif generator.summaries:
            summaries[generator.name] = generator.summaries[0]
            paths[generator.name] = generator.summaries[0].path
    if not paths:
        raise Unknown(
            "no k6 points file was found",
            "record the run with `k6 run --out json=k6.json.gz` and keep the file",
            missing=Missing.POINTS,
        )
    return CountSources(paths, summaries)
