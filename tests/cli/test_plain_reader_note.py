"""`lint --verbose` says in one line why a large file was read without the compiled scanner."""

from __future__ import annotations

from pathlib import Path

import pytest

from auditor.facts.samples import Samples
from tests.builder import Run
from tests.command import run


def test_the_note_is_one_line_of_verbose_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Run().write(tmp_path / "run")
    quiet = run("lint", folder, "--verbose")
    monkeypatch.setattr(Samples, "plain_reader_note", property(lambda _: "plain reader for x: no numba"))
    assert run("lint", folder, "--verbose").stdout == f"{quiet.stdout}plain reader for x: no numba\n"
    assert "plain reader" not in run("lint", folder).stdout
