"""``.docs``: plain documents, or the messages of conversations, in one file made to be memory-mapped.

The text of a batch is the file itself: nothing is copied but where the sections begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gristmill.errors import FileFormatError, InvalidArgumentError
from gristmill.files.atomic import atomic_file
from gristmill.files.borders import reading
from gristmill.formats.base import Batches, Format, Target, fitter, one_batch
from gristmill.formats.docs_columns import choose_column, documents_of
from gristmill.formats.docs_layout import HEADER_BYTES, ROLES, Header, parse_header, parse_roles
from gristmill.formats.docs_write import docs_writer
from gristmill.formats.source import Position, SourceFile

__all__ = ["DocsFormat", "DocsOptions", "MappedDocs", "open_docs", "rows_of_docs"]

_ROWS = 1 << 16
_BYTES = 16 << 20
_MESSAGE = pa.struct({"role": pa.string(), "content": pa.large_string()})
# What comes over a network comes soon if it is little.
_REMOTE_ROWS = 4096
_TEXT = pa.schema({"text": pa.large_string()})
_CHAT = pa.schema({"messages": pa.large_list(_MESSAGE)})


@dataclass(frozen=True)
class MappedDocs:
    """A ``.docs`` file, mapped; every array is a view into it.

    Attributes:
        header: What its first 64 bytes say.
        offsets: ``(documents + 1,)`` unsigned 64-bit; document `i` is the text from offset `i` to offset `i + 1`.
        roles: ``(documents,)`` bytes, empty unless it is a chat file.
        starts: ``(conversations + 1,)`` unsigned 64-bit: the first message of each; empty likewise.
        text: All text, as bytes.
        data: The whole file.
        name: What to call the file in errors.
        fetch: For a file that is here only in part: called with ranges of bytes before they are looked at.
    """

    header: Header
    offsets: npt.NDArray[np.uint64]
    roles: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.uint64]
    text: npt.NDArray[np.uint8]
    data: npt.NDArray[np.uint8]
    name: str
    fetch: Callable[[Sequence[tuple[int, int]]], object] | None = None

    def needs(self, first: int, stop: int) -> None:
        """Makes sure that bytes of the file are here."""
        if self.fetch is not None:
            self.fetch([(first, stop)])

    def _needs_index(self, at: int, first: int, last: int, count: int) -> None:
        """Makes sure that numbers of an index are here, with some around them: few requests for all of it."""
        start, stop = first // _ROWS * _ROWS, min((last // _ROWS + 1) * _ROWS, count)
        self.needs(at + 8 * start, at + 8 * max(stop, last + 1))

    def bounds(self, first: int, last: int) -> npt.NDArray[np.int64]:
        """Gives the offsets of documents, checked: they rise, and stay within the text.

        Args:
            first: First document.
            last: The one behind the last.

        Raises:
            FileFormatError: They do not; the file was changed or damaged.
        """
        self._needs_index(HEADER_BYTES, first, last, len(self.offsets))
        return _rising(self.offsets[first : last + 1], len(self.text), self.name, "document", first)

    def messages(self, first: int, last: int) -> npt.NDArray[np.int64]:
        """Gives the first message of conversations, checked likewise."""
        self._needs_index(self.header.starts_at, first, last, len(self.starts))
        return _rising(self.starts[first : last + 1], self.header.documents, self.name, "conversation", first)


def _rising(
    numbers: npt.NDArray[np.uint64], limit: int, file: object, what: str, first: int
) -> npt.NDArray[np.int64]:
    wrong = np.flatnonzero(numbers[1:] < numbers[:-1])
    if len(wrong) or numbers[-1] > limit:
        at = int(wrong[0]) if len(wrong) else int(np.argmax(numbers > limit)) - 1
        raise FileFormatError.at(
            f"{what} {first + max(at, 0)} begins or ends where none can: the file is damaged", file=file
        )
    return numbers.view(np.int64)


def open_docs(
    path: Any, name: str = "", fetch: Callable[[Sequence[tuple[int, int]]], object] | None = None
) -> MappedDocs:
    """Maps a ``.docs`` file; whatever its size, only its header and its last offset are read.

    Args:
        path: The file.
        name: What to call it in errors; its path if empty.
        fetch: For a file that is here only in part: called with ranges of bytes before they are looked at.

    Raises:
        FileMissingError: It is not there.
        FileFormatError: It is no ``.docs`` file, is cut off, or was changed.
    """
    name = name or str(path)
    with reading(name, ".docs"), pa.memory_map(str(path)) as mapped:
        size = mapped.size()
        buffer = mapped.read_buffer(size) if size else pa.py_buffer(b"")
    data = np.frombuffer(buffer, np.uint8)
    if fetch is not None:
        fetch([(0, min(size, HEADER_BYTES))])
    header = parse_header(data[:HEADER_BYTES].tobytes(), size, name)
    offsets = data[HEADER_BYTES : header.offsets_end].view("<u8")
    roles = data[header.roles_at : header.roles_at + header.documents] if header.is_chat else data[:0]
    starts_end = header.starts_at + 8 * (header.conversations + 1)
    starts = data[header.starts_at : starts_end].view("<u8") if header.is_chat else data[:0].view("<u8")
    if fetch is not None:
        numbers = [(HEADER_BYTES, header.offsets_end)]
        numbers += [(header.starts_at, starts_end)] if header.is_chat else []
        fetch([part for start, end in numbers for part in ((start, start + 8), (end - 8, end))])
    expected = header.text_at + int(offsets[-1])
    if expected != size:
        problem = "is cut off" if size < expected else "has bytes behind its end"
        raise FileFormatError.at(
            f"it {problem}: it should have {expected:,} bytes and has {size:,}", file=name
        )
    if offsets[0] or (header.is_chat and (starts[0] or starts[-1] != header.documents)):
        raise FileFormatError.at("it does not begin or end with its first or last document", file=name)
    return MappedDocs(header, offsets, roles, starts, data[header.text_at :], data, name, fetch)


@dataclass(frozen=True)
class DocsOptions:
    """Options of ``load_dataset("docs", ...)``.

    Attributes:
        roles: Role name -> byte, where a file was written with roles of its own.
    """

    roles: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        parse_roles(self.roles)

    def role_names(self) -> dict[int, str]:
        """Gives the name of each role byte."""
        return {number: name for name, number in (*ROLES.items(), *self.roles.items())}


class DocsFormat(Format[DocsOptions]):
    """Documents in one mapped file: a row a document, or a row a conversation with its messages."""

    name = "docs"
    suffixes = (".docs",)
    options = DocsOptions

    def _read(
        self,
        file: SourceFile,
        options: DocsOptions,
        columns: list[str] | None,
        start: Position,
        schema: pa.Schema | None,
        predicate: Any,
    ) -> Batches:
        fit = fitter(schema, columns, file)
        docs = open_docs(file.path, file.name, file.fetch)
        rows = docs.header.conversations if docs.header.is_chat else docs.header.documents
        row, most = start.row, _ROWS if file.fetch is None else _REMOTE_ROWS
        while row < rows:
            last = _last_row(docs, row, min(row + most, rows))
            table = pa.table([rows_of_docs(docs, row, last, options.role_names())], schema=_schema(docs))
            if columns is not None:
                table = table.select([name for name in columns if name in table.column_names])
            with reading(file.name, ".docs"):
                table.validate(full=True)
                yield Position(row), one_batch(fit(table, row))
            row = last

    def infer_schema(
        self, file: SourceFile, options: DocsOptions | Mapping[str, Any] | None = None
    ) -> pa.Schema:
        """Says by the header whether rows are documents or conversations."""
        self.parse_options(options)
        return _schema(open_docs(file.path, file.name, file.fetch))

    def write(
        self, batches: Iterable[pa.RecordBatch], target: Target, *, schema: pa.Schema, **options: Any
    ) -> int:
        """Writes one column of text or messages.

        Args:
            batches: Record batches with this schema.
            target: Path to write, atomically; or a binary file object.
            schema: Schema of the batches.
            **options: ``column``, ``role``, ``content`` and ``roles``, see `gristmill.Dataset.to_docs`.

        Returns:
            Bytes written.
        """
        roles = parse_roles(options.pop("roles", None))
        names = {name: options.pop(name, None) for name in ("column", "role", "content")}
        if options:
            raise InvalidArgumentError.from_choice("docs option", next(iter(options)), [*names, "roles"])
        chosen = choose_column(schema, **names)
        if not hasattr(target, "write"):
            with atomic_file(target) as opened:
                return self.write(batches, opened, schema=schema, roles=roles, **names)
        row = 0
        with docs_writer(target, chat=chosen.is_chat) as writer:
            for batch in batches:
                column = batch.column(batch.schema.get_field_index(chosen.column))
                for part in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
                    writer.add(*documents_of(part, chosen, roles, file=None, first_row=row))
                    row += len(part)
        return int(target.tell())


def _schema(docs: MappedDocs) -> pa.Schema:
    return _CHAT if docs.header.is_chat else _TEXT


def _last_row(docs: MappedDocs, first: int, last: int) -> int:
    """Cuts a batch where its text grows too long; one row is never cut."""
    rows = docs.messages(first, last) if docs.header.is_chat else np.arange(first, last + 1)
    ends = docs.bounds(int(rows[0]), int(rows[-1]))[rows - rows[0]]
    return first + max(1, int(np.searchsorted(ends, ends[0] + _BYTES, side="right")) - 1)


def rows_of_docs(docs: MappedDocs, first: int, last: int, names: Mapping[int, str]) -> Any:
    """Gives rows as an array whose text is the mapped file.

    Args:
        docs: The file.
        first: First row: a document, or a conversation in a chat file.
        last: The one behind the last.
        names: Role byte -> name.

    Returns:
        `large_string` array, or `large_list` of structs with ``role`` and ``content``.

    Raises:
        FileFormatError: The file is damaged there, or a role has no name.
    """
    if not docs.header.is_chat:
        return _texts(docs, first, last)
    starts = docs.messages(first, last)
    begin, end = int(starts[0]), int(starts[-1])
    docs.needs(docs.header.roles_at + begin, docs.header.roles_at + end)
    codes = docs.roles[begin:end]
    unknown = sorted(set(np.unique(codes).tolist()) - set(names))
    if unknown:
        raise FileFormatError.at(
            f"holds the role number {unknown[0]}, which has no name here",
            file=docs.name,
            remedy="Pass the roles it was written with: roles={name: number}.",
        )
    known = sorted(names)
    dictionary = pa.array([names[number] for number in known])
    indices = np.searchsorted(known, codes).astype(np.int32)
    roles = pa.DictionaryArray.from_arrays(pa.array(indices), dictionary).dictionary_decode()
    messages = pa.StructArray.from_arrays([roles, _texts(docs, begin, end)], fields=list(_MESSAGE))
    return pa.LargeListArray.from_arrays(pa.array(starts - begin), messages)


def _texts(docs: MappedDocs, first: int, last: int) -> Any:
    if first == last:
        return pa.array([], pa.large_string())
    bounds = docs.bounds(first, last)
    docs.needs(docs.header.text_at + int(bounds[0]), docs.header.text_at + int(bounds[-1]))
    return pa.LargeStringArray.from_buffers(last - first, pa.py_buffer(bounds), pa.py_buffer(docs.text))
