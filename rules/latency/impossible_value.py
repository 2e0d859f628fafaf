"""
What it checks
    Whether a request has a duration that it cannot have had.

Why it matters
    One value longer than the test, or longer than the iteration that made it, shows that clock, file or reader
    is wrong. The percentiles next to it come from the same clock and the same file.

How it is computed
    Requests outside setup() and teardown(), over the whole run: below 0 ms; longer than the evidence (first
    start or stamp to last stamp, with one second for k6's first tick); or longer by more than 1 ms than the
    longest iteration of their scenario. The last test is left out where iterations were interrupted or the
    evidence is cut off: those iterations left no duration. Of the whole file: parts (blocked, connecting, TLS,
    sending, waiting, receiving) below 0 ms; http_req_duration that differs by more than 1 ms from sending +
    waiting + receiving, where all are recorded (requests with one stamp and tag set are summed, since their
    samples cannot be paired); successful requests that all took 0 ms. Of a scenario with exactly one request an
    iteration: mean and median of the iterations more than 1 ms below those of the requests.

How to fix it
    See whether the clock was set during the test, or whether the file holds points of several runs or tools.
    Record again.

When it is wrong
    If a script makes requests outside its iterations in a scenario's name. k6 keeps setup() and teardown()
    apart by their group, unless the group tag is switched off in systemTags.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from auditor.api import (
    MINIMUM_N,
    NS_PER_MS,
    REQUEST_SET,
    Declared,
    Finding,
    Findings,
    GeneratorRequests,
    GeneratorSamples,
    Iterations,
    Limit,
    Limits,
    NotApplicable,
    Quantity,
    Requests,
    Rule,
    Samples,
    Scope,
    Timeline,
    milliseconds,
)

RULE = Rule(
    id="LS11",
    slug="impossible-value",
    title="A request has an impossible duration",
    severity="invalid",
    since="0.1",
    limits=(
        Limit("iteration_slack_ms", 1, "ms", "own: k6 measures the two times separately"),
        Limit("parts_ms", 1, "ms", "k6 adds these very parts: exact on all recordings"),
        Limit("evidence_slack_ms", 1000, "ms", "k6 writes its first gauge after up to a second"),
    ),
    uses=("LS05.least_ms",),
    references=("semantics §8", "grafana/k6#4715"),
    consequence_of=("EV04",),
)

Floats = npt.NDArray[np.float64]
ANOTHER = "check whether the file holds points of another run or tool, or was changed; record again"


def check(
    requests: Requests,
    iterations: Iterations,
    timeline: Timeline,
    samples: Samples,
    declared: Declared,
    limits: Limits,
) -> Findings:
    if not any(len(own) for own in requests.by_generator.values()):
        yield NotApplicable("no request was made")
        return
    for key, found in iterations.by_key.items():
        own = requests.by_generator.get(key.generator)
        if own is None or declared.is_support(key.scenario):
            continue
        mine = own.duration_ms[own.of(key.scenario)] if key.scenario else own.duration_ms
        if not len(mine):
            continue
        path = samples.by_generator[key.generator].path
        scope = Scope(key.generator, key.scenario)
        where = str(key) or "the run"
        shortest, longest = float(mine.min()), float(mine.max())
        least_ms = limits["LS05.least_ms"]
        if shortest < least_ms:
            yield Finding(
                message=f"{where}: requests with a negative duration: {int((mine < least_ms).sum()):,}, "
                f"down to {shortest:,.4g} ms",
                fix="check whether the clock was set back during the test, and record again",
                observed=milliseconds(shortest),
                limit=milliseconds(least_ms),
                evidence=(path,),
                scope=scope,
            )
        whole_ms = _evidence_ms(own, iterations, key.generator)
        limit_ms = whole_ms + limits["evidence_slack_ms"]
        if longest > limit_ms:
            yield _too_long(where, mine, limit_ms, f"the whole run, {whole_ms / 1000:,.1f} s", path, scope)
            continue
        cut_off = found.interrupted > 0 or not timeline.ends[key.generator].complete
        if cut_off or not len(found.duration_ms):
            continue
        yield from shorter_iterations(where, mine, found.duration_ms, path, scope, limits)
        iteration_ms = float(found.duration_ms.max())
        limit_ms = iteration_ms + limits["iteration_slack_ms"]
        if longest > limit_ms:
            yield _too_long(
                where, mine, limit_ms, f"the longest iteration, {iteration_ms:,.1f} ms", path, scope
            )
    for generator, whole in samples.by_generator.items():
        yield from of_parts(generator, whole, requests, limits)


def shorter_iterations(
    where: str, mine: Floats, iterations: Floats, path: str, scope: Scope, limits: Limits
) -> Iterator[Finding]:
    """One request an iteration: they can be neither parallel nor longer than the iterations."""
    if len(mine) != len(iterations):
        return
    means, medians = float(mine.mean()), float(np.median(mine))
    slack = limits["iteration_slack_ms"]
    if means > float(iterations.mean()) + slack and medians > float(np.median(iterations)) + slack:
        yield Finding(
            message=f"{where}: its requests take {means:,.4g} ms in the mean (median {medians:,.4g}), the "
            f"iterations that make one each only {float(iterations.mean()):,.4g} ms (median "
            f"{float(np.median(iterations)):,.4g})",
            fix=ANOTHER,
            observed=milliseconds(float(iterations.mean())),
            limit=milliseconds(means),
            evidence=(path,),
            scope=scope,
        )


def of_parts(generator: str, own: GeneratorSamples, requests: Requests, limits: Limits) -> Iterator[Finding]:
    """The parts of HTTP requests, against 0 and against their sum."""
    for metric in REQUEST_SET[2:]:
        value = own.column(metric).value
        negative = int((value < limits["LS05.least_ms"]).sum()) if len(value) else 0
        if negative:
            yield _of_file(
                own,
                generator,
                f"{negative:,} samples of {metric} are negative, down to {float(value.min()):,.4g} ms",
                (float(value.min()), limits["LS05.least_ms"]),
            )
    whole = own.column("http_req_duration")
    parts = [own.column(f"http_req_{part}") for part in ("sending", "waiting", "receiving")]
    if len(whole) and all(np.array_equal(p.time_ns, whole.time_ns) for p in parts):
        differs = whole.value - np.sum([p.value for p in parts], axis=0)
        new = (whole.time_ns[1:] != whole.time_ns[:-1]) | (whole.tagset[1:] != whole.tagset[:-1])
        first = np.flatnonzero(np.concatenate(([True], new)))
        size = np.diff(np.append(first, len(whole)))
        off = np.abs(np.add.reduceat(differs, first)) / size
        bad = off > limits["parts_ms"]
        if bad.any():
            yield _of_file(
                own,
                generator,
                f"{int(size[bad].sum()):,} requests have a http_req_duration that is not sending + waiting + "
                f"receiving, by up to {float(off.max()):,.4g} ms",
                (float(off.max()), limits["parts_ms"]),
            )
    made = requests.by_generator.get(generator)
    good = made.duration_ms[~made.failed] if made is not None else whole.value[:0]
    if len(good) >= MINIMUM_N["p95"] and not good.any():
        yield _of_file(own, generator, f"all {len(good):,} successful requests took 0 ms", (0.0, 0.0))


def _of_file(own: GeneratorSamples, generator: str, message: str, figures: tuple[float, float]) -> Finding:
    return Finding(
        message=f"{own.path}: {message}",
        fix=ANOTHER,
        observed=milliseconds(figures[0]),
        limit=milliseconds(figures[1]),
        evidence=(own.path,),
        scope=Scope(generator=generator),
    )


def _too_long(
    where: str, mine: npt.NDArray[np.float64], limit_ms: float, than: str, path: str, scope: Scope
) -> Finding:
    longest = float(mine.max())
    return Finding(
        message=f"{where}: requests longer than {than}: {int((mine > limit_ms).sum()):,}; the longest took "
        f"{longest:,.1f} ms",
        fix="check whether the file holds points of another run or tool, or the clock was set; record again",
        observed=milliseconds(longest),
        limit=Quantity(limit_ms, "ms", f"{limit_ms:,.1f} ms"),
        evidence=(path,),
        scope=scope,
    )


def _evidence_ms(own: GeneratorRequests, iterations: Iterations, generator: str) -> float:
    """From the first stamp, or the first start if that is earlier, to the last stamp."""
    first, last = own.samples.first_ns, own.samples.last_ns
    if first is None or last is None:
        return 0.0
    starts = [
        int(found.start_ns[0])
        for key, found in iterations.by_key.items()
        if key.generator == generator and len(found.start_ns)
    ]
    return (last + own.samples.coarse_ns - min([first, *starts])) / NS_PER_MS
