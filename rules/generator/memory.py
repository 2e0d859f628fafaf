"""
What it checks
    Whether the generator ran out of memory: more than 90 % used, or pages swapped in.

Why it matters
    A process that waits for swapped pages stops for milliseconds to seconds; near the end of memory the
    garbage collector takes the CPU, and the kernel may end k6.

How it is computed
    Highest share of memory used in the window, page cache not counted as used, and the highest rate of
    pages swapped in. A warning; the run is invalid if memory reaches 99 %, or if pages were swapped in while
    the run lost load (1 % of the planned starts dropped or silent, or the limits of OL01 or OL03 passed).
    Whether the process would have reached the limit had the test gone on is not judged.

How to fix it
    More memory, fewer VUs on one machine, discardResponseBodies, fewer time series (CA01), no large files
    opened per VU (SharedArray).

When it is wrong
    Pages swapped in can belong to another process that woke up.
"""

from auditor.api import (
    LOAD_LOST_LIMITS,
    Finding,
    Findings,
    GeneratorHosts,
    Limit,
    Limits,
    LoadLost,
    Missing,
    NotApplicable,
    Quantity,
    Rule,
    Scope,
    Severity,
    Unknown,
    percent,
)

RULE = Rule(
    id="GH06",
    slug="memory",
    title="The generator was short of memory",
    severity="warning",
    raises=True,
    since="0.1",
    limits=(
        Limit("used", 90, "% of memory", "k6 documentation: keep memory below 90 %"),
        Limit("full", 99, "% of memory", "own: no memory is left"),
        Limit("swap_in", 0, "pages/s", "own: a generator must not swap"),
    ),
    uses=LOAD_LOST_LIMITS,
    references=("semantics §7",),
    consequence_of=("CA01",),
)


def check(load: GeneratorHosts, lost: LoadLost | None, limits: Limits) -> Findings:
    if not load.hosts:
        yield Unknown(
            "no host metrics lie in the window",
            "record the host over the whole test",
            missing=Missing.HOST_METRICS,
        )
    elif all(h.mem_used_max_percent is None and h.swap_in_max_per_s is None for h in load.hosts):
        yield NotApplicable("the host metrics have no figures for memory")
    for host in load.hosts:
        used, swap = host.mem_used_max_percent or 0.0, host.swap_in_max_per_s or 0.0
        if used <= limits["used"] and swap <= limits["swap_in"]:
            continue
        parts = []
        if used > limits["used"]:
            parts.append(f"{used:.1f} % of memory used")
        if swap > limits["swap_in"]:
            parts.append(f"up to {swap:.4g} pages/s swapped in")
        name = f"host {host.host}" if host.host else host.path
        message = f"{name}: {' and '.join(parts)}"
        severity: Severity = "warning"
        if used >= limits["full"]:
            severity = "invalid"
        elif swap > limits["swap_in"] and lost is not None and lost.any:
            severity = "invalid"
            message += f"; and the run lost load: {next(iter(lost.scenarios.values()))}"
        by_use = used > limits["used"]
        yield Finding(
            message=message,
            fix=f"give the generator at least {used / limits['used']:.2f} times the memory, or spread "
            "its VUs over "
            "several machines"
            if by_use
            else "keep the generator out of swap: more memory, fewer VUs on this machine, nothing else "
            "beside it",
            observed=percent(used / 100) if by_use else Quantity(swap, "pages/s", f"{swap:.4g} pages/s"),
            limit=percent(limits["full" if used >= limits["full"] else "used"] / 100)
            if by_use
            else Quantity(limits["swap_in"], "pages/s", f"{limits['swap_in']:g} pages/s"),
            evidence=(host.path,),
            scope=Scope(generator=host.covers[0] if len(host.covers) == 1 else ""),
            severity=severity,
        )
