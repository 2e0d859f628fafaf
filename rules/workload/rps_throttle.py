"""
What it checks
    Whether the script throttles the whole k6 process with the option `rps`.

Why it matters
    `rps` makes every request wait inside k6 for its turn, over all scenarios and VUs together. Iterations get
    longer, VUs run out, starts are dropped, and the wait is in no request metric: k6 throttles itself
    while the system under test idles. k6's documentation advises against it.

How it is computed
    `options.rps` of each generator, from the best source that shows it (`k6 inspect`, an archive, the script's
    text); a value above 0 fails. The option holds per k6 process and is not divided by an execution segment.

How to fix it
    Remove `rps`. The rate of an arrival-rate scenario is the throttle: it sets how many iterations start.

When it is wrong
    Never, where the option is found. It cannot be found where it was given on the command line (`--rps`), since
    `k6 inspect` takes no such flag, nor from the environment (K6_RPS) unless inspect was run with
    --execution-requirements or an archive is kept; the loss of load is then reported by OL01, without this
    cause.
"""

from auditor.api import (
    Evidence,
    Finding,
    Findings,
    Limit,
    Limits,
    Missing,
    Plan,
    Quantity,
    Rule,
    Scope,
    Unknown,
)

RULE = Rule(
    id="WM04",
    slug="rps-throttle",
    title="The option rps throttles the generator",
    severity="invalid",
    since="0.1",
    limits=(Limit("rps", 0, "requests/s", "k6's documentation: do not use it with arrival rates"),),
    references=("grafana/k6#1631", "semantics §2"),
)


def check(evidence: Evidence, plan: Plan, limits: Limits) -> Findings:
    for generator in evidence.generators:
        options = generator.source_of("rps")
        where = f" of {generator.name}" if generator.name else ""
        if options is None:
            yield Unknown(
                f"the options{where} are not known, so neither is whether rps throttled the process",
                "keep the output of `k6 inspect --execution-requirements script.js` beside the points file",
                missing=Missing.OPTIONS,
            )
            continue
        if not options.rps or options.rps <= limits["rps"]:
            continue
        peaks = [
            one.schedule.peak_per_s
            for one in plan.measured()
            if one.key.generator == generator.name and one.schedule is not None
        ]
        asks = f", while its schedule asks for up to {float(max(peaks)):,.4g} iterations/s" if peaks else ""
        yield Finding(
            message=(
                f"rps = {options.rps:g} limits the whole k6 process{where} to {options.rps:g} requests/s, all "
                f"scenarios together{asks}: requests wait inside k6, and no request metric shows that wait"
            ),
            fix="remove rps from the options and run again; the scenario's rate alone sets the load",
            observed=Quantity(float(options.rps), "requests/s", f"rps = {options.rps:g}"),
            limit=Quantity(limits["rps"], "requests/s", "no rps"),
            evidence=(options.path,),
            scope=Scope(generator=generator.name),
        )
