"""A folder, or several generators' folders, as one Evidence: what each file was read as, or why it was not."""

from __future__ import annotations

import hashlib
import itertools
import os
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from auditor.errors import AuditError
from auditor.evidence import (
    Console,
    Digest,
    Evidence,
    ExitCode,
    GeneratorEvidence,
    HostSeries,
    Ignored,
    LogEvidence,
    Options,
    PointsSource,
    Source,
    Summary,
    merged_log,
)
from auditor.ingest import one_run
from auditor.ingest.host.format import UnusableHost
from auditor.ingest.k6 import logs, points_formats, points_pair
from auditor.ingest.k6.archive import UnusableArchive, read_archive
from auditor.ingest.k6.console import read_stream
from auditor.ingest.k6.dress import Stream, undress
from auditor.ingest.k6.options import read_options
from auditor.ingest.k6.script import MAX_SCRIPT_BYTES, UnreadableScript, read_script
from auditor.ingest.k6.summary import SUMMARY_KINDS, read_summary
from auditor.ingest.sniff import Recognised, sniff
from auditor.inputs import streams
from auditor.inputs.blocks import FileDigest
from auditor.inputs.redact import Redactor
from auditor.inputs.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from auditor.columnar.about import Original
    from auditor.ingest.k6.points_formats import PointsFormat

_Found = tuple["Path", str, Recognised]
"""A file, its label, and what it was recognised as."""
T = TypeVar("T")
_EVIDENCE_FIX = "name the folder that holds k6.json.gz, console.txt, inspect.json and the host metrics"


@dataclass
class _Folder:
    """The files of one folder, recognised."""

    name: str
    found: list[_Found] = field(default_factory=list)

    def of(self, kind: str) -> list[_Found]:
        return [entry for entry in self.found if entry[2].kind == kind]

    @property
    def has_points(self) -> bool:
        return bool(self.of("points"))

    @property
    def has_run(self) -> bool:
        return any(self.of(kind) for kind in ("points", "console", "options", "archive", "summary"))


@dataclass
class _Reading:
    sources: list[Source] = field(default_factory=list)
    ignored: list[Ignored] = field(default_factory=list)
    redactor: Redactor = field(default_factory=Redactor)


def read_run(targets: Sequence[Path], hosts: Sequence[Path] = (), redactor: Redactor | None = None) -> Evidence:
    """Read everything in the target folders (or files) into one Evidence.

    One folder is a run; sub-folders with points of their own are its generators; several targets are the
    generators of one run. ``hosts`` are host-metric files that cover all generators. ``redactor`` says what is
    masked; by default all secrets are.

    Raises:
        AuditError: if a target does not exist, holds no evidence of a run, or holds more than one run.
    """
    for target in targets:
        if not target.exists():
            raise AuditError("no such file or folder", where=str(target))
        if not target.is_file() and not target.is_dir():
            raise AuditError("neither a file nor a folder", where=str(target))
    reading = _Reading(redactor=redactor or Redactor())
    shared: list[HostSeries] = []
    if len(targets) == 1:
        folders, shared = _one_target(targets[0], reading)
        label = str(targets[0])
    else:
        names = distinct([reading.redactor.text(name) for name in names_of(targets)])
        folders = [
            _folder_of(target, name, reading, prefix=_above(name) if target.is_file() else f"{name}/")
            for target, name in zip(targets, names, strict=True)
        ]
        label = ", ".join(str(t) for t in targets)
    if not any(folder.has_run for folder in folders):
        raise AuditError("no evidence of a k6 run was found", where=label, fix=_EVIDENCE_FIX)
    for path in hosts:
        if not path.is_file():
            raise AuditError("no such host-metrics file", where=str(path))
        shared += _read_host(path, path.name, sniff(path), "", reading)
    generators = tuple(_generator(folder, reading) for folder in folders)
    one_run.refuse_strangers(generators)
    return Evidence(
        target=reading.redactor.text(label),
        generators=generators,
        shared_hosts=tuple(shared),
        sources=reading.redactor.value(tuple(reading.sources)),
        ignored=reading.redactor.value(tuple(reading.ignored)),
        label=reading.redactor.text(", ".join(_without_machine(target) for target in targets)),
    )


def names_of(targets: Sequence[Path]) -> list[str]:
    """What tells the targets apart: as many of the last parts of their paths as that takes."""
    parts = [_parts(target) for target in targets]
    for n in range(1, max(map(len, parts)) + 1):
        names = ["/".join(one[-n:]) for one in parts]
        if len(set(names)) == len(names):
            return names
    return distinct(["/".join(one) for one in parts])


def _parts(target: Path) -> list[str]:
    if getattr(target, "protocol", ""):  # behind a URL
        return [part for part in (*(one.name for one in reversed(target.parents)), target.name) if part]
    # "." and "host1/.." have no name of their own.
    return [part for part in Path(os.path.abspath(target)).parts if part != os.sep]


def distinct(names: Sequence[str]) -> list[str]:
    """The same names; one that came before (secrets in it were masked) gets a number."""
    found: list[str] = []
    for name in names:
        free = (one for one in itertools.chain([name], (f"{name}-{n}" for n in itertools.count(2))))
        found.append(next(one for one in free if one not in found))
    return found


def _above(name: str) -> str:
    """The folders in a generator's name, which come before the name of its only file."""
    return name[: name.rfind("/") + 1]


def _without_machine(target: Path) -> str:
    """A target as a result may name it: an absolute path says more about the machine than about the run."""
    return (target.name or "run") if isinstance(target, Path) and target.is_absolute() else str(target)


def _one_target(target: Path, reading: _Reading) -> tuple[list[_Folder], list[HostSeries]]:
    top = _folder_of(target, "", reading)
    if target.is_file():
        return [top], []
    children = [c for c in sorted(target.iterdir()) if c.is_dir() and not c.name.startswith(".")]
    names = distinct([reading.redactor.text(child.name) for child in children])
    nested = [
        _folder_of(child, name, reading, prefix=f"{name}/") for child, name in zip(children, names, strict=True)
    ]
    if top.has_run and (top.has_points or not any(f.has_points for f in nested)):
        for folder in nested:
            if folder.has_points:
                reading.ignored.append(
                    Ignored(f"{folder.name}/", "a run of its own: the folder itself is the run audited")
                )
        _forget(reading, [f for f in nested if not f.has_points])
        return [top], []
    # A generator that left its console or summary and no points has lost them: it is not to be overlooked.
    generators = [f for f in nested if f.has_points or f.of("console") or f.of("summary")]
    if not any(f.has_points or f.of("summary") for f in generators):
        generators = []
    _forget(reading, [f for f in nested if f not in generators])
    if not generators:
        return [top], []
    shared: list[HostSeries] = []
    for path, label, what in top.found:
        if what.kind == "host":
            shared += _read_host(path, label, what, "", reading)
        elif what.kind != "other":
            reading.ignored.append(
                Ignored(label, f"{what.label} beside the generators' folders: its generator is not known")
            )
    return generators, shared


def _forget(reading: _Reading, folders: list[_Folder]) -> None:
    """Sub-folders that are no generators are named once, not file by file."""
    for folder in folders:
        prefix = f"{folder.name}/"
        reading.ignored[:] = [i for i in reading.ignored if not i.path.startswith(prefix)]
        reading.ignored.append(Ignored(prefix, "a folder without points"))


def _folder_of(target: Path, name: str, reading: _Reading, prefix: str = "") -> _Folder:
    folder = _Folder(name)
    files = [target] if target.is_file() else sorted(p for p in target.iterdir() if not p.is_dir())
    for path in files:
        label = prefix + reading.redactor.text(path.name)
        if path.name.startswith("."):
            continue
        if path.name == "k6-audit.toml":
            reading.ignored.append(Ignored(label, "a policy file, not evidence"))
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
    printed: list[Summary | None] = []
    for path, label, what in folder.of("console"):
        stream, lost = _stream(path, label, reading)
        console = _masked(read_stream(stream, label), reading)
        if console.banners > 1:
            raise _two_in_one_text(label, f"{console.banners} banners of k6")
        printed.append(console.totals)
        merged = logs.has_log_lines(stream.lines)
        if merged:
            found_logs.append(_log_of(stream, label, lost, reading))
        consoles.append(console)
        _used(reading, path, label, what, folder.name, _console_note(stream, merged=merged))
    for path, label, what in folder.of("log"):
        stream, lost = _stream(path, label, reading)
        found_logs.append(_log_of(stream, label, lost, reading))
        _used(reading, path, label, what, folder.name, lost)
    if points is not None and points[1]:
        stream, _ = _stream(points[2], points[0].path, reading)
        consoles.append(_masked(read_stream(stream, points[0].path), reading))
    options = _ranked(_options(folder, reading))
    codes = [ExitCode(label, what.document) for _, label, what in folder.of("exit-code")]
    for path, label, what in folder.of("exit-code"):
        _used(reading, path, label, what, folder.name)
    summaries: list[Summary] = []
    for path, label, what in folder.of("summary"):
        summaries.append(reading.redactor.value(read_summary(what.document, label)))
        _used(reading, path, label, what, folder.name)
    one_run.refuse_other_summaries(summaries)
    one_run.refuse_other_consoles(consoles)
    if points is None and not summaries:
        # Text, where nothing better was kept.
        summaries = [one for one in printed if one is not None and "iterations" in one.metrics][:1]
    hosts: list[HostSeries] = []
    for path, label, what in folder.of("host"):
        hosts += _read_host(path, label, what, folder.name, reading)
    log: LogEvidence | None = None
    for found in found_logs:
        log = found if log is None else merged_log(log, found)
    return GeneratorEvidence(
        name=folder.name,
        points=points[0] if points else None,
        console=_one_console(consoles),
        options=options[0] if options else None,
        other_options=options[1:],
        log=log,
        logs=tuple(found_logs),
        exit_code=_one_code(codes),
        summaries=tuple(sorted(summaries, key=lambda s: SUMMARY_KINDS.index(s.kind))),
        printed=tuple(c.totals for c in consoles if c.totals is not None),
        hosts=tuple(hosts),
    )


def _stream(path: Path, label: str, reading: _Reading) -> tuple[Stream, str]:
    """The lines of k6 in a console or log, without its secrets; why lines may be missing, empty if none are.

    All of it is masked, not what is kept of it: what is kept may be cut in the middle of a secret.

    Raises:
        AuditError: if several k6 processes wrote into the text.
    """
    text, cut = streams.text(path)
    lost = "only the first 64 MB, or a damaged stream, was read" if cut else ""
    if "\0" in text:
        lost = "there are NUL bytes in it: something was written over"
    found = undress(reading.redactor.text(plain(text)))
    if len(found) > 1:
        raise _two_in_one_text(label, ", ".join(one.name or "(no prefix)" for one in found))
    return (found[0] if found else Stream("", ())), lost


def _log_of(stream: Stream, label: str, lost: str, reading: _Reading) -> LogEvidence:
    log = _masked(logs.read_records(stream.lines, label), reading)
    return replace(log, unread=log.unread or lost)


def _masked(value: T, reading: _Reading) -> T:
    """Once more: a secret may have been folded over two lines."""
    return reading.redactor.value(value)


def _console_note(stream: Stream, *, merged: bool) -> str:
    notes = ["with log lines in it"] if merged else []
    if stream.name:
        notes.append(f"lines of {stream.name}")
    if stream.folded:
        notes.append("folded lines joined")
    return "; ".join(notes)


def _two_in_one_text(label: str, what: str) -> AuditError:
    return AuditError(
        f"several k6 runs in one text: {what}",
        where=label,
        fix="keep the output of each k6 process in a file, and each run in a folder, of its own",
    )


def _options(folder: _Folder, reading: _Reading) -> list[Options]:
    """What every file that describes options says."""
    found: list[Options] = []
    for kind in ("options", "archive", "script"):
        for path, label, what in folder.of(kind):
            try:
                options = _options_of(path, label, what)
            except (UnusableArchive, UnreadableScript) as problem:
                reading.ignored.append(Ignored(label, str(problem)))
                continue
            found.append(reading.redactor.value(options))
            _used(reading, path, label, what, folder.name, _options_note(options))
    return found


def _options_of(path: Path, label: str, what: Recognised) -> Options:
    if what.kind == "options":
        return read_options(what.document, label)
    if what.kind == "archive":
        return read_archive(what.document, label)
    text, cut = streams.text(path, MAX_SCRIPT_BYTES)
    if cut:
        raise UnreadableScript(f"a script of more than {MAX_SCRIPT_BYTES >> 20} MB")
    return read_script(text, label)


def _options_note(options: Options) -> str:
    said = list(options.problems)
    if options.k6_version:
        said.append(f"of k6 {options.k6_version}")
    if options.environment:
        said.append(f"environment: {', '.join(options.environment)}, values left out")
    return "; ".join(said)


def _points(folder: _Folder, reading: _Reading) -> tuple[PointsSource, bool, Path] | None:
    """The folder's points file; whether k6's console text is mixed into it (--out json=-); its path."""
    points = folder.of("points")
    in_format = {one: [e for e in points if e[2].points is one] for one in points_formats.POINTS_FORMATS}
    for same_format in in_format.values():
        for other, other_label, _ in same_format[1:]:
            first, label, _ = same_format[0]
            if _content_digest(other) != _content_digest(first):
                raise _two_runs(label, other_label, "of different content", first)
            reading.ignored.append(Ignored(other_label, f"the same points as {label}"))
    found = [(one, files) for one, files in in_format.items() if files]
    if not found:
        return None
    originals = [(one, file) for one, files in found if one.made_of is None for file in files]
    for one, files in found[1:]:
        if one.made_of is None:
            _same_run(originals[0], (one, files[0]), reading)
        elif originals:
            _copy_of(files[0], one.made_of, [file for _, file in originals], reading)
    chosen, ((path, label, what), *_) = found[0]
    source = chosen.open(path, label, reading.redactor)
    _used(reading, path, label, what, folder.name, source.note, digest=source.sha256)
    return source, source.mixed, path


def _same_run(best: tuple[PointsFormat, _Found], other: tuple[PointsFormat, _Found], reading: _Reading) -> None:
    """Files of one run in two formats are one run: the one that says more is used."""
    (one, (path, label, _)), (another, (other_path, other_label, _)) = best, other
    assert one.glance is not None
    assert another.glance is not None
    why = points_pair.difference(path, one.glance, other_path, another.glance)
    if why:
        raise _two_runs(label, other_label, f"that are not of one run ({why})", path)
    reading.ignored.append(Ignored(other_label, f"the same run as {label} ({one.name} is used)"))


def _copy_of(
    copy: _Found, made_of: Callable[[Path], Original], originals: Sequence[_Found], reading: _Reading
) -> None:
    """A copy beside its original is not needed: the original says at least as much."""
    path, label, _ = copy
    said = made_of(path)
    for original, original_label, _ in originals:
        if original.stat().st_size == said.size_bytes and FileDigest(original).hex() == said.sha256:
            reading.ignored.append(Ignored(label, f"a columnar copy of {original_label}"))
            return
    raise _two_runs(originals[0][1], label, "neither of which was made from the other", path)


def _two_runs(label: str, other_label: str, how: str, path: Path) -> AuditError:
    return AuditError(
        f"two points files {how}: {label} and {other_label}",
        where=str(path.parent),
        fix="keep one run in a folder; put each generator in its own sub-folder",
    )


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
        if what.host is None:
            raise UnusableHost(what.reason or "not a host-metrics format that this version reads")
        content = what.document if what.host.content == "document" else streams.text(path)[0]
        found = what.host.read(content, label)
    except UnusableHost as problem:
        reading.ignored.append(Ignored(label, f"host metrics: {problem}", host_metrics=True))
        return []
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        reason = f"host metrics that cannot be read ({problem!r})"
        reading.ignored.append(Ignored(label, reason, host_metrics=True))
        return []
    _used(reading, path, label, what, generator, "; ".join(n for h in found for n in h.notes))
    return [reading.redactor.value(one) for one in found]


def _used(
    reading: _Reading,
    path: Path,
    label: str,
    what: Recognised,
    generator: str,
    note: str = "",
    digest: Digest | None = None,
) -> None:
    reading.sources.append(
        Source(
            path=label,
            digest=digest or FileDigest(path),
            size_bytes=path.stat().st_size,
            format=what.label,
            generator=generator,
            note=note,
        )
    )


def _one_console(consoles: list[Console]) -> Console | None:
    """The one that says most: a banner says what ran."""
    return max(consoles, key=lambda c: (c.has_banner, c.totals is not None), default=None)


def _ranked(options: list[Options]) -> tuple[Options, ...]:
    """Best first: inspect with requirements, plain inspect, archive, script.

    Two of one kind that differ are refused. Not so scripts: modules may export options of their own, and each
    is compared with what ran.
    """
    ranked = sorted(options, key=_rank)
    for one, other in pairwise(ranked):
        if _rank(one) == _rank(other) and one.kind != "script" and one.scenarios != other.scenarios:
            raise AuditError(
                f"two sets of options that differ: {one.path} and {other.path}",
                fix="keep only the `k6 inspect` output or the archive of the run that is audited",
            )
    return tuple(ranked)


def _rank(options: Options) -> int:
    if options.kind == "inspect":
        return 0 if options.consolidated else 1
    return 2 if options.kind == "archive" else 3


def _one_code(codes: list[ExitCode]) -> ExitCode | None:
    if len({code.code for code in codes}) > 1:
        raise AuditError(
            "two exit codes that differ: " + ", ".join(f"{c.path} says {c.code}" for c in codes),
            fix="keep the exit code of the run that is audited",
        )
    return codes[0] if codes else None
