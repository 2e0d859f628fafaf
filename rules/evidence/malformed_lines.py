"""
What it checks
    Whether every line of the points can be read, and whether samples are missing from between them.

Why it matters
    Lines that are skipped silently, or were thinned out, filtered or lost on the way, change counts and
    percentiles without leaving a trace in them.

How it is computed
    Malformed lines; values that are not finite numbers; and incomplete sets. k6 writes every HTTP request as
    the same eight samples with one tag set (and http_req_failed where the request has expected_response),
    every iteration as one `iterations` and one `iteration_duration` (those of setup() and teardown() left
    out), and `data_sent` with `data_received`. So these counts are equal, tag set by tag set; what is short
    of the largest of them is missing. A warning above 0, invalid above 0.01 % of the lines, requests or
    iterations. Metrics that are wholly absent are a choice, not a loss. A file that ends early may have one
    incomplete set at its end; EV01 covers that. Invalid, too, is a file that several k6 processes wrote into:
    NUL bytes, `vus` with different tags, or more than 1.5 samples of `vus` a second; and a log in which k6
    itself says that samples were not written or lost (a warning where they did not reach a database, or an
    output could not keep up).
    Requests that are lost whole leave their bytes: completed iterations that have bytes (`data_sent`), and
    no request of any protocol, are at least the larger of (iterations with bytes − requests) and those in
    whose time no request ended. Beyond 0.1 % invalid where the script was read and speaks HTTP alone, else a
    warning; not asked where no request has a sample.

How to fix it
    Use the points file as k6 wrote it, without jq, grep, sampling or a log shipper in between, and with disk
    space to the end. `--out json=k6.json.gz` writes one sample a line;
    pretty-printed JSON cannot be read.

When it is wrong
    An extension that writes k6's own metric names by itself can break the sets.
"""

from collections.abc import Iterator

import numpy as np

from auditor.api import (
    NS_PER_S,
    REQUEST_SET,
    Evidence,
    Finding,
    Findings,
    GeneratorEvidence,
    GeneratorSamples,
    IterationTime,
    Limit,
    Limits,
    Rule,
    Samples,
    Scope,
    Severity,
    Timeline,
    count,
    percent,
    script_of,
)

RULE = Rule(
    id="EV02",
    slug="malformed-lines",
    title="Samples are unreadable or missing",
    severity="warning",
    raises=True,
    since="0.1",
    limits=(
        Limit("lost", 0, "samples", "own: k6 loses none"),
        Limit("grave_share", 0.0001, "share of lines or requests", "own: a tenth of what p99.9 depends on"),
        Limit("without_request", 0.001, "share of the iterations with bytes", "own: p99.9 depends on them"),
    ),
    references=("grafana/k6#2988",),
)
MOST_TICKS_PER_S = 1.5
"""k6 counts its VUs once a second."""
WHOLE = "use the points file as k6 wrote it (no filter, sampling or log shipper in between), or run again"


def check(
    samples: Samples,
    timeline: Timeline | None,
    evidence: Evidence,
    spent: IterationTime | None,
    limits: Limits,
) -> Findings:
    for generator in evidence.generators:
        yield from said_by_k6(generator, limits)
        yield from without_requests(generator, samples, spent, limits)
    for name, own in samples.by_generator.items():
        yield from unreadable(name, own, limits)
        early = timeline is not None and timeline.ends[name].ended_early
        yield from several_processes(name, own)
        yield from incomplete(name, own, limits, cut=early or bool(own.read.torn))
        yield from unplaced(name, own, limits)


def unreadable(name: str, own: GeneratorSamples, limits: Limits) -> Iterator[Finding]:
    read = own.read
    if read.malformed > limits["lost"]:
        first = f", the first in line {read.first_malformed_line:,}" if read.first_malformed_line else ""
        share = read.malformed / max(read.lines, 1)
        yield Finding(
            message=f"{read.malformed:,} of {read.lines:,} lines of {own.path} cannot be read{first} "
            f"({share:.3%})",
            fix=WHOLE,
            observed=count(read.malformed, "lines"),
            limit=count(limits["lost"], "lines"),
            evidence=(own.path,),
            scope=Scope(generator=name),
            severity="invalid" if share > limits["grave_share"] else "warning",
        )
    if read.dropped_values > limits["lost"]:
        yield Finding(
            message=f"{read.dropped_values:,} samples of {own.path} have a value that is not a "
            "finite number; they are in "
            "no figure",
            fix="find the metric that the script adds NaN or Infinity to; k6 0.38 to 1.8 writes such values",
            observed=count(read.dropped_values, "samples"),
            limit=count(limits["lost"], "samples"),
            evidence=(own.path,),
            scope=Scope(generator=name),
            severity="warning",
        )


def said_by_k6(generator: GeneratorEvidence, limits: Limits) -> Iterator[Finding]:
    """What k6's own log says was lost."""
    log = generator.log
    if log is None:
        return
    told: tuple[tuple[int, str, Severity], ...] = (
        (log.output_lost, "samples were not written, or were lost", "invalid"),
        (log.backend_lost, "samples did not reach the database that they were sent to", "warning"),
        (log.flush_warnings, "an output could not keep up with the samples", "warning"),
    )
    for n, what, severity in told:
        if n > limits["lost"]:
            yield Finding(
                message=f"k6 says in {', '.join(log.paths)}, {n:,} times: {what}",
                fix="give the output a quicker disk or backend and more memory, and run again",
                observed=count(n, "messages"),
                limit=count(limits["lost"], "messages"),
                evidence=log.paths,
                scope=Scope(generator=generator.name, name="log"),
                severity=severity,
            )


def without_requests(
    generator: GeneratorEvidence, samples: Samples, spent: IterationTime | None, limits: Limits
) -> Iterator[Finding]:
    """Iterations that sent bytes, and whose requests are not in the points."""
    own = samples.by_generator.get(generator.name)
    script = script_of(generator)
    for key, one in spent.by_key.items() if spent is not None else ():
        if own is None or key.generator != generator.name or not one.requests or not one.with_bytes:
            continue
        share = one.bytes_without_request / one.with_bytes
        if share <= limits["without_request"]:
            continue
        sure = script is not None and script.is_http_alone
        why = "" if sure else " (unless the script sends them by other means than k6/http)"
        yield Finding(
            message=f"{key}: {one.bytes_without_request:,} of {one.with_bytes:,} iterations sent bytes "
            f"(data_sent) and have no request in {own.path} ({share:.2%}): their requests are missing{why}",
            fix=WHOLE,
            observed=percent(share),
            limit=percent(limits["without_request"]),
            evidence=(own.path, *([script.path] if script is not None else [])),
            scope=Scope(key.generator, key.scenario),
            severity="invalid" if sure else "warning",
        )


def several_processes(name: str, own: GeneratorSamples) -> Iterator[Finding]:
    """What shows that more than one k6 process wrote into the file."""
    if own.read.overwritten:
        yield Finding(
            message=f"{own.path} has NUL bytes in it, which k6 never writes: two processes wrote into one "
            "file, or a part of it was lost",
            fix=WHOLE,
            observed=count(1, "files with NUL bytes"),
            limit=count(0, "files with NUL bytes"),
            evidence=(own.path,),
            scope=Scope(generator=name),
            severity="invalid",
        )
    told = processes(own)
    ticks = own.count_of.get("vus", 0)
    seconds = int(own.second_first_ns[-1] - own.second_first_ns[0]) / NS_PER_S + 1 if ticks else 0
    if len(told) > 1:
        message = f"{own.path} holds the samples of several k6 processes: {', '.join(told)}"
    elif ticks > MOST_TICKS_PER_S * seconds + 2:
        message = (
            f"{own.path} has {ticks:,} samples of vus in {seconds:,.0f} s, and k6 writes one a second: "
            "several processes wrote into it"
        )
    else:
        return
    yield Finding(
        message=message,
        fix="keep the points of each k6 process in a file, and each generator in a folder, of its own",
        observed=count(max(len(told), 2), "writers"),
        limit=count(1, "writers"),
        evidence=(own.path,),
        scope=Scope(generator=name),
        severity="invalid",
    )


def processes(own: GeneratorSamples) -> list[str]:
    """What tells apart the processes that counted their VUs: `vus` has the tags of the whole run only."""
    for metric in ("vus_max", "vus"):
        if metric not in own.metrics:
            continue
        rows = own.series_metric == own.metrics.index(metric)
        found = [dict(own.tagsets[i]) for i in np.unique(own.series_tagset[rows])]
        keys = [k for k in sorted({k for tags in found for k in tags}) if len({t.get(k) for t in found}) > 1]
        return [" ".join(f"{k}={tags.get(k, '(none)')}" for k in keys) for tags in found]
    return []


def unplaced(name: str, own: GeneratorSamples, limits: Limits) -> Iterator[Finding]:
    """Requests without a scenario, in a file whose iterations have one, are in no figure."""
    if not own.scenarios:
        return
    stray = ~own.outside_iterations & (own.tag("scenario") == "")
    requests = own.column("http_req_duration")
    lost = int(stray[requests.tagset].sum()) if len(requests) else 0
    if lost <= limits["lost"]:
        return
    share = lost / len(requests)
    yield Finding(
        message=f"{lost:,} of {len(requests):,} requests in {own.path} name no scenario, and are neither of "
        "setup() nor of teardown(): they are in no figure",
        fix="keep the file as k6 wrote it, with the scenario tag on every sample",
        observed=count(lost, "requests"),
        limit=count(limits["lost"], "requests"),
        evidence=(own.path,),
        scope=Scope(generator=name),
        severity="invalid" if share > limits["grave_share"] else "warning",
    )


def incomplete(name: str, own: GeneratorSamples, limits: Limits, *, cut: bool) -> Iterator[Finding]:
    """Sets of samples that k6 writes together, and that are not all there."""
    inside = ~own.outside_iterations
    requests = [m for m in REQUEST_SET if own.count_of.get(m)]
    tables = {metric: by_tagset(own, metric) for metric in requests}
    if tables and own.count_of.get("http_req_failed"):
        # Without a response callback a request has neither this sample nor the tag.
        told = own.tag("expected_response") != ""
        largest = np.max(list(tables.values()), axis=0)
        tables["http_req_failed"] = np.where(told, by_tagset(own, "http_req_failed"), largest)
    sets = [("requests", tables)]
    pairs = (("iterations", "iteration_duration"), ("data_sent", "data_received"))
    sets += [
        ("iterations", {m: by_tagset(own, m) * inside for m in pair})
        for pair in pairs
        if all(own.count_of.get(m) for m in pair)
    ]
    for what, counts in sets:
        if len(counts) < 2:
            continue
        table = np.stack(list(counts.values()))
        largest = table.max(axis=0)
        lines = int((largest - table).sum())
        if lines - (len(counts) if cut else 0) <= limits["lost"]:
            continue
        broken = int((largest - table.min(axis=0)).sum())
        of = int(largest.sum())
        share = broken / max(of, 1)
        least = min(counts, key=lambda m: int(counts[m].sum()))
        most = max(counts, key=lambda m: int(counts[m].sum()))
        yield Finding(
            message=f"{broken:,} of {of:,} {what} in {own.path} lack a sample that k6 always writes with them "
            f"({most} {int(counts[most].sum()):,}, {least} {int(counts[least].sum()):,}): samples are "
            "missing, the "
            "file was thinned, filtered or lost in part",
            fix=WHOLE,
            observed=count(broken, what),
            limit=count(limits["lost"], what),
            evidence=(own.path,),
            scope=Scope(generator=name),
            severity="invalid" if share > limits["grave_share"] else "warning",
        )


def by_tagset(own: GeneratorSamples, metric: str) -> np.ndarray:
    """Samples of a metric, for every tag set."""
    found = np.zeros(len(own.tagsets), dtype=np.int64)
    if metric in own.metrics:
        rows = own.series_metric == own.metrics.index(metric)
        found[own.series_tagset[rows]] = own.series_count[rows]
    return found
