"""Row groups encoded by several threads at a time, in pieces of some columns each, given out in their order.

pyarrow encodes a file in one thread, and leaves the interpreter's lock alone while it does.

Some columns beside each other are written by one writer, one row group after another, while others are by others. A
column that is too large for that has a writer for each row group. Where pages are cut by content, that one has to know
how the row groups before it were cut.
"""

from __future__ import annotations

import heapq
import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.types as pt

from gristmill.features.visit import storage_type
from gristmill.formats.parquet_cuts import CutFinder, Primer
from gristmill.formats.parquet_pieces import Piece, PieceWriter
from gristmill.formats.parquet_splice import first_rows

__all__ = ["can_be_apart", "encoded_groups", "pays", "threads_at_hand"]

_APART = frozenset(
    (
        "allow_truncated_timestamps",
        "bloom_filter_options",
        "coerce_timestamps",
        "column_encoding",
        "compression",
        "compression_level",
        "data_page_size",
        "data_page_version",
        "dictionary_pagesize_limit",
        "max_rows_per_page",
        "store_decimal_as_integer",
        "store_schema",
        "use_byte_stream_split",
        "use_compliant_nested_type",
        "use_content_defined_chunking",
        "use_deprecated_int96_timestamps",
        "use_dictionary",
        "version",
        "write_batch_size",
        "write_page_checksum",
        "write_page_index",
        "write_statistics",
        "write_time_adjusted_to_utc",
        "writer_engine_version",
    )
)
"""Options that say how columns are written, each for itself. Encryption and sorting columns, for two, number them."""
_SMALL, _SMALL_CHUNK = 2 << 20, 32 << 10
"""Bytes of a row group, and of a column chunk, below which another thread costs more than it helps."""
_INSIDE_WORKER = "GRISTMILL_INSIDE_WORKER"
"""Set in worker processes by `gristmill.engine.tasks`, which lives on a higher floor."""
_LARGE_SHARE = 0.8
"""What a column is of a thread's share from which on it is too large to be written by one thread."""
_SMALLEST_CHUNK, _LARGEST_CHUNK = 16 << 10, 4 << 20
"""Bytes of chunks with which a row group is primed: many more than the chunker's hash looks back, and not too many."""
_MOST_HELD = 16
"""Row groups that are held at most, encoded or not."""
_LONGEST_GROUP = 64 << 20
"""Rows of a row group at which pyarrow begins another."""


def threads_at_hand() -> int:
    """Tells how many threads there are for encoding: one in worker processes, of which there are several already."""
    return 1 if os.environ.get(_INSIDE_WORKER) else pa.cpu_count()


def can_be_apart(options: Mapping[str, Any]) -> bool:
    """Says whether column chunks are written the same in files of their own.

    Args:
        options: Of `pyarrow.parquet.ParquetWriter`.
    """
    # An option that pyarrow may get one day could be one that reaches over columns.
    return _APART.issuperset(options) and not any(
        isinstance(value, Iterator) for value in options.values()
    )  # can be read once only


def pays(table: pa.Table) -> bool:
    """Says whether row groups are large enough to be given to other threads.

    Args:
        table: The first of them.
    """
    chunks = sum(len(_leaves(storage_type(type_))) for type_ in table.schema.types)
    return bool(table.nbytes >= max(_SMALL, _SMALL_CHUNK * chunks))


def _leaves(type_: Any) -> list[Any]:
    """Gives the types of the columns that Parquet has for a type."""
    inner = [leaf for number in range(type_.num_fields) for leaf in _leaves(type_.field(number).type)]
    return inner or [type_]


def encoded_groups(
    groups: Iterable[pa.Table],
    options: Mapping[str, Any],
    threads: int,
    check: Callable[[pa.Table, int], None],
) -> Generator[list[Piece], None, None]:
    """Encodes row groups.

    Args:
        groups: Tables, at least one, drawn one by one by who draws from this, at most one more than there are threads ahead.
        options: Of `pyarrow.parquet.ParquetWriter`; see `can_be_apart`.
        threads: How many pieces are encoded at a time.
        check: Refuses columns with what pyarrow does not write; gets the number of their first row, too.

    Yields:
        For each row group, its pieces in the order of the columns. An error comes where it would have come if they were
        encoded one by one. The files of the pieces are complete when this has ended.
    """
    tables = _cut(groups)
    with ThreadPoolExecutor(threads, thread_name_prefix="gristmill-parquet") as pool:
        work = _Work(pool)
        columns: list[tuple[range, _Columns]] = []
        whole = False
        try:
            first = next(tables)
            columns.extend(_divided(first, options, threads, check, work))
            tables = itertools.chain([first], tables)
            del first
            yield from _in_order(tables, columns, min(threads + 1, _MOST_HELD))
            whole = True
        finally:
            work.stop()
            pool.shutdown(cancel_futures=True)
            for _, writer in columns:
                writer.close(whole=whole)


def _in_order(
    tables: Iterator[pa.Table], columns: list[tuple[range, _Columns]], most: int
) -> Iterator[list[Piece]]:
    """Gives row groups to the writers of their columns, so many ahead, and takes their pieces."""
    waiting: deque[list[Future[Piece]]] = deque()
    error: Exception | None = None
    ended = False
    row = 0
    while True:
        while not ended and len(waiting) < most:
            try:
                table = next(tables, None)
            except Exception as caught:  # noqa: BLE001  # raised below: what comes before it is good
                error, table = caught, None
            if table is None:
                ended = True
                break
            waiting.append([writer.add(table.select(list(numbers)), row) for numbers, writer in columns])
            row += table.num_rows
            del table
        if not waiting:
            break
        yield [piece.result() for piece in waiting.popleft()]
    if error is not None:
        raise error


def _cut(groups: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Cuts tables where pyarrow would."""
    for table in groups:
        if table.num_rows <= _LONGEST_GROUP:
            yield table
            continue
        for start in range(0, table.num_rows, _LONGEST_GROUP):
            yield table.slice(start, _LONGEST_GROUP)


def _divided(
    table: pa.Table,
    options: Mapping[str, Any],
    threads: int,
    check: Callable[[pa.Table, int], None],
    work: _Work,
) -> Iterator[tuple[range, _Columns]]:
    """Tells which columns are written together, and by what."""
    chunking = options.get("use_content_defined_chunking")
    sizes = [column.nbytes for column in table.columns]
    most = sum(sizes) / (2 * threads)
    start = size = 0
    for number, more in enumerate([*sizes, 0]):
        if number > start and (size + more > most or number == len(sizes)):
            numbers = range(start, number)
            # One that would be waited for by all the other threads.
            is_large = size * threads > _LARGE_SHARE * sum(sizes)
            schema = table.select(list(numbers)).schema
            one_by_one = not is_large or (chunking and not _can_be_primed(schema, options))
            kind = _OneByOne if one_by_one else _AllAtOnce
            yield numbers, kind(schema, options, check, work)
            start, size = number, 0
        size += more


def _can_be_primed(schema: pa.Schema, options: Mapping[str, Any]) -> bool:
    """Says whether a row group can be cut as it is without writing all those before it."""
    chunking = options["use_content_defined_chunking"]
    leaves = [leaf for type_ in schema.types for leaf in _leaves(storage_type(type_))]
    return (
        len(leaves) == 1
        and _is_plain(leaves[0])
        and bool(options.get("write_page_index"))
        and isinstance(chunking, Mapping)
        and _SMALLEST_CHUNK <= chunking["min_chunk_size"] <= chunking["max_chunk_size"] // 2
        and chunking["max_chunk_size"] <= _LARGEST_CHUNK
    )


def _is_plain(type_: Any) -> bool:
    """Says whether values are written as they are, and of at least as many bytes as pyarrow's chunker counts."""
    return bool(
        pt.is_integer(type_)
        or pt.is_floating(type_)
        or pt.is_string(type_)
        or pt.is_large_string(type_)
        or pt.is_binary(type_)
        or pt.is_large_binary(type_)
    )


class _Work:
    """What threads are to do: first what others wait for, then the largest, lest all wait for one begun last."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._jobs: list[tuple[bool, int, int, Callable[[], None]]] = []
        self._count = 0
        self._stopped = False
        self._lock = threading.Lock()

    def add(self, job: Callable[[], None], size: int, *, awaited: bool = False) -> None:
        with self._lock:
            if not self._stopped:
                self._count += 1
                heapq.heappush(self._jobs, (not awaited, -size, self._count, job))
                self._pool.submit(self._do_next)

    def _do_next(self) -> None:
        with self._lock:
            job = heapq.heappop(self._jobs)[3] if self._jobs else None
        if job is not None:
            job()

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            self._jobs.clear()


class _Columns(Protocol):
    """Writes some columns of the row groups."""

    def add(self, table: pa.Table, row: int) -> Future[Piece]: ...

    def close(self, *, whole: bool) -> None: ...


class _InTurn:
    """Jobs of which one is done at a time, in the order in which they came."""

    def __init__(self, work: _Work, *, awaited: bool) -> None:
        self._work, self._awaited = work, awaited
        self._jobs: deque[tuple[Callable[[], None], int]] = deque()
        self._lock = threading.Lock()

    def add(self, job: Callable[[], None], size: int) -> None:
        with self._lock:
            self._jobs.append((job, size))
            if len(self._jobs) == 1:
                self._work.add(self._do, size, awaited=self._awaited)

    def _do(self) -> None:
        self._jobs[0][0]()
        with self._lock:
            self._jobs.popleft()
            if self._jobs:
                self._work.add(self._do, self._jobs[0][1], awaited=self._awaited)


class _OneByOne:
    """Writes the row groups one after another."""

    def __init__(
        self,
        schema: pa.Schema,
        options: Mapping[str, Any],
        check: Callable[[pa.Table, int], None],
        work: _Work,
    ) -> None:
        self._check = check
        self._writer = PieceWriter(schema, options)
        self._failed = False
        self._turns = _InTurn(work, awaited=False)

    def add(self, table: pa.Table, row: int) -> Future[Piece]:
        written: Future[Piece] = Future()

        def write() -> Piece:
            if self._failed:
                raise CancelledError
            self._failed = True
            self._check(table, row)
            piece = self._writer.write(table)
            self._failed = False
            return piece

        self._turns.add(partial(_fulfil, written, write), table.nbytes)
        return written

    def close(self, *, whole: bool) -> None:
        if whole:
            self._writer.close()
        else:
            self._writer.abandon()


class _AllAtOnce:
    """Writes each row group for itself."""

    def __init__(
        self,
        schema: pa.Schema,
        options: Mapping[str, Any],
        check: Callable[[pa.Table, int], None],
        work: _Work,
    ) -> None:
        self._schema, self._options, self._check, self._work = schema, options, check, work
        self._last: pa.Table = None
        chunked = options.get("use_content_defined_chunking")
        self._finder = CutFinder(schema, options) if chunked else None
        self._turns = _InTurn(work, awaited=True)

    def add(self, table: pa.Table, row: int) -> Future[Piece]:
        written: Future[Piece] = Future()

        def begin(primers: list[Primer]) -> None:
            self._work.add(partial(_fulfil, written, partial(self._write, table, row, primers)), table.nbytes)

        if self._finder is None or self._last is None:
            begin([])
        else:
            self._turns.add(partial(self._prime, self._finder, self._last, begin, written), self._last.nbytes)
        self._last = table
        return written

    def _prime(
        self,
        finder: CutFinder,
        table: pa.Table,
        begin: Callable[[list[Primer]], None],
        written: Future[Piece],
    ) -> None:
        try:
            primers = finder.add(table)
        except BaseException as error:  # noqa: BLE001  # raised where the result is taken
            written.set_exception(error)
        else:
            begin(primers)

    def _write(self, table: pa.Table, row: int, primers: list[Primer]) -> Piece:
        self._check(table, row)
        pieces = [] if primers else self._encoded([table])
        for primer in primers:
            pieces = self._encoded([primer.rows, table])
            # Even where the last of the primers does not do, the rows are right, and only pages may begin elsewhere.
            if set(first_rows(pieces[0])[0]).issuperset(primer.cuts):
                break
        return pieces[-1]

    def _encoded(self, tables: Iterable[pa.Table]) -> list[Piece]:
        writer = PieceWriter(self._schema, self._options)
        try:
            pieces = [writer.write(table) for table in tables]
            writer.close()
        except BaseException:
            writer.abandon()
            raise
        return pieces

    def close(self, *, whole: bool) -> None:
        if self._finder is not None:
            self._finder.close()


def _fulfil(promise: Future[Piece], write: Callable[[], Piece]) -> None:
    try:
        promise.set_result(write())
    except BaseException as error:  # noqa: BLE001  # raised where the result is taken
        promise.set_exception(error)
