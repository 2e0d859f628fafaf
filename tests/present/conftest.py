"""Reports of built runs, and a real browser to look at them."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from auditor.engine.audit import Audit, audit
from auditor.engine.policy import load_policy
from auditor.engine.rule import LoadedRule
from auditor.ingest.bundle import read_run
from tests.builder import Answer, Run, Scenario, spread

if TYPE_CHECKING:
    from playwright.sync_api import Browser

T = TypeVar("T")
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]

SCRIPT = "<script>document.title='owned'</script>"
HOSTILE = (
    SCRIPT,
    "<img src=x onerror=\"document.title='owned'\">",
    '" onmouseover="document.title=\'owned\'" x="',
    "javascript:document.title='owned'",
    "</title></style></script><svg onload=\"document.title='owned'\">",
    "</script><script>document.title='owned'</script>",
    "{{ 7 * 7 }} {% include 'x' %}",
    "a\u202egnp.exe\u2066\x00\x1b[31m\u2028`|*_[x](http://evil.example)",
    "[click](javascript:alert(1)) ![x](https://evil.example/x.png) <https://evil.example> www.evil.example",
)


def starved() -> Run:
    """A quarter of the starts was dropped, and one second answered slowly."""
    slots = Scenario().slots_s()
    return Run(
        [
            Scenario(
                starts_s=[s for i, s in enumerate(slots) if i % 4],
                drops_s=[s for i, s in enumerate(slots) if not i % 4],
                answer=lambda i, at: Answer(400.0 if 10 <= at < 11 else 20.0 + i % 13),
            )
        ]
    )


def hostile() -> Run:
    """Every string that a run decides is an attack."""

    def answer(index: int, at_s: float) -> Answer:
        bad = HOSTILE[index % len(HOSTILE)]
        return (
            Answer(20.0, status="500", failed=True, error_code=bad, error=bad)
            if index % 10 == 0
            else Answer(20.0)
        )

    scenario = Scenario(name=HOSTILE[1], answer=answer, request_name=lambda i: HOSTILE[i % len(HOSTILE)])
    return Run([scenario], thresholds={f"http_req_duration{{name:{SCRIPT}}}": ["p(95)<300"]}, console=False)


def several() -> Run:
    """Two open scenarios, one after the other, with interrupted iterations."""
    return Run(
        [
            Scenario("browse", rate=60, duration_s=40, interrupted_s=spread(3, 40.1, 40.9)),
            Scenario(
                "buy", rate=40, duration_s=30, start_time_s=10, request_name=lambda i: f"POST /buy/{i % 70}"
            ),
        ]
    )


def judged(folder: Path, rules: tuple[LoadedRule, ...], **policy: object) -> Audit:
    overrides = {k: (v, f"--{k}") for k, v in {"warmup": "5s", **policy}.items()}
    return audit(read_run([folder]), load_policy(None, overrides, rules), rules)


class Made(Mapping[str, T]):
    """Values made when they are first asked for: a test waits for its own alone."""

    def __init__(self, names: Iterable[str], make: Callable[[str], T]) -> None:
        self._names = tuple(names)
        self._make = functools.cache(make)

    def __getitem__(self, name: str) -> T:
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


KINDS = ["healthy", "starved", "unproven", "several", "closed", "cut", "waived", "empty", "hostile"]
"""A run of each kind that a report must be able to show."""


@pytest.fixture(scope="session")
def audits(tmp_path_factory: pytest.TempPathFactory, rules: tuple[LoadedRule, ...]) -> Mapping[str, Audit]:
    waiver = {"rule": "SS08", "reason": SCRIPT, "owner": "ops", "expires": "2100-01-01"}
    unset = dict.fromkeys(("generator", "scenario", "stage", "name"))

    def make(kind: str) -> Audit:
        folder = tmp_path_factory.mktemp("reports") / ("<script>run" if kind == "hostile" else kind)
        match kind:
            case "starved":
                return judged(starved().write(folder), rules)
            case "unproven":
                return judged(Run(host=False).write(folder), rules)
            case "several":
                return judged(several().write(folder), rules)
            case "closed":
                closed = Scenario(executor="constant-vus", duration_s=20)
                return judged(Run([closed]).write(folder), rules, warmup="0s")
            case "cut":
                return judged(Run(end_s=12, exit_code=137).write(folder), rules)
            case "waived":
                return judged(Run().write(folder), rules, waivers=[{**unset, **waiver}])
            case "hostile":
                return judged(hostile().write(folder), rules)
            case "empty":
                folder.mkdir()
                (folder / "k6.json").write_text("")
                (folder / "exit_code").write_text("1\n")
                return judged(folder, rules)
        return judged(Run().write(folder), rules)

    return Made(KINDS, make)


@pytest.fixture(scope="session")
def pages(audits: Mapping[str, Audit], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The HTML report of each, as a file."""
    from auditor.present.html import render
    from auditor.present.model import model

    place = tmp_path_factory.mktemp("pages")

    def make(kind: str) -> Path:
        path = place / f"{kind}.html"
        path.write_text(render(model(audits[kind])), encoding="utf-8")
        return path

    return Made(KINDS, make)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium: `apt-get install chromium`."""
    if shutil.which(CHROMIUM) is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()
