"""The view of a result: one tree, one headline, one list of questions for every format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from auditor.engine.audit import Audit
from auditor.engine.rule import LoadedRule
from auditor.present import html, markdown, view
from auditor.present.model import model
from auditor.present.terminal import as_text, render
from tests.present.conftest import Made, judged
from tests.present.test_reports import Elements

ROOT = Path(__file__).parents[2]
SAMPLES = sorted(p.name for p in (ROOT / "sample_runs").iterdir() if p.is_dir() and p.name != "__pycache__")
WARMUPS = {"vu_starved": "16s"}
UNDECLARED = {"open_healthy", "vu_starved"}
"""Sample runs that are also audited without any warm-up declared, so that some are NOT PROVEN."""
CASES = [*SAMPLES, *(f"{name} undeclared" for name in sorted(UNDECLARED))]


def rule(id_: str, outcome: str = "fail", severity: str = "invalid", **more: Any) -> dict[str, Any]:
    return {
        "id": id_, "title": f"Title of {id_}", "severity": severity, "base_severity": severity, "outcome": outcome,
        "reason": None, "fix": None, "cause": None, "needs": None, "missing": None, "at_signoff": False, **more,
    }  # fmt: skip


def finding(id_: str, message: str, severity: str = "invalid") -> dict[str, Any]:
    quantity = {"value": 1.0, "unit": "x", "text": "1 x"}
    return {
        "rule": id_, "severity": severity, "message": message, "fix": f"fix {id_}", "observed": quantity,
        "limit": quantity, "evidence": [],
    }  # fmt: skip


def result(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"rules": list(rules), "findings": [finding(r["id"], f"{r['id']} is wrong", r["severity"]) for r in rules],
            "sources": [], **more}  # fmt: skip


def ids(trees: tuple[view.Cause, ...]) -> list[str]:
    return [one.id for one in trees]


def test_an_invalid_root_comes_before_a_warning_that_leads_to_an_invalid_one() -> None:
    trees = view.causes(
        result(
            rule("AA01", severity="warning"),
            rule("AA02", cause="AA01"),
            rule("ZZ01"),
            rule("ZZ02", severity="warning", cause="ZZ01"),
            rule("BB01", severity="warning"),
        )
    )
    assert ids(trees) == ["ZZ01", "AA01", "BB01"]
    root = view.root_cause(trees)
    assert root is not None
    assert root.id == "ZZ01"


def test_a_warning_is_the_root_cause_where_no_invalid_root_exists() -> None:
    trees = view.causes(
        result(rule("AA01", severity="warning"), rule("BB01", severity="warning"), rule("CC01", cause="BB01"))
    )
    assert ids(trees) == ["BB01", "AA01"]
    root = view.root_cause(trees)
    assert root is not None
    assert root.id == "BB01"
    assert [(depth, one.id) for depth, one in root.below()] == [(1, "CC01")]


def test_a_cause_that_did_not_fail_is_no_cause_and_a_circle_loses_nothing() -> None:
    assert ids(view.causes(result(rule("AA01", cause="XX09")))) == ["AA01"]
    trees = view.causes(result(rule("AA01", cause="BB01"), rule("BB01", cause="AA01")))
    assert ids(trees) == ["AA01"]
    assert ids(trees[0].children) == ["BB01"]


def test_one_missing_piece_is_one_question_and_those_that_block_come_first() -> None:
    asked = partial(rule, outcome="unknown")
    found = view.questions(
        result(
            asked("LO01", severity="warning", reason="no log", fix="keep it", needs="rerun", missing="log"),
            asked("HO01", reason="no host", fix="record it", needs="rerun", missing="host-metrics"),
            asked("PL01", reason="no stages", fix="keep a", needs="add", missing="options"),
            asked("PL02", severity="warning", reason="no VUs", fix="keep b", needs="add", missing="options"),
            asked("OW01", reason="its own", fix="its own fix"),
            rule("OK01", outcome="pass"),
        )
    )
    assert [q.rules for q in found] == [("PL01", "PL02"), ("HO01",), ("OW01",), ("LO01",)]
    assert [q.blocking_rules for q in found] == [("PL01",), ("HO01",), ("OW01",), ()]
    assert [q.how for q in found] == ["can be added now", "needs a new run", "to do", "needs a new run"]
    assert found[0].fix.startswith("copy script.js into the run's folder; ")
    assert [r.reason for r in found[0].reasons] == ["no stages", "no VUs"]
    assert (found[1].what, found[1].fix) == ("no host", "record it")


def test_the_script_that_lies_there_need_not_be_copied() -> None:
    one = rule("PL01", outcome="unknown", reason="r", needs="add", missing="options")
    source = {"path": "load.js", "format": "k6 script"}
    (question,) = view.questions(result(one, sources=[source]))
    assert "copy load.js" not in question.fix
    assert "k6 inspect --execution-requirements load.js" in question.fix


def test_the_variables_that_the_script_reads_are_named_in_the_fix() -> None:
    one = rule("PL01", outcome="unknown", reason="r", needs="add", missing="options")
    source = {"path": "load.js", "format": "k6 script", "environment": ["RATE", "HOST"]}
    (question,) = view.questions(result(one, sources=[source]))
    assert "`k6 inspect --execution-requirements -e RATE=… -e HOST=… load.js > inspect.json`" in question.fix


def test_a_piece_that_this_version_does_not_know_is_a_question_of_its_own() -> None:
    one = rule("PL01", outcome="unknown", reason="r", fix="f", needs="add", missing="from the future")
    (question,) = view.questions(result(one))
    assert (question.what, question.fix, question.needs) == ("r", "f", "add")


def test_ignored_files_are_counted_not_listed() -> None:
    files = [{"path": f"{i}.tmp", "reason": "no known format"} for i in range(1500)]
    files.append({"path": "k6-audit.toml", "reason": "a policy file"})
    stray, policy = view._ignored(files)
    assert (len(stray.paths), stray.more, stray.reason) == (10, 1490, "no known format")
    assert (policy.paths, policy.more) == (("k6-audit.toml",), 0)


# --- every format says the same ------------------------------------------------------------------------


@pytest.fixture(scope="session")
def samples(rules: tuple[LoadedRule, ...]) -> Mapping[str, Audit]:
    """The audits of all sample runs, each read once."""

    def make(case: str) -> Audit:
        name, _, undeclared = case.partition(" ")
        warmup = None if undeclared else WARMUPS.get(name, "5s")
        return judged(ROOT / "sample_runs" / name, rules, warmup=warmup)

    return Made(CASES, make)


def _json(made: dict[str, Any]) -> dict[str, Any]:
    """Worked out from the JSON rules alone: roots, consequences and open questions."""
    rules = made["result"]["rules"]
    failed = {r["id"]: r for r in rules if r["outcome"] == "fail"}

    def root(id_: str) -> str:
        while failed[id_]["cause"]:
            id_ = failed[id_]["cause"]
        return id_

    grave = {root(id_) for id_, r in failed.items() if r["severity"] == "invalid"}
    order = {"invalid": 0, "warning": 1, "info": 2}
    roots = sorted({root(i) for i in failed}, key=lambda i: (i not in grave, order[failed[i]["severity"]], i))
    open_ = {r["id"] for r in rules if r["outcome"] in ("unknown", "error")}
    return {
        "words": made["result"]["verdict_words"],
        "title": failed[roots[0]]["title"] if grave else "",
        "roots": roots,
        "failed": set(failed),
        "open": open_,
        "blocking": {r["id"] for r in rules if r["id"] in open_ and r["base_severity"] == "invalid"},
    }


ID = r"[A-Z]{2}\d\d"


def _terminal(audit: Audit) -> dict[str, Any]:
    text = as_text(lambda console: render(audit, console, verbose=True))
    lines = text.splitlines()
    causes = [re.match(rf"( *└ )?(?:INVALID|warning|note) ({ID}) ", line) for line in lines]
    found = [m for m in causes if m]
    questions = [line for line in lines if re.match(r"  [?-] ", line)]
    asked = {m for line in questions for m in re.findall(rf"\b{ID}\b", line.rsplit("  ", 1)[1])}
    return {
        "first": lines[1],
        "roots": [m[2] for m in found if not m[1]],
        "failed": {m[2] for m in found},
        "open": asked,
        "questions": [line.split(" ", 3)[3].rsplit("  ", 1)[0].lower() for line in questions],
        "text": text,
    }


def _markdown(made: dict[str, Any]) -> dict[str, Any]:
    text = markdown.render(made)
    why = text.split("## Why, and what to do")[1].split("\n## ")[0]
    causes = re.findall(rf"^( *)- \*\*({ID})\*\*", why, re.M)
    asked = text.split("## What is not known")[1].split("\n## ")[0] if "## What is not known" in text else ""
    questions = re.findall(r"^- \*\*(.*?)\*\* (.*)$", asked, re.M)
    return {
        "first": text.splitlines()[0],
        "roots": [id_ for pad, id_ in causes if not pad],
        "failed": {id_ for _, id_ in causes},
        "open": {id_ for named, _ in questions for id_ in named.split(", ")},
        "questions": len(questions),
        "text": text,
    }


@pytest.mark.parametrize("case", CASES)
def test_all_formats_say_the_same(samples: Mapping[str, Audit], case: str) -> None:
    audit = samples[case]
    made = model(audit)
    expected, terminal, marked = _json(made), _terminal(audit), _markdown(made)
    page = html.render(made)
    elements = Elements(page)
    words = " ".join(" ".join(elements.words).split())

    shown = view.build(made["result"])
    assert shown.verdict.words == expected["words"]
    assert terminal["first"].startswith(f" {expected['words']} ")
    assert f" {expected['words']}: " in marked["first"]
    assert f"</span>{expected['words']}</h2>" in page
    for text in (terminal["text"], words, marked["text"]):
        assert shown.verdict.headline in text.replace("\\", "")
    assert expected["title"].lower() in shown.verdict.headline.lower()

    assert terminal["roots"] == marked["roots"] == [c.id for c in shown.causes] == expected["roots"]
    html_causes = [a["id"] for tag, a in elements.tags if tag == "li" and "cause" in (a.get("class") or "")]
    assert set(html_causes) == terminal["failed"] == marked["failed"] == expected["failed"]
    assert [i for i in html_causes if i in expected["roots"]] == expected["roots"]

    assert terminal["open"] == marked["open"] == expected["open"]
    assert {i for q in shown.questions for i in q.rules} == expected["open"]
    assert {i for q in shown.questions for i in q.blocking_rules} == expected["blocking"]
    assert len(terminal["questions"]) == marked["questions"] == len(shown.questions)
    for question, line in zip(shown.questions, terminal["questions"], strict=True):
        assert question.what.lower() == line
        assert question.what in words


@pytest.mark.parametrize("case", CASES)
def test_a_short_output_fits_a_screen(samples: Mapping[str, Audit], case: str) -> None:
    """40 lines of 100 columns, with the verdict, the whole root cause and no line too long."""
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    render(samples[case], Console(file=out, width=100, highlight=False, markup=False, emoji=False))
    lines = out.getvalue().splitlines()
    assert len(lines) <= 39, len(lines)
    assert max(len(line) for line in lines) <= 100
    assert not any(line != line.rstrip() for line in lines)
    shown = view.build(model(samples[case])["result"])
    text = " ".join(out.getvalue().split())
    assert shown.verdict.headline in text
    if shown.root is not None:
        assert " ".join(shown.root.findings[0]["message"].split()) in text
        assert f"→ {shown.root.fixes[0]}" in text


@pytest.mark.parametrize("case", CASES)
def test_no_format_names_a_folder_of_the_machine(samples: Mapping[str, Audit], case: str) -> None:
    made = model(samples[case])
    for text in (
        html.render(made),
        markdown.render(made),
        as_text(partial(render, samples[case], verbose=True)),
    ):
        assert str(ROOT) not in text
        assert str(Path.home()) + "/" not in text
