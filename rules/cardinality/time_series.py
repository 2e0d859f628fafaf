"""
What it checks
    Whether one k6 process wrote more than 100,000 distinct time series.

Why it matters
    k6 keeps every series in memory. Too many of them cost memory, garbage collection and CPU on the
    generator, which then delays starts and adds its own time to the latency.

How it is computed
    Distinct (metric, tag set) pairs of each points file, metadata left out, as k6 itself counts them; or the
    largest number that k6's own warning names, if that is higher (it is a lower bound). A warning by itself,
    for it proves no distortion. It makes the run invalid if the host that covers this generator is beyond a
    limit of GH02, GH03 or GH06 as well (mean CPU, highest 5 s, memory, swapping).

How to fix it
    Group what differs only by an id under one name: http.url`…/items/${id}` or tags: { name: "GET
    /items/:id" }.
    Every distinct URL costs nine series, so 100,000 series are about 11,000 names.

When it is wrong
    Many series on a generator with much memory and idle CPU do no harm; that is why it stays a warning there.
"""

from auditor.api import (
    PEAK_SPAN_S,
    Cardinality,
    Evidence,
    Finding,
    Findings,
    GeneratorEvidence,
    GeneratorHosts,
    HostUse,
    Limit,
    Limits,
    Rule,
    Scope,
    count,
)

RULE = Rule(
    id="CA01",
    slug="time-series",
    title="Too many time series",
    severity="warning",
    raises=True,
    since="0.1",
    limits=(Limit("series", 100_000, "time series", "k6 warns from this number on"),),
    uses=("GH02.mean", "GH03.highest_5s", "GH03.p95", "GH06.used", "GH06.swap_in"),
    moved_limits={"cpu_mean": "GH02.mean", "cpu_5s": "GH03.highest_5s", "memory": "GH06.used"},
    references=("grafana/k6#2762",),
    consequence_of=("CA02",),
)
PER_URL = 9
"""Series of one distinct URL: eight timings and counts, and http_req_failed."""


def check(
    cardinality: Cardinality, evidence: Evidence, load: GeneratorHosts | None, limits: Limits
) -> Findings:
    files = {g.name: _files(g) for g in evidence.generators}
    for name, own in cardinality.by_generator.items():
        if own.at_least <= limits["series"]:
            continue
        hosts = [h for h in load.hosts if name in h.covers] if load is not None else []
        strained = next((words for h in hosts if (words := strain(h, limits))), "")
        number = (
            f"{own.series:,}"
            if own.series is not None and own.series >= own.warned
            else f"at least {own.warned:,} (k6's own warning)"
        )
        message = f"{number} time series on one k6 process"
        by_url = own.worst_tag in ("", "name", "url")
        if own.worst_tag:
            message += f"; tag {own.worst_tag!r} has {own.worst_tag_values:,} values"
            message += f", and every URL costs {PER_URL} series" if by_url else ""
        if strained:
            message += f"; its host was strained as well ({strained})"
        yield Finding(
            message=message,
            fix="give requests that differ only by an id one name (http.url`…/${id}`, or the tag name), so "
            f"that fewer than {limits['series'] / PER_URL:,.0f} names remain"
            if by_url
            else f"take ids out of the tag {own.worst_tag!r}; a request costs {PER_URL} series for each value "
            f"of it, another metric one, and {limits['series']:,.0f} series are too many",
            observed=count(own.at_least, "time series"),
            limit=count(limits["series"], "time series"),
            evidence=(*files[name], *(h.path for h in hosts if strained)),
            scope=Scope(generator=name),
            severity="invalid" if strained else "warning",
        )


def _files(generator: GeneratorEvidence) -> tuple[str, ...]:
    log = generator.log
    warned = log.paths if log is not None and log.time_series else ()
    return (generator.points.path,) if generator.points is not None else warned


def strain(host: HostUse, limits: Limits) -> str:
    """What on this host is beyond a limit, in words; empty if nothing is."""
    if host.max_5s_percent > limits["GH03.highest_5s"] or host.p95_percent > limits["GH03.p95"]:
        return f"CPU {host.max_5s_percent:.1f} % over {PEAK_SPAN_S:g} s"
    if host.mean_percent > limits["GH02.mean"]:
        return f"mean CPU {host.mean_percent:.1f} %"
    if host.mem_used_max_percent is not None and host.mem_used_max_percent > limits["GH06.used"]:
        return f"memory {host.mem_used_max_percent:.1f} % used"
    if host.swap_in_max_per_s is not None and host.swap_in_max_per_s > limits["GH06.swap_in"]:
        return f"swapping in {host.swap_in_max_per_s:.4g} pages/s"
    return ""
