"""Output files: they appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.errors import AuditError

if TYPE_CHECKING:
    from collections.abc import Iterator


def write_whole(path: Path, text: str) -> None:
    """Write a text, or nothing.

    Raises:
        AuditError: if it cannot be written.
    """
    with whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A file beside the target, to be written: renamed at the end, so that nothing half-written is ever seen.

    A symbolic link stays one: what it points to is replaced.

    Raises:
        AuditError: if it cannot be written.
    """
    real = Path(os.path.realpath(path))
    try:
        handle, temporary = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
        os.close(handle)
        try:
            yield Path(temporary)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(temporary, 0o666 & ~umask)
            os.replace(temporary, real)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise AuditError(f"cannot be written: {error.strerror or error}", where=str(path)) from error
