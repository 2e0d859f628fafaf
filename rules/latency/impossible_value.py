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
    evidence is cut off: those iterations left no duration.

How to fix it
    See whether the clock was set during the test, or whether the file holds points of several runs or tools.
    Record again.

When it is wrong
    If a script makes requests outside its iterations in a scenario's name. k6 keeps setup() and teardown()
    apart by their group, unless the group tag is switched off in systemTags.
"""

import numpy as np
import numpy.typing as npt

from auditor.api import (
    NS_PER_MS,
    Declared,
    Finding,
    Findings,
    GeneratorRequests,
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
        Limit("evidence_slack_ms", 1000, "ms", "k6 writes its first gauge after up to a second"),
    ),
    uses=("LS05.least_ms",),
    references=("semantics §8", "grafana/k6#4715"),
    consequence_of=("EV04",),
)


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
        iteration_ms = float(found.duration_ms.max())
        limit_ms = iteration_ms + limits["iteration_slack_ms"]
        if longest > limit_ms:
            yield _too_long(
                where, mine, limit_ms, f"the longest iteration, {iteration_ms:,.1f} ms", path, scope
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
