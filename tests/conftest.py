"""Where the recordings are, and short cuts that several tests use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from auditor.engine.audit import Audit, audit
from auditor.engine.loader import load_rules
from auditor.engine.policy import load_policy
from auditor.engine.rule import LoadedRule
from auditor.ingest.bundle import read_run
from tests.builder import Run

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
"""A part of the shared data, under the same names, for those who have no more of it."""


def shared_folder() -> Path | None:
    """The shared data: $K6_AUDIT_SHARED, else ../shared beside the checkout; None where there is none."""
    place = Path(os.environ.get("K6_AUDIT_SHARED") or ROOT.parent / "shared")
    return place if place.is_dir() else None


@pytest.fixture(scope="session")
def shared() -> Path:
    place = shared_folder()
    if place is None:
        pytest.skip("the shared recordings are not here: set K6_AUDIT_SHARED")
    return place


def recorded_files(*patterns: str) -> dict[str, Path]:
    """Files of the repository's own data and of the shared one, by name: "recordings/versions/v2.2.0/log.txt"."""
    found: dict[str, Path] = {}
    for place in (DATA, shared_folder()):
        for pattern in patterns:
            for path in place.glob(pattern) if place is not None else ():
                if path.is_file() and not path.name.startswith("."):
                    found.setdefault(str(path.relative_to(place or DATA)), path)
    return dict(sorted(found.items()))


Recorded = Callable[[str], Path]


@pytest.fixture(scope="session")
def recorded() -> Recorded:
    """A file or folder by its name in the repository's own data, or in the shared one."""

    def find(name: str) -> Path:
        for place in (DATA, shared_folder()):
            if place is not None and (place / name).exists():
                return place / name
        pytest.skip(f"{name} is not here: set K6_AUDIT_SHARED")

    return find


@pytest.fixture(scope="session")
def rules() -> tuple[LoadedRule, ...]:
    return load_rules()


Judge = Callable[..., Audit]


@pytest.fixture
def judge(tmp_path: Path, rules: tuple[LoadedRule, ...]) -> Judge:
    """Audit a built run, or folders that exist: judge(Run(...), warmup="5s", **policy).

    One recorded run that nobody changes is audited once for each warm-up and policy.
    """

    def run(*what: Run | Path, warmup: str | None = "0s", **policy: object) -> Audit:
        folders = [
            one.write(tmp_path / f"gen-{i + 1}" if len(what) > 1 else tmp_path / "run")
            if isinstance(one, Run)
            else one
            for i, one in enumerate(what)
        ]
        overrides = {"warmup": (warmup, "--warmup"), **{k: (v, f"--{k}") for k, v in policy.items()}}

        def audited() -> Audit:
            return audit(read_run(folders), load_policy(None, overrides, rules), rules)

        if len(folders) > 1 or not _is_recorded(folders[0]):
            return audited()
        key = f"{folders[0]} {overrides}"
        if key not in _AUDITED:
            while len(_AUDITED) >= KEPT_AUDITS:
                del _AUDITED[next(iter(_AUDITED))]
            _AUDITED[key] = audited()
        return _AUDITED[key]

    return run


KEPT_AUDITS = 8
"""A large story takes a few hundred megabytes."""
_AUDITED: dict[str, Audit] = {}


def _is_recorded(folder: Path) -> bool:
    places = (DATA, ROOT / "sample_runs", shared_folder())
    return any(place is not None and folder.is_relative_to(place) for place in places)


def outcomes(result: Audit) -> dict[str, str]:
    """Rule id -> outcome, with the severity for a failure: "fail:warning"."""
    return {r.id: f"fail:{r.severity}" if r.outcome == "fail" else r.outcome for r in result.results}
