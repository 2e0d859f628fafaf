"""What a format of host metrics is; which there are is in `auditor.ingest.host`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from auditor.evidence import HostSeries


class UnusableHost(Exception):
    """A host file that was recognised and cannot be used; the text says why and what to do."""


@dataclass(frozen=True)
class HostFormat:
    """A format of host metrics: how a file is told to have it, and how it is read."""

    name: str
    label: str
    """As sources are listed: "sadf -j host metrics"."""
    content: Literal["document", "text"]
    """What the two functions below get: one parsed JSON document, or text."""
    looks_like: Callable[[Any], bool]
    """Of the whole document; of a text's first 64 KB."""
    read: Callable[[Any, str], Sequence[HostSeries]]
    """Of the whole content and the file's label; raises UnusableHost."""
    mark: str = ""
    """What the first 200 characters of a document hold even if it is no valid JSON; empty if nothing."""
