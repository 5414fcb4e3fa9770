"""`ArrowWriter` and `ParquetWriter`: rows in, one file out, for code that writes files of its own."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, ClassVar

import pyarrow as pa
from typing_extensions import Self

from gristmill import config as settings
from gristmill.calling.owned import owned
from gristmill.engine import GrowingTable
from gristmill.errors import InvalidArgumentError
from gristmill.features import Features
from gristmill.features.build import table_from_rows
from gristmill.features.cast import cast_table
from gristmill.features.columnless import with_metadata, without_rows
from gristmill.features.infer import refuse, to_json
from gristmill.features.mixed import check_mixed_types
from gristmill.files.remote import local_path, uploaded_file
from gristmill.files.temporary import temporary_prefix
from gristmill.formats.registry import get_format
from gristmill.table.making import columns_to_table, describe, rows_to_table

__all__ = ["ArrowWriter", "ParquetWriter"]


class ArrowWriter:
    """Collects rows and writes them as one Arrow stream file, which appears when `finalize` is called.

    Args:
        schema: The columns, as an Arrow schema.
        features: The columns, as features; without either they are settled over all rows.
        path: The file, or its URL on another file system.
        stream: An open binary file to write to, in place of `path`.
        fingerprint: Kept in the file's metadata.
        writer_batch_size: How many rows are brought to columns at a time.
        disable_nullable: Accepted; columns can always hold None.
        update_features: Take columns that come in later as they are, where `features` name other types.
        on_mixed_types: ``"use_json"`` makes `Json` of columns whose types have no common type; None refuses them.
        with_metadata: Keep the features in the file's metadata.
        unit: Accepted; what a row is called.
        embed_local_files: Accepted; files are not read into columns here.
        storage_options: Options of the file system of `path`.

    Raises:
        InvalidArgumentError: Neither `path` nor `stream` is given, or both are.

    Example:
        >>> import tempfile
        >>> from gristmill import Dataset
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with ArrowWriter(path=f"{folder}/a.arrow") as writer:
        ...         writer.write({"a": 1})
        ...         rows, size = writer.finalize()
        ...     rows, Dataset.from_file(f"{folder}/a.arrow")["a"][:]
        (1, [1])
    """

    _format: ClassVar[str] = "arrow"

    def __init__(
        self,
        schema: pa.Schema | None = None,
        features: Features | None = None,
        path: str | os.PathLike[str] | None = None,
        stream: IO[bytes] | None = None,
        fingerprint: str | None = None,
        writer_batch_size: int | None = None,
        disable_nullable: bool = False,
        update_features: bool = False,
        on_mixed_types: str | None = "use_json",
        with_metadata: bool = True,
        unit: str = "examples",
        embed_local_files: bool = False,
        storage_options: dict[str, Any] | None = None,
    ) -> None:
        if (path is None) == (stream is None):
            raise InvalidArgumentError("ArrowWriter needs either path= or stream=.")
        if features is None and schema is not None:
            features = Features.from_arrow_schema(schema)
        self._wanted = None if features is None or update_features else Features(features)
        self._path = path
        self._stream = stream
        self._fingerprint = fingerprint
        self._format_options: dict[str, Any] = {"form": "stream"}
        self._with_metadata = with_metadata
        self._options = storage_options
        self.writer_batch_size = writer_batch_size or settings.DEFAULT_MAX_BATCH_SIZE
        self._rows: list[Mapping[str, Any]] = []
        self._hints = Features()
        self._bytes = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = tempfile.TemporaryDirectory(
            prefix=temporary_prefix("writer")
        )
        self._mixed = on_mixed_types if check_mixed_types(on_mixed_types) else None
        self._open = True
        self._table = GrowingTable(
            overflow=Path(self._folder.name) / "rows.arrow", clash=to_json if self._mixed else refuse
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return self._table.num_rows + len(self._rows)

    @property
    def features(self) -> Features | None:
        """The columns: those given, or those of the rows so far; None before the first."""
        if self._wanted is not None or self._table.schema is None:
            return self._wanted
        found = Features.from_arrow_schema(self._table.schema)
        schema = self._hints.arrow_schema
        for name in found:
            if name in schema.names and schema.field(name).type == self._table.schema.field(name).type:
                found[name] = self._hints[name]
        return found

    @property
    def schema(self) -> pa.Schema:
        """The columns as an Arrow schema, with the metadata of the file."""
        features = self.features
        if features is None:
            return pa.schema([])
        schema = features.arrow_schema
        metadata = dict(schema.metadata or {}) if self._with_metadata else {}
        if self._with_metadata and self._fingerprint is not None:
            known = json.loads(metadata.get(b"huggingface", b"{}"))
            metadata[b"huggingface"] = json.dumps({**known, "fingerprint": self._fingerprint}).encode()
        return schema.with_metadata(metadata or None)

    def write(self, example: Mapping[str, Any], writer_batch_size: int | None = None) -> None:
        """Adds a row.

        Args:
            example: Values by column.
            writer_batch_size: How many rows are brought to columns at a time, in place of the writer's own.

        Raises:
            CastError: A value does not fit.
            SchemaConflictError: The type of a column changes to one that no type joins with the ones before.
        """
        self._rows.append(owned(example))  # the caller may fill the same one with the next row
        if len(self._rows) >= (writer_batch_size or self.writer_batch_size):
            self.write_examples_on_file()

    def write_examples_on_file(self) -> None:
        """Brings the rows that wait to columns."""
        rows, self._rows = self._rows, []
        if rows:
            if self._wanted is None:
                self._take(rows_to_table(rows, None, self._mixed))
            else:
                self._take(table_from_rows(rows, self._wanted, first_row=self._table.num_rows))

    def write_row(self, row: pa.Table, writer_batch_size: int | None = None) -> None:
        """Adds a row given as a table of one row."""
        if len(row) != 1:
            raise InvalidArgumentError.from_value("row", row, "a table of one row")
        self.write_table(row)

    def write_batch(self, batch_examples: Mapping[str, Any], writer_batch_size: int | None = None) -> None:
        """Adds rows given as columns: a list of values by column."""
        self.write_examples_on_file()
        if any(len(values) for values in batch_examples.values()):
            self._take(columns_to_table(batch_examples, self._wanted, self._mixed, python_text=False))

    def write_table(self, pa_table: pa.Table, writer_batch_size: int | None = None) -> None:
        """Adds the rows of a table."""
        self.write_examples_on_file()
        table = pa_table if self._wanted is None else cast_table(pa_table, self._wanted)
        self._take(table)

    def _take(self, table: pa.Table) -> None:
        table, features = describe(table, self._wanted)
        self._hints = Features({**features, **self._hints})
        self._bytes += table.nbytes
        self._table.write(table)

    def finalize(self, close_stream: bool = True) -> tuple[int, int]:
        """Writes the file.

        Args:
            close_stream: Also close `stream`, if one was given.

        Returns:
            The number of rows, and their bytes as Arrow data.

        Raises:
            FileError: The file can't be written.
        """
        self.write_examples_on_file()
        schema = self.schema
        self._close_table()
        table = self._table.table()
        if not table.num_columns:
            table = without_rows(schema)
        batches = with_metadata(table, schema.metadata).to_batches()
        with contextlib.ExitStack() as stack:
            target: Any = self._stream
            if target is None:
                assert self._path is not None
                target = local_path(self._path) or stack.enter_context(
                    uploaded_file(os.fspath(self._path), self._options)
                )
            get_format(self._format).write(iter(batches), target, schema=schema, **self._format_options)
        if self._stream is not None and close_stream:
            self._stream.close()
        return table.num_rows, self._bytes

    def close(self) -> None:
        """Lets go of what was collected; a file that was not finalized does not appear."""
        self._rows = []
        folder, self._folder = self._folder, None
        if folder is not None:
            self._close_table()
            folder.cleanup()

    def _close_table(self) -> None:
        opened, self._open = self._open, False
        if opened:
            self._table.__exit__(None, None, None)


class ParquetWriter(ArrowWriter):
    """Collects rows and writes them as one Parquet file; the arguments are those of `ArrowWriter`.

    Args:
        *args: As for `ArrowWriter`.
        use_content_defined_chunking: Cut pages by content, so that a changed copy shares most of its bytes.
        write_page_index: Write where each page is and what it holds.
        **kwargs: As for `ArrowWriter`.
    """

    _format: ClassVar[str] = "parquet"

    def __init__(
        self,
        *args: Any,
        use_content_defined_chunking: bool = True,
        write_page_index: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._format_options = {
            "use_content_defined_chunking": use_content_defined_chunking,
            "write_page_index": write_page_index,
        }
