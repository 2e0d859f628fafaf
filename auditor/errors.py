"""The one kind of error that a user sees as a single line."""

from __future__ import annotations


class AuditError(Exception):
    """Something that the user can fix: what was wrong, where, and what to do.

    The command line prints it as one line and exits with 2; it shows a traceback only with ``--debug``.
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        fix = f" ({self.fix})" if self.fix else ""
        return f"{place}{self.what}{fix}"


class AccessRefused(AuditError):
    """Access was refused: whether anything is there is not known."""


def not_one_run(names: list[str], why: str) -> AuditError:
    """The error for folders that hold several runs: names them."""
    return AuditError(
        f"not one run: {', '.join(names)}; {why}", fix="name one of these folders, or the folders of one run"
    )


SHARED_PLACE = "put the run where all workers find it by the same path, or name it by URL (s3://…)"
"""What fixes that a cluster's worker does not find the file it was sent to."""


def another_file(path: object, found_bytes: int, expected_bytes: int) -> AuditError:
    """The error for a file of another size than the one that was meant, under the same name elsewhere."""
    return AuditError(
        f"a worker found another file: {found_bytes:,} bytes, not {expected_bytes:,}",
        where=str(path),
        fix=SHARED_PLACE,
    )
