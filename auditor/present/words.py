"""How numbers and a run's own strings are written, in one place for every renderer."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from auditor.fields import FIELD_OF

if TYPE_CHECKING:
    from auditor.facts.header import HeaderField

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
LONGEST = 400


def plain(text: str, longest: int = LONGEST) -> str:
    """A string from a run, made harmless for a terminal: no control or direction characters, no half of a pair,
    bounded."""
    safe = _CONTROL.sub("\ufffd", text.replace("\n", " ").replace("\t", " "))
    return safe if len(safe) <= longest else f"{safe[: longest - 1]}…"


def ms(value: float) -> str:
    """Milliseconds with three to four significant digits: "16.19 ms", "332 ms", "4,125 ms"."""
    return "∞" if math.isinf(value) else f"{ms_number(value)} ms"


def ms_number(value: float) -> str:
    """The same without the unit, of a finite number."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}"


def rate(value: float) -> str:
    return f"{rate_number(value)}/s"


def rate_number(value: float) -> str:
    return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def duration(value_s: float) -> str:
    if value_s < 120:
        return f"{value_s:.4g} s"
    minutes, rest = divmod(round(value_s), 60)
    return f"{minutes} m {rest} s" if rest else f"{minutes} m"


def value_words(field: HeaderField) -> str:
    """The value of a header field: a number with its unit, or why there is none."""
    if field.status == "missing":
        return f"missing: {field.reason}"
    if field.status == "n/a":
        return field.reason
    if field.status == "not-identified":
        least = least_words(field)
        return f"{least}, not identified" if least else "not identified"
    assert field.value is not None
    match FIELD_OF[field.name].kind:
        case "rate":
            return rate(field.value)
        case "percentile":
            return ms(field.value)
        case "duration":
            return duration(field.value)
        case "share":
            return f"{field.value:.1f} %"
        case "count":
            return f"{field.value:,.0f}"


def least_words(field: HeaderField) -> str:
    """Of a percentile that is not identified: what it is at least ("≥ 43.11 ms"); empty if not known."""
    least = field.detail.get("at_least")
    return "" if least is None else f"≥ {ms(least)}"


def detail_words(field: HeaderField) -> str:
    """What stands beside the value."""
    is_percentile = FIELD_OF[field.name].percentile is not None
    words_of = _percentile_detail if is_percentile else _DETAILS.get(field.name, _no_detail)
    parts = [part for part in words_of(field) if part]
    return ", ".join(parts)


def _target_detail(field: HeaderField) -> list[str]:
    return [str(field.detail.get("schedule", ""))]


def _achieved_detail(field: HeaderField) -> list[str]:
    deviation = field.detail.get("deviation_percent")
    requests = field.detail.get("requests_per_s")
    per = field.detail.get("requests_per_iteration")
    return [
        "" if deviation is None else f"{deviation:+.2f} % of target",
        ""
        if requests is None or per is None
        else f"{rate_number(requests)} requests/s ({per:.3g} an iteration)",
    ]


def _dropped_detail(field: HeaderField) -> list[str]:
    share, silent = field.detail.get("share"), field.detail.get("silent")
    return ["" if share is None else f"{100 * share:.2f} % of planned", f"{silent:,} silent" if silent else ""]


def _cpu_detail(field: HeaderField) -> list[str]:
    detail = field.detail
    if not detail:
        return []
    hosts = len(detail.get("hosts", ()))
    cores = detail["hosts"][0]["cores"] if hosts else None
    worst = detail.get("worst_core")
    return [
        "highest 5 s",
        f"mean {detail['mean']:.1f} %",
        "" if worst is None else f"worst core {worst:.1f} % over 10 s",
        "" if cores is None else f"of {cores} cores",
        "" if cores is not None and hosts < 2 else "1 host" if hosts == 1 else f"{hosts} hosts",
        str(detail.get("note", "")),
    ]


def _duration_detail(field: HeaderField) -> list[str]:
    planned = field.detail.get("planned_s")
    return ["" if planned is None else f"planned {duration(planned)}", str(field.detail.get("note", ""))]


def _no_detail(field: HeaderField) -> list[str]:
    return []


def _percentile_detail(field: HeaderField) -> list[str]:
    detail: dict[str, Any] = dict(field.detail)
    if not detail:
        return []
    interval = detail.get("interval")
    successful = detail.get("of_successful")
    offered = detail.get("population") == "offered"
    metric = detail.get("metric")
    return [
        f"of {metric}" if metric and metric != "http_req_duration" else "",
        "" if interval is None else f"95 % {ms_number(interval[0])} to {ms(interval[1])}",
        f"n {detail['n']:,}" + (" offered" if offered else " sent") if detail.get("n") else "",
        f"succeeded {ms(successful)}" if offered and successful not in (None, field.value) else "",
    ]


_DETAILS = {
    "target_rate": _target_detail,
    "achieved_rate": _achieved_detail,
    "dropped_iterations": _dropped_detail,
    "generator_cpu": _cpu_detail,
    "test_duration": _duration_detail,
}
