"""Thrift's compact protocol: bytes to the dataclasses of `gristmill.parquet.records`.

A field of such a dataclass is made by `at`, which says its id and kind. Fields that no dataclass knows, or of another
type than it says, are skipped, as Thrift wants it. Nothing is believed: a count is compared with the bytes that are left
before anything is made of it, and a missing required field, nesting or numbers beyond all use end the parse.
"""

from __future__ import annotations

import dataclasses
import struct
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

_T = TypeVar("_T")

MOST_VALUES = 6_000_000
"""Values decoded from one document at most; a footer of 100,000 column chunks has about four million."""
_DEEPEST = 32
_TRUE, _FALSE, _I8, _I16, _I32, _I64, _DOUBLE = 1, 2, 3, 4, 5, 6, 7
_BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID = 8, 9, 10, 11, 12, 13


class _Kind(NamedTuple):
    """How a value is read: what it is, its bits or format or record or elements, its types on the wire."""

    code: str
    detail: Any
    wires: tuple[int, ...]


_PLAIN = {
    "bool": _Kind("bool", None, (_TRUE, _FALSE)),
    "i8": _Kind("packed", "b", (_I8,)),
    "i16": _Kind("integer", 16, (_I16,)),
    "i32": _Kind("integer", 32, (_I32,)),
    "i64": _Kind("integer", 64, (_I64,)),
    "double": _Kind("packed", "<d", (_DOUBLE,)),
    "binary": _Kind("binary", None, (_BINARY,)),
    "text": _Kind("text", "strict", (_BINARY,)),
    "note": _Kind("text", "backslashreplace", (_BINARY,)),
}
_Layout = tuple[dict[tuple[int, int], tuple[str, _Kind]], tuple[str, ...]]
_LAYOUTS: dict[type, _Layout] = {}


@dataclass(frozen=True)
class ListOf:
    """The kind of a list field.

    Attributes:
        kind: Kind of its elements.
    """

    kind: str | type


def at(field_id: int, kind: str | type | ListOf, *, required: bool = False, default: Any = None) -> Any:
    """Makes a dataclass field that Thrift knows by a number.

    Args:
        field_id: The number.
        kind: ``"bool"``, ``"i8"`` to ``"i64"``, ``"double"``, ``"binary"``, ``"text"`` (UTF-8), ``"note"`` (text whose
            bytes that are not UTF-8 are escaped), a dataclass, or `ListOf` one.
        required: Whether a document without it is malformed.
        default: Its value where it is absent.
    """
    return dataclasses.field(default=default, metadata={"thrift": (field_id, kind, required)})


def _kind(kind: Any) -> _Kind:
    if isinstance(kind, str):
        return _PLAIN[kind]
    if isinstance(kind, ListOf):
        return _Kind("list", _kind(kind.kind), (_LIST, _SET))
    return _Kind("record", kind, (_STRUCT,))


def _layout(record: type) -> _Layout:
    """Gives ((field id, type on the wire) -> (name, kind), names of required fields) of a record class."""
    known = _LAYOUTS.get(record)
    if known is not None:
        return known
    fields: dict[tuple[int, int], tuple[str, _Kind]] = {}
    required: list[str] = []
    for field in dataclasses.fields(record):
        field_id, kind, needed = field.metadata["thrift"]
        read = _kind(kind)
        for wire in read.wires:
            fields[field_id, wire] = (field.name, read)
        if needed:
            required.append(field.name)
    _LAYOUTS[record] = fields, tuple(required)
    return _LAYOUTS[record]


def decode(record: type[_T], data: bytes, start: int = 0) -> tuple[_T, int]:
    """Reads one struct.

    Args:
        record: Dataclass whose fields were made by `at`.
        data: Bytes that hold it.
        start: Where it begins.

    Returns:
        The struct, and the position behind it.

    Raises:
        EOFError: The bytes end inside the struct.
        ValueError: They are no such struct; the message says why.

    Example:
        >>> from gristmill.parquet.records import KeyValue
        >>> decode(KeyValue, bytes([0x18, 1, 97, 0x18, 1, 98, 0]))
        (KeyValue(key='a', value='b'), 7)
    """
    reader = _Reader(data, start)
    value = reader.record(record, 0)
    return value, reader.position


class _Reader:
    """A position in bytes, and what can be read there."""

    __slots__ = ("budget", "data", "end", "position")

    def __init__(self, data: bytes, position: int) -> None:
        self.data = data
        self.position = position
        self.end = len(data)
        self.budget = MOST_VALUES

    def byte(self) -> int:
        if self.position >= self.end:
            raise EOFError("the bytes end inside a value")
        self.position += 1
        return self.data[self.position - 1]

    def varint(self) -> int:
        position = self.position
        if position < self.end and self.data[position] < 0x80:  # nearly all are this small
            self.position = position + 1
            return self.data[position]
        value = shift = 0
        while shift < 70:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise ValueError("a number takes more than ten bytes")

    def integer(self, bits: int) -> int:
        raw = self.varint()
        value = (raw >> 1) ^ -(raw & 1)
        if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            raise ValueError(f"the number {value} does not fit {bits} bits")
        return value

    def take(self, size: int) -> bytes:
        if size > self.end - self.position:
            raise EOFError(
                f"a value of {size:,} bytes is announced where {self.end - self.position:,} are left"
            )
        self.position += size
        return self.data[self.position - size : self.position]

    def spend(self, values: int) -> None:
        self.budget -= values
        if self.budget < 0:
            raise ValueError(f"there are more than {MOST_VALUES:,} values")

    def record(self, record: type[_T], depth: int) -> _T:
        fields, required = _layout(record)
        if depth > _DEEPEST:
            raise ValueError(f"structs are nested more than {_DEEPEST} deep")
        found: dict[str, Any] = {}
        last = 0
        while head := self.byte():
            wire, step = head & 0x0F, head >> 4
            last = last + step if step else self.integer(16)
            known = fields.get((last, wire))
            if known is None:
                # Also where only the type is another, as every Thrift reader does: drafts of the format gave some
                # numbers to other things.
                self.skip(wire, depth + 1)
                continue
            name, kind = known
            try:
                found[name] = self.value(kind, wire, depth)
            except UnicodeDecodeError as error:
                raise ValueError(f"{record.__name__}.{name} is not UTF-8 text") from error
        self.spend(len(found) + 1)
        for name in required:
            if name not in found:
                raise ValueError(f"{record.__name__} lacks its {name}")
        return record(**found)

    def value(self, kind: _Kind, wire: int, depth: int) -> Any:
        """Reads a value whose type on the wire fits its kind."""
        code, detail, _ = kind
        if code == "integer":
            return self.integer(detail)
        if code == "binary":
            return self.take(self.varint())
        if code == "record":
            return self.record(detail, depth + 1)
        if code == "list":
            return self.items(detail, depth)
        if code == "bool":
            return wire == _TRUE
        if code == "text":
            return self.take(self.varint()).decode("utf-8", detail)
        return struct.unpack(detail, self.take(struct.calcsize(detail)))[0]

    def items(self, kind: _Kind, depth: int) -> list[Any]:
        wire, size = self.list_head()
        if size and wire not in kind.wires:
            raise ValueError(f"a list has elements of type {wire}")
        if kind.code == "bool":
            # In a list a bool takes a byte of its own; some writers put 0 for false.
            return [byte == _TRUE for byte in self.take(size)]
        return [self.value(kind, wire, depth) for _ in range(size)]

    def list_head(self) -> tuple[int, int]:
        head = self.byte()
        size = head >> 4
        if size == 15:
            size = self.varint()
        # Every element takes a byte at least.
        if size > self.end - self.position:
            raise EOFError(
                f"a list of {size:,} is announced where {self.end - self.position:,} bytes are left"
            )
        self.spend(size)
        return head & 0x0F, size

    def skip(self, wire: int, depth: int) -> None:
        if depth > _DEEPEST:
            raise ValueError(f"values are nested more than {_DEEPEST} deep")
        if wire in (_TRUE, _FALSE):
            return
        if wire == _I8:
            self.take(1)
        elif _I8 < wire <= _I64:
            self.varint()
        elif wire == _DOUBLE:
            self.take(8)
        elif wire == _BINARY:
            self.take(self.varint())
        elif wire in (_LIST, _SET):
            kind, size = self.list_head()
            for _ in range(size):
                self.skip_item(kind, depth + 1)
        elif wire == _MAP:
            size = self.varint()
            if size > self.end - self.position:
                raise EOFError(
                    f"a map of {size:,} is announced where {self.end - self.position:,} bytes are left"
                )
            self.spend(size)
            kinds = self.byte() if size else 0
            for _ in range(size):
                self.skip_item(kinds >> 4, depth + 1)
                self.skip_item(kinds & 0x0F, depth + 1)
        elif wire == _STRUCT:
            while head := self.byte():
                self.spend(1)
                if not head >> 4:
                    self.integer(16)
                self.skip(head & 0x0F, depth + 1)
        elif wire == _UUID:
            self.take(16)
        else:
            raise ValueError(f"there is no type {wire}")

    def skip_item(self, wire: int, depth: int) -> None:
        if wire in (_TRUE, _FALSE):
            self.take(1)
        else:
            self.skip(wire, depth)
