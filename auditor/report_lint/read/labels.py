"""The words that reports use for the fields of the header: the one table of synonyms."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from auditor.report_lint.read.values import unit_kind

FIELD_UNITS = {
    "target_rate": "/s",
    "achieved_rate": "/s",
    "dropped_iterations": "iterations",
    "generator_cpu": "%",
    "test_duration": "s",
    "warmup_excluded": "s",
    "p50": "ms",
    "p90": "ms",
    "p95": "ms",
    "p99": "ms",
    "p999": "ms",
}
"""Machine names in the order of the header, each with the unit that values are turned into."""
PERCENTILE_NAMES = ("p50", "p90", "p95", "p99", "p999")

_RATE = r"(?:(?:iterations?|requests?|arrivals?|load|start) )?(?:rate|rps|tps|qps|throughput|load)"
_LATENCY = (
    r"http[_ ]req[_ ]duration|http request duration|request duration|response times?|latenc(?:y|ies)|"
    r"requests?|durations?|grpc_req_duration|browser_http_req_duration|ws_connecting|"
    r"http_req_duration ?\{ ?expected_response: ?true ?\}|\{ ?expected_response: ?true ?\}"
)
_GENERATOR = (
    r"(?:(?:the |load )?(?:generators?|injectors?|runners?|agents?)|load gen|k6|client)(?: hosts?| machines?)?"
)
_USE = r"(?: (?:usage|use|load|utili[sz]ation|busy|percent|mean|max|maximum|peak|%)){0,2}"
_LENGTH = r"(?:durations?|time|lengths?|window|period)"

_SYNONYMS: tuple[tuple[str, int, str], ...] = (
    # field, rank (a lower one wins over a higher one wherever they stand), pattern of the whole label
    ("target_rate", 0, rf"(?:target|planned|requested|configured|intended|scheduled|desired) ?(?:{_RATE})?"),
    ("target_rate", 0, rf"{_RATE}:? (?:target|planned|requested|configured|intended|scheduled|goal)"),
    (
        "target_rate",
        1,
        r"arrival rate|offered (?:rate|load|rps)|(?:goal|required) (?:rate|rps|throughput|load)",
    ),
    ("achieved_rate", 0, rf"(?:achieved|actual|measured|observed|delivered|effective|real) ?(?:{_RATE})?"),
    ("achieved_rate", 0, rf"{_RATE}:? (?:achieved|actual|measured|observed|delivered|effective)"),
    (
        "achieved_rate",
        1,
        r"iterations?:? (?:rate|per second|/ ?s)|iter(?:ation)?s?/s(?:ec)?|iterations?/second",
    ),
    ("achieved_rate", 2, r"(?:average |mean |request )?throughput|rps|tps|qps|req(?:uest)?s?/s(?:ec(?:ond)?)?"),
    (
        "achieved_rate",
        2,
        r"(?:http )?(?:requests?|reqs?)(?: rate| per sec(?:ond)?|:? rate)|http_reqs?(?: rate)?",
    ),
    ("dropped_iterations", 0, r"dropped(?:[_ ](?:iterations?|starts?|arrivals?|requests?))?|drops?"),
    ("dropped_iterations", 0, r"(?:iterations?|starts?):? dropped|dropped_iterations:? (?:total|count)"),
    ("dropped_iterations", 1, r"(?:missed|skipped) (?:iterations?|starts?|arrivals?)"),
    ("generator_cpu", 0, rf"{_GENERATOR} cpu{_USE}|cpu{_USE} (?:of |on )?{_GENERATOR}"),
    ("test_duration", 0, rf"(?:test|run|measured|measurement|measuring|steady state)(?: run)? {_LENGTH}"),
    ("test_duration", 1, r"durations?|total (?:duration|time)|run ?time|elapsed(?: time)?|window|test length"),
    ("warmup_excluded", 0, rf"warm ?up(?: {_LENGTH})?(?: (?:excluded|discarded|removed|ignored|cut off|cut))?"),
    ("warmup_excluded", 0, r"(?:excluded|discarded|removed|ignored) (?:warm ?up|ramp ?up)"),
    ("warmup_excluded", 0, rf"ramp ?up(?: {_LENGTH})? (?:excluded|discarded|removed|ignored|cut off|cut)"),
    ("warmup_excluded", 1, r"excluded (?:from (?:the )?(?:figures|start|results)|at (?:the )?start)"),
)
_PATTERNS = tuple((name, rank, re.compile(pattern)) for name, rank, pattern in _SYNONYMS)

_P = {"50": "p50", "90": "p90", "95": "p95", "99": "p99", "99.9": "p999", "999": "p999"}
_PERCENTILE = re.compile(
    r"(?:p ?\(? ?(?P<a>50|90|95|999|99[.,]9|99)(?:th)?(?: ?%)? ?\)?|"
    r"(?P<b>50|90|95|99[.,]9|99) ?(?:th|st|nd|rd)?(?: ?%)? ?"
    r"(?:percentiles?|-?%-? ?iles?|%?-?tiles?|pctl?|perc|centile)|"
    r"(?:percentiles?|pctl?|quantile) ?(?P<c>50|90|95|99[.,]9|99)(?:th)?|(?P<d>50|90|95|99[.,]9|99) ?%|"
    r"(?P<e>50|90|95|99[.,]9|99)th|"
    r"q ?0?(?P<f>\.5|\.50|\.9|\.90|\.95|\.99|\.999)|(?P<median>median|med))"
)
_Q = {".5": "p50", ".50": "p50", ".9": "p90", ".90": "p90", ".95": "p95", ".99": "p99", ".999": "p999"}
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
        return "p50"
    if found["f"]:
        return _Q[found["f"]]
    digits = next(found[g] for g in "abcde" if found[g])
    return _P[digits.replace(",", ".")]


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
