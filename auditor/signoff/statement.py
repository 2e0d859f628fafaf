"""The sign-off as an in-toto Statement v1 with the test-result predicate: what it says, and how it is written.

Everything but name, time and options can be recomputed from the run; those three are held by a digest over
the statement. That digest is no signature: whoever can write the file can write another. It is said in it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor.present.json_v1 import document, finite

if TYPE_CHECKING:
    from collections.abc import Mapping

    from auditor.engine.audit import Audit
    from auditor.engine.rule import RuleResult
    from auditor.report_lint.judge import ReportAudit

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
UNSIGNED = "unsigned: the statement holds digests, but no signature"


@dataclass(frozen=True)
class SignedWith:
    """What cannot be recomputed from the run: who, when, and with which options."""

    by: str
    time: str
    options: Mapping[str, Any]


def build(audit: Audit, report: ReportAudit | None, signed: SignedWith, rules_digest: str) -> dict[str, Any]:
    """The whole statement as plain JSON values."""
    result = finite(document(audit))
    warned = [r.id for r in audit.results if r.outcome == "waived" or _failed_softly(r)]
    settings = result["policy"]["settings"]
    predicate: dict[str, Any] = {
        "result": "WARNED" if warned else "PASSED",
        "configuration": [
            {
                "name": "policy",
                "digest": {"sha256": result["policy"]["digest"]},
                "annotations": {s["name"]: s["value"] for s in settings},
            },
            {"name": "rules", "digest": {"sha256": rules_digest}},
        ],
        "passedTests": [r.id for r in audit.results if r.outcome == "pass"],
        "warnedTests": warned,
        "failedTests": [r.id for r in audit.results if r.outcome == "fail" and r.severity == "invalid"],
        "verdict": audit.verdict,
        "verdictWords": audit.verdict_words,
        "header": result["header"],
        "outcomes": _outcomes(audit.results),
        "waivers": _waivers(audit),
        "report": None
        if report is None
        else {"accepted": report.accepted, "outcomes": _outcomes(report.results)},
        "options": dict(signed.options),
        "signedBy": signed.by,
        "time": signed.time,
        "tool": {"name": "k6-auditor", "version": audit.tool_version},
        "semanticsVersion": audit.semantics_version,
        "signature": UNSIGNED,
    }
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": _subjects(audit, report),
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate,
    }
    plain = json.loads(json.dumps(statement, allow_nan=False))
    plain["predicate"]["statementDigest"] = {"sha256": digest(plain)}
    return dict(plain)


def _failed_softly(result: RuleResult) -> bool:
    return result.outcome == "fail" and result.severity != "invalid"


def _outcomes(results: tuple[RuleResult, ...]) -> dict[str, str]:
    return {r.id: f"fail:{r.severity}" if r.outcome == "fail" else r.outcome for r in results}


def _subjects(audit: Audit, report: ReportAudit | None) -> list[dict[str, Any]]:
    found = []
    if report is not None:
        found.append(_subject(report.report.path, report.report.sha256, "report"))
    return [*found, *(_subject(s.path, s.sha256, "input") for s in audit.evidence.sources)]


def _subject(name: str, sha256: str, role: str) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": sha256}, "annotations": {"role": role}}


def _waivers(audit: Audit) -> list[dict[str, Any]]:
    return [
        {
            "rule": result.id,
            "reason": waiver.reason,
            "owner": waiver.owner,
            "expires": waiver.expires,
            "scope": str(waiver.scope),
            "covers": finding.message if finding is not None else result.reason,
        }
        for result in audit.results
        for finding, waiver in result.waived
    ]


def digest(statement: Mapping[str, Any]) -> str:
    """SHA-256 of the statement without its own digest, in one canonical form."""
    predicate = {k: v for k, v in statement["predicate"].items() if k != "statementDigest"}
    canonical = json.dumps(
        {**statement, "predicate": predicate}, sort_keys=True, separators=(",", ":"), ensure_ascii=True
    )
    return hashlib.sha256(canonical.encode()).hexdigest()


def render(statement: Mapping[str, Any]) -> str:
    """The statement as it is written: one form, so that every byte of the file counts."""
    return json.dumps(statement, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
