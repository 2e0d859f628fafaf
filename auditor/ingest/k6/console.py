"""k6's standard output: the banner, the last count of iterations, and any log lines mixed into it.

The banner says what really ran (docs/semantics.md §10). Colours, cursor moves, UTF-16 and the prefixes of
container logs are tolerated.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from auditor.evidence import BannerScenario, Console, FinalCounts
from auditor.ingest.k6.durations import seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\r")
_HEADLINE = re.compile(r"scenarios: \((\d+(?:\.\d+)?)%\) (\d+) scenarios?, (\d+) max VUs, (\S+) max duration")
_ENTRY = re.compile(r"^(?:\S+ *\| )?\s*\* ([^:]+): (.+)$")
_COUNTS = re.compile(
    r"(running|paused) \(([0-9dhms.]+)\), (\d+)/(\d+) VUs, (\d+) complete and (\d+) interrupted iterations"
)
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
_THRESHOLD_MARK = re.compile(r"█ THRESHOLDS|^\s*[✓✗] [a-z_]+(?:\{.*\})?\.+:")
_HTTP_REQS = re.compile(r"^\s*(?:[✓✗] )?http_reqs\.+: (\d+)\s")
_SUMMARY_MARK = re.compile(r"█ TOTAL RESULTS|^\s*(?:[✓✗] )?(?:iterations|http_reqs|data_received)\.+:")


def looks_like_console(text: str) -> bool:
    """Whether text holds k6's banner, its progress, or its end-of-test results."""
    plain = strip_ansi(text)
    return bool(
        _HEADLINE.search(plain)
        or _COUNTS.search(plain)
        or "█ TOTAL RESULTS" in plain
        or re.search(r"^\s*(?:[✓✗] )?iterations\.+: \d+", plain, re.M)
    )


def strip_ansi(text: str) -> str:
    return _ANSI.sub("", text)


def read_console(text: str, path: str) -> Console:
    """Read the banner and the last count; a scenario line that cannot be read is kept by its text."""
    lines = strip_ansi(text).splitlines()
    percent: Fraction | None = None
    scenarios: list[BannerScenario] = []
    unread: list[str] = []
    counts: FinalCounts | None = None
    thresholds = summary = False
    requests: int | None = None
    for number, line in enumerate(lines):
        if percent is None and (head := _HEADLINE.search(line)):
            percent = Fraction(head[1])
            for entry in _entries(lines, number + 1):
                scenario = _scenario(entry)
                if scenario is None:
                    unread.append(entry.strip())
                else:
                    scenarios.append(scenario)
            if len(scenarios) + len(unread) < int(head[2]):
                unread.append(f"{head[2]} scenarios announced, {len(scenarios)} listed")
        elif found := _COUNTS.search(line):
            counts = FinalCounts(int(found[5]), int(found[6]), _clock_s(found[2]), False)
        thresholds = thresholds or bool(_THRESHOLD_MARK.search(line))
        if total := _HTTP_REQS.match(line):
            requests = max(requests or 0, int(total[1]))  # parts may be listed below the total
        summary = summary or bool(_SUMMARY_MARK.search(line))
    if counts is not None and (summary or _closed(lines)):
        counts = FinalCounts(counts.completed, counts.interrupted, counts.running_s, True)
    return Console(
        path=path,
        segment_percent=percent,
        scenarios=tuple(scenarios),
        counts=counts,
        thresholds_printed=thresholds if summary else None,
        requests=requests,
        unread=tuple(unread),
    )


def _entries(lines: list[str], start: int) -> Iterator[str]:
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


def _clock_s(clock: str) -> float:
    """ "1m00.1s", "0d00h01m42.7s": k6's progress clock in seconds."""
    try:
        return float(seconds(clock))
    except ValueError:
        return 0.0


def _closed(lines: list[str]) -> bool:
    """Whether the last progress block shows every scenario ended (✓ or ✗), as after the last iteration."""
    last = max((i for i, line in enumerate(lines) if _COUNTS.search(line)), default=None)
    if last is None:
        return False
    block = [line for line in lines[last + 1 :] if "[" in line and "%" in line]
    return bool(block) and all("✓ [" in line or "✗ [" in line for line in block)
