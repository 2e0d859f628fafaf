"""Every figure that two files state is compared: each cell of the table, changed by 3 % or by one, is found, and
both sources are named. No recorded run contradicts itself.

The figures are worked out from how the run was built: iteration i takes 20 + (7 i mod 13) / 2 ms.
"""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auditor.engine.limits import limits_in_force
from auditor.engine.policy import load_policy
from auditor.evidence import Declared, Evidence
from auditor.facts.limits import PolicyLimits
from auditor.facts.statements import Statements
from auditor.facts.store import FactStore
from auditor.ingest.bundle import read_run
from auditor.samples.workers import Threads, Workers
from tests.builder import Answer, Run, Scenario
from tests.rules.cases import RULES

N = 1000
TOOK = np.array([20.0 + (i * 7 % 13) * 0.5 for i in range(N)])
FAILED = np.arange(N) % 20 == 0
LENGTH_S = 101.0


def answer(index: int, start_s: float) -> Answer:
    return Answer(float(TOOK[index]), status="500" if FAILED[index] else "200", failed=bool(FAILED[index]))


def trend(values: np.ndarray) -> dict[str, float]:
    found = {"avg": values.mean(), "min": values.min(), "med": np.median(values), "max": values.max()}
    found |= {f"p({p})": np.percentile(values, p) for p in (90, 95, 99)}
    return {key: float(value) for key, value in found.items()}


def counter(n: float) -> dict[str, float]:
    return {"count": n, "rate": n / LENGTH_S}


TOTALS: dict[str, dict[str, float]] = {
    "iterations": counter(N),
    "iteration_duration": trend(TOOK + 0.2),
    "http_reqs": counter(N),
    "http_req_duration": trend(TOOK),
    "http_req_duration{expected_response:true}": trend(TOOK[~FAILED]),
    "http_req_waiting": trend(TOOK),
    "http_req_failed": {"passes": 50, "fails": 950, "value": 0.05},
    "dropped_iterations": counter(3),
    "data_sent": counter(80.0 * N),
    "data_received": counter(120.0 * N),
}
"""10/s for 100 s, three starts dropped beside it; 80 bytes sent and 120 received by each iteration."""
TREND_KEYS = ("avg", "min", "med", "max", "p(90)", "p(95)", "p(99)")


def rows(totals: dict[str, dict[str, float]]) -> str:
    """The end-of-test text: times cut to two decimals, as k6 prints them, bytes to a kB."""
    lines = []
    for name, values in totals.items():
        label = "  { expected_response:true }" if "{" in name else name
        if name.startswith("data_"):
            text = f"{values['count'] / 1000:.0f} kB {values['rate'] / 1000:.1f} kB/s"
        elif "passes" in values:
            total = values["passes"] + values["fails"]
            text = f"{100 * values['passes'] / total:.2f}% {values['passes']:.0f} out of {total:.0f}"
        elif "rate" in values:
            text = f"{values['count']:.0f} {values['rate']:.6f}/s"
        else:
            text = " ".join(f"{key}={int(values[key] * 100) / 100:g}ms" for key in TREND_KEYS)
        lines.append(f"    {label}{'.' * 10}: {text}")
    return "\n".join(lines)


def write(folder: Path) -> Path:
    """A run with all sources: points, legacy export, handleSummary data, and the console."""
    scenario = Scenario(rate=10, duration_s=100, answer=answer, drops_s=[50.01, 50.02, 50.03])
    Run(scenarios=[scenario]).write(folder)
    (folder / "legacy.json").write_text(json.dumps({"root_group": {}, "metrics": TOTALS}))
    handled = {name: {"values": values} for name, values in TOTALS.items()}
    state = {"testRunDurationMs": LENGTH_S * 1000}
    (folder / "handled.json").write_text(json.dumps({"metrics": handled, "state": state}))
    console(folder, TOTALS)
    return folder


def console(folder: Path, totals: dict[str, dict[str, float]]) -> None:
    path = folder / "console.txt"
    kept = [line for line in path.read_text().splitlines() if "..: " not in line]
    at = next(i for i, line in enumerate(kept) if "TOTAL RESULTS" in line) + 1
    path.write_text("\n".join([*kept[:at], rows(totals), *kept[at:]]) + "\n")


def contradictions(folder: Path) -> set[tuple[str, str, str]]:
    """(quantity, what counts, what contradicts it)."""
    policy = load_policy(None, {"warmup": ("0s", "--warmup")}, RULES)
    given = {
        Evidence: read_run([folder]),
        Declared: policy.declared,
        PolicyLimits: limits_in_force(RULES, policy.limits),
        Workers: Threads(),
    }
    found = FactStore(given).get(Statements)
    return {(one.quantity, a.source, b.source) for one in found.table for a, b in one.differing()}


CELLS = [(name, key) for name, values in TOTALS.items() for key in values if key not in ("rate", "value")]


def changed(name: str, key: str) -> dict[str, dict[str, float]]:
    """Counts by one, times by 3 %, bytes by 3 % (print cuts them to a kB)."""
    totals = copy.deepcopy(TOTALS)
    step = key in ("count", "passes", "fails") and not name.startswith("data_")
    totals[name][key] = totals[name][key] + 1 if step else totals[name][key] * 1.03
    return totals


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "run"))


def test_sources_of_one_run_agree(whole: Path) -> None:
    assert contradictions(whole) == set()


def rewrite_legacy(folder: Path, totals: dict[str, Any]) -> None:
    (folder / "legacy.json").write_text(json.dumps({"root_group": {}, "metrics": totals}))


def rewrite_handled(folder: Path, totals: dict[str, Any]) -> None:
    path = folder / "handled.json"
    document = json.loads(path.read_text())
    document["metrics"] = {name: {"values": values} for name, values in totals.items()}
    path.write_text(json.dumps(document))


SOURCES: dict[str, Callable[[Path, dict[str, Any]], None]] = {
    "legacy.json": rewrite_legacy,
    "handled.json": rewrite_handled,
    "console.txt": console,
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("name", "key"), CELLS, ids=lambda x: x)
def test_every_cell_counts(source: str, name: str, key: str, copied: Path) -> None:
    SOURCES[source](copied, changed(name, key))
    found = contradictions(copied)
    assert found, f"{name} {key} of {source} is compared with nothing"
    assert {(a, b.split(" (")[0]) for _, a, b in found if a.startswith("k6.json")} == {("k6.json", source)}


@pytest.mark.parametrize("source", SOURCES)
def test_without_points_the_others_are_compared(source: str, copied: Path) -> None:
    (copied / "k6.json").unlink()
    SOURCES[source](copied, changed("http_req_duration", "p(95)"))
    found = contradictions(copied)
    assert {quantity for quantity, _, _ in found} == {"http_req_duration p(95)"}
    assert all(source in (one, other) for _, one, other in found)


def test_a_torn_points_file_states_nothing(copied: Path) -> None:
    text = (copied / "k6.json").read_text()
    (copied / "k6.json").write_text(text[: len(text) // 2])
    assert contradictions(copied) == set()


def test_a_length_of_another_run(copied: Path) -> None:
    document = json.loads((copied / "handled.json").read_text())
    document["state"]["testRunDurationMs"] *= 1.03
    (copied / "handled.json").write_text(json.dumps(document))
    assert {c[0] for c in contradictions(copied)} == {"length of the run"}


def recordings(shared: Path) -> Iterator[Path]:
    for kind in ("stories", "versions"):
        yield from sorted(p for p in (shared / "recordings" / kind).iterdir() if p.is_dir())
    yield from sorted(p for p in (Path(__file__).parents[2] / "sample_runs").iterdir() if p.is_dir())


def test_no_recorded_run_contradicts_itself(shared: Path) -> None:
    """Stopped, killed and failing runs too, of six versions of k6."""
    found = {str(folder): contradictions(folder) for folder in recordings(shared)}
    assert len(found) > 30
    assert {name for name, one in found.items() if one} == set()


def test_no_recorded_csv_contradicts_its_console_and_summary(shared: Path, tmp_path: Path) -> None:
    for folder in (shared / "recordings" / "stories").iterdir():
        if (folder / "k6.csv.gz").exists():
            copied = tmp_path / folder.name
            shutil.copytree(folder, copied, ignore=shutil.ignore_patterns("k6.json*"))
            assert contradictions(copied) == set(), folder.name
