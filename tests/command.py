"""`k6-audit` in this process, and as the installed command: the same streams and exit code.

A process of its own costs a second to start; what is not about processes, streams or start-up runs here.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from auditor.cli.app import main

COMMAND = Path(sys.executable).parent / "k6-audit"
Done = subprocess.CompletedProcess[str]


def run(*arguments: object, cwd: Path | None = None, without: tuple[str, ...] = (), **environment: str) -> Done:
    """The command line in this process; ``without`` names variables that are not inherited."""
    words = [str(COMMAND), *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        mock.patch.dict(os.environ, _environment(without, environment), clear=True),
        mock.patch.object(sys, "argv", words),
        mock.patch.object(sys.modules["__main__"], "__package__", ""),  # or usage names `python -m pytest`
        contextlib.chdir(cwd or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        _garbage_as_before(),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1 if end.code else 0
        except BaseException as error:
            # With --debug the interpreter shows the error and ends with 1.
            sys.excepthook(type(error), error, error.__traceback__)
            code = 1
        else:
            code = 0
    return Done(words, code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def process(
    *arguments: object, cwd: Path | None = None, without: tuple[str, ...] = (), **environment: str
) -> Done:
    """The installed command, in a process of its own."""
    return subprocess.run(
        [str(COMMAND), *map(str, arguments)],
        cwd=cwd,
        env=_environment(without, environment),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _environment(without: tuple[str, ...], more: dict[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in without}
    return {**inherited, "COLUMNS": "120", **more}


@contextlib.contextmanager
def _garbage_as_before() -> Iterator[None]:
    before = gc.get_threshold()
    try:
        yield
    finally:
        gc.set_threshold(*before)
