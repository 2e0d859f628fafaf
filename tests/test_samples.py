"""The sample runs, against their expected.json, which a separate program worked out from the definitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from auditor.present.json_v1 import document
from tests.conftest import ROOT, Judge, outcomes

SAMPLES = sorted(p.parent for p in (ROOT / "sample_runs").glob("*/expected.json"))


def test_there_are_at_least_ten_stories() -> None:
    assert len(SAMPLES) >= 10
    for story in SAMPLES:
        size = sum(p.stat().st_size for p in story.rglob("*") if p.is_file())
        assert size <= 1_000_000, story
        assert (story / "README.md").is_file()


@pytest.mark.parametrize("story", SAMPLES, ids=lambda p: p.name)
def test_sample(story: Path, judge: Judge) -> None:
    expected: dict[str, Any] = json.loads((story / "expected.json").read_text())
    result = judge(story, warmup=expected["warmup"])
    found = outcomes(result)
    assert result.verdict == expected["verdict"], found
    assert result.exit_code == expected["exit_code"]
    failed = {rule for rule, outcome in found.items() if outcome.startswith("fail")}
    assert set(expected["must_fail"]) <= {r for r, o in found.items() if o == "fail:invalid"}
    assert set(expected["must_warn"]) <= failed
    assert not set(expected["must_not_fail"]) & failed
    doc = document(result)
    for scenario, counts in expected["accounting"].items():
        mine = doc["accounting"][scenario]
        assert {name: mine[name] for name in counts} == counts
    for name, value in expected["header"].items():
        cell = doc["header"][name]
        if isinstance(value, dict):
            assert cell["value"] == pytest.approx(value["max_5s"], abs=0.5)
            assert cell["mean"] == pytest.approx(value["mean"], abs=0.5)
        elif value is None:
            assert cell["value"] is None, name
        else:
            assert cell["value"] == pytest.approx(value, rel=0.0005, abs=0.005), name
