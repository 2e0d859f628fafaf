"""The model inside an HTML report: written so that no string of a run can end it, and read back."""

from __future__ import annotations

import json
import re
from typing import Any

from auditor.errors import AuditError

REPORT_VERSION = 1
SCRIPT_ID = "k6-audit-result"
_BLOCK = re.compile(rf'<script type="application/json" id="{SCRIPT_ID}">(.*?)</script>', re.S)
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def embed(model: dict[str, Any]) -> str:
    """The model as JSON that may stand inside <script>: ASCII only, no markup character left."""
    text = json.dumps(model, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return re.sub("[<>&]", lambda found: _UNSAFE[found[0]], text)


def extract(page: str, where: str) -> dict[str, Any]:
    """The model of an earlier report.

    Raises:
        AuditError: if the page holds none, or one of another version.
    """
    found = _BLOCK.search(page)
    if found is None:
        raise AuditError(
            "no embedded k6-audit result in this page",
            where=where,
            fix="name an HTML report that k6-audit wrote",
        )
    try:
        model = json.loads(found[1])
    except ValueError as error:
        raise AuditError(f"the result inside is damaged: {error}", where=where) from error
    version = model.get("report_version") if isinstance(model, dict) else None
    if version != REPORT_VERSION:
        raise AuditError(
            f"the result inside has report version {version!r}, this is {REPORT_VERSION}",
            where=where,
            fix="use the k6-audit that wrote it, or write it again from the run",
        )
    if not isinstance(model.get("result"), dict):
        raise AuditError("the result inside is damaged", where=where)
    return dict(model)
