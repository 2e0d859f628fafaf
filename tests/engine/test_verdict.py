"""The verdict's algebra: outcome and severity make a verdict, its words and its exit code."""

from __future__ import annotations

import itertools

import pytest

from auditor.engine.verdict import (
    CommandExit,
    Judged,
    exit_code,
    highest,
    lint_exit_code,
    severity_rank,
    verdict_of,
    verdict_words,
)

OUTCOMES = ("pass", "fail", "unknown", "not-applicable", "error", "waived")
SEVERITIES = ("invalid", "warning", "info")
INVALIDATES = {("fail", "invalid", base) for base in SEVERITIES}
BLOCKS = {(outcome, severity, "invalid") for outcome in ("unknown", "error") for severity in SEVERITIES}


@pytest.mark.parametrize("case", list(itertools.product(OUTCOMES, SEVERITIES, SEVERITIES)))
def test_one_result_alone(case: tuple[str, str, str]) -> None:
    expected = "INVALID" if case in INVALIDATES else "NOT PROVEN" if case in BLOCKS else "VALID"
    assert verdict_of([Judged(*case)]) == expected


def test_invalid_outweighs_what_is_not_known_and_that_outweighs_a_pass() -> None:
    good, open_, bad = (Judged(o, "invalid", "invalid") for o in ("pass", "unknown", "fail"))
    assert verdict_of([good, open_, bad]) == "INVALID"
    assert verdict_of([good, open_, good]) == "NOT PROVEN"
    assert verdict_of([good, good]) == "VALID"
    assert verdict_of([good], guarded=False) == "NOT PROVEN"
    assert verdict_of([bad], guarded=False) == "INVALID"


def test_an_outcome_of_a_foreign_result_is_no_pass_of_another_kind() -> None:
    assert verdict_of([Judged("None", "None", "None")]) == "VALID"


def test_waivers_are_in_the_words() -> None:
    assert verdict_words("VALID", 0) == "VALID"
    assert verdict_words("NOT PROVEN", 2) == "NOT PROVEN, 2 waived"


def test_exit_codes() -> None:
    assert [exit_code(v) for v in ("VALID", "INVALID", "NOT PROVEN")] == [0, 1, 3]
    assert int(CommandExit.COULD_NOT_RUN) == 2
    assert exit_code("VALID", fail_on="warning", warned=True) == 1
    assert exit_code("VALID", fail_on="warning") == 0
    assert exit_code("VALID", fail_on="invalid", warned=True) == 0
    assert exit_code("NOT PROVEN", fail_on="warning", warned=True) == 3
    with pytest.raises(KeyError):
        exit_code("MAYBE")


@pytest.mark.parametrize(
    ("accepted", "verdict", "complete", "code"),
    [
        (True, "VALID", True, 0),
        (True, "VALID", False, 3),
        (True, "NOT PROVEN", True, 3),
        (True, "INVALID", True, 1),
        (False, "VALID", True, 1),
        (False, "NOT PROVEN", False, 1),
        (True, "who knows", True, 0),
    ],
)
def test_exit_code_of_a_linted_report(accepted: bool, verdict: str, complete: bool, code: int) -> None:
    assert lint_exit_code(accepted=accepted, run_verdict=verdict, complete=complete) == code


def test_order_of_severities() -> None:
    assert sorted(["info", "invalid", "warning"], key=severity_rank) == ["invalid", "warning", "info"]
    assert highest(["info", "warning"], "invalid") == "warning"
    assert highest([], "warning") == "warning"
