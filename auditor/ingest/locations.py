"""What names an input: a path, a URL that fsspec reads, or a pattern that stands for several of either.

Only a path is certain to hold no secret, so every URL that is shown goes through `shown` first.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote

from auditor.errors import AuditError
from auditor.ingest.redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SCHEMES = ("file", "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "http", "https", "memory")
"""Those that only read bytes. fsspec knows more: some log in elsewhere, some run or unpack what they read."""
WEB = ("http", "https")
AZURE = ("az", "abfs", "abfss")
INSTALL = 'pip install "k6-auditor[distributed]"'

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.S)
_CHAIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*::")
_WITHOUT_SLASH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_SECRET = re.compile(r"[^/@:]*:(?!\d{1,5}(?:/|$))[^@]*@(?:[^/@]*@)*")
"""User and password; a secret may hold a slash. Digits alone after the colon are a port."""
_USER = re.compile(r"(?:[^/@]*@)+")
_ACCOUNT = re.compile(r"^([^/@]+)@[^/]*")
_MAGIC = re.compile(r"[*?[]")
_MAGIC_ON_THE_WEB = re.compile(r"[*[]")
"""A question mark begins the query there."""


def resolve(text: str) -> list[Path]:
    """The files and folders that are meant: one for a path or a URL, all that match for a pattern, sorted.

    A path is not looked for here, unless it may be a pattern. What is remote comes as
    `auditor.ingest.remote.Remote`, which has the methods of a Path that reading needs.

    Raises:
        AuditError: if a URL is not read by this version or not found, or nothing matches a pattern.
    """
    found = _URL.match(text)
    if found is None:
        if _CHAIN.match(text) and not Path(text).exists():
            raise _chained(text)
        return _local(text, text)
    scheme, rest = found["scheme"].lower(), found["rest"]
    if "::" in rest or "::" in found["scheme"]:
        raise _chained(text)
    if scheme not in SCHEMES:
        raise AuditError(
            f"{scheme}:// is not read", where=shown(text), mend=f"use a path, or one of {', '.join(SCHEMES)}"
        )
    if scheme == "file":
        host, slash, path = rest.partition("/")
        if host not in ("", "localhost") or not slash:
            raise AuditError("a file URL of another host", where=shown(text), mend="write file:///folder/run")
        return _local(unquote(slash + path), text)
    return _remote(scheme, rest, text)


def resolve_all(texts: Iterable[str]) -> list[Path]:
    """The same of several, in the order in which they are named.

    Raises:
        AuditError: as `resolve` does, and if one is named twice: nothing may be counted twice.
    """
    found: list[Path] = []
    for text in texts:
        for one in resolve(text):
            if one in found:
                raise AuditError("named twice", where=str(one), mend="name each folder or file once")
            found.append(one)
    return found


def resolve_one(text: str) -> Path:
    """A single file or folder.

    Raises:
        AuditError: as `resolve` does, and if a pattern matches several.
    """
    found = resolve(text)
    if len(found) > 1:
        raise AuditError(
            f"{len(found)} match, one is wanted",
            where=shown(text),
            mend=f"name one, such as {found[0]}",
        )
    return found[0]


def policy_place(path: Path) -> Path | None:
    """Where the search for a policy file begins; not on the web, where some servers answer to every name."""
    return None if getattr(path, "protocol", "") in WEB else path


def is_url(path: Path | str) -> bool:
    """Whether a URL is written where only a path is taken; also after `Path` has made one slash of two."""
    return bool(_WITHOUT_SLASH.match(str(path))) or bool(_CHAIN.match(str(path)))


def is_pattern(text: str) -> bool:
    return bool(_MAGIC.search(text))


def shown(url: str) -> str:
    """A URL as it may be printed: without user, password and query, and with secrets in its names masked."""
    found = _URL.match(url)
    if found is None:
        return Redactor().text(url)
    scheme, rest = found["scheme"], found["rest"]
    rest = rest.removeprefix(_credentials(scheme.lower(), rest))
    if scheme.lower() in AZURE:
        rest = _ACCOUNT.sub(r"\1", rest)  # left out as upath does; it looks like a user's name
    if scheme.lower() in WEB:
        rest, query, _ = rest.partition("?")
        rest = rest.partition("#")[0] + ("?…" if query else "")
    return Redactor().text(f"{scheme}://{rest}")


def _credentials(scheme: str, rest: str) -> str:
    """User and password at the start of what follows the scheme."""
    found = _SECRET.match(rest)
    if found is None and scheme not in AZURE:  # there, container@account is an address
        found = _USER.match(rest)
    return found[0] if found else ""


def _chained(text: str) -> AuditError:
    outer = text.partition("::")[0]
    return AuditError("a chained URL is not read", where=f"{shown(outer)}::…", mend="name the run's own folder")


def _local(path: str, text: str) -> list[Path]:
    literal = Path(path)
    if not is_pattern(path) or literal.exists():
        return [literal]
    names = [part for part in literal.parts if part != literal.anchor]
    try:
        return _matched(Path(literal.anchor), names, text)
    except OSError as error:
        raise AuditError(f"cannot be read: {error.strerror}", where=shown(text)) from error


def _remote(scheme: str, rest: str, text: str) -> list[Path]:
    place, slash, key = rest.partition("/")
    if not place and scheme != "memory":
        raise AuditError("no host or bucket is named", where=shown(text), mend=f"write {scheme}://name/run")
    if scheme not in WEB and _credentials(scheme, rest):
        raise AuditError(
            "credentials in a URL are not read: shells and logs keep them",
            where=shown(text),
            mend="leave them out, and set those of the environment",
        )
    if any(mark in _credentials(scheme, rest) for mark in "/?#[]"):
        raise AuditError(
            "a password in a URL holds one of / ? # [ ]",
            where=shown(text),
            mend="write %2F for /, and so on",
        )
    try:
        from auditor.ingest.remote import Remote
    except ImportError as error:
        raise AuditError("URLs need more packages", where=shown(text), mend=INSTALL) from error
    on_the_web = scheme in WEB
    magic = _MAGIC_ON_THE_WEB if on_the_web else _MAGIC
    names = (key if on_the_web else key.rstrip("/")).split("/")
    first = len(names)
    if not (on_the_web and "?" in key):  # nothing is a pattern in a URL with a query
        first = next((i for i, name in enumerate(names) if magic.search(name)), first)
    base = Remote.at(f"{scheme}://{place}{slash}{'/'.join(names[:first])}")
    if first < len(names):
        pattern = [unquote(name) if on_the_web else name for name in names[first:] if name]
        return _matched(cast("Path", base), pattern, text)
    if not base.exists():
        raise base.missing()
    return [cast("Path", base)]


def _matched(base: Path, names: Sequence[str], text: str) -> list[Path]:
    """All that a pattern matches, name by name, so that only folders on its way are listed."""
    found = [base]
    for name in names:
        found = [one for place in found for one in _children(place, name)]
    found = sorted(one for one in found if one.exists())
    if not found:
        raise AuditError(
            "nothing matches",
            where=shown(text),
            mend="check the path; * stands for what is within one name",
        )
    return found


def _children(place: Path, name: str) -> list[Path]:
    literal = place / name
    if not is_pattern(name) or literal.exists():
        return [literal]
    if not place.is_dir():
        return []
    return [
        child
        for child in place.iterdir()
        if fnmatchcase(child.name, name) and (name.startswith(".") or not child.name.startswith("."))
    ]
