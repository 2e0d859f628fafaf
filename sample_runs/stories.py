"""The stories: how each is recorded, and what by its construction an audit of it must say.

The one place for everything declared by hand; ``record.py`` records from it, ``oracle.py`` puts it
beside the figures that it computes from the recording.
"""

from __future__ import annotations

from dataclasses import dataclass

VALID = "VALID"
INVALID = "INVALID"
EXIT_CODE = {VALID: 0, INVALID: 1}  # of k6-audit

HEALTHY = (
    "WM01", "WM04", "OL01", "OL02", "OL03", "OL05", "OL08", "OL09",
    "SD01", "SD02", "SD03", "SD04", "SD06", "SD08", "SD09", "ER03", "ER04", "ER06", "ER11",
    "LS02", "LS05", "LS11", "SS01", "SS03", "SS06", "CO03", "CO05",
    "GH01", "GH02", "GH03", "GH04", "GH06", "DM01", "DM02", "DM03", "DM06",
    "EV01", "EV02", "EV03", "EV04", "EV12", "EV13", "TH01",
    *(f"HD{number:02}" for number in range(1, 12)),
)  # fmt: skip
"""Rules that must not fail on a healthy open run with thresholds of its own."""

QUIET = ("CO02", "CA01", "CA02")
"""Further rules that must not fail where the story is about neither a stall nor time series."""


def without(*ids: str) -> tuple[str, ...]:
    """Return the healthy list less the rules that a story makes fail or leaves open."""
    return tuple(rule for rule in HEALTHY if rule not in ids)


@dataclass(frozen=True)
class Story:
    """One recorded run (of one generator or several)."""

    name: str
    what: str
    outcome: str
    verdict: str
    warmup: str = "0s"
    server: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()  # one k6 process each; none: one process without a segment
    kill_after: float | None = None
    k6_exit: int = 0
    must_fail: tuple[str, ...] = ()
    must_warn: tuple[str, ...] = ()
    must_not_fail: tuple[str, ...] = ()

    @property
    def generators(self) -> tuple[str, ...]:
        """Return the folders of the generators, relative to the story's own."""
        if not self.segments:
            return (".",)
        return tuple(f"gen-{number}" for number in range(1, len(self.segments) + 1))


ALL = (
    Story(
        name="open_healthy",
        what="""\
A ramping arrival rate, 10 to 100 iterations/s in 5 s, then 62 s at 100/s, against a server that
answers after about 15 ms. Nothing disturbs the run and the VU pool is ten times what is needed.
The plan is 275 + 6,200 = 6,475 iterations; k6 never starts the one that falls exactly on the end.""",
        outcome="""\
Everything asked for was offered. Audited with a warm-up of 5 s (the ramp) the run is VALID; p99.9
rests on about 6,200 samples, enough to print and fewer than the 10,000 that make it firm.""",
        verdict=VALID,
        warmup="5s",
        must_warn=("LS01",),
        must_not_fail=HEALTHY + QUIET,
    ),
    Story(
        name="closed_users",
        what="""\
15 looping VUs for 45 s with sleep(0.1), through the options `vus` and `duration`, against the same
healthy server. The thresholds pass.""",
        outcome="""\
A closed model: a VU asks again only when it was answered, so the rate is whatever the server lets
through and no load was ever promised. INVALID as evidence of a load (WM01).""",
        verdict=INVALID,
        must_fail=("WM01",),
        must_not_fail=without("WM01", "OL05", "SD02", "SD09") + QUIET,
    ),
    Story(
        name="vu_starved",
        what="""\
A ramping arrival rate, 20 to 80/s in 8 s, to 160/s in 8 s, 30 s at 160/s, with at most 30 VUs,
against a server of two workers with 25 ms a request: about 80/s is all it can do.""",
        outcome="""\
From about 80/s on every VU waits, latency settles near 30 VUs / 80 per second = 375 ms, and about
half of the hold is dropped. Audited with a warm-up of 16 s (the ramp). k6 exits 99: its thresholds
are crossed, which is a result about the server; INVALID is that the load was not offered.""",
        verdict=INVALID,
        warmup="16s",
        server=("--workers", "2", "--mean-ms", "25"),
        k6_exit=99,
        must_fail=("OL01", "OL02", "OL03", "SD01", "SD06", "SD08"),
        must_warn=("SD02", "SS08"),
        must_not_fail=(
            "WM01", "WM04", "OL05", "OL08", "OL09", "SD04", "SD09", "ER03", "ER06", "ER11", "LS05",
            "LS11", "SS01", "SS03", "CO03", "GH01", "GH02", "GH03", "GH04", "GH06",
            "EV01", "EV02", "EV03", "EV04", "EV12", "EV13", "TH01", *QUIET,
        ),
    ),
    Story(
        name="stall_open",
        what="""\
A constant 100/s for 65 s with 700 VUs ready; from second 25 to second 30 after its first request
the server holds every answer, then gives them all.""",
        outcome="""\
k6 keeps to its schedule: about 500 requests queue up, all are sent, and the upper percentiles are
seconds. A stall of the system under load is no fault of the test: VALID, the stall shown (CO02 as
a warning).""",
        verdict=VALID,
        server=("--stall", "25:30"),
        must_warn=("CO02", "LS01"),
        must_not_fail=(*HEALTHY, "CA01", "CA02"),
    ),
    Story(
        name="stall_closed",
        what="""\
The closed twin of stall_open: 40 looping VUs that pace themselves to about 100/s together, 65 s,
the same stall of 5 s.""",
        outcome="""\
All 40 VUs are caught by the stall and stop asking, so 500 requests that users would have made are
40 slow samples, and p99 hardly moves. INVALID: a closed model (WM01), and starts stopped in the
stall (CO02).""",
        verdict=INVALID,
        server=("--stall", "25:30"),
        must_fail=("WM01", "CO02"),
        must_not_fail=(*without("WM01", "OL05", "SD02", "SD09"), "CA01", "CA02"),
    ),
    Story(
        name="url_cardinality",
        what="""\
A constant 30 iterations/s for 40 s. Every URL is different and there is no `name` tag, which makes
nine time series a request; each iteration also adds to a counter 75 times, an id in a tag.""",
        outcome="""\
1,201 x 84 = more than 100,000 time series; k6 prints its own warning. The generator stays healthy,
so that is a warning and no more: VALID with CA01 and CA02.""",
        verdict=VALID,
        must_warn=("CA01", "CA02", "LS01", "SS08"),
        must_not_fail=(*HEALTHY, "CO02"),
    ),
    Story(
        name="cpu_saturated",
        what="""\
A constant 300/s for 30 s whose script computes heavily before each request, on two cores which the
generator shares with the server.""",
        outcome="""\
The generator is at 98 to 99 % CPU and starts about half of the plan, the rest is dropped. Its
latency figures are made by its own queue for the CPU. INVALID (GH03 above all).""",
        verdict=INVALID,
        must_fail=("GH03", "GH04", "OL01", "OL02", "OL03", "SD01", "SD08"),
        must_warn=("GH02", "SD02", "SD09", "SS08"),
        must_not_fail=(
            "WM01", "WM04", "OL05", "OL08", "OL09", "SD04", "ER03", "ER11", "LS05", "LS11",
            "SS01", "SS03", "SS06", "GH01", "EV01", "EV02", "EV03", "EV04", "EV12", "EV13", "TH01",
            "CA01", "CA02",
        ),
    ),
    Story(
        name="errors_20pct",
        what="""\
A constant 100/s for 61 s; 17 % are answered 503 at once, 3 % hang until the client's timeout of
900 ms. The thresholds look at expected responses only and allow 30 % failures: they pass.""",
        outcome="""\
Every iteration was offered and a fifth of the demand failed: of all that was asked no percentile
from p90 up is known. INVALID (ER03).""",
        verdict=INVALID,
        server=("--fail-share", "0.17", "--hang-share", "0.03"),
        must_fail=("ER03",),
        must_warn=("LS01",),
        must_not_fail=without("ER03") + QUIET,
    ),
    Story(
        name="cli_override",
        what="""\
The script of open_healthy run with `--vus 4 --duration 20s` on the command line, which replaces
its scenarios entirely. inspect.json still shows the arrival rate of the script.""",
        outcome="""\
The banner tells what ran: 4 looping VUs. INVALID: a closed model (WM01), and not what the script
says (EV03).""",
        verdict=INVALID,
        flags=("--vus", "4", "--duration", "20s"),
        must_fail=("WM01", "EV03"),
        must_not_fail=without("WM01", "EV03", "OL05", "SD02", "SD09", "SS03") + QUIET,
    ),
    Story(
        name="sigkill",
        what="""\
The script of open_healthy, k6 killed (SIGKILL) 25 s after it was started.""",
        outcome="""\
The gzip stream has no end and its last line is torn, there is no summary, the exit code is 137.
Audited with a warm-up of 5 s. INVALID: the evidence is cut off (EV01), the run ended early (OL09).
A torn file proves no absence of drops.""",
        verdict=INVALID,
        warmup="5s",
        kill_after=25.0,
        k6_exit=137,
        must_fail=("EV01", "OL09", "EV12"),
        must_not_fail=(
            "WM01", "WM04", "OL01", "OL02", "OL03", "OL05", "OL08", "SD01", "SD03", "SD04", "SD06",
            "SD08", "SD09", "ER03", "ER04", "ER06", "ER11", "LS05", "LS11", "SS01", "SS03", "SS06",
            "CO03", "GH01", "GH02", "GH03", "GH04", "GH06", "EV02", "EV03", "EV04", "EV13", "TH01",
            *QUIET,
        ),
    ),
    Story(
        name="distributed_3",
        what="""\
A constant 105/s for 62 s run by three k6 processes at once, with the execution segments 0:1/3,
1/3:2/3 and 2/3:1 of one sequence, all on one host: folders gen-1 to gen-3, one host.csv.""",
        outcome="""\
One run from three generators: 3 x 2,170 = 6,510 iterations, together what was asked for. VALID.""",
        verdict=VALID,
        segments=("0:1/3", "1/3:2/3", "2/3:1"),
        must_warn=("LS01",),
        must_not_fail=HEALTHY + QUIET,
    ),
    Story(
        name="throws",
        what="""\
A constant 50/s for 25 s; the default function throws before its request, every time.""",
        outcome="""\
k6 counts 1,251 "complete" iterations, sends no request, and exits 0 with its thresholds passed.
INVALID: no work was done (OL08), every iteration ended in an exception (ER11).""",
        verdict=INVALID,
        must_fail=("OL08", "ER11"),
        must_warn=("SS08",),
        must_not_fail=(
            "WM01", "WM04", "OL01", "OL02", "OL03", "OL05", "OL09", "SD01", "SD02", "SD03", "SD04",
            "SD06", "SD08", "SD09", "ER03", "SS01", "SS03", "CO02", "CO03", "CO05", "GH01", "GH02",
            "GH03", "GH04", "GH06", "EV01", "EV02", "EV03", "EV04", "EV12", "EV13", "TH01",
            "CA01", "CA02",
        ),
    ),
)  # fmt: skip

BY_NAME = {story.name: story for story in ALL}
