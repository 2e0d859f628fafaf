"""`k6-audit convert RUN -o run.parquet`: a columnar copy of a run's points, which is read in their place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auditor.cli import outputs
from auditor.cli.options import Force, ReadOptions, on_disk
from auditor.cli.outputs import Output
from auditor.errors import AuditError

if TYPE_CHECKING:
    from auditor.evidence import Evidence
    from auditor.inputs.points_file import PointsFile

SUFFIX = ".parquet"


def convert(
    target: Annotated[str, typer.Argument(help="The run's folder, or its points file.", show_default=False)],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Where to write: run.parquet.", show_default=False, callback=on_disk
        ),
    ],
    options: ReadOptions = ReadOptions(),  # noqa: B008  (frozen)
    force: Force = False,
) -> None:
    """Write a copy of a run's points that takes a fraction of the space and time: Parquet, for any tool."""
    from auditor.cli.progress import progress
    from auditor.columnar.write import copy_points
    from auditor.ingest.bundle import read_run
    from auditor.inputs.locations import resolve_one
    from auditor.inputs.redact import Redactor, Verbatim
    from auditor.present.words import plain

    if output.suffix.lower() != SUFFIX:
        raise AuditError(f"{str(output)!r} has no known suffix", where="--output", fix=f"use {SUFFIX}")
    at_work = options.workers()
    place = resolve_one(target)
    files = [Output("parquet", output)]
    outputs.refuse_overwriting(files, outputs.COPY, force=force, inputs=[place])
    # Secrets stay in: the copy says what the original says, and what reads it masks them as it would there.
    evidence = read_run([place], redactor=Verbatim())
    source = _points(evidence, place)
    outputs.refuse_evidence(files, [place], evidence)
    with progress(at_work):
        points = copy_points(source, _format(evidence, source), output, at_work)
    before, after = source.size_bytes, output.stat().st_size
    name = Redactor().text(source.path)
    sizes = f"{_size(before)} as {_size(after)} (ratio {before / after:.1f})"
    typer.echo(plain(f"wrote {output}: {points:,} samples of {name}, {sizes}"))


def _points(evidence: Evidence, target: Path) -> PointsFile:
    """The one points file that can be converted."""
    from auditor.columnar.read import ParquetPoints
    from auditor.inputs.points_file import PointsFile

    found = [(g.name, g.points) for g in evidence.generators if g.points is not None]
    if not found:
        raise AuditError("no points file found", where=str(target), fix="name the folder with k6.json.gz")
    if len(found) > 1:
        raise AuditError(
            f"{len(found)} generators: {', '.join(name for name, _ in found)}",
            where=str(target),
            fix=f"convert each by itself, for example {target / found[0][0]}",
        )
    ((_, source),) = found
    if isinstance(source, ParquetPoints):
        raise AuditError("already a columnar copy", where=source.path)
    assert isinstance(source, PointsFile)
    if source.mixed:
        raise AuditError(
            "it contains console text, which a copy cannot hold",
            where=source.path,
            fix="put the lines that begin with { into a file of their own, and the others beside it",
        )
    return source


def _format(evidence: Evidence, source: PointsFile) -> str:
    return next(one.format for one in evidence.sources if one.path == source.path)


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f} MB" if size_bytes >= 100_000 else f"{size_bytes:,} bytes"
