"""Files that were read, and files that were not, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from auditor.evidence.points import Digest


@dataclass(frozen=True)
class Source:
    """A file that was read: its path inside the target, its digest, and what it was read as."""

    path: str
    digest: Digest
    size_bytes: int
    format: str
    generator: str = ""
    note: str = ""

    @property
    def sha256(self) -> str:
        return self.digest.hex()


@dataclass(frozen=True)
class Ignored:
    """A file that was not used, and why."""

    path: str
    reason: str
    host_metrics: bool = False
    """Whether it was recognised as host metrics, and could not be read."""


# --- points -------------------------------------------------------------------------------------------
