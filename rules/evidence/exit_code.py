"""
What it checks
    Whether k6's exit code fits what the points show, and whether the run ended as planned.

Why it matters
    A killed or aborted run leaves files that look like those of a finished one. An exit code that
    contradicts the points shows that they are not of the same run.

How it is computed
    Per generator with a kept exit code. 0 and 99 are ends of a finished run. Every other code: the run did
    not end as planned. 101, 107 and 110 are a warning where the run had gone to its planned end and the log
    says that teardown() or handleSummary() failed, or the script marked the run (110). 99 needs a crossed
    threshold, by recomputation from the points or by k6's log; 0 must have none crossed, unless k6's
    end-of-test text shows that thresholds were off, and none marked as crossed by the console or a summary.
    Where the thresholds
    cannot be evaluated as a whole the question stays open; where the points break off, it is not asked.

How to fix it
    See what the code means, fix it, and run again. Keep the exit code of the run whose points you audit
    (`k6 run …; echo $? > exit_code`).

When it is wrong
    A wrapper that replaces k6's exit code by its own (`|| true`, a shell pipe without pipefail). A crossed
    threshold with code 99 is a result about the system, and passes here.
"""

from collections.abc import Iterator

from auditor.api import (
    Evidence,
    Finding,
    Findings,
    GeneratorEvidence,
    Missing,
    NotApplicable,
    Quantity,
    Rule,
    Samples,
    Scope,
    Severity,
    Statements,
    Thresholds,
    Timeline,
    Unknown,
    totals_of,
)

RULE = Rule(
    id="EV12",
    slug="exit-code",
    title="k6's exit code contradicts a finished run",
    severity="invalid",
    since="0.1",
    references=("k6 exit codes",),
)
MEANING = {
    97: "the cloud run failed or was aborted",
    98: "the progress of the cloud run was lost",
    100: "setup() timed out",
    101: "teardown() timed out",
    102: "a time limit of k6 was passed",
    103: "it was stopped through the REST API",
    104: "the configuration is invalid",
    105: "it was stopped from outside (Ctrl-C or SIGTERM)",
    106: "the REST API could not start",
    107: "the script raised an exception in init, setup() or teardown()",
    108: "the script aborted the run (exec.test.abort)",
    109: "k6 itself crashed",
    110: "the script marked the run as failed (exec.test.fail)",
    134: "the process aborted itself (SIGABRT)",
    137: "the process was killed (SIGKILL, often for lack of memory)",
    139: "the process crashed (SIGSEGV)",
    143: "the process was ended from outside (SIGTERM)",
    255: "k6 could not run the command as given",
}
JUDGEMENTS = frozenset({101, 107, 110})
"""Codes that may judge a run that is over: of teardown(), handleSummary() and exec.test.fail()."""
OPTIONS = "keep `k6 inspect --execution-requirements script.js` and k6's log beside the points"


def check(
    evidence: Evidence,
    thresholds: Thresholds | None,
    samples: Samples | None,
    timeline: Timeline | None,
    statements: Statements,
) -> Findings:
    if all(generator.exit_code is None for generator in evidence.generators):
        yield NotApplicable("no exit code was kept")
    for generator in evidence.generators:
        if generator.exit_code is None:
            continue
        own = samples.by_generator.get(generator.name) if samples is not None else None
        torn = own is not None and bool(own.read.torn)
        if generator.exit_code.code == 0:
            found = list(of_zero(generator, thresholds, torn))
            yield from found or against_marks(generator, statements)
        elif generator.exit_code.code == 99:
            yield from of_crossed(generator, thresholds, torn)
        else:
            yield of_failure(generator, timeline)


def of_failure(generator: GeneratorEvidence, timeline: Timeline | None) -> Finding:
    assert generator.exit_code is not None
    code = generator.exit_code.code
    log = generator.log
    if code in JUDGEMENTS and went_to_its_end(generator, timeline):
        said = _own_words(generator)
        return _finding(
            generator,
            f"exit code {code}, {MEANING[code]}{f' ({said})' if said else ''}: the run had gone to its "
            "planned end",
            "see what the script says; the measured part is whole",
            "0, or 99 with a crossed threshold",
            severity="warning",
        )
    meaning = MEANING.get(code, "")
    if not meaning and code > 128:
        meaning = f"the process was ended by signal {code - 128}"
    return _finding(
        generator,
        f"the run did not end as planned: exit code {code}"
        + (f", {meaning}" if meaning else "")
        + (f"; k6 says: {log.k6_error}" if log is not None and log.k6_error else ""),
        "fix what ended it and run again to the planned end",
        "0, or 99 with a crossed threshold",
    )


def went_to_its_end(generator: GeneratorEvidence, timeline: Timeline | None) -> bool:
    """Whether all planned load was run, so that the code judges and does not cut: exec.test.fail(), or an
    exception or time-out after the last iteration."""
    assert generator.exit_code is not None
    end = timeline.ends.get(generator.name) if timeline is not None else None
    if end is None or end.ended_early or end.torn or end.latest_planned_end_ns is None:
        return False
    if generator.exit_code.code == 110:
        return True
    log = generator.log
    if log is None or log.unread or log.exceptions_outside.keys() & {"setup", "init"}:
        return False
    return bool(log.exceptions_outside.keys() & {"teardown", "handleSummary"}) or "teardown" in log.timed_out


def _own_words(generator: GeneratorEvidence) -> str:
    """What was thrown where, or why the script marked the run as failed."""
    log = generator.log
    if log is None:
        return ""
    thrown = [f"{n} thrown in {place}()" for place, n in log.exceptions_outside.items()]
    late = [f"{place}() timed out" for place in log.timed_out]
    texts = [f"{text!r}" for text in (*log.exception_texts, *log.marked_failed)][:3]
    return "; ".join((*thrown, *late, *texts))


def of_zero(
    generator: GeneratorEvidence, thresholds: Thresholds | None, torn: bool
) -> Iterator[Finding | Unknown]:
    if torn or thresholds is None:
        return
    crossed = [t for t in thresholds.found if t.generator == generator.name and t.state == "crossed"]
    if not crossed:
        return
    printed = generator.console.thresholds_printed if generator.console is not None else None
    said = generator.log is not None and generator.log.thresholds_crossed
    if printed is False and not said:
        return
    first = crossed[0]
    value = f" ({first.value:.6g})" if first.value is not None else ""
    words = f"threshold {first.metric} {first.expression!r} is crossed{value}"
    if printed is None and not said:
        yield Unknown(
            f"exit code 0, but {words}: whether thresholds were switched off is not known",
            "keep k6's standard output and its log: they show whether thresholds were on",
            needs="rerun",
        )
        return
    yield _finding(
        generator,
        f"exit code 0, but {words}: exit code and points are not of one run",
        "keep the exit code and the points of one and the same run",
        "99",
    )


def against_marks(generator: GeneratorEvidence, statements: Statements) -> Iterator[Finding]:
    """Code 0, and a console or summary that marks a threshold as crossed."""
    assert generator.exit_code is not None
    texts = {total.path for total in totals_of(generator)}
    for row in statements.marks:
        source = next((s for s, crossed in row.crossed.items() if crossed and s in texts), "")
        if row.generator == generator.name and source:
            yield _finding(
                generator,
                f"exit code 0, but {source} marks {f'{row.metric} {row.expression}'.strip()} as crossed: they "
                "are not of one run",
                "keep the exit code, console and summary of one and the same run",
                "99",
            )
            return


def of_crossed(
    generator: GeneratorEvidence, thresholds: Thresholds | None, torn: bool
) -> Iterator[Finding | Unknown]:
    if torn or (generator.log is not None and generator.log.thresholds_crossed):
        return
    mine = [t for t in thresholds.found if t.generator == generator.name] if thresholds is not None else []
    if any(t.state == "crossed" for t in mine):
        return
    unsure = next((t for t in mine if t.state in ("unknown", "vacuous")), None)
    known = thresholds is not None and thresholds.defined is not None
    if not known or generator.source_of("thresholds") is None or unsure is not None:
        why = (
            f"{unsure.metric} {unsure.expression!r} cannot be evaluated"
            if unsure is not None
            else "not all thresholds of the run are known"
        )
        yield Unknown(
            f"exit code 99 says that a threshold was crossed, and {why}",
            OPTIONS,
            needs="add",
            missing=Missing.OPTIONS if unsure is None else None,
        )
        return
    yield _finding(
        generator,
        f"exit code 99 says that a threshold was crossed; none of the {len(mine)} is, by the points",
        "keep the exit code and the points of one and the same run",
        "0",
    )


def _finding(
    generator: GeneratorEvidence, message: str, fix: str, expected: str, severity: Severity = "invalid"
) -> Finding:
    assert generator.exit_code is not None
    code = generator.exit_code.code
    return Finding(
        message=message,
        fix=fix,
        observed=Quantity(float(code), "exit code", f"exit code {code}"),
        limit=Quantity(None, "exit code", f"exit code {expected}"),
        evidence=(generator.exit_code.path,),
        scope=Scope(generator=generator.name),
        severity=severity,
    )
