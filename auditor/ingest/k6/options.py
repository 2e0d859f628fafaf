"""Options of a run as `k6 inspect` prints them, with or without `--execution-requirements`.

k6 leaves unset options null, inside scenarios too; its defaults are filled in here, and the shortcuts
(`vus`, `duration`, `iterations`, `stages`) are mapped to the scenario "default" that k6 derives from them.
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from auditor.evidence import EXECUTORS, OPEN_EXECUTORS, Options, ScenarioOptions
from auditor.ingest.k6.durations import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

_PLAIN_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,15})?")
_LARGEST = 2**53
"""The largest whole number that a script can write exactly."""
_MARKS = {
    "scenarios",
    "thresholds",
    "executionSegment",
    "systemTags",
    "summaryTrendStats",
    "noConnectionReuse",
}


def looks_like_options(item: Any) -> bool:
    """Whether a JSON value is the output of `k6 inspect`."""
    return isinstance(item, dict) and len(_MARKS & item.keys()) >= 4 and "metrics" not in item


def read_options(item: dict[str, Any], path: str, known_problems: Iterable[str] = ()) -> Options:
    """Build Options; what cannot be read is a problem by name, never a guess.

    ``known_problems`` are scenarios left out of ``item`` because they cannot be read: where there are any,
    no scenario in it does not mean that there was none.
    """
    problems = list(known_problems)
    scenarios: list[ScenarioOptions] = []
    described = item.get("scenarios") or {}
    if not isinstance(described, dict):
        problems.append("its scenarios are not an object")
        described = {}
    if not described and not problems:
        described, problem = _from_shortcuts(item)
        if problem:
            problems.append(problem)
    for name, raw in described.items():
        try:
            scenarios.append(_scenario(str(name), raw))
        except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as error:
            problems.append(f"scenario {name!r} cannot be read: {error}")
    return Options(
        path=path,
        scenarios=tuple(scenarios),
        thresholds=_thresholds(item.get("thresholds")),
        rps=_number(item.get("rps")),
        execution_segment=_segment(item.get("executionSegment"), problems),
        segment_sequence=_sequence(item.get("executionSegmentSequence"), problems),
        min_iteration_duration_s=_length(item.get("minIterationDuration"), problems),
        system_tags=tuple(map(str, item["systemTags"])) if isinstance(item.get("systemTags"), list) else None,
        consolidated="totalDuration" in item,
        problems=tuple(problems),
    )


def _from_shortcuts(item: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """k6's own order: iterations, duration, stages; with none of them one iteration of one VU."""
    vus = item.get("vus")
    if item.get("iterations") is not None:
        found = {"executor": "shared-iterations", "vus": vus, "iterations": item["iterations"]}
        if item.get("duration") is not None:
            found["maxDuration"] = item["duration"]
    elif item.get("duration") is not None:
        found = {"executor": "constant-vus", "vus": vus, "duration": item["duration"]}
    elif item.get("stages"):
        found = {"executor": "ramping-vus", "startVUs": vus, "stages": item["stages"]}
    elif vus is not None:
        # Below k6 2.1 `vus` alone is ignored, from 2.1 on it means that many shared iterations.
        return {}, "`vus` alone means different things to different k6 versions"
    else:
        found = {"executor": "per-vu-iterations"}
    return {"default": found}, ""


def _scenario(name: str, raw: dict[str, Any]) -> ScenarioOptions:
    executor = raw["executor"]
    if executor not in EXECUTORS:
        raise ValueError(f"unknown executor {executor!r}")
    graceful = raw.get("gracefulStop")
    default_stop = Fraction(0) if executor == "externally-controlled" else Fraction(30)
    common: dict[str, Any] = {
        "name": name,
        "executor": executor,
        "start_time_s": seconds(raw["startTime"]) if raw.get("startTime") is not None else Fraction(0),
        "graceful_stop_s": seconds(graceful) if graceful is not None else default_stop,
        "exec": raw.get("exec") or "default",
    }
    if executor in OPEN_EXECUTORS:
        return _arrival(executor, raw, common)
    if executor == "ramping-vus":
        stages = tuple((seconds(s["duration"]), Fraction(_whole(s["target"]))) for s in raw.get("stages") or ())
        start = _int(raw.get("startVUs"), 1)
        return ScenarioOptions(
            **common,
            duration_s=sum((d for d, _ in stages), Fraction(0)),
            stages=stages,
            vus=max([start, *(int(t) for _, t in stages)]),
        )
    if executor in ("constant-vus", "externally-controlled"):
        vus = _int(raw.get("vus"), 1)
        length = seconds(raw["duration"]) if raw.get("duration") is not None else None
        return ScenarioOptions(
            **common,
            duration_s=length or None,
            vus=max(vus, _int(raw.get("maxVUs"), vus)) if executor != "constant-vus" else vus,
        )
    return ScenarioOptions(
        **common,
        duration_s=seconds(raw["maxDuration"]) if raw.get("maxDuration") is not None else Fraction(600),
        vus=_int(raw.get("vus"), 1),
        iterations=_int(raw.get("iterations"), 1),
    )


def _arrival(executor: str, raw: dict[str, Any], common: dict[str, Any]) -> ScenarioOptions:
    unit_s = seconds(raw["timeUnit"]) if raw.get("timeUnit") is not None else Fraction(1)
    pre_allocated = _int(raw.get("preAllocatedVUs"), 0)
    common |= {
        "pre_allocated_vus": pre_allocated,
        "max_vus": _int(raw.get("maxVUs"), pre_allocated),
    }
    if executor == "constant-arrival-rate":
        rate = Fraction(_whole(raw["rate"])) / unit_s
        if rate <= 0:
            raise ValueError("rate is not above zero")
        return ScenarioOptions(**common, duration_s=seconds(raw["duration"]), rate_per_s=rate)
    stages = tuple((seconds(s["duration"]), Fraction(_whole(s["target"])) / unit_s) for s in raw["stages"])
    start = Fraction(_int(raw.get("startRate"), 0)) / unit_s
    if start < 0 or any(target < 0 for _, target in stages):
        raise ValueError("negative rate")
    return ScenarioOptions(
        **common,
        duration_s=sum((d for d, _ in stages), Fraction(0)),
        start_rate_per_s=start,
        stages=stages,
    )


def _int(value: Any, default: int) -> int:
    return default if value is None else _whole(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        raise ValueError(f"not a whole number: {value!r:.40}")
    if int(value) != value:
        raise ValueError(f"not a whole number: {value!r}")
    return int(value)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        return None
    return float(value)


def _thresholds(raw: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(raw, dict):
        return {}
    return {
        str(metric): tuple(str(t.get("threshold", "")) if isinstance(t, dict) else str(t) for t in listed or ())
        for metric, listed in raw.items()
        if isinstance(listed, list)
    }


def _segment(raw: Any, problems: list[str]) -> tuple[Fraction, Fraction] | None:
    """ "1/3:2/3", "25%:50%" or "0.5:1" as exact fractions."""
    if not raw:
        return None
    try:
        ends = [_fraction(part) for part in str(raw).split(":")]
        if len(ends) == 1:
            ends = [Fraction(0), *ends]
        start, end = ends
        if not 0 <= start < end <= 1:
            raise ValueError("outside 0..1")
    except (ValueError, ZeroDivisionError) as error:
        problems.append(f"execution segment {raw!r} cannot be read: {error}")
        return None
    return start, end


def _sequence(raw: Any, problems: list[str]) -> tuple[Fraction, ...] | None:
    """ "0,1/3,2/3,1" as exact fractions."""
    if not raw:
        return None
    try:
        edges = tuple(_fraction(part) for part in str(raw).split(","))
        if (
            len(edges) < 2
            or any(low >= high for low, high in pairwise(edges))
            or edges[0] != 0
            or edges[-1] != 1
        ):
            raise ValueError("it does not lead from 0 to 1")
    except (ValueError, ZeroDivisionError) as error:
        problems.append(f"execution segment sequence {str(raw)[:80]!r} cannot be read: {error}")
        return None
    return edges


def _length(raw: Any, problems: list[str]) -> Fraction | None:
    if raw is None:
        return None
    try:
        return seconds(raw)
    except (ValueError, TypeError) as error:
        problems.append(f"minIterationDuration {raw!r:.40} cannot be read: {error}")
        return None


def _fraction(text: str) -> Fraction:
    """ "1/3", "25%" or "0.5"; Python's own reading would also take "1e999999999", and never end."""
    text = text.strip()
    percent = text.endswith("%")
    above, _, below = text.removesuffix("%").partition("/")
    if not _PLAIN_NUMBER.fullmatch(above) or (below and not _PLAIN_NUMBER.fullmatch(below)):
        raise ValueError(f"not a part: {text[:40]!r}")
    value = Fraction(above) / Fraction(below or 1)
    return value / 100 if percent else value
