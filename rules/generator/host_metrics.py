"""
What it checks
    Whether every generator has metrics of its own host that cover the measurement window.

Why it matters
    A saturated generator starts late and measures its own waiting as latency. Without its CPU a slow
    system cannot be told from a slow generator, so nothing is proven.

How it is computed
    Host stamps are interval ends. Coverage = the part of the window inside the union of (stamp − interval,
    stamp], one interval at each edge forgiven. No metrics, less than 95 % coverage or steps over 10 s leave
    the question open; they show nothing wrong. A file in a generator's folder is that generator's; one at
    the root covers all of them only if it is one host and no generator has its own. Files of one host that
    follow one another in time (rotated at midnight) are joined first. Figures must be possible: at least 0.1 ms
    of CPU for each iteration started (where the number of cores is not stated, taken as 64), and cores whose
    mean is within 10 points of the machine's.

How to fix it
    Record every generator's host at 1 s while the test runs, and keep the file beside the points:
    `sar -o host.sa 1`, then `sadf -j host.sa -- -u ALL -P ALL -r ALL > host.sadf.json`.

When it is wrong
    Metrics of a container that is not the generator look the same as those of the generator; nothing in the
    file tells them apart.
"""

from auditor.api import Findings, GeneratorHosts, Limit, Limits, Missing, Rule, Unknown

RULE = Rule(
    id="GH01",
    slug="host-metrics",
    title="The generator's host has no usable metrics",
    severity="invalid",
    since="0.1",
    limits=(
        Limit("uncovered", 0, "generators", "own: every generator needs host metrics"),
        Limit("coverage", 0.95, "share of the window", "own: what is not seen is at most one part in twenty"),
        Limit("step", 10, "s between samples", "own: a longer mean hides what happens within it"),
        Limit("least_cpu_ms", 0.1, "ms of CPU per iteration", "k6 takes 0.3 to 0.95 ms on recorded runs"),
    ),
    references=("semantics §7",),
    about=("generator_cpu",),
)


def check(load: GeneratorHosts, limits: Limits) -> Findings:
    if len(load.uncovered) <= limits["uncovered"]:
        return
    reasons = "; ".join(f"{name}: {why}" if name else why for name, why in load.uncovered.items())
    yield Unknown(
        f"the generator's CPU is not known over the whole window ({reasons})",
        "record the host at steps of 1 s from before the start to after the end, e.g. `sar -o host.sa "
        "1`, and keep "
        "`sadf -j host.sa -- -u ALL -P ALL -r ALL > host.sadf.json` in the generator's folder",
        missing=Missing.HOST_METRICS,
    )
