"""Output files: they appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.errors import AuditError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def parse_outputs(given: Sequence[str], formats: Sequence[str]) -> list[tuple[str, Path]]:
    """Read FORMAT=PATH pairs.

    Raises:
        AuditError: if a format is not known, or a path is named twice.
    """
    found: list[tuple[str, Path]] = []
    for one in given:
        kind, equals, path = one.partition("=")
        if not equals or not path or kind not in formats:
            raise AuditError(
                f"{one!r} is no output", where="--output", fix=f"write FORMAT=PATH with {', '.join(formats)}"
            )
        if any(Path(path) == other for _, other in found):
            raise AuditError(f"{path} is named twice", where="--output")
        found.append((kind, Path(path)))
    return found


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

    Raises:
        AuditError: if it cannot be written.
    """
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        try:
            yield Path(temporary)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(temporary, 0o666 & ~umask)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise AuditError(f"cannot be written: {error.strerror or error}", where=str(path)) from error
