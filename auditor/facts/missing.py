"""The pieces of evidence that a run may lack: what each says, and whether it can still be added.

One missing piece leaves many rules open. They name it, so that a reader sees one question and not ten.
"""

from __future__ import annotations

import enum
from typing import Literal

Needs = Literal["", "add", "rerun"]
"""How a question is closed: by something that can be added now (a file, an option, a declaration), only by a
new run, or (empty) nobody can say."""


class Missing(enum.Enum):
    """A piece of evidence. ``what`` names it in a sentence, ``fix`` says how to have it (``{script}`` is the
    script's file name, ``{settings}`` are the options `-e` that it needs)."""

    OPTIONS = (
        "options",
        "what was planned (the run's options or k6's banner)",
        "add",
        "run there `k6 inspect --execution-requirements {settings}{script} > inspect.json` with the settings "
        "of the run (`-e NAME=value` for each variable that the script reads); or copy k6's standard output "
        "(console.txt) into the run's folder",
    )
    WARMUP = (
        "warm-up",
        "the warm-up that was declared (0 s is an answer)",
        "add",
        "declare it: --warmup 30s, or --warmup 0s to leave nothing out",
    )
    TARGET_RATE = (
        "target-rate",
        "the target rate of a closed model",
        "add",
        "declare it with --target-rate; better, use an arrival-rate executor next time",
    )
    POINTS = (
        "points",
        "the k6 points of the whole run",
        "rerun",
        "run again with `k6 run --out json=k6.json.gz` and keep the whole file (if it exists, copy it here)",
    )
    WHOLE_RUN = (
        "whole-run",
        "the points up to the planned end",
        "rerun",
        "run the test to its end and keep the whole points file",
    )
    HOST_METRICS = (
        "host-metrics",
        "host metrics of the generator over the whole window",
        "rerun",
        "record the generator while the test runs, e.g. `sar -o host.sa 1` and `sadf -j host.sa -- -u ALL "
        "-P ALL -r ALL > host.sadf.json`, and keep it beside the points (if it was recorded, copy it here)",
    )
    LOG = (
        "log",
        "k6's log",
        "rerun",
        "run again with `k6 run --log-output=file=log.txt` (if the log was kept, copy it here)",
    )
    FINE_STAMPS = (
        "fine-stamps",
        "stamps finer than a second",
        "rerun",
        "write the points as JSON, or as CSV with K6_CSV_TIME_FORMAT=unix_nano, and run again",
    )

    def __init__(self, key: str, what: str, needs: Needs, fix: str) -> None:
        self.key = key
        self.what = what
        self.needs: Needs = needs
        self.fix = fix

    @property
    def plural(self) -> bool:
        return self in (Missing.POINTS, Missing.WHOLE_RUN, Missing.HOST_METRICS, Missing.FINE_STAMPS)


BY_KEY = {one.key: one for one in Missing}
"""As the JSON result names them."""
