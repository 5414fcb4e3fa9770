"""`RemoteParquet`: a Parquet file elsewhere, of which only the chunks that are read come over."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gristmill import config
from gristmill.errors import ColumnNotFoundError, FileFormatError, RowIndexError
from gristmill.features.columnless import without_rows
from gristmill.files.borders import reading
from gristmill.formats.parquet import ParquetFormat
from gristmill.formats.parquet_footer import has_sound_chunks
from gristmill.formats.source import Position, SourceFile
from gristmill.hub.client import HubClient
from gristmill.partial.groups import GroupsAhead
from gristmill.partial.intervals import Interval, merged, total
from gristmill.partial.mirror import MIRRORS_FOLDER, Mirror, ScratchMirror
from gristmill.partial.opening import open_source
from gristmill.partial.pruning import groups_by_pages
from gristmill.partial.source import TAIL_BYTES, RangeSource

__all__ = ["RemoteParquet"]

_MAGIC = b"PAR1"
_LARGEST_FOOTER = 256 << 20
_SMALL = 1 << 20
_ONE_REQUEST = 8 << 20


class RemoteParquet:
    """A Parquet file on a Hub, behind a URL, or on another file system, read in part.

    Opening it fetches its end, and its footer if that is longer than what was fetched at once. Reading fetches the
    column chunks that are needed, near ones by one request, several at a time. They are kept in a sparse file of the
    full length which is an ordinary Parquet file as far as it goes; another run, or another process, goes on from there.

    Args:
        source: A repository (``"namespace/name"``), or a URL: ``hf://datasets/...``, ``https://...``, ``s3://...`` and
            whatever fsspec knows. A file on this machine is used where it is.
        file: The file in the repository.
        revision: Branch, tag or commit of the repository.
        client: The Hub to ask; a client with the configured settings if left out.
        token: A Hub token, or False for none.
        cache_dir: Where the sparse files are kept; ``partial`` in `config.HF_DATASETS_CACHE` if left out.
        storage_options: Options of the file system.
        workers: Most requests at a time.

    Raises:
        FileFormatError: It is no Parquet file, or damaged.
        RangeIgnoredError: The server can't send parts of files.
        HubError: The Hub or server refuses or can't be reached.
        FileError: The file system refuses.

    Example:
        >>> import tempfile
        >>> from gristmill import Dataset
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Dataset.from_dict({"a": [1, 2, 3], "b": ["x", "y", "z"]}).to_parquet(
        ...         f"{folder}/a.parquet"
        ...     )
        ...     remote = RemoteParquet(f"{folder}/a.parquet")
        ...     remote.num_rows, remote.read(columns=["b"], filters=[("a", ">", 1)]).to_pydict()
        (3, {'b': ['y', 'z']})
    """

    def __init__(
        self,
        source: str,
        file: str | None = None,
        revision: str | None = None,
        *,
        client: HubClient | None = None,
        token: str | bool | None = None,
        cache_dir: str | Path | None = None,
        storage_options: Mapping[str, Any] | None = None,
        workers: int = 8,
    ) -> None:
        found = open_source(source, file, revision, client=client, token=token, options=storage_options)
        self._mirror: Mirror | None = None
        if isinstance(found, Path):
            self.path: Path = found
            self.name = str(source) if file is None else f"{source}/{file}"
            self.size = found.stat().st_size
            self._read_footer()
        else:
            self._open(Mirror(found, _folder(cache_dir), workers), found.name)

    @classmethod
    def from_ranges(
        cls,
        source: RangeSource,
        name: str = "",
        *,
        cache_dir: str | Path | None = None,
        scratch: bool = False,
        whole: bool = False,
        workers: int = 8,
    ) -> RemoteParquet:
        """Opens a remote file that was found already.

        Args:
            source: The file.
            name: What to call it in errors; the source's own name if left out.
            cache_dir: As for the class.
            scratch: Nothing is kept: what is fetched goes when nobody holds the object any more.
            whole: All of it will be read: with `scratch`, one that is not large comes in one request.
            workers: As for the class.

        Raises:
            FileFormatError: It is no Parquet file, or damaged.
            HubError: The server refuses or can't be reached.
        """
        made = cls.__new__(cls)
        mirror = (ScratchMirror if scratch else Mirror)(source, _folder(cache_dir), workers)
        if scratch and source.size <= (_ONE_REQUEST if whole else _SMALL):
            mirror.ensure([(0, source.size)])  # one request instead of two
        made._open(mirror, name)
        return made

    def _open(self, mirror: Mirror, name: str) -> None:
        self._mirror = mirror
        self.path, self.size = mirror.path, mirror.source.size
        self.name = name or mirror.source.name
        _fetch_footer(mirror)
        self._read_footer()

    def _read_footer(self) -> None:
        with reading(self.name, "Parquet"):
            self.metadata: Any = pq.read_metadata(self.path)
            # At once: later on, in a forked process, the file may have no name any more.
            self._has_sound_chunks = has_sound_chunks(self.path, self.metadata)

    def __repr__(self) -> str:
        return (
            f"RemoteParquet({self.name!r}: {self.num_rows:,} rows in {self.num_row_groups:,} row groups, "
            f"{self.bytes_here:,} of {self.size:,} bytes here)"
        )

    def __len__(self) -> int:
        return self.num_rows

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return int(self.metadata.num_rows)

    @property
    def num_row_groups(self) -> int:
        """Number of row groups."""
        return int(self.metadata.num_row_groups)

    @property
    def schema(self) -> pa.Schema:
        """The columns, with their metadata.

        Raises:
            FileFormatError: A column has a type that can't be read.
        """
        return ParquetFormat().infer_schema(SourceFile(self.path, self.name))

    @property
    def bytes_fetched(self) -> int:
        """Bytes that this object fetched, the footer included; 0 for a file on this machine."""
        return 0 if self._mirror is None else self._mirror.bytes_fetched

    @property
    def bytes_here(self) -> int:
        """Bytes of the file that are on this machine, whoever fetched them."""
        return self.size if self._mirror is None else total(self._mirror.here())

    def ranges(
        self, row_groups: int | Iterable[int] | None = None, columns: Sequence[str] | None = None
    ) -> list[Interval]:
        """Says which bytes hold some columns of some row groups.

        Args:
            row_groups: Numbers of row groups, or one; all if None.
            columns: Names of columns, or paths of fields inside; all if None.

        Returns:
            Half-open ranges in order.

        Raises:
            RowIndexError: There is no such row group.
            ColumnNotFoundError: There is no such column.
            FileFormatError: The footer names a place where no chunk can be, or is damaged otherwise.
        """
        self._check_chunks()
        groups = range(self.num_row_groups) if row_groups is None else row_groups
        groups = [groups] if isinstance(groups, int) else list(groups)
        leaves = self._leaves(columns)
        found = []
        for group in groups:
            if not 0 <= group < self.num_row_groups:
                raise RowIndexError(
                    f"{self.name} has no row group {group}: they go from 0 to {self.num_row_groups - 1}."
                )
            with reading(self.name, "Parquet"):
                of_group = self.metadata.row_group(group)
                found += [self._chunk(of_group.column(leaf), group) for leaf in leaves]
        return merged(found)

    def _check_chunks(self) -> None:
        if not self._has_sound_chunks:
            problem = (
                "what the footer says of the column chunks does not fit its columns, or they are encrypted"
            )
            raise FileFormatError.at(problem, file=self.name)

    def _leaves(self, columns: Sequence[str] | None) -> list[int]:
        schema = self.metadata.schema
        with reading(self.name, "Parquet"):
            paths = [schema.column(leaf).path for leaf in range(len(schema))]
        if columns is None:
            return list(range(len(paths)))
        chosen: set[int] = set()
        for name in columns:
            fits = [i for i, path in enumerate(paths) if path == name or path.startswith(f"{name}.")]
            if not fits:
                raise ColumnNotFoundError.from_name(name, dict.fromkeys(p.partition(".")[0] for p in paths))
            chosen.update(fits)
        return sorted(chosen)

    def _chunk(self, column: Any, group: int) -> Interval:
        start = int(column.data_page_offset)
        dictionary = column.dictionary_page_offset
        if dictionary is not None and 0 < dictionary < start:
            start = int(dictionary)
        end = start + int(column.total_compressed_size)
        # Of a chunk without values some writers say that it begins at 0; readers look there nevertheless.
        least = len(_MAGIC) if column.num_values else 0
        if not least <= start <= end <= self.size - 8:
            problem = f"the footer says that the chunk lies at bytes {start} to {end}, where none can be"
            raise FileFormatError.at(
                problem, file=f"{self.name}, row group {group}", column=column.path_in_schema
            )
        return start, end

    def ensure(
        self, row_groups: int | Iterable[int] | None = None, columns: Sequence[str] | None = None
    ) -> Path:
        """Makes sure that column chunks are here.

        Args:
            row_groups: As for `ranges`.
            columns: As for `ranges`.

        Returns:
            The sparse file: an ordinary Parquet file, as far as these chunks go.

        Raises:
            HubError: The server refuses or can't be reached; what came is kept.
            FileError: The sparse file can't be written.
        """
        self.fetch(self.ranges(row_groups, columns))
        return self.path

    def source_file(self) -> SourceFile:
        """Gives the file as readers of formats take it.

        Each row group is fetched when it is read, and those that will be read after it, up to
        `config.GRISTMILL_READ_AHEAD` bytes, while it is.
        """
        if self._mirror is None:
            return SourceFile(self.path, self.name)
        ahead = GroupsAhead(self)
        return SourceFile(
            self.path,
            self.name,
            ensure=ahead.ensure,
            prune=self._prune,
            close=ahead.close,
            footer=self.metadata,
        )

    def fetch(self, ranges: Sequence[Interval]) -> None:
        """Makes sure that bytes are here.

        Args:
            ranges: Half-open ranges.

        Raises:
            HubError: The server refuses or can't be reached; what came is kept.
            FileError: The sparse file can't be written.
        """
        if self._mirror is not None:
            self._mirror.ensure(ranges)

    def _prune(self, groups: Sequence[int], predicate: Any) -> list[int]:
        with reading(self.name, "Parquet"):
            schema = self.metadata.schema.to_arrow_schema()
        return groups_by_pages(self, schema, self.metadata.serialized_size, groups, predicate)

    def known(self, columns: Sequence[str] | None) -> list[str] | None:
        """Gives those of some columns that the file has; None, which is all, stays None."""
        if columns is None:
            return None
        names = set(self.metadata.schema.to_arrow_schema().names)
        return [name for name in columns if name in names]

    def iter_batches(
        self,
        columns: Sequence[str] | None = None,
        filters: Any = None,
        start: Position | None = None,
    ) -> Iterator[tuple[Position, pa.RecordBatch]]:
        """Reads row group by row group; those that statistics rule out are not fetched.

        Args:
            columns: Columns to read, in this order; all if None.
            filters: Rows to keep: an expression, or ``[("column", "op", value), ...]``.
            start: Position that an earlier read gave: read from there on.

        Yields:
            (position of the batch's first row, batch).

        Raises:
            FileFormatError: A chunk is damaged.
            HubError: The server refuses or can't be reached.
        """
        yield from ParquetFormat().read(self.source_file(), columns=columns, filters=filters, start=start)

    def read(self, columns: Sequence[str] | None = None, filters: Any = None) -> pa.Table:
        """Reads rows into memory, see `iter_batches`.

        Args:
            columns: Columns to read, in this order; all if None.
            filters: Rows to keep.
        """
        batches = [batch for _, batch in self.iter_batches(columns, filters)]
        if batches:
            return pa.Table.from_batches(batches)
        table = without_rows(self.schema)
        return table if columns is None else table.select([c for c in columns if c in table.column_names])

    def take(self, rows: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
        """Reads rows by their numbers, in the order given; only their row groups are fetched.

        Args:
            rows: Row numbers, counted from 0; negative ones from the end.
            columns: Columns to read, in this order; all if None.

        Raises:
            RowIndexError: There is no such row.
        """
        import numpy as np

        numbers = np.asarray(rows, np.int64)
        wrong = numbers[(numbers < -self.num_rows) | (numbers >= self.num_rows)]
        if len(wrong):
            raise RowIndexError.from_index(int(wrong[0]), self.num_rows)
        numbers = np.where(numbers < 0, numbers + self.num_rows, numbers)
        ends = np.cumsum([self.metadata.row_group(g).num_rows for g in range(self.num_row_groups)])
        of_row = np.searchsorted(ends, numbers, side="right")
        groups = np.unique(of_row).tolist()
        self.ensure(groups, columns)
        parts = [self.read(columns).slice(0, 0)] if not groups else []
        order = np.argsort(of_row, kind="stable")
        with reading(self.name, "Parquet"), pq.ParquetFile(self.path, metadata=self.metadata) as file:
            for group in groups:
                table = file.read_row_group(group, columns=None if columns is None else list(columns))
                inside = numbers[of_row == group] - (int(ends[group - 1]) if group else 0)
                parts.append(table if columns is None else table.select(list(columns)))
                parts[-1] = parts[-1].take(inside)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return pa.concat_tables(parts).take(back) if len(numbers) else parts[0]


def _folder(cache_dir: str | Path | None) -> Path:
    return Path(cache_dir) if cache_dir is not None else config.HF_DATASETS_CACHE / MIRRORS_FOLDER


def _fetch_footer(mirror: Mirror) -> None:
    """Fetches the end of a file, and its footer if that begins before it."""
    size, name = mirror.source.size, mirror.source.name
    if size < 12:
        raise FileFormatError.at(f"is no Parquet file: it has {size} bytes", file=name)
    mirror.ensure([(max(0, size - TAIL_BYTES), size)])
    with mirror.path.open("rb") as file:
        file.seek(size - 8)
        length, magic = struct.unpack("<I4s", file.read(8))
    if magic == b"PARE":
        raise FileFormatError.at("its footer is encrypted", file=name, remedy="Decrypt it first.")
    if magic != _MAGIC:
        raise FileFormatError.at(
            f"is no Parquet file: it ends with {magic!r} instead of {_MAGIC!r}", file=name
        )
    if length > min(size - 12, _LARGEST_FOOTER):
        raise FileFormatError.at(f"says that its footer has {length:,} bytes, which can't be", file=name)
    mirror.ensure([(size - 8 - length, size)])
    # What a Parquet file begins with needs no request; some readers look for it.
    mirror.write_unrecorded(0, _MAGIC)
