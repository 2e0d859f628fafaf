"""
What it checks
    Whether a report states its verdict, and the one that was given.

Why it matters
    One changed word turns a run that must not be believed into a result.

How it is computed
    The first of VALID, INVALID and NOT PROVEN in the report, or what stands beside "verdict". In a report of
    k6-audit the visible verdict, the page's metadata and every visible figure must be those of the result
    that is embedded in it (figures to their printed digits). With the run beside it, the verdict must be the
    run's.

How to fix it
    Write the report again; state the verdict above the figures, as one of the three words.

When it is wrong
    Never. To disagree with a verdict, write a waiver, which the report then names.
"""

from collections.abc import Iterator

from auditor.api import LABEL_OF, VERDICTS, Finding, Findings, Judged, LintedReport, Quantity, Rule, verdict_of

RULE = Rule(
    id="HD15",
    slug="verdict",
    title="The verdict is missing or was edited",
    severity="invalid",
    since="0.1",
    references=("report header",),
)

FIX = "write the report again from its run: `k6-audit report RUN -o report.html`"


def check_report(linted: LintedReport) -> Findings:
    report = linted.report
    if report.embedded_damaged:
        yield _finding(linted, "the result embedded in the report cannot be read", "damaged", "readable")
    if not report.verdict:
        yield _finding(linted, "the report states no verdict", "none", " or ".join(VERDICTS))
    elif report.verdict not in VERDICTS:
        yield _finding(
            linted, f"the report's verdict is {report.verdict!r}", report.verdict, " or ".join(VERDICTS)
        )
    given = _given(linted)
    if given is not None:
        source, verdict = given
        # A visible verdict that is none of the three words has its own finding above.
        if report.verdict in VERDICTS and report.verdict != verdict:
            yield _disagrees(linted, "the report says", report.verdict, source, verdict)
        if report.verdict_meta and report.verdict_meta != verdict:
            yield _disagrees(linted, "its metadata say", report.verdict_meta, source, verdict)
    made_of = _by_its_rules(linted)
    said = str((report.embedded or {}).get("verdict"))
    if made_of is not None and made_of != said:
        yield _finding(linted, f"its embedded result says {said}, its own rules give {made_of}", said, made_of)
    yield from _edited(linted)


def _by_its_rules(linted: LintedReport) -> str | None:
    """The verdict that the rules of the embedded result make; None if it has none of them."""
    rules = (linted.report.embedded or {}).get("rules")
    if not isinstance(rules, list) or not all(isinstance(r, dict) for r in rules):
        return None
    return verdict_of(
        Judged(str(r.get("outcome")), str(r.get("severity")), str(r.get("base_severity"))) for r in rules
    )


def _given(linted: LintedReport) -> tuple[str, str] | None:
    if linted.run is not None:
        return "the run", linted.run.verdict
    if linted.report.embedded is not None:
        return "its embedded result", str(linted.report.embedded.get("verdict"))
    return None


def _edited(linted: LintedReport) -> Iterator[Finding]:
    """Cells of the page that are not those of the embedded result."""
    embedded = linted.report.embedded
    header = embedded.get("header") if embedded is not None else None
    if not isinstance(header, dict):
        return
    own_page = any(found.how == "name" for found in linted.report.fields.values())
    for name, found in linted.report.fields.items():
        cell = header.get(name)
        if found.how != "name" and own_page:
            yield _cell(linted, name, "missing", "there")
        if found.how != "name" or not isinstance(cell, dict):
            continue
        value = cell.get("value") if cell.get("status") == "ok" else None
        shown, step = found.shown, found.shown_step
        if value is None:
            if found.answer == "value":
                yield _cell(linted, name, found.raw, f"{cell.get('status')}: {cell.get('reason')}")
        elif (
            shown is None
            or abs(shown - value) > step * 0.5001 + 1e-9
            or (
                found.value is not None
                and abs(found.value - value) > 1e-9 * max(1.0, abs(value)) + step * 0.5001
            )
        ):
            yield _cell(linted, name, found.raw, f"{value:g} {cell.get('unit')}")


def _cell(linted: LintedReport, name: str, raw: str, embedded: str) -> Finding:
    return _finding(
        linted,
        f"{LABEL_OF[name]} is {raw[:60]!r} on the page and {embedded[:80]} in the embedded result",
        raw[:60],
        embedded[:60],
    )


def _disagrees(linted: LintedReport, where: str, said: str, source: str, verdict: str) -> Finding:
    return _finding(linted, f"{where} {said}, {source} says {verdict}", said, verdict)


def _finding(linted: LintedReport, message: str, observed: str, limit: str) -> Finding:
    return Finding(
        message=message,
        fix=FIX,
        observed=Quantity(None, "", observed or "none"),
        limit=Quantity(None, "", limit),
        evidence=(linted.report.path,),
    )
