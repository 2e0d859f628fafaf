"""What a table of rule cases is made of: worlds (a run, a change of its files, a policy) and what they must give.

An audit judges every rule, so worlds are audited once and shared by all cases that name them. What a case
expects is worked out from how its run was built, never from what an audit printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from auditor.engine.audit import Audit, audit
from auditor.engine.loader import load_rules
from auditor.engine.policy import load_policy
from auditor.engine.rule import RuleResult
from auditor.ingest.bundle import read_run
from tests.builder import NS, T0_S, Answer, Run, Scenario, stamp
from tests.conftest import outcomes

Change = Callable[[Path], object]
RULES = load_rules()
LOG = 'time="2026-11-30T00:53:25Z" level='


@dataclass(frozen=True, eq=False)
class World:
    """One folder (or one for each generator), and how it is audited."""

    runs: tuple[Run, ...]
    warmup: str | None = "0s"
    change: Change | None = None
    """Applied to the written folder (the parent of the generators' folders, if there are several)."""
    policy: dict[str, Any] = field(default_factory=dict)
    result: list[Audit] = field(default_factory=list, init=False)

    def audited(self, factory: pytest.TempPathFactory) -> Audit:
        if not self.result:
            folder = self.written(factory)
            overrides = {"warmup": (self.warmup, "--warmup")}
            overrides |= {k: (v, f"--{k}") for k, v in self.policy.items()}
            self.result.append(audit(read_run([folder]), load_policy(None, overrides, RULES), RULES))
        return self.result[0]

    def written(self, factory: pytest.TempPathFactory) -> Path:
        """The folder, written anew."""
        folder = factory.mktemp("world")
        several = len(self.runs) > 1
        for i, run in enumerate(self.runs):
            run.write(folder / f"gen-{i + 1}" if several else folder)
        if self.change is not None:
            self.change(folder)
        return folder


def world(
    *scenarios: Scenario,
    warmup: str | None = "0s",
    change: Change | None = None,
    policy: Any = None,
    **run: Any,
) -> World:
    """A world of one generator."""
    made = Run(scenarios=list(scenarios) or [Scenario(duration_s=10)], **run)
    return World((made,), warmup, change, policy or {})


def several(*runs: Run, warmup: str = "0s", change: Change | None = None, policy: Any = None) -> World:
    return World(runs, warmup, change, policy or {})


@dataclass(frozen=True)
class Case:
    """One line of a table."""

    rule: str
    name: str
    expect: str
    """"pass", "fail:invalid", "fail:warning", "fail:info", "unknown" or "not-applicable"."""
    world: World
    scopes: tuple[str, ...] | None = None
    """Of the findings, in words; None where the case is not about them."""
    says: str = ""
    """A part of what is said first."""

    def check(self, factory: pytest.TempPathFactory) -> RuleResult:
        result = self.world.audited(factory)
        found = next(r for r in result.results if r.id == self.rule)
        assert outcomes(result)[self.rule] == self.expect, (found.reason, found.traceback)
        if self.scopes is not None:
            assert sorted(str(f.scope) for f in found.findings) == sorted(self.scopes)
        assert self.says in found.reason
        for finding in found.findings:
            assert finding.message
            assert finding.fix
        if found.outcome == "unknown":
            assert found.fix, f"{self.rule} is unknown and names nothing that fixes it"
        return found

    def __str__(self) -> str:
        return f"{self.rule} {self.name}"


# --- changes of what was written ------------------------------------------------------------------------


def edit(name: str, change: Callable[[str], str]) -> Change:
    """Change one file's text; it must change."""

    def apply(folder: Path) -> None:
        path = folder / name
        before = path.read_text()
        after = change(before)
        assert after != before, f"{name} was to be changed"
        path.write_text(after)

    return apply


def inspect(change: Callable[[dict[str, Any]], object], name: str = "inspect.json") -> Change:
    """Change the options."""

    def apply(text: str) -> str:
        document = json.loads(text)
        change(document)
        return json.dumps(document)

    return edit(name, apply)


def points(change: Callable[[list[str]], Iterable[str]], name: str = "k6.json") -> Change:
    """Change the lines of the points file."""
    return edit(name, lambda text: "\n".join(change(text.splitlines())) + "\n")


def both(*changes: Change) -> Change:
    def apply(folder: Path) -> None:
        for change in changes:
            change(folder)

    return apply


def remove(*names: str) -> Change:
    def apply(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return apply


COARSE = points(lambda found: [re.sub(r'("time":"[^".]+)\.\d+Z', r"\1Z", x) for x in found])
"""Stamps of whole seconds."""

TORN = edit("k6.json", lambda text: text[:-40])


# --- pieces of a run ------------------------------------------------------------------------------------


def point(metric: str, at_s: float, value: float, **tags: str) -> str:
    """A line of the points file, at a time on the plan's clock."""
    data = {"time": stamp(T0_S * NS + round(at_s * NS)), "value": value, "tags": tags}
    return json.dumps({"metric": metric, "type": "Point", "data": data}, separators=(",", ":"))


def request_lines(end_s: float, duration_ms: float, scenario: str = "api", **tags: str) -> list[str]:
    """One request as k6 writes it: nine samples with one stamp."""
    every = {"name": "GET /more", "status": "200", "expected_response": "true", "group": "", **tags}
    if scenario:
        every["scenario"] = scenario
    values = {
        "http_reqs": 1.0,
        "http_req_duration": duration_ms,
        "http_req_blocked": 0.0,
        "http_req_connecting": 0.0,
        "http_req_tls_handshaking": 0.0,
        "http_req_sending": 0.0,
        "http_req_waiting": duration_ms,
        "http_req_receiving": 0.0,
        "http_req_failed": 0.0,
    }
    return [point(metric, end_s, value, **every) for metric, value in values.items()]


def scripted(body: str, *imports: str) -> Change:
    """Put a script beside the points: the options of `Scenario`'s defaults over 10 s, and a default function."""
    head = "".join(f"{line};\n" for line in imports or ('import http from "k6/http"',))
    options = (
        'export const options = { scenarios: { api: { executor: "constant-arrival-rate", rate: 100, timeUnit: "1s", '
        'duration: "10s", preAllocatedVUs: 50, maxVUs: 100 } } };\n'
    )

    def apply(folder: Path) -> None:
        (folder / "script.js").write_text(f"{head}{options}export default function () {{ {body} }}\n")

    return apply


def without_requests(lost: int, **run: Any) -> World:
    """100/s for 10 s in iterations of 25 ms that send bytes, each with a request of 20 ms but for so many."""
    kept = less(slots(100, 10), lost)
    lines = [line for start_s in kept for line in request_lines(start_s + 0.02, 20.0)]
    return world(Scenario(duration_s=10, requests=0, think_ms=25.0), extra_lines=lines, console=False, **run)


def slots(rate: int, length_s: float) -> list[float]:
    return Scenario(rate=rate, duration_s=length_s).slots_s()


def less(starts: Sequence[float], gone: int, from_s: float = 0.0, to_s: float = 1e9) -> list[float]:
    """The starts without ``gone`` of those in a stretch, evenly picked, never the first of all."""
    inside = [s for s in starts[1:] if from_s <= s < to_s]
    picked = {inside[(i * len(inside) + len(inside) // 2) // gone] for i in range(gone)} if gone else set()
    assert len(picked) == gone
    return [s for s in starts if s not in picked]


def more(starts: Sequence[float], extra: int) -> list[float]:
    """The starts and ``extra`` others, each 3 ms after one of them."""
    return sorted([*starts, *(starts[i * len(starts) // extra] + 0.003 for i in range(extra))])


def lost(rate: int, length_s: float, gone: int, *, dropped: bool) -> dict[str, Any]:
    """Arguments of a scenario that lost ``gone`` starts, recorded as dropped or not."""
    every = slots(rate, length_s)
    kept = less(every, gone)
    drops = sorted(set(every) - set(kept)) if dropped else []
    return {"rate": rate, "duration_s": length_s, "starts_s": kept, "drops_s": drops}


def fails(first: int, **answer: Any) -> Callable[[int, float], Answer]:
    """The first so many iterations fail, the others answer in 20 ms."""
    bad: dict[str, Any] = {"duration_ms": 5.0, "status": "500", "failed": True, **answer}
    return lambda index, start_s: Answer(**bad) if index < first else Answer(20.0 + index % 7)


def always(duration_ms: float) -> Callable[[int, float], Answer]:
    return lambda index, start_s: Answer(duration_ms)


def closed(**options: Any) -> Scenario:
    """50 iterations/s of a closed executor over 10 s."""
    return Scenario(**{"executor": "constant-vus", "rate": 50, "duration_s": 10, "vus": 10, **options})


CLOSED = {"workload": "closed", "workload_reason": "one clerk at one terminal"}

# --- worlds that several families use -------------------------------------------------------------------

HEALTHY = world()
"""100/s for 10 s: 1,000 slots, 1,000 starts, none failed; allowance 1 + ⌈100 × 5 ms⌉ = 2."""
CLOSED_RUN = world(closed())
CLOSED_DECLARED = world(closed(), policy=CLOSED)
NO_PLAN = world(inspect=False, console=False)
BANNER_ALONE = world(inspect=False)
NO_OPTIONS_RAMP = world(Scenario(executor="ramping-arrival-rate", stages=[(10, 100)]), inspect=False)
NO_HOST = world(host=False)
NO_LOG = world(log=None)
NO_WARMUP = world(warmup=None)
NO_REQUESTS = world(Scenario(duration_s=10, requests=0))
NO_POINTS = world(change=remove("k6.json"))
COARSE_STAMPS = world(
    Scenario(executor="ramping-arrival-rate", start_rate=100, stages=[(5, 100), (5, 200)]), change=COARSE
)
EVENLY: dict[str, Any] = {
    "executor": "ramping-arrival-rate",
    "start_rate": 100,
    "stages": [(9.995, 100), (10, 200)],
}
"""999.5 and 1,500 starts, so that no slot lies on the stages' edge: 999 in the first, 1,500 in the second."""


def half(index: int = 0, starts: Sequence[float] | None = None, **run: Any) -> Run:
    """One of two generators of 200/s over 10 s: 100/s each. The second runs every other slot, 5 ms after the
    first one's, and began 3 ms later."""
    own = slots(100, 10) if starts is None else starts
    shifted = [s + (0.005 + 0.003) * index for s in own]
    scenario = Scenario(rate=200, duration_s=10, starts_s=shifted)
    return Run(**{"scenarios": [scenario], "percent": 50.0, **run})


PAIR = several(half(), half(1))


def table(*cases: Case) -> pytest.MarkDecorator:
    """Parametrise over the cases of a family."""
    return pytest.mark.parametrize("case", cases, ids=str)
