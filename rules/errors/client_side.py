"""
What it checks
    Whether requests failed at the generator: no free port, no file descriptor, no name resolved, no connection.

Why it matters
    These requests never reached the system under test. They are the generator's limits, counted as the
    system's errors, and the load that arrived was lower than the load that was started.

How it is computed
    Failed requests of the window with k6's error codes 1100–1111 (DNS) and 1200–1213 (dial, TCP), or the texts
    "cannot assign requested address" and "too many open files"; where the samples lack the tags, the warnings
    in k6's log. More than 0.1 % of the requests is invalid. Refused and reset connections (1212, 1220) can be
    the system's own doing: beyond 0.1 % they are a warning.

How to fix it
    Ports: reuse connections, widen net.ipv4.ip_local_port_range, or use more source addresses. Descriptors:
    raise `ulimit -n`. DNS: cache it (the option dns) or name the address in `hosts`. Refused or reset: check
    which side closes connections: the system, a proxy or the generator.

When it is wrong
    If the connection errors are what the test is about (a failover, a full accept queue): waive it with that
    reason. Counts from the log are of the whole run, warm-up included.
"""

from auditor.api import (
    HARD_LOG_KINDS,
    SOFT_LOG_KINDS,
    Errors,
    Evidence,
    Finding,
    Findings,
    Limit,
    Limits,
    NotApplicable,
    Quantity,
    Rule,
    Samples,
    percent,
)

RULE = Rule(
    id="ER06",
    slug="client-side-errors",
    title="Requests failed at the generator",
    severity="invalid",
    since="0.1",
    limits=(Limit("share", 0.001, "share of the requests", "own: beyond it p99.9 is not identified"),),
    references=("grafana/k6#826", "grafana/k6#1495"),
)


def check(errors: Errors, evidence: Evidence, samples: Samples, limits: Limits) -> Findings:
    if not errors.requests and not errors.client_hard and not errors.client_soft:
        yield NotApplicable("no request was made")
        return
    most = errors.requests * limits.exact("share")
    for number, kinds, is_invalid in (
        (errors.client_hard, HARD_LOG_KINDS, True),
        (errors.client_soft, SOFT_LOG_KINDS, False),
    ):
        if number <= most:
            continue
        logs = [
            path
            for g in evidence.generators
            if g.log is not None and any(g.log.requests_failed.get(kind) for kind in kinds)
            for path in g.log.paths
        ]
        what = "failed at the generator" if is_invalid else "were refused or reset"
        share = number / errors.requests if errors.requests else 1.0
        yield Finding(
            message=f"{number:,} of {errors.requests:,} requests {what}{_texts(errors, soft=not is_invalid)}",
            fix=(
                f"at most {int(most):,} may fail this way: give the generator enough ports, file descriptors "
                "and DNS capacity for this rate, and run again"
                if is_invalid
                else f"more than {int(most):,} refused or reset: check which side closes connections (system, "
                "proxy or generator)"
            ),
            observed=percent(share)
            if errors.requests
            else Quantity(float(number), "requests", f"{number:,} requests"),
            limit=percent(limits["share"]),
            evidence=(*(one.path for one in samples.by_generator.values()), *logs),
            severity="invalid" if is_invalid else "warning",
        )


def _texts(errors: Errors, *, soft: bool) -> str:
    """Their words as k6 recorded them, most frequent first."""
    texts: dict[str, int] = {}
    for cause in errors.causes:
        if cause.client_side == ("soft" if soft else "hard"):
            text = cause.error or f"error code {cause.error_code}"
            texts[text] = texts.get(text, 0) + cause.count
    words = [f"{n:,} × {text}" for text, n in sorted(texts.items(), key=lambda t: (-t[1], t[0]))[:3]]
    return f": {', '.join(words)}" if words else ""
