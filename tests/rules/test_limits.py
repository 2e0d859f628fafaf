"""Every limit of every rule decides: moved one way the rule says something else, the other way it does not.

And every reference: where a rule uses another's limit, moving that limit moves the rule, through the facts
that compare with it. The registry says which limits and references there are; one without a case fails by
name. What each case expects is worked out from how its run or its facts were built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from auditor.engine.audit import SelfCheck
from auditor.engine.limits import owned
from auditor.engine.rule import RuleResult
from auditor.evidence import Evidence, GeneratorEvidence, ReportedField, ReportEvidence
from auditor.facts.cardinality import Cardinality, SeriesCount
from auditor.facts.checks import CheckCount, Checks
from auditor.facts.count_sources import CountSources
from auditor.facts.errors import Errors
from auditor.facts.header import HeaderField
from auditor.facts.host import GeneratorHosts, HostUse
from auditor.facts.linted_report import LintedReport, RunBeside
from auditor.facts.samples import Samples
from auditor.facts.thresholds import Thresholds
from tests.builder import Answer, Scenario
from tests.rules import test_distributed as distributed
from tests.rules import test_errors as errors
from tests.rules import test_evidence as evidence
from tests.rules import test_generator as generator
from tests.rules import test_latency as latency
from tests.rules import test_offered_load as offered
from tests.rules import test_schedule as schedule
from tests.rules import test_stalls as stalls
from tests.rules import test_steady_state as steady
from tests.rules import test_summaries as summaries
from tests.rules import test_workload as workload
from tests.rules.cases import (
    CLOSED,
    HEALTHY,
    RULES,
    World,
    always,
    closed,
    edit,
    fails,
    half,
    less,
    more,
    several,
    slots,
    without_requests,
    world,
)
from tests.rules.judging import JudgedRun, judge_rule, said

Facts = Callable[..., RuleResult]
"""judge(rule, limits=...) on facts made by hand."""


@dataclass(frozen=True)
class Move:
    """One limit moved both ways, and what its rule (or one that uses it) says.

    An expectation is an outcome, with "fail" its severity; "... says ..." adds a part of a finding's words.
    """

    limit: str
    what: World | Facts
    stands: str
    up: tuple[float, str]
    down: tuple[float, str] | None = None
    """None for a limit of 0: it cannot be less."""
    rule: str = ""
    """Another rule that uses the limit; empty for its owner."""

    @property
    def judged(self) -> str:
        return self.rule or self.limit.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.limit} in {self.rule}" if self.rule else self.limit


def by_hand(*facts: object, **options: Any) -> Facts:
    def judge(rule: str, limits: Mapping[str, float]) -> RuleResult:
        return judge_rule(rule, *facts, limits=limits, **options)

    return judge


# --- facts by hand --------------------------------------------------------------------------------------

FILE: Any = SimpleNamespace(path="k6.json")
SAMPLES = Samples({"": FILE})
COUNTED: Any = SimpleNamespace(files=("k6.json",))


NO_FILES = Evidence("run", (GeneratorEvidence(""),))


def host(**figures: Any) -> GeneratorHosts:
    """One host that is idle but for what is given."""
    idle: dict[str, Any] = {
        "path": "host.csv",
        "host": "",
        "covers": ("",),
        "shared": False,
        "coverage": 1.0,
        "step_s": 1.0,
        "cores": 2,
        "mean_percent": 10.0,
        "p95_percent": 10.0,
        "max_5s_percent": 10.0,
        "max_5s_at_ns": 0,
        "worst_core_percent": None,
        "worst_core": None,
        "hot_core_ns": (),
        "steal_mean_percent": None,
        "mem_used_max_percent": 10.0,
        "swap_in_max_per_s": 0.0,
    }
    return GeneratorHosts((HostUse(**{**idle, **figures}),), {})


def series(n: int = 100, names: int = 10, with_id: int = 0) -> Cardinality:
    return Cardinality({"": SeriesCount("", n, 0, names, with_id, "/17", "user", 600)})


def failures(**counts: int) -> Errors:
    """Of 1,000 requests."""
    none: dict[str, Any] = {
        "failed": 1,
        "causes": (),
        "zero_ms": 0,
        "pulled": {},
        "client_hard": 0,
        "client_soft": 0,
    }
    return Errors(requests=1000, **{**none, **counts})


def printed(value: float, name: str = "p99", step: float = 0.1) -> ReportedField:
    return ReportedField(name, name, f"{value}", "line 1", 0, "label", "value", value, "ms", step)


def told(value: float, **detail: float) -> HeaderField:
    return HeaderField("p99", "p99", "ms", "ok", value, detail=detail)


def report(
    p99: float, run: HeaderField, unfiltered: float = 0.0, failed: int = 0, step: float = 0.1
) -> LintedReport:
    """A report that gives a p99 and a warm-up of 5 s, beside its run."""
    fields = {"warmup_excluded": printed(5.0, "warmup_excluded"), "p99": printed(p99, step=step)}
    beside = RunBeside({"p99": run}, {"p99": told(unfiltered)}, 5.0, 100, failed, (), "VALID")
    return LintedReport(ReportEvidence("r.md", "", 0, "markdown", fields), beside)


def spent(busy: float) -> Facts:
    return by_hand(host(**dict.fromkeys(("max_5s_percent", "p95_percent"), busy)))


# --- runs -----------------------------------------------------------------------------------------------

STALL_KEPT = stalls.stall(6.01)
"""Nothing completes for 1.01 s; the median gap is 10 ms, the median iteration 20 ms."""
STALL_STOPPED = stalls.stall(7.0, 0.495)
"""2 s, in which 200 starts were due and 99 made."""
STALL_EXCLUDED = stalls.stall(4.01, 1.0, 2.0, warmup="5s")
"""2.01 s, in the warm-up."""
END_LOST = world(Scenario(duration_s=40, starts_s=slots(100, 40)[:-3]))
"""The last 3 of 4,000 starts, at 39.97, 39.98 and 39.99 s, are neither made nor recorded as dropped."""
LOST_LINE = evidence.lines_in_all(10_000)


def sleeps(folder: Path) -> None:
    """10 VUs that sleep 0.2 s after a request of 50 ms: 10 × 10 s ÷ 0.25 s are 400 iterations."""
    (folder / "script.js").write_text(
        "import http from 'k6/http';\nimport { sleep } from 'k6';\n"
        "export const options = { scenarios: { api: { executor: 'constant-vus', vus: 10, duration: '10s' } } };\n"
        "export default function () { http.get('http://x'); sleep(0.2); }\n"
    )


def interrupted(began: int, printed_n: int) -> World:
    starts = slots(100, 10)[: 1000 - began]
    return world(
        Scenario(duration_s=10, starts_s=starts, interrupted_s=[40.0] * began, requests=0),
        interrupted_printed=printed_n,
    )


def completed(printed_n: int, length_s: float) -> World:
    return world(
        Scenario(duration_s=length_s, requests=0),
        change=evidence.progress(printed_n),
    )


def short(*gone: int) -> World:
    """20/s for 60 s, 200 slots in each of six windows; so many dropped in each. Iterations of 60 ms need 1.2
    VUs and there is one, k6 warned of it, and the host swaps: SD06, SD08 and GH06 ask whether load was lost."""
    every = slots(20, 60)
    kept = every
    for i, n in enumerate(gone):
        kept = less(kept, n, 10 * i, 10 * i + 10)
    scenario = Scenario(
        rate=20,
        duration_s=60,
        starts_s=kept,
        drops_s=sorted(set(every) - set(kept)),
        requests=0,
        think_ms=60.0,
        pre_allocated_vus=1,
        max_vus=1,
    )
    swaps = edit("host.csv", lambda t: t.replace(",0\n", ",5\n"))
    return world(scenario, log=schedule.INSUFFICIENT, change=swaps)


NINE_LOST = short(0, 5, 4, 0, 0, 0)
"""9 of 1,200: 0.75 %. Window 2 delivered 195 of 200 (97.5 %), window 3 196 (98 %, which is not short)."""
TEN_LOST = short(0, 5, 5, 0, 0, 0)
"""10 of 1,200: 0.83 %. Two windows of six delivered 97.5 %: one may."""

MOVES = [
    Move("CA01.series", by_hand(series(100_000), SAMPLES, NO_FILES), "pass", (100_001, "pass"), (99_999, "fail:warning")),
    Move("CA02.names", by_hand(series(names=500), SAMPLES, NO_FILES), "pass", (501, "pass"), (499, "fail:warning")),
    Move("CA02.with_id", by_hand(series(names=10, with_id=5), SAMPLES, NO_FILES), "pass", (0.6, "pass"), (0.4, "fail:warning")),
    Move("CO02.shortest", STALL_KEPT, "fail:warning", (1.02, "pass"), (0.5, "fail:warning")),
    # 102 × 10 ms and 51 × 20 ms are 1.02 s.
    Move("CO02.median_gaps", STALL_KEPT, "fail:warning", (102, "pass"), (5, "fail:warning")),
    Move("CO02.median_durations", STALL_KEPT, "fail:warning", (51, "pass"), (1, "fail:warning")),
    Move("CO02.least_due", STALL_STOPPED, "fail:invalid", (201, "fail:warning"), (5, "fail:invalid")),
    Move("CO02.made", STALL_STOPPED, "fail:invalid", (0.6, "fail:invalid"), (0.4, "fail:warning")),
    Move("CO02.listed", STALL_STOPPED, "fail:invalid says no iteration", (6, "fail:invalid says no iteration"), (0, "fail:invalid says 1 stalls")),
    Move("CO03.longest", stalls.paused(4.5), "pass", (2.6, "pass"), (2.4, "fail:invalid")),
    Move("CO05.unfinished", stalls.cut(1), "fail:warning", (1, "pass")),
    Move("CO05.last", END_LOST, "fail:warning says 3 starts due in the last 10 s", (20, "fail:warning says 3 starts due in the last 20 s"), (0.02, "fail:warning says 2 starts due in the last 0.02 s")),
    Move("DM01.missing", several(half()), "fail:invalid", (1, "pass")),
    # Three thirds are printed as 33.33 %: 0.01 of 100 is missing, 0.01 for each of three is allowed.
    Move("DM02.rounding", several(distributed.third(0), distributed.third(1), distributed.third(2)), "pass", (0.02, "pass"), (0.003, "fail:invalid")),
    # 1.1 s apart in windows of 120 s, of which 1 % is 1.2 s.
    Move("DM03.skew", distributed.long_skewed(1.1), "fail:warning", (1.15, "pass"), (0.5, "fail:warning")),
    Move("DM03.share", distributed.skewed(0.101), "fail:warning", (0.02, "pass"), (0.005, "fail:warning")),
    Move("DM03.grave_share", distributed.skewed(0.501), "fail:invalid", (0.06, "fail:warning"), (0.04, "fail:invalid")),
    Move("DM06.equal", distributed.shared(501), "fail:invalid", (0.6, "pass"), (0.4, "fail:invalid")),
    Move("DM06.run_ids", distributed.tagged("a", "b"), "fail:invalid", (2, "pass"), (0, "fail:invalid")),
    Move("DM06.late", distributed.late(11), "fail:invalid", (0.02, "pass"), (0.005, "fail:invalid")),
    # They start 2.5 to 2.6 s after the planned end.
    Move("DM06.after_end", distributed.late(11), "fail:invalid", (3, "pass"), (1, "fail:invalid")),
    Move("ER02.share", world(Scenario(duration_s=10, answer=fails(11, status="404", failed=False))), "fail:warning", (0.02, "pass"), (0.005, "fail:warning")),
    Move("ER04.zero_ms", by_hand(failures(zero_ms=1), instead={CountSources: COUNTED}), "fail:warning", (1, "pass")),
    Move("ER06.share", errors.code("1210", 1), "pass", (0.002, "pass"), (0.0005, "fail:invalid")),
    Move("ER07.difference", summaries.with_summary(checks={"passes": 250, "fails": 750, "value": 0.251}), "pass", (0.002, "pass"), (0.0005, "fail:invalid")),
    Move("ER15.fail_calls", errors.failed_by_script(2), "fail:warning", (0.003, "pass"), (0.0005, "fail:warning")),
    Move("ER12.share", by_hand(Checks({"ok": CheckCount(98, 2)}), Thresholds((), False), instead={CountSources: COUNTED}), "fail:warning", (0.03, "pass"), (0.005, "fail:warning")),
    Move("ER12.many", by_hand(Checks({"ok": CheckCount(80, 20)}), Thresholds((), False), instead={CountSources: COUNTED}), "fail:warning says it refused", (0.3, "fail:warning"), (0.05, "fail:warning says it refused")),
    Move("ER11.exceptions", errors.thrown(2), "fail:invalid", (0.002, "pass"), (0.0005, "fail:invalid")),
    Move("ER11.whole_number", errors.further(2), "unknown", (0.003, "pass"), (0.0005, "unknown")),
    Move("EV01.missing", evidence.ended(7.5), "fail:invalid", (2.6, "pass"), (1, "fail:invalid")),
    Move("EV02.lost", LOST_LINE, "fail:warning", (1, "pass")),
    Move("EV02.grave_share", LOST_LINE, "fail:warning", (0.0002, "fail:warning"), (0.00005, "fail:invalid")),
    # max(1, 0.1 % of 501) is 1.
    Move("EV02.without_request", without_requests(2), "fail:warning", (0.003, "pass"), (0.0005, "fail:warning")),
    Move("EV03.iterations", completed(501, 5), "pass", (2, "pass"), (0.9, "fail:invalid")),
    # 0.1 % of 3,003 is 3.003.
    Move("EV03.share", completed(3003, 30), "pass", (0.01, "pass"), (0.0005, "fail:invalid")),
    # 500 starts, at most 400 + 10 for each that a VU may have beyond.
    Move("EV03.per_vu", world(closed(answer=always(50.0), think_ms=0.0), change=sleeps, policy=CLOSED), "fail:warning", (11, "pass"), (0, "fail:warning")),
    # The console counts 2 more: max(2, 10 % of 5) is 2.
    Move("EV03.interrupted", interrupted(3, 5), "pass", (3, "pass"), (1, "fail:invalid")),
    # 4 more of 40.
    Move("EV03.interrupted_share", interrupted(36, 40), "pass", (0.2, "pass"), (0.05, "fail:invalid")),
    # Two iterations of 102 ms, 98 ms apart: 204 ms in 200 ms are 1.02 VUs.
    Move("EV04.share", world(Scenario(rate=2, duration_s=1, starts_s=[0.0, 0.098], think_ms=0.0, answer=always(102.0), pre_allocated_vus=1, max_vus=1)), "fail:invalid", (1.05, "pass"), (1.0, "fail:invalid")),
    Move("EV05.count", summaries.with_summary(iterations={"count": 1002}), "fail:invalid", (0.002, "pass")),
    Move("EV05.figure", summaries.with_summary(http_req_duration={"max": 26.26}), "fail:invalid", (0.02, "pass")),
    Move("EV07.contradictions", summaries.with_summary(http_req_duration={"max": 26.0, "thresholds": {"max<25": False}}), "fail:invalid", (1, "pass")),
    Move("EV13.least_ran", by_hand(SelfCheck(1, (), ())), "pass", (2, "unknown"), (0, "pass")),
    Move("GH01.uncovered", by_hand(GeneratorHosts((), {"": "no metrics"})), "unknown", (1, "pass")),
    # 18 of 20 s have a sample.
    Move("GH01.coverage", generator.covered(2), "unknown", (0.99, "unknown"), (0.89, "pass")),
    Move("GH01.least_cpu_ms", generator.cpu(lambda s: 0.016), "pass", (0.11, "unknown"), (0.05, "pass")),
    Move("GH05.much", by_hand(host(steal_mean_percent=10.0)), "fail:warning", (11, "pass"), (4, "fail:warning")),
    Move("GH05.most", by_hand(host(steal_mean_percent=10.0)), "fail:warning", (30, "fail:warning"), (9, "fail:invalid")),
    Move("GH01.step", generator.step(11), "unknown", (11, "pass"), (5, "unknown")),
    Move("GH02.mean", by_hand(host(mean_percent=60.0)), "pass", (61, "pass"), (59, "fail:warning")),
    Move("GH03.highest_5s", by_hand(host(max_5s_percent=80.0)), "pass", (81, "pass"), (79, "fail:invalid")),
    Move("GH03.p95", by_hand(host(p95_percent=80.0)), "pass", (81, "pass"), (79, "fail:invalid")),
    Move("GH04.busy", generator.core(lambda s: 70.0), "pass", (90, "pass"), (60, "fail:warning says over 60 %")),
    Move("GH04.busy", generator.core(lambda s: 85.0), "fail:warning says over 80 %", (90, "pass"), (60, "fail:warning says over 60 %")),
    Move("GH06.used", by_hand(host(mem_used_max_percent=90.0)), "pass", (91, "pass"), (89, "fail:warning")),
    Move("GH06.full", by_hand(host(mem_used_max_percent=99.0)), "fail:invalid", (99.5, "fail:warning"), (95, "fail:invalid")),
    Move("GH06.swap_in", by_hand(host(swap_in_max_per_s=5.0)), "fail:warning", (5, "pass")),
    Move("HD13.relative", by_hand(report(101.0, told(100.0))), "pass", (0.02, "pass"), (0.005, "fail:invalid")),
    Move("LS01.weak", latency.requests(922, 4), "fail:warning", (20_000, "fail:warning"), (3688, "pass")),
    # The quickest of all requests takes 20 ms.
    Move("LS05.least_ms", HEALTHY, "pass", (21, "fail:invalid")),
    # 100 ms and 25 ms of waiting for a connection, all alike.
    Move("LS08.ratio", world(Scenario(duration_s=10, answer=lambda i, s: Answer(100.0, blocked_ms=25.0))), "fail:warning", (1.3, "pass"), (1.1, "fail:warning")),
    Move("LS10.on_grid", world(Scenario(duration_s=10, answer=lambda i, s: Answer(15.625 * (1 + i % 3) if i % 50 > 2 else 22.0))), "pass", (0.99, "pass"), (0.9, "fail:warning")),
    Move("LS10.least_requests", world(Scenario(duration_s=10, answer=always(20.0))), "fail:warning", (1001, "not-applicable"), (10, "fail:warning")),
    Move("LS11.parts_ms", world(change=latency.parts("waiting", lambda v: v - 1.1)), "fail:invalid", (1.2, "pass"), (0.5, "fail:invalid")),
    Move("LS11.iteration_slack_ms", latency.beside(52.0), "fail:invalid", (3, "pass"), (0.5, "fail:invalid")),
    # 12 s; from the first start to the last stamp are 10.04 s.
    Move("LS11.evidence_slack_ms", latency.LONG, "fail:invalid says the whole run", (2000, "fail:invalid says the longest iteration"), (500, "fail:invalid says the whole run")),
    Move("SS06.slow", steady.excluded(answer=lambda i, s: Answer(42.0 if s < 10 else 20.0)), "fail:warning", (3, "pass"), (1.5, "fail:warning")),
    Move("SS06.hold_share", steady.excluded(duration_s=49), "fail:warning", (0.3, "pass"), (0.1, "fail:warning")),
    # 6 ms of 16 ms.
    Move("WM03.share", workload.thinking(6.0), "fail:warning", (0.4, "pass"), (0.1, "fail:warning")),
    Move("WM03.least_ms", workload.thinking(4.9), "pass", (7, "pass"), (4, "fail:warning")),
    Move("OL01.deviation", offered.started(100, 30, 2939), "fail:invalid", (0.03, "pass"), (0.01, "fail:invalid")),
    # 3 of 100 slots missing: more than 2 %, and allowed where the stage counts as small.
    Move("OL02.small_slots", offered.small_stage(3), "pass", (200, "pass"), (50, "fail:invalid")),
    Move("OL02.small_deviation", offered.small_stage(4), "fail:invalid", (4, "pass"), (2, "fail:invalid")),
    # 449 and 489 of 500.
    Move("OL03.invalid_ratio", offered.short(0, 51, 0), "fail:invalid", (0.95, "fail:invalid"), (0.85, "fail:warning")),
    Move("OL03.short_ratio", offered.short(0, 11, 0), "fail:warning", (0.99, "fail:warning"), (0.97, "pass")),
    Move("OL03.short_windows", offered.short(0, 11, 11), "fail:invalid", (0.7, "fail:warning"), (0.001, "fail:invalid")),
    # 146 of 150 are 97.3 %.
    Move("OL03.small_deficit", offered.started(15, 10, 146), "fail:warning", (4, "pass"), (2, "fail:warning")),
    Move("OL08.requests", HEALTHY, "pass", (1001, "fail:invalid says only 1,000 requests"), (0, "pass")),
    # Of two scenarios one makes 1,000 requests and one 500.
    Move("OL08.requests", world(Scenario("a", duration_s=10), Scenario("b", rate=50, duration_s=10)), "pass", (501, "fail:invalid says only 500 requests"), (0, "pass")),
    Move("OL09.missing_share", offered.ended(296.999, 300, 4), "fail:invalid", (0.02, "pass"), (0.005, "fail:invalid")),
    Move("OL09.missing_s", offered.ended(7.999), "fail:invalid", (3, "pass"), (1, "fail:invalid")),
    # Stopped by itself, 0.6 s and 1.5 s before its end.
    Move("OL09.stopped_s", offered.ended(9.4, exit_code=105), "pass", (1.5, "pass"), (0.5, "fail:invalid")),
    Move("OL09.stopped_s", offered.ended(8.5, exit_code=105), "fail:invalid", (1.6, "pass"), (0.5, "fail:invalid")),
    Move("SD02.dropped", schedule.dropping(1), "fail:warning", (1, "pass")),
    # One drop, 1 s after the start.
    Move("SD02.early_s", world(Scenario(**schedule.EARLY_DROP)), "fail:warning says in its first 5 s", (9, "fail:warning says in its first 9 s"), (0.5, "fail:warning")),
    Move("SD03.silent_share", schedule.silent(4, 40), "fail:warning", (0.002, "fail:warning"), (0.0005, "fail:invalid")),
    Move("SD04.over", world(Scenario(duration_s=10, requests=0, starts_s=more(slots(100, 10), 3))), "fail:invalid", (3, "pass")),
    Move("SD06.needed_share", schedule.pool(50.1, 5), "fail:warning", (1.1, "pass"), (0.5, "fail:warning")),
    # One of two VUs is busy for 5 s in all.
    Move("SD06.pinned_share", world(Scenario(rate=1, duration_s=10, think_ms=0.0, pre_allocated_vus=2, max_vus=2, answer=always(500.0))), "pass", (1.0, "pass"), (0.5, "fail:warning says at least 50 % of its 2 VUs were busy for 5.0 s")),
    Move("SD06.pinned_s", schedule.one_vu(490.0), "pass", (6, "pass"), (4, "fail:warning")),
    Move("SD08.warnings", world(log=schedule.INSUFFICIENT), "fail:warning", (1, "pass")),
    Move("SD09.share", schedule.budget("count<2"), "fail:warning", (0.002, "pass"), (0.0005, "fail:warning")),
    # 4 of the 500 requests due in the warm-up failed.
    Move("SS06.lost_share", world(Scenario(duration_s=25, answer=fails(4)), warmup="5s"), "pass", (0.02, "pass"), (0.005, "fail:invalid")),
    # 10 s and 1,000 planned starts.
    Move("SS08.capacity_s", world(policy={"purpose": "capacity"}), "fail:warning", (700, "fail:warning"), (10, "pass")),
    Move("SS08.short_s", HEALTHY, "fail:warning", (70, "fail:warning"), (10, "pass")),
    Move("SS08.least_s", HEALTHY, "fail:warning", (11, "unknown"), (5, "fail:warning")),
    # 999 starts in 111 s.
    Move("SS08.least_planned", steady.window(9, 111), "fail:warning", (1001, "fail:warning"), (500, "pass")),
    Move("SS08.least_samples", HEALTHY, "fail:warning", (1001, "unknown"), (50, "fail:warning")),
    # Two thresholds.
    Move("TH01.least", HEALTHY, "pass", (3, "fail:warning"), (0, "pass")),
    Move("TH02.samples", HEALTHY, "pass", (1001, "fail:invalid says only 1,000 samples"), (0, "pass")),
    Move("TH02.samples", world(thresholds={"checks": ["rate>0.9"]}), "fail:invalid says no sample", (2, "fail:invalid"), (0, "pass")),
    Move("WM04.rps", world(rps=1), "fail:invalid", (1, "pass")),
    Move("WM05.scenarios", world(closed(), policy={"target_rate": "50"}), "fail:invalid", (1, "pass")),
    # --- rules that use another rule's limit
    *(
        Move(limit, by_hand(series(100_001), SAMPLES, host(**{figure: at}), NO_FILES), "fail:warning", (at + 1, "fail:warning"), (at - 1, "fail:invalid"), "CA01")
        for limit, figure, at in (
            ("GH02.mean", "mean_percent", 60.0),
            ("GH03.highest_5s", "max_5s_percent", 80.0),
            ("GH03.p95", "p95_percent", 80.0),
            ("GH06.used", "mem_used_max_percent", 90.0),
        )
    ),
    Move("GH06.swap_in", by_hand(series(100_001), SAMPLES, host(swap_in_max_per_s=5.0), NO_FILES), "fail:invalid", (5, "fail:warning"), rule="CA01"),
    Move("CA01.series", by_hand(series(100_000), SAMPLES, NO_FILES), "pass", (100_001, "pass"), (99_999, "fail:info"), "CA03"),
    Move("CA02.names", by_hand(series(names=500), SAMPLES, NO_FILES), "pass", (501, "pass"), (499, "fail:info"), "CA03"),
    # The successful ones' p99 is 100 ms; 1 % of it is 1 ms, and the report's is 0.9 ms off.
    Move("HD13.relative", by_hand(report(100.9, told(150.0, of_successful=100.0), failed=3)), "fail:invalid", (0.02, "fail:invalid"), (0.005, "pass"), "ER01"),
    # 90 % ÷ 60 % × 2 cores are 3; of 45 % they are 4.
    Move("GH02.mean", by_hand(host(max_5s_percent=90.0)), "fail:invalid says 3 cores instead of 2", (90, "fail:invalid says 2 cores instead of 2"), (45, "fail:invalid says 4 cores instead of 2"), "GH03"),
    # 489 of 500 in the window of the hot core; 11 forgotten starts remain, whatever counts as short.
    Move("OL03.short_ratio", generator.core(generator.first_ten, starts_s=generator.WINDOW_SHORT), "fail:invalid says 489 of 500", (0.99, "fail:invalid says 489 of 500"), (0.97, "fail:invalid says silently lost"), "GH04"),
    Move("OL03.small_deficit", generator.core(generator.first_ten, starts_s=generator.WINDOW_SHORT), "fail:invalid says 489 of 500", (11, "fail:invalid says silently lost"), (2, "fail:invalid says 489 of 500"), "GH04"),
    Move("LS05.least_ms", HEALTHY, "pass", (21, "fail:invalid"), rule="LS11"),
    Move("OL01.deviation", offered.staged(0, 31), "fail:invalid", (0.03, "pass"), (0.01, "fail:invalid"), "OL02"),
    Move("OL01.deviation", world(policy={"target_rate": "102.01"}), "fail:invalid", (0.03, "pass"), (0.01, "fail:invalid"), "OL05"),
    # 2.5 s of 300 missing (3 s may be); exit code 99 says that it stopped only if the end counts as early.
    Move("EV01.missing", offered.ended(297.5, 300, 4, exit_code=99), "fail:invalid", (2.6, "pass"), (1, "fail:invalid"), "OL09"),
    # The report's 100.4 ms are the unfiltered run's 100 ms, not the window's 120 ms.
    Move("HD13.relative", by_hand(report(100.4, told(120.0), unfiltered=100.0, step=1.0)), "fail:invalid", (0.02, "fail:invalid"), (0.001, "pass"), "SS02"),
    Move("CO02.shortest", STALL_EXCLUDED, "fail:invalid", (2.1, "fail:warning"), (0.5, "fail:invalid"), "SS06"),
    Move("CO02.median_gaps", STALL_EXCLUDED, "fail:invalid", (210, "fail:warning"), (5, "fail:invalid"), "SS06"),
    Move("CO02.median_durations", STALL_EXCLUDED, "fail:invalid", (105, "fail:warning"), (1, "fail:invalid"), "SS06"),
    *(
        move
        for rule in ("GH06", "SD06", "SD08")
        for move in (
            Move("SS06.lost_share", NINE_LOST, "fail:warning", (0.02, "fail:warning"), (0.005, "fail:invalid says 9 of 1,200"), rule),
            Move("OL01.deviation", NINE_LOST, "fail:warning", (0.03, "fail:warning"), (0.005, "fail:invalid says 1,191 of 1,200"), rule),
            Move("OL03.short_ratio", NINE_LOST, "fail:warning", (0.985, "fail:invalid says 97.5%"), (0.97, "fail:warning"), rule),
            Move("OL03.invalid_ratio", NINE_LOST, "fail:warning", (0.976, "fail:invalid says 97.5%"), (0.5, "fail:warning"), rule),
            Move("OL03.short_windows", TEN_LOST, "fail:invalid says 97.5%", (0.4, "fail:warning"), (0.001, "fail:invalid"), rule),
            Move("OL03.small_deficit", TEN_LOST, "fail:invalid says 97.5%", (5, "fail:warning"), (2, "fail:invalid"), rule),
        )
    ),
]  # fmt: skip

_RUNS: dict[int, JudgedRun] = {}


def judged(move: Move, value: float | None, factory: pytest.TempPathFactory) -> RuleResult:
    limits = {} if value is None else {move.limit: value}
    if isinstance(move.what, World):
        run = _RUNS.setdefault(id(move.what), JudgedRun(move.what))
        return run.judge(move.judged, factory, limits)
    return move.what(move.judged, limits)


def signature(result: RuleResult) -> object:
    """What a person sees of a result, but for the limit that it prints."""
    return result.outcome, result.severity, [(str(f.scope), f.message, f.fix) for f in result.findings]


@pytest.mark.parametrize("move", MOVES, ids=str)
def test_a_limit_that_is_moved_moves_what_is_said(move: Move, tmp_path_factory: pytest.TempPathFactory) -> None:
    default = owned(RULES)[move.limit].default
    assert move.up[0] > default
    assert move.down is not None or default == 0
    assert move.down is None or move.down[0] < default
    seen = []
    for value, expected in ((None, move.stands), move.up, move.down or (None, move.stands)):
        result = judged(move, value, tmp_path_factory)
        outcome, _, words = expected.partition(" says ")
        assert said(result) == outcome, (value, result.reason, result.traceback)
        assert not words or any(words in f"{f.message}; {f.fix}" for f in result.findings), (
            value,
            result.reason,
        )
        seen.append((outcome, signature(result)))
    stands, up, down = seen
    assert up[1] != stands[1] or down[1] != stands[1], "whatever it is, the same is said"


def test_every_limit_and_every_reference_has_a_case() -> None:
    limits = set(owned(RULES))
    references = {(name, rule.meta.id) for rule in RULES for name in rule.meta.uses}
    assert limits - {m.limit for m in MOVES if not m.rule} == set(), "limits that no case moves"
    assert references - {(m.limit, m.rule) for m in MOVES if m.rule} == set(), "references that no case moves"
    assert {(m.limit, m.rule) for m in MOVES if m.rule} - references == set(), "moved, and not in `uses`"
