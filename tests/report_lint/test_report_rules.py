"""Every rule about reports: a report that fails it and one that passes, alone and with the run beside it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

from auditor.engine.audit import Audit, audit
from auditor.engine.loader import load_rules
from auditor.engine.policy import load_policy
from auditor.ingest.bundle import read_run
from auditor.present.html import render as html
from auditor.present.json_v1 import as_json
from auditor.present.model import model
from auditor.report_lint.judge import ReportAudit, audit_report
from auditor.report_lint.present import as_json as lint_as_json
from auditor.report_lint.read.reader import read_report
from tests.builder import Answer, Run, Scenario
from tests.conftest import ROOT, outcomes

RULES = load_rules()
GOOD = (Path(__file__).parent / "documents" / "good.md").read_text()


def lint(text: str, folder: Path, run: Audit | None = None, name: str = "report.md") -> ReportAudit:
    (folder / name).write_text(text)
    return audit_report(read_report(folder / name), load_policy(None, {}, RULES), RULES, run)


def changed(*edits: tuple[str, str]) -> str:
    text = GOOD
    for before, after in edits:
        assert before in text, before
        text = text.replace(before, after)
    return text


LABELS = {
    "HD01": "Target rate",
    "HD02": "Achieved rate",
    "HD03": "Dropped iterations",
    "HD04": "Generator CPU",
    "HD05": "Test duration",
    "HD06": "Warm-up excluded",
    "HD07": "p50",
    "HD08": "p90",
    "HD09": "p95",
    "HD10": "p99",
    "HD11": "p99.9",
}


def row(label: str, value: str | None) -> str:
    """The good report with one value changed, or its row taken out."""
    lines = GOOD.splitlines()
    i = next(i for i, line in enumerate(lines) if line.startswith(f"| {label} |"))
    if value is None:
        del lines[i]
    else:
        cells = lines[i].split("|")
        cells[2] = f" {value} "
        lines[i] = "|".join(cells)
    return "\n".join(lines)


@pytest.mark.parametrize("rule", LABELS)
@pytest.mark.parametrize("value", [None, "", "-", "?", "TBD", "NaN", "n/a", "none", "see above"])
def test_a_field_without_an_answer_fails(rule: str, value: str | None, tmp_path: Path) -> None:
    result = lint(row(LABELS[rule], value), tmp_path)
    assert outcomes(result)[rule] == "fail:invalid"  # type: ignore[arg-type]
    assert not result.accepted
    assert result.exit_code == 1
    others = {r.id for r in result.failed("invalid")} & set(LABELS)
    assert others == {rule}


@pytest.mark.parametrize("rule", LABELS)
def test_na_with_a_reason_is_an_answer_only_where_it_may_be(rule: str, tmp_path: Path) -> None:
    for value, allowed in (
        ("n/a: this executor cannot drop", {"HD03", "HD07", "HD08", "HD09", "HD10", "HD11"}),
        ("none: closed model (one clerk at one terminal)", {"HD01"}),
        ("≥ 2,991 ms, not identified", {"HD07", "HD08", "HD09", "HD10", "HD11"}),
    ):
        expected = "pass" if rule in allowed else "fail:invalid"
        assert outcomes(lint(row(LABELS[rule], value), tmp_path))[rule] == expected, value  # type: ignore[arg-type]


@dataclass(frozen=True)
class Edit:
    rule: str
    expect: str
    edits: tuple[tuple[str, str], ...]


ALONE = [
    Edit("HD12", "pass", ()),
    Edit("HD12", "fail:warning", (("15.6 ms", "15.6"),)),
    Edit("HD12", "fail:warning", (("30.5 ms", "30.5 m"),)),
    Edit("HD12", "pass", (("| 5 s |", "| 0 |"),)),
    Edit("HD14", "pass", ()),
    Edit("HD14", "fail:warning", (("| Target rate | 100/s | hold 62 s |\n", ""), ("\n| p99.9", "\n| Target rate | 100/s | |\n| p99.9"))),
    Edit("HD15", "pass", ()),
    Edit("HD15", "fail:invalid", (("**Verdict: VALID**", ""),)),
    Edit("HD15", "fail:invalid", (("VALID", "looks fine"),)),
    Edit("HD17", "pass", ()),
    Edit("HD17", "fail:invalid", (("of all requests, failures included", ""),)),
    Edit("HD18", "pass", ()),
    Edit("HD18", "fail:warning", (("highest 5 s, mean 35 %, 1 host of 4 cores", ""),)),
    Edit("HD18", "fail:warning", (("highest 5 s, ", ""),)),
    Edit("HD18", "fail:warning", ((", 1 host of 4 cores", ""),)),
    Edit("HD19", "not-applicable", ()),
    Edit("HD19", "pass", (("VALID", "INVALID"),)),
    Edit("HD19", "fail:invalid", (("**Verdict: VALID**", ""), ("(have 3,100) | |", "(have 3,100) | |\n\nVerdict: INVALID"))),
    Edit("ER01", "not-applicable", ()),
    Edit("ER01", "pass", (("**Verdict", "Failed requests: 3\n\n**Verdict"),)),
    Edit("LS05", "pass", ()),
    Edit("LS05", "fail:invalid", (("22.9 ms", "29 ms"),)),
    Edit("LS05", "fail:invalid", (("25.4 ms", "2.54 s"),)),
    Edit("LS05", "fail:invalid", (("15.6 ms", "-15.6 ms"),)),
    Edit("LS12", "pass", ()),
    Edit("OL01", "pass", ()),
    Edit("OL01", "pass", (("99.9/s", "98/s"),)),
    Edit("OL01", "fail:invalid", (("99.9/s", "97.9/s"),)),
    Edit("OL01", "fail:invalid", (("99.9/s", "102.1/s"),)),
    Edit("SD01", "not-applicable", ()),
    Edit("SD01", "pass", (("iterations | 0 |", "iterations | 61 |"),)),
    Edit("SD01", "fail:invalid", (("iterations | 0 |", "iterations | 62 |"),)),
    Edit("SD01", "fail:warning", (("iterations | 0 |", "iterations | 7 |"), ("n/a, need 3,688 (have 3,100)", "40 ms"))),
    Edit("GH03", "pass", ()),
    Edit("GH03", "pass", (("41 %", "80 %"),)),
    Edit("GH03", "fail:invalid", (("41 %", "80.1 %"),)),
    Edit("HD13", "not-applicable", ()),
    Edit("HD16", "not-applicable", ()),
    Edit("SS02", "not-applicable", ()),
]  # fmt: skip


@pytest.mark.parametrize("case", ALONE, ids=lambda c: f"{c.rule}-{c.expect}")
def test_a_report_alone(case: Edit, tmp_path: Path) -> None:
    result = lint(changed(*case.edits), tmp_path)
    assert outcomes(result)[case.rule] == case.expect, [r.reason for r in result.failed("invalid")]  # type: ignore[arg-type]
    for one in result.results:
        assert one.outcome not in ("error", "unknown"), one.traceback
        assert all(f.message and f.fix for f in one.findings)


def test_the_good_report_is_accepted(tmp_path: Path) -> None:
    result = lint(GOOD, tmp_path)
    assert result.accepted
    assert result.exit_code == 0
    assert not result.missing()
    assert lint(changed(("VALID", "NOT PROVEN")), tmp_path).exit_code == 3


def test_successes_only(tmp_path: Path) -> None:
    text = (Path(__file__).parent / "documents" / "successes.md").read_text()
    assert outcomes(lint(text, tmp_path))["ER01"] == "fail:invalid"  # type: ignore[arg-type]
    labelled = text + "\nLatency of successful requests only.\n"
    assert outcomes(lint(labelled, tmp_path))["ER01"] == "pass"  # type: ignore[arg-type]


def test_averages_only(tmp_path: Path) -> None:
    assert outcomes(lint("Average response time: 41 ms\n", tmp_path))["LS12"] == "fail:invalid"  # type: ignore[arg-type]
    assert outcomes(lint("Target rate: 10/s\n", tmp_path))["LS12"] == "not-applicable"  # type: ignore[arg-type]


# --- with the run beside it -------------------------------------------------------------------------------


def answer(index: int, start_s: float) -> Answer:
    """Slow in the first 5 s (500 of 6,500 requests), and ten failures later."""
    if start_s < 5:
        return Answer(200.0 + index % 50)
    failed = index % 600 == 599
    return Answer(20.0 + index % 40, status="500" if failed else "200", failed=failed)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = Run([Scenario(rate=100, duration_s=65, answer=answer)])
    return run.write(tmp_path_factory.mktemp("reports") / "run")


@pytest.fixture(scope="module")
def beside(folder: Path) -> Audit:
    return audit(read_run([folder]), load_policy(None, {"warmup": ("5s", "--warmup")}, RULES), RULES)


@pytest.fixture(scope="module")
def whole(folder: Path) -> Audit:
    """The same run with nothing left out."""
    return audit(read_run([folder]), load_policy(None, {"warmup": ("0s", "--warmup")}, RULES), RULES)


@pytest.fixture(scope="module")
def page(beside: Audit) -> str:
    return html(model(beside))


def state(run: Audit, folder: Path, text: str, rule: str, name: str = "report.html") -> str:
    return outcomes(lint(text, folder, run, name))[rule]  # type: ignore[arg-type]


def test_its_own_report_agrees(beside: Audit, page: str, tmp_path: Path) -> None:
    result = lint(page, tmp_path, beside, "report.html")
    assert result.accepted, [(r.id, r.reason) for r in result.failed("invalid")]
    assert not result.failed("warning")
    assert outcomes(result)["HD13"] == "pass"  # type: ignore[arg-type]
    assert outcomes(result)["HD16"] == "pass"  # type: ignore[arg-type]
    assert outcomes(result)["SS02"] == "pass"  # type: ignore[arg-type]
    again = lint(as_json(beside), tmp_path, beside, "result.json")
    assert again.accepted, [(r.id, r.reason) for r in again.failed("invalid")]
    schema = json.loads((ROOT / "auditor" / "report_lint" / "report_lint_v1.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    for one in (result, lint("p95: TBD\n", tmp_path)):
        jsonschema.validate(json.loads(lint_as_json(one)), schema)


def header_report(run: Audit, **values: str) -> str:
    """A hand-written report of a run's own header, some values replaced."""
    fields = run.header.fields
    lines = ["Verdict: " + run.verdict, "", "| Field | Value | Detail |", "|---|---|---|"]
    for name, field in fields.items():
        value = values.get(name) or (
            f"{field.value:.6g} {field.unit}" if field.value is not None else field.reason
        )
        lines.append(
            f"| {field.label} | {value.replace(' iterations', '')} | max, 1 host, of the offered demand |"
        )
    return "\n".join(lines)


def test_numbers_may_be_rounded_and_not_more(beside: Audit, tmp_path: Path) -> None:
    fields = beside.header.fields
    p90, dropped = fields["p90"].value, fields["dropped_iterations"].value
    assert p90 is not None
    assert dropped == 0
    for value, expect in (
        (f"{p90:.6g} ms", "pass"),
        (f"{p90 * 1.0099:.6g} ms", "pass"),
        (f"{p90 * 1.0101:.6g} ms", "fail:invalid"),
        (f"{p90 * 0.9899:.6g} ms", "fail:invalid"),
        (f"{p90 / 1000:.2f} s", "pass"),
        ("n/a, need 36 (have 12)", "fail:invalid"),
    ):
        assert state(beside, tmp_path, header_report(beside, p90=value), "HD13", "r.md") == expect, value
    for value, expect in (("0", "pass"), ("1", "fail:invalid")):
        text = header_report(beside, dropped_iterations=value)
        assert state(beside, tmp_path, text, "HD13", "r.md") == expect


def test_a_warmup_that_was_not_left_out(beside: Audit, whole: Audit, tmp_path: Path) -> None:
    names = ("p50", "p90", "p95", "p99", "p999")
    unfiltered = {n: f"{whole.header.fields[n].value:.6g} ms" for n in names if whole.header.fields[n].value}
    text = header_report(beside, **unfiltered)
    assert state(beside, tmp_path, text, "SS02", "r.md") == "fail:invalid"
    assert state(beside, tmp_path, header_report(beside), "SS02", "r.md") == "pass"
    assert state(whole, tmp_path, header_report(whole), "SS02", "r.md") == "not-applicable"


def test_percentiles_of_the_successes(beside: Audit, tmp_path: Path) -> None:
    names = ("p50", "p90", "p95", "p99")
    fields = beside.header.fields
    successes = {n: f"{fields[n].detail['of_successful']:.6g} ms" for n in names}
    text = header_report(beside, **{**successes, "p999": "n/a: too few of them"})
    assert any(fields[n].value is None or fields[n].detail["of_successful"] != fields[n].value for n in names)
    unlabelled = text.replace("of the offered demand", "of all requests")
    labelled = text.replace("of the offered demand", "of successful requests only")
    assert state(beside, tmp_path, labelled, "HD13", "r.md") == "pass"
    assert state(beside, tmp_path, labelled, "ER01", "r.md") == "pass"
    fails = (
        state(beside, tmp_path, unlabelled, "HD13", "r.md"),
        state(beside, tmp_path, unlabelled, "ER01", "r.md"),
    )
    assert "fail:invalid" in fails


def test_a_report_of_other_inputs(beside: Audit, page: str, folder: Path, tmp_path: Path) -> None:
    other = folder.parent / "other"
    other.mkdir(exist_ok=True)
    for path in folder.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    (other / "host.csv").write_text((folder / "host.csv").read_text() + "\n")
    policy = load_policy(None, {"warmup": ("5s", "--warmup")}, RULES)
    run = audit(read_run([other]), policy, RULES)
    assert state(run, tmp_path, page, "HD16") == "fail:invalid"
    assert state(beside, tmp_path, page, "HD16") == "pass"
    named = header_report(beside) + "\n" + "\n".join(s.sha256 for s in beside.evidence.sources)
    assert state(beside, tmp_path, named, "HD16", "r.md") == "pass"
    assert state(run, tmp_path, named, "HD16", "r.md") == "fail:invalid"


def test_an_edited_page(beside: Audit, page: str, tmp_path: Path) -> None:
    assert state(beside, tmp_path, page, "HD15") == "pass"
    assert page.count("VALID")
    meta = re.sub(r'(<meta name="k6-audit-verdict" content=")[A-Z ]+', r"\1INVALID", page)
    assert meta != page
    words = re.sub(r'(?s)(<h2 id="verdict".*?\b)VALID', r"\1INVALID", page, count=1)
    assert words != page
    shown = re.sub(r"(>)(\d+\.\d)(/s)", r"\g<1>987.6\3", page, count=1)
    assert shown != page
    attribute = re.sub(r'(data-field="p95" data-value=")[\d.]+', r"\g<1>1.5", page)
    assert attribute != page
    damaged = page.replace('id="k6-audit-result">{', 'id="k6-audit-result">{{')
    assert damaged != page
    embedded = re.sub(r'("verdict":\s*")VALID', r"\1INVALID", page, count=1)
    assert embedded != page
    for text in (meta, words, shown, attribute, damaged, embedded):
        (tmp_path / "alone.html").write_text(text)
        alone = audit_report(read_report(tmp_path / "alone.html"), load_policy(None, {}, RULES), RULES)
        assert outcomes(alone)["HD15"] == "fail:invalid"  # type: ignore[arg-type]
        assert alone.exit_code == 1


def test_a_report_of_an_invalid_run_needs_its_word(tmp_path: Path) -> None:
    starts = [s for i, s in enumerate(Scenario().slots_s()) if i % 4]
    folder = Run([Scenario(starts_s=starts)]).write(tmp_path / "run")
    policy = load_policy(None, {"warmup": ("5s", "--warmup")}, RULES)
    run = audit(read_run([folder]), policy, RULES)
    assert run.verdict == "INVALID"
    honest = html(model(run))
    assert state(run, tmp_path, honest, "HD19") == "pass"
    assert state(run, tmp_path, honest, "HD15") == "pass"
    assert lint(honest, tmp_path, run, "report.html").exit_code == 1
    relabelled = header_report(run).replace("INVALID", "VALID")
    assert state(run, tmp_path, relabelled, "HD19", "r.md") == "fail:invalid"
    assert state(run, tmp_path, relabelled, "HD15", "r.md") == "fail:invalid"


def test_rules_left_out_prove_nothing(tmp_path: Path) -> None:
    (tmp_path / "r.md").write_text(row("p99", "TBD"))
    policy = load_policy(None, {"ignore": (["HD10"], "--ignore")}, RULES)
    result = audit_report(read_report(tmp_path / "r.md"), policy, RULES)
    assert result.exit_code == 3
    assert result.not_run == ("HD10",)


def test_zero_drops_of_an_executor_that_cannot_drop(beside: Audit, tmp_path: Path) -> None:
    """SD11: looping VUs never record a drop, so that "0 dropped" proves nothing."""
    closed = Run([Scenario("till", "constant-vus", duration_s=20, rate=100)]).write(tmp_path / "closed")
    run = audit(read_run([closed]), load_policy(None, {"warmup": ("0s", "--warmup")}, RULES), RULES)
    assert run.header.fields["dropped_iterations"].status == "n/a"
    rule = "SD11"
    assert state(run, tmp_path, header_report(run, dropped_iterations="0"), rule, "r.md") == "fail:invalid"
    assert state(run, tmp_path, header_report(run), rule, "r.md") == "pass"
    assert state(beside, tmp_path, header_report(beside), rule, "r.md") == "pass"
    alone = header_report(beside, target_rate="none: closed model (one clerk)")
    assert outcomes(lint(alone, tmp_path))["SD11"] == "fail:invalid"  # type: ignore[arg-type]
    said = header_report(
        beside,
        target_rate="none: closed model (one clerk)",
        dropped_iterations="n/a: this executor cannot drop",
    )
    assert outcomes(lint(said, tmp_path))["SD11"] == "pass"  # type: ignore[arg-type]


def test_a_verdict_edited_everywhere_contradicts_its_own_rules(tmp_path: Path) -> None:
    failing = Run([Scenario(duration_s=20, answer=lambda i, s: Answer(20.0, failed=i % 5 == 0))])
    folder = failing.write(tmp_path / "failing")
    run = audit(read_run([folder]), load_policy(None, {"warmup": ("5s", "--warmup")}, RULES), RULES)
    assert run.verdict == "INVALID"
    edited = html(model(run)).replace("INVALID", "VALID")
    assert outcomes(lint(edited, tmp_path, None, "report.html"))["HD15"] == "fail:invalid"  # type: ignore[arg-type]


def test_a_row_taken_from_the_page_is_missed(page: str, tmp_path: Path) -> None:
    start = page.index('<tr data-field="p99"')
    without = page[:start] + page[page.index("</tr>", start) + len("</tr>") :]
    assert outcomes(lint(without, tmp_path, None, "report.html"))["HD15"] == "fail:invalid"  # type: ignore[arg-type]
    assert outcomes(lint(page, tmp_path, None, "report.html"))["HD15"] == "pass"  # type: ignore[arg-type]
