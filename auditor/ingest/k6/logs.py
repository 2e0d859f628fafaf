"""k6's log: what matters for validity, counted.

Which texts matter, and since which version: docs/formats.md. The forms of a record: `records`; what stands
around them: `dress`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from auditor.evidence import LogEvidence, Span
from auditor.ingest.k6.dress import is_k6, undress
from auditor.ingest.k6.records import FRAME, Record, Unclosed, records
from auditor.inputs.text import lines_of, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

_SERIES = re.compile(r"generated metrics with (\d+) unique time series")
_INSUFFICIENT = re.compile(r"Insufficient VUs, reached (\d+) active VUs")
_STOPPED = re.compile(
    r"test run was aborted because k6 received a '\w+' signal"
    r"|^test aborted: "
    r"|at least one has abortOnFail enabled, stopping test prematurely"
    r"|\b(?:setup|teardown)\(\) execution timed out"
)
_TIMED_OUT = re.compile(r"\b(setup|teardown)\(\) execution timed out")
_MARKED = re.compile(r"test marked as failed: (.*)", re.S)
_CROSSED = re.compile(
    r"thresholds on metrics (?P<names>.*?) (?:have been|were) (?:crossed|breached)|some thresholds have failed"
)
_OVERRODE = re.compile(
    r"level configuration overrode scenarios configuration entirely|overrides scenarios configuration"
)
_OUTPUT_LOST = re.compile(
    r"Sample\(s\) couldn't be marshalled|[Ss]amples? (?:were|was) (?:not written|lost|dropped)"
    r"|[Cc]ouldn't (?:write|flush|store) (?:the )?(?:samples|metrics)"
)
_BACKEND_LOST = re.compile(
    r"Couldn't write stats|Failed to send the time series data|Couldn't send \d+ out of \d+ metrics"
)
_SLOW_FLUSH = re.compile(r"flush operation took higher than|but it took .* while flush period is")
_VU_WAIT = re.compile(r"Could not get a VU from the buffer")
_FAIL = re.compile(r"^\s*at .*\(\*K6\)\.Fail(?:-fm)? \(native\)", re.M)
_GO_ERROR = re.compile(r"^(?:Uncaught \(in promise\) )?GoError: ")
_RAW = re.compile(
    r"Insufficient VUs, reached \d+ active VUs|The test has generated metrics with \d+ unique time series"
    r"|Request Failed$|thresholds on metrics '.*' (?:have been|were) (?:crossed|breached)"
    r"|test run was aborted because|(?:setup|teardown)\(\) execution timed out"
)
"""Messages as `--log-format raw` writes them: alone on their line."""
_CLIENT_SIDE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("address", re.compile(r"cannot assign requested address|can't assign requested address")),
    ("files", re.compile(r"too many open files")),
    ("dns", re.compile(r"no such host|lookup .*: (?:i/o timeout|server misbehaving)")),
    ("refused", re.compile(r"connection refused|actively refused")),
    ("reset", re.compile(r"connection reset|broken pipe|forcibly closed")),
)
_METHOD_AND_URL = re.compile(r'^\w+ "(?:[^"\\]|\\.)*": ')
_OUTSIDE = ("setup", "teardown", "handleSummary")
_MOST_TEXTS = 20
_LONGEST_TEXT = 200


def looks_like_log(text: str) -> bool:
    """Whether one of the first lines is a line of k6's log."""
    lines = lines_of(plain(text))[:400]
    return any(is_k6(line) or _RAW.match(line) for line in lines) or _has_k6_stack(lines)


def has_log_lines(lines: Sequence[str]) -> bool:
    """Whether any line of a console is a log line (standard error merged into it)."""
    return any(isinstance(r, Unclosed) or r.level or _RAW.match(r.message) for r in records(lines))


def _has_k6_stack(lines: Sequence[str]) -> bool:
    return any(line.startswith("\t") and FRAME.match(line) and "file://" in line for line in lines)


def read_log(text: str, path: str) -> LogEvidence:
    """Count what matters in a log, whatever stands around its lines."""
    return read_records([line for stream in undress(text) for line in stream.lines], path)


def read_records(lines: Sequence[str], path: str) -> LogEvidence:
    """Count what matters in the lines of one process."""
    counts = _Counts()
    for record in records(lines):
        counts.note(record)
    return counts.evidence((path,))


@dataclass
class _Counts:
    lines: int = 0
    unclosed: int = 0
    insufficient: dict[str, int] = field(default_factory=dict)
    series: int = 0
    exceptions: Counter[str] = field(default_factory=Counter)
    exception_texts: Counter[str] = field(default_factory=Counter)
    fail_calls: int = 0
    fail_texts: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    request_errors: Counter[str] = field(default_factory=Counter)
    is_crossed: bool = False
    crossed: dict[str, None] = field(default_factory=dict)
    stopped: str = ""
    timed_out: dict[str, None] = field(default_factory=dict)
    marked: dict[str, None] = field(default_factory=dict)
    k6_error: str = ""
    overridden: str = ""
    output_lost: int = 0
    backend_lost: int = 0
    flush_warnings: int = 0
    vu_waits: int = 0
    last_time: str = ""
    wall_ns: tuple[int, int] | None = None
    seconds: tuple[int, int] | None = None

    def note(self, record: Record | Unclosed) -> None:
        self.lines += 1
        if isinstance(record, Unclosed):
            self.unclosed += 1
            return
        self._note_time(record)
        if record.fields.get("source") == "console":
            return  # what the script wrote itself
        text, fields = record.message, record.fields
        if (
            fields.get("source") == "stacktrace"
            or fields.get("hint") == "script exception"
            or _is_thrown(record)
        ):
            self._note_thrown(record)
            return
        if found := _INSUFFICIENT.search(text):
            self.insufficient[fields.get("scenario", "")] = int(found[1])
        elif found := _SERIES.search(text):
            self.series = max(self.series, int(found[1]))
        elif "Request Failed" in text:
            self._note_request(text, fields.get("error", ""))
        elif _OVERRODE.search(text):
            self.overridden = self.overridden or text.strip()
        elif _OUTPUT_LOST.search(text):
            self.output_lost += 1
        elif _BACKEND_LOST.search(text):
            self.backend_lost += 1
        elif _SLOW_FLUSH.search(text):
            self.flush_warnings += 1
        elif _VU_WAIT.search(text):
            self.vu_waits += 1
        else:
            self._note_end(record)

    def _note_end(self, record: Record) -> None:
        """k6's own words about how the run ended."""
        text = record.message
        stopped = _STOPPED.search(text)
        if stopped:
            self.stopped = self.stopped or text.strip()[:_LONGEST_TEXT]
        for found in _TIMED_OUT.finditer(text):
            self.timed_out[found[1]] = None
        if crossed := _CROSSED.search(text):
            self.is_crossed = True
            for name in re.findall(r"'([^']*)'", crossed["names"] or ""):
                self.crossed.update(dict.fromkeys(part.strip() for part in _names(name)))
        elif marked := _MARKED.match(text):
            _add_key(self.marked, marked[1].strip())
        elif record.level in ("error", "fatal", "panic"):
            self.k6_error = text.strip()[:_LONGEST_TEXT]

    def _note_thrown(self, record: Record) -> None:
        place = thrown_in(record)
        first = record.message.split("\n", 1)[0].strip()[:_LONGEST_TEXT]
        if place != "iteration":
            self.exceptions[place] += 1
            _add(self.exception_texts, first)
            self.k6_error = first
        elif _FAIL.search(record.message):
            self.fail_calls += 1
            _add(self.fail_texts, _GO_ERROR.sub("", first))
        else:
            self.exceptions["iteration"] += 1
            _add(self.exception_texts, first)

    def _note_request(self, text: str, error: str) -> None:
        cause = f"{text} {error}"
        self.failed[next((kind for kind, form in _CLIENT_SIDE if form.search(cause)), "other")] += 1
        if error:
            _add(self.request_errors, _METHOD_AND_URL.sub("", error)[:_LONGEST_TEXT])

    def _note_time(self, record: Record) -> None:
        if record.second is not None:
            low, high = self.seconds or (record.second, record.second)
            self.seconds = (min(low, record.second), max(high, record.second))
        if record.time and record.time != self.last_time:
            self.last_time = record.time  # whole seconds: many records have the same
            ns = unix_ns(record.time)
            if ns is not None:
                first, last = self.wall_ns or (ns, ns)
                self.wall_ns = (min(first, ns), max(last, ns))

    def evidence(self, paths: tuple[str, ...]) -> LogEvidence:
        outside = {place: n for place, n in self.exceptions.items() if place != "iteration"}
        return LogEvidence(
            paths=paths,
            lines=self.lines,
            insufficient_vus=self.insufficient,
            time_series=self.series,
            exceptions=self.exceptions["iteration"],
            exceptions_outside=outside,
            exception_texts=dict(self.exception_texts),
            fail_calls=self.fail_calls,
            fail_texts=dict(self.fail_texts),
            requests_failed=dict(self.failed),
            request_errors=dict(self.request_errors),
            thresholds_crossed=self.is_crossed,
            crossed_metrics=tuple(self.crossed),
            stopped=self.stopped,
            timed_out=tuple(self.timed_out),
            marked_failed=tuple(self.marked),
            k6_error=self.k6_error,
            options_overridden=self.overridden,
            output_lost=self.output_lost,
            backend_lost=self.backend_lost,
            flush_warnings=self.flush_warnings,
            vu_waits=self.vu_waits,
            span=self._span(),
            unread=(
                f"{self.unclosed:,} lines begin or end a record whose rest is missing (folded, or cut off)"
                if self.unclosed
                else ""
            ),
        )

    def _span(self) -> Span | None:
        if self.wall_ns is None and self.seconds is None:
            return None
        return Span(*(self.wall_ns or (None, None)), *(map(float, self.seconds) if self.seconds else ()))


def _names(text: str) -> list[str]:
    """ "a, http_req_duration{x:1,y:2}" at the commas outside braces."""
    return [name for name in re.split(r", ?(?![^{]*\})", text) if name]


def _is_thrown(record: Record) -> bool:
    """Whether an error carries a stack of the script, though no field says so (older versions)."""
    if record.level != "error" or "\n" not in record.message:
        return False
    return any("file://" in (f["where"] or f["bare"] or "") for f in FRAME.finditer(record.message))


def thrown_in(record: Record) -> str:
    """ "iteration", "setup", "teardown", "handleSummary" or "init": where the stack ends."""
    frames = list(FRAME.finditer(record.message))
    last = frames[-1] if frames else None
    if last is not None and last["name"] in _OUTSIDE and "scenario" not in record.fields:
        return str(last["name"])
    if "scenario" in record.fields or "executor" in record.fields or last is None:
        return "iteration"
    return "init" if last["bare"] else "iteration"


def unix_ns(text: str) -> int | None:
    """Wall clock of an RFC 3339 stamp in ns; None without a zone, or if it is none."""
    found = re.match(
        r"(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)? ?(Z|UTC|[+-]\d\d:?\d\d)",
        text,
    )
    if found is None:
        return None
    zone = "+00:00" if found[8] in ("Z", "UTC") else found[8]
    try:
        whole = datetime.strptime(
            f"{found[1]}-{found[2]}-{found[3]}T{found[4]}:{found[5]}:{found[6] or '00'}{zone}",
            "%Y-%m-%dT%H:%M:%S%z",
        )
    except ValueError:
        return None
    return round(whole.timestamp()) * 1_000_000_000 + int((found[7] or "0").ljust(9, "0"))


def _add(texts: Counter[str], text: str) -> None:
    if text in texts or len(texts) < _MOST_TEXTS:
        texts[text] += 1


def _add_key(texts: dict[str, None], text: str) -> None:
    if len(texts) < _MOST_TEXTS:
        texts[text[:_LONGEST_TEXT]] = None
