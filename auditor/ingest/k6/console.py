"""k6's standard output: the banner, progress, and the end-of-test text.

The banner says what really ran (docs/semantics.md §10). What stands around the lines is taken off first
(`dress`); the rows of the end-of-test text are read by `printed`, log records mixed in by `logs`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from auditor.evidence import BannerScenario, Console, FinalCounts, ScenarioProgress, Span
from auditor.ingest.k6.dress import Stream, undress
from auditor.ingest.k6.durations import seconds
from auditor.ingest.k6.logs import unix_ns
from auditor.ingest.k6.printed import read_rows
from auditor.ingest.k6.summary import totals_of
from auditor.inputs.text import lines_of, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from auditor.evidence import Summary
    from auditor.evidence.console import Mark, Phase

_HEADLINE = re.compile(r"scenarios: \((\d+(?:\.\d+)?)%\) (\d+) scenarios?, (\d+) max VUs, (\S+) max duration")
_ENTRY = re.compile(r"^(?:\S+ *\| )?\s*\* ([^:]+): (.+)$")
_CLOCK = r"(?:\d+d)?(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?s"
_COUNTS = re.compile(
    rf"(running|paused) \(({_CLOCK})\), (\d+)/(\d+) VUs, (\d+) complete and (\d+) interrupted iterations"
)
_BAR = re.compile(
    r"^(?P<name>\S.{0,120}?) +(?:(?P<mark>[✓✗•↓]) )?"
    r"\[(?:\s*(?P<percent>\d+)%\s*|(?P<bar>[=>\-]+))\](?P<rest>.*)$"
)
_ELAPSED = re.compile(rf"(?<!\S)({_CLOCK})/({_CLOCK})(?!\S)")
_MARKS: dict[str | None, Mark] = {None: "running", "•": "waiting", "↓": "stopping", "✓": "done", "✗": "cut"}
_END_ROW = re.compile(r"^.{0,200}?(?:[✓✗] )?\biterations\.{2,}: \d+", re.M)
_IN_EVERY_TEXT = ("iterations", "http_reqs", "data_received", "data_sent", "vus")
_DATE = re.compile(r"\d{4}[-/]\d\d[-/]\d\d[T ]")
_LOGO = re.compile(r"^\s*/ _{10} \\(?:\s|$)")
_FACTS = re.compile(r"^(?P<body>.*?)(?: \((?P<facts>[^()]*)\))?$")
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("constant-vus", re.compile(r"(?P<vus>\d+) looping VUs for (?P<duration>\S+)$")),
    (
        "ramping-vus",
        re.compile(r"Up to (?P<vus>\d+) looping VUs for (?P<duration>\S+) over (?P<stages>\d+) stages$"),
    ),
    ("shared-iterations", re.compile(r"(?P<iterations>\d+) iterations shared among (?P<vus>\d+) VUs$")),
    ("per-vu-iterations", re.compile(r"(?P<iterations>\d+) iterations for each of (?P<vus>\d+) VUs$")),
    ("constant-arrival-rate", re.compile(r"(?P<rate>\d+\.\d+) iterations/s for (?P<duration>\S+)$")),
    (
        "ramping-arrival-rate",
        re.compile(r"Up to (?P<rate>\d+\.\d+) iterations/s for (?P<duration>\S+) over (?P<stages>\d+) stages$"),
    ),
    (
        "externally-controlled",
        re.compile(
            r"Externally controlled execution with (?P<started>\d+) VUs, (?P<vus>\d+) max VUs, "
            r"(?P<duration>\S+) duration$"
        ),
    ),
)


def looks_like_console(text: str) -> bool:
    """Whether text holds k6's logo, banner, progress, or end-of-test results."""
    shown = plain(text)
    return bool(
        _HEADLINE.search(shown)
        or _COUNTS.search(shown)
        or "█ TOTAL RESULTS" in shown
        or _END_ROW.search(shown)
        or any(_LOGO.match(line) for line in lines_of(shown)[:400])
    )


_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.M)
_HEADING = re.compile(r"^#{1,6} \S", re.M)
_MARKDOWN = re.compile(r"^\|.*\|\s*$|^[-*] \S|\*\*\S.*?\S\*\*|\]\(https?://", re.M)


def looks_like_document(text: str) -> bool:
    """Whether text is Markdown that somebody wrote: it quotes k6's output in a fence or among prose."""
    fences = len(_FENCE.findall(text))
    headings = len(_HEADING.findall(text))
    return fences >= 2 or (headings >= 1 and (fences > 0 or _MARKDOWN.search(text) is not None))


def read_console(text: str, path: str) -> Console:
    """Read a console, whatever stands around its lines. Of several processes the first is read."""
    streams = undress(text)
    return read_stream(streams[0], path) if streams else read_stream(Stream("", ()), path)


def read_stream(stream: Stream, path: str) -> Console:
    """Read what one process printed; a scenario line that cannot be read is kept by its text."""
    lines = stream.lines
    percent: Fraction | None = None
    scenarios: list[BannerScenario] = []
    unread: list[str] = []
    banners = 0
    for number, line in enumerate(lines):
        if head := _HEADLINE.search(line):
            banners += 1
            if banners == 1:
                percent = Fraction(head[1])
                scenarios, unread = _announced(lines, number, int(head[2]))
    printed = read_rows(lines)
    totals = totals_of(printed, path)
    progress, counts, phase = _course(lines)
    summary = totals is not None and not totals.metrics.keys().isdisjoint(_IN_EVERY_TEXT)
    if counts is not None and (summary or _closed(progress)):
        counts = replace(counts, final=True)
    return Console(
        path=path,
        segment_percent=percent,
        scenarios=tuple(scenarios),
        counts=counts,
        thresholds_printed=printed.has_thresholds if printed.has_text else None,
        requests=_requests(totals),
        unread=tuple(unread),
        banners=banners,
        thresholds=tuple(printed.thresholds),
        progress=tuple(progress.values()),
        phase=phase,
        totals=totals,
        span=_span(stream.stamps),
    )


def _announced(lines: Sequence[str], at: int, number: int) -> tuple[list[BannerScenario], list[str]]:
    """The scenarios of the banner whose headline is line ``at``, and the lines that are none."""
    scenarios: list[BannerScenario] = []
    unread: list[str] = []
    for entry in _entries(lines, at + 1):
        scenario = _scenario(entry)
        if scenario is None:
            unread.append(entry.strip())
        else:
            scenarios.append(scenario)
    if len(scenarios) + len(unread) < number:
        unread.append(f"{number} scenarios announced, {len(scenarios)} listed")
    return scenarios, unread


def _requests(totals: Summary | None) -> int | None:
    count = totals.value("http_reqs", "count") if totals is not None else None
    return None if count is None else round(count)


def _course(lines: Sequence[str]) -> tuple[dict[str, ScenarioProgress], FinalCounts | None, Phase]:
    """The last progress of every scenario, the last counts, and how far k6 came."""
    progress: dict[str, ScenarioProgress] = {}
    counts: FinalCounts | None = None
    phase: Phase = ""
    for line in lines:
        if found := _COUNTS.search(line):
            counts = FinalCounts(
                int(found[5]), int(found[6]), float(seconds(found[2])), False, int(found[3]), int(found[4])
            )
            phase = "running" if phase in ("", "init", "setup") else phase
            progress.clear()  # a block of progress follows, of every scenario
        elif "[" in line and (bar := _BAR.match(line)):
            name = bar["name"].rstrip()
            if name in ("Init", "Run"):
                phase = _phase(name, bar["rest"], phase)
            else:
                progress[name] = _progress(name, bar)
    return progress, counts, phase


def _phase(name: str, rest: str, before: Phase) -> Phase:
    if "teardown()" in rest:
        return "teardown"
    if "setup()" in rest:
        return "setup"
    return "init" if name == "Init" and not before else before


def _progress(name: str, bar: re.Match[str]) -> ScenarioProgress:
    drawn = bar["bar"]
    share = int(bar["percent"]) / 100 if bar["percent"] else None
    if drawn:
        share = sum(drawn.count(c) for c in "=>") / len(drawn)
    elapsed = _ELAPSED.search(bar["rest"])
    return ScenarioProgress(
        name=name,
        mark=_MARKS[bar["mark"]],
        share=share,
        elapsed_s=float(seconds(elapsed[1])) if elapsed else None,
        planned_s=float(seconds(elapsed[2])) if elapsed else None,
    )


def _span(stamps: tuple[str, str] | None) -> Span | None:
    """The wall clock of the first and the last prefix, where they hold a date with a zone."""
    if stamps is None:
        return None
    found = [unix_ns(text[at.start() :]) for text in stamps if (at := _DATE.search(text))]
    known = [ns for ns in found if ns is not None]
    return Span(min(known), max(known)) if known else None


def _entries(lines: Sequence[str], start: int) -> Iterator[str]:
    for line in lines[start:]:
        if not _ENTRY.match(line):
            return
        yield line


def _scenario(line: str) -> BannerScenario | None:
    entry = _ENTRY.match(line)
    if entry is None:
        return None
    name, text = entry[1].strip(), entry[2].strip()
    split = _FACTS.match(text)
    body = split["body"] if split else text
    facts = dict(
        part.split(": ", 1) for part in (split["facts"] or "" if split else "").split(", ") if ": " in part
    )
    for executor, form in _FORMS:
        if found := form.match(body):
            return _build(name, executor, text, found.groupdict(), facts)
    return None


def _build(
    name: str, executor: str, text: str, parts: dict[str, str], facts: dict[str, str]
) -> BannerScenario | None:
    low, _, high = facts.get("maxVUs", "").partition("-")
    duration = parts.get("duration") or facts.get("maxDuration")
    try:
        return BannerScenario(
            name=name,
            executor=executor,
            text=text,
            duration_s=seconds(duration) if duration and duration != "infinite" else None,
            peak_per_s=Fraction(parts["rate"]) if "rate" in parts else None,
            stages=int(parts["stages"]) if "stages" in parts else None,
            pre_allocated_vus=int(low) if low else None,
            max_vus=int(high or low) if low else None,
            vus=int(parts["vus"]) if "vus" in parts else None,
            iterations=int(parts["iterations"]) if "iterations" in parts else None,
            start_time_s=seconds(facts["startTime"]) if "startTime" in facts else Fraction(0),
            graceful_stop_s=seconds(facts["gracefulStop"]) if "gracefulStop" in facts else Fraction(0),
        )
    except ValueError:
        return None


def _closed(progress: Mapping[str, ScenarioProgress]) -> bool:
    """Whether the last progress shows every scenario ended, as after the last iteration."""
    return bool(progress) and all(one.mark in ("done", "cut") for one in progress.values())
