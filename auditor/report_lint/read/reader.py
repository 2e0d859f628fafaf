"""A file as a report: whether it is one, by content, and what it says."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from auditor.errors import AuditError
from auditor.evidence import ReportedField, ReportEvidence
from auditor.report_lint.read.find import Said, find
from auditor.report_lint.read.html import read_html
from auditor.report_lint.read.labels import FIELD_UNITS
from auditor.report_lint.read.markdown import read_markdown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAX_REPORT_BYTES = 32 << 20
_MARKUP = re.compile(
    r"<!doctype html|<html\b|<head\b|<body\b|<table\b|<h[1-6]\b|<dl\b|<div\b|<p\b|<section\b", re.I
)


def is_report(path: Path) -> bool:
    """Whether a file that is no evidence of a run is a report: a page, a k6-audit result, text with a field."""
    from auditor.ingest.sniff import sniff

    try:
        what = sniff(path)
        if what.kind != "other":
            return False
        data = _bytes(path)
    except OSError as error:
        raise AuditError(f"cannot be read: {error.strerror}", where=str(path)) from error
    if _kind(data) in ("html", "json"):
        return True
    if b"\0" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    report = _read(path.name, data)
    return bool(report.fields or report.averages)


def read_report(path: Path) -> ReportEvidence:
    """Read a report of any format.

    Raises:
        AuditError: if the file cannot be read.
    """
    try:
        data = _bytes(path)
    except OSError as error:
        raise AuditError(f"cannot be read: {error.strerror}", where=str(path)) from error
    return _read(path.name, data)


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(MAX_REPORT_BYTES + 1)
    if len(data) > MAX_REPORT_BYTES:
        raise AuditError("a report of more than 32 MB", where=str(path))
    return data


def decode(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8-sig", errors="replace")


def _kind(data: bytes) -> str:
    start = decode(data[:65536]).lstrip()
    if start.startswith("{"):
        return "json" if _result_of(_parsed(decode(data))) is not None else ""
    if start.startswith("<") and _MARKUP.search(start):
        return "html"
    return ""


def _read(name: str, data: bytes) -> ReportEvidence:
    text = decode(data)
    digest = hashlib.sha256(data).hexdigest()
    kind = _kind(data)
    if kind == "json":
        result = _result_of(_parsed(text))
        said = find((), "")
        return _evidence(name, digest, len(data), "json", said, result)
    if kind == "html":
        page = read_html(text)
        notes = (
            ("the figures are compressed data that a script draws; only the page's text was read",)
            if page.drawn
            else ()
        )
        if page.cut:
            notes = (*notes, "the page is nested too deeply: the rest was not read")
        made = _evidence(name, digest, len(data), "html", find(page.blocks), _result_of(_parsed(page.result)))
        return replace(
            made,
            verdict_meta=page.verdict[:60],
            embedded_damaged=bool(page.result.strip()) and made.embedded is None,
            notes=notes,
        )
    return _evidence(name, digest, len(data), "markdown", find(read_markdown(text)), None)


def _parsed(text: str) -> Any:
    if not text.strip():
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _result_of(item: Any) -> Mapping[str, Any] | None:
    """The result of an audit in a document: alone, or under "result" in a report's model."""
    if isinstance(item, dict) and "report_version" in item and isinstance(item.get("result"), dict):
        item = item["result"]
    if isinstance(item, dict) and {"schema_version", "verdict", "header"} <= item.keys():
        return item
    return None


def _evidence(
    name: str, digest: str, size: int, kind: Any, said: Said, result: Mapping[str, Any] | None
) -> ReportEvidence:
    fields = dict(said.fields)
    populations, hashes, verdict, failures = said.populations, said.hashes, said.verdict, said.failures
    verdict_order = said.verdict_order
    if result is not None:
        order = max((f.order for f in fields.values()), default=0)
        for i, (field_name, found) in enumerate(_embedded_fields(result).items()):
            fields.setdefault(field_name, replace(found, order=order + 1 + i))
        populations = tuple(dict.fromkeys((*populations, *_embedded_populations(result))))
        hashes = tuple(dict.fromkeys(d for _, d in embedded_sources(result)))
        if kind == "json":
            verdict, verdict_order = str(result["verdict"])[:60], 0
    return ReportEvidence(
        path=name,
        sha256=digest,
        size_bytes=size,
        format=kind,
        fields={field_name: fields[field_name] for field_name in FIELD_UNITS if field_name in fields},
        verdict=verdict,
        verdict_order=verdict_order,
        populations=populations,
        percentiles_of_expected=said.percentiles_of_expected,
        averages=said.averages,
        failures=failures,
        sha256_named=hashes,
        embedded=result,
    )


def _header(result: Mapping[str, Any]) -> Mapping[str, Any]:
    header = result.get("header")
    return header if isinstance(header, dict) else {}


def _embedded_fields(result: Mapping[str, Any]) -> dict[str, ReportedField]:
    found = {}
    for name in FIELD_UNITS:
        cell = _header(result).get(name)
        if isinstance(cell, dict):
            found[name] = _embedded_field(name, cell)
    return found


def _embedded_field(name: str, cell: Mapping[str, Any]) -> ReportedField:
    value = cell.get("value")
    number = float(value) if isinstance(value, int | float) and math.isfinite(value) else None
    reason = str(cell.get("reason") or "")
    status = cell.get("status")
    if status == "ok" and number is not None:
        answer: Any = "value"
    elif status == "n/a" and reason:
        answer = "none" if cell.get("answer") == "none" else "n/a"
    elif status == "not-identified":
        answer = "not-identified"
    else:
        answer = "placeholder"
    unit = str(cell.get("unit") or "")
    hosts = cell.get("hosts")
    detail = ""
    if name == "generator_cpu":
        cores = [h.get("cores") for h in hosts if isinstance(h, dict)] if isinstance(hosts, list) else []
        detail = (
            f"highest 5 s, {len(cores)} hosts, of {', '.join(str(c) for c in cores)} cores" if cores else ""
        )
    return ReportedField(
        name=name,
        label=str(cell.get("label") or name)[:120],
        raw=f"{number:g} {unit}" if number is not None else reason[:300],
        where=f"header.{name}",
        order=0,
        how="json",
        answer=answer,
        value=number,
        unit=unit,
        reason=reason or ("" if number is not None else "it has no value"),
        detail=detail,
    )


def _embedded_populations(result: Mapping[str, Any]) -> list[str]:
    cells = (_header(result).get(name) for name in FIELD_UNITS)
    return [
        str(c["population"])
        for c in cells
        if isinstance(c, dict) and c.get("population") in ("offered", "sent")
    ]


def embedded_sources(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(path, SHA-256) of the inputs that an embedded result names."""
    sources = result.get("sources")
    return [
        (one["path"], one["sha256"])
        for one in (sources if isinstance(sources, list) else [])
        if isinstance(one, dict) and isinstance(one.get("path"), str) and isinstance(one.get("sha256"), str)
    ]
