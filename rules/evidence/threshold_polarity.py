"""
What it checks
    Whether all that says which thresholds were crossed agrees: the summary and the console's end-of-test text
    with their own figures, with the points, with each other, and with k6's log.

Why it matters
    The legacy export writes `true` for a threshold that was CROSSED, handleSummary writes `ok: true` for one
    that passed. A tool between k6 and this file that confuses them inverts every result. A text of another
    run marks other thresholds.

How it is computed
    Every threshold whose statistic a summary or the console's text shows is evaluated on that figure and
    compared with the state it gives, read by the polarity of its own form; digits that print cut off are left
    open. The states are also compared with those that the points give, and with each other; k6's log names
    the metrics whose thresholds were crossed. Any that disagrees fails. Points whose file breaks off say
    nothing.

How to fix it
    Find what wrote or converted the summary, and fix its polarity; or keep k6's own `--summary-export`. Keep
    the console, log, summary and points of one run together.

When it is wrong
    A threshold with delayAbortEval may have been crossed before the end, and a figure rounded by a custom
    handleSummary() may fall on the other side of its limit.
"""

from collections.abc import Iterator

from auditor.api import (
    Evidence,
    Finding,
    Findings,
    GeneratorEvidence,
    Limit,
    Limits,
    NotApplicable,
    Quantity,
    Rule,
    Scope,
    Statements,
    marks_of,
    totals_of,
)

RULE = Rule(
    id="EV07",
    slug="threshold-polarity",
    title="Threshold states contradict figures or each other",
    severity="invalid",
    since="0.1",
    limits=(Limit("contradictions", 0, "thresholds", "k6 evaluates them on these very figures"),),
    references=("semantics §11", "grafana/k6#1498"),
    consequence_of=("EV05",),
)


def check(evidence: Evidence, statements: Statements, limits: Limits) -> Findings:
    judged = False
    named: set[tuple[str, str]] = set()
    for generator in evidence.generators:
        for finding in _against_figures(generator, limits):
            judged = True
            if finding is not None:
                named.add((generator.name, finding.scope.name))
                yield finding
    for row in statements.marks:
        judged = judged or len(row.crossed) > 1
        contradiction = row.contradiction
        place = row.generator, row.metric
        if contradiction is None or limits["contradictions"] >= 1 or place in named:
            continue
        named.add(place)
        crossed, passed = contradiction
        what = f"{row.metric} {row.expression!r}" if row.expression else f"the thresholds on {row.metric}"
        yield Finding(
            message=f"{what}: crossed by {crossed}, passed by {passed}: they are not of one run",
            fix="keep the console, log, summary and points of one run together",
            observed=Quantity(None, "thresholds", f"crossed by {crossed}"),
            limit=Quantity(None, "thresholds", f"passed by {passed}"),
            evidence=(crossed, passed),
            scope=Scope(generator=row.generator, name=row.metric),
        )
    if not judged:
        yield NotApplicable("no two files say which thresholds were crossed")


def _against_figures(generator: GeneratorEvidence, limits: Limits) -> Iterator[Finding | None]:
    """For each summary that gives states: what contradicts its own figures, or None."""
    for summary in totals_of(generator):
        states = list(marks_of(summary))
        if not states:
            continue
        wrong = [one for one in states if one[3] not in (None, one[2])]
        if len(wrong) <= limits["contradictions"]:
            yield None
            continue
        metric, text, crossed, _ = wrong[0]
        word = "crossed" if crossed else "passed"
        yield Finding(
            message=f"{len(wrong)} of {len(states)} thresholds in {summary.path} contradict its own "
            f"figures: {metric} {text} is said to have {'been ' if crossed else ''}{word}",
            fix="keep k6's own --summary-export; fix what converted this file",
            observed=Quantity(float(len(wrong)), "thresholds", f"{len(wrong)} contradictions"),
            limit=Quantity(limits["contradictions"], "thresholds", "none"),
            evidence=(summary.path,),
            scope=Scope(generator=generator.name, name=metric),
        )
