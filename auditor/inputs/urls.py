"""URLs of inputs, and how they may be printed: only a path is certain to hold no secret."""

from __future__ import annotations

import re

from auditor.inputs.redact import Redactor

WEB = ("http", "https")
AZURE = ("az", "abfs", "abfss")
INSTALL = 'pip install "k6-auditor[distributed]"'

URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.S)
_SECRET = re.compile(r"[^/@:]*:(?!\d{1,5}(?:/|$))[^@]*@(?:[^/@]*@)*")
"""User and password; a secret may hold a slash. Digits alone after the colon are a port."""
_USER = re.compile(r"(?:[^/@]*@)+")
_ACCOUNT = re.compile(r"^([^/@]+)@[^/]*")


def shown(url: str) -> str:
    """A URL as it may be printed: without user, password and query, and with secrets in its names masked."""
    found = URL.match(url)
    if found is None:
        return Redactor().text(url)
    scheme, rest = found["scheme"], found["rest"]
    rest = rest.removeprefix(credentials(scheme.lower(), rest))
    if scheme.lower() in AZURE:
        rest = _ACCOUNT.sub(r"\1", rest)  # left out as upath does; it looks like a user's name
    if scheme.lower() in WEB:
        rest, query, _ = rest.partition("?")
        rest = rest.partition("#")[0] + ("?…" if query else "")
    return Redactor().text(f"{scheme}://{rest}")


def credentials(scheme: str, rest: str) -> str:
    """User and password at the start of what follows the scheme."""
    found = _SECRET.match(rest)
    if found is None and scheme not in AZURE:  # there, container@account is an address
        found = _USER.match(rest)
    return found[0] if found else ""
