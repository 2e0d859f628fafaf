"""Generators of one run by their times: from the first iteration's start to the last sample of their work."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import pytest

from auditor.engine.audit import audit
from auditor.engine.loader import load_rules
from auditor.engine.policy import Policy
from auditor.errors import AuditError
from auditor.ingest.bundle import read_run
from tests.builder import Run
from tests.rules.cases import point


def shifted(text: str, by_s: int) -> str:
    """The same points, later."""

    def later(found: re.Match[str]) -> str:
        at = datetime.datetime.fromisoformat(found[1]) + datetime.timedelta(seconds=by_s)
        return f'"time":"{at:%Y-%m-%dT%H:%M:%S}'

    return re.sub(r'"time":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)', later, text)


def test_a_pod_that_was_held_back_is_of_the_same_run(tmp_path: Path) -> None:
    """k6-operator starts its pods paused: one counted its VUs for a minute before both were let go."""
    for name, waited_s in (("runner-1", 60), ("runner-2", 1)):
        Run(extra_lines=[point("vus", -float(s), 0) for s in range(1, waited_s + 1)]).write(tmp_path / name)
    result = audit(read_run([tmp_path]), Policy(), load_rules())
    assert [g.name for g in result.evidence.generators] == ["runner-1", "runner-2"]


def test_generators_that_worked_one_after_the_other_are_two_runs(tmp_path: Path) -> None:
    """Though the first went on to count its VUs until the second had ended."""
    Run(extra_lines=[point("vus", float(s), 0) for s in range(61, 200)]).write(tmp_path / "a")
    points = Run().write(tmp_path / "b") / "k6.json"
    points.write_text(shifted(points.read_text(), 130))
    with pytest.raises(AuditError, match="not one run: a, b; their time ranges overlap by 0%"):
        audit(read_run([tmp_path]), Policy(), load_rules())
