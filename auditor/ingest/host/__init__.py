"""The formats of host metrics that are read. A new one is a file with a FORMAT, and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.ingest.host import plain_csv, sadf_json

if TYPE_CHECKING:
    from auditor.ingest.host.format import HostFormat

HOST_FORMATS: tuple[HostFormat, ...] = (
    sadf_json.FORMAT,
    plain_csv.FORMAT,
)
"""The first that a file looks like is its own."""
