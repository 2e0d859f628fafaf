"""Every place that says "unknown" also says whether it can be added now or needs a new run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from auditor.facts.missing import BY_KEY, Missing
from auditor.facts.store import Unknown

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "auditor").rglob("*.py"), *(ROOT / "rules").rglob("*.py")])


def _calls() -> list[tuple[str, ast.Call]]:
    found: list[tuple[str, ast.Call]] = []
    for path in FILES:
        found += [
            (f"{path.relative_to(ROOT)}:{node.lineno}", node)
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Unknown"
        ]
    return found


def test_every_unknown_says_how_it_is_answered() -> None:
    calls = _calls()
    assert len(calls) > 60
    silent = [where for where, call in calls if not {k.arg for k in call.keywords} & {"needs", "missing"}]
    assert silent == []


@pytest.mark.parametrize("one", Missing)
def test_a_missing_piece_is_whole(one: Missing) -> None:
    assert one.needs in ("add", "rerun")
    assert one.what
    assert one.fix
    assert BY_KEY[one.key] is one


def test_needs_is_that_of_the_missing_piece_unless_it_is_said() -> None:
    assert Unknown("r", missing=Missing.OPTIONS).needs == "add"
    assert Unknown("r", missing=Missing.LOG).needs == "rerun"
    assert Unknown("r", missing=Missing.LOG, needs="add").needs == "add"
    assert Unknown("r", "f").needs == ""
