"""`k6-audit report TARGET... -o report.html`: the standard report of a finished run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auditor.cli import outputs
from auditor.cli.options import ExitZero, Force, OptionalTargets, RunOptions, on_disk
from auditor.cli.outputs import Output
from auditor.cli.request import AuditRequest, run_audit
from auditor.errors import AuditError

if TYPE_CHECKING:
    from auditor.present.render import Renderer

_SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown", ".json": "json"}


def report(
    *,
    target: OptionalTargets = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help="Where to write: .html, .md or .json. Repeatable.",
            show_default=False,
            callback=on_disk,
        ),
    ] = None,
    earlier: Annotated[
        str | None,
        typer.Option(
            "--from", help="Render again from an earlier HTML report, without the run.", show_default=False
        ),
    ] = None,
    options: RunOptions,
    force: Force = False,
    exit_zero: ExitZero = False,
) -> None:
    """Write the report of a run: one file, readable offline, without JavaScript, and on paper."""
    files = _files(output or [])
    if earlier is not None:
        found = _again(earlier, files, [*(["TARGET"] if target else []), *options.given()], force=force)
    elif target:
        found = _of_run(AuditRequest.of(target, options), files, force=force)
    else:
        raise AuditError("no run given", fix="name its folder, or an earlier report with --from")
    raise typer.Exit(0 if exit_zero else _exit_code(found["result"]))


def _of_run(asked: AuditRequest, files: list[Output], *, force: bool) -> dict[str, Any]:
    """Audit a run and write its report; returns the report's model."""
    from auditor.present.model import model

    outputs.refuse_overwriting(files, outputs.RESULT, force=force, inputs=[*asked.targets, *asked.hosts])
    result = run_audit(asked)
    outputs.refuse_evidence(files, asked.targets, result.evidence)
    found = model(result)
    _write(files, found, None)
    return found


def _again(name: str, files: list[Output], not_taken: list[str], *, force: bool) -> dict[str, Any]:
    """Write an earlier report again; returns its model."""
    from auditor.inputs.locations import resolve_one

    if not_taken:
        raise AuditError(
            "an earlier report holds its own run and policy",
            where="--from",
            fix=f"leave out {', '.join(not_taken)}",
        )
    earlier = resolve_one(name)
    outputs.refuse_overwriting(files, outputs.RESULT, force=force, inputs=[earlier])
    found = _earlier(earlier)
    _write(files, found, earlier)
    return found


def _files(paths: list[Path]) -> list[Output]:
    if not paths:
        raise AuditError("no output file given", fix="name one: -o report.html")
    found: list[Output] = []
    for path in paths:
        kind = _SUFFIXES.get(path.suffix.lower())
        if kind is None:
            raise AuditError(
                f"{str(path)!r} has no known suffix", where="--output", fix="use .html, .md or .json"
            )
        found.append(Output(kind, path))
    outputs.refuse_twice(found)
    return found


def _earlier(path: Path) -> dict[str, Any]:
    from auditor.present.embedded import extract

    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise AuditError(f"cannot be read: {error.strerror}", where=str(path)) from error
    return extract(text, str(path))


def _write(files: list[Output], model: dict[str, Any], earlier: Path | None) -> None:
    from auditor.files import write_whole
    from auditor.present.render import RENDERERS

    texts = [(one.path, _rendered(RENDERERS[one.kind], model, earlier)) for one in files]
    for path, text in texts:
        write_whole(path, text)
        print(f"wrote {path}: {model['result']['verdict_words']}", file=sys.stderr)


def _rendered(renderer: Renderer, model: dict[str, Any], earlier: Path | None) -> str:
    if earlier is None:
        return renderer(model)
    try:
        return renderer(model)
    except Exception as error:
        # Anyone may have altered the file: whatever breaks on what is inside is the file's fault.
        raise AuditError(
            "the embedded k6-audit result is damaged",
            where=str(earlier),
            fix="write the report again from the run",
        ) from error


def _exit_code(result: dict[str, Any]) -> int:
    """As `lint` exits, told from the result alone, so that --from exits as the first report did."""
    from auditor.engine.verdict import exit_code

    settings = {s["name"]: s["value"] for s in result["policy"]["settings"]}
    warned = any(r["outcome"] == "fail" and r["severity"] == "warning" for r in result["rules"])
    return exit_code(result["verdict"], fail_on=settings.get("fail_on"), warned=warned)
