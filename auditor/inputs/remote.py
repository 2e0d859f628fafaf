"""A folder or file behind a URL, with the methods of a Path that the readers use. It is never written to.

`upath` has them all, over fsspec. Four things are done here otherwise, for what is read is evidence:

- Whatever goes wrong on the way is an `AuditError` of one line. fsspec has many exceptions for a server that
  does not answer and for credentials that are refused, and takes each for "not there" where that is asked.
- A folder lists what lies in it, once. Object stores also list the empty object that stands for the folder.
- A name is only a name. In `upath`, a "::" in the name of an object begins another URL.
- Nothing shows credentials that a URL contains.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import posixpath
import re
import stat
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote, unquote

from upath.extensions import ProxyUPath

from auditor.errors import AccessRefused, AuditError
from auditor.inputs.redact import Redactor
from auditor.inputs.urls import AZURE, INSTALL, WEB, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CONNECT_S = 5.0
ANSWER_S = 20.0
"""How long to wait for a server that sends nothing."""
LOOK_S = 60.0
FETCH_S = 300.0
"""How long one look-up, or fetching one part of a file, may take, retries of the libraries included."""
ATTEMPTS = 2
FIRST_BYTES = 256 << 10
"""Bytes of the first range fetched, enough to recognise a file. Each later range is four times as long, up to
`MOST_BYTES`."""
MOST_BYTES = 8 << 20


for _library in ("asyncio", "azure", "gcsfs"):
    # Where nobody listens to a log, its warnings and tracebacks would go to standard error.
    logging.getLogger(_library).addHandler(logging.NullHandler())


class Remote(ProxyUPath):
    """A folder or file behind a URL."""

    __slots__ = ("_known",)
    _known: Mapping[str, Any]
    """Type and size, as fsspec gave them."""

    @classmethod
    def at(cls, url: str) -> Remote:
        """The place that a URL names, which need not exist.

        Raises:
            AuditError: if its protocol lacks a package, or the URL is none of it.
        """
        protocol = url.partition("://")[0]
        with _told(shown(url), protocol):
            found = cls(url, **_options(protocol))
            found.fs.invalidate_cache()  # of an earlier command in this process
            if protocol in ("s3", "s3a"):
                found.fs.retries = 1  # botocore has tried again already
            return found

    # --- names -------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return shown(super().__str__()).rstrip("/")

    def __repr__(self) -> str:
        return f"Remote({str(self)!r})"

    def __lt__(self, other: object) -> bool:
        return self._order() < other._order() if isinstance(other, Remote) else NotImplemented

    def _order(self) -> list[str]:
        return (unquote(self._key) if self._on_the_web else self._key).split("/")

    @property
    def _on_the_web(self) -> bool:
        return self.protocol in WEB

    @property
    def _key(self) -> str:
        """The path as fsspec lists it, without what a URL may have after its path, or a slash at its end."""
        key = str(self.path)
        if self._on_the_web:
            key = key.partition("?")[0].partition("#")[0]
        return key.rstrip("/")

    @property
    def name(self) -> str:
        name = posixpath.basename(self._key)
        return unquote(name) if self._on_the_web else name

    @property
    def parent(self) -> Remote:
        head = posixpath.dirname(self._key)
        is_top = "://" not in head if self._on_the_web else not head.strip("/")
        return self if is_top else self._at_key(head)

    @property
    def parents(self) -> Sequence[Remote]:
        found: list[Remote] = []
        place = self
        while (above := place.parent) is not place:
            found.append(above)
            place = above
        return found

    def __truediv__(self, name: str) -> Remote:  # type: ignore[override]  # nothing else is joined
        key = quote(name) if self._on_the_web else name
        return self._at_key(f"{self._key}/{key.lstrip('/')}")

    def resolve(self, strict: bool = False) -> Remote:
        return self

    def _at_key(self, key: str) -> Remote:
        if "::" in key:
            raise AuditError(
                "a name with :: in it", where=f"{self}", fix="copy the run to a folder and name that"
            )
        return self._from_upath(self.__wrapped__.with_segments(key))

    # --- what is there -----------------------------------------------------------------------------------

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        return self._look() is not None

    def is_dir(self) -> bool:
        known = self._look()
        return known is not None and known["type"] == "directory"

    def is_file(self) -> bool:
        known = self._look()
        return known is not None and known["type"] == "file"

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Type and size; of the rest nothing is known."""
        known = self._look()
        if known is not None and known["type"] == "file" and known.get("size") is None:
            known = self._look(again=True)  # a web server's list of a folder has no sizes
        if known is None:
            raise self.missing()
        if known["type"] == "file" and known.get("size") is None:
            raise AuditError(
                "the server does not give its size", where=str(self), fix="download it and name the local file"
            )
        kind = stat.S_IFREG if known["type"] == "file" else stat.S_IFDIR
        return os.stat_result((kind | 0o444, 0, 0, 1, 0, 0, int(known.get("size") or 0), 0, 0, 0))

    def missing(self) -> AuditError:
        """The error for a missing object: no such bucket, or no such file or folder."""
        key = self._key.lstrip("/")
        if not self._on_the_web and self.protocol != "memory":
            bucket = key.partition("/")[0]
            try:
                self.fs.info(bucket, **_within(self.fs, LOOK_S))
            except FileNotFoundError:
                return AuditError("no such bucket", where=str(self), fix="check its name, and the account")
            except Exception:
                pass  # who may read a folder need not be allowed to look at the bucket
        return AuditError("no such file or folder", where=str(self))

    def iterdir(self) -> Iterator[Remote]:
        with _told(str(self), self.protocol):
            place = self.path if self._on_the_web else self._key
            listed = self.fs.ls(place, detail=True, **_within(self.fs, LOOK_S))
        seen = set()
        for entry in listed:
            name = str(entry["name"])
            if entry["type"] == "directory":
                name = name.rstrip("/")
            within = name.removeprefix(f"{self._key}/")
            if within == name or not within or "/" in within or within in (".", "..") or within in seen:
                continue  # the folder itself, or what a page links to
            if self._on_the_web and ("?" in within or "#" in within):
                continue
            seen.add(within)
            child = self._at_key(f"{self._key}/{within}")
            child._known = {"type": entry["type"], "size": entry.get("size"), "name": name}
            yield child

    def _look(self, *, again: bool = False) -> Mapping[str, Any] | None:
        """What fsspec says of it; None if it is not there."""
        known: Mapping[str, Any] | None = None if again else getattr(self, "_known", None)
        if known is None:
            with _told(str(self), self.protocol):
                try:
                    place = self.path if self._on_the_web else self._key
                    found = dict(self.fs.info(place, **_within(self.fs, LOOK_S)))
                except (FileNotFoundError, NotADirectoryError) as error:
                    # fsspec says so of every failure on the web; what failed is its cause.
                    status = _status(error)
                    if self._on_the_web and error.__cause__ is not None and status not in (404, 410):
                        raise error.__cause__ from None
                    return None
            if self._on_the_web:
                found["type"] = "directory" if str(found.get("url", "")).endswith("/") else "file"
            self._known = known = found
        return known

    # --- bytes -------------------------------------------------------------------------------------------

    def open(self, mode: str = "rb", buffering: int = -1) -> BinaryIO:  # type: ignore[override]
        """The file's bytes; ``buffering`` 0 for a raw file."""
        if mode != "rb":
            raise io.UnsupportedOperation("a URL is only read, in binary")
        raw = _SequentialBody(self) if self._on_the_web else _RangedObject(self)
        return raw if buffering == 0 else io.BufferedReader(raw, FIRST_BYTES)  # type: ignore[return-value]

    def read_bytes(self) -> bytes:
        with self.open() as file:
            return file.read()

    def read_text(
        self, encoding: str | None = None, errors: str | None = None, newline: str | None = None
    ) -> str:
        with io.TextIOWrapper(
            self.open(), encoding=encoding or "utf-8", errors=errors, newline=newline
        ) as file:
            return file.read()


class _Raw(io.RawIOBase):
    """A file that is read forwards, with few steps back."""

    def __init__(self, place: Remote) -> None:
        self._place = place
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size()}[whence] if whence else 0
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        with _told(str(self._place), self._place.protocol):
            data = self._bytes(len(view))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _size(self) -> int:
        return self._place.stat().st_size

    def _bytes(self, size: int) -> bytes | memoryview:
        """At most ``size`` bytes from where it stands; none at the end."""
        raise NotImplementedError


class _RangedObject(_Raw):
    """An object of an object store, read in ranges: a lost connection costs one; none is kept open."""

    def __init__(self, place: Remote) -> None:
        super().__init__(place)
        self._block = b""
        self._begins = 0
        self._step = FIRST_BYTES
        self._end = self._size()

    def _bytes(self, size: int) -> bytes | memoryview:
        if self._at >= self._end:
            return b""
        ends = self._begins + len(self._block)
        if not self._begins <= self._at < ends:
            if self._at != ends:
                self._step = FIRST_BYTES  # not read on from there
            until = min(self._at + max(self._step, size), self._end)
            self._block = self._fetch(self._at, until)
            if len(self._block) != until - self._at:
                raise AuditError("it was changed while it was read", where=str(self._place), fix="run it again")
            self._begins = self._at
            self._step = min(4 * self._step, MOST_BYTES)
        begin = self._at - self._begins
        return memoryview(self._block)[begin : begin + size]

    def _fetch(self, start: int, end: int) -> bytes:
        fs, key = self._place.fs, self._place._key
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return bytes(fs.cat_file(key, start=start, end=end, **_within(fs, FETCH_S)))
            except Exception:
                if attempt == ATTEMPTS:
                    raise
        raise AssertionError("it returns or raises")


class _SequentialBody(_Raw):
    """An HTTP body read sequentially. Seeking backwards repeats the request with a Range header; if the server
    ignores that, the body is read again from its start."""

    def __init__(self, place: Remote) -> None:
        super().__init__(place)
        self._stream: Any = None
        self._stands = 0
        self._knows_ranges = True

    def _bytes(self, size: int) -> bytes:
        ahead = self._at - self._stands
        if self._stream is None or ahead < 0 or (ahead > FIRST_BYTES and self._knows_ranges):
            self._ask()
        while self._stands < self._at and self._read(min(self._at - self._stands, MOST_BYTES)):
            pass
        data = self._read(size) if self._stands == self._at else b""
        if not data and size and self._stands < self._size():
            raise AuditError("it was changed while it was read", where=str(self._place), fix="run it again")
        return data

    def _ask(self) -> None:
        self._let_go()
        fs, headers = self._place.fs, {}
        if self._at:
            headers = {"headers": {**fs.kwargs.get("headers", {}), "Range": f"bytes={self._at}-"}}
        self._stream = fs.open(self._place.path, "rb", block_size=0, size=self._size(), **headers)
        self._knows_ranges = not self._at or self._stream.r.status == 206
        self._stands = self._at if self._knows_ranges else 0

    def _read(self, size: int) -> bytes:
        data = bytes(self._stream.read(size))
        self._stands += len(data)
        return data

    def _let_go(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._let_go()
        super().close()


# --- settings and failures ---------------------------------------------------------------------------------


def _options(protocol: str) -> dict[str, Any]:
    """Time limits for the libraries, which otherwise wait for minutes. fsspec's own configuration wins."""
    from fsspec.config import conf

    if protocol in ("s3", "s3a"):
        config = {
            "connect_timeout": CONNECT_S,
            "read_timeout": ANSWER_S,
            "retries": {"mode": "standard", "total_max_attempts": ATTEMPTS},
        }
        return {"config_kwargs": {**config, **conf.get("s3", {}).get("config_kwargs", {})}}
    if protocol in WEB:
        import aiohttp

        client = {"timeout": aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=ANSWER_S)}
        own = conf.get(protocol, {})
        return {
            "client_kwargs": {**client, "trust_env": True, **own.get("client_kwargs", {})},
            # The bytes as they lie there: a digest is taken of them.
            "headers": {"Accept-Encoding": "identity", **own.get("headers", {})},
        }
    return {}


def _within(fs: Any, seconds: float) -> dict[str, float]:
    """What bounds a call in time, where fsspec can: in those that wait in a thread of its own."""
    return {"timeout": seconds} if fs.async_impl else {}


@contextlib.contextmanager
def _told(place: str, protocol: str) -> Iterator[None]:
    """Turn any exception into a one-line AuditError. The exception is not chained: it may show credentials."""
    try:
        yield
    except AuditError:
        raise
    except Exception as error:
        raise _explained(error, place, protocol) from None


_NO_CREDENTIALS = {
    "NoCredentialsError",
    "PartialCredentialsError",
    "CredentialRetrievalError",
    "ProfileNotFound",
    "DefaultCredentialsError",
}
_SLOW = {"TimeoutError", "ConnectTimeoutError", "ReadTimeoutError", "FSTimeoutError", "ServerTimeoutError"}
_UNREACHABLE = {"ConnectionError", "HTTPClientError", "ClientConnectionError", "gaierror"}


def _explained(error: BaseException, place: str, protocol: str) -> AuditError:
    """What went wrong and what fixes it. The libraries' exceptions are told by name: not all are installed."""

    def one_line(what: str, fix: str = "") -> AuditError:
        return AuditError(what, where=place, fix=fix)

    kinds = {kind.__name__ for one in _chain(error) for kind in type(one).__mro__}
    status = _status(error)
    if isinstance(error, ImportError):
        return one_line(f"{protocol}:// needs a package that is not installed", _package_of(protocol))
    if kinds & _NO_CREDENTIALS or (protocol in AZURE and "connection_string" in str(error)):
        return one_line("no credentials were found", _credentials_of(protocol))
    if "PermissionError" in kinds or status in (401, 403):
        return AccessRefused(
            f"access was refused ({_library_message(error)})", where=place, fix=_credentials_of(protocol)
        )
    if kinds & _SLOW:
        return one_line("no answer in time", "check the address and the network")
    if kinds & _UNREACHABLE:
        return one_line(
            f"the server cannot be reached ({_library_message(error)})", "check the address and the network"
        )
    if status is not None:
        return one_line(f"the server answered with HTTP {status}", "check the address")
    if isinstance(error, FileNotFoundError):
        return one_line("no such file or folder")
    return one_line(f"cannot be read ({_library_message(error)})")


def _package_of(protocol: str) -> str:
    if protocol in ("gs", "gcs"):
        return "pip install gcsfs"
    return "pip install adlfs" if protocol in AZURE else INSTALL


def _credentials_of(protocol: str) -> str:
    if protocol in ("s3", "s3a"):
        return "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    if protocol in ("gs", "gcs"):
        return "set GOOGLE_APPLICATION_CREDENTIALS, or log in with gcloud"
    if protocol in AZURE:
        return "set AZURE_STORAGE_ACCOUNT_NAME and its credentials"
    return "check the address and the credentials"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(10):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _status(error: BaseException) -> int | None:
    """The HTTP status of an exception, if it has one."""
    found = (getattr(one, name, None) for one in _chain(error) for name in ("status", "code", "status_code"))
    return next((one for one in found if isinstance(one, int) and 400 <= one < 600), None)


def _library_message(error: BaseException) -> str:
    """The library's own message, on one line, with secrets masked."""
    words = re.sub(r"\b[a-z0-9+]+://[^\s\"'>)]+", lambda url: shown(url[0]), " ".join(str(error).split()))
    words = Redactor().text(words)
    return f"{type(error).__name__}: {words}"[:240] if words else type(error).__name__
