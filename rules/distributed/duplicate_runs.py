"""
What it checks
    Whether the same data is counted twice, or two runs are taken for one.

Why it matters
    A copied folder doubles every count and makes a missing instance look present; two runs in one file give
    rates and percentiles of neither.

How it is computed
    Two generators: the points files have the same digest, or more than half of the iterations of the
    smaller one end at the same nanosecond (with coarse stamps: the same stamp and duration). One file: more
    than half of its iterations have a twin with the same end and duration (with coarse stamps: all); or a tag
    that names the run (testid, test_id, run_id, testrun_id, testrun_name) has two values; or more than 1 % of
    a scenario's starts, and more than its allowance, lie later than 2 s after its planned end.

How to fix it
    Keep each instance's own points file in its own folder, write every run to a new file, and audit again.

When it is wrong
    Generators of one run always overlap in time: that alone is no sign. A scenario that was paused by hand
    ends later than planned.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from auditor.api import (
    NS_PER_S,
    Evidence,
    Finding,
    Findings,
    GeneratorSamples,
    Iterations,
    Limit,
    Limits,
    Plan,
    Rule,
    Samples,
    Scope,
    Timeline,
    count,
    edge_starts,
    percent,
)

RULE = Rule(
    id="DM06",
    slug="duplicate-runs",
    title="Data is counted twice, or comes from two runs",
    severity="invalid",
    since="0.1",
    limits=(
        Limit("equal", 0.5, "share of the iterations", "own: none coincide by chance"),
        Limit("run_ids", 1, "values of a run's tag", "own: a run has one id"),
        Limit("late", 0.01, "share of the starts", "own"),
        Limit("after_end", 2, "s", "own: more than any lag at the end of a schedule"),
    ),
    references=("grafana/k6-operator#75",),
)
RUN_TAGS = ("testid", "test_id", "run_id", "testrun_id", "testrun_name")
FINE_NS = 1_000
"""Stamps this fine or finer do not coincide by chance."""
CAUSE = "keep each instance's own points file in its own folder and audit again"


def check(
    evidence: Evidence,
    samples: Samples,
    iterations: Iterations,
    plan: Plan,
    timeline: Timeline | None,
    limits: Limits,
) -> Findings:
    digests = {(source.generator, source.path): source.sha256 for source in evidence.sources}
    for first, second in combinations(samples.by_generator, 2):
        one, other = samples.by_generator[first], samples.by_generator[second]
        same = digests.get((first, one.path))
        if same and same == digests.get((second, other.path)):
            yield Finding(
                message=f"{first} and {second} have the same points file, byte for byte",
                fix=CAUSE,
                observed=percent(1.0),
                limit=percent(limits["equal"]),
                evidence=(one.path, other.path),
                scope=Scope(generator=second),
            )
            continue
        share = alike(one, other)
        if share > limits["equal"]:
            yield Finding(
                message=f"{share:.1%} of the iterations of {first} and {second} ended at the same "
                "nanosecond: "
                "the same data",
                fix=CAUSE,
                observed=percent(share),
                limit=percent(limits["equal"]),
                evidence=(one.path, other.path),
                scope=Scope(generator=second),
            )
    for name, own in samples.by_generator.items():
        yield from twins(name, own, limits)
        yield from run_ids(name, own, limits)
    if timeline is not None:
        yield from late(samples, iterations, plan, timeline, limits)


def ended(own: GeneratorSamples, *, with_duration: bool) -> np.ndarray:
    """End stamps of the iterations, or (end, duration) pairs, as one sortable column."""
    column = own.column("iteration_duration")
    if not with_duration:
        return column.time_ns
    pairs = np.empty(len(column), dtype=[("end", np.int64), ("duration", np.float64)])
    pairs["end"], pairs["duration"] = column.time_ns, column.value
    return pairs


def alike(one: GeneratorSamples, other: GeneratorSamples) -> float:
    """The share of the smaller file's iterations that the other has as well."""
    coarse = max(one.read.stamp_resolution_ns, other.read.stamp_resolution_ns) > FINE_NS
    mine = np.unique(ended(one, with_duration=coarse))
    theirs = np.unique(ended(other, with_duration=coarse))
    least = min(len(mine), len(theirs))
    return len(np.intersect1d(mine, theirs, assume_unique=True)) / least if least else 0.0


def twins(name: str, own: GeneratorSamples, limits: Limits) -> Iterator[Finding]:
    at_ns = own.column("iteration_duration").time_ns  # in order
    if not (at_ns[1:] == at_ns[:-1]).any():
        return  # no two end together: most runs, and pairs need not be sorted
    pairs = ended(own, with_duration=True)
    _, times = np.unique(pairs, return_counts=True)
    twice = int(times[times > 1].sum())
    if own.coarse_ns and np.gcd.reduce(times) == 1:
        return  # iterations of one second may be equally long by chance; in a copy every one has its twin
    share = twice / len(pairs)
    if share > limits["equal"]:
        yield Finding(
            message=f"{twice:,} of {len(pairs):,} iterations are in the file twice or more, with the "
            "same end and "
            "duration",
            fix="use the points file as k6 wrote it; it was appended to itself, or merged with a copy",
            observed=percent(share),
            limit=percent(limits["equal"]),
            evidence=(own.path,),
            scope=Scope(generator=name),
        )


def run_ids(name: str, own: GeneratorSamples, limits: Limits) -> Iterator[Finding]:
    values: dict[str, set[str]] = {}
    for index in np.unique(own.series_tagset).tolist():
        for tag, value in own.tagsets[index]:
            if tag in RUN_TAGS and value:
                values.setdefault(tag, set()).add(value)
    for tag, found in values.items():
        if len(found) > limits["run_ids"]:
            some = ", ".join(repr(value) for value in sorted(found)[:3])
            yield Finding(
                message=f"tag {tag!r} names {len(found)} runs in one file ({some}): not one run",
                fix="write every run to a file of its own (k6 appends nothing by itself) and audit each",
                observed=count(len(found), "runs"),
                limit=count(limits["run_ids"], "run"),
                evidence=(own.path,),
                scope=Scope(generator=name),
            )


def late(
    samples: Samples, iterations: Iterations, plan: Plan, timeline: Timeline, limits: Limits
) -> Iterator[Finding]:
    """Starts after the planned end of a scenario: no executor makes any."""
    for key, own in timeline.keys.items():
        found = iterations.by_key[key].start_ns
        if own.planned_end_ns is None or not len(found):
            continue
        after = own.planned_end_ns + round(limits["after_end"] * NS_PER_S) + own.slack_ns
        n = int(np.count_nonzero(found > after))
        one = plan.keys.get(key)
        schedule = one.schedule if one is not None else None
        allowance = 1 + (edge_starts(schedule) if schedule is not None else 0)
        if n <= limits["late"] * len(found) or n <= allowance:
            continue
        seconds = (int(found.max()) - own.planned_end_ns) / 1e9
        yield Finding(
            message=f"{n:,} of {len(found):,} iterations started after the planned end, up to "
            f"{seconds:.4g} s after "
            "it: two runs, one after the other, or not this plan",
            fix="write every run to a file of its own and audit each",
            observed=percent(n / len(found)),
            limit=percent(limits["late"]),
            evidence=(samples.by_generator[key.generator].path,),
            scope=Scope(key.generator, key.scenario),
        )
