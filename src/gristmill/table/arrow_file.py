"""Arrow IPC stream files: written in large batches under a temporary name, opened memory-mapped.

The form is the one `datasets` uses for its caches. Few large batches matter: a file of 1,000-row batches makes both
opening and gathering random rows many times slower.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import pyarrow as pa
import pyarrow.types as pt
from typing_extensions import Self

from gristmill.errors import FileFormatError, InvalidArgumentError
from gristmill.features.columnless import concat_tables
from gristmill.features.foreign import own_types
from gristmill.features.soundness import check_soundness
from gristmill.features.visit import map_leaves
from gristmill.files.atomic import sync_folder, temporary_name
from gristmill.files.borders import reading, writing

BATCH_BYTES = 16 << 20
"""A record batch is written once this many bytes have come together."""
BATCH_ROWS = 100_000
"""... or this many rows."""
_JOINED_BYTES = 8 << 20
_LARGEST_BATCH = 256 << 20
END_MARK_BYTES = 8
_CONTINUES = b"\xff\xff\xff\xff"
_FILE_MAGIC = b"ARROW1"

Check = Literal["offsets", "values"]
"""What of a file that did not come out of this cache is looked at when it is opened: what would end the process when it
is read, which are offsets and the like (a few bytes a text), or every value, which takes as long as reading all of it."""


class ArrowFileWriter:
    """Writes record batches to an Arrow IPC stream file that appears under its name only when it is whole.

    Small batches are joined until `BATCH_BYTES` or `BATCH_ROWS` have come together; those of a few megabytes are
    written as they are, since joining would copy them, and those so large that 32-bit offsets could overflow are cut.

    Args:
        path: Final name; its folder is made if needed.
        schema: Schema of all batches, with its metadata.
        durable: Wait until the disk has it. What can be computed again does without: after a power cut such a file
            lacks its end mark, which `open_arrow` tells.
        checksum: Take the checksum of the file as it is written.

    Attributes:
        num_rows: Rows given so far.
        num_bytes: Bytes of Arrow data written so far, without framing.
        checksum: XXH3 of the file, 32 hexadecimal digits, once it is whole; "" if it was not asked for.

    Raises:
        FileError: The file can't be made, synced or renamed.
        DiskFullError: There is no room left.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "a.arrow"
        ...     with ArrowFileWriter(path, pa.schema({"x": pa.int64()})) as writer:
        ...         writer.write_table(pa.table({"x": [1, 2]}))
        ...     open_arrow(path, in_memory=True).num_rows
        2
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        schema: pa.Schema,
        durable: bool = True,
        checksum: bool = False,
    ) -> None:
        self.path = Path(path)
        self.checksum = ""
        self._durable = durable
        self._sums = checksum
        self.schema = schema
        self.num_rows = 0
        self.num_bytes = 0
        self._temporary = temporary_name(self.path)
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0
        self._waiting_bytes = 0
        self._file: Any = None
        self._stream: Any = None

    def __enter__(self) -> Self:
        try:
            with writing(self.path):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                # OSFile writes without the interpreter's lock; a Python file object takes it for each buffer.
                name = str(self._temporary)
                self._file = _SummedFile(name) if self._sums else pa.OSFile(name, "wb")
                self._stream = pa.ipc.new_stream(self._file, self.schema)
        except BaseException:
            self._abandon()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._abandon()
            return
        try:
            with writing(self.path):
                self._flush()
                self._stream.close()
                self._file.close()
                if self._durable:
                    _sync(self._temporary)
                self._temporary.replace(self.path)
                if self._sums:
                    self.checksum = self._file.checksum()
                if self._durable:
                    sync_folder(self.path.parent)
        except BaseException:
            self._abandon()
            raise

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Adds the rows of one batch.

        Args:
            batch: Rows with the writer's column names and types.

        Raises:
            FileError: Writing failed.
        """
        if batch.num_rows == 0:
            return
        if batch.num_columns and not batch.schema.equals(self.schema, check_metadata=True):
            batch = pa.RecordBatch.from_arrays(batch.columns, schema=self.schema)
        size = batch.nbytes
        if size > _LARGEST_BATCH and batch.num_rows > 1:
            half = batch.num_rows // 2
            self.write_batch(batch.slice(0, half))
            self.write_batch(batch.slice(half))
            return
        # Joining takes as much memory again as what waits, so no more than one batch's worth ever does.
        if size >= _JOINED_BYTES or self._waiting_bytes + size > BATCH_BYTES:
            self._flush()
        self._waiting.append(batch)
        self._waiting_rows += batch.num_rows
        self._waiting_bytes += size
        self.num_rows += batch.num_rows
        self.num_bytes += size
        if size >= _JOINED_BYTES or self._waiting_bytes >= BATCH_BYTES or self._waiting_rows >= BATCH_ROWS:
            self._flush()

    def write_table(self, table: pa.Table) -> None:
        """Adds the rows of a table.

        Args:
            table: Rows with the writer's column names and types.

        Raises:
            FileError: Writing failed.
        """
        for batch in table.to_batches():
            self.write_batch(batch)

    def _flush(self) -> None:
        if not self._waiting:
            return
        batches = self._waiting
        if len(batches) > 1:
            table = pa.Table.from_batches(batches, schema=self.schema)
            batches = (table.combine_chunks() if table.num_columns else table).to_batches()
        with writing(self.path):
            for batch in batches:
                self._stream.write_batch(batch)
        self._waiting, self._waiting_rows, self._waiting_bytes = [], 0, 0

    def _abandon(self) -> None:
        for thing in (self._stream, self._file):
            if thing is not None:
                # A stream ends by writing its end mark, also to a file that is closed by now: a ValueError.
                with contextlib.suppress(OSError, ValueError, pa.ArrowException):
                    thing.close()
        with contextlib.suppress(OSError):  # what went wrong before is what counts
            self._temporary.unlink(missing_ok=True)


class _SummedFile:
    """A file that is written from its beginning to its end, and its checksum."""

    def __init__(self, path: str) -> None:
        # Loaded here: few of those that write need it.
        import xxhash

        self._file = Path(path).open("wb")  # noqa: SIM115  # closed by `close`
        self._state: Any = xxhash.xxh3_128()

    @property
    def closed(self) -> bool:
        """Whether `close` was called; pyarrow asks."""
        return self._file.closed

    def write(self, data: Any) -> int:
        """Writes a buffer."""
        self._state.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        """Does nothing: `close` does."""

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def checksum(self) -> str:
        """Gives the checksum of all that was written."""
        return str(self._state.hexdigest())


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_arrow(path: str | os.PathLike[str], table: pa.Table) -> None:
    """Writes a whole table to an Arrow IPC stream file.

    Args:
        path: Final name; the file appears when it is whole.
        table: What to write.

    Raises:
        FileError: Writing failed.
    """
    with ArrowFileWriter(path, table.schema) as writer:
        writer.write_table(table)


def open_arrow(
    path: str | os.PathLike[str],
    in_memory: bool = False,
    check: Check | None = None,
    schema: pa.Schema | None = None,
) -> pa.Table:
    """Opens an Arrow IPC stream (or file) as a table.

    Args:
        path: The file.
        in_memory: Read the file into memory instead of mapping it.
        check: For a file that did not come out of this cache, see `Check`: what points outside, as in a damaged or
            hostile file, would end the process later on.
        schema: What its schema is expected to be, of our own types; only where it is another are its types looked at.

    Returns:
        The table; unless `in_memory`, its columns lie in the mapped file and take no memory of their own.

    Raises:
        FileMissingError: There is no such file.
        FileFormatError: The file is damaged, cut off, or not Arrow.
    """
    with reading(path, "Arrow"):
        source = pa.OSFile(str(path), "rb") if in_memory else _map(path)
        size = source.size()
        head = source.read(len(_FILE_MAGIC)) if size else b""
        if head == _FILE_MAGIC:
            source.seek(0)
            reader: Any = pa.ipc.open_file(source)
        else:
            source.seek(max(0, size - END_MARK_BYTES))
            if not has_end_mark(head, source.read(END_MARK_BYTES)):
                raise FileFormatError.at(
                    "not an Arrow stream, or cut off: its end mark is missing",
                    file=path,
                    remedy="Delete it and prepare the data again.",
                )
            source.seek(0)
            reader = pa.ipc.open_stream(source)
        table = reader.read_all()
        table.validate()
        if check is not None:
            for column in table.columns:
                _check(column, check)
    as_expected = schema is not None and table.schema.equals(schema, check_metadata=True)
    return table if as_expected else own_types(table)


def open_buffer(buffer: pa.Buffer) -> pa.Table:
    """Opens an Arrow IPC stream in memory, without a copy; what points outside of it is an error.

    Args:
        buffer: The stream.

    Raises:
        FileFormatError: It is none, or damaged.

    Example:
        >>> with (
        ...     pa.BufferOutputStream() as sink,
        ...     pa.ipc.new_stream(sink, pa.schema({"a": pa.int64()})) as writer,
        ... ):
        ...     writer.write_table(pa.table({"a": [1]}))
        >>> open_buffer(sink.getvalue()).to_pydict()
        {'a': [1]}
    """
    if not isinstance(buffer, pa.Buffer | bytes | bytearray | memoryview):
        raise InvalidArgumentError.from_value("buffer", buffer, "a pyarrow.Buffer")
    with reading("the buffer", "Arrow"):
        table = pa.ipc.open_stream(buffer).read_all()
        table.validate()
        for column in table.columns:
            _check(column, "offsets")
    return own_types(table)


def _map(path: str | os.PathLike[str]) -> pa.NativeFile:
    """Maps a file so that reading from it is nothing but looking at memory.

    A file of `pyarrow.memory_map` asks the system, for each piece that is read from it, to fetch the start of that piece
    from the disk ahead of its use. To open a file is not to use its rows, and that takes ten times as long as all else.
    """
    source = pa.memory_map(str(path), "rb")
    size = source.size()
    if not size:
        return source
    # The first byte keeps all of the mapping, which outlives the open file.
    first = source.read_buffer(1)
    return pa.BufferReader(pa.foreign_buffer(first.address, size, first))


def has_end_mark(head: bytes, end: bytes) -> bool:
    r"""Tells whether an Arrow stream is whole: one that was cut between two batches reads without a complaint.

    Args:
        head: Its first bytes, at least four.
        end: Its last `END_MARK_BYTES` bytes.

    Example:
        >>> has_end_mark(b"\xff\xff\xff\xff", b"\xff\xff\xff\xff\0\0\0\0")
        True
    """
    if head.startswith(_CONTINUES):
        return end == _CONTINUES + bytes(4)
    return len(end) >= 4 and end[-4:] == bytes(4)  # Arrow before 0.15


def _check(column: pa.ChunkedArray, check: Check) -> None:
    # Any bytes are bytes: where texts are seen as such, only their offsets are looked at.
    seen = column.type if check == "values" else map_leaves(column.type, _bytes_type)
    for chunk in column.chunks:
        view = chunk
        if seen != column.type:
            # Extension types beside texts have no such view: then all is looked at.
            with contextlib.suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid):
                view = chunk.view(seen)
        check_soundness(view)


def _bytes_type(leaf: pa.DataType) -> pa.DataType:
    if pt.is_string(leaf):
        return pa.binary()
    if pt.is_large_string(leaf):
        return pa.large_binary()
    return pa.binary_view() if pt.is_string_view(leaf) else leaf


def open_many(paths: list[Path], in_memory: bool = False, check: Check | None = None) -> pa.Table:
    """Opens several Arrow files of one schema as one table, in order.

    Args:
        paths: At least one file.
        in_memory: Read instead of mapping.
        check: See `open_arrow`.

    Raises:
        FileFormatError: A file is damaged, or its schema differs from the first one's.
    """
    tables = [open_arrow(path, in_memory, check) for path in paths]
    for path, table in zip(paths, tables, strict=True):
        if not table.schema.equals(tables[0].schema):
            raise FileFormatError.at(f"its schema differs from that of {paths[0]}", file=path)
    return tables[0] if len(tables) == 1 else concat_tables(tables)
