"""The scanner of canonical k6 lines as numba compiles it; `points_fast` tells what it is for and calls it.

Importing this takes numba and half a second: it is done once, to compile (`compiled`), and what was compiled is
kept and loaded without numba (`native`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import binding, ir
from numba import carray, extending

from auditor.ingest.k6.scan_layout import (
    DONE,
    LINES,
    METRIC,
    METRICS_FULL,
    ODD,
    ODD_BYTES,
    POS,
    ROWS,
    SEED,
    SHORTEST_LINE,
    SLOW,
    SLOW_BYTES,
    TAGSET,
    TAGSETS_FULL,
)

F = TypeVar("F", bound=Callable[..., Any])
Bytes = npt.NDArray[np.uint8]
types: Any = numba.types


def _native(function: F) -> F:
    """Compile a function when it is first called by another; it can raise nothing, not even a zero division."""
    native: F = numba.njit(error_model="numpy")(function)
    return native


# What stands between the parts of a line, in one array so that compiled code can compare against it.
_PARTS = (
    b'{"metric":"',
    b'","type":"Point","data":{"time":"',
    b'","value":',
    b',"tags":',
    b'{"type":"Point","data":{"time":"',
    b',"metadata":',
    b'},"metric":"',
    b"null",
)
_LITERALS = np.frombuffer(b"".join(_PARTS), dtype=np.uint8).copy()
_AT = tuple(sum(len(p) for p in _PARTS[:i]) for i in range(len(_PARTS)))
_HEAD, _KIND, _VALUE, _TAGS, _OLD_HEAD, _METADATA, _OLD_METRIC, _NULL = _AT
_HEAD_N, _KIND_N, _VALUE_N, _TAGS_N, _OLD_HEAD_N, _METADATA_N, _OLD_METRIC_N, _NULL_N = (len(p) for p in _PARTS)

_POWERS = np.array([10.0**i for i in range(23)])
"""Exact as float64: with a whole number below 2**53 one division or product rounds as `float` does."""


def _load_word(typing: Any, address: Any) -> Any:
    """Eight bytes from an address, aligned or not."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()), align=1)

    return types.uint64(types.int64), generate


def _load_byte(typing: Any, address: Any) -> Any:
    """One byte from an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = builder.load(builder.inttoptr(arguments[0], ir.IntType(8).as_pointer()), align=1)
        return builder.zext(found, ir.IntType(64))

    return types.int64(types.int64), generate


_word: Callable[[int], Any] = extending.intrinsic(_load_word)
_byte: Callable[[int], Any] = extending.intrinsic(_load_byte)


@_native
def _same(one: int, other: int, n: int) -> bool:
    """Whether n bytes at two addresses are equal; reads none outside of them."""
    if n < 8:
        for i in range(n):  # noqa: SIM110 (compiled code knows no generators)
            if _byte(one + i) != _byte(other + i):
                return False
        return True
    last = n - 8
    i = 0
    while i < last:
        if _word(one + i) != _word(other + i):
            return False
        i += 8
    return bool(_word(one + last) == _word(other + last))


@_native
def _hash(at: int, n: int, seed: int) -> Any:
    h = np.uint64(seed) ^ np.uint64(n)
    k = np.uint64(0x9E3779B97F4A7C15)
    i = 0
    while i + 8 <= n:
        h = (h ^ _word(at + i)) * k
        h ^= h >> np.uint64(29)
        i += 8
    rest = np.uint64(0)
    while i < n:
        rest = (rest << np.uint64(8)) | np.uint64(_byte(at + i))
        i += 1
    h = (h ^ rest) * k
    return h ^ (h >> np.uint64(32))


@_native
def _intern(at: int, n: int, seed: int, interned: Any) -> int:
    """The id of n bytes, a new one if they are new; -1 if there is no room for them."""
    arena, ends, hashes, table, used = interned
    h = _hash(at, n, seed)
    mask = len(table) - 1
    base = arena.ctypes.data
    slot = np.int64(h) & mask
    while True:
        known = int(table[slot])
        if known < 0:
            break
        if hashes[known] == h:
            start = ends[known]
            if ends[known + 1] - start == n and _same(base + start, at, n):
                return known
        slot = (slot + 1) & mask
    count = int(used[0])
    start = ends[count]
    if count + 1 >= len(hashes) or start + n > len(arena):
        return -1
    for i in range(n):
        arena[start + i] = _byte(at + i)
    ends[count + 1] = start + n
    hashes[count] = h
    table[slot] = count
    used[0] = count + 1
    return count


@_native
def _digits(at: int, n: int) -> int:
    """A number of n digits; -1 if one is none."""
    found = 0
    for i in range(n):
        digit = int(_byte(at + i)) - 48
        if digit < 0 or digit > 9:
            return -1
        found = found * 10 + digit
    return found


@_native
def _minute(at: int) -> int:
    """'2026-11-29T21:53:' as seconds since the epoch; -1 if it is none, or before 1970 or after 2200."""
    year, month, day = _digits(at, 4), _digits(at + 5, 2), _digits(at + 8, 2)
    hour, minute = _digits(at + 11, 2), _digits(at + 14, 2)
    if (
        year < 1970
        or year > 2200
        or month < 1
        or month > 12
        or day < 1
        or hour < 0
        or hour > 23
        or minute < 0
        or minute > 59
        or _byte(at + 4) != 45
        or _byte(at + 7) != 45
        or _byte(at + 10) != 84
        or _byte(at + 13) != 58
        or _byte(at + 16) != 58
    ):
        return -1
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if month == 2:
        longest = 29 if leap else 28
    elif month == 4 or month == 6 or month == 9 or month == 11:
        longest = 30
    else:
        longest = 31
    if day > longest:
        return -1
    # Days since the epoch, with years that start in March so that the leap day is the last of its year.
    y = year - 1 if month <= 2 else year
    m = month + 9 if month <= 2 else month - 3
    era = y // 400
    of_era = y - era * 400
    days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + (153 * m + 2) // 5 + day - 1 - 719468
    return days * 86400 + hour * 3600 + minute * 60


@_native
def _string(p: int) -> int:
    """Where the JSON string that opens at p ends (after its quote); -1 if it is none. Stops at a line's end."""
    if _byte(p) != 34:
        return -1
    p += 1
    while True:
        c = _byte(p)
        if c == 34:
            return p + 1
        if c == 92:
            p += 1
            c = _byte(p)
        if c < 32:
            return -1
        p += 1


@_native
def _flat_object(p: int, plain: bool) -> int:
    """Where the object of strings that opens at p ends; -1 if it is none.

    ``plain``: of ASCII without escapes, so that no parser needs to see it.
    """
    if _byte(p) != 123:
        return -1
    start = p
    p += 1
    if _byte(p) == 125:
        return p + 1
    while True:
        p = _string(p)
        if p < 0 or _byte(p) != 58:
            return -1
        p = _string(p + 1)
        if p < 0:
            return -1
        c = _byte(p)
        p += 1
        if c == 125:
            break
        if c != 44:
            return -1
    if plain:
        for i in range(start, p):
            c = _byte(i)
            if c == 92 or c > 126:
                return -1
    return p


@_native
def _name_end(p: int) -> int:
    """Where a metric name of plain ASCII that starts at p ends (its closing quote); -1 if it is none."""
    while True:
        c = _byte(p)
        if c == 34:
            return p
        if c < 32 or c == 92 or c > 126:
            return -1
        p += 1


@_native
def _after_line(p: int) -> int:
    while _byte(p) != 10:
        p += 1
    return p + 1


@_native
def _moment(p: int, minute: int, minute_s: int) -> tuple[int, int, int, int]:
    """The RFC 3339 stamp that starts at p: where it ends, ns since the epoch, and what is known of minutes.

    That is where the last date and minute that were parsed stand, and their seconds since the epoch (-1 if none
    were): the next stamp has the same ones, most likely. The end is -1 if it is no stamp as k6 writes them.
    40 bytes are read at most.
    """
    if minute_s < 0 or not _same(p, minute, 17):
        minute_s = _minute(p)
        if minute_s < 0:
            return -1, 0, minute, minute_s
        minute = p
    second = _digits(p + 17, 2)
    if second < 0 or second > 59:
        return -1, 0, minute, minute_s
    p += 19
    fraction = 0
    if _byte(p) == 46:
        p += 1
        n = 0
        while n < 10:
            digit = _byte(p + n) - 48
            if digit < 0 or digit > 9:
                break
            fraction = fraction * 10 + digit
            n += 1
        if n == 0 or n > 9:
            return -1, 0, minute, minute_s
        p += n
        while n < 9:
            fraction *= 10
            n += 1
    zone = _byte(p)
    offset = 0
    if zone == 90:
        p += 1
    elif zone == 43 or zone == 45:
        hours, minutes = _digits(p + 1, 2), _digits(p + 4, 2)
        if hours < 0 or hours > 15 or minutes < 0 or minutes > 59 or _byte(p + 3) != 58:
            return -1, 0, minute, minute_s
        offset = hours * 3600 + minutes * 60
        if zone == 45:
            offset = -offset
        p += 6
    else:
        return -1, 0, minute, minute_s
    return p, (minute_s + second - offset) * 1_000_000_000 + fraction, minute, minute_s


@_native
def _number(p: int) -> tuple[int, float, bool]:
    """The number that starts at p: where it ends, its value, and whether that is left to a slower reader.

    The end is -1 if it is no number as k6 writes them.
    """
    number = p
    negative = _byte(p) == 45
    if negative:
        p += 1
    c = _byte(p) - 48
    if c < 0 or c > 9:
        return -1, 0.0, False
    mantissa, figures, power = c, 1, 0
    p += 1
    if c != 0:
        while True:
            c = _byte(p) - 48
            if c < 0 or c > 9:
                break
            if figures < 18:
                mantissa = mantissa * 10 + c
            figures += 1
            p += 1
    if _byte(p) == 46:
        p += 1
        n = 0
        while True:
            c = _byte(p) - 48
            if c < 0 or c > 9:
                break
            if figures < 18:
                mantissa = mantissa * 10 + c
            if mantissa:
                figures += 1
            n += 1
            p += 1
        if n == 0:
            return -1, 0.0, False
        power = -n
    c = _byte(p)
    if c == 101 or c == 69:
        p += 1
        c = _byte(p)
        minus = c == 45
        if minus or c == 43:
            p += 1
        exponent = 0
        n = 0
        while True:
            c = _byte(p) - 48
            if c < 0 or c > 9:
                break
            if n < 4:
                exponent = exponent * 10 + c
            n += 1
            p += 1
        if n == 0 or n > 3:
            return -1, 0.0, False
        power += -exponent if minus else exponent
    if negative and mantissa == 0:
        return -1, 0.0, False  # "-0" is 0.0 to json and -0.0 to others
    length = p - number
    if figures < 18 and mantissa < 1 << 53 and -23 < power < 23:
        is_slow = False
        this_value = float(mantissa)
        if power < 0:
            this_value /= _POWERS[-power]
        elif power > 0:
            this_value *= _POWERS[power]
        if negative:
            this_value = -this_value
    else:
        if length > 60 or power > 280 or power < -280:
            return -1, 0.0, False
        is_slow = True
        this_value = 0.0
    return p, this_value, is_slow


@_native
def _scan(
    buf: int, end: int, state: Any, metrics: Any, seen: Any, tagsets: Any, columns: Any, aside: Any
) -> int:
    """Scan the whole lines from address ``buf`` + state[POS] up to ``end``, which follows a line feed.

    That line feed is what every loop below stops at: nothing is read beyond it. The arrays are those of
    `points_fast`, in tuples; ``seen``: for each metric, the metric and the tag set that came with it last.
    """
    # One function, as its state is a dozen local variables, which stay in registers from line to line.
    lit = _LITERALS.ctypes.data
    m_arena, m_ends, _, _, _ = metrics
    t_arena, t_ends, _, _, _ = tagsets
    m_next, m_tagset = seen
    metric, time_ns, value, tagset, line = columns
    odd, odd_line, slow, slow_ends, slow_row = aside
    m_base, t_base = m_arena.ctypes.data, t_arena.ctypes.data
    seed = state[SEED]
    rows, lines = state[ROWS], state[LINES]
    last_metric, last_tagset = state[METRIC], state[TAGSET]
    stop = buf + end
    p = buf + state[POS]
    stamp = p  # the last line's stamp, with what follows up to the value
    stamp_n = 0
    stamp_ns = 0
    minute = p  # the last stamp whose date and minute were parsed
    minute_s = -1
    status = DONE
    while p < stop:
        start = p
        whole = False
        while True:  # left by break: at once if the line is not canonical
            if stop - p < SHORTEST_LINE:
                break
            old = not _same(p, lit + _HEAD, _HEAD_N)
            this_metric = -1
            if old:
                if not _same(p, lit + _OLD_HEAD, _OLD_HEAD_N):
                    break
                p += _OLD_HEAD_N
            else:
                p += _HEAD_N
                # The metric that followed the last line's metric the last time, most likely.
                guess = m_next[last_metric]
                n = m_ends[guess + 1] - m_ends[guess] if guess >= 0 else 0
                if (
                    guess >= 0
                    and stop - p > n + _KIND_N
                    and _same(p, m_base + m_ends[guess], n)
                    and _same(p + n, lit + _KIND, _KIND_N)
                ):
                    this_metric = int(guess)
                    p += n + _KIND_N
                else:
                    q = _name_end(p)
                    if q < 0 or stop - q < _KIND_N or not _same(q, lit + _KIND, _KIND_N):
                        break
                    this_metric = _intern(p, q - p, seed, metrics)
                    if this_metric < 0:
                        status = METRICS_FULL
                        break
                    p = q + _KIND_N
            # The stamp.
            if stamp_n and stop - p > stamp_n and _same(p, stamp, stamp_n):
                p += stamp_n
            else:
                if stop - p < 40:
                    break
                at = p
                p, this_ns, minute, minute_s = _moment(p, minute, minute_s)
                if p < 0:
                    break
                if stop - p < _VALUE_N or not _same(p, lit + _VALUE, _VALUE_N):
                    break
                p += _VALUE_N
                stamp, stamp_n = at, p - at
                stamp_ns = this_ns
            number = p
            p, this_value, is_slow = _number(p)
            if p < 0:
                break
            length = p - number
            if stop - p < _TAGS_N or not _same(p, lit + _TAGS, _TAGS_N):
                break
            p += _TAGS_N
            # The tags: the last line's, else those this metric had the last time, else by their hash.
            this_tagset = last_tagset
            n = t_ends[this_tagset + 1] - t_ends[this_tagset] if this_tagset >= 0 else 0
            if this_tagset < 0 or stop - p < n + 3 or not _same(p, t_base + t_ends[this_tagset], n):
                this_tagset = int(m_tagset[this_metric]) if this_metric >= 0 else -1
                n = t_ends[this_tagset + 1] - t_ends[this_tagset] if this_tagset >= 0 else 0
                if this_tagset < 0 or stop - p < n + 3 or not _same(p, t_base + t_ends[this_tagset], n):
                    q = _flat_object(p, False)
                    if q < 0 and _same(p, lit + _NULL, _NULL_N):
                        q = p + _NULL_N  # no tags, up to k6 0.37
                    if q < 0:
                        break
                    n = q - p
                    this_tagset = _intern(p, n, seed, tagsets)
                    if this_tagset < 0:
                        status = TAGSETS_FULL
                        break
            p += n
            if _byte(p) == 44:
                if stop - p < _METADATA_N or not _same(p, lit + _METADATA, _METADATA_N):
                    break
                p = _flat_object(p + _METADATA_N, True)
                if p < 0:
                    break
            # The end of the line.
            if old:
                if stop - p < _OLD_METRIC_N or not _same(p, lit + _OLD_METRIC, _OLD_METRIC_N):
                    break
                p += _OLD_METRIC_N
                q = _name_end(p)
                if q < 0:
                    break
                this_metric = _intern(p, q - p, seed, metrics)
                if this_metric < 0:
                    status = METRICS_FULL
                    break
                p = q + 1
            else:
                if _byte(p) != 125:
                    break
                p += 1
            if _byte(p) != 125:
                break
            p += 1
            if _byte(p) == 13:
                p += 1
            if _byte(p) != 10:
                break
            p += 1
            whole = True
            break
        if status != DONE:
            p = start  # again, once there is room
            break
        if whole:
            if is_slow:
                at = state[SLOW_BYTES]
                for i in range(length):
                    slow[at + i] = _byte(number + i)
                state[SLOW_BYTES] = at + length
                slow_row[state[SLOW]] = rows
                state[SLOW] += 1
                slow_ends[state[SLOW]] = at + length
            metric[rows] = this_metric
            time_ns[rows] = stamp_ns
            value[rows] = this_value
            tagset[rows] = this_tagset
            line[rows] = lines
            rows += 1
            m_next[last_metric] = this_metric
            m_tagset[this_metric] = this_tagset
            last_metric, last_tagset = this_metric, this_tagset
        else:
            p = _after_line(start)
            at = state[ODD_BYTES]
            for i in range(p - start):
                odd[at + i] = _byte(start + i)
            state[ODD_BYTES] = at + p - start
            odd_line[state[ODD]] = lines
            state[ODD] += 1
        lines += 1
    state[POS] = p - buf
    state[ROWS], state[LINES] = rows, lines
    state[METRIC], state[TAGSET] = last_metric, last_tagset
    return status


@_native
def _rehash(hashes: Any, table: Any, count: int) -> None:
    mask = len(table) - 1
    for i in range(count):
        slot = np.int64(hashes[i]) & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = i


# --- what Python calls: one address of a list of numbers and arrays, so that no calling convention matters ----


def _to_pointer(typing: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate


_pointer: Callable[[int], Any] = extending.intrinsic(_to_pointer)


@_native
def _int(arguments: int, i: int) -> int:
    return int(np.int64(_word(arguments + 8 * i)))


@_native
def _bytes(arguments: int, i: int) -> Any:
    return carray(_pointer(_int(arguments, i)), (_int(arguments, i + 1),), np.uint8)


@_native
def _int32s(arguments: int, i: int) -> Any:
    return carray(_pointer(_int(arguments, i)), (_int(arguments, i + 1),), np.int32)


@_native
def _int64s(arguments: int, i: int) -> Any:
    return carray(_pointer(_int(arguments, i)), (_int(arguments, i + 1),), np.int64)


@_native
def _uint64s(arguments: int, i: int) -> Any:
    return carray(_pointer(_int(arguments, i)), (_int(arguments, i + 1),), np.uint64)


@_native
def _floats(arguments: int, i: int) -> Any:
    return carray(_pointer(_int(arguments, i)), (_int(arguments, i + 1),), np.float64)


def _scan_entry(at: int) -> int:
    """`_scan`; ``at``: where its arguments lie, a number in one word, an array in two (address, length)."""
    return _scan(
        _int(at, 0),
        _int(at, 1),
        _int64s(at, 2),
        (_bytes(at, 4), _int64s(at, 6), _uint64s(at, 8), _int32s(at, 10), _int64s(at, 12)),
        (_int32s(at, 14), _int32s(at, 16)),
        (_bytes(at, 18), _int64s(at, 20), _uint64s(at, 22), _int32s(at, 24), _int64s(at, 26)),
        (_int32s(at, 28), _int64s(at, 30), _floats(at, 32), _int32s(at, 34), _int32s(at, 36)),
        (_bytes(at, 38), _int32s(at, 40), _bytes(at, 42), _int64s(at, 44), _int32s(at, 46)),
    )


def _rehash_entry(at: int) -> int:
    """`_rehash`, likewise."""
    _rehash(_uint64s(at, 0), _int32s(at, 2), _int(at, 4))
    return 0


def compiled() -> bytes:
    """Object code for this machine, with the functions `scan` and `rehash`: an address in, a number out.

    Both are C callbacks as `numba.cfunc` makes them. As nothing in them can raise, what a callback does with
    an error is dead code, and LLVM drops it, once the rest is internal: what is left runs without numba.

    Raises:
        RuntimeError: if the code needs anything from outside all the same.
    """
    target = binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=3,
        codemodel="jitdefault",
    )
    whole: Any = binding.parse_assembly("")
    for name, function in (("scan", _scan_entry), ("rehash", _rehash_entry)):
        made: Any = numba.cfunc(types.int64(types.int64), error_model="numpy")(function)
        module = binding.parse_assembly(made.inspect_llvm())
        for one in module.functions:
            if one.name == made.native_name:
                one.name = name
            elif not one.is_declaration:
                one.linkage = "internal"
        passes = binding.create_pass_builder(target, binding.create_pipeline_tuning_options(speed_level=2))
        passes.getModulePassManager().run(module, passes)
        whole.link_in(module)
    outside = [
        one.name
        for one in (*whole.functions, *whole.global_variables)
        if one.is_declaration and not one.name.startswith("llvm.")
    ]
    if outside:
        raise RuntimeError(f"the compiled scanner needs {', '.join(outside)}")
    code: bytes = target.emit_object(whole)
    return code
