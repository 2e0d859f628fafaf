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
from auditor.inputs.urls import INSTALL, URL, WEB, credentials, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SCHEMES = ("file", "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "http", "https", "memory")
"""Protocols that only read bytes. fsspec has others that log in elsewhere, or run or unpack what they read."""
_CHAIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*::")
_WITHOUT_SLASH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_MAGIC = re.compile(r"[*?[]")
_MAGIC_ON_THE_WEB = re.compile(r"[*[]")
"""Protocols in whose URLs a question mark begins the query."""


def resolve(text: str) -> list[Path]:
    """The files and folders that are meant: one for a path or a URL, all that match for a pattern, sorted.

    A path is not looked for here, unless it may be a pattern. What is remote comes as
    `auditor.inputs.remote.Remote`, which has the methods of a Path that reading needs.

    Raises:
        AuditError: if a URL is not read by this version or not found, or nothing matches a pattern.
    """
    found = URL.match(text)
    if found is None:
        if _CHAIN.match(text) and not Path(text).exists():
            raise _chained(text)
        return _local(text, text)
    scheme, rest = found["scheme"].lower(), found["rest"]
    if "::" in rest or "::" in found["scheme"]:
        raise _chained(text)
    if scheme not in SCHEMES:
        raise AuditError(
            f"{scheme}:// is not read", where=shown(text), fix=f"use a path, or one of {', '.join(SCHEMES)}"
        )
    if scheme == "file":
        host, slash, path = rest.partition("/")
        if host not in ("", "localhost") or not slash:
            raise AuditError("a file URL of another host", where=shown(text), fix="write file:///folder/run")
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
                raise AuditError("named twice", where=str(one), fix="name each folder or file once")
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
            f"{len(found)} match, where one is needed",
            where=shown(text),
            fix=f"name one, such as {found[0]}",
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


def _chained(text: str) -> AuditError:
    outer = text.partition("::")[0]
    return AuditError("a chained URL is not read", where=f"{shown(outer)}::…", fix="name the run's own folder")


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
        raise AuditError("no host or bucket is named", where=shown(text), fix=f"write {scheme}://name/run")
    if scheme not in WEB and credentials(scheme, rest):
        raise AuditError(
            "credentials in a URL are not read: shells and logs keep them",
            where=shown(text),
            fix="leave them out, and set those of the environment",
        )
    if any(mark in credentials(scheme, rest) for mark in "/?#[]"):
        raise AuditError(
            "a password in a URL holds one of / ? # [ ]",
            where=shown(text),
            fix="write %2F for /, and so on",
        )
    try:
        from auditor.inputs.remote import Remote
    except ImportError as error:
        raise AuditError("URLs need more packages", where=shown(text), fix=INSTALL) from error
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
            fix="check the path; * stands for what is within one name",
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
