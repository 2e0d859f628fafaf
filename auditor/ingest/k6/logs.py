"""k6's log: logfmt, JSON, or the coloured form of a terminal. Only lines that matter for validity are kept.

Which texts matter, and since which version: docs/formats.md.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field

from auditor.evidence import LogEvidence
from auditor.ingest.k6.console import strip_ansi

_LOGFMT = re.compile(r'time="?[^" ]+"? level=(?P<level>[a-z]+) msg=(?P<rest>.*)$')
_TTY = re.compile(r"(?P<level>DEBU|INFO|WARN|ERRO|FATA|PANI)\[\d+\] (?P<rest>.*)$")
_FIELD = re.compile(r'(?:^| )(?P<key>[A-Za-z_]+)=(?P<value>"(?:[^"\\]|\\.)*"|\S*)')
_SERIES = re.compile(r"generated metrics with (\d+) unique time series")
_INSUFFICIENT = re.compile(r"Insufficient VUs, reached (\d+) active VUs")
_STOPPED = re.compile(
    r"test run was aborted because k6 received a '\w+' signal"
    r"|test aborted: "
    r"|at least one has abortOnFail enabled, stopping test prematurely"
    r"|\b(?:setup|teardown)\(\) execution timed out"
)
_CROSSED = re.compile(
    r"thresholds on metrics .* (?:have been|were) (?:crossed|breached)|some thresholds have failed"
)
_OVERRODE = re.compile(
    r"level configuration overrode scenarios configuration entirely|overrides scenarios configuration"
)
_OUTPUT_LOST = re.compile(
    r"Sample\(s\) couldn't be marshalled|Couldn't write stats|Failed to send the time series data"
    r"|Couldn't send \d+ out of \d+ metrics"
)
_RAW = re.compile(
    r"Insufficient VUs, reached \d+ active VUs|The test has generated metrics with \d+ unique time series"
    r"|Request Failed$|thresholds on metrics '.*' have been crossed"
)
"""Messages as `--log-format raw` writes them: alone on their line."""
_CLIENT_SIDE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("address", re.compile(r"cannot assign requested address|can't assign requested address")),
    ("files", re.compile(r"too many open files")),
    ("dns", re.compile(r"no such host|lookup .*: (?:i/o timeout|server misbehaving)")),
    ("refused", re.compile(r"connection refused")),
    ("reset", re.compile(r"connection reset|broken pipe")),
)


def looks_like_log(text: str) -> bool:
    """Whether one of the first lines is a line of k6's log."""
    lines = strip_ansi(text).splitlines()[:50]
    return any(
        _LOGFMT.search(line) or _TTY.search(line) or _json_line(line) or _RAW.match(line) for line in lines
    )


def _json_line(line: str) -> dict[str, object] | None:
    if not (line.startswith("{") and '"level"' in line and '"msg"' in line):
        return None
    try:
        item = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return item if isinstance(item, dict) else None


@dataclass
class _Counts:
    lines: int = 0
    insufficient: dict[str, int] = field(default_factory=dict)
    series: int = 0
    exceptions: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    crossed: bool = False
    stopped: str = ""
    overridden: str = ""
    output_lost: int = 0

    def note(self, text: str, fields: dict[str, str]) -> None:
        self.lines += 1
        if found := _INSUFFICIENT.search(text):
            self.insufficient[fields.get("scenario", "")] = int(found[1])
        elif found := _SERIES.search(text):
            self.series = max(self.series, int(found[1]))
        elif "Request Failed" in text:
            cause = f"{text} {fields.get('error', '')}"
            self.failed[next((kind for kind, form in _CLIENT_SIDE if form.search(cause)), "other")] += 1
        elif fields.get("source") == "stacktrace" or fields.get("hint") == "script exception":
            self.exceptions += 1
        elif _OVERRODE.search(text):
            self.overridden = self.overridden or text.strip().strip('"').replace('\\"', '"')
        elif _OUTPUT_LOST.search(text):
            self.output_lost += 1
        if _CROSSED.search(text):
            self.crossed = True
        if found := _STOPPED.search(text):
            self.stopped = self.stopped or text.strip().strip('"')[:200]


def read_log(text: str, path: str) -> LogEvidence:
    """Count what matters in a log; text in no known form (raw messages) is searched as it stands."""
    counts = _Counts()
    for line in strip_ansi(text).splitlines():
        if not line.strip():
            continue
        if item := _json_line(line):
            counts.note(str(item.get("msg", "")), {k: str(v) for k, v in item.items()})
        elif found := _LOGFMT.search(line) or _TTY.search(line):
            rest = found["rest"]
            fields = {f["key"]: f["value"].strip('"') for f in _FIELD.finditer(rest)}
            counts.note(rest, fields)
        elif _INSUFFICIENT.search(line) or _SERIES.search(line) or "Request Failed" in line:
            counts.note(line, {})  # --log-format raw: messages only
    return _evidence(counts, (path,))


def has_log_lines(text: str) -> bool:
    """Whether any line of a console is a log line (standard error merged into it)."""
    plain = strip_ansi(text)
    return bool(re.search(r'time="?[^" ]+"? level=[a-z]+ msg=|(?:INFO|WARN|ERRO)\[\d+\] ', plain))


def merge(first: LogEvidence, second: LogEvidence) -> LogEvidence:
    """Both logs of one process; the same line may be in both, so counts are the larger of the two."""
    failed = {
        kind: max(first.requests_failed.get(kind, 0), second.requests_failed.get(kind, 0))
        for kind in {*first.requests_failed, *second.requests_failed}
    }
    return LogEvidence(
        paths=first.paths + second.paths,
        lines=max(first.lines, second.lines),
        insufficient_vus={**first.insufficient_vus, **second.insufficient_vus},
        time_series=max(first.time_series, second.time_series),
        exceptions=max(first.exceptions, second.exceptions),
        requests_failed=failed,
        thresholds_crossed=first.thresholds_crossed or second.thresholds_crossed,
        stopped=first.stopped or second.stopped,
        options_overridden=first.options_overridden or second.options_overridden,
        output_lost=max(first.output_lost, second.output_lost),
    )


def _evidence(counts: _Counts, paths: tuple[str, ...]) -> LogEvidence:
    return LogEvidence(
        paths=paths,
        lines=counts.lines,
        insufficient_vus=counts.insufficient,
        time_series=counts.series,
        exceptions=counts.exceptions,
        requests_failed=dict(counts.failed),
        thresholds_crossed=counts.crossed,
        stopped=counts.stopped,
        options_overridden=counts.overridden,
        output_lost=counts.output_lost,
    )
