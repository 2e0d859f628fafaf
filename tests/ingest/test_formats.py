"""A new format is one file and one line in a registry: here both are made in a test, and a run is linted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from auditor.cli.app import app
from auditor.evidence import HostSeries, Ignored
from auditor.ingest import host
from auditor.ingest.bundle import read_run
from auditor.ingest.host.format import HostFormat, UnusableHost
from auditor.ingest.k6 import points_formats
from auditor.ingest.sniff import sniff
from tests.builder import T0_S, Run

FIRST_LINE = "# seconds busy"
BUSY_PERCENT = 91.0
"""More than any limit allows."""


def read_toy(text: str, label: str) -> Sequence[HostSeries]:
    rows = [line.split() for line in text.splitlines()[1:]]
    if not rows:
        raise UnusableHost("no rows in it")
    seconds = np.array([int(at) for at, _ in rows], dtype=np.int64)
    busy = np.array([float(percent) for _, percent in rows])
    return [HostSeries(label, "toy", seconds * 1_000_000_000, np.ones(len(rows)), busy)]


TOY = HostFormat(
    name="toy",
    label="toy host metrics",
    content="text",
    looks_like=lambda start: start.startswith(FIRST_LINE),
    read=read_toy,
)
TOY_DOCUMENT = HostFormat(
    name="toy-json",
    label="toy host document",
    content="document",
    looks_like=lambda item: isinstance(item, dict) and "toy" in item,
    read=lambda item, label: read_toy("\n".join([FIRST_LINE, *item["toy"]]), label),
    mark='"toy"',
)


@pytest.fixture(autouse=True)
def with_toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "HOST_FORMATS", (*host.HOST_FORMATS, TOY, TOY_DOCUMENT))


def rows() -> list[str]:
    return [f"{T0_S + second} {BUSY_PERCENT}" for second in range(-2, 70)]


def lint(folder: Path) -> Any:
    how = ["--warmup", "5s", "--exit-zero", "--format", "json"]
    return json.loads(CliRunner().invoke(app, ["lint", str(folder), *how]).stdout)


def formats_of(found: Any) -> dict[str, str]:
    return {source["path"]: source["format"] for source in found["sources"]}


def failed(found: Any) -> set[str]:
    return {rule["id"] for rule in found["rules"] if rule["outcome"] == "fail"}


@pytest.mark.parametrize("kind", ["text", "document"])
def test_a_run_with_host_metrics_in_a_new_format(tmp_path: Path, kind: str) -> None:
    folder = Run(host=False).write(tmp_path / "run")
    without = lint(folder)
    assert without["verdict"] == "NOT PROVEN"
    assert not any(rule.startswith("GH") for rule in failed(without))
    name = "host.toy" if kind == "text" else "host.json"
    text = "\n".join([FIRST_LINE, *rows()]) if kind == "text" else json.dumps({"toy": rows()})
    (folder / name).write_text(text + "\n")
    found = lint(folder)
    assert formats_of(found)[name] == ("toy host metrics" if kind == "text" else "toy host document")
    assert found["verdict"] == "INVALID"
    assert any(rule.startswith("GH") for rule in failed(found))


def test_what_a_new_format_refuses_is_said(tmp_path: Path) -> None:
    folder = Run(host=False).write(tmp_path / "run")
    (folder / "host.toy").write_text(f"{FIRST_LINE}\n")
    (folder / "broken.json").write_text('{"toy": [}')
    ignored = read_run([folder]).ignored
    assert Ignored("host.toy", "host metrics: no rows in it", host_metrics=True) in ignored
    (broken,) = [one for one in ignored if one.path == "broken.json"]
    assert broken.reason.startswith("toy host document, but not valid JSON (")
    assert broken.reason.endswith("): record it again")


def test_the_names_of_formats_are_their_own() -> None:
    for registry in (host.HOST_FORMATS, points_formats.POINTS_FORMATS):
        formats: Sequence[Any] = registry
        for what in ("name", "label"):
            assert len({getattr(one, what) for one in formats}) == len(formats)


def test_points_in_a_new_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON whose first line says that it is something else: the reader of JSON counts that line as damaged."""
    toy = replace(
        points_formats.JSON,
        name="toy",
        label="toy points",
        looks_like=lambda start: start.text.startswith("toy points\n"),
    )
    folder = Run().write(tmp_path / "run")
    json_text = (folder / "k6.json").read_text()
    (folder / "k6.json").unlink()
    (folder / "k6.toy").write_text("toy points\n" + json_text)
    monkeypatch.setattr(points_formats, "POINTS_FORMATS", (toy, *points_formats.POINTS_FORMATS))
    what = sniff(folder / "k6.toy")
    assert (what.kind, what.points) == ("points", toy)
    (generator,) = read_run([folder]).generators
    assert generator.points is not None
    assert formats_of(lint(folder))["k6.toy"] == "toy points"
    (folder / "k6.json").write_text(json_text)  # one run in two formats: the first in the registry is read
    evidence = read_run([folder])
    assert Ignored("k6.json", "the same run as k6.toy (toy is used)") in evidence.ignored
