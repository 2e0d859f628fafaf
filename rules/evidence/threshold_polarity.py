"""
What it checks
    Whether the threshold states in a summary agree with its own figures.

Why it matters
    The legacy export writes `true` for a threshold that was CROSSED, handleSummary writes `ok: true` for one
    that passed. A tool between k6 and this file that confuses them inverts every result.

How it is computed
    Every threshold whose statistic the summary shows is evaluated on that figure and compared with the
    state the file gives, read by the polarity of its own form. Any that disagrees fails.

How to fix it
    Find what wrote or converted the summary, and fix its polarity; or keep k6's own `--summary-export`.

When it is wrong
    A threshold with delayAbortEval may have been crossed before the end, and a figure rounded by a custom
    handleSummary() may fall on the other side of its limit.
"""

from auditor.api import (
    Evidence,
    Finding,
    Findings,
    Limit,
    Limits,
    NotApplicable,
    Quantity,
    Rule,
    Scope,
    Summary,
    evaluate_summary,
)

RULE = Rule(
    id="EV07",
    slug="threshold-polarity",
    title="The summary's thresholds contradict its figures",
    severity="invalid",
    since="0.1",
    limits=(Limit("contradictions", 0, "thresholds", "k6 evaluates them on these very figures"),),
    references=("semantics §11", "grafana/k6#1498"),
)


def check(evidence: Evidence, limits: Limits) -> Findings:
    judged = False
    for generator in evidence.generators:
        for summary in generator.summaries:
            states = [
                (metric.name, text, crossed)
                for metric in summary.metrics.values()
                for text, crossed in metric.crossed.items()
            ]
            judged = judged or bool(states)
            wrong = [
                (metric, text, crossed)
                for metric, text, crossed in states
                if _by_figures(summary, metric, text) not in (None, crossed)
            ]
            if len(wrong) <= limits["contradictions"]:
                continue
            metric, text, crossed = wrong[0]
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
    if not judged:
        yield NotApplicable("no summary with thresholds was kept")


def _by_figures(summary: Summary, metric: str, text: str) -> bool | None:
    """Whether the summary's own figure crosses the threshold; None if it does not show the figure."""
    listed = summary.metrics[metric]
    bare = Summary(summary.path, summary.kind, {metric: type(listed)(metric, listed.values)})
    state, value = evaluate_summary(bare, metric, text)
    return None if value is None or state not in ("passed", "crossed") else state == "crossed"
