"""Labels: which field of the header they name, by the synonyms of auditor/fields.py, and what else they say."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from auditor.fields import FIELDS, PERCENTILE_FIELDS, PERCENTILES
from auditor.report_lint.read.values import unit_kind

if TYPE_CHECKING:
    from collections.abc import Iterable

FIELD_UNITS = {field.name: field.unit for field in FIELDS}
"""Machine names in the order of the header, each with the unit that values are turned into."""

_LATENCY = (
    r"http[_ ]req[_ ]duration|http request duration|request duration|response times?|latenc(?:y|ies)|"
    r"requests?|durations?|grpc_req_duration|browser_http_req_duration|ws_connecting|"
    r"http_req_duration ?\{ ?expected_response: ?true ?\}|\{ ?expected_response: ?true ?\}"
)
_PATTERNS = tuple(
    (field.name, rank, re.compile(pattern)) for field in FIELDS for rank, pattern in field.synonyms
)

_BY_PERCENT = {field.percentile.percent: field.name for field in FIELDS if field.percentile is not None}
"""Percent, as it is written in a label: "95", "99.9"."""
_BY_DIGITS = {**_BY_PERCENT, **{name.removeprefix("p"): name for name in PERCENTILE_FIELDS}}
"""After a "p" the decimal point may be left out: "p999"."""
_BY_SHARE = {
    share: name for name, p in PERCENTILES for share in {f"{p:g}"[1:], f"{p:.2f}"[1:]} if float(share) == p
}
""" ".9", ".90", ".999": after a "q"."""


def _any_of(texts: Iterable[str]) -> str:
    """A pattern of the texts, the longest first, with a point or a comma in numbers."""
    ordered = sorted(texts, key=lambda text: (-len(text), text))
    return "|".join(text[:1].replace(".", r"\.") + text[1:].replace(".", "[.,]") for text in ordered)


_N = _any_of(_BY_PERCENT)
_PERCENTILE = re.compile(
    rf"(?:p ?\(? ?(?P<a>{_any_of(_BY_DIGITS)})(?:th)?(?: ?%)? ?\)?|"
    rf"(?P<b>{_N}) ?(?:th|st|nd|rd)?(?: ?%)? ?"
    r"(?:percentiles?|-?%-? ?iles?|%?-?tiles?|pctl?|perc|centile)|"
    rf"(?:percentiles?|pctl?|quantile) ?(?P<c>{_N})(?:th)?|(?P<d>{_N}) ?%|"
    rf"(?P<e>{_N})th|"
    rf"q ?0?(?P<f>{_any_of(_BY_SHARE)})|(?P<median>median|med))"
)
_MEDIAN = next((name for name, p in PERCENTILES if p == 0.5), "")
_DECORATION = re.compile(rf"(?<!\w)(?:{_LATENCY}|of|the|overall|total|all|aggregate|pooled|http|in)(?!\w)")
_AVERAGE = re.compile(r"av(?:era)?ge?|mean")
_LATENCY_LABEL = re.compile(
    rf"(?:overall |total |all |http )*(?:{_LATENCY})|overall|total|all|aggregate|all requests"
)
_OTHER_TIMES = re.compile(
    r"waiting|blocked|connecting|tls|handshak|sending|receiving|looking|lookup|iteration[_ ]duration|"
    r"group[_ ]duration|ttfb|first byte|web_vital|dns|session_duration|data_|vus\b|checks"
)
_FAILURES = re.compile(
    r"(?:http_req_failed|(?:failed|unsuccessful) requests?|requests? failed|request failed rate|"
    r"(?:http )?errors?(?: (?:rate|count|share|ratio))?|failures?(?: (?:rate|count|share))?)"
)
_VERDICT = re.compile(r"(?:overall |audit |final |k6-audit |test )?(?:verdict|audit result|validity)")


@dataclass(frozen=True)
class Label:
    """A label, made comparable, and the unit that it names ("p95 (ms)")."""

    text: str
    unit: str


@functools.lru_cache(maxsize=4096)
def label(raw: str) -> Label:
    plain = raw[:200].lower().replace("\u00a0", " ").strip()
    plain = re.sub(r"[*`✓✗•·]|(?<![a-z0-9])_|_(?![a-z0-9])", " ", plain)
    plain = re.sub(r"\bp ?\( ?(\d[\d.,]*) ?%? ?\)", r"p\1", plain)
    unit = ""
    for inside in re.findall(r"[(\[]([^()\[\]]{1,40})[)\]]", plain):
        unit = unit or unit_kind(inside.removeprefix("in "))
    plain = re.sub(r"[(\[][^()\[\]]*[)\]]", " ", plain)
    if trailing := re.search(r"(?:,| in) (ms|milliseconds|s|seconds|%|/s|req/s|iterations/s)$", plain):
        unit = unit or unit_kind(trailing[1])
        plain = plain[: trailing.start()]
    plain = plain.replace("-", " ").rstrip(" .:=?…")
    return Label(" ".join(plain.split()), unit)


@functools.lru_cache(maxsize=4096)
def field_of(raw: str) -> tuple[str, int] | None:
    """The field that a label names, with its rank; None if it names none."""
    for text in dict.fromkeys((label(raw).text, label(re.sub(r"[()\[\]]", " ", raw[:200])).text)):
        if not text or len(text) > 80:
            continue
        if name := _percentile(text):
            return name, 0
        for field, rank, pattern in _PATTERNS:
            if pattern.fullmatch(text):
                return field, rank
    return None


def _percentile(text: str) -> str:
    found = _PERCENTILE.search(text)
    if found is None or (found.start() and text[found.start() - 1].isalnum()):
        return ""
    end = found.start() + len(found[0].rstrip())
    if end < len(text) and (text[end].isalnum() or text[end] in ".,"):
        return ""
    around = _DECORATION.sub("", text[: found.start()] + " " + text[end:])
    if around.strip(" :,()-"):
        return ""
    if found["median"]:
        return _MEDIAN
    if found["f"]:
        return _BY_SHARE[found["f"]]
    digits = next(found[g] for g in "abcde" if found[g])
    return _BY_DIGITS[digits.replace(",", ".")]


def is_average(raw: str) -> bool:
    """Whether a label names an average of latency ("avg", "mean response time")."""
    text = label(raw).text
    found = _AVERAGE.search(text)
    return found is not None and not _DECORATION.sub("", text[: found.start()] + text[found.end() :]).strip()


def is_latency(raw: str) -> bool:
    """Whether a row or heading is about the latency of requests as a whole."""
    return _LATENCY_LABEL.fullmatch(label(raw).text) is not None or "expected_response" in raw.lower()


def is_other_time(raw: str) -> bool:
    """Whether it is about a part of a request, an iteration, or something else that has percentiles."""
    low = raw.lower()
    if "{" in low and "expected_response" not in low:
        return True  # a sub-metric: one group, one tag
    return _OTHER_TIMES.search(low) is not None


def is_failures(raw: str) -> bool:
    return _FAILURES.fullmatch(label(raw).text) is not None


def is_verdict(raw: str) -> bool:
    return _VERDICT.fullmatch(label(raw).text) is not None


def latency_rank(raw: str) -> int:
    """Which of two latency rows goes first: HTTP requests as a whole before another protocol's."""
    text = label(raw).text
    return 2 if re.match(r"http|response|latenc|request|overall|total|all", text) else 1
