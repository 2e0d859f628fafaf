"""Expected figures of the sample runs, computed apart from the product.

Plain standard-library Python that reads ``k6.json.gz`` line by line and follows the definitions of
the product's documentation. It shares no code with the product, on purpose: two computations that
agree are evidence, one that checks itself is not.

    python sample_runs/oracle.py open_healthy            # print
    python sample_runs/oracle.py open_healthy --write    # and write expected.json
    python sample_runs/oracle.py --folder DIR --warmup 10s
"""

from __future__ import annotations

import argparse
import bisect
import calendar
import datetime
import itertools
import json
import math
import re
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stories import BY_NAME, EXIT_CODE, VALID, Story

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

HERE = Path(__file__).resolve().parent
NS = 1_000_000_000
MS = 1_000_000
ORIGIN_SLOTS = 1_000
WINDOW_S = 10  # tumbling windows of the achieved rate
WINDOW_SLOTS = 150
FREE_DEFICIT = 3
PERCENTILES = {
    "p50": (Fraction(50, 100), 6),
    "p90": (Fraction(90, 100), 36),
    "p95": (Fraction(95, 100), 72),
    "p99": (Fraction(99, 100), 368),
    "p999": (Fraction(999, 1000), 3688),
}  # share, smallest population of which it is printed


# --- reading ------------------------------------------------------------------------------------


def seconds(text: str) -> Fraction:
    """Parse a Go duration (``1m30s``, ``900ms``) exactly."""
    units = {"h": Fraction(3600), "m": Fraction(60), "s": Fraction(1), "ms": Fraction(1, 1000)}
    parts = re.findall(r"([\d.]+)(h|ms|m|s)", text)
    return sum((Fraction(number) * units[unit] for number, unit in parts), Fraction(0))


def nanoseconds(text: str) -> int:
    """Parse an RFC 3339 time to integer ns since the epoch."""
    match = re.fullmatch(r"(.{19})(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", text)
    if match is None:
        raise ValueError(f"not a time: {text}")
    whole, fraction, zone = match.groups()
    moment = datetime.datetime.fromisoformat(whole)
    shift = 0
    if zone != "Z":
        shift = (int(zone[1:3]) * 60 + int(zone[4:])) * (60 if zone[0] == "+" else -60)
    return (calendar.timegm(moment.timetuple()) - shift) * NS + int((fraction or "0").ljust(9, "0"))


def lines_of(path: Path) -> tuple[list[bytes], bool]:
    """Return the complete lines of a gzip file, and whether it is torn."""
    decoder = zlib.decompressobj(31)
    data = decoder.decompress(path.read_bytes())
    *complete, rest = data.split(b"\n")
    return complete, bool(rest) or not decoder.eof


@dataclass
class Request:
    """One HTTP request that left a sample."""

    end: int
    scenario: str
    duration: float = 0.0
    blocked: float = 0.0
    failed: bool = False

    @property
    def start(self) -> int:
        """Return when it began, waiting for a connection included."""
        return self.end - round((self.duration + self.blocked) * MS)


@dataclass
class Samples:
    """What the points file of one generator holds, per scenario."""

    torn: bool = False
    last: int = 0
    executed: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    completed: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    iterations: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    drops: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    requests: dict[str, list[Request]] = field(default_factory=lambda: defaultdict(list))
    series: set[str] = field(default_factory=set)


def read_samples(path: Path) -> Samples:
    """Read a points file."""
    lines, torn = lines_of(path)
    samples = Samples(torn=torn)
    request: Request | None = None
    for line in lines:
        if not line.strip():
            continue
        entry = json.loads(line)
        if entry["type"] != "Point":
            continue
        metric, data = entry["metric"], entry["data"]
        tags, time, value = data.get("tags") or {}, nanoseconds(data["time"]), data["value"]
        samples.last = max(samples.last, time)
        samples.series.add(metric + json.dumps(tags, sort_keys=True))
        scenario = tags.get("scenario")
        if scenario is None:
            continue  # setup(), teardown() and the VU gauges
        if metric.startswith("http_req"):
            request = take_request(samples, request, scenario, metric, time, value)
        else:
            take_iteration(samples, scenario, metric, time, value)
    return samples


def take_request(
    samples: Samples, open_one: Request | None, scenario: str, metric: str, time: int, value: float
) -> Request | None:
    """Put one of the nine lines of a request in its place; ``http_reqs`` comes first."""
    if metric == "http_reqs":
        return Request(time, scenario)
    if open_one is None:
        return None
    if metric == "http_req_duration":
        open_one.duration = value
        samples.requests[scenario].append(open_one)
    elif metric == "http_req_blocked":
        open_one.blocked = value
    elif metric == "http_req_failed":
        open_one.failed = bool(value)
    return open_one


def take_iteration(samples: Samples, scenario: str, metric: str, time: int, value: float) -> None:
    """Count a line that is about an iteration."""
    if metric == "data_sent":
        samples.executed[scenario] += 1
    elif metric == "iterations":
        samples.completed[scenario] += int(value)
    elif metric == "iteration_duration":
        samples.iterations[scenario].append((time - round(value * MS), time))
    elif metric == "dropped_iterations":
        samples.drops[scenario].extend([time] * int(value))


# --- the plan -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """What one scenario was to do. ``pieces``: (begin, end, rate at begin, rate at end), seconds."""

    duration: Fraction
    begin: Fraction = Fraction(0)  # startTime
    constant: bool = False
    pieces: tuple[tuple[Fraction, Fraction, Fraction, Fraction], ...] = ()
    max_vus: int = 0
    part: int = 0  # this generator's number among `parts`
    parts: int = 1

    @property
    def open(self) -> bool:
        """Return whether arrivals are planned."""
        return bool(self.pieces)

    @property
    def final_rate(self) -> Fraction:
        """Return the rate at the end, of this generator."""
        return self.pieces[-1][3] / self.parts

    def integral(self, at: Fraction) -> Fraction:
        """Return the integral of the whole plan's rate up to a time."""
        total = Fraction(0)
        for begin, end, low, high in self.pieces:
            span = min(at, end) - begin
            if span > 0:
                slope = (high - low) / (end - begin)
                total += low * span + slope * span * span / 2
        return total

    def slots_before(self, at: Fraction) -> int:
        """Return how many slots of this generator lie before a time (ramping: up to it)."""
        at = max(Fraction(0), min(at, self.duration))
        reached = self.integral(at)
        count = math.ceil(reached) if self.constant else math.floor(reached)
        return max(0, (count - self.part + self.parts - 1) // self.parts)

    def slots(self, begin: Fraction, end: Fraction) -> int:
        """Return the number of slots in a window."""
        return self.slots_before(end) - self.slots_before(begin)

    def slot_time(self, index: int) -> float:
        """Return the planned time of this generator's slot (0, 1, ...) in seconds."""
        wanted = Fraction(self.part + index * self.parts + (0 if self.constant else 1))
        done = Fraction(0)
        for begin, end, low, high in self.pieces:
            area = (low + high) / 2 * (end - begin)
            if done + area >= wanted and area > 0:
                return float(begin) + within(float(wanted - done), low, high, end - begin)
            done += area
        return float(self.duration)


def within(area: float, low: Fraction, high: Fraction, span: Fraction) -> float:
    """Return when a linear rate has gathered an area."""
    slope = float((high - low) / span)
    if slope == 0:
        return area / float(low)
    root = math.sqrt(max(0.0, float(low) ** 2 + 2 * slope * area))
    return 2 * area / (float(low) + root)  # the form that does not cancel


def banner(console: str) -> dict[str, str]:
    """Return the banner's line of each scenario."""
    return dict(re.findall(r"^ +\* (\S+): (.+)$", console, re.MULTILINE))


def closed_duration(line: str) -> Fraction:
    """Return the length of a looping-VU scenario from its banner line."""
    match = re.search(r"looping VUs for (\S+?)(?: |$)", line)
    return seconds(match.group(1)) if match else Fraction(0)


def open_plan(options: dict[str, Any], part: int, parts: int) -> Plan:
    """Return the plan of an arrival-rate scenario from its options."""
    unit = seconds(options.get("timeUnit") or "1s")
    begin = seconds(options.get("startTime") or "0s")
    vus = int(options.get("maxVUs") or options["preAllocatedVUs"])
    if options["executor"] == "constant-arrival-rate":
        rate, length = Fraction(options["rate"]) / unit, seconds(options["duration"])
        return Plan(length, begin, True, ((Fraction(0), length, rate, rate),), vus, part, parts)
    pieces, at, rate = [], Fraction(0), Fraction(options.get("startRate") or 0) / unit
    for stage in options["stages"]:
        end, target = at + seconds(stage["duration"]), Fraction(stage["target"]) / unit
        if end > at:
            pieces.append((at, end, rate, target))
        at, rate = end, target
    return Plan(at, begin, False, tuple(pieces), vus, part, parts)


def plans(folder: Path, part: int, parts: int) -> dict[str, Plan]:
    """Return the plan of each scenario: the banner says what ran, the options how fast."""
    options = json.loads((folder / "inspect.json").read_text("utf-8")).get("scenarios") or {}
    found = {}
    for name, line in banner((folder / "console.txt").read_text("utf-8")).items():
        if "iterations/s" in line:
            found[name] = open_plan(options[name], part, parts)
        else:
            found[name] = Plan(closed_duration(line))
    return found


# --- one scenario of one generator --------------------------------------------------------------


@dataclass
class Key:
    """The facts of one (generator, scenario)."""

    name: str
    plan: Plan
    samples: Samples
    warmup: Fraction
    last: int = 0  # end of the generator's evidence
    origin: int = 0
    early: bool = False

    def __post_init__(self) -> None:
        self.starts = sorted(start for start, _ in self.samples.iterations[self.name])
        self.drops = sorted(self.samples.drops[self.name])
        self.completed = self.samples.completed[self.name]
        self.started = self.samples.executed[self.name] or self.completed
        self.interrupted = self.started - self.completed
        self.last = self.samples.last
        self.origin = self._origin()
        end = self.origin + int(self.plan.duration * NS)
        slack = max(self.plan.duration / 100, Fraction(2))
        self.early = self.last < end - int(slack * NS)

    def _origin(self) -> int:
        if not self.plan.open:
            return self.starts[0]
        merged = sorted(self.starts + self.drops)[:ORIGIN_SLOTS]
        planned = min(len(merged), self.plan.slots_before(self.plan.duration))
        return min(time - round(self.plan.slot_time(index) * NS) for index, time in enumerate(merged[:planned]))

    @property
    def end(self) -> Fraction:
        """Return where the window ends, in seconds of the plan."""
        reached = Fraction(self.last - self.origin, NS)
        return min(reached, self.plan.duration) if self.early else self.plan.duration

    @property
    def left(self) -> int:
        """Return the window's left edge; without a warm-up nothing is cut."""
        return self.origin + int(self.warmup * NS) if self.warmup else 0

    @property
    def right(self) -> int:
        """Return the window's right edge as a time."""
        return self.origin + int(self.end * NS)

    @property
    def target(self) -> int:
        """Return the planned starts in the window."""
        return self.plan.slots(self.warmup, self.end)

    @property
    def started_inside(self) -> int:
        """Return the starts in the window; interrupted ones lie at its end."""
        return len(self.starts) - bisect.bisect_left(self.starts, self.left) + self.interrupted

    @property
    def dropped_inside(self) -> int:
        """Return the drops in the window."""
        return len(self.drops) - bisect.bisect_left(self.drops, self.left)

    @property
    def silent_inside(self) -> int:
        """Return the silent losses in the window, none if the scenario has none to speak of."""
        account = self.accounting()
        if not account["silent"]:
            return 0
        begun = account["in_flight_at_end"] or 0
        return max(0, self.target - self.started_inside - self.dropped_inside - begun)

    def accounting(self) -> dict[str, int | None]:
        """Return the conservation table of the whole scenario."""
        table: dict[str, int | None] = dict.fromkeys(
            ("planned", "started", "completed", "interrupted", "dropped", "silent",
             "not_reached", "in_flight_at_end")
        )  # fmt: skip
        table.update(started=self.started, completed=self.completed, interrupted=self.interrupted)
        if not self.plan.open:
            return table
        planned = self.plan.slots_before(self.plan.duration)
        not_reached = planned - self.plan.slots_before(self.end) if self.early else 0
        missing = planned - self.started - len(self.drops) - not_reached
        in_flight = max(0, min(self.plan.max_vus, missing)) if self.early else 0
        silent = missing - in_flight
        allowance = 1 + math.ceil(self.plan.final_rate / 200)  # 5 ms of the final rate
        table.update(
            planned=planned,
            dropped=None if self.samples.torn else len(self.drops),
            silent=0 if abs(silent) <= allowance else silent,
            not_reached=not_reached,
            in_flight_at_end=in_flight,
        )
        return table

    def requests(self) -> list[Request]:
        """Return the requests that belong to the window, by their own start."""
        edge = self.left - MS
        return [request for request in self.samples.requests[self.name] if request.start >= edge]

    def censored(self, requests: int) -> int:
        """Return the requests of offered demand that were never answered for lack of a start."""
        begun = sum(1 for start in self.starts if start >= self.left)
        share = Fraction(requests, begun) if begun else Fraction(0)
        lost = self.dropped_inside + self.silent_inside
        return self.interrupted + math.floor(share * lost + Fraction(1, 2))


# --- figures ------------------------------------------------------------------------------------


def percentile(values: Sequence[float], size: int, share: Fraction, least: int) -> float | None:
    """Return a percentile of sorted finite values in a population of ``size``, if identified."""
    if size < least or not values:
        return None
    h = share * (size - 1)
    if math.ceil(h) > len(values) - 1:
        return None
    low, rest = math.floor(h), float(h - math.floor(h))
    above = values[min(low + 1, len(values) - 1)]
    return values[low] + (above - values[low]) * rest


def cells(values: Iterable[float], infinite: int) -> dict[str, float | None]:
    """Return the five percentiles of a population, ms with three decimals."""
    ordered = sorted(values)
    size = len(ordered) + infinite
    found = {name: percentile(ordered, size, share, least) for name, (share, least) in PERCENTILES.items()}
    return {name: None if cell is None else round(cell, 3) for name, cell in found.items()}


def latency(keys: Sequence[Key]) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """Return the percentiles over offered demand and those of what was sent."""
    offered: list[float] = []
    sent: list[float] = []
    infinite = 0
    for key in keys:
        requests = key.requests()
        good = [request.duration for request in requests if not request.failed]
        offered += good
        sent += [request.duration for request in requests]
        infinite += len(requests) - len(good) + key.censored(len(requests))
    return cells(offered, infinite), cells(sent, 0)


def span(keys: Sequence[Key]) -> Fraction:
    """Return the header's length: the union of the windows on the plan's clock."""
    parts = sorted((key.plan.begin + key.warmup, key.plan.begin + key.end) for key in keys)
    total, reach = Fraction(0), parts[0][0]
    for begin, end in parts:
        total += max(Fraction(0), end - max(begin, reach))
        reach = max(reach, end)
    return total


def edges(keys: Sequence[Key]) -> list[Fraction]:
    """Return the edges of the tumbling windows of one scenario (of one generator or all)."""
    begin, end = keys[0].warmup, max(key.end for key in keys)
    found = [begin]
    at = begin
    while at < end:
        at = min(at + WINDOW_S, end)
        if sum(key.plan.slots(found[-1], at) for key in keys) >= WINDOW_SLOTS:
            found.append(at)
    if len(found) == 1:
        return [begin, end]
    found[-1] = end  # what is left joins the last window
    return found


def window_ratios(keys: Sequence[Key]) -> list[tuple[int, int]]:
    """Return (started, planned) of each tumbling window."""
    marks = edges(keys)
    started = [0] * (len(marks) - 1)
    for key in keys:
        cuts = [key.origin + int(mark * NS) for mark in marks[1:-1]]
        inside = [start for start in key.starts if start >= key.left]
        for start in inside:
            started[bisect.bisect_right(cuts, start)] += 1
        started[-1] += key.interrupted
    planned = [sum(key.plan.slots(begin, end) for key in keys) for begin, end in itertools.pairwise(marks)]
    return list(zip(started, planned, strict=True))


def worst_window(keys: Sequence[Key]) -> dict[str, Any] | None:
    """Return the worst tumbling window over all scenarios, per generator and together."""
    groups: dict[str, list[Key]] = defaultdict(list)
    for key in keys:
        if key.plan.open:
            groups[key.name].append(key)
    sets = [[key] for group in groups.values() for key in group]
    sets += [group for group in groups.values() if len(group) > 1]
    windows = [window for group in sets for window in window_ratios(group) if window[1]]
    if not windows:
        return None
    started, planned = min(windows, key=lambda window: Fraction(*window))
    low = [pair for pair in windows if pair[0] * 50 < pair[1] * 49]
    return {
        "ratio": round(started / planned, 5),
        "below_098": sum(1 for got, asked in low if asked - got > FREE_DEFICIT),
        "windows": len(windows),
    }


# --- host ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HostSample:
    """CPU of one interval."""

    end: int
    length: int
    busy: float
    cores: tuple[float, ...]


def read_host_csv(path: Path) -> list[HostSample]:
    """Read the plain host CSV."""
    head, *rows = path.read_text("utf-8").splitlines()
    columns = head.split(",")
    busy = columns.index("cpu_busy_percent")
    cores = [i for i, name in enumerate(columns) if re.fullmatch(r"cpu\d+_busy_percent", name)]
    ends = [nanoseconds(row.split(",")[0]) for row in rows]
    found = []
    for index, row in enumerate(rows):
        values = row.split(",")
        length = ends[index] - ends[index - 1] if index else NS
        each = tuple(float(values[core]) for core in cores)
        found.append(HostSample(ends[index], length, float(values[busy]), each))
    return found


def read_sadf(path: Path) -> list[HostSample]:
    """Read ``sadf -j`` output (UTC)."""
    found = []
    for entry in json.loads(path.read_text("utf-8"))["sysstat"]["hosts"][0]["statistics"]:
        stamp = entry["timestamp"]
        loads = {cpu["cpu"]: 100 - cpu["idle"] - cpu["iowait"] for cpu in entry["cpu-load"]}
        end = nanoseconds(f"{stamp['date']}T{stamp['time']}Z")
        cores = tuple(busy for name, busy in loads.items() if name != "all")
        found.append(HostSample(end, stamp["interval"] * NS, loads["all"], cores))
    return found


def host_samples(folder: Path) -> list[HostSample]:
    """Read whichever host file lies in the story's folder."""
    if (folder / "host.csv").exists():
        return read_host_csv(folder / "host.csv")
    return read_sadf(folder / "host.sadf.json")


def mean(values: Iterable[float]) -> float:
    """Return the mean."""
    listed = list(values)
    return sum(listed) / len(listed)


def highest(values: Sequence[float], lengths: Sequence[int], filled: float) -> float | None:
    """Return the highest mean of consecutive samples that fill a time (half a sample forgiven)."""
    best: float | None = None
    for first in range(len(values)):
        total, after = 0, first
        while after < len(values) and total < filled * NS - lengths[after] / 2:
            total += lengths[after]
            after += 1
        if total >= filled * NS - lengths[after - 1] / 2 and after - first >= 2:
            found = mean(values[first:after])
            best = found if best is None else max(best, found)
    return best


def generator_cpu(keys: Sequence[Key], samples: Sequence[HostSample]) -> dict[str, float | None]:
    """Return mean and highest 5 s of the host's CPU, and its worst core, in the window."""
    begin = min(key.origin + int(key.warmup * NS) for key in keys)
    end = max(key.right for key in keys)
    inside = [one for one in samples if begin < one.end <= end]
    lengths = [one.length for one in inside]
    together = [one.busy for one in inside]
    cores = [highest([one.cores[core] for one in inside], lengths, 5) for core in range(len(inside[0].cores))]
    figures = {
        "mean": mean(together),
        "max_5s": highest(together, lengths, 5),
        "core_max_5s": max(core for core in cores if core is not None),
    }
    return {name: None if cell is None else round(cell, 2) for name, cell in figures.items()}


# --- a story ------------------------------------------------------------------------------------


def read_keys(folder: Path, warmup: Fraction) -> tuple[list[Key], list[Samples]]:
    """Read all generators of a story."""
    generators = sorted(folder.glob("gen-*")) or [folder]
    keys: list[Key] = []
    every: list[Samples] = []
    for part, place in enumerate(generators):
        samples = read_samples(place / "k6.json.gz")
        every.append(samples)
        for name, plan in plans(place, part, len(generators)).items():
            keys.append(Key(name, plan, samples, warmup))
    return keys, every


def add_up(keys: Sequence[Key]) -> dict[str, dict[str, int | None]]:
    """Return the accounting per scenario, summed over the generators."""
    tables: dict[str, dict[str, int | None]] = {}
    for key in keys:
        table = key.accounting()
        before = tables.setdefault(key.name, dict.fromkeys(table, 0))
        for name, value in table.items():
            old = before[name]
            before[name] = None if value is None or old is None else old + value
    return tables


def header(keys: Sequence[Key], folder: Path) -> dict[str, Any]:
    """Return the figures of the report header."""
    length = span(keys)
    planned = [key for key in keys if key.plan.open]
    proven = planned and not any(key.samples.torn for key in keys)
    offered, _ = latency(keys)
    return {
        "target_rate": rate(sum(key.target for key in planned), length) if planned else None,
        "achieved_rate": rate(sum(key.started_inside for key in keys), length),
        "dropped_iterations": sum(key.dropped_inside for key in planned) if proven else None,
        "generator_cpu": generator_cpu(keys, host_samples(folder)),
        "test_duration": round(float(length), 3),
        **offered,
    }


def rate(count: int, length: Fraction) -> float:
    """Return a rate per second, four decimals."""
    return round(float(count / length), 4)


def figures(folder: Path, warmup: str) -> dict[str, Any]:
    """Return every computed figure of a story."""
    keys, every = read_keys(folder, seconds(warmup))
    return {
        "warmup": warmup,
        "accounting": add_up(keys),
        "header": header(keys, folder),
        "sent": latency(keys)[1],
        "window": {
            "planned": sum(key.target for key in keys if key.plan.open),
            "started": sum(key.started_inside for key in keys),
            "dropped": sum(key.dropped_inside for key in keys),
            "origin_ns": {f"{index}/{key.name}": key.origin for index, key in enumerate(keys, start=1)},
        },
        "worst_window": worst_window(keys),
        "time_series": max(len(samples.series) for samples in every),
    }


def disturbed(found: dict[str, Any]) -> Iterator[str]:
    """Say what is wrong with a recording that is to be VALID."""
    window, cpu = found["window"], found["header"]["generator_cpu"]
    if found["header"]["dropped_iterations"]:
        yield f"{found['header']['dropped_iterations']} dropped"
    if abs(window["started"] - window["planned"]) * 50 > window["planned"]:
        yield "rate off by more than 2 %"
    if found["worst_window"]["ratio"] < 0.98:
        yield f"a window at {found['worst_window']['ratio']}"
    if cpu["max_5s"] >= 80:
        yield f"CPU at {cpu['max_5s']} %"
    if any(account["silent"] for account in found["accounting"].values()):
        yield "silent losses"


def expected(story: Story) -> dict[str, Any]:
    """Return the content of ``expected.json``: the declared part and the computed one."""
    declared = (*story.must_fail, *story.must_warn, *story.must_not_fail)
    if len(declared) != len(set(declared)):
        raise SystemExit(f"{story.name}: a rule is declared twice")
    found = figures(HERE / story.name, story.warmup)
    if story.verdict == VALID and (wrong := list(disturbed(found))):
        raise SystemExit(f"{story.name}: record again: {'; '.join(wrong)}")
    return {
        "warmup": found.pop("warmup"),
        "verdict": story.verdict,
        "exit_code": EXIT_CODE[story.verdict],
        "must_fail": list(story.must_fail),
        "must_warn": list(story.must_warn),
        "must_not_fail": sorted(story.must_not_fail),
        **found,
    }


def show(name: str, content: dict[str, Any], write_to: Path | None) -> None:
    """Print a result, and write it where asked."""
    text = json.dumps(content, indent=2) + "\n"
    if write_to is not None:
        write_to.write_text(text, encoding="utf-8")
    print(name, text, sep="\n")


def main() -> None:
    """Compute the figures of the stories named on the command line."""
    parser = argparse.ArgumentParser(description="Expected figures of the sample runs.")
    parser.add_argument("story", nargs="*", help=f"of: {', '.join(BY_NAME)}; none: all")
    parser.add_argument("--write", action="store_true", help="write expected.json")
    parser.add_argument("--folder", type=Path, help="some other run instead")
    parser.add_argument("--warmup", default="0s", help="with --folder")
    args = parser.parse_args()
    if args.folder is not None:
        show(args.folder.name, figures(args.folder, args.warmup), None)
        return
    for name in args.story or list(BY_NAME):
        target = HERE / name / "expected.json" if args.write else None
        show(name, expected(BY_NAME[name]), target)


if __name__ == "__main__":
    main()
