"""
What it checks
    Which tag makes most of the time series, where there are too many of them or too many names.

Why it matters
    The tag shows which line of the script to change.

How it is computed
    Distinct values of every tag per generator; the tag with the most of them is named. `url` follows `name`
    and is named only if it has more values. Reported only beyond the limits of CA01 or CA02.

How to fix it
    Change or drop that tag: group the URLs if it is `name` or `url`, and keep ids of users, sessions or
    orders out of tags altogether.

When it is wrong
    It is a note: it never changes the verdict.
"""

from auditor.api import Cardinality, Finding, Findings, Limits, Rule, Samples, Scope, count

RULE = Rule(
    id="CA03",
    slug="offending-tag",
    title="The tag with the most values",
    severity="info",
    since="0.1",
    uses=("CA01.series", "CA02.names"),
    moved_limits={"series": "CA01.series", "names": "CA02.names"},
    consequence_of=("CA01", "CA02"),
)


def check(cardinality: Cardinality, samples: Samples, limits: Limits) -> Findings:
    for name, own in cardinality.by_generator.items():
        if own.at_least <= limits["CA01.series"] and own.names <= limits["CA02.names"]:
            continue
        if not own.worst_tag:
            continue
        if own.worst_tag in ("name", "url"):
            fix = "group the URLs under one name for each route (http.url`…/${id}`, or the tag name)"
        else:
            fix = f"keep the values of {own.worst_tag!r} out of the tags, or make them few"
        yield Finding(
            message=f"tag {own.worst_tag!r} has {own.worst_tag_values:,} values, more than any other tag; "
            f"{own.at_least:,} time series in all",
            fix=fix,
            observed=count(own.worst_tag_values, "values"),
            limit=count(limits["CA02.names"], "values"),
            evidence=(samples.by_generator[name].path,),
            scope=Scope(generator=name),
        )
