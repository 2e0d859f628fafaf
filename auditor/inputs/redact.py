"""Secrets are masked before a run's strings become evidence, so that no output can show or store them.

A mask carries a number, the same for the same secret: series that differ in a secret stay different series,
and a threshold still finds the tag it names.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import re
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from auditor.evidence import Tags

T = TypeVar("T")

_HINTS = (
    "@",
    "bearer",
    "basic",
    "eyj",
    "akia",
    "asia",
    "aroa",
    "aida",
    "token",
    "key",
    "secret",
    "pass",
    "pwd",
    "sig",
    "credential",
    "authorization",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "glsa_",
    "xox",
    "sk_live_",
    "aiza",
)
"""One of these, in lower case, is in every text that the patterns below match: most texts have none."""

_USERINFO = re.compile(r"(?<=://)(?!\[redacted-)[^\s/?#@\"'<>\\]+(?=@)")
_SCHEME = re.compile(r"\b(?P<scheme>bearer|basic)(?P<gap>\s+|%20)(?P<value>[A-Za-z0-9._~+/=-]{6,})", re.I)
_HEADER = re.compile(
    r"(?P<name>\bauthorization\\*[\"']?\s*[:=]\s*[\[\\\"']*(?:[A-Za-z-]+\s+(?=\S{6}))?)"
    r"(?P<value>(?!redacted-\d)[^\s\"'<>,;&\[\]{}\\]{8,})",
    re.I,
)
_KNOWN = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"eyJ[A-Za-z0-9_=-]{16,}(?:\.[A-Za-z0-9_=+/-]*)*"
    r"|(?:eyJ[A-Za-z0-9_=-]*\.){1,2}[A-Za-z0-9_=.-]{6,}"
    r"|(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}"
    r"|(?:gh[pos]_|github_pat_|glpat-|glsa_|sk_live_)[A-Za-z0-9_-]{16,}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}"
    r"|AIza[A-Za-z0-9_-]{30,}"
    r")"
)
_NAMED = re.compile(
    r"(?<![A-Za-z0-9_.\-\[\]%])(?P<name>[A-Za-z0-9_.\-\[\]%]{0,80}(?:token|key|secret|passw(?:or)?d|pwd|sig(?:nature)?"
    r"|credential)(?:%5D|\])?)(?P<mark>=\\*[\"']?|%3D|\\*[\"']\s?[:=]\s?\\*[\"']|:(?=[^\s/:]))"
    # In quotes a value ends with them; else with what ends a parameter. ":id", "{id}" and the like are names.
    r"(?P<value>(?<=[\"'])[^\"'\\\n]+|(?<![\"'])(?![:$\[*<{(])[^&#\s\"'<>{}|\\`]+)",
    re.I,
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_STRONG = {"token", "secret", "password", "passwd", "pwd", "signature"}
_IN_QUERY = _STRONG | {"key", "sig", "credential"}
_KEYS = ("apikey", "accesskey", "authkey", "secretkey", "privatekey", "subscriptionkey")
_PROSE = {"auth", "authentication", "authorization", "token", "tokens", "scheme", "header", "headers", "access"}


class Redactor:
    """Masks secrets; one for a run, so that one secret has one mask in all of its files."""

    def __init__(self) -> None:
        self._masks: dict[str, str] = {}

    def text(self, text: str) -> str:
        """The text with every secret in it masked; text without one is returned as it is."""
        if not _suspicious(text):
            return text
        if "\n" in text and len(text) > 1000:
            return "\n".join(self.text(line) for line in text.split("\n"))
        text = _USERINFO.sub(lambda m: self._mask(m[0]), text)
        text = _HEADER.sub(lambda m: m["name"] + self._mask(m["value"]), text)
        text = _SCHEME.sub(self._scheme, text)
        text = _NAMED.sub(self._named, text)
        return _KNOWN.sub(lambda m: self._mask(m[0]), text)

    def tags(self, tags: Tags) -> Tags:
        """A tag set with its secrets masked, those in a tag that is called "token" or the like included."""
        if not _suspicious("\0".join(part for tag in tags for part in tag)):
            return tags
        return tuple(sorted((self.text(key), self._tag(key, value)) for key, value in tags))

    def value(self, value: T) -> T:
        """Evidence with the secrets in all of its strings masked."""
        return self._within(value)  # type: ignore[no-any-return]

    def _within(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, tuple | list | frozenset):
            return type(value)(self._within(one) for one in value)
        if isinstance(value, dict):
            return {self._within(key): self._within(one) for key, one in value.items()}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            parts = {f.name: self._within(getattr(value, f.name)) for f in dataclasses.fields(value)}
            return dataclasses.replace(value, **parts)
        return value

    def _tag(self, key: str, value: str) -> str:
        masked = self.text(value)
        if masked == value and value and _is_secret_name(key, _STRONG) and value[0] not in ":{$<[*(":
            return self._mask(value)
        return masked

    def _mask(self, secret: str) -> str:
        if secret.startswith("[redacted-"):
            return secret
        return self._masks.setdefault(secret, f"[redacted-{len(self._masks) + 1}]")

    def _scheme(self, found: re.Match[str]) -> str:
        value = found["value"]
        if value.lower() in _PROSE or (found["scheme"].lower() == "basic" and not _is_basic(value)):
            return found[0]
        return f"{found['scheme']}{found['gap']}{self._mask(value)}"

    def _named(self, found: re.Match[str]) -> str:
        words = _IN_QUERY if found["mark"].startswith(("=", "%")) else _STRONG
        if not _is_secret_name(found["name"], words):
            return found[0]
        value, rest = found["value"], ""
        if found["mark"] == ":":  # one of several tags in the filter of a threshold
            value, comma, after = value.partition(",")
            rest = comma + self.text(after)
        return f"{found['name']}{found['mark']}{self._mask(value)}{rest}"


class Verbatim(Redactor):
    """Masks nothing: for a copy that says what its original says."""

    def text(self, text: str) -> str:
        return text

    def tags(self, tags: Tags) -> Tags:
        return tags

    def value(self, value: T) -> T:
        return value


def _suspicious(text: str) -> bool:
    low = text.lower()
    return any(hint in low for hint in _HINTS)


def _is_secret_name(name: str, words: set[str]) -> bool:
    """Whether the last word of a name ("X-Amz-Signature", "apiKey") is one for a secret; "monkey" is not."""
    found = _WORD.findall(name.replace("%5D", "").replace("%5d", ""))
    last = found[-1].lower() if found else ""
    return last in words or last.endswith((*_STRONG, *_KEYS)) or "".join(found[-2:]).lower() in _KEYS


def _is_basic(value: str) -> bool:
    """Whether it is "user:password" in base64, and not a word after "Basic"."""
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in plain and all(32 <= c < 127 or c >= 128 for c in plain)
