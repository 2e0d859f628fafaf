"""Every rule has a run that makes it fail and one that makes it pass, says what it must, and can be printed."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from auditor.engine.rule import FAMILIES, HEADINGS, LoadedRule
from auditor.present.rule_page import page
from tests.conftest import ROOT
from tests.rules import (
    test_cardinality,
    test_distributed,
    test_errors,
    test_evidence,
    test_generator,
    test_header,
    test_latency,
    test_offered_load,
    test_schedule,
    test_stalls,
    test_steady_state,
    test_summaries,
    test_thresholds,
    test_workload,
)
from tests.rules.cases import RULES, Case

CASES: tuple[Case, ...] = tuple(
    chain.from_iterable(
        family.CASES
        for family in (
            test_cardinality,
            test_distributed,
            test_errors,
            test_evidence,
            test_generator,
            test_header,
            test_latency,
            test_offered_load,
            test_schedule,
            test_stalls,
            test_steady_state,
            test_summaries,
            test_thresholds,
            test_workload,
        )
    )
)
HEADER = frozenset(f"HD{i:02d}" for i in range(1, 12))
NEVER_FAIL = HEADER | {"DM04", "EV10", "EV13", "GH01", "SS01"}
"""Rules that find nothing wrong about a run: all that they can say is that something is not known."""
NEVER_WAIVED = HEADER | {"EV01", "EV10", "EV13", "OL08"}
FOLDERS = {
    "WM": "workload",
    "OL": "offered_load",
    "SD": "schedule",
    "ER": "errors",
    "LS": "latency",
    "SS": "steady_state",
    "CO": "stalls",
    "CA": "cardinality",
    "GH": "generator",
    "DM": "distributed",
    "EV": "evidence",
    "TH": "thresholds",
    "HD": "header",
    "SC": "security",
}

ELSEWHERE: dict[str, str] = {
    **dict.fromkeys((f"HD{i}" for i in range(12, 20)), "report_lint/test_report_rules.py"),
    **dict.fromkeys(("ER01", "LS12", "SD11", "SS02"), "report_lint/test_report_rules.py"),
    **dict.fromkeys(("EV09", "GH10", "SC02", "SC03", "SC05"), "signoff/test_declarations.py"),
}
"""Rules about other evidence than a run's folder, with the test file (below tests/) that has both their runs."""

FAILING: dict[str, Case] = {}
PASSING: dict[str, Case] = {}
for _case in CASES:
    if _case.expect == "pass":
        PASSING.setdefault(_case.rule, _case)
    elif _case.expect.startswith("fail") or (_case.rule in NEVER_FAIL and _case.expect == "unknown"):
        FAILING.setdefault(_case.rule, _case)

every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.meta.id)


def test_no_rule_was_lost() -> None:
    assert len({rule.meta.id for rule in RULES}) == len(RULES) >= 60


def test_every_case_names_a_rule_and_is_one_of_its_kind() -> None:
    assert {case.rule for case in CASES} | set(ELSEWHERE) == {rule.meta.id for rule in RULES}
    names = [str(case) for case in CASES]
    assert len(names) == len(set(names))


@every_rule
def test_a_run_fails_it_and_a_run_passes_it(rule: LoadedRule) -> None:
    """The runs themselves are audited by the tests of their families."""
    if rule.meta.id in ELSEWHERE:
        assert f'"{rule.meta.id}"' in (ROOT / "tests" / ELSEWHERE[rule.meta.id]).read_text()
        return
    missing = [what for what, known in (("fails", FAILING), ("passes", PASSING)) if rule.meta.id not in known]
    assert not missing, f"no run that {' and none that '.join(missing)} {rule.meta.id}"


def test_rules_that_never_fail_have_no_case_that_says_they_do() -> None:
    assert not [str(c) for c in CASES if c.rule in NEVER_FAIL and c.expect.startswith("fail")]


@every_rule
def test_it_says_what_it_must(rule: LoadedRule) -> None:
    meta = rule.meta
    assert meta.title.strip()
    assert meta.slug == meta.slug.strip().lower()
    assert meta.slug
    assert meta.since.strip()
    assert meta.severity in ("invalid", "warning", "info")
    assert tuple(rule.doc) == HEADINGS
    assert all(text.strip() for text in rule.doc.values())
    written = (
        (ROOT / rule.path).read_text() if not Path(rule.path).is_absolute() else Path(rule.path).read_text()
    )
    docstring = ast.get_docstring(ast.parse(written)) or ""
    assert [line.strip() for line in docstring.splitlines() if line.strip() in HEADINGS] == list(HEADINGS)


@every_rule
def test_its_limits_say_where_they_come_from(rule: LoadedRule) -> None:
    for limit in rule.meta.limits:
        assert limit.origin.strip(), limit.name
        assert limit.unit.strip(), limit.name
        assert limit.default >= 0, limit.name
    names = [limit.name for limit in rule.meta.limits]
    assert len(names) == len(set(names))


@every_rule
def test_its_id_is_of_its_folder(rule: LoadedRule) -> None:
    assert Path(rule.path).parent.name == FOLDERS[rule.meta.id[:2]]
    assert rule.meta.family == FAMILIES[rule.meta.id[:2]]


def test_slugs_are_unique() -> None:
    slugs = [rule.meta.slug for rule in RULES]
    assert len(slugs) == len(set(slugs))


def test_causes_exist_and_lead_in_no_circle() -> None:
    causes = {rule.meta.id: set(rule.meta.consequence_of) for rule in RULES}
    assert not set(chain.from_iterable(causes.values())) - set(causes)
    assert not [rule for rule, mine in causes.items() if rule in mine]
    # Take away what has no cause left, again and again: what remains stands in a circle.
    while free := [rule for rule, mine in causes.items() if not mine]:
        for rule in free:
            del causes[rule]
        for mine in causes.values():
            mine.difference_update(free)
    assert not causes


def test_what_must_not_be_waived_cannot_be() -> None:
    assert {rule.meta.id for rule in RULES if not rule.meta.waivable} == NEVER_WAIVED


@every_rule
def test_its_page_can_be_printed(rule: LoadedRule) -> None:
    text = page(rule)
    assert rule.meta.id in text
    assert rule.meta.title in text
    assert all(heading in text for heading in HEADINGS)
    for limit in rule.meta.limits:
        assert limit.origin in text
    assert text.endswith("\n")


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            yield node.module or ""


@pytest.mark.parametrize("path", sorted((ROOT / "rules").rglob("*.py")), ids=lambda path: path.stem)
def test_a_rule_imports_the_api_alone(path: Path) -> None:
    for module in imported(ast.parse(path.read_text())):
        first = module.split(".", 1)[0]
        allowed = module == "auditor.api" or first == "numpy" or first in sys.stdlib_module_names
        assert allowed, module


@every_rule
def test_it_says_whether_it_may_raise_a_finding(rule: LoadedRule) -> None:
    """A rule that is left out must be missed if it might have found the run invalid."""
    source = ast.parse((ROOT / rule.path).read_text())
    raised = sum(isinstance(n, ast.Constant) and n.value == "invalid" for n in ast.walk(source))
    assert rule.meta.raises == (rule.meta.severity != "invalid" and raised > 0)
