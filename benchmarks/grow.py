"""Make a run of any length out of a recorded one, in a folder that `k6-audit lint` finds VALID.

    python benchmarks/grow.py OUT --mb 600 [--run sample_runs/open_healthy] [--gzip]

The recorded run holds a constant arrival rate for some while. One minute of that is repeated as often as it
takes, each time with its stamps a minute later; what came before and after it stays at the ends. So the rate,
the gaps between iterations and all values are k6's own, and only the plan is longer: the options, the banner
and the totals on the console say so, and the host's metrics are repeated with the samples.
"""

from __future__ import annotations

import argparse
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from isal import igzip

open_gzip: Any = igzip.open  # it carries no types

ROOT = Path(__file__).resolve().parent.parent
REPEATED_S = 60
_STAMP = re.compile(r'("time":")(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)')
_DURATION = re.compile(r"(\d+)([hms])")
_DONE = '{"metric":"iterations","type":"Point"'


def seconds(text: str) -> int:
    return sum(int(n) * {"h": 3600, "m": 60, "s": 1}[unit] for n, unit in _DURATION.findall(text))


def go_duration(whole_s: int) -> str:
    """As k6 prints it: 1h2m0s is 1h2m0s."""
    hours, rest = divmod(whole_s, 3600)
    minutes, rest = divmod(rest, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def at(second: str) -> datetime:
    return datetime.fromisoformat(second).replace(tzinfo=UTC)


def later(second: str, by_s: int) -> str:
    return (at(second) + timedelta(seconds=by_s)).strftime("%Y-%m-%dT%H:%M:%S")


class Piece:
    """Lines as text with gaps where the date and second of a stamp stand."""

    def __init__(self, lines: list[str]) -> None:
        parts = _STAMP.split("".join(lines))
        self.parts = parts
        self.seconds = parts[2::3]
        self.bytes = sum(len(line.encode()) for line in lines)

    def shifted(self, by_s: int) -> bytes:
        moved = {second: later(second, by_s) for second in set(self.seconds)}
        parts = list(self.parts)
        parts[2::3] = [moved[second] for second in self.seconds]
        return "".join(parts).encode()


def grow(run: Path, out: Path, megabytes: float, *, zipped: bool) -> int:
    """Write the grown run; returns how often the minute stands in it."""
    options = json.loads((run / "inspect.json").read_text())
    ((name, scenario),) = options["scenarios"].items()
    ramp, hold = (seconds(stage["duration"]) for stage in scenario["stages"])
    if hold < REPEATED_S + 1:
        raise SystemExit(f"the run holds its rate for {hold} s; {REPEATED_S + 1} s are needed")
    with open_gzip(run / "k6.json.gz", "rt", encoding="utf-8") as file:
        lines = list(file)
    stamps = [match[2] if (match := _STAMP.search(line)) else "" for line in lines]
    begin = later(min(s for s in stamps if s), ramp + 1)
    end = later(begin, REPEATED_S)
    # Metric lines carry no stamp: they stay where they are, before the first sample of their metric.
    before = Piece([line for line, s in zip(lines, stamps, strict=True) if s < begin])
    minute = Piece([line for line, s in zip(lines, stamps, strict=True) if begin <= s < end])
    after = Piece([line for line, s in zip(lines, stamps, strict=True) if s >= end])
    copies = max(1, round((megabytes * 1e6 - before.bytes - after.bytes) / minute.bytes))
    added_s = (copies - 1) * REPEATED_S

    out.mkdir(parents=True, exist_ok=True)
    name_of_points = "k6.json.gz" if zipped else "k6.json"
    opened: Any = open_gzip(out / name_of_points, "wb") if zipped else (out / name_of_points).open("wb")
    with opened as points:
        points.write(before.shifted(0))
        for copy in range(copies):
            points.write(minute.shifted(copy * REPEATED_S))
        points.write(after.shifted(added_s))

    scenario["stages"][1]["duration"] = go_duration(hold + added_s)
    (out / "inspect.json").write_text(json.dumps(options, indent=2))
    done = sum(line.startswith(_DONE) for line in lines)
    in_minute = sum(line.startswith(_DONE) and begin <= s < end for line, s in zip(lines, stamps, strict=True))
    _write_console(run, out, name, ramp + hold, added_s, done + (copies - 1) * in_minute)
    _write_host(run, out, begin, copies)
    for file in ("exit_code", "log.txt"):
        (out / file).write_bytes((run / file).read_bytes())
    return copies


def _write_console(run: Path, out: Path, name: str, planned_s: int, added_s: int, completed: int) -> None:
    """The banner and the end; the progress in between and the summary's figures are left out."""
    text = (run / "console.txt").read_text()
    old, new = go_duration(planned_s), go_duration(planned_s + added_s)
    banner = text[: text.index("running (")]
    banner = banner.replace(f" for {old} ", f" for {new} ")
    banner = re.sub(r"\S+ max duration", f"{go_duration(planned_s + added_s + 30)} max duration", banner)
    last = text[text.rindex("running (") :]
    last = re.sub(r"running \([^)]*\)", f"running ({new.replace('s', '.0s')})", last)
    last = re.sub(r"\d+ complete", f"{completed} complete", last).replace(f" {old} ", f" {new} ")
    (out / "console.txt").write_text(banner + last)


def _write_host(run: Path, out: Path, begin: str, copies: int) -> None:
    header, *rows = (run / "host.csv").read_text().splitlines()
    first = next(i for i, row in enumerate(rows) if row[:19] >= begin)
    grown = rows[:first]
    for copy in range(copies):
        for row in rows[first : first + REPEATED_S]:
            grown.append(later(row[:19], copy * REPEATED_S) + row[19:])
    grown += [later(r[:19], (copies - 1) * REPEATED_S) + r[19:] for r in rows[first + REPEATED_S :]]
    (out / "host.csv").write_text("\n".join([header, *grown]) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--mb", type=float, default=600, help="size of the points, uncompressed")
    parser.add_argument("--run", type=Path, default=ROOT / "sample_runs" / "open_healthy")
    parser.add_argument("--gzip", action="store_true", help="write k6.json.gz")
    asked = parser.parse_args()
    copies = grow(asked.run, asked.out, asked.mb, zipped=asked.gzip)
    size = sum(path.stat().st_size for path in asked.out.glob("k6.json*"))
    print(f"{asked.out}: {copies} minutes, {size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
