"""Structs of Thrift's compact protocol, which Parquet's metadata is written in: read strictly.

pyarrow's own way to look at metadata ends the process on some values that no writer writes. So what comes from
anywhere is looked at here, first.
"""

from __future__ import annotations

from typing import Any

BOOL, I32, I64, BINARY = 1, 5, 6, 8
_LIST, _STRUCT = 9, 12
MAX_VALUES = 1 << 20
"""Of one structure, with all that is in it."""
_MAX_DEPTH = 12

Spec = dict[int, Any]
"""Fields that are kept, by their number: a type from above, the spec of a struct, or a list of one of these.
All others are passed over."""


class NoStruct(Exception):
    """Bytes that are not the struct that was expected."""


class Reader:
    """Reads a struct from bytes, beginning at a given place."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at
        self._left = MAX_VALUES

    def struct(self, spec: Spec, depth: int = 0) -> dict[int, Any]:
        """The fields of a struct that the spec names.

        Raises:
            NoStruct: if the bytes are not a struct, or one of them is of another type.
        """
        if depth > _MAX_DEPTH:
            raise NoStruct("structs within structs")
        found: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            kind = head & 15
            if not head >> 4:
                raise NoStruct("fields out of order")
            field += head >> 4
            wanted = spec.get(field)
            if wanted is not None and kind != _kind_of(wanted) and not (wanted == BOOL and kind == 2):
                raise NoStruct(f"field {field} is of another type")
            value = kind == 1 if kind in (1, 2) else self._value(kind, wanted, depth)
            if wanted is not None:
                found[field] = value
        return found

    def _value(self, kind: int, wanted: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise NoStruct("more values than any writer writes")
        if kind in (4, I32, I64):
            number = self._varint()
            return (number >> 1) ^ -(number & 1)
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind == _STRUCT:
            return self.struct(wanted or {}, depth + 1)
        if kind == _LIST:
            return self._list(wanted[0] if wanted else None, depth)
        if kind == 3:
            return self._byte()
        if kind == 7:
            return self._bytes(8)
        raise NoStruct("a type that Parquet does not use")

    def _list(self, wanted: Any, depth: int) -> list[Any]:
        head = self._byte()
        kind, size = head & 15, head >> 4
        if size == 15:
            size = self._varint()
        if wanted is not None and kind != _kind_of(wanted):
            raise NoStruct("a list of another type")
        if depth > _MAX_DEPTH:
            raise NoStruct("lists within lists")
        if kind in (1, 2):  # a byte each
            return list(self._bytes(size))
        found = []
        for _ in range(size):
            value = self._value(kind, wanted, depth + 1)
            if wanted is not None:
                found.append(value)
        return found

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _bytes(self, size: int) -> bytes:
        found = self.data[self.at : self.at + size]
        if len(found) < size:
            raise NoStruct("it is cut off")
        self.at += size
        return found

    def _varint(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise NoStruct("an unterminated number")


def _kind_of(wanted: Any) -> int:
    if isinstance(wanted, int):
        return wanted
    return _LIST if isinstance(wanted, list) else _STRUCT
