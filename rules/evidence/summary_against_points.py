"""
What it checks
    Whether all that was kept of one run says the same: the points, every form of summary, and the console's
    end-of-test text.

Why it matters
    A summary is what people paste into reports. If it is of another run, or the points are not all there,
    the figures in the report and the figures of the audit are about different tests.

How it is computed
    All of them cover everything that the process sampled: setup() included, no window. So counts, and the
    average, median, extremes and percentiles of every metric and submetric, are equal, of a stopped run too,
    but for the digits that were cut off in print: one in the last place. The points' percentiles are linear
    interpolations on all values, as k6's own. Lengths of the run (the summary's, the console's clock, count ÷
    rate) agree within a second. Each figure is compared with the points; without points, or where their file
    breaks off, the others with each other.

How to fix it
    Keep the files of one run together, whole: `--summary-export`, the console and `--out json` of the same
    `k6 run`.

When it is wrong
    A handleSummary() that filters or computes what it writes under k6's names.
"""

from auditor.api import (
    Finding,
    Findings,
    Limit,
    Limits,
    NotApplicable,
    Quantity,
    Rule,
    Said,
    Scope,
    Statement,
    Statements,
)

RULE = Rule(
    id="EV05",
    slug="summary-against-points",
    title="Files of one run contradict each other",
    severity="invalid",
    since="0.1",
    limits=(
        Limit("count", 0, "share of the count", "k6 counts once: totals equal the points on every recording"),
        Limit("figure", 0, "share of the figure", "k6 computes them from these very samples"),
    ),
    references=("semantics §8",),
    consequence_of=("EV01", "EV02", "DM06"),
)


def check(statements: Statements, limits: Limits) -> Findings:
    if not statements.table:
        yield NotApplicable("no figure is stated by two files that are whole")
    for statement in statements.table:
        if statement.quantity == "complete iterations":
            continue  # EV03
        share = limits["count"] if statement.is_count else limits["figure"]
        for counted, other in statement.differing(share):
            yield _finding(statement, counted, other)


def _finding(statement: Statement, counted: Said, other: Said) -> Finding:
    unit = statement.unit
    return Finding(
        message=f"{statement.quantity}: {other.source} has {_figure(other.value)} {unit}, {counted.source} "
        f"has {_figure(counted.value)}: they are not of one run, or one of them was changed",
        fix="keep the complete summary, console and points of one run together",
        observed=Quantity(other.value, unit, f"{_figure(other.value)} {unit}"),
        limit=Quantity(
            counted.value, unit, f"{_figure(counted.value)} {unit} ± {counted.doubt + other.doubt:,.3g}"
        ),
        evidence=(other.source.split(" (")[0], counted.source.split(" (")[0]),
        scope=Scope(generator=statement.generator, name=statement.quantity),
    )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.6g}"
