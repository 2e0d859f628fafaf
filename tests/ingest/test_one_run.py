"""Several things in one place: what is one run, what is not, and by what names generators are told apart."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from auditor.errors import AuditError
from auditor.ingest.bundle import distinct, names_of, read_run
from tests.builder import Run


def handle(iterations: int, p95: float = 200.0) -> dict[str, Any]:
    return {
        "state": {"testRunDurationMs": 60_000.0},
        "metrics": {
            "iterations": {"type": "counter", "values": {"count": iterations, "rate": iterations / 60}},
            "http_reqs": {"type": "counter", "values": {"count": 2 * iterations, "rate": iterations / 30}},
            "http_req_duration": {"type": "trend", "values": {"avg": 120.0, "med": 110.0, "p(95)": p95}},
        },
    }


def legacy(iterations: int, data_sent: int | None = None) -> dict[str, Any]:
    found = {
        "iterations": {"count": iterations, "rate": iterations / 60},
        "http_reqs": {"count": 2 * iterations, "rate": iterations / 30},
        "http_req_duration": {"avg": 120.0, "med": 110.0, "p(95)": 200.0},
    }
    if data_sent is not None:
        found["data_sent"] = {"count": data_sent, "rate": 1.0}
    return {"root_group": {"name": ""}, "metrics": found}


BANNER = """     scenarios: ({percent}%) 1 scenario, {vus} max VUs, 1m30s max duration (incl. graceful stop):
              * default: {vus} looping VUs for 1m0s (gracefulStop: 30s)
"""
TOTALS = "     iterations.....................: {n}    {rate}/s\n     vus............................: 1 min=1 max=1\n"


def put(folder: Path, **files: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        stem, _, ending = name.rpartition("_")
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / f"{stem}.{ending}").write_text(text)
    return folder


def test_two_summaries_of_one_form_that_differ_in_any_figure_are_two_runs(tmp_path: Path) -> None:
    folder = put(tmp_path, monday_json=handle(20_000), tuesday_json=handle(20_000, p95=260.0))
    with pytest.raises(AuditError, match=r"two summaries.*monday\.json and tuesday\.json.*200 and 260"):
        read_run([folder])


def test_a_metric_that_only_one_of_two_summaries_has_makes_them_two_runs(tmp_path: Path) -> None:
    other = handle(20_000)
    other["metrics"]["dropped_iterations"] = {"type": "counter", "values": {"count": 7, "rate": 0.1}}
    folder = put(tmp_path, monday_json=handle(20_000), tuesday_json=other)
    with pytest.raises(AuditError, match=r"two summaries.*dropped_iterations"):
        read_run([folder])


def test_the_forms_of_one_runs_summary_and_a_copy_are_one_run(tmp_path: Path) -> None:
    folder = put(tmp_path, a_json=handle(20_000), b_json=legacy(20_000), copy_json=handle(20_000))
    assert len(read_run([folder]).generators[0].summaries) == 3


def test_two_forms_that_differ_in_most_counts_are_two_runs(tmp_path: Path) -> None:
    folder = put(tmp_path, a_json=handle(20_000), b_json=legacy(21_000))
    with pytest.raises(AuditError, match=r"a\.json and b\.json"):
        read_run([folder])


def test_two_consoles_without_banners_that_differ_are_two_runs(tmp_path: Path) -> None:
    folder = put(tmp_path, one_txt=TOTALS.format(n=600, rate=10), two_txt=TOTALS.format(n=601, rate=10))
    with pytest.raises(AuditError, match=r"two consoles.*one\.txt and two\.txt.*600 and 601"):
        read_run([folder])


def test_two_copies_of_one_console_are_one_run(tmp_path: Path) -> None:
    text = TOTALS.format(n=600, rate=10)
    assert read_run([put(tmp_path, one_txt=text, two_txt=text)]).generators[0].console is not None


def levels(folder: Path, *plans: tuple[str, str, int, int]) -> Path:
    for name, percent, vus, iterations in plans:
        text = BANNER.format(percent=percent, vus=vus) + TOTALS.format(n=iterations, rate=iterations / 60)
        put(folder / name, console_txt=text, summary_json=handle(iterations))
    return folder


def test_levels_in_folders_are_runs_of_their_own(tmp_path: Path) -> None:
    folder = levels(tmp_path, ("low", "100.00", 10, 600), ("mid", "100.00", 50, 3000))
    with pytest.raises(AuditError, match=r"not one run: low, mid; .*10 looping VUs.*50 looping VUs"):
        read_run([folder])


def test_segments_of_one_plan_are_generators(tmp_path: Path) -> None:
    folder = levels(tmp_path, ("a", "33.33", 4, 240), ("b", "66.67", 8, 480))
    assert [g.name for g in read_run([folder]).generators] == ["a", "b"]


def test_consoles_whose_stamps_follow_one_another_are_runs_of_their_own(tmp_path: Path) -> None:
    for name, hour in (("first", 10), ("second", 11)):
        lines = (BANNER.format(percent="100.00", vus=10) + TOTALS.format(n=600, rate=10)).splitlines()
        text = "".join(f"2026-11-30T{hour}:00:{i:02d}.0000000Z {line}\n" for i, line in enumerate(lines))
        put(tmp_path / name, console_txt=text)
        put(tmp_path / name, summary_json=handle(600))
    with pytest.raises(AuditError, match="first and second ran one after the other"):
        read_run([tmp_path])


def test_generators_are_named_by_as_much_of_their_paths_as_tells_them_apart(tmp_path: Path) -> None:
    assert names_of([Path("/x/gen-1"), Path("/x/gen-2")]) == ["gen-1", "gen-2"]
    assert names_of([Path("/x/a/out"), Path("/x/b/out"), Path("/x/c")]) == ["a/out", "b/out", "x/c"]
    assert names_of([Path("/a/out/run"), Path("/b/out/run")]) == ["a/out/run", "b/out/run"]
    assert names_of([Path("/out"), Path("/a/out")]) == ["out", "a/out"]


def test_names_that_are_equal_once_masked_are_numbered() -> None:
    assert distinct(["***", "b", "***", "***"]) == ["***", "b", "***-2", "***-3"]


def test_folders_of_one_name_are_all_generators_and_their_sources_say_whose_they_are(tmp_path: Path) -> None:
    folders = [Run().write(tmp_path / host / "out") for host in ("host1", "host2", "host3")]
    evidence = read_run(folders)
    assert [g.name for g in evidence.generators] == ["host1/out", "host2/out", "host3/out"]
    assert all(g.points is not None for g in evidence.generators)
    paths = [source.path for source in evidence.sources]
    assert len(set(paths)) == len(paths)
    assert {path.rsplit("/", 1)[0] for path in paths} == {"host1/out", "host2/out", "host3/out"}


def test_files_named_one_by_one_keep_their_own_names(tmp_path: Path) -> None:
    for name in ("a", "b"):
        Run().write(tmp_path / name)
        (tmp_path / f"{name}.json.gz").write_bytes(gzip.compress((tmp_path / name / "k6.json").read_bytes()))
    evidence = read_run([tmp_path / "a.json.gz", tmp_path / "b.json.gz"])
    assert [source.path for source in evidence.sources] == ["a.json.gz", "b.json.gz"]
