"""The samples of every generator, read once for all facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from auditor.evidence import Declared, Evidence, GeneratorEvidence
from auditor.facts.missing import Missing
from auditor.facts.store import Unknown, provides
from auditor.samples.columns import GeneratorSamples, merged
from auditor.samples.reduce import KEPT, Reduced
from auditor.samples.workers import Workers


@dataclass(frozen=True)
class Samples:
    """The samples of every generator that left points."""

    by_generator: Mapping[str, GeneratorSamples]

    @property
    def plain_reader_note(self) -> str:
        """One line on the large points files that were read without the compiled scanner, and why; or empty."""
        slow = [s for s in self.by_generator.values() if s.read.plain_because]
        names = ", ".join(s.path for s in slow)
        return f"plain reader for {names}: {slow[0].read.plain_because}" if slow else ""


@provides
def samples(evidence: Evidence, declared: Declared, workers: Workers) -> Samples:
    """Read every generator's points, once."""
    with_points = [(g, g.points) for g in evidence.generators if g.points is not None]
    if not with_points:
        raise Unknown(
            "no k6 points file was found",
            "record the run with `k6 run --out json=k6.json.gz` and keep the file",
            missing=Missing.POINTS,
        )
    wanted = [(source, KEPT | _named(generator, declared)) for generator, source in with_points]
    reduced = workers.reduce(wanted)
    found: dict[str, GeneratorSamples] = {}
    for (generator, source), (_, keep), parts in zip(with_points, wanted, reduced, strict=True):
        if late := _defined_late(parts):
            # Somebody met samples of a metric before it was known to have thresholds.
            keep |= late
            (parts,) = workers.reduce([(source, keep)])
        found[generator.name] = own = merged(source, parts, workers.spill)
        if own.untagged and not own.grouped and own.count_of.get("data_sent"):
            # Only its times tell what setup(), iterations and teardown() sent.
            (parts,) = workers.reduce([(source, keep | {"data_sent"})])
            found[generator.name] = merged(source, parts, workers.spill)
    return Samples(found)


def _named(generator: GeneratorEvidence, declared: Declared) -> frozenset[str]:
    """Metrics that somebody asks for by name."""
    named = {declared.latency_metric} if declared.latency_metric else set()
    if (told := generator.source_of("thresholds")) is not None:
        named |= {metric.split("{", 1)[0] for metric in told.thresholds}
    return frozenset(named)


def _defined_late(parts: Sequence[Reduced]) -> frozenset[str]:
    with_thresholds = {
        name for part in parts for name, definition in part.tables.definitions.items() if definition.thresholds
    }
    return frozenset(with_thresholds & {name for part in parts for name in part.passed_over})
