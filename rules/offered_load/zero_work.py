"""
What it checks
    Whether the run did any work: requests were made, and every scenario that completed iterations made some.

Why it matters
    A script that fails in its first line completes its iterations at the full rate, with no drop, no failed
    request and every latency threshold green: there is nothing to fail on.

How it is computed
    Samples of the latency metric outside setup() and teardown(), and completed iterations, over the whole run,
    for all measured scenarios and for each. No request at all fails; so does a scenario with completed
    iterations and no request, unless it has samples of another protocol's metrics. If nothing but such metrics
    is found (kafka_…, mqtt_…, sql_…, from extensions), it is unknown which of them is the latency.

How to fix it
    Run one iteration (`k6 run --iterations 1 script.js`) and read its output: an exception, a wrong exec, a
    branch that is never entered. For another protocol name its trend as latency_metric in k6-audit.toml.

When it is wrong
    For a scenario that talks to the system by no metric k6 knows (a custom client without metrics): declare it
    role = "support", since nothing can be said about its work. This rule cannot be waived.
"""

from collections.abc import Mapping

from auditor.api import (
    Accounting,
    CountSources,
    Declared,
    Finding,
    Findings,
    Key,
    Limit,
    Limits,
    Quantity,
    Requests,
    Rule,
    Samples,
    Scope,
    Unknown,
    count,
)

RULE = Rule(
    id="OL08",
    slug="zero-work",
    title="The run did no work",
    severity="invalid",
    since="0.1",
    limits=(Limit("requests", 1, "requests", "own: no request, no latency"),),
    references=("grafana/k6#6480", "grafana/k6#1263"),
    consequence_of=("ER11",),
    waivable=False,
)

PREFIXES = (
    "amqp_",
    "browser_",
    "dns_",
    "grpc_",
    "kafka_",
    "ldap_",
    "mongo_",
    "mqtt_",
    "nats_",
    "redis_",
    "smtp_",
    "sql_",
    "sse_",
    "ssh_",
    "tcp_",
    "udp_",
    "ws_",
)
"""First parts of the metric names of k6's other protocols and of its extensions."""


def check(
    accounting: Accounting,
    counted: CountSources,
    requests: Requests | None,
    samples: Samples | None,
    declared: Declared,
    limits: Limits,
) -> Findings:
    files = counted.files
    if samples is not None and requests is None:
        yield Unknown(
            "several protocols have samples, and latency_metric names none of them",
            'name one: latency_metric = "http_req_duration" in k6-audit.toml',
            needs="add",
        )
        return
    made: dict[str, int] = {}
    completed: dict[str, int] = {}
    for key, account in accounting.whole.items():
        if declared.is_support(key.scenario):
            continue
        n = _made(key, requests, counted)
        made[key.scenario] = made.get(key.scenario, 0) + n
        completed[key.scenario] = completed.get(key.scenario, 0) + account.completed
    other = _other_protocols(samples, counted, requests.metric if requests is not None else "")
    requests_made, iterations = sum(made.values()), sum(completed.values())
    if requests_made < limits["requests"]:
        measured = [metric for name, metrics in other.items() if name in made or not name for metric in metrics]
        if iterations and measured:
            yield Unknown(
                "no request of a protocol that k6 measures itself, but samples of "
                f"{', '.join(sorted(set(measured)))}",
                "name the trend that is the latency of this run: latency_metric = "
                f'"{_likely(sorted(set(measured)))}" in k6-audit.toml',
                needs="add",
            )
            return
        yield Finding(
            message=(
                f"{iterations:,} iterations were completed and "
                f"{f'only {requests_made:,} requests were' if requests_made else 'not one request was'} made: "
                "there is no latency to judge"
                if iterations
                else "nothing completed: no iteration, and no request"
            ),
            fix=(
                "run `k6 run --iterations 1 script.js` and look for an exception in its output; run the test "
                "again once that iteration makes its requests"
            ),
            observed=count(requests_made, "requests"),
            limit=Quantity(limits["requests"], "requests", f"at least {limits['requests']:g}"),
            evidence=files,
        )
        return
    for scenario, iterations in completed.items():
        if iterations and made[scenario] < limits["requests"] and not other.get(scenario) and not other.get(""):
            yield Finding(
                message=f"{scenario} completed {iterations:,} iterations and made "
                f"{f'only {made[scenario]:,} requests' if made[scenario] else 'no request'}",
                fix=(
                    f"check what {scenario} runs (its exec function, an exception, a branch never entered); "
                    'if it is there for seeding or probing, declare role = "support"'
                ),
                observed=count(made[scenario], "requests"),
                limit=Quantity(limits["requests"], "requests", f"at least {limits['requests']:g}"),
                evidence=files,
                scope=Scope(scenario=scenario),
            )


def _made(key: Key, requests: Requests | None, counted: CountSources) -> int:
    """Requests of one key; of a summary, those of the whole process unless it has the scenario's own."""
    summary = counted.summaries.get(key.generator)
    if summary is not None:
        own_total = summary.value(f"http_reqs{{scenario:{key.scenario}}}", "count")
        return round(own_total if own_total is not None else summary.value("http_reqs", "count") or 0)
    own = requests.by_generator.get(key.generator) if requests is not None else None
    return 0 if own is None else int(own.of(key.scenario).sum()) if key.scenario else len(own)


def _other_protocols(samples: Samples | None, counted: CountSources, chosen: str) -> Mapping[str, set[str]]:
    """Scenario -> metrics of protocols other than the chosen one that it has samples of ("" in a summary)."""
    found: dict[str, set[str]] = {}
    for summary in counted.summaries.values():
        foreign_names = {name for name in summary.metrics if name.startswith(PREFIXES) and name != chosen}
        if foreign_names:
            found.setdefault("", set()).update(foreign_names)
    for own in samples.by_generator.values() if samples is not None else ():
        foreign = {i for i, name in enumerate(own.metrics) if name.startswith(PREFIXES) and name != chosen}
        scenario_of = own.tag("scenario")
        for metric, tagset in zip(own.series_metric.tolist(), own.series_tagset.tolist(), strict=True):
            if metric in foreign and not own.outside_iterations[tagset]:
                found.setdefault(scenario_of[tagset], set()).add(own.metrics[metric])
    return found


def _likely(metrics: list[str]) -> str:
    """The metric most likely to be a latency, by its name."""
    words = ("duration", "latency", "seconds", "time")
    return next((m for word in words for m in metrics if word in m), metrics[0])
