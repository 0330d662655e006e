"""Thrift's compact protocol, as Parquet writes its metadata: structs as dicts from a field's number to its value.

Nothing that is read is believed: numbers have at most ten bytes, structs and lists a limited depth, and what ends too
early or says that it has more elements than bytes is a `ValueError`.
"""

from __future__ import annotations

from typing import Any

Struct = dict[int, Any]
_DEEPEST = 24
_STOP, _TRUE, _FALSE = 0, 1, 2
_INTEGERS = (4, 5, 6)
_LONG_LIST = 15


class CutShort(ValueError):
    """A struct is longer than the bytes that are there."""


class Reader:
    """Reads structs from bytes, from a place on; `at` is behind what was read last."""

    def __init__(self, held: bytes, at: int = 0) -> None:
        self._held, self.at = held, at

    def struct(self, depth: int = 0) -> Struct:
        """The next struct. Of a field that is there twice the last one counts, as for other readers."""
        fields: Struct = {}
        number = 0
        while (head := self._byte()) != _STOP:
            kind, step = head & 15, head >> 4
            number = number + step if step else self._integer()
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth + 1)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError(f"its metadata is nested more than {_DEEPEST} levels deep")
        if kind in _INTEGERS:
            return self._integer()
        match kind:
            case 1 | 2 | 3:  # an element that is a boolean, or a byte
                return self._byte()
            case 7:
                return self._bytes(8)
            case 8:
                return self._bytes(self._unsigned())
            case 9 | 10:
                return self._list(depth)
            case 11:
                return self._map(depth)
            case 12:
                return self.struct(depth)
            case _:
                raise ValueError(f"its metadata has a value of the kind {kind}, which there isn't")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        count = head >> 4
        return self._elements(self._unsigned() if count == _LONG_LIST else count, (head & 15,), depth)

    def _map(self, depth: int) -> list[Any]:
        count = self._unsigned()
        kinds = self._byte() if count else 0
        return self._elements(count, (kinds >> 4, kinds & 15), depth)

    def _elements(self, count: int, kinds: tuple[int, ...], depth: int) -> list[Any]:
        if count > len(self._held) - self.at:
            raise CutShort("its metadata ends too early")
        return [self._value(kind, depth + 1) for _ in range(count) for kind in kinds]

    def _integer(self) -> int:
        number = self._unsigned()
        return (number >> 1) ^ -(number & 1)

    def _unsigned(self) -> int:
        number = shift = 0
        while (byte := self._byte()) >= 128:
            number |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number in its metadata is too long")
        return number | byte << shift

    def _byte(self) -> int:
        try:
            byte = self._held[self.at]
        except IndexError:
            raise CutShort("its metadata ends too early") from None
        self.at += 1
        return byte

    def _bytes(self, count: int) -> bytes:
        if count > len(self._held) - self.at:
            raise CutShort("its metadata ends too early")
        self.at += count
        return self._held[self.at - count : self.at]
