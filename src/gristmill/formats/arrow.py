"""Arrow IPC files and streams, Feather version 2 among them: record batch by record batch.

What lies in such a file is bytes that are used as they are, so every batch is looked at before it is given out: offsets
that point outside their buffers would otherwise end the process later on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from gristmill.errors import CastError, DataError, FileFormatError, InvalidArgumentError
from gristmill.features.build import array_from_values
from gristmill.features.convert import from_arrow_field
from gristmill.features.foreign import own_types
from gristmill.features.infer import JSON
from gristmill.features.json_values import Json
from gristmill.features.schema import Features
from gristmill.features.soundness import check_soundness
from gristmill.files.atomic import exported_file
from gristmill.files.borders import writing
from gristmill.formats.base import Batches, CountingFile, Format, Target, fitter, one_batch
from gristmill.formats.source import Position, SourceFile
from gristmill.formats.streams import open_bytes, reading_text
from gristmill.table.arrow_file import END_MARK_BYTES, has_end_mark

__all__ = ["ArrowFormat", "ArrowOptions", "is_mappable"]

BATCH_BYTES = 16 << 20
"""Size aimed at for a batch; larger ones of a file are given out in slices."""
_FILE_MAGIC = b"ARROW1"
_FEATHER_1_MAGIC = b"FEA1"

_Parsed = tuple[pa.Schema, Iterator[tuple[int, pa.RecordBatch]]]


@dataclass(frozen=True)
class ArrowOptions:
    """Options of ``load_dataset("arrow", ...)``: none, the file says everything itself."""


class ArrowFormat(Format[ArrowOptions]):
    """Arrow IPC: the file form (also called Feather version 2) and the stream form, told apart by the first bytes."""

    name = "arrow"
    suffixes = (".arrow", ".arrows", ".feather")
    options = ArrowOptions

    def _read(
        self,
        file: SourceFile,
        options: ArrowOptions,
        columns: list[str] | None,
        start: Position,
        schema: pa.Schema | None,
        predicate: Any,
    ) -> Batches:
        with reading_text(file, "Arrow"), _opened(file, start.group) as (own, batches):
            names = own.names if columns is None else [name for name in columns if name in own.names]
            fit = fitter(_natural(own) if schema is None else schema, columns, file)
            row = start.row
            for group, batch in batches:
                check_soundness(batch)
                # The place inside the batch that was left: `offset` rows of it are done.
                first = start.offset if group == start.group else 0
                table = pa.Table.from_batches([batch]).select(names)
                # `nbytes` ends the process where a union is sliced.
                size = max(1, batch.get_total_buffer_size())
                step = max(1, min(batch.num_rows, batch.num_rows * BATCH_BYTES // size))
                for at in range(first, batch.num_rows, step):
                    piece = fit(_described(table.slice(at, step), row, file), row)
                    yield Position(row, at, group), one_batch(piece)
                    row += piece.num_rows

    def infer_schema(
        self, file: SourceFile, options: ArrowOptions | Mapping[str, Any] | None = None
    ) -> pa.Schema:
        """Reads the schema, with its metadata; encodings (dictionaries, views) give way to the types of the values."""
        self.parse_options(options)
        with reading_text(file, "Arrow"), _opened(file) as (own, _):
            return _natural(own)

    def write(
        self,
        batches: Iterable[pa.RecordBatch],
        target: Target,
        *,
        schema: pa.Schema,
        form: Literal["file", "stream"] = "file",
        compression: Literal["lz4", "zstd"] | None = None,
        **options: Any,
    ) -> int:
        """Writes Arrow IPC.

        Args:
            batches: See `Format.write`.
            target: See `Format.write`.
            schema: See `Format.write`.
            form: ``"file"``, which has an index of its batches at the end (and is what Feather is), or ``"stream"``.
            compression: Of the values; None leaves a file that can be used in place.
            **options: None others are known.

        Returns:
            Number of bytes written.
        """
        for name in options:
            raise InvalidArgumentError.from_choice("arrow option", name, ["form", "compression"])
        if form not in ("file", "stream"):
            raise InvalidArgumentError.from_choice("form", str(form), ["file", "stream"])
        if compression not in (None, "lz4", "zstd"):
            raise InvalidArgumentError.from_choice("compression", str(compression), ["lz4", "zstd"])
        made = pa.ipc.new_file if form == "file" else pa.ipc.new_stream
        is_path = not hasattr(target, "write")
        with writing(target), contextlib.ExitStack() as stack:
            out = CountingFile(stack.enter_context(exported_file(target)) if is_path else target)
            settings = pa.ipc.IpcWriteOptions(compression=compression, unify_dictionaries=form == "file")
            with made(pa.PythonFile(out, mode="w"), schema, options=settings) as writer:
                for batch in batches:
                    writer.write(batch)
        return out.count


def is_mappable(path: Path) -> bool:
    """Says whether the rows of an Arrow file can be used where they are, without a copy in the cache.

    That takes a file that is not compressed, whole or by column, and whose columns have the types that `read` gives
    them: no dictionaries, run lengths or views.

    Args:
        path: The file.

    Returns:
        True if `gristmill.table.arrow_file.open_arrow` with ``check="values"`` may serve its rows. False also for what is
        no Arrow file; nothing is looked at but what is needed to tell.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path, table = Path(folder) / "a.arrow", pa.table({"a": [1]})
        ...     _ = ArrowFormat().write([table], path, schema=table.schema)
        ...     plain = is_mappable(path)
        ...     _ = ArrowFormat().write([table], path, schema=table.schema, compression="lz4")
        ...     plain, is_mappable(path)
        (True, False)
    """
    try:
        with reading_text(SourceFile(path), "Arrow"):
            stream, plain = open_bytes(SourceFile(path))
            stream.close()
            if not plain:
                return False
            with pa.memory_map(str(path)) as mapped:
                whole = mapped.read_buffer()
                own, batches = _parse(whole, SourceFile(path))
                first, end = whole.address, whole.address + whole.size
                return _natural(own).types == own.types and all(
                    first <= buffer.address <= end
                    for _, batch in batches
                    for column in batch.columns
                    for buffer in column.buffers()
                    if buffer is not None and buffer.size
                )
    except DataError:
        return False


def _natural(schema: pa.Schema) -> pa.Schema:
    """Gives the types that the features of a schema have: those of the values, however they are encoded.

    What no feature describes (unions) is `Json`.
    """
    fields = [field.with_type(JSON) if _is_odd(field) else field for field in schema]
    return Features.from_arrow_schema(pa.schema(fields, schema.metadata)).arrow_schema


def _is_odd(field: pa.Field) -> bool:
    try:
        from_arrow_field(field)
    except CastError:
        return True
    return False


def _described(table: pa.Table, row: int, file: SourceFile) -> pa.Table:
    """Puts JSON in the place of values that no feature describes."""
    for i, field in enumerate(table.schema):
        if _is_odd(field):
            values = table.column(i).to_pylist()
            texts = array_from_values(values, Json(), column=field.name, file=file.name, first_row=row)
            table = table.set_column(i, field.name, texts)
    return own_types(table)


@contextlib.contextmanager
def _opened(file: SourceFile, first: int = 0) -> Iterator[_Parsed]:
    stream, plain = open_bytes(file)
    with contextlib.closing(stream):
        if not plain:
            yield _parse_stream(_Last(stream), file, first)
            return
        if file.open is not None:
            yield _parse_remote(stream, file, first)
            return
    with pa.memory_map(str(file.path)) as mapped:
        yield _parse(mapped.read_buffer(), file, first)


def _parse(data: pa.Buffer, file: SourceFile, first: int = 0) -> _Parsed:
    """Parses the bytes of a file of either form; batches are views of them where nothing is compressed."""
    if data.slice(0, len(_FILE_MAGIC)).to_pybytes() != _FILE_MAGIC:
        return _parse_stream(pa.BufferReader(data), file, first)
    return _indexed(pa.ipc.open_file(data), file, first)


def _parse_remote(stream: Any, file: SourceFile, first: int) -> _Parsed:
    """Parses a file that is read from afar: the file form's index says where batches are, so others are not fetched."""
    if stream.peek(len(_FILE_MAGIC))[: len(_FILE_MAGIC)] != _FILE_MAGIC:
        return _parse_stream(stream, file, first)
    return _indexed(pa.ipc.open_file(pa.PythonFile(stream, mode="r")), file, first)


def _indexed(reader: Any, file: SourceFile, first: int) -> _Parsed:
    numbers = range(first, reader.num_record_batches)
    return _checked(reader.schema, file), ((number, reader.get_batch(number)) for number in numbers)


def _parse_stream(source: Any, file: SourceFile, first: int) -> _Parsed:
    head = source.read(8)
    if head.startswith(_FEATHER_1_MAGIC):
        raise FileFormatError.at(
            "a Feather file of version 1, which is no Arrow file",
            file=file.name,
            remedy="Write it anew with pandas.read_feather and to_feather: Feather version 2 is read.",
        )
    # The file form is a stream with a frame around it, which is all that is seen of it through compression.
    if not head.startswith(_FILE_MAGIC):
        source.seek(0)
    opened = source if isinstance(source, pa.NativeFile) else pa.PythonFile(source, mode="r")
    return _checked_stream(pa.ipc.open_stream(opened), source, head, file, first)


def _checked_stream(reader: Any, source: Any, head: bytes, file: SourceFile, first: int) -> _Parsed:
    def batches() -> Iterator[tuple[int, pa.RecordBatch]]:
        for number, batch in enumerate(reader):
            if number >= first:
                yield number, batch
        source.seek(source.tell() - END_MARK_BYTES)
        if not has_end_mark(head, source.read(END_MARK_BYTES)):
            raise FileFormatError.at(
                "an Arrow stream that is cut off: its end mark is missing", file=file.name
            )

    return _checked(reader.schema, file), batches()


def _checked(schema: pa.Schema, file: SourceFile) -> pa.Schema:
    twice = [name for name in schema.names if schema.names.count(name) > 1]
    if twice:
        raise FileFormatError.at("two columns have one name", file=file.name, column=twice[0])
    return schema


class _Last:
    """A stream that can be put back by its first bytes, and by its last ones: what `_checked_stream` looks at."""

    closed = False

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._waiting = self._last = b""
        self._position = 0

    def tell(self) -> int:
        """Gives the number of bytes read."""
        return self._position

    def seek(self, position: int, whence: int = 0) -> int:
        """Goes back by at most eight bytes."""
        back = self._position - position
        self._waiting = self._last[len(self._last) - back :] + self._waiting
        self._last, self._position = self._last[: len(self._last) - back], position
        return position

    def read(self, size: int = -1) -> bytes:
        """Reads `size` bytes, fewer only at the end."""
        parts = [self._waiting[:size]]
        self._waiting = self._waiting[size:]
        missing = size - len(parts[0])
        while missing > 0 and (more := self._stream.read(min(missing, BATCH_BYTES))):
            parts.append(more)
            missing -= len(more)
        data = b"".join(parts)
        self._last = (self._last + data[-8:])[-8:]
        self._position += len(data)
        return data
