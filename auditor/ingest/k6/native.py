"""Compiled code that is kept: made once by `scan_kernel`, loaded ever after by llvmlite alone, in 50 ms.

It is kept beside this file, else in the user's cache folder, else where K6_AUDIT_CACHE_DIR points: never where
others may write. The name says what it was made from and for (source, llvmlite, processor); its first bytes are
a digest of the rest, so that a file that is cut off is made anew.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import stat
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CACHE_VARIABLE = "K6_AUDIT_CACHE_DIR"
_DIGEST_BYTES = 32
_HERE = Path(__file__).parent
_MADE_FROM = ("scan_kernel.py", "scan_layout.py")
"""The second says where the first finds its state."""
_loaded: list[Any] = []
"""The engine, which owns the code; it lives as long as the process."""


_loading = threading.Lock()


class Unavailable(Exception):
    """There is no compiled code: llvmlite or numba is missing, or there is nowhere to keep what they make."""


def load(names: tuple[str, ...], *, make: bool) -> list[Callable[[int], int]]:
    """The compiled functions; each takes an address and gives a number, and holds no lock while it runs.

    ``make``: compile them if they are not kept.

    Raises:
        Unavailable: if there is no compiled code and none can be made and kept.
    """
    if sys.byteorder != "little":
        raise Unavailable("the scanner is for little-endian machines")
    try:
        from llvmlite import binding
    except (ImportError, OSError) as problem:
        raise Unavailable(str(problem)) from problem
    with _loading:
        if not _loaded:
            _loaded.append(_engine(binding, make=make))
    return [_function(_loaded[0].get_function_address(name)) for name in names]


def _function(address: int) -> Callable[[int], int]:
    # numba's own convention: where the result goes, where an error goes (there are none), the arguments.
    native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)

    def call(arguments: int) -> int:
        result, error = ctypes.c_int64(), ctypes.c_void_p()
        if native(ctypes.byref(result), ctypes.byref(error), arguments):
            raise RuntimeError("compiled code failed")
        return result.value

    return call


def _engine(binding: Any, *, make: bool) -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    code = _kept_or_made(binding, make=make)
    target = binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
        codemodel="jitdefault"
    )
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), target)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def _kept_or_made(binding: Any, *, make: bool) -> bytes:
    made_for = "\0".join(
        (
            *(hashlib.sha256((_HERE / name).read_bytes()).hexdigest() for name in _MADE_FROM),
            ".".join(str(n) for n in binding.llvm_version_info),
            binding.get_process_triple(),
            binding.get_host_cpu_name(),
            binding.get_host_cpu_features().flatten(),
        )
    )
    name = f"scan-{hashlib.sha256(made_for.encode()).hexdigest()[:24]}.o"
    for folder in _folders():
        if (code := _kept(folder / name)) is not None:
            return code
    if not make:
        raise Unavailable("nothing has been compiled yet")
    places = [folder for folder in _folders() if _writable(folder)]
    if not places:
        raise Unavailable(f"no folder where compiled code can be kept; {CACHE_VARIABLE} may name one")
    try:
        from auditor.ingest.k6.scan_kernel import compiled
    except (ImportError, OSError) as problem:
        raise Unavailable(str(problem)) from problem
    code = compiled()
    _keep(places[0] / name, code)
    return code


def _folders() -> Iterator[Path]:
    if named := os.environ.get(CACHE_VARIABLE):
        yield Path(named)
        return
    yield _HERE / "__pycache__"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(home):
        yield Path(home) / "k6-audit"


def _kept(path: Path) -> bytes | None:
    """What is kept there, if it is whole and nobody else could have put it there."""
    try:
        with path.open("rb") as file:
            owner = os.fstat(file.fileno())
            data = file.read()
    except OSError:
        return None
    others_may_write = owner.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if others_may_write or (hasattr(os, "getuid") and owner.st_uid not in (0, os.getuid())):
        return None
    code = data[_DIGEST_BYTES:]
    return code if hashlib.sha256(code).digest() == data[:_DIGEST_BYTES] else None


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _keep(path: Path, code: bytes) -> None:
    """Whole or not at all: two processes may do this at once."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".scan-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(code).digest() + code)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
