"""Logs and consoles of another run than the one beside which they lie (docs/semantics.md).

A log whose own times lie outside the run, or a console of another plan, says nothing about this run: it is
named and not used. One whose times agree or are absent and whose figures differ is a contradiction, not
foreign, and other rules judge that.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from auditor.evidence import (
    Console,
    Evidence,
    Foreign,
    GeneratorEvidence,
    Ignored,
    LogEvidence,
    Span,
    merged_log,
)
from auditor.facts.samples import Samples
from auditor.samples.columns import GeneratorSamples

NS_PER_S = 1_000_000_000
MARGIN_S = 180
"""k6 compiles the script and makes its VUs before the first sample; teardown(), handleSummary() and the end of
a CI job come after the last. A log that reaches further from the points is not of them."""


def without_foreign(evidence: Evidence, samples: Samples) -> Evidence:
    """The evidence without the logs and consoles that are of other runs, which are named in it.

    The same object if there are none.
    """
    kept = tuple(_own(one, samples.by_generator.get(one.name)) for one in evidence.generators)
    foreign = [one for generator in kept for one in generator.foreign]
    if not foreign:
        return evidence
    paths = {one.path for one in foreign}
    return replace(
        evidence,
        generators=kept,
        sources=tuple(source for source in evidence.sources if source.path not in paths),
        ignored=(*evidence.ignored, *(Ignored(p, _first(foreign, p)) for p in sorted(paths))),
    )


def _first(foreign: list[Foreign], path: str) -> str:
    return next(one.reason for one in foreign if one.path == path)


def _own(generator: GeneratorEvidence, samples: GeneratorSamples | None) -> GeneratorEvidence:
    if samples is None or samples.first_ns is None or samples.last_ns is None:
        return generator
    run = (samples.first_ns, samples.last_ns + samples.coarse_ns)
    foreign = [
        Foreign(path, "log", why) for log in generator.logs for path in log.paths if (why := _log(log, run))
    ]
    console = generator.console
    if console is not None and console.path != samples.path:
        why = next((one.reason for one in foreign if one.path == console.path), "") or _console(
            console, samples, run
        )
        if why:
            foreign.append(Foreign(console.path, "console", why))
    if not foreign:
        return generator
    paths = {one.path for one in foreign}
    log: LogEvidence | None = None
    for one in generator.logs:
        if paths.isdisjoint(one.paths):
            log = one if log is None else merged_log(log, one)
    return replace(
        generator,
        log=log,
        console=None if console is not None and console.path in paths else console,
        printed=tuple(one for one in generator.printed if one.path not in paths),
        foreign=tuple(foreign),
    )


def _log(log: LogEvidence, run: tuple[int, int]) -> str:
    return _outside(log.span, run, "a log of another run")


def _console(console: Console, samples: GeneratorSamples, run: tuple[int, int]) -> str:
    if why := _outside(console.span, run, "a console of another run"):
        return why
    named = {one.name for one in console.scenarios}
    ran = set(samples.scenarios)
    if named and ran and not named & ran and not console.unread:
        return (
            f"a console of another run: its banner has {', '.join(sorted(named))}; the points are of "
            f"{', '.join(sorted(ran))}"
        )
    return ""


def _outside(span: Span | None, run: tuple[int, int], what: str) -> str:
    """Why stamps are not of this run; empty if they may be."""
    if span is None:
        return ""
    margin = MARGIN_S * NS_PER_S
    first, last = span.first_unix_ns, span.last_unix_ns
    if first is not None and last is not None and (first < run[0] - margin or last > run[1] + margin):
        return f"{what}: its times are {_words(first, last)}, those of the points {_words(*run)}"
    length_s = (run[1] - run[0]) / NS_PER_S
    if span.last_s is not None and span.last_s > length_s + 2 * MARGIN_S:
        return f"{what}: it goes on to second {span.last_s:.0f}, and the points are of {length_s:.0f} s"
    return ""


def _words(first_ns: int, last_ns: int) -> str:
    start, end = (datetime.fromtimestamp(ns // NS_PER_S, UTC) for ns in (first_ns, last_ns))
    if start.date() == end.date():
        return f"{start:%Y-%m-%d %H:%M:%S} to {end:%H:%M:%S} UTC"
    return f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"
