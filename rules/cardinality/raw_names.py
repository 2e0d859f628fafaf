"""
What it checks
    Whether requests are named by raw URLs, so that every id makes a name of its own.

Why it matters
    Figures per name then have one request each and mean nothing, thresholds on a name never apply, and the
    number of time series grows with every request.

How it is computed
    Distinct values of the tag `name` per generator: more than 500, or more than half of them with a path
    segment or query value that is a number, a hex id of eight or more digits, or a UUID. The port and
    segments such as `v1` are not ids.

How to fix it
    Name requests by their route: http.get(http.url`https://shop/items/${id}`) or
    http.get(url, { tags: { name: "GET /items/:id" } }).

When it is wrong
    A finite catalogue of fixed URLs with numbers in them does not grow: the names are then correct. A test
    that always calls one URL with an id is reported as well; give it a name, or accept the warning.
"""

from auditor.api import Cardinality, Finding, Findings, Limit, Limits, Rule, Samples, Scope, count

RULE = Rule(
    id="CA02",
    slug="raw-names",
    title="Requests are named by raw URLs",
    severity="warning",
    since="0.1",
    limits=(
        Limit("names", 500, "names", "Grafana Cloud k6: advice from 500 URLs on"),
        Limit("with_id", 0.5, "share of the names", "own: half of the names look like ids"),
    ),
)


def check(cardinality: Cardinality, samples: Samples, limits: Limits) -> Findings:
    for name, own in cardinality.by_generator.items():
        many = own.names > limits["names"]
        raw = own.names > 0 and own.names_with_id > limits["with_id"] * own.names
        if not many and not raw:
            continue
        message = f"requests have {own.names:,} distinct names"
        if own.names_with_id:
            message += f", {own.names_with_id:,} of them with an id in it, such as {own.example!r}"
        yield Finding(
            message=message,
            fix="name requests by their route (http.url`…/${id}`, or the tag name), so that there are "
            "as many names "
            f"as routes, at most {limits['names']:,.0f}",
            observed=count(own.names if many else own.names_with_id, "names" if many else "names with an id"),
            limit=count(limits["names"], "names")
            if many
            else count(limits["with_id"] * own.names, "names with an id"),
            evidence=(samples.by_generator[name].path,),
            scope=Scope(generator=name),
        )
