"""Columns of text and of conversations on their way into a ``.docs`` file: lengths and bytes, no copy of the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.errors import ColumnNotFoundError, DataError, InvalidArgumentError, shorten

__all__ = [
    "CHAT_COLUMNS",
    "Chosen",
    "Documents",
    "choose_column",
    "documents_of",
    "first_invalid",
    "text_lengths",
]

CHAT_COLUMNS = ("messages", "conversations", "conversation")
_FIELDS = (("role", "content"), ("from", "value"))


@dataclass(frozen=True)
class Chosen:
    """The column documents are taken from.

    Attributes:
        column: Its name.
        role: Field of a message that holds its role; None where the column holds text.
        content: Field of a message that holds its text; None likewise.
    """

    column: str
    role: str | None = None
    content: str | None = None

    @property
    def is_chat(self) -> bool:
        """Whether documents are messages of conversations."""
        return self.role is not None


def choose_column(
    schema: pa.Schema,
    column: str | None = None,
    role: str | None = None,
    content: str | None = None,
    file: object = None,
) -> Chosen:
    """Finds the column to take documents from.

    Args:
        schema: The columns there are.
        column: The one to take; by default ``text``, else a list of messages under a common name.
        role: Field of a message with its role; by default ``role`` or ``from``.
        content: Field of a message with its text; by default ``content`` or ``value``.
        file: The file, for errors.

    Raises:
        ColumnNotFoundError: There is no such column or field.
        DataError: The column holds neither text nor messages.

    Example:
        >>> choose_column(pa.schema({"id": pa.int64(), "text": pa.string()}))
        Chosen(column='text', role=None, content=None)
    """
    if column is None:
        candidates = [
            name
            for name in ("text", *CHAT_COLUMNS)
            if name in schema.names and _fits(schema.field(name).type)
        ]
        if not candidates:
            raise DataError.at(
                f"there is no column of text or messages under a common name; the columns are: {', '.join(schema.names)}",
                file=file,
                remedy="Name the one to take: column=, or --column.",
            )
        column = candidates[0]
    if column not in schema.names:
        raise ColumnNotFoundError.from_name(column, schema.names)
    kind = _decoded(schema.field(column).type)
    if _is_text(kind):
        if role is not None or content is not None:
            raise InvalidArgumentError(
                f'The column "{column}" holds text; `role` and `content` are fields of messages.'
            )
        return Chosen(column)
    if not _is_list(kind) or not pa.types.is_struct(kind.value_type):
        raise DataError.at(
            f"holds {kind}, which is neither text nor a list of messages", file=file, column=column
        )
    names = [field.name for field in kind.value_type]
    known = next((pair for pair in _FIELDS if set(pair) <= set(names)), _FIELDS[0])
    role, content = role or known[0], content or known[1]
    for name in (role, content):
        if name not in names:
            raise ColumnNotFoundError.from_name(f"{column}.{name}", [f"{column}.{other}" for other in names])
        if not _is_text(_decoded(kind.value_type.field(name).type)):
            raise DataError.at(
                f"holds {kind.value_type.field(name).type}, not text", file=file, column=f"{column}.{name}"
            )
    return Chosen(column, role, content)


class Documents(NamedTuple):
    """Documents, or the messages of conversations, ready to be written.

    Attributes:
        lengths: Bytes of each.
        text: Their UTF-8 bytes, one after another.
        roles: The role byte of each message; None where documents are texts.
        messages: Messages of each conversation; None likewise.
    """

    lengths: npt.NDArray[np.int64]
    text: Any
    roles: npt.NDArray[np.uint8] | None = None
    messages: npt.NDArray[np.int64] | None = None


def documents_of(
    values: Any, chosen: Chosen, roles: Mapping[str, int], *, file: object, first_row: int
) -> Documents:
    """Takes the documents out of an array.

    A null is an empty document, a null list a conversation without messages: document `i` stays row `i`.

    Args:
        values: Array of the column's type.
        chosen: The column.
        roles: Role name -> byte.
        file: Where the rows are from, for errors.
        first_row: Index of the first one there.

    Raises:
        DataError: A text is not valid UTF-8, or a role is not known; names the row.
    """
    if not chosen.is_chat:
        return Documents(*text_lengths(values, file=file, column=chosen.column, rows=lambda i: first_row + i))
    values = _plain_list(values)
    counts = (
        pc.list_value_length(values).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    )
    messages = values.flatten()  # leaves out what lies under nulls and outside of a slice
    ends = np.cumsum(counts)

    def row(message: int) -> int:
        return first_row + int(np.searchsorted(ends, message, side="right"))

    # Taken through `field`, a struct's own nulls would be lost.
    named = pc.struct_field(messages, [messages.type.get_field_index(chosen.role)])
    contents = pc.struct_field(messages, [messages.type.get_field_index(chosen.content)])
    lengths, text = text_lengths(contents, file=file, column=f"{chosen.column}.{chosen.content}", rows=row)
    numbers = _role_bytes(named, roles, file=file, column=f"{chosen.column}.{chosen.role}", rows=row)
    return Documents(lengths, text, numbers, counts)


def text_lengths(values: Any, *, file: object, column: str, rows: Any) -> tuple[npt.NDArray[np.int64], Any]:
    """Gives the length of each text in bytes, and all their bytes in one piece.

    Args:
        values: Array of text or bytes; bytes have to be UTF-8.
        file: Where they are from, for errors.
        column: The column, for errors.
        rows: Says the row of an index, for errors.

    Raises:
        DataError: One is not valid UTF-8.
    """
    values = _plain_text(values)
    if values.null_count:
        values = pc.fill_null(values, "")
    wrong = first_invalid(values)
    if wrong is not None:
        raise DataError.at("is not valid UTF-8 text", file=file, row=rows(wrong), column=column)
    _, offsets_buffer, data = values.buffers()
    if not len(values):
        return np.empty(0, np.int64), b""
    wide = np.int64 if pa.types.is_large_string(values.type) else np.int32
    offsets = np.frombuffer(offsets_buffer, wide)[values.offset : values.offset + len(values) + 1]
    text = b"" if data is None else memoryview(data)[int(offsets[0]) : int(offsets[-1])]
    return np.diff(offsets).astype(np.int64, copy=False), text


def first_invalid(texts: Any) -> int | None:
    r"""Finds the first text that is not valid UTF-8; None if all are.

    Example:
        >>> first_invalid(pa.array([b"a", b"\xff"]).view(pa.string()))
        1
    """
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid as error:
        # Arrow names the index at the end of its message; should it ever stop to, Python finds it.
        index = str(error).rpartition(" ")[2]
        return int(index) if index.isdigit() else _first_undecodable(texts.view(_AS_BYTES[texts.type]))
    return None


_AS_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}


def _first_undecodable(values: Any) -> int | None:
    decoded = (value.as_buffer().to_pybytes().decode("utf-8", "replace") for value in values)
    originals = (value.as_buffer().to_pybytes() for value in values)
    return next((i for i, (a, b) in enumerate(zip(decoded, originals, strict=True)) if a.encode() != b), None)


def _role_bytes(
    values: Any, roles: Mapping[str, int], *, file: object, column: str, rows: Any
) -> npt.NDArray[np.uint8]:
    encoded = _plain_text(values).dictionary_encode()
    names = encoded.dictionary.to_pylist()
    numbers = np.array([roles.get(name, 255) for name in names] + [255], np.uint8)
    codes = pc.fill_null(encoded.indices, len(names)).to_numpy(zero_copy_only=False)
    result: npt.NDArray[np.uint8] = numbers[codes]
    if len(result) and result.max() == 255:
        at = int(np.argmax(result == 255))
        raise DataError.at(
            f"the role {shorten(values[at].as_py())} has no number; known are {', '.join(sorted(roles))}",
            file=file,
            row=rows(at),
            column=column,
            remedy="Give it one, from 0 to 254: --role-number NAME=4, or roles={name: 4}.",
        )
    return result


def _fits(kind: pa.DataType) -> bool:
    kind = _decoded(kind)
    return _is_text(kind) or (_is_list(kind) and pa.types.is_struct(kind.value_type))


def _decoded(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_text(kind: pa.DataType) -> bool:
    of = pa.types
    return any(
        check(kind)
        for check in (
            of.is_string,
            of.is_large_string,
            of.is_string_view,
            of.is_binary,
            of.is_large_binary,
            of.is_binary_view,
        )
    )


def _is_list(kind: pa.DataType) -> bool:
    of = pa.types
    return any(
        check(kind) for check in (of.is_list, of.is_large_list, of.is_fixed_size_list, of.is_list_view)
    )


def _plain_text(values: Any) -> Any:
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_string_view(values.type) or pa.types.is_binary_view(values.type):
        values = values.cast(pa.large_binary())
    if pa.types.is_binary(values.type):
        return values.view(pa.string())
    return values.view(pa.large_string()) if pa.types.is_large_binary(values.type) else values


def _plain_list(values: Any) -> Any:
    if pa.types.is_list_view(values.type):
        return values.cast(pa.large_list(values.type.value_type))
    return values
