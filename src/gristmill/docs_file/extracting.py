"""Parquet to ``.docs``: row groups decoded and checked in parallel, written in order, in bounded memory."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gristmill.errors import DataError, FileFormatError, InvalidArgumentError
from gristmill.files.atomic import atomic_file
from gristmill.files.borders import reading
from gristmill.formats.docs_columns import Chosen, Documents, choose_column, documents_of
from gristmill.formats.docs_layout import parse_roles
from gristmill.formats.docs_write import docs_writer
from gristmill.formats.parquet_footer import has_sound_chunks
from gristmill.hub.client import HubClient
from gristmill.prepared.source import DataFile, fetch_each
from gristmill.prepared.user_files import find_user_files
from gristmill.progress import progress

# A row group up to this size, decoded, is one piece of work; a larger one is read batch by batch.
_PIECE_BYTES = 64 << 20


@dataclass(frozen=True)
class Extracted:
    """What one ``.docs`` file was made of.

    Attributes:
        output: The file.
        sources: Parquet files in it, in order.
        column: The column documents were taken from.
        documents: Documents in it (messages, for a chat column).
        conversations: Conversations in it; 0 unless the column holds them.
        text_bytes: Bytes of text in it.
        seconds: How long it took.
    """

    output: Path
    sources: tuple[str, ...]
    column: str
    documents: int
    conversations: int
    text_bytes: int
    seconds: float


@dataclass(frozen=True)
class _Source:
    """A Parquet file, its footer read."""

    path: Path
    name: str
    metadata: Any
    chosen: Chosen
    leaves: list[str]

    @property
    def content_leaf(self) -> int:
        schema = self.metadata.schema
        return next(i for i in range(len(schema)) if schema.column(i).path == self.leaves[-1])

    def most_documents(self) -> int:
        """Documents there can be at most: entries of the text's chunks, of which an empty list has one as well."""
        leaf = self.content_leaf
        groups = range(self.metadata.num_row_groups)
        return sum(self.metadata.row_group(group).column(leaf).num_values for group in groups)


def extract(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    column: str | None = None,
    role: str | None = None,
    content: str | None = None,
    roles: Mapping[str, int] | None = None,
    threads: int | None = None,
) -> list[Extracted]:
    """Takes the text out of Parquet files. The same files give the same bytes.

    A null is an empty document, so that document `i` is row `i`.

    Args:
        files: Parquet files: paths, patterns, ``hf://`` or http(s) URLs.
        output: A name that ends in ``.docs``: one file with everything. Any other: a folder with a ``.docs`` file for
            each Parquet file.
        column: Column of text or of messages; by default ``text``, else ``messages`` or ``conversations``.
        role: Field of a message with its role; by default ``role`` or ``from``.
        content: Field of a message with its text; by default ``content`` or ``value``.
        roles: Role name -> byte, beyond system 0, user 1, assistant 2, tool 3 and their common other names.
        threads: Row groups decoded at the same time; as many as there are processors by default.

    Returns:
        What each file written holds.

    Raises:
        DataFilesNotFoundError: A path or pattern means nothing.
        FileFormatError: A file is not Parquet, or damaged.
        ColumnNotFoundError: There is no such column.
        DataError: A text is not valid UTF-8, a role is not known, or a column holds neither; names file and row.
        FileError: The output can't be written.

    Example:
        >>> import tempfile
        >>> from gristmill import Dataset, DocsFile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Dataset.from_dict({"text": ["one", "two"]}).to_parquet(f"{folder}/a.parquet")
        ...     [made] = extract(f"{folder}/a.parquet", f"{folder}/a.docs")
        ...     made.documents, list(DocsFile(made.output))
        (2, ['one', 'two'])
    """
    if threads is not None and threads < 1:
        raise InvalidArgumentError.from_value("threads", threads, "a positive number")
    names = [files] if isinstance(files, str | os.PathLike) else list(files)
    if not names:
        raise InvalidArgumentError.from_value("files", files, "at least one Parquet file")
    found = find_user_files([os.fspath(name) for name in names], None, HubClient)
    numbers = parse_roles(roles)
    sources = [
        _open(file, path, column, role, content)
        for files_of_split in found.values()
        for file, path in zip(files_of_split, fetch_each(files_of_split), strict=True)
    ]
    target = Path(output)
    groups = [(target, sources)] if target.suffix == ".docs" else _by_name(target, sources)
    return [_write(path, members, numbers, threads or os.cpu_count() or 1) for path, members in groups]


def _by_name(folder: Path, sources: Iterable[_Source]) -> list[tuple[Path, list[_Source]]]:
    made: dict[Path, list[_Source]] = {}
    for source in sources:
        path = folder / (Path(source.name.rpartition("/")[2]).stem + ".docs")
        if path in made:
            raise InvalidArgumentError(
                f"{made[path][0].name} and {source.name} would both become {path}. Extract them into different folders."
            )
        made[path] = [source]
    return list(made.items())


def _open(file: DataFile, path: Path, column: str | None, role: str | None, content: str | None) -> _Source:
    import pyarrow.parquet as pq

    with reading(file.name, "Parquet"):
        metadata = pq.read_metadata(path)
        schema = metadata.schema.to_arrow_schema()
        if not has_sound_chunks(path, metadata):
            problem = (
                "what the footer says of the column chunks does not fit its columns, or they are encrypted"
            )
            raise FileFormatError.at(problem, file=file.name)
    chosen = choose_column(schema, column, role, content, file=file.name)
    paths = [metadata.schema.column(i).path for i in range(len(metadata.schema))]
    if not chosen.is_chat:
        return _Source(path, file.name, metadata, chosen, [chosen.column])
    inside = [leaf for leaf in paths if leaf.startswith(f"{chosen.column}.")]
    leaves = [next(p for p in inside if p.endswith(f".{name}")) for name in (chosen.role, chosen.content)]
    return _Source(path, file.name, metadata, chosen, leaves)


def _write(path: Path, sources: list[_Source], roles: Mapping[str, int], threads: int) -> Extracted:
    begun = time.perf_counter()
    chosen = sources[0].chosen
    for source in sources:
        if source.chosen.is_chat != chosen.is_chat:
            raise DataError.at(
                "holds documents where other files hold conversations, or the other way round",
                file=source.name,
                remedy="Extract them into files of their own.",
            )
    rows = sum(source.metadata.num_rows for source in sources)
    most = sum(source.most_documents() for source in sources)
    with (
        atomic_file(path) as file,
        docs_writer(file, chat=chosen.is_chat, documents=most, conversations=rows) as writer,
        progress(f"extracting {path.name}", total=rows) as bar,
    ):
        for count, documents in _decoded(sources, roles, threads):
            writer.add(*documents)
            bar.update(count)
    seconds = time.perf_counter() - begun
    return Extracted(
        path,
        tuple(source.name for source in sources),
        chosen.column,
        writer.documents,
        writer.conversations,
        writer.text_bytes,
        seconds,
    )


def _decoded(
    sources: Iterable[_Source], roles: Mapping[str, int], threads: int
) -> Iterator[tuple[int, Documents]]:
    """Decodes row groups in threads, a few ahead of the writing, and gives them in their order."""
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[list[tuple[int, Documents]]] | Iterator[tuple[int, Documents]]] = deque()

        def settle() -> Iterator[tuple[int, Documents]]:
            first = waiting.popleft()
            return iter(first.result()) if isinstance(first, Future) else first

        try:
            for source in sources:
                row = 0
                for group in range(source.metadata.num_row_groups):
                    work = partial(_pieces, source, group, row, roles)
                    large = _group_bytes(source, group) > _PIECE_BYTES
                    waiting.append(work() if large else pool.submit(_all_of, work))
                    row += source.metadata.row_group(group).num_rows
                    if len(waiting) > threads:
                        yield from settle()
            while waiting:
                yield from settle()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _all_of(work: Callable[[], Iterator[tuple[int, Documents]]]) -> list[tuple[int, Documents]]:
    return list(work())


def _group_bytes(source: _Source, group: int) -> int:
    return int(source.metadata.row_group(group).column(source.content_leaf).total_uncompressed_size)


def _pieces(
    source: _Source, group: int, row: int, roles: Mapping[str, int]
) -> Iterator[tuple[int, Documents]]:
    import pyarrow.parquet as pq

    rows = source.metadata.row_group(group).num_rows
    size = max(1, _group_bytes(source, group))
    batch_rows = rows if size <= _PIECE_BYTES else max(1, rows * _PIECE_BYTES // size)
    with (
        reading(source.name, "Parquet"),
        pq.ParquetFile(
            source.path, metadata=source.metadata, memory_map=True, page_checksum_verification=True
        ) as file,
    ):
        for batch in file.iter_batches(max(1, batch_rows), [group], source.leaves, use_threads=False):
            column = batch.column(0)
            yield (
                len(column),
                documents_of(column, source.chosen, roles, file=source.name, first_row=row),
            )
            row += len(column)
