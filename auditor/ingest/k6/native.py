"""Compiled code that is kept: `scan_kernel` makes it once with numba, llvmlite loads it from then on (50 ms).

It is kept beside this file, else in the user's cache folder, or where K6_AUDIT_CACHE_DIR points. A file that
others may write is not used. The name says what the code was made from and for (source, numba, llvmlite,
processor); the first bytes are a digest of that and of the code, so that damaged code, or code under the name
of other code, is made anew.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import stat
import sys
import tempfile
import threading
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CACHE_VARIABLE = "K6_AUDIT_CACHE_DIR"
_DIGEST_BYTES = 32
_HERE = Path(__file__).parent
_BESIDE = _HERE / "__pycache__"
_MADE_FROM = ("scan_kernel.py", "scan_layout.py")
"""The second says where the first finds its state."""
_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
"""An address in, a number out; ctypes holds no lock while one runs."""


class Unavailable(Exception):
    """There is no compiled code; the text says why."""


class _Loaded:
    """What this process has loaded, or why it cannot."""

    lock = threading.Lock()
    engine: Any = None
    """It owns the code and lives as long as the process."""
    failure: Unavailable | None = None
    """Of making it: that is not tried twice."""


def load(names: tuple[str, ...], *, make: bool) -> list[Callable[[int], int]]:
    """The compiled functions; each takes an address and gives a number, and holds no lock while it runs.

    ``make``: compile them if they are not kept.

    Raises:
        Unavailable: if there is no compiled code and none can be made and kept.
    """
    with _Loaded.lock:
        if _Loaded.engine is None:
            if _Loaded.failure is not None:
                raise _Loaded.failure
            try:
                _Loaded.engine = _engine(make=make)
            except Unavailable as problem:
                _Loaded.failure = problem if make else None
                raise
        return [_CALLBACK(_Loaded.engine.get_function_address(name)) for name in names]


def _engine(*, make: bool) -> Any:
    if sys.byteorder != "little":
        raise Unavailable("this machine is big-endian")
    try:
        numba_version = metadata.version("numba")
        from llvmlite import __version__ as llvmlite_version
        from llvmlite import binding
    except (ImportError, OSError) as problem:
        raise _unusable(problem) from problem
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    made_for = "\0".join(
        (
            *(hashlib.sha256((_HERE / name).read_bytes()).hexdigest() for name in _MADE_FROM),
            numba_version,
            llvmlite_version,
            binding.get_process_triple(),
            binding.get_host_cpu_name(),
            binding.get_host_cpu_features().flatten(),
        )
    )
    code = _kept_or_made(made_for.encode(), make=make)
    target = binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
        codemodel="jitdefault"
    )
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), target)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def _unusable(problem: Exception) -> Unavailable:
    if isinstance(problem, ModuleNotFoundError):  # so is metadata's PackageNotFoundError
        return Unavailable("numba is not installed")
    first_line = (str(problem).splitlines() or [""])[0]
    return Unavailable(f"numba cannot be used here ({type(problem).__name__}: {first_line})")


def _kept_or_made(made_for: bytes, *, make: bool) -> bytes:
    name = f"scan-{hashlib.sha256(made_for).hexdigest()[:24]}.o"
    for folder in _folders():
        if (code := _kept(folder / name, made_for)) is not None:
            return code
    if not make:
        raise Unavailable("the scanner has not been compiled yet: the first larger file does that")
    place = next((folder for folder in _folders() if _writable(folder)), None)
    if place is None:
        raise Unavailable(f"no folder where compiled code can be kept: name one in {CACHE_VARIABLE}")
    try:
        from auditor.ingest.k6.scan_kernel import compiled

        code = compiled()
    except Exception as problem:  # of numba or LLVM, of any kind: the plain reader says the same, more slowly
        raise _unusable(problem) from problem
    _keep(place / name, made_for, code)
    return code


def _folders() -> Iterator[Path]:
    if named := os.environ.get(CACHE_VARIABLE):
        yield Path(named)
        return
    yield _BESIDE
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(home):
        yield Path(home) / "k6-audit"


def _digest(made_for: bytes, code: bytes) -> bytes:
    return hashlib.sha256(made_for + b"\0" + code).digest()


def _kept(path: Path, made_for: bytes) -> bytes | None:
    """What is kept there, if it is whole, made for this, and nobody else could have put it there."""
    try:
        with path.open("rb") as file:
            owner = os.fstat(file.fileno())
            data = file.read()
    except OSError:
        return None
    others_may_write = owner.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if hasattr(os, "getuid") and (others_may_write or owner.st_uid not in (0, os.getuid())):
        return None
    code = data[_DIGEST_BYTES:]
    return code if _digest(made_for, code) == data[:_DIGEST_BYTES] else None


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _keep(path: Path, made_for: bytes, code: bytes) -> None:
    """Whole or not at all: two processes may do this at once. What cannot be kept is used all the same."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".scan-")
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_digest(made_for, code) + code)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
