"""Damage that must not stay VALID, and harmless differences that must.

Each case takes a run that is VALID (built here, and where it is there a recorded one), changes one thing in
a copy, and audits it. A false VALID is the worst this product can do; a false alarm the second worst.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from auditor.errors import AuditError
from tests.builder import NS, T0_S, Run, Scenario, stamp
from tests.conftest import ROOT, Judge, outcomes

WARMUP = "5s"
ZERO = re.compile(r'"time":"([^"]+)"')
Change = Callable[[Path], object]


def lines(folder: Path) -> list[str]:
    plain = folder / "k6.json"
    text = (
        plain.read_text() if plain.exists() else gzip.decompress((folder / "k6.json.gz").read_bytes()).decode()
    )
    return text.splitlines()


def put(folder: Path, changed: list[str]) -> None:
    text = "\n".join(changed) + "\n"
    if (folder / "k6.json").exists():
        (folder / "k6.json").write_text(text)
    else:
        (folder / "k6.json.gz").write_bytes(gzip.compress(text.encode(), 1))


def edit_lines(change: Callable[[list[str]], list[str]]) -> Change:
    return lambda folder: put(folder, change(lines(folder)))


def at_s(line: str) -> float:
    """Seconds of a line's stamp since the first second of the run's day; 0 for a Metric line."""
    found = ZERO.search(line)
    if found is None:
        return 0.0
    whole, _, fraction = found[1].rstrip("Z").partition(".")
    base = datetime.fromisoformat(whole + "+00:00").timestamp()
    return base + float(f"0.{fraction or 0}")


def without(kept: Callable[[str, float], bool]) -> Change:
    """Leave out the lines that are not kept, by (line, seconds since the run's first sample)."""

    def change(found: list[str]) -> list[str]:
        first = min(at_s(x) for x in found if '"Point"' in x)
        return [x for x in found if '"Metric"' in x or kept(x, at_s(x) - first)]

    return edit_lines(change)


def thin_lines(folder: Path) -> None:
    dice = random.Random(3)
    put(folder, [x for x in lines(folder) if '"Metric"' in x or dice.random() > 0.03])


def thin_iterations(folder: Path) -> None:
    """Drop whole iterations: every 33rd stamp's lines, requests and iteration alike."""
    found = lines(folder)
    ends = sorted({ZERO.search(x)[1] for x in found if '"metric":"iterations"' in x and '"Point"' in x})  # type: ignore[index]
    gone = set(ends[::33])
    # the requests of an iteration are stamped just before its end: drop what lies within 2 ms before
    cut = [at_s(f'"time":"{g}"') for g in gone]
    cut.sort()
    import bisect

    def kept(line: str) -> bool:
        if '"Metric"' in line or '"metric":"vus' in line:
            return True
        t = at_s(line)
        i = bisect.bisect_left(cut, t - 1e-9)
        return not (i < len(cut) and 0 <= cut[i] - t < 0.0015)

    put(folder, [x for x in found if kept(x)])


def fail_some(share: float, *, zero_ms: bool) -> Change:
    """Turn a share of requests into status-0 failures: nine lines each, durations 0 if asked."""

    def change(found: list[str]) -> list[str]:
        dice = random.Random(7)
        chosen: dict[str, bool] = {}
        out = []
        for line in found:
            if '"metric":"http_' not in line or '"Point"' not in line:
                out.append(line)
                continue
            stamp_ = ZERO.search(line)[1]  # type: ignore[index]
            if chosen.setdefault(stamp_, dice.random() < share):
                line = re.sub(r'"status":"\d+"', '"status":"0"', line).replace(
                    '"expected_response":"true"', '"error_code":"1212","expected_response":"false"'
                )
                if '"metric":"http_req_failed"' in line:
                    line = line.replace('"value":0', '"value":1')
                elif zero_ms and '"metric":"http_reqs"' not in line:
                    line = re.sub(r'"value":[0-9.e+-]+', '"value":0', line)
            out.append(line)
        return out

    return edit_lines(change)


def failed_requests(change: Callable[[str], str]) -> Change:
    """Change every line of a request that failed."""
    return edit_lines(
        lambda found: [
            change(x) if '"metric":"http_' in x and '"expected_response":"false"' in x else x for x in found
        ]
    )


def console_of(run: Run) -> Change:
    return lambda folder: (folder / "console.txt").write_text(run.console_text())


def edit(name: str, change: Callable[[str], str]) -> Change:
    def apply(folder: Path) -> None:
        path = folder / name
        path.write_text(change(path.read_text()))

    return apply


def remove(*names: str) -> Change:
    def apply(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return apply


def torn_gzip(folder: Path) -> None:
    text = "\n".join(lines(folder)) + "\n"
    (folder / "k6.json").unlink(missing_ok=True)
    data = gzip.compress(text.encode())
    (folder / "k6.json.gz").write_bytes(data[: int(len(data) * 0.9)])


def appended(folder: Path) -> None:
    """A second run of the same script, 60 s later, in the same file."""

    def later(line: str) -> str:
        found = ZERO.search(line)
        if found is None:
            return line
        whole, dot, fraction = found[1].rstrip("Z").partition(".")
        moved = datetime.fromisoformat(whole + "+00:00") + timedelta(seconds=60)
        return line.replace(found[1], f"{moved:%Y-%m-%dT%H:%M:%S}{dot}{fraction}Z")

    put(folder, [*lines(folder), *(later(x) for x in lines(folder))])


def host_rows(kept: Callable[[int, int], bool], value: str | None = None) -> Change:
    def change(text: str) -> str:
        header, *rows = text.strip().splitlines()
        out = [header]
        for i, row in enumerate(rows):
            if kept(i, len(rows)):
                out.append(row)
            elif value is not None:
                cells = row.split(",")
                out.append(",".join([cells[0], *([value] * (len(cells) - 1))]))
        return "\n".join(out) + "\n"

    return edit("host.csv", change)


def slow_down(folder: Path) -> None:
    """Delay every start after 15 s by up to 4 s: the schedule slips."""

    def moved(line: str) -> str:
        found = ZERO.search(line)
        if found is None or '"metric":"vus' in line:
            return line
        t = at_s(line) - T0_S
        if t < 15:
            return line
        new = T0_S * NS + round((15 + (t - 15) * 1.25) * NS)
        return line.replace(found[1], stamp(new))

    put(folder, [moved(x) for x in lines(folder)])


def both(first: Change, second: Change) -> Change:
    def apply(folder: Path) -> None:
        first(folder)
        second(folder)

    return apply


def compressed(folder: Path) -> None:
    (folder / "k6.json.gz").write_bytes(gzip.compress((folder / "k6.json").read_bytes()))
    (folder / "k6.json").unlink()


def nested_folder(folder: Path) -> None:
    (folder / "screens").mkdir()
    (folder / "screens" / "a.txt").write_text("x")


def two_members(folder: Path) -> None:
    data = (folder / "k6.json").read_bytes()
    half = data.index(b"\n", len(data) // 2) + 1
    (folder / "k6.json.gz").write_bytes(gzip.compress(data[:half]) + gzip.compress(data[half:]))
    (folder / "k6.json").unlink()


def _in_kolkata(text: str) -> str:
    whole, dot, fraction = text.rstrip("Z").partition(".")
    local = (
        datetime.fromisoformat(whole).replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=5, minutes=30)))
    )
    return f"{local:%Y-%m-%dT%H:%M:%S}{dot}{fraction}+05:30"


# fmt: off
DAMAGE: dict[str, Change] = {
    "3 % of the lines lost": thin_lines,
    "3 % of the iterations lost": thin_iterations,
    "a 6 s hole": without(lambda line, t: not 12 < t < 18),
    "a hole of 6 s in everything but the ticks": without(lambda line, t: '"metric":"vus' in line or not 12 < t < 18),
    "the last 5 s cut off": without(lambda line, t: t < 25),
    "the last 1.5 s cut off": without(lambda line, t: t < 28.5),
    "the first 8 s cut off": without(lambda line, t: t > 8),
    "gzip torn": torn_gzip,
    "last line torn": lambda f: (f / "k6.json").write_text((f / "k6.json").read_text()[:-40]),
    "2 % failures of 0 ms": fail_some(0.02, zero_ms=True),
    "20 % failures": fail_some(0.20, zero_ms=False),
    "only successful requests kept of 5 % failing": both(fail_some(0.05, zero_ms=False), without(lambda line, t: '"expected_response":"false"' not in line)),
    "dropped iterations recorded": lambda f: put(f, [*lines(f), *(
        json.dumps({"metric": "dropped_iterations", "type": "Point", "data": {"time": stamp(T0_S * NS + i * 10**8), "value": 1, "tags": {"scenario": "api"}}}, separators=(",", ":"))
        for i in range(60, 160))]),
    "one drop line that stands for 200": lambda f: put(f, [*lines(f), '{"metric":"dropped_iterations","type":"Point","data":{"time":"' + stamp(T0_S * NS + 15 * NS) + '","value":200,"tags":{"scenario":"api"}}}']),
    "a hot generator": host_rows(lambda i, n: not 15 <= i < 24, "97"),
    "half the host coverage": host_rows(lambda i, n: i < n // 2),
    "a hole in the host metrics": host_rows(lambda i, n: not 12 <= i < 20),
    "host metrics of another day": edit("host.csv", lambda t: re.sub(r"(?m)^20(\d\d)-(\d\d)-\d\d", r"20\1-\2-01", t)),
    "no host metrics": remove("host.csv"),
    "another run's console": console_of(Run([Scenario(name="other", rate=50)])),
    "another rate in the banner": edit("console.txt", lambda t: t.replace("100.00 iterations/s", "400.00 iterations/s")),
    "another length in the banner": edit("console.txt", lambda t: t.replace("iterations/s for 30s", "iterations/s for 45s")),
    "a closed banner": edit("console.txt", lambda t: re.sub(r"\* api: .*", "* api: 20 looping VUs for 30s (gracefulStop: 30s)", t)),
    "a console that counts other iterations": edit("console.txt", lambda t: t.replace("3000 complete", "2810 complete")),
    "one of three segments": edit("console.txt", lambda t: t.replace("(100.00%)", "(33.33%)")),
    "a higher rate in the options": edit("inspect.json", lambda t: t.replace('"rate": 100', '"rate": 130')),
    "options of a longer test": edit("inspect.json", lambda t: t.replace('"duration": "30s"', '"duration": "40s"')),
    "no options and no banner": remove("inspect.json", "console.txt"),
    "no options": remove("inspect.json"),
    "a global rps limit": edit("inspect.json", lambda t: t.replace('"rps": null', '"rps": 90')),
    "two runs appended": appended,
    "every line twice": edit_lines(lambda found: [x for x in found for _ in range(2)]),
    "some lines damaged": edit_lines(lambda found: [x[: len(x) // 2] if i % 997 == 500 else x for i, x in enumerate(found)]),
    "exit code 105": edit("exit_code", lambda t: "105\n"),
    "exit code 137": edit("exit_code", lambda t: "137\n"),
    "exit code 99 and nothing crossed": edit("exit_code", lambda t: "99\n"),
    "exceptions in the log": edit("log.txt", lambda t: "".join('time="2026-11-30T00:53:25Z" level=error msg="Error: boom" executor=x scenario=api source=stacktrace\n' for _ in range(200))),
    "an empty points file": lambda f: (f / "k6.json").write_text(""),
    "requests without a duration": without(lambda line, t: '"metric":"http_req_duration"' not in line or int(t * 1000) % 7 != 0),
    "negative durations": edit_lines(lambda found: [x.replace('"value":2', '"value":-2', 1) if '"metric":"http_req_duration"' in x and i % 50 == 0 else x for i, x in enumerate(found)]),
    "the schedule slips": slow_down,
    "failures in a group of the script called setup": both(fail_some(0.2, zero_ms=False), failed_requests(lambda x: x.replace('"group":""', '"group":"::setup"'))),
    "failures without a scenario": both(fail_some(0.2, zero_ms=False), failed_requests(lambda x: x.replace('"scenario":"api"', '"team":"x"'))),
    "half of the host rows without a figure": edit("host.csv", lambda t: "\n".join(",".join([r.split(",")[0], *(["NaN"] * r.count(","))]) if i % 2 else r for i, r in enumerate(t.splitlines())) + "\n"),
    "a host below zero": host_rows(lambda i, n: False, "-20"),
    "a host at rest throughout": host_rows(lambda i, n: False, "0"),
    "a console that counts interrupted iterations": edit("console.txt", lambda t: t.replace("3000 complete and 0 interrupted", "3000 complete and 200 interrupted")),
    "one drop of 1e308": lambda f: put(f, [*lines(f), '{"metric":"dropped_iterations","type":"Point","data":{"time":"' + stamp(T0_S * NS + 15 * NS) + '","value":1e308,"tags":{"scenario":"api"}}}']),
    "durations of 1e308": edit_lines(lambda found: [x.replace('"value":2', '"value":2e307', 1) if '"metric":"http_req_duration"' in x and i % 900 == 0 else x for i, x in enumerate(found)]),
}

HARMLESS: dict[str, Change] = {
    "nothing": lambda f: None,
    "lines in another order": edit_lines(lambda found: random.Random(5).sample(found, len(found))),
    "lines reversed": edit_lines(lambda found: found[::-1]),
    "old key order": edit_lines(lambda found: [json.dumps({k: json.loads(x)[k] for k in ("type", "data", "metric")}, separators=(",", ":")) for x in found]),
    "tags in another order": edit_lines(lambda found: [json.dumps({**(i := json.loads(x)), "data": {**i["data"], "tags": dict(reversed(i["data"]["tags"].items()))}}, separators=(",", ":")) if '"Point"' in x else x for x in found]),
    "spaces in the JSON": edit_lines(lambda found: [json.dumps(json.loads(x)) if i % 3 == 0 else x for i, x in enumerate(found)]),
    "another time zone": edit_lines(lambda found: [ZERO.sub(lambda m: '"time":"' + _in_kolkata(m[1]) + '"', x) for x in found]),
    "escaped strings": edit_lines(lambda found: [x.replace('"scenario":"api"', '"scenario":"\\u0061pi"') for x in found]),
    "metadata beside the tags": edit_lines(lambda found: [x[:-2] + ',"metadata":{"vu":"1"}}}' if '"Point"' in x and i % 2 else x for i, x in enumerate(found)]),
    "Metric lines twice": edit_lines(lambda found: [*(x for x in found if '"Metric"' in x), *found]),
    "points compressed": compressed,
    "compressed in two members": two_members,
    "other file names": lambda f: [(f / a).rename(f / b) for a, b in (("k6.json", "result.ndjson"), ("console.txt", "out"), ("inspect.json", "options.json"), ("host.csv", "cpu.csv"))],
    "extra files": lambda f: [(f / n).write_text(t) for n, t in (("notes.md", "# hello"), ("script.js", "import http from 'k6/http';"), ("x.json", "[1, 2]"), ("empty", ""))],
    "a copy of the points": lambda f: shutil.copy(f / "k6.json", f / "copy.json"),
    "log lines in the console": edit("console.txt", lambda t: 'time="2026-11-30T00:53:25Z" level=info msg="hello" source=console\n' + t),
    "colours in the console": edit("console.txt", lambda t: t.replace("api", "\x1b[36mapi\x1b[0m")),
    "Windows line ends in the console": lambda f: (f / "console.txt").write_bytes((f / "console.txt").read_bytes().replace(b"\n", b"\r\n")),
    "host rows in another order": edit("host.csv", lambda t: "\n".join([t.splitlines()[0], *reversed(t.splitlines()[1:])]) + "\n"),
    "host stamps as epoch": edit("host.csv", lambda t: "\n".join([t.splitlines()[0], *(str(int(datetime.fromisoformat(r.split(",")[0].replace("Z", "+00:00")).timestamp())) + "," + r.split(",", 1)[1] for r in t.strip().splitlines()[1:])]) + "\n"),
    "no log": remove("log.txt"),
    "no exit code": remove("exit_code"),
    "no banner": remove("console.txt"),
    "nested folder without points": nested_folder,
    "a group of the script called teardown": edit_lines(lambda found: [x.replace('"group":""', '"group":"::teardown"') if '"metric":"http_' in x else x for x in found]),
}
# fmt: on


@pytest.fixture(scope="session")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = Run(core_percent=lambda at, core: 20.0)
    return run.write(tmp_path_factory.mktemp("corpus") / "run")


def copy(run: Path, tmp_path: Path) -> Path:
    target = tmp_path / "run"
    shutil.copytree(run, target)
    return target


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_does_not_stay_valid(change: Change, healthy: Path, tmp_path: Path, judge: Judge) -> None:
    run = copy(healthy, tmp_path)
    change(run)
    result = judge(run, warmup=WARMUP)
    assert result.verdict != "VALID", outcomes(result)


@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS.keys())
def test_harmless_differences_stay_valid(change: Change, healthy: Path, tmp_path: Path, judge: Judge) -> None:
    before = judge(healthy, warmup=WARMUP)
    assert before.verdict == "VALID", outcomes(before)
    run = copy(healthy, tmp_path)
    change(run)
    result = judge(run, warmup=WARMUP)
    failed = {r.id: r.reason for r in result.results if r.outcome in ("fail", "unknown", "error")}
    assert result.verdict == "VALID", failed
    for name, field in before.header.fields.items():
        after = result.header.fields[name]
        assert (after.status, after.value) == (field.status, field.value), name


# --- several generators, on the recorded sample ---------------------------------------------------------


def distributed(tmp_path: Path) -> Path:
    return copy(ROOT / "sample_runs" / "distributed_3", tmp_path)


def twice(run: Path) -> None:
    shutil.rmtree(run / "gen-3")
    shutil.copytree(run / "gen-1", run / "gen-3")


DISTRIBUTED_DAMAGE: dict[str, Change] = {
    "one generator missing": lambda run: shutil.rmtree(run / "gen-2"),
    "one generator twice": twice,
    "one generator more": lambda run: shutil.copytree(run / "gen-1", run / "gen-4"),
    "one generator's banner missing": lambda run: (run / "gen-2" / "console.txt").unlink(),
    "host metrics of one generator only": lambda run: (run / "host.csv").rename(run / "gen-1" / "host.csv"),
    "one generator's tail cut": lambda run: _cut_tail(run / "gen-3"),
}


def _cut_tail(folder: Path) -> None:
    found = lines(folder)
    put(folder, found[: int(len(found) * 0.93)])


@pytest.mark.parametrize("change", DISTRIBUTED_DAMAGE.values(), ids=DISTRIBUTED_DAMAGE.keys())
def test_distributed_damage_does_not_stay_valid(change: Change, tmp_path: Path, judge: Judge) -> None:
    run = distributed(tmp_path)
    assert judge(run, warmup="0s").verdict == "VALID"
    change(run)
    refused = ""
    try:
        result = judge(run, warmup="0s")
    except AuditError as error:
        refused = str(error)
    # Refused outright ("not one run") is refused as well.
    assert "not one run" in refused if refused else result.verdict != "VALID"


def test_generators_as_separate_targets_in_any_order_are_the_same_run(tmp_path: Path, judge: Judge) -> None:
    from auditor.engine.audit import audit
    from auditor.engine.loader import load_rules
    from auditor.engine.policy import load_policy
    from auditor.ingest.bundle import read_run

    run = distributed(tmp_path)
    one = judge(run, warmup="0s")
    rules = load_rules()
    policy = load_policy(None, {"warmup": ("0s", "--warmup")}, rules)
    folders = [run / "gen-3", run / "gen-1", run / "gen-2"]
    other = audit(read_run(folders, [run / "host.csv"]), policy, rules)
    assert other.verdict == one.verdict == "VALID"
    assert {n: f.value for n, f in other.header.fields.items()} == {
        n: f.value for n, f in one.header.fields.items()
    }
