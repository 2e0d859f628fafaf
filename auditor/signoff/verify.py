"""Read a sign-off back and compare it, member by member, with what the run gives now."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor import SEMANTICS_VERSION
from auditor.signoff.statement import PREDICATE_TYPE, STATEMENT_TYPE, SignedWith, digest, render

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Difference:
    """One thing that is not as it was signed."""

    what: str
    said: str
    of_subject: bool = False
    """Whether a file that was signed is missing, changed or additional."""


class NoStatement(Exception):
    """The file is not a sign-off, or not one of this form."""


@dataclass(frozen=True)
class Read:
    """A statement as read from its file, with what is wrong with it in itself."""

    statement: dict[str, Any]
    signed: SignedWith
    differences: tuple[Difference, ...]

    @property
    def inputs(self) -> dict[str, str]:
        return _subjects(self.statement, "input")

    @property
    def reports(self) -> dict[str, str]:
        return _subjects(self.statement, "report")


def read(data: bytes) -> Read:
    """Read a statement.

    Raises:
        NoStatement: if it is not a sign-off.
    """
    try:
        text = data.decode("utf-8")
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoStatement(f"not JSON: {error}") from error
    predicate = found.get("predicate") if isinstance(found, dict) else None
    if not isinstance(predicate, dict) or found.get("_type") != STATEMENT_TYPE:
        raise NoStatement("not an in-toto Statement v1")
    if found.get("predicateType") != PREDICATE_TYPE:
        raise NoStatement("its predicate is not a test result")
    options = predicate.get("options")
    if not isinstance(options, dict):
        raise NoStatement("it has no options to recompute with")
    try:
        rendered = render(found)
        own = digest(found)
    except (TypeError, ValueError) as error:
        raise NoStatement(f"not a statement of this form: {error}") from error
    differences = []
    stated = predicate.get("statementDigest")
    if stated != {"sha256": own}:
        differences.append(Difference("statement", "it was changed after it was written (its digest differs)"))
    elif rendered != text:
        differences.append(Difference("statement", "its bytes are not as they were written"))
    signed = SignedWith(str(predicate.get("signedBy")), str(predicate.get("time")), options)
    return Read(found, signed, tuple(differences))


def _subjects(statement: Mapping[str, Any], role: str) -> dict[str, str]:
    found = {}
    subjects = statement.get("subject")
    for one in subjects if isinstance(subjects, list) else []:
        if (
            isinstance(one, dict)
            and one.get("annotations") == {"role": role}
            and isinstance(one.get("digest"), dict)
        ):
            found[str(one.get("name"))] = str(one["digest"].get("sha256"))
    return found


def inputs_now(signed: Mapping[str, str], now: Mapping[str, str], kind: str = "input") -> list[Difference]:
    """What is missing, changed or added."""
    found = [
        Difference(
            f"{kind} {name}",
            "missing" if name not in now else "changed: other bytes than were signed",
            of_subject=True,
        )
        for name, sha256 in signed.items()
        if now.get(name) != sha256
    ]
    extra = [
        Difference(f"{kind} {name}", "not among what was signed", of_subject=True)
        for name in now
        if name not in signed
    ]
    return [*found, *extra]


def other_semantics(statement: Mapping[str, Any]) -> Difference | None:
    """A statement made under other definitions: its figures are not those computed here."""
    made = statement["predicate"].get("semanticsVersion")
    if type(made) is not int or made == SEMANTICS_VERSION:
        return None
    way_out = "sign off again" if made < SEMANTICS_VERSION else "verify it with the version that made it"
    return Difference(
        "other rules",
        f"made under semantics {made}; this version computes semantics {SEMANTICS_VERSION}: {way_out}",
    )


def other_rules(statement: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    """Another tool, semantics or set of rules: then other outcomes are no sign of tampering."""
    before, after = statement["predicate"], now["predicate"]
    found = []
    for name, label in (("tool", "version"), ("semanticsVersion", "semantics")):
        if before.get(name) != after[name]:
            found.append(
                Difference("other rules", f"{label} {_short(before.get(name))}, now {_short(after[name])}")
            )
    if _configuration(before, "rules") != _configuration(after, "rules"):
        found.append(Difference("other rules", "the rule files are not those that it was signed with"))
    return found


def _configuration(predicate: Mapping[str, Any], name: str) -> Any:
    entries = predicate.get("configuration")
    for one in entries if isinstance(entries, list) else []:
        if isinstance(one, dict) and one.get("name") == name:
            return one
    return None


def expired(statement: Mapping[str, Any], today: datetime.date) -> list[Difference]:
    """Waivers that have run out since."""
    found = []
    waivers = statement["predicate"].get("waivers")
    for one in waivers if isinstance(waivers, list) else []:
        if not isinstance(one, dict):
            continue
        try:
            over = datetime.date.fromisoformat(str(one.get("expires"))) < today
        except ValueError:
            over = True
        if over:
            found.append(
                Difference(
                    f"waiver of {one.get('rule')}", f"expired on {one.get('expires')} ({one.get('owner')})"
                )
            )
    return found


_LABELS = {
    "outcomes": "rule",
    "header": "header",
    "waivers": "waiver",
    "configuration": "policy",
    "report": "report",
    "options": "options",
}


def members(statement: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    """Every member of the predicate that is not what the run gives now; rules and digest are told elsewhere."""
    before, after = dict(statement["predicate"]), dict(now["predicate"])
    found: list[Difference] = []
    if _configuration(before, "policy") != _configuration(after, "policy"):
        found += [
            Difference(f"policy {place}", f"signed {_short(a)}, now {_short(b)}")
            for place, a, b in _walk(_configuration(before, "policy"), _configuration(after, "policy"), "")
        ]
    entries = before.get("configuration")
    if not isinstance(entries, list) or len(entries) != len(after["configuration"]):
        found.append(Difference("policy", "the entries differ from those written"))
    for name in dict.fromkeys((*after, *before)):
        if name in ("configuration", "statementDigest", "tool", "semanticsVersion"):
            continue
        if name == "report" and after["report"] is None:
            continue  # told by its subject
        label = _LABELS.get(name, name)
        for place, a, b in _walk(before.get(name), after.get(name), ""):
            found.append(Difference(f"{label} {place}".strip(), f"signed {_short(a)}, now {_short(b)}"))
    return found


def _walk(a: Any, b: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in dict.fromkeys((*a, *b)):
            yield from _walk(a.get(key), b.get(key), f"{place}.{key}".lstrip("."))
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _walk(x, y, f"{place}.{i}".lstrip("."))
    elif type(a) is not type(b) or a != b:
        yield place, a, b


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"
