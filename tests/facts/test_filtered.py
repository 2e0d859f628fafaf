"""A metric that was left out of the points as a whole: what needs it is derived from another, or unknown, never 0.

100/s for 10 s: 1,000 iterations complete, none is cut off or dropped, unless a case says so.
"""

from __future__ import annotations

from typing import Any

import pytest

from auditor.engine.audit import Audit
from auditor.facts.accounting import Account, Accounting
from auditor.facts.keys import Key
from tests.builder import Scenario
from tests.rules.cases import World, slots, world
from tests.rules.cases import points as change_points


def without(*metrics: str, console: bool = True, **scenario: Any) -> World:
    gone = [f'"metric":"{metric}"' for metric in metrics]
    change = change_points(lambda lines: [x for x in lines if not any(one in x for one in gone)])
    return world(Scenario(**{"duration_s": 10, **scenario}), change=change, console=console)


def account(result: Audit) -> Account:
    return result.facts.get(Accounting).whole[Key("", "api")]


def test_iterations_are_counted_by_their_durations(tmp_path_factory: pytest.TempPathFactory) -> None:
    result = without("iterations").audited(tmp_path_factory)
    found = account(result)
    assert (found.completed, found.interrupted, found.silent) == (1000, 0, 0)
    assert result.verdict == "VALID"


def test_starts_are_unknown_without_durations(tmp_path_factory: pytest.TempPathFactory) -> None:
    for gone in (("iteration_duration",), ("iterations", "iteration_duration")):
        result = without(*gone).audited(tmp_path_factory)
        why = result.facts.why_not(Accounting)
        assert why is not None
        assert "iteration_duration" in why.reason
        assert result.verdict == "NOT PROVEN"


def test_interrupted_iterations_are_the_consoles_without_bytes(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    cut: dict[str, Any] = {"starts_s": slots(100, 10)[:997], "interrupted_s": [10.0] * 3}
    assert account(without("data_sent", "data_received", **cut).audited(tmp_path_factory)).interrupted == 3
    alone = without("data_sent", "data_received", console=False, **cut).audited(tmp_path_factory)
    why = alone.facts.why_not(Accounting)
    assert why is not None
    assert "data_sent" in why.reason


def test_no_drop_in_a_filtered_file_proves_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    filtered = without("iterations", console=False).audited(tmp_path_factory)
    assert not account(filtered).drops_known
    dropped = filtered.header.fields["dropped_iterations"]
    assert (dropped.status, dropped.value) == ("missing", None)
    assert "left out" in dropped.reason
    told = without("iterations").audited(tmp_path_factory)
    assert account(told).drops_known


def test_iterations_that_were_all_cut_off_are_not_filtered_out(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    run = world(
        Scenario(duration_s=10, rate=1, starts_s=[], interrupted_s=[9.9] * 5), end_s=10.5, exit_code=105
    )
    found = account(run.audited(tmp_path_factory))
    assert (found.completed, found.interrupted) == (0, 5)
