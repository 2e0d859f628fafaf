"""Whether files of one folder, or folders beside each other, are of one run, as far as their texts say.

What the samples say is judged later (`engine.same_run`).
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from auditor.errors import AuditError, not_one_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from auditor.evidence import Console, GeneratorEvidence, Summary

ROUNDING = 1e-3
"""Figures of one run that differ by less than this part may be the same, written with fewer digits."""
_COUNTS = ("iterations", "http_reqs", "data_sent", "data_received")


def refuse_other_summaries(summaries: Sequence[Summary]) -> None:
    """Raise AuditError, naming both, if two summaries are of different runs.

    k6 writes each form of its summary once, so two of one form that differ are two runs. Two forms that differ
    in most of their counts are, too; in a single figure they contradict each other, and rules judge that.
    """
    for one, other in combinations(summaries, 2):
        same_form = one.kind == other.kind
        pairs = list(_figures(one, other, same_form=same_form))
        differing = [name for name, a, b in pairs if not _alike(a, b, 0.0 if same_form else ROUNDING)]
        if differing and (same_form or (len(differing) >= 2 and 2 * len(differing) > len(pairs))):
            raise _two("summaries", one.path, other.path, _first(pairs, differing[0]))


def refuse_other_consoles(consoles: Sequence[Console]) -> None:
    """Raise AuditError, naming both, if two consoles have other banners or other figures."""
    for one, other in combinations(consoles, 2):
        if (
            one.has_banner
            and other.has_banner
            and (one.segment_percent, one.scenarios) != (other.segment_percent, other.scenarios)
        ):
            raise AuditError(
                f"two banners that differ: {one.path} and {other.path}",
                fix="keep only the console of the run that is audited",
            )
        pairs = list(_console_figures(one, other))
        differing = [name for name, a, b in pairs if not _alike(a, b, 0.0)]
        if differing:
            raise _two("consoles", one.path, other.path, _first(pairs, differing[0]))


def refuse_strangers(generators: Sequence[GeneratorEvidence]) -> None:
    """Raise AuditError, naming all, if folders are different runs by their scenarios, plans or times."""
    names = [g.name for g in generators]
    known = [(g.name, found) for g in generators if (found := _scenarios(g))]
    for name, found in known[1:]:
        if not found & known[0][1]:
            raise not_one_run(names, f"{known[0][0]} and {name} share no scenario")
    for one, other in combinations(generators, 2):
        if why := _in_turn(one, other) or _other_plan(one, other):
            raise not_one_run(names, why)


def _figures(one: Summary, other: Summary, *, same_form: bool) -> Iterator[tuple[str, float, float]]:
    """What both summaries say of the same."""
    metrics = [m for m in one.metrics if m in other.metrics] if same_form else _COUNTS
    for metric in metrics:
        keys = one.metrics[metric].values if same_form else ("count",)
        for key in keys:
            a, b = one.value(metric, key), other.value(metric, key)
            if a is not None and b is not None:
                yield f"{metric} {key}", a, b
    if same_form and one.duration_s is not None and other.duration_s is not None:
        yield "length", one.duration_s, other.duration_s
    if same_form and one.metrics.keys() != other.metrics.keys():
        for metric in sorted(one.metrics.keys() ^ other.metrics.keys()):
            yield metric, float(metric in one.metrics), float(metric in other.metrics)


def _console_figures(one: Console, other: Console) -> Iterator[tuple[str, float, float]]:
    if one.totals is not None and other.totals is not None:
        for metric in [m for m in one.totals.metrics if m in other.totals.metrics]:
            for key in one.totals.metrics[metric].values:
                a, b = one.totals.value(metric, key), other.totals.value(metric, key)
                if a is not None and b is not None:
                    yield f"{metric} {key}", a, b
    if one.counts is not None and other.counts is not None and one.counts.final and other.counts.final:
        yield "completed iterations", one.counts.completed, other.counts.completed
        yield "interrupted iterations", one.counts.interrupted, other.counts.interrupted


def _alike(a: float, b: float, tolerance: float) -> bool:
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


def _first(pairs: list[tuple[str, float, float]], name: str) -> str:
    a, b = next((a, b) for found, a, b in pairs if found == name)
    return f"{name} {a:,.10g} and {b:,.10g}"


def _two(what: str, one: str, other: str, figures: str) -> AuditError:
    return AuditError(
        f"two {what} of different runs: {one} and {other} ({figures})",
        fix="keep one run in a folder; put each generator in its own sub-folder",
    )


def _scenarios(generator: GeneratorEvidence) -> set[str]:
    if generator.console is not None and generator.console.scenarios:
        return {s.name for s in generator.console.scenarios}
    return {s.name for s in generator.options.scenarios} if generator.options else set()


def _in_turn(one: GeneratorEvidence, other: GeneratorEvidence) -> str:
    """Why two folders' runs followed one another, by the stamps of their consoles; empty if that is not shown.

    A console with stamps covers its run; a log may be of a moment. Samples, where there are any, say it better.
    """
    if one.points is not None or other.points is not None:
        return ""
    spans = [g.console.span for g in (one, other) if g.console is not None and g.console.span is not None]
    if len(spans) < 2:
        return ""
    ends = [(span.first_unix_ns, span.last_unix_ns) for span in spans]
    (a0, a1), (b0, b1) = ends
    if a0 is None or a1 is None or b0 is None or b1 is None or (a0 < b1 and b0 < a1):
        return ""
    return f"{one.name} and {other.name} ran one after the other"


def _other_plan(one: GeneratorEvidence, other: GeneratorEvidence) -> str:
    """Why two folders that hold only texts are of different plans; empty if they may be parts of one.

    Where samples tell the times, generators may well have plans of their own.
    """
    a, b = one.console, other.console
    if one.points is not None or other.points is not None or a is None or b is None:
        return ""
    if a.unread or b.unread or not (a.segment_percent == b.segment_percent == 100):
        return ""
    if a.scenarios == b.scenarios:
        return ""
    return (
        f"{one.name} ran {_texts(a)}, {other.name} {_texts(b)}, and nothing says that they ran at the same time"
    )


def _texts(console: Console) -> str:
    return "; ".join(s.text for s in console.scenarios) or "nothing"
