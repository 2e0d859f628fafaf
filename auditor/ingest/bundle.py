"""A folder, or several generators' folders, as one Evidence: what each file was read as, or why it was not."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from auditor.errors import AuditError, not_one_run
from auditor.evidence import (
    Console,
    Evidence,
    ExitCode,
    GeneratorEvidence,
    HostSeries,
    Ignored,
    LogEvidence,
    Options,
    Source,
)
from auditor.ingest import streams
from auditor.ingest.host.plain_csv import read_host_csv
from auditor.ingest.host.sadf_json import UnusableHost, read_sadf
from auditor.ingest.k6 import logs
from auditor.ingest.k6.console import looks_like_console, read_console
from auditor.ingest.k6.options import read_options
from auditor.ingest.k6.points_json import JsonPoints, sha256
from auditor.ingest.sniff import Recognised, sniff

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_EVIDENCE_MEND = "name the folder that holds k6.json.gz, console.txt, inspect.json and the host metrics"


@dataclass
class _Folder:
    """The files of one folder, recognised."""

    name: str
    found: list[tuple[Path, str, Recognised]] = field(default_factory=list)

    def of(self, kind: str) -> list[tuple[Path, str, Recognised]]:
        return [entry for entry in self.found if entry[2].kind == kind]

    @property
    def has_points(self) -> bool:
        return bool(self.of("points"))

    @property
    def has_run(self) -> bool:
        return any(self.of(kind) for kind in ("points", "console", "options"))


@dataclass
class _Reading:
    sources: list[Source] = field(default_factory=list)
    ignored: list[Ignored] = field(default_factory=list)


def read_run(targets: Sequence[Path], hosts: Sequence[Path] = ()) -> Evidence:
    """Read everything in the target folders (or files) into one Evidence.

    One folder is a run; sub-folders with points of their own are its generators; several targets are the
    generators of one run. ``hosts`` are host-metric files that cover all generators.

    Raises:
        AuditError: if a target does not exist, holds no evidence of a run, or holds more than one run.
    """
    for target in targets:
        if not target.exists():
            raise AuditError("no such file or folder", where=str(target))
    reading = _Reading()
    shared: list[HostSeries] = []
    if len(targets) == 1:
        folders, shared = _one_target(targets[0], reading)
        label = str(targets[0])
    else:
        folders = [_folder_of(target, target.name, reading) for target in targets]
        label = ", ".join(str(t) for t in targets)
    if not any(folder.has_run for folder in folders):
        raise AuditError("nothing here is evidence of a k6 run", where=label, mend=_EVIDENCE_MEND)
    for path in hosts:
        if not path.is_file():
            raise AuditError("no such host-metrics file", where=str(path))
        shared += _read_host(path, path.name, sniff(path), "", reading)
    generators = tuple(_generator(folder, reading) for folder in folders)
    _refuse_strangers(generators)
    return Evidence(
        target=label,
        generators=generators,
        shared_hosts=tuple(shared),
        sources=tuple(reading.sources),
        ignored=tuple(reading.ignored),
    )


def _one_target(target: Path, reading: _Reading) -> tuple[list[_Folder], list[HostSeries]]:
    top = _folder_of(target, "", reading)
    if target.is_file():
        return [top], []
    nested = [
        _folder_of(child, child.name, reading, prefix=f"{child.name}/")
        for child in sorted(target.iterdir())
        if child.is_dir() and not child.name.startswith(".")
    ]
    if top.has_run and (top.has_points or not any(f.has_points for f in nested)):
        for folder in nested:
            if folder.has_points:
                reading.ignored.append(
                    Ignored(f"{folder.name}/", "a run of its own: the folder itself is the run audited")
                )
        _forget(reading, [f for f in nested if not f.has_points])
        return [top], []
    generators = [folder for folder in nested if folder.has_points]
    _forget(reading, [f for f in nested if not f.has_points])
    if not generators:
        return [top], []
    shared: list[HostSeries] = []
    for path, label, what in top.found:
        if what.kind in ("sadf", "host-csv"):
            shared += _read_host(path, label, what, "", reading)
        elif what.kind != "other":
            reading.ignored.append(
                Ignored(label, f"{what.label} beside the generators' folders: whose it is, is unknown")
            )
    return generators, shared


def _forget(reading: _Reading, folders: list[_Folder]) -> None:
    """Sub-folders without points are named once, not file by file."""
    for folder in folders:
        prefix = f"{folder.name}/"
        reading.ignored[:] = [i for i in reading.ignored if not i.path.startswith(prefix)]
        reading.ignored.append(Ignored(prefix, "a folder without points"))


def _folder_of(target: Path, name: str, reading: _Reading, prefix: str = "") -> _Folder:
    folder = _Folder(name)
    files = [target] if target.is_file() else sorted(p for p in target.iterdir() if not p.is_dir())
    for path in files:
        label = f"{prefix}{path.name}"
        if path.name.startswith("."):
            continue
        if not path.is_file():
            reading.ignored.append(Ignored(label, "not a regular file"))
            continue
        try:
            what = sniff(path)
        except OSError as error:
            raise AuditError(f"cannot be read: {error.strerror}", where=str(path)) from error
        if what.kind == "other":
            reading.ignored.append(Ignored(label, what.reason))
        folder.found.append((path, label, what))
    return folder


def _generator(folder: _Folder, reading: _Reading) -> GeneratorEvidence:
    points = _points(folder, reading)
    consoles: list[Console] = []
    found_logs: list[LogEvidence] = []
    for path, label, what in folder.of("console"):
        text, _ = streams.text(path)
        console = read_console(text, label)
        merged = logs.has_log_lines(text)
        if merged:
            found_logs.append(logs.read_log(text, label))
        consoles.append(console)
        _used(reading, path, label, what, folder.name, "with log lines in it" if merged else "")
    for path, label, what in folder.of("log"):
        text, cut = streams.text(path)
        found_logs.append(logs.read_log(text, label))
        _used(reading, path, label, what, folder.name, "only the first 64 MB" if cut else "")
    if points is not None and points[1]:
        text, _ = streams.text(points[2])
        consoles.append(read_console(text, points[0].path))
    options = [read_options(what.document, label) for _, label, what in folder.of("options")]
    for path, label, what in folder.of("options"):
        _used(reading, path, label, what, folder.name)
    codes = [ExitCode(label, what.document) for _, label, what in folder.of("exit-code")]
    for path, label, what in folder.of("exit-code"):
        _used(reading, path, label, what, folder.name)
    hosts: list[HostSeries] = []
    for kind in ("sadf", "host-csv"):
        for path, label, what in folder.of(kind):
            hosts += _read_host(path, label, what, folder.name, reading)
    log: LogEvidence | None = None
    for found in found_logs:
        log = found if log is None else logs.merge(log, found)
    return GeneratorEvidence(
        name=folder.name,
        points=points[0] if points else None,
        console=_one_console(consoles),
        options=_one_options(options),
        log=log,
        exit_code=_one_code(codes),
        hosts=tuple(hosts),
    )


def _points(folder: _Folder, reading: _Reading) -> tuple[JsonPoints, bool, Path] | None:
    """The folder's points file; whether k6's console text is mixed into it (--out json=-); its path."""
    found = folder.of("points")
    if not found:
        return None
    first, label, what = found[0]
    for other, other_label, _ in found[1:]:
        if _content_digest(other) != _content_digest(first):
            raise AuditError(
                f"two points files of different content: {label} and {other_label}",
                where=str(first.parent),
                mend="keep one run in a folder; several generators want a sub-folder each",
            )
        reading.ignored.append(Ignored(other_label, f"the same points as {label}"))
    mixed = looks_like_console(streams.decode(streams.head(first)))
    _used(reading, first, label, what, folder.name, "with console text in it" if mixed else "")
    return JsonPoints(first, label, pretty=what.pretty, mixed=mixed), mixed, first


def _content_digest(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        for block in streams.chunks(path):
            digest.update(block)
    except streams.DamagedStream as damage:
        digest.update(str(damage).encode())
    return digest.hexdigest()


def _read_host(path: Path, label: str, what: Recognised, generator: str, reading: _Reading) -> list[HostSeries]:
    try:
        if what.kind == "sadf":
            found = read_sadf(what.document, label)
        elif what.kind == "host-csv":
            found = [read_host_csv(streams.text(path)[0], label)]
        else:
            raise UnusableHost(what.reason or "no host-metrics format this version reads")
    except UnusableHost as problem:
        reading.ignored.append(Ignored(label, f"host metrics: {problem}"))
        return []
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        reading.ignored.append(Ignored(label, f"host metrics that cannot be read ({problem!r})"))
        return []
    _used(reading, path, label, what, generator, "; ".join(n for h in found for n in h.notes))
    return found


def _used(reading: _Reading, path: Path, label: str, what: Recognised, generator: str, note: str = "") -> None:
    reading.sources.append(
        Source(
            path=label,
            sha256=sha256(path),
            size_bytes=os.stat(path).st_size,
            format=what.label,
            generator=generator,
            note=note,
        )
    )


def _one_console(consoles: list[Console]) -> Console | None:
    with_banner = [c for c in consoles if c.has_banner]
    for other in with_banner[1:]:
        if (other.segment_percent, other.scenarios) != (
            with_banner[0].segment_percent,
            with_banner[0].scenarios,
        ):
            raise AuditError(
                f"two banners that differ: {with_banner[0].path} and {other.path}",
                mend="keep the console of the run that is audited, and only that",
            )
    chosen = with_banner or consoles
    return chosen[0] if chosen else None


def _one_options(options: list[Options]) -> Options | None:
    """Consolidated options before plain ones; two that differ are refused."""
    ranked = sorted(options, key=lambda o: not o.consolidated)
    best = [o for o in ranked if ranked and o.consolidated == ranked[0].consolidated]
    for other in best[1:]:
        if other.scenarios != best[0].scenarios:
            raise AuditError(
                f"two sets of options that differ: {best[0].path} and {other.path}",
                mend="keep the `k6 inspect` output of the run that is audited",
            )
    return best[0] if best else None


def _one_code(codes: list[ExitCode]) -> ExitCode | None:
    if len({code.code for code in codes}) > 1:
        raise AuditError(
            "two exit codes that differ: " + ", ".join(f"{c.path} says {c.code}" for c in codes),
            mend="keep the exit code of the run that is audited",
        )
    return codes[0] if codes else None


def _refuse_strangers(generators: Sequence[GeneratorEvidence]) -> None:
    """Folders whose banners or options share no scenario are different runs; the rest is seen in the data."""
    named = [(g.name, _names(g)) for g in generators]
    known = [(name, names) for name, names in named if names]
    for name, names in known[1:]:
        if not names & known[0][1]:
            raise not_one_run([n for n, _ in named], f"{known[0][0]} and {name} share no scenario")


def _names(generator: GeneratorEvidence) -> set[str]:
    if generator.console is not None and generator.console.scenarios:
        return {s.name for s in generator.console.scenarios}
    return {s.name for s in generator.options.scenarios} if generator.options else set()
