"""Runs built by construction: a folder such as k6 leaves, whose right figures follow from how it was built.

`Run` and `Scenario` hold what happened; `Run.write` writes points, banner, options, log, exit code and host
metrics. Defaults make a healthy run of 100 iterations/s for 30 s; a test changes the one thing it is about.
"""

from __future__ import annotations

import csv
import functools
import gzip
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from auditor.ingest.k6.points_json import stamp_ns

CSV_TAGS = (
    *("check", "error", "error_code", "expected_response", "group", "method", "name", "proto", "scenario"),
    *("service", "status", "subproto", "tls_version", "url"),
)
"""Columns of k6's default system tags."""
T0_S = 1_796_000_000  # an arbitrary second in 2026: when the plan's clock is 0
NS = 1_000_000_000
DEFAULT_SCENARIO = "api"


@dataclass(frozen=True)
class Answer:
    """How one request ended."""

    duration_ms: float
    status: str = "200"
    failed: bool = False
    error_code: str = ""
    error: str = ""
    blocked_ms: float = 0.0


def steady(index: int, start_s: float) -> Answer:
    """About 20 ms, never the same for neighbours."""
    return Answer(20.0 + (index * 7 % 13) * 0.5)


@dataclass
class Scenario:
    """One scenario: its options, and what it did. Times are seconds on the scenario's own clock."""

    name: str = DEFAULT_SCENARIO
    executor: str = "constant-arrival-rate"
    rate: int = 100
    duration_s: float = 30.0
    start_rate: int = 0
    stages: Sequence[tuple[float, int]] = ()
    vus: int = 10
    iterations: int = 1
    pre_allocated_vus: int = 50
    max_vus: int = 100
    start_time_s: float = 0.0
    starts_s: Sequence[float] | None = None
    """None: one start at every slot of the plan (or every 1/rate s where there is none)."""
    drops_s: Sequence[float] = ()
    interrupted_s: Sequence[float] = ()
    """Stamps at which iterations that began were cut off."""
    answer: Callable[[int, float], Answer] = steady
    requests: int = 1
    """Requests of an iteration; 0 for a script that throws."""
    think_ms: float = 0.2
    request_name: Callable[[int], str] = lambda index: "GET /item"
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def planned_s(self) -> float:
        return sum(d for d, _ in self.stages) if self.stages else self.duration_s

    def slots_s(self) -> list[float]:
        """Slot times by brute force: a fine walk along the integral (ramping), i/rate (all others)."""
        if not self.stages or self.executor != "ramping-arrival-rate":
            return [i / self.rate for i in range(round(self.rate * self.planned_s))]
        found: list[float] = []
        at, integral, rate = 0.0, 0.0, float(self.start_rate)
        for length, target in self.stages:
            slope = (target - rate) / length if length else 0.0
            total = rate * length + slope * length * length / 2
            due = np.arange(int(integral + 1e-9) + 1, int(integral + total + 1e-9) + 1)
            low, high = np.zeros(len(due)), np.full(len(due), float(length))
            for _ in range(60):  # bisection: when does the stage's own integral reach each of them?
                middle = (low + high) / 2
                early = rate * middle + slope * middle * middle / 2 < due - integral
                low, high = np.where(early, middle, low), np.where(early, high, middle)
            found.extend((at + high).tolist())
            at, integral, rate = at + length, integral + total, float(target)
        return found

    def options(self) -> dict[str, Any]:
        common: dict[str, Any] = {
            "executor": self.executor,
            "startTime": f"{self.start_time_s:g}s" if self.start_time_s else None,
            "gracefulStop": None,
            "env": None,
            "exec": None,
            "tags": None,
        }
        arrival = {"timeUnit": "1s", "preAllocatedVUs": self.pre_allocated_vus, "maxVUs": self.max_vus}
        match self.executor:
            case "constant-arrival-rate":
                own: dict[str, Any] = {"rate": self.rate, "duration": f"{self.duration_s:g}s", **arrival}
            case "ramping-arrival-rate":
                own = {
                    "startRate": self.start_rate,
                    "stages": [{"duration": f"{d:g}s", "target": t} for d, t in self.stages],
                    **arrival,
                }
            case "constant-vus":
                own = {"vus": self.vus, "duration": f"{self.duration_s:g}s"}
            case "ramping-vus":
                own = {"startVUs": 1, "stages": [{"duration": f"{d:g}s", "target": t} for d, t in self.stages]}
            case _:
                own = {"vus": self.vus, "iterations": self.iterations, "maxDuration": f"{self.duration_s:g}s"}
        return {**common, **own}

    def banner(self, share: float = 1.0) -> str:
        pool = f"maxVUs: {round(self.pre_allocated_vus * share)}-{round(self.max_vus * share)}"
        start = f"startTime: {go_duration(self.start_time_s)}, " if self.start_time_s else ""
        tail = f"{start}gracefulStop: 30s)"
        length = go_duration(self.planned_s)
        match self.executor:
            case "constant-arrival-rate":
                body = f"{self.rate * share:.2f} iterations/s for {length} ({pool}, {tail}"
            case "ramping-arrival-rate":
                peak = max([self.start_rate, *(t for _, t in self.stages)]) * share
                body = (
                    f"Up to {peak:.2f} iterations/s for {length} over {len(self.stages)} stages ({pool}, {tail}"
                )
            case "constant-vus":
                body = f"{self.vus} looping VUs for {length} ({tail}"
            case "ramping-vus":
                peak = max([1, *(t for _, t in self.stages)])
                body = f"Up to {peak:.0f} looping VUs for {length} over {len(self.stages)} stages (gracefulRampDown: 30s, {tail}"
            case "shared-iterations":
                body = (
                    f"{self.iterations} iterations shared among {self.vus} VUs (maxDuration: {length}, {tail}"
                )
            case _:
                body = f"{self.iterations} iterations for each of {self.vus} VUs (maxDuration: {length}, {tail}"
        return f"              * {self.name}: {body}"


class Samples(NamedTuple):
    """Samples of one instant and the same tags."""

    at_ns: int
    values: tuple[tuple[str, float], ...]
    """Metric and value."""
    tags: tuple[tuple[str, str], ...]
    """By name."""

    def lines(self) -> list[str]:
        """As k6's JSON output writes them."""
        middle = f'","type":"Point","data":{{"time":"{stamp(self.at_ns)}","value":'
        end = f',"tags":{_tags_json(self.tags)}}}}}'
        return [f'{{"metric":"{metric}{middle}{_number(value)}{end}' for metric, value in self.values]

    def csv(self, unit_ns: int) -> str:
        """As k6's CSV output writes them, with stamps cut to whole units."""
        at, end = self.at_ns // unit_ns, _tags_csv(self.tags)
        return "".join(f"{metric},{at},{value:f},{end}" for metric, value in self.values)


def _number(value: float) -> str:
    text = repr(value)
    return text if text[-1].isdigit() else json.dumps(value)  # NaN, infinities, numpy's numbers


@functools.cache
def _tags_json(tags: tuple[tuple[str, str], ...]) -> str:
    return json.dumps(dict(tags), separators=(",", ":"))


@functools.cache
def _tags_csv(tags: tuple[tuple[str, str], ...]) -> str:
    """Cells of the default system tags, of all others together, and of metadata: a row's end."""
    named = dict(tags)
    extra = "&".join(f"{k}={v}" for k, v in tags if k not in CSV_TAGS)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow([*(named.get(name, "") for name in CSV_TAGS), extra, ""])
    return out.getvalue()


@dataclass(frozen=True, eq=False)
class Run:
    """One generator's folder. Frozen, since what was written of it is kept."""

    scenarios: list[Scenario] = field(default_factory=lambda: [Scenario()])
    thresholds: dict[str, list[str]] = field(
        default_factory=lambda: {"dropped_iterations": ["count<3"], "http_req_duration": ["p(95)<60000"]}
    )
    rps: int | None = None
    log: str | None = ""
    exit_code: int | None = 0
    console: bool = True
    inspect: bool = True
    host: bool = True
    cpu_percent: Callable[[float], float] = lambda at_s: 20.0
    core_percent: Callable[[float, int], float] | None = None
    memory_percent: float | None = 30.0
    tags: dict[str, str] = field(default_factory=dict)
    """Run tags, on every sample."""
    setup_ms: float | None = None
    gzip: bool = False
    csv_unit_ns: int | None = None
    """Write k6.csv instead of k6.json, its stamps in this unit (1,000,000,000: k6's default)."""
    percent: float = 100.0
    end_s: float | None = None
    """Cut the evidence here, on the plan's clock: nothing stamped later is written."""
    interrupted_printed: int | None = None
    extra_lines: Sequence[str] = ()
    ticks: bool = True

    def lines(self) -> tuple[str, ...]:
        """The points file's lines, in order of time."""
        return self._lines

    def text(self) -> str:
        """The points file."""
        return "\n".join(self.lines()) + "\n"

    @functools.cached_property
    def _lines(self) -> tuple[str, ...]:
        metrics = {metric for one in self._made for metric, _ in one.values}
        definitions = [self._definition(metric) for metric in sorted(metrics)]
        return (*definitions, *(line for one in self._samples() for line in one.lines()), *self.extra_lines)

    def csv(self, unit_ns: int = 1) -> str:
        """The same samples as k6's CSV output writes them, with stamps cut to whole units."""
        header = ",".join(["metric_name", "timestamp", "metric_value", *CSV_TAGS, "extra_tags", "metadata"])
        extra = [read_back(line) for line in self.extra_lines if '"Point"' in line]
        return "".join([f"{header}\n", *(one.csv(unit_ns) for one in [*self._samples(), *extra])])

    def _samples(self) -> Iterator[Samples]:
        """What is in the points file, in order of time."""
        cut_ns = None if self.end_s is None else T0_S * NS + round(self.end_s * NS)
        return (one for one in self._made if cut_ns is None or one.at_ns <= cut_ns)

    @functools.cached_property
    def _made(self) -> list[Samples]:
        """What the generator made, written or not, in order of time."""
        made: list[Samples] = []

        def put(at_ns: int, tags: dict[str, str], **values: float) -> None:
            every = tuple(sorted({**self.tags, **tags}.items()))
            made.append(Samples(at_ns, tuple(values.items()), every))

        zero = T0_S * NS
        if self.setup_ms is not None:
            _request(put, zero - 50_000_000, Answer(self.setup_ms), {"group": "::setup"}, "GET /setup")
        for scenario in self.scenarios:
            self._scenario(put, scenario, zero + round(scenario.start_time_s * NS))
        last_s = max(s.start_time_s + s.planned_s for s in self.scenarios)
        if self.ticks:
            for second in range(int(last_s) + 1):
                put(zero + second * NS + 17_000_000, {}, vus=3, vus_max=50)
        made.sort(key=lambda one: one.at_ns)
        return made

    def _definition(self, metric: str) -> str:
        kinds = {
            "iterations": "counter",
            "http_reqs": "counter",
            "dropped_iterations": "counter",
            "data_sent": "counter",
            "data_received": "counter",
            "vus": "gauge",
            "vus_max": "gauge",
            "http_req_failed": "rate",
            "checks": "rate",
        }
        data = {
            "name": metric,
            "type": kinds.get(metric, "trend"),
            "contains": "time" if metric not in kinds else "default",
            "thresholds": self.thresholds.get(metric, []),
            "submetrics": None,
        }
        return json.dumps({"type": "Metric", "data": data, "metric": metric}, separators=(",", ":"))

    def _scenario(self, put: Callable[..., None], scenario: Scenario, origin: int) -> None:
        base = {"group": "", "scenario": scenario.name, **scenario.tags}
        starts = scenario.slots_s() if scenario.starts_s is None else scenario.starts_s
        for index, start_s in enumerate(starts):
            at = origin + round(start_s * NS)
            total_ms = 0.0
            for _ in range(scenario.requests):
                answer = scenario.answer(index, start_s)
                total_ms += answer.duration_ms + answer.blocked_ms
                _request(put, at + round(total_ms * 1e6), answer, base, scenario.request_name(index))
            total_ms += scenario.think_ms
            _iteration(put, at + round(total_ms * 1e6), total_ms, base)
        for drop_s in scenario.drops_s:
            put(origin + round(drop_s * NS), {"scenario": scenario.name}, dropped_iterations=1)
        for cut_s in scenario.interrupted_s:
            put(origin + round(cut_s * NS), base, data_sent=80, data_received=0)

    def completed(self) -> int:
        return self._count("iterations")

    def requests_made(self) -> int:
        return self._count("http_reqs")

    def _count(self, metric: str) -> int:
        """Lines of one sample of a metric."""
        return sum(f'"metric":"{metric}"' in line and '"Point"' in line for line in self.lines())

    def console_text(self) -> str:
        """Banner, one progress line and the closing one."""
        vus = round(sum(s.max_vus for s in self.scenarios) * self.percent / 100)
        n = len(self.scenarios)
        interrupted = self.interrupted_printed
        if interrupted is None:
            interrupted = sum(len(s.interrupted_s) for s in self.scenarios)
        share = self.percent / 100
        share = {33.33: 1 / 3, 66.67: 2 / 3}.get(self.percent, share)
        length_s = max(s.start_time_s + s.planned_s for s in self.scenarios)
        names = [s.banner(share) for s in self.scenarios]
        done = [f"{s.name} ✓ [ 100% ] 00/50 VUs  {go_duration(s.planned_s)}" for s in self.scenarios]
        return "\n".join(
            [
                "",
                "     execution: local",
                "        script: script.js",
                "        output: json (k6.json)",
                "",
                f"     scenarios: ({self.percent:.2f}%) {n} scenario{'s' if n > 1 else ''}, {vus} max VUs, "
                "1m0s max duration (incl. graceful stop):",
                *names,
                "",
                "running (01.0s), 03/50 VUs, 0 complete and 0 interrupted iterations",
                *(f"{s.name} [   3% ] 03/50 VUs  01.0s/30s" for s in self.scenarios),
                "",
                *(["  █ THRESHOLDS ", ""] if self.thresholds else []),
                "  █ TOTAL RESULTS ",
                "",
                f"    http_reqs......................: {self.requests_made()}   99.9/s",
                "",
                f"running ({length_s + 1:04.1f}s), 00/50 VUs, {self.completed()} complete and {interrupted} interrupted iterations",
                *done,
                "",
            ]
        )

    def inspect_json(self) -> str:
        return json.dumps(
            {
                "scenarios": {s.name: s.options() for s in self.scenarios},
                "executionSegment": None,
                "rps": self.rps,
                "thresholds": self.thresholds or None,
                "systemTags": ["name", "scenario"],
                "summaryTrendStats": None,
                "noConnectionReuse": None,
                "totalDuration": "1m0s",
                "maxVUs": sum(s.max_vus for s in self.scenarios),
            },
            indent=2,
        )

    def host_csv(self) -> str:
        """A row a second from 3 s before the plan's start to 3 s after its end."""
        last_s = int(max(s.start_time_s + s.planned_s for s in self.scenarios)) + 3
        header = ["timestamp", "cpu_busy_percent"]
        if self.core_percent is not None:
            header += ["cpu0_busy_percent", "cpu1_busy_percent"]
        if self.memory_percent is not None:
            header += ["mem_used_percent", "swap_in_pages_per_s"]
        rows = [",".join(header)]
        for second in range(-2, last_s + 1):
            row = [stamp((T0_S + second) * NS), f"{self.cpu_percent(second):g}"]
            if self.core_percent is not None:
                row += [f"{self.core_percent(second, core):g}" for core in (0, 1)]
            if self.memory_percent is not None:
                row += [f"{self.memory_percent:g}", "0"]
            rows.append(",".join(row))
        return "\n".join(rows) + "\n"

    def write(self, folder: Path) -> Path:
        """Write the folder and return it."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.csv_unit_ns:
            (folder / "k6.csv").write_text(self.csv(self.csv_unit_ns))
        elif self.gzip:
            (folder / "k6.json.gz").write_bytes(gzip.compress(self.text().encode(), 1))
        else:
            (folder / "k6.json").write_text(self.text())
        if self.console:
            (folder / "console.txt").write_text(self.console_text())
        if self.inspect:
            (folder / "inspect.json").write_text(self.inspect_json())
        if self.log is not None:
            (folder / "log.txt").write_text(self.log)
        if self.exit_code is not None:
            (folder / "exit_code").write_text(f"{self.exit_code}\n")
        if self.host:
            (folder / "host.csv").write_text(self.host_csv())
        return folder


def _request(put: Callable[..., None], end_ns: int, answer: Answer, base: dict[str, str], name: str) -> None:
    tags = {
        **base,
        "name": name,
        "url": name,
        "method": "GET",
        "status": answer.status,
        "expected_response": "false" if answer.failed else "true",
    }
    if answer.error_code:
        tags["error_code"] = answer.error_code
    if answer.error:
        tags["error"] = answer.error
    put(
        end_ns,
        tags,
        http_reqs=1.0,
        http_req_duration=answer.duration_ms,
        http_req_blocked=answer.blocked_ms,
        http_req_connecting=0.0,
        http_req_tls_handshaking=0.0,
        http_req_sending=0.0,
        http_req_waiting=answer.duration_ms,
        http_req_receiving=0.0,
        http_req_failed=float(answer.failed),
    )


def _iteration(put: Callable[..., None], end_ns: int, duration_ms: float, base: dict[str, str]) -> None:
    put(end_ns, base, data_sent=80.0, data_received=120.0, iteration_duration=duration_ms, iterations=1.0)


@functools.lru_cache(4096)
def _second(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def stamp(at_ns: int) -> str:
    """RFC 3339 in UTC with trailing zeros of the fraction stripped, as Go writes it."""
    whole, fraction = divmod(at_ns, NS)
    text = _second(whole)
    digits = f"{fraction:09d}".rstrip("0")
    return f"{text}.{digits}Z" if digits else f"{text}Z"


def read_back(line: str) -> Samples:
    """The sample of a line of the points file."""
    point = json.loads(line)
    data = point["data"]
    return Samples(stamp_ns(data["time"]), ((point["metric"], data["value"]),), tuple(data["tags"].items()))


def go_duration(seconds: float) -> str:
    """As Go prints a duration: "30s", "1m30s", "1h0m0s"."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    if hours:
        return f"{hours}h{minutes}m{rest:g}s"
    return f"{minutes}m{rest:g}s" if minutes else f"{rest:g}s"


def spread(count: int, from_s: float, to_s: float) -> list[float]:
    """``count`` times evenly over a stretch."""
    return [from_s + (to_s - from_s) * i / count for i in range(count)]
