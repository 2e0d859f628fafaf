"""`k6-audit report TARGET... -o report.html`: the standard report of a finished run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auditor.cli import options, progress
from auditor.cli.lint import show_tracebacks
from auditor.cli.request import AuditRequest, run_audit
from auditor.errors import AuditError

if TYPE_CHECKING:
    from auditor.present.render import Renderer

_SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown", ".json": "json"}


def report(
    target: Annotated[
        list[str] | None,
        typer.Argument(
            help="The run's folder, or several generators' folders: paths, URLs or patterns.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help="Where to write: .html, .md or .json. Repeatable.",
            show_default=False,
            callback=options.on_disk,
        ),
    ] = None,
    earlier: Annotated[
        str | None,
        typer.Option(
            "--from", help="Render again from an earlier HTML report, without the run.", show_default=False
        ),
    ] = None,
    warmup: options.Warmup = None,
    target_rate: options.TargetRate = None,
    host: options.Host = None,
    rules: options.Rules = None,
    config: options.Config = None,
    no_config: options.NoConfig = False,
    jobs: options.Jobs = None,
    scheduler: options.Scheduler = None,
    memory: options.Memory = None,
    exit_zero: options.ExitZero = False,
    debug: options.Debug = False,
) -> None:
    """Write the report of a run: one file, readable offline, without JavaScript, and on paper."""
    from auditor.inputs.locations import resolve_all, resolve_one

    files = _files(output or [])
    place: Path | None = None
    if earlier is not None:
        declared = (warmup, target_rate, host, rules, config, jobs, scheduler, memory)
        if target or no_config or any(one is not None for one in declared):
            raise AuditError(
                "an earlier report holds its own run and policy",
                where="--from",
                fix="leave out TARGET and the options about the run",
            )
        place = resolve_one(earlier)
        found = _earlier(place)
    else:
        if not target:
            raise AuditError("no run given", fix="name its folder, or an earlier report with --from")
        overrides: dict[str, tuple[object, str]] = {
            "warmup": (warmup, "--warmup"),
            "target_rate": (target_rate, "--target-rate"),
        }
        at_work = progress.workers(jobs, scheduler, memory)
        targets, hosts = resolve_all(target), resolve_all(host or [])
        found = _audited(
            AuditRequest(targets, hosts, rules or [], config, no_config, overrides, at_work), debug
        )
    _write(files, found, place)
    raise typer.Exit(0 if exit_zero else _exit_code(found["result"]))


def _files(paths: list[Path]) -> list[tuple[str, Path]]:
    if not paths:
        raise AuditError("no output file given", fix="name a file: -o report.html")
    found: list[tuple[str, Path]] = []
    for path in paths:
        kind = _SUFFIXES.get(path.suffix.lower())
        if kind is None:
            raise AuditError(
                f"{str(path)!r} has no known suffix", where="--output", fix="use .html, .md or .json"
            )
        if any(path == other for _, other in found):
            raise AuditError(f"{path} is named twice", where="--output")
        found.append((kind, path))
    return found


def _audited(asked: AuditRequest, debug: bool) -> dict[str, Any]:
    from auditor.present.model import model

    result = run_audit(asked)
    if debug:
        show_tracebacks(result)
    return model(result)


def _earlier(path: Path) -> dict[str, Any]:
    from auditor.present.embedded import extract

    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise AuditError(f"cannot be read: {error.strerror}", where=str(path)) from error
    return extract(text, str(path))


def _write(files: list[tuple[str, Path]], model: dict[str, Any], earlier: Path | None) -> None:
    from auditor.files import write_whole
    from auditor.present.render import RENDERERS

    texts = [(path, _rendered(RENDERERS[kind], model, earlier)) for kind, path in files]
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
