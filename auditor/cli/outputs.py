"""Output files: which kinds there are, and what they may replace.

An output never replaces anything but an earlier output of the same kind, and that only with --force. An input
is never replaced, under whatever name: the run is the evidence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.errors import AuditError

if TYPE_CHECKING:
    from auditor.evidence import Evidence, Source

HEAD_BYTES = 8192
"""As much of a file says what wrote it."""
STATEMENT_BYTES = 64 << 20
"""No sign-off is larger."""


@dataclass(frozen=True)
class Kind:
    """A kind of output: its name with its article, and how an earlier one is told."""

    words: str
    is_earlier: Callable[[Path, str], bool]
    """Given the file and its beginning."""


@dataclass(frozen=True)
class Output:
    """A file to write."""

    kind: str
    """As the command names it: "json", "html"."""
    path: Path


def _begins(pattern: str) -> Callable[[Path, str], bool]:
    found = re.compile(pattern, re.S)
    return lambda _, head: found.match(head) is not None


def _is_copy(path: Path, head: str) -> bool:
    from auditor.columnar.read import is_parquet, may_be_copy

    return is_parquet(head.encode("latin-1")) and may_be_copy(path)


def _is_statement(path: Path, head: str) -> bool:
    from auditor.signoff.verify import NoStatement, read

    if not head.lstrip().startswith("{") or path.stat().st_size > STATEMENT_BYTES:
        return False
    try:
        predicate = read(path.read_bytes()).statement["predicate"]
    except NoStatement:
        return False
    tool = predicate.get("tool")
    return isinstance(tool, dict) and tool.get("name") == "k6-auditor"


_VERDICT = r"(?:VALID|INVALID|NOT PROVEN)\b"
RESULT = {
    "text": Kind("a result as text", _begins(rf"\s*{_VERDICT}.*\nTarget rate\s.*\nAchieved rate\s")),
    "json": Kind(
        "a result as JSON",
        _begins(
            r'\{\s*"schema_version": "\d[^"]*",\s*"semantics_version": \d+,\s*"tool": \{\s*"name": "k6-auditor"'
        ),
    ),
    "html": Kind("an HTML report", _begins(r'\s*<!doctype html>.*<meta name="k6-audit-version" ')),
    "markdown": Kind(
        "a Markdown report", _begins(rf"# \S* ?{_VERDICT}.*; audited by k6-audit \S+ \(semantics ")
    ),
}
"""Of a run, by format."""
LINTED = {
    "text": Kind(
        "a linted report as text", _begins(r"\s*(?:NOT )?ACCEPTED\b.*\nTarget rate\s.*\nAchieved rate\s")
    ),
    "json": Kind("a linted report as JSON", _begins(r'\{\s*"schema_version": "report-lint-')),
}
"""Of a linted report, by format."""
EACH = {
    "text": Kind("a table of runs", _begins(r"run +verdict +exit +root cause\n")),
    "json": Kind("a table of runs as JSON", _begins(r'\{\s*"runs": \[')),
}
"""Of many runs, each by itself, by format."""
COPY = {"parquet": Kind("a columnar copy", _is_copy)}
SIGNOFF = {"sign-off": Kind("a sign-off", _is_statement)}


def parse(given: Sequence[str], kinds: dict[str, Kind]) -> list[Output]:
    """Read FORMAT=PATH pairs.

    Raises:
        AuditError: if a format is not known, or a path is named twice.
    """
    found: list[Output] = []
    for one in given:
        kind, equals, path = one.partition("=")
        if not equals or not path or kind not in kinds:
            raise AuditError(
                f"not an output: {one!r}", where="--output", fix=f"write FORMAT=PATH with {', '.join(kinds)}"
            )
        found.append(Output(kind, Path(path)))
    refuse_twice(found)
    return found


def refuse_twice(outputs: Sequence[Output]) -> None:
    """Two outputs must not be one file, however it is spelt.

    Raises:
        AuditError: if they are.
    """
    seen: set[str] = set()
    for one in outputs:
        real = os.path.realpath(one.path)
        if real in seen:
            raise AuditError(f"{one.path} is named twice", where="--output")
        seen.add(real)


def refuse_overwriting(
    outputs: Iterable[Output], kinds: dict[str, Kind], *, force: bool, inputs: Iterable[Path] = ()
) -> None:
    """Refuse to replace anything but an earlier output of the same kind, and that without ``force``.

    Raises:
        AuditError: naming the file, before anything is written.
    """
    named = list(inputs)
    for one in outputs:
        if not one.path.exists():
            continue
        where, kind = str(one.path), kinds[one.kind]
        if one.path.is_dir():
            raise AuditError("is a folder", where=where, fix="name a file")
        if any(_is_same(one.path, path) for path in named):
            raise _is_input(one.path)
        if not one.path.is_file():
            raise AuditError("not a regular file", where=where, fix="name a file that is not there yet")
        if not _is_earlier(one.path, kind):
            raise AuditError(
                f"is there, and not {kind.words} of k6-audit", where=where, fix="name another file"
            )
        if not force:
            raise AuditError(f"is there: {kind.words}", where=where, fix="--force replaces it")


def refuse_evidence(outputs: Iterable[Output], targets: Sequence[Path], evidence: Evidence) -> None:
    """Refuse to replace a file that the audit has read.

    Raises:
        AuditError: naming the file.
    """
    for one in outputs:
        if not one.path.is_file():
            continue
        for source in evidence.sources:
            places = [place / source.path for target in targets for place in (target, target.parent)]
            if any(_is_same(one.path, place) for place in places) or _has_content(one.path, source):
                raise _is_input(one.path)


def _has_content(path: Path, source: Source) -> bool:
    from auditor.inputs.blocks import FileDigest

    return path.stat().st_size == source.size_bytes and FileDigest(path).hex() == source.sha256


def _is_input(path: Path) -> AuditError:
    return AuditError("is an input, which is never replaced", where=str(path), fix="name another file")


def _is_same(path: Path, other: Path) -> bool:
    """Whether two names are of one file: through links, and where capitals do not count."""
    try:
        return isinstance(other, Path) and path.samefile(other)
    except OSError:
        return False


def _is_earlier(path: Path, kind: Kind) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES).decode("latin-1")
        return kind.is_earlier(path, head)
    except (OSError, AuditError):
        return False
