"""The class `Dataset`: its methods in one place, each handing the work to a module of its topic."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gristmill.arguments import (
    check_column,
    check_columns,
    check_renaming,
    file_path,
    row_count,
    whole_number,
)
from gristmill.calling.caller import Caller
from gristmill.dataset import (
    batching,
    casting,
    columns,
    combining,
    creating,
    export,
    filtering,
    flattening,
    frames,
    labels,
    mapping,
    row_numbers,
    saving,
    sharding,
    sorting,
    splitting,
    tidying,
)
from gristmill.dataset.column import Column
from gristmill.dataset.identity import Identity
from gristmill.dataset.place import Place
from gristmill.dataset.rewriting import rewrite
from gristmill.dataset.rows import parse_key
from gristmill.errors import InvalidArgumentError
from gristmill.features import Features
from gristmill.features.align import align_features
from gristmill.features.columnless import with_metadata
from gristmill.features.convert import from_arrow_type
from gristmill.features.picking import check_features, pick_features, rename_features
from gristmill.features.schema import schema_metadata
from gristmill.files.paths import absolute_path
from gristmill.fingerprint import Hasher, validate_fingerprint
from gristmill.formatting import FormatSpec, Reader
from gristmill.formatting.registry import FRAMES
from gristmill.info import DatasetInfo, InfoMixin, all_equal, wanted_features
from gristmill.not_there_yet import MissingMethod
from gristmill.search import IndexableMixin
from gristmill.splits import NamedSplit, Split
from gristmill.table import InMemoryTable, Table, making
from gristmill.table.arrow_file import open_arrow, open_buffer
from gristmill.table.gather import arrow_vector
from gristmill.table.grouping import batch_features
from gristmill.table.of_view import plain_table, table_of_view
from gristmill.table.origins import Origins
from gristmill.table.selection import IndexVector, as_vector, parse_indices
from gristmill.table.view import View

# What most programs never use (streams, databases, files read as `load_dataset` does) is loaded by the methods that do.
if TYPE_CHECKING:
    from gristmill.dataset.publishing import DatasetSource
    from gristmill.dataset.splits_dict import DatasetDict
    from gristmill.hub.writing import CommitInfo
    from gristmill.iterable import IterableDataset


class Dataset(IndexableMixin, InfoMixin):
    """Rows in named, typed columns.

    Choosing rows or columns copies nothing, and what `map` computes is stored beside what was there. Iterating and
    indexing give rows as dicts of Python values, or whatever `set_format` was told.

    Args:
        arrow_table: The columns: a table of `gristmill.table` or of pyarrow.
        info: What is known about the dataset; its features, if given, describe the columns.
        split: Name of the split.
        indices_table: A table whose first column holds the rows meant, in order; all rows if left out.
        fingerprint: The dataset's fingerprint; computed from the rows if left out.

    Raises:
        CastError: `info.features` and the columns do not go together.

    Example:
        >>> ds = Dataset.from_dict({"text": ["a", "b"], "n": [1, 2]})
        >>> ds
        Dataset({
            features: ['text', 'n'],
            num_rows: 2
        })
        >>> ds[0], ds["n"][:], ds[:1]
        ({'text': 'a', 'n': 1}, [1, 2], {'text': ['a'], 'n': [1]})
    """

    def __init__(
        self,
        arrow_table: Table | pa.Table,
        info: DatasetInfo | None = None,
        split: str | None = None,
        indices_table: Table | pa.Table | None = None,
        fingerprint: str | None = None,
    ) -> None:
        plain, files = plain_table(arrow_table)
        table, features = making.describe(plain, wanted_features(None, info))
        info = copy.copy(info) if info is not None else DatasetInfo()
        info.features = features
        identity = Identity(value=fingerprint) if fingerprint else Identity.of_table(table)
        view = View.from_table(table, files)
        if indices_table is not None:
            rows = parse_indices(indices_table.column(0), table.num_rows)
            view = view.select(rows)
            identity = identity if fingerprint else identity.after("indices", Hasher.hash(rows))
        self._fill(view, info, split, FormatSpec(), identity, None)

    def _fill(
        self,
        view: View,
        info: DatasetInfo,
        split: str | None,
        format: FormatSpec,
        identity: Identity,
        cache_dir: Path | None,
    ) -> None:
        self._view = view
        self._info = info
        self._split = None if split is None else NamedSplit(split)
        self._spec = format
        self._identity = identity
        self._cache_dir = cache_dir

    @classmethod
    def _from_parts(
        cls,
        table: pa.Table,
        *,
        info: DatasetInfo | None = None,
        split: str | None = None,
        fingerprint: str | None = None,
        origins: Origins | None = None,
        cache_dir: Path | None = None,
        cache_files: Sequence[Path] = (),
        described: bool = False,
    ) -> Dataset:
        """Makes a dataset of a prepared table.

        Args:
            table: The rows. If `cache_files` are given, exactly what `open_arrow` gives for them, joined in order.
            info: What is known; its features, if any, describe the columns.
            split: Name of the split.
            fingerprint: Computed from the files or the rows if left out.
            origins: Where each row came from, if known.
            cache_dir: Where transforms keep their results; a folder that is deleted at exit if left out.
            cache_files: The Arrow files behind the table, in order.
            described: `info` was made for this dataset, and its features are known to be those of the table.
        """
        features = wanted_features(None, info)
        if features is None or not described:
            table, features = making.describe(table, features)
        elif table.schema.metadata:
            table = with_metadata(table, None)
        if info is None or info.features is not features or not described:
            info = copy.copy(info) if info is not None else DatasetInfo()
            info.features = features
        view = View.from_table(table, tuple(cache_files), origins)
        if fingerprint:
            identity = Identity(value=fingerprint)
        else:
            identity = Identity.of_files(view.files) if view.files else Identity.of_table(table)
        made = cls.__new__(cls)
        # Absolute, as the working folder may be another one by the time of the first transform.
        lasting = None if cache_dir is None else absolute_path(cache_dir)
        made._fill(view, info, split, FormatSpec(), identity, lasting)
        return made

    def _derive(
        self,
        name: str,
        args: object = None,
        *,
        view: View | None = None,
        features: Features | None = None,
        format: FormatSpec | None = None,
        fingerprint: str | None = None,
        identity: Identity | None = None,
    ) -> Dataset:
        """Makes the result of a transform: the one place where everything else is carried over.

        Args:
            name: The transform, for the fingerprint.
            args: What decides its result, for the fingerprint.
            view: Its rows and columns, if they changed.
            features: Its features, if they changed.
            format: Its format, if it changed.
            fingerprint: Its fingerprint, if the user gave it.
            identity: Its fingerprint, if it was needed before.
        """
        if fingerprint is not None:
            validate_fingerprint(fingerprint)
        info = copy.copy(self._info)
        info.features = features if features is not None else pick_features(self._features, self._features)
        if fingerprint is not None:
            identity = Identity(value=fingerprint)
        elif identity is None:
            identity = self._identity.after(name, Hasher.hash(args))
        made = type(self).__new__(type(self))
        made._fill(
            self._view if view is None else view,
            info,
            self._split,
            self._spec if format is None else format,
            identity,
            self._cache_dir,
        )
        return made

    # ---------------------------------------------------------------- making

    @classmethod
    def from_dict(
        cls,
        mapping: Mapping[str, Any],
        features: Features | None = None,
        info: DatasetInfo | None = None,
        split: str | None = None,
        on_mixed_types: str | None = None,
    ) -> Dataset:
        """Makes a dataset of columns in memory.

        Args:
            mapping: Column name to its values: a list, numpy or Arrow array.
            features: Features to bring the columns to; inferred from all values if left out.
            info: What is known about the dataset.
            split: Name of the split.
            on_mixed_types: ``"use_json"`` makes `Json` columns (or `Json` items, fields) of values that have no common
                type, and of dicts without a common key; None makes them an error.

        Raises:
            SchemaConflictError: A column's values have no common type.
            CastError: A value does not fit its feature.
            InvalidArgumentError: The columns differ in length.

        Example:
            >>> Dataset.from_dict({"a": [1, 2]}).features
            {'a': Value('int64')}
        """
        wanted = wanted_features(features, info)
        table = making.columns_to_table(mapping, wanted, on_mixed_types)
        return cls(table, info, split)

    @classmethod
    def from_list(
        cls,
        mapping: Sequence[Mapping[str, Any]],
        features: Features | None = None,
        info: DatasetInfo | None = None,
        split: str | None = None,
        on_mixed_types: str | None = None,
    ) -> Dataset:
        """Makes a dataset of rows in memory; a key that a row lacks is None there.

        Args:
            mapping: The rows.
            features: As for `from_dict`.
            info: As for `from_dict`.
            split: As for `from_dict`.
            on_mixed_types: As for `from_dict`.

        Raises:
            SchemaConflictError: A column's values have no common type; names the row.

        Example:
            >>> Dataset.from_list([{"a": 1}, {"a": 2, "b": "x"}])[0]
            {'a': 1, 'b': None}
        """
        wanted = wanted_features(features, info)
        table = making.rows_to_table(mapping, wanted, on_mixed_types)
        return cls(table, info, split)

    @classmethod
    def from_pandas(
        cls,
        df: Any,
        features: Features | None = None,
        info: DatasetInfo | None = None,
        split: str | None = None,
        preserve_index: bool | None = None,
    ) -> Dataset:
        """Makes a dataset of a data frame.

        Args:
            df: A pandas frame.
            features: As for `from_dict`.
            info: As for `from_dict`.
            split: As for `from_dict`.
            preserve_index: Keep the frame's index as a column; by default any but a plain range.

        Raises:
            CastError: A value does not fit its feature.

        Example:
            >>> import pandas as pd
            >>> Dataset.from_pandas(pd.DataFrame({"a": [1, 2]}))[1]
            {'a': 2}
        """
        table = making.frame_to_table(df, wanted_features(features, info), preserve_index)
        return cls(table, info, split)

    @classmethod
    def from_file(
        cls,
        filename: str,
        info: DatasetInfo | None = None,
        split: str | None = None,
        indices_filename: str | None = None,
        in_memory: bool = False,
    ) -> Dataset:
        """Opens an Arrow file; its rows stay on disk.

        Args:
            filename: An Arrow IPC stream or file.
            info: What is known about the dataset.
            split: Name of the split.
            indices_filename: An Arrow file with the rows meant.
            in_memory: Read the rows into memory.

        Raises:
            FileMissingError: There is no such file.
            FileFormatError: It is damaged, or not Arrow.
        """
        path = Path(file_path("filename", filename))
        files = () if in_memory else (path,)
        made = cls._from_parts(
            open_arrow(path, in_memory, check="offsets"),
            info=info,
            split=split,
            cache_dir=None if in_memory else path.parent,
            cache_files=files,
        )
        if indices_filename is None:
            return made
        rows = parse_indices(open_arrow(indices_filename, check="offsets").column(0), len(made))
        return made._derive("indices", rows, view=made._view.select(rows))

    @classmethod
    def from_buffer(
        cls,
        buffer: pa.Buffer,
        info: DatasetInfo | None = None,
        split: str | None = None,
        indices_buffer: pa.Buffer | None = None,
    ) -> Dataset:
        """Opens an Arrow IPC stream in memory.

        Args:
            buffer: The stream.
            info: What is known about the dataset.
            split: Name of the split.
            indices_buffer: A stream with the rows meant.

        Raises:
            FileFormatError: A buffer is not an Arrow stream, or damaged.
        """
        indices = None if indices_buffer is None else open_buffer(indices_buffer)
        return cls(open_buffer(buffer), info, split, indices)

    @staticmethod
    def from_generator(
        generator: Callable[..., Iterable[Mapping[str, Any]]],
        features: Features | None = None,
        cache_dir: str | None = None,
        keep_in_memory: bool = False,
        gen_kwargs: dict[str, Any] | None = None,
        num_proc: int | None = None,
        split: NamedSplit = Split.TRAIN,
        fingerprint: str | None = None,
        **kwargs: Any,
    ) -> Dataset:
        """Makes a dataset of the rows that a generator function yields.

        The rows go to an Arrow file in the cache, so there may be more of them than memory holds. The same function
        with the same arguments is run once only, unless caching is disabled.

        Args:
            generator: A function that yields rows as dicts.
            features: Features to bring the rows to; inferred from all rows if left out.
            cache_dir: Folder of the cache; ``HF_DATASETS_CACHE`` by default.
            keep_in_memory: Keep the rows in memory instead.
            gen_kwargs: Arguments of the function.
            num_proc: Worker processes; each takes its share of every list in `gen_kwargs`.
            split: Name of the split.
            fingerprint: Names the result in place of a hash of function and arguments.
            **kwargs: ``on_mixed_types``, as for `from_dict`; if it is left out, columns without a common type become
                `Json`, and None refuses them. Settings of a builder (``name``, ``version``, ``data_dir``, ``data_files``,
                ``description``) are accepted for compatibility.

        Raises:
            GeneratorError: The function failed, or yielded what can't become rows; names the row. It is a
                `DatasetGenerationError`, and an instance of what the function raised.
            InvalidArgumentError: There is no such argument.

        Example:
            >>> def numbers(n):
            ...     for i in range(n):
            ...         yield {"i": i}
            >>> Dataset.from_generator(numbers, gen_kwargs={"n": 3}, keep_in_memory=True)["i"][:]
            [0, 1, 2]
        """
        made = creating.run_generator(
            generator,
            features,
            cache_dir,
            keep_in_memory,
            gen_kwargs or {},
            num_proc,
            fingerprint,
            creating.mixed_types(kwargs),
        )
        return Dataset._from_parts(
            made.table,
            info=creating.generated_info(made.table, features, split),
            split=split,
            fingerprint=made.fingerprint,
            cache_dir=made.folder,
            cache_files=made.files,
        )

    @classmethod
    def from_polars(
        cls,
        df: Any,
        features: Features | None = None,
        info: DatasetInfo | None = None,
        split: str | None = None,
    ) -> Dataset:
        """Makes a dataset of a polars frame.

        Args:
            df: A polars frame.
            features: As for `from_dict`.
            info: As for `from_dict`.
            split: As for `from_dict`.

        Raises:
            CastError: A value does not fit its feature.
        """
        return cls(making.polars_to_table(df, wanted_features(features, info)), info, split)

    @staticmethod
    def from_csv(
        path_or_paths: Any,
        split: str | None = None,
        features: Features | None = None,
        cache_dir: str | None = None,
        keep_in_memory: bool = False,
        num_proc: int | None = None,
        **kwargs: Any,
    ) -> Dataset:
        r"""Reads CSV files; what was read once is opened from the cache as long as the files have not changed.

        Args:
            path_or_paths: A path, pattern or URL, or several.
            split: Name of the split, ``"train"`` by default.
            features: What the columns shall be; each value is checked. Settled over all rows if left out.
            cache_dir: Folder of the cache; ``HF_DATASETS_CACHE`` by default.
            keep_in_memory: Read the prepared rows into memory instead of mapping them.
            num_proc: Accepted for compatibility.
            **kwargs: Options of the CSV reader, for example ``sep``.

        Raises:
            DataFilesNotFoundError: A path means nothing.
            DatasetGenerationError: A file can't be read or does not fit; the cause says which and where.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     file = Path(folder, "a.csv")
            ...     _ = file.write_text("n,s\n1,x\n,y\n")
            ...     Dataset.from_csv(str(file), cache_dir=folder).to_dict()
            {'n': [1, None], 's': ['x', 'y']}
        """
        return Dataset._of_files(
            "csv", path_or_paths, split, features, cache_dir, keep_in_memory, num_proc, options=kwargs
        )

    @staticmethod
    def from_json(
        path_or_paths: Any,
        split: str | None = None,
        features: Features | None = None,
        cache_dir: str | None = None,
        keep_in_memory: bool = False,
        field: str | None = None,
        num_proc: int | None = None,
        **kwargs: Any,
    ) -> Dataset:
        """Reads JSON files: objects a line, one array, or a field of one object.

        Args:
            path_or_paths: As for `from_csv`.
            split: As for `from_csv`.
            features: As for `from_csv`.
            cache_dir: As for `from_csv`.
            keep_in_memory: As for `from_csv`.
            field: The field that holds the rows.
            num_proc: Accepted for compatibility.
            **kwargs: Options of the JSON reader.

        Raises:
            DataFilesNotFoundError: A path means nothing.
            DatasetGenerationError: A file can't be read or does not fit; the cause says which and where.
        """
        options = kwargs if field is None else {"field": field, **kwargs}
        return Dataset._of_files(
            "json", path_or_paths, split, features, cache_dir, keep_in_memory, num_proc, options=options
        )

    @staticmethod
    def from_parquet(
        path_or_paths: Any,
        split: str | None = None,
        features: Features | None = None,
        cache_dir: str | None = None,
        keep_in_memory: bool = False,
        columns: list[str] | None = None,
        num_proc: int | None = None,
        filters: Any = None,
        fragment_scan_options: Any = None,  # noqa: ARG004  # documented
        on_bad_files: str = "error",
        **kwargs: Any,
    ) -> Dataset:
        """Reads Parquet files.

        Args:
            path_or_paths: As for `from_csv`.
            split: As for `from_csv`.
            features: As for `from_csv`.
            cache_dir: As for `from_csv`.
            keep_in_memory: As for `from_csv`.
            columns: Read these columns only.
            num_proc: Accepted for compatibility.
            filters: Keep the rows that pass: an expression, or a list such as ``[("a", ">", 1)]``.
            fragment_scan_options: Accepted for compatibility; row groups are read in bounded batches.
            on_bad_files: ``"error"``, or ``"warn"`` or ``"skip"`` to go on without files that can't be read.
            **kwargs: Options of the Parquet reader.

        Raises:
            DataFilesNotFoundError: A path means nothing.
            DatasetGenerationError: A file can't be read or does not fit; the cause says which and where.
        """
        options = kwargs if on_bad_files == "error" else {"on_bad_files": on_bad_files, **kwargs}
        return Dataset._of_files(
            "parquet",
            path_or_paths,
            split,
            features,
            cache_dir,
            keep_in_memory,
            num_proc,
            columns=columns,
            filters=filters,
            options=options,
        )

    @staticmethod
    def from_text(
        path_or_paths: Any,
        split: str | None = None,
        features: Features | None = None,
        cache_dir: str | None = None,
        keep_in_memory: bool = False,
        num_proc: int | None = None,
        keep_linebreaks: bool = False,
        sample_by: str = "line",
        **kwargs: Any,
    ) -> Dataset:
        """Reads text files into a column ``text``.

        Args:
            path_or_paths: As for `from_csv`.
            split: As for `from_csv`.
            features: As for `from_csv`.
            cache_dir: As for `from_csv`.
            keep_in_memory: As for `from_csv`.
            num_proc: Accepted for compatibility.
            keep_linebreaks: Keep the line end at the end of each line.
            sample_by: A row each ``"line"``, ``"paragraph"`` or ``"document"``.
            **kwargs: Options of the text reader.

        Raises:
            DataFilesNotFoundError: A path means nothing.
            DatasetGenerationError: A file can't be read; the cause says which and where.
        """
        options = {"keep_linebreaks": keep_linebreaks, "sample_by": sample_by, **kwargs}
        return Dataset._of_files(
            "text", path_or_paths, split, features, cache_dir, keep_in_memory, num_proc, options=options
        )

    @staticmethod
    def _of_files(
        format: str,
        paths: Any,
        split: str | None,
        features: Features | None,
        cache_dir: str | None,
        keep_in_memory: bool,
        num_proc: int | None,
        **how: Any,
    ) -> Dataset:
        if isinstance(paths, Mapping) and split is None:
            raise InvalidArgumentError(
                "A mapping of splits gives several datasets: use DatasetDict, or pass split= to pick one."
            )
        from gristmill.dataset.files import read_files

        [found] = read_files(
            format,
            paths,
            split=split,
            features=features,
            cache_dir=cache_dir,
            keep_in_memory=keep_in_memory,
            num_proc=num_proc,
            **how,
        ).values()
        return Dataset._from_parts(**vars(found.rows), info=found.info)

    @staticmethod
    def from_sql(
        sql: Any,
        con: Any,
        features: Features | None = None,
        cache_dir: str | None = None,  # noqa: ARG004  # documented
        keep_in_memory: bool = False,
        **kwargs: Any,
    ) -> Dataset:
        """Reads the rows of a database query. They are read anew each time, since a database may have changed.

        Args:
            sql: A query, the name of a table, or a SQLAlchemy query.
            con: An open connection (sqlite3, SQLAlchemy, ADBC) or a URI; ``sqlite:///path`` needs no further library.
            features: As for `from_dict`.
            cache_dir: Accepted for compatibility; many rows go to a file that is deleted at exit.
            keep_in_memory: Never use a file.
            **kwargs: ``params`` of the query, ``columns`` of the table, ``parse_dates``, ``index_col``, ``chunksize``.

        Raises:
            DatabaseError: The database refuses; names the query and the driver.
            InvalidArgumentError: An option is not known.
            MissingDependencyError: The connection needs SQLAlchemy, and it is not installed.

        Example:
            >>> import sqlite3
            >>> con = sqlite3.connect(":memory:")
            >>> Dataset.from_dict({"n": [1, None]}).to_sql("numbers", con)
            2
            >>> Dataset.from_sql("SELECT n FROM numbers WHERE n > 0", con)["n"][:]
            [1]
            >>> con.close()
        """
        from gristmill.dataset.sql import read_sql

        table, made = read_sql(sql, con, features, keep_in_memory, **kwargs)
        return Dataset._from_parts(
            table, info=DatasetInfo(features=features), split="train", cache_files=made
        )

    @staticmethod
    def load_from_disk(
        dataset_path: Any,
        keep_in_memory: bool | None = None,
        storage_options: dict[str, Any] | None = None,
    ) -> Dataset:
        """Opens what `save_to_disk` saved, here or with `datasets`.

        Args:
            dataset_path: The folder, or its URL on another file system.
            keep_in_memory: Read the rows into memory; by default what is smaller than
                ``HF_DATASETS_IN_MEMORY_MAX_SIZE``.
            storage_options: Options of that file system.

        Raises:
            FileMissingError: It is no folder of a saved dataset.
            FileFormatError: A file in it is damaged.
        """
        with saving.fetched(dataset_path, storage_options) as folder:
            return Dataset._of_saved(saving.read_saved(folder, keep_in_memory), folder)

    @staticmethod
    def _of_saved(saved: saving.Saved, folder: Path) -> Dataset:
        table = saved.view.parts[0].table
        made = Dataset._from_parts(
            table,
            info=saved.info,
            split=saved.split,
            fingerprint=saved.fingerprint,
            origins=saved.view.origins and saved.view.origins[0],
            cache_dir=folder,
            cache_files=saved.view.files,
        )
        made._spec = saved.spec
        return made

    # ---------------------------------------------------------------- looking

    @property
    def data(self) -> Table:
        """The table behind the dataset; rows that are not selected may be in it (see `_indices`)."""
        return self._data

    @cached_property
    def _data(self) -> Table:
        return table_of_view(self._view, schema_metadata(self._features))

    @property
    def _indices(self) -> Table | None:
        """The selected rows of `data` as a table with one column, or None for all."""
        parts = self._view.parts
        if len(parts) != 1 or parts[0].selection is None:
            return None
        rows = arrow_vector(as_vector(parts[0].selection)).cast(pa.uint64())
        return InMemoryTable.from_arrays([rows], ["indices"])

    @property
    def features(self) -> Features:
        """The columns and what they mean; a copy, so that what is changed in it changes no dataset."""
        return self._features.copy()

    @property
    def _features(self) -> Features:
        assert self._info.features is not None
        return self._info.features

    @property
    def num_rows(self) -> int:
        """How many rows."""
        return self._view.num_rows

    @property
    def num_columns(self) -> int:
        """How many columns."""
        return len(self._view.names)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self._view.names)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.num_rows, self.num_columns

    @property
    def cache_files(self) -> list[dict[str, str]]:
        """The Arrow files behind the dataset, each as ``{"filename": path}``."""
        return [{"filename": str(file)} for file in self._view.files]

    @property
    def _fingerprint(self) -> str:
        return self._identity.value

    def _get_cache_file_path(self, fingerprint: str) -> str:
        """Gives where a result of this fingerprint is kept, under the name by which libraries ask."""
        validate_fingerprint(fingerprint)
        place = Place.plan(self._identity, "map", "", self._cache_dir, new_fingerprint=fingerprint)
        return str(place.directory() / f"{place.stem()}.arrow")

    # The format in force, in the attributes that libraries read.

    @property
    def _format_type(self) -> str | None:
        return self._spec.type

    @property
    def _format_kwargs(self) -> dict[str, Any]:
        return dict(self._spec.kwargs)

    @property
    def _format_columns(self) -> list[str] | None:
        return None if self._spec.columns is None else list(self._spec.columns)

    @property
    def _output_all_columns(self) -> bool:
        return self._spec.output_all_columns

    def origins(self) -> pa.Table:
        """Says where each row came from.

        Returns:
            A table with one row a row and the columns source, revision, file, row_index (the row in the file, from
            0); all null where it is not known, for example after a `map` that made other rows.

        Example:
            >>> Dataset.from_dict({"a": [1]}).origins().column_names
            ['source', 'revision', 'file', 'row_index']
        """
        return self._view.origins_table()

    def __len__(self) -> int:
        return self._view.num_rows

    def __repr__(self) -> str:
        return f"Dataset({{\n    features: {list(self._features)},\n    num_rows: {self.num_rows}\n}})"

    def __reduce__(self) -> Any:
        state = (self._view, self._info, self._split, self._spec, self._fingerprint, self._cache_dir)
        return _restore, (type(self), state), self._noted or None

    def __deepcopy__(self, memo: dict[int, Any]) -> Dataset:
        # Rows never change, so they are shared; what a user may change is not.
        made = self._twin()
        made._info = copy.deepcopy(self._info, memo)
        vars(made).update(copy.deepcopy(self._noted, memo))
        return made

    def __copy__(self) -> Dataset:
        return self._twin()

    def _twin(self, format: FormatSpec | None = None) -> Dataset:
        # The same rows, so what finds rows by their numbers stays.
        made = self._derive("copy", format=format, fingerprint=self._fingerprint)
        made._indexes.update(self._indexes)
        vars(made).update(self._noted)
        return made

    @property
    def _noted(self) -> dict[str, Any]:
        """Attributes that others set: libraries note on a dataset what they have done with it."""
        return {
            name: value
            for name, value in vars(self).items()
            if name not in _STATE and not hasattr(type(self), name)
        }

    def __gristmill_hash__(self) -> str:
        return self._fingerprint

    # ---------------------------------------------------------------- reading

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self._view, self._features, self._spec)

    def __getitem__(self, key: Any) -> Any:
        if (
            type(key) is int and 0 <= key < self._view.num_rows
        ):  # looked for first, since it is asked most often
            return self._reader.row(key)
        if isinstance(key, str):
            column = Column(self, key)
            # A frame's column is asked for what frames can do, such as `.iloc` or `.mean()`.
            return column[:] if self._spec.type in FRAMES else column
        single, rows = parse_key(key, len(self))
        return self._reader.row(rows[0]) if single else self._reader.batch(rows)

    def __getitems__(self, keys: Sequence[int]) -> list[Any]:
        """Gives several rows, as PyTorch's DataLoader asks for them."""
        _, rows = parse_key(list(keys), len(self))
        return self._reader.rows_at(rows)

    def __iter__(self) -> Iterator[Any]:
        return self._reader.rows()

    def iter(self, batch_size: int, drop_last_batch: bool = False) -> Iterator[Any]:
        """Iterates over batches.

        Args:
            batch_size: Rows a batch.
            drop_last_batch: Leave out a last batch that is smaller.

        Raises:
            InvalidArgumentError: `batch_size` is below 1.

        Example:
            >>> [batch["a"] for batch in Dataset.from_dict({"a": [1, 2, 3]}).iter(2)]
            [[1, 2], [3]]
        """
        batch_size = whole_number("batch_size", batch_size, 1)
        return self._reader.batches(batch_size, drop_last_batch)

    # ---------------------------------------------------------------- formats

    @property
    def format(self) -> dict[str, Any]:
        """The format in force: type, format_kwargs, columns, output_all_columns."""
        names = self._view.names if self._spec.columns is None else self._spec.columns
        return {
            "type": self._spec.type,
            "format_kwargs": dict(self._spec.kwargs),
            "columns": list(names),
            "output_all_columns": self._spec.output_all_columns,
        }

    def set_format(
        self,
        type: str | None = None,
        columns: list[str] | None = None,
        output_all_columns: bool = False,
        **format_kwargs: Any,
    ) -> None:
        """Sets how rows and batches look from now on.

        Args:
            type: None for Python values, ``"numpy"``, ``"torch"``, ``"jax"``, ``"tensorflow"``, ``"pandas"``,
                ``"polars"`` or ``"arrow"``.
            columns: The columns to give; all by default.
            output_all_columns: Give the other columns too, as Python values; not for frames and Arrow.
            **format_kwargs: Options of the format, for example ``dtype`` and ``device`` for torch; ``dtype="keep"``
                leaves numbers in the type of their column.

        Raises:
            InvalidArgumentError: The type is not known, or has no room for the other columns.
            ColumnNotFoundError: A column does not exist.
            MissingDependencyError: When rows are read: the format's library is not installed.
        """
        self._spec = FormatSpec.parse(type, columns, output_all_columns, format_kwargs, self._view.names)
        self.__dict__.pop("_reader", None)

    def with_format(
        self,
        type: str | None = None,
        columns: list[str] | None = None,
        output_all_columns: bool = False,
        **format_kwargs: Any,
    ) -> Dataset:
        """Gives the same dataset in a format, see `set_format`.

        Example:
            >>> Dataset.from_dict({"a": [1, 2]}).with_format("numpy")["a"][:]
            array([1, 2])
        """
        spec = FormatSpec.parse(type, columns, output_all_columns, format_kwargs, self._view.names)
        return self._twin(spec)

    def reset_format(self) -> None:
        """Gives all columns as Python values again."""
        self.set_format()

    @contextlib.contextmanager
    def formatted_as(
        self,
        type: str | None = None,
        columns: list[str] | None = None,
        output_all_columns: bool = False,
        **format_kwargs: Any,
    ) -> Iterator[None]:
        """Sets a format for the length of a ``with`` block, see `set_format`."""
        before = self._spec
        try:
            self.set_format(type, columns, output_all_columns, **format_kwargs)
            yield
        finally:
            self._spec = before
            self.__dict__.pop("_reader", None)

    def set_transform(
        self,
        transform: Callable[..., Any] | None,
        columns: list[str] | None = None,
        output_all_columns: bool = False,
    ) -> None:
        """Sets a function that turns batches into what is given to the user, when they are read.

        Args:
            transform: Takes a dict of columns, gives one back; None resets.
            columns: The columns it is given; all by default.
            output_all_columns: Give the other columns too, as Python values.
        """
        if transform is None:
            self.reset_format()
        else:
            self.set_format("custom", columns, output_all_columns, transform=transform)

    def with_transform(
        self,
        transform: Callable[..., Any] | None,
        columns: list[str] | None = None,
        output_all_columns: bool = False,
    ) -> Dataset:
        """Gives the same dataset with a transform, see `set_transform`.

        Example:
            >>> def shout(batch):
            ...     return {"a": [text.upper() for text in batch["a"]]}
            >>> Dataset.from_dict({"a": ["x", "y"]}).with_transform(shout)[1]
            {'a': 'Y'}
        """
        made = copy.copy(self)
        made.set_transform(transform, columns, output_all_columns)
        return made

    # ---------------------------------------------------------------- choosing rows

    def _choose(self, name: str, rows: range | IndexVector, fingerprint: str | None = None) -> Dataset:
        return self._derive(name, rows, view=self._view.select(rows), fingerprint=fingerprint)

    def select(
        self,
        indices: Iterable[int],
        keep_in_memory: bool = False,
        indices_cache_file_name: str | None = None,
        writer_batch_size: int | None = 1000,
        new_fingerprint: str | None = None,
    ) -> Dataset:
        """Chooses rows by number, in the order given; nothing is copied.

        Args:
            indices: Row numbers from 0: a range, list, array, generator, ...
            keep_in_memory: Accepted for compatibility; row numbers are always in memory.
            indices_cache_file_name: A file to write the row numbers to, unless they are a range.
            writer_batch_size: Accepted for compatibility.
            new_fingerprint: Fingerprint of the result.

        Raises:
            RowIndexError: A row does not exist.

        Example:
            >>> Dataset.from_dict({"a": [1, 2, 3]}).select([2, 0])["a"][:]
            [3, 1]
        """
        rows = parse_indices(indices, len(self))
        return self._choose("select", self._written(rows, indices_cache_file_name), new_fingerprint)

    def _written(self, rows: range | IndexVector, file: object) -> range | IndexVector:
        if file is None or isinstance(rows, range):
            return rows
        name = row_numbers.file_name("indices_cache_file_name", file)
        return row_numbers.write_rows(self._place("select", rows, cache_file_name=name), rows)

    def skip(self, n: int) -> Dataset:
        """Leaves out the first `n` rows.

        Args:
            n: How many; beyond the last row, none are left.

        Raises:
            InvalidArgumentError: `n` is negative or no whole number.

        Example:
            >>> Dataset.from_dict({"a": [1, 2, 3]}).skip(1)["a"][:]
            [2, 3]
        """
        n = whole_number("n", n, 0)
        return self._choose("select", range(min(n, len(self)), len(self)))

    def take(self, n: int) -> Dataset:
        """Keeps the first `n` rows only.

        Args:
            n: How many; beyond the last row, all are kept.

        Raises:
            InvalidArgumentError: `n` is negative or no whole number.

        Example:
            >>> Dataset.from_dict({"a": [1, 2, 3]}).take(2)["a"][:]
            [1, 2]
        """
        n = whole_number("n", n, 0)
        return self._choose("select", range(min(n, len(self))))

    def shuffle(
        self,
        seed: int | None = None,
        generator: np.random.Generator | None = None,
        keep_in_memory: bool = False,
        load_from_cache_file: bool | None = None,
        indices_cache_file_name: str | None = None,
        writer_batch_size: int | None = 1000,
        new_fingerprint: str | None = None,
    ) -> Dataset:
        """Puts the rows into a random order; nothing is copied.

        Args:
            seed: The same seed gives the same order; without it numpy's global state decides.
            generator: A numpy generator to use instead.
            keep_in_memory: Accepted for compatibility; row numbers are always in memory.
            load_from_cache_file: Take the order from `indices_cache_file_name` if an earlier run left it there.
            indices_cache_file_name: A file to keep the order in. Without it, the order is made anew, which takes no longer
                than reading it.
            writer_batch_size: Accepted for compatibility.
            new_fingerprint: Fingerprint of the result.

        Raises:
            InvalidArgumentError: Both seed and generator are given.

        Example:
            >>> Dataset.from_dict({"a": [1, 2, 3]}).shuffle(seed=42)["a"][:]
            [3, 2, 1]
        """
        numbers = splitting.make_generator(seed, generator)

        def shuffled() -> IndexVector:
            return numbers.permutation(len(self)).astype(np.int64, copy=False)

        if indices_cache_file_name is None:
            return self._choose("shuffle", shuffled(), new_fingerprint)
        name = row_numbers.file_name("indices_cache_file_name", indices_cache_file_name)
        key = numbers.bit_generator.state
        place = self._place("shuffle", key, load_from_cache_file=load_from_cache_file, cache_file_name=name)
        return self._choose("shuffle", row_numbers.kept_rows(place, len(self), shuffled), new_fingerprint)

    def shard(
        self,
        num_shards: int,
        index: int,
        contiguous: bool = True,
        keep_in_memory: bool = False,
        indices_cache_file_name: str | None = None,
        writer_batch_size: int | None = 1000,
    ) -> Dataset:
        """Gives one of several parts of nearly equal size; together they have each row once.

        Args:
            num_shards: How many parts.
            index: Which one, from 0.
            contiguous: Consecutive rows; otherwise every `num_shards`-th row.
            keep_in_memory: Accepted for compatibility; row numbers are always in memory.
            indices_cache_file_name: Accepted for compatibility; the rows are a range, which needs no file.
            writer_batch_size: Accepted for compatibility.

        Raises:
            InvalidArgumentError: There is no such part.

        Example:
            >>> Dataset.from_dict({"a": [1, 2, 3]}).shard(num_shards=2, index=0)["a"][:]
            [1, 2]
        """
        return self._choose("select", splitting.shard_rows(len(self), num_shards, index, contiguous))

    def train_test_split(
        self,
        test_size: float | None = None,
        train_size: float | None = None,
        shuffle: bool = True,
        stratify_by_column: str | None = None,
        seed: int | None = None,
        generator: np.random.Generator | None = None,
        keep_in_memory: bool = False,
        load_from_cache_file: bool | None = None,
        train_indices_cache_file_name: str | None = None,
        test_indices_cache_file_name: str | None = None,
        writer_batch_size: int | None = 1000,
        train_new_fingerprint: str | None = None,
        test_new_fingerprint: str | None = None,
    ) -> DatasetDict:
        """Divides the rows into ``train`` and ``test``; nothing is copied.

        Args:
            test_size: Number of rows (int) or share (float); a quarter if neither size is given.
            train_size: Likewise; the rest by default.
            shuffle: Put the rows into a random order first.
            stratify_by_column: A ClassLabel column whose classes get the same share in both parts.
            seed: As for `shuffle`.
            generator: As for `shuffle`.
            keep_in_memory: Accepted for compatibility; row numbers are always in memory.
            load_from_cache_file: Accepted for compatibility; the rows are drawn each time.
            train_indices_cache_file_name: A file to write the row numbers of the train part to, unless they are a range.
            test_indices_cache_file_name: Likewise for the test part.
            writer_batch_size: Accepted for compatibility.
            train_new_fingerprint: Fingerprint of the train part.
            test_new_fingerprint: Fingerprint of the test part.

        Raises:
            InvalidArgumentError: The sizes do not go together, or the column can't be stratified by.

        Example:
            >>> parts = Dataset.from_dict({"a": range(10)}).train_test_split(test_size=3, seed=0)
            >>> len(parts["train"]), len(parts["test"])
            (7, 3)
        """
        from gristmill.dataset.splits_dict import DatasetDict

        sizes = splitting.SplitSizes.parse(len(self), test_size, train_size)
        numbers = splitting.make_generator(seed, generator) if shuffle and len(self) else None
        if stratify_by_column is not None:
            labels = splitting.class_ids(self._view, self._features, stratify_by_column)
            train: range | IndexVector
            test: range | IndexVector
            train, test = splitting.split_rows_by_class(labels, sizes, numbers)
        else:
            train, test = splitting.split_rows(len(self), sizes, numbers)
        return DatasetDict(
            {
                "train": self._choose(
                    "select", self._written(train, train_indices_cache_file_name), train_new_fingerprint
                ),
                "test": self._choose(
                    "select", self._written(test, test_indices_cache_file_name), test_new_fingerprint
                ),
            }
        )

    def flatten_indices(
        self,
        keep_in_memory: bool = False,
        cache_file_name: str | None = None,
        writer_batch_size: int | None = 1000,
        features: Features | None = None,
        disable_nullable: bool = False,
        num_proc: int | None = None,
        new_fingerprint: str | None = None,
    ) -> Dataset:
        """Writes the rows out in their order, so that reading them needs no row numbers any more.

        Args:
            keep_in_memory: Keep the rows in memory instead of a file.
            cache_file_name: File to write to.
            writer_batch_size: Accepted for compatibility.
            features: Features to bring the rows to.
            disable_nullable: Accepted for compatibility.
            num_proc: Accepted for compatibility; gathering rows is done here.
            new_fingerprint: Fingerprint of the result.
        """
        features = None if features is None else Features(features)
        job = filtering.FlattenJob(self._view, features)
        place = self._place(
            "flatten_indices",
            None if features is None else features.to_dict(),
            keep_in_memory=keep_in_memory,
            cache_file_name=cache_file_name,
            new_fingerprint=new_fingerprint,
        )
        view = filtering.run_flatten(job, place, num_proc)
        return self._derive("flatten_indices", view=view, features=features, identity=place.identity)

    def sort(
        self,
        column_names: str | Sequence[str],
        reverse: bool | Sequence[bool] = False,
        null_placement: str = "at_end",
        keep_in_memory: bool = False,
        load_from_cache_file: bool | None = None,
        indices_cache_file_name: str | None = None,
        writer_batch_size: int | None = 1000,
        new_fingerprint: str | None = None,
    ) -> Dataset:
        """Puts the rows into the order of the values of columns; nothing is copied. Equal rows stay in their order.

        Args:
            column_names: One name, or several, the most significant first.
            reverse: Largest first: for all columns, or one answer a column.
            null_placement: ``"at_end"`` or ``"at_start"``, whatever the direction.
            keep_in_memory: Keep the order in memory alone, however long it took.
            load_from_cache_file: Take the order that an earlier run left; by default if caching is enabled.
            indices_cache_file_name: A file to keep the order in. Without it, that of a million rows or more is kept in
                the cache folder of the dataset.
            writer_batch_size: Accepted for compatibility.
            new_fingerprint: Fingerprint of the result.

        Raises:
            ColumnNotFoundError: A column does not exist.
            InvalidArgumentError: Values of a column have no order, or the file holds something else.

        Example:
            >>> Dataset.from_dict({"a": [2, None, 3]}).sort("a", reverse=True)["a"][:]
            [3, 2, None]
        """

        def order() -> range | IndexVector:
            return sorting.sorted_rows(self._view, column_names, reverse, null_placement)

        if indices_cache_file_name is None and len(self) < row_numbers.WORTH_KEEPING:
            return self._choose("sort", order(), new_fingerprint)
        place = self._place(
            "sort",
            (column_names, reverse, null_placement),
            keep_in_memory=keep_in_memory,
            load_from_cache_file=load_from_cache_file,
            cache_file_name=row_numbers.file_name("indices_cache_file_name", indices_cache_file_name),
        )
        return self._choose("sort", row_numbers.kept_rows(place, len(self), order), new_fingerprint)

    def repeat(self, num_times: int) -> Dataset:
        """Puts the rows after themselves.

        Args:
            num_times: How often they come; 0 or less gives no rows.

        Example:
            >>> Dataset.from_dict({"a": [1, 2]}).repeat(2)["a"][:]
            [1, 2, 1, 2]
        """
        view = combining.repeat_view(self._view, self._features, num_times)
        return self._derive("repeat", num_times, view=view)

    def add_item(self, item: Mapping[str, Any], new_fingerprint: str | None = None) -> Dataset:
        """Adds a row at the end; the other rows are not copied.

        Args:
            item: Its values by column; a column that it lacks is None there, a new one is None in the other rows.
            new_fingerprint: Fingerprint of the result.

        Raises:
            CastError: A value does not fit the feature of its column.

        Example:
            >>> Dataset.from_dict({"a": [1]}).add_item({"a": 2})["a"][:]
            [1, 2]
        """
        row, described = combining.row_to_view(item, self._features)
        features = align_features([self._features, described])
        view = combining.concat_views([self._view, row], features)
        return self._derive(
            "add_item",
            dict(item),
            view=view,
            features=features,
            fingerprint=new_fingerprint,
        )

    def batch(
        self,
        batch_size: int | None = None,
        by_column: str | Sequence[str] | None = None,
        drop_last_batch: bool = False,
        num_proc: int | None = None,
        new_fingerprint: str | None = None,
    ) -> Dataset:
        """Joins rows that follow each other into one row of lists.

        Args:
            batch_size: Rows a batch.
            by_column: A batch ends where the value of this column, or of one of these, changes; `batch_size` is not
                looked at then.
            drop_last_batch: Leave out a last batch that is smaller than `batch_size`.
            num_proc: Worker processes.
            new_fingerprint: Fingerprint of the result.

        Raises:
            InvalidArgumentError: The size is below 1, or neither a size nor a column is given.
            ColumnNotFoundError: There is no such column.

        Example:
            >>> Dataset.from_dict({"a": [1, 2, 3]}).batch(2)["a"][:]
            [[1, 2], [3]]
        """
        bounds = batching.batch_bounds(self._view, batch_size, by_column, drop_last_batch)
        place = self._place("batch", bounds, new_fingerprint=new_fingerprint)
        view = batching.run_batch(batching.BatchJob(self._view, bounds), place, num_proc)
        features = batch_features(self._features)
        return self._derive("batch", view=view, features=features, identity=place.identity)

    # ---------------------------------------------------------------- choosing columns

    def select_columns(
        self, column_names: str | Sequence[str], new_fingerprint: str | None = None
    ) -> Dataset:
        """Keeps some columns, in the order given.

        Args:
            column_names: One name or several.
            new_fingerprint: Fingerprint of the result.

        Raises:
            ColumnNotFoundError: One does not exist.

        Example:
            >>> Dataset.from_dict({"a": [1], "b": [2]}).select_columns("b")[0]
            {'b': 2}
        """
        names = check_columns(column_names, self._view.names)
        return self._keep(list(dict.fromkeys(names)), new_fingerprint)

    def remove_columns(
        self, column_names: str | Sequence[str], new_fingerprint: str | None = None
    ) -> Dataset:
        """Leaves out some columns.

        Args:
            column_names: One name or several.
            new_fingerprint: Fingerprint of the result.

        Raises:
            ColumnNotFoundError: One does not exist.

        Example:
            >>> Dataset.from_dict({"a": [1], "b": [2]}).remove_columns(["b"])[0]
            {'a': 1}
        """
        gone = set(check_columns(column_names, self._view.names))
        return self._keep([name for name in self._view.names if name not in gone], new_fingerprint)

    def _keep(self, names: list[str], fingerprint: str | None) -> Dataset:
        return self._derive(
            "select_columns",
            names,
            view=self._view.choose(names),
            features=pick_features(self._features, names),
            format=self._spec.within(names),
            fingerprint=fingerprint,
        )

    def rename_column(
        self, original_column_name: str, new_column_name: str, new_fingerprint: str | None = None
    ) -> Dataset:
        """Gives a column another name.

        Args:
            original_column_name: Its name so far.
            new_column_name: Its new name.
            new_fingerprint: Fingerprint of the result.

        Raises:
            ColumnNotFoundError: There is no such column.
            InvalidArgumentError: The new name is taken.

        Example:
            >>> Dataset.from_dict({"a": [1]}).rename_column("a", "b")[0]
            {'b': 1}
        """
        original = check_column(original_column_name, self._view.names)
        return self.rename_columns({original: new_column_name}, new_fingerprint)

    def rename_columns(
        self, column_mapping: Mapping[str, str], new_fingerprint: str | None = None
    ) -> Dataset:
        """Gives several columns other names.

        Args:
            column_mapping: New name by old name.
            new_fingerprint: Fingerprint of the result.

        Raises:
            ColumnNotFoundError: There is no such column.
            InvalidArgumentError: A new name is taken.

        Example:
            >>> Dataset.from_dict({"a": [1], "b": [2]}).rename_columns({"a": "b", "b": "a"})[0]
            {'b': 1, 'a': 2}
        """
        renaming = check_renaming(column_mapping, self._view.names)
        return self._derive(
            "rename_columns",
            renaming,
            view=self._view.rename(renaming),
            features=rename_features(self._features, renaming),
            format=self._spec.renamed(renaming),
            fingerprint=new_fingerprint,
        )

    def add_column(
        self, name: str, column: Any, new_fingerprint: str | None = None, feature: Any = None
    ) -> Dataset:
        """Adds a column of values; the other columns are not copied.

        Args:
            name: Its name.
            column: One value a row: a list, numpy or Arrow array.
            new_fingerprint: Fingerprint of the result.
            feature: Its feature; inferred if left out.

        Raises:
            InvalidArgumentError: The name exists, or the number of values is not the number of rows.

        Example:
            >>> Dataset.from_dict({"a": [1, 2]}).add_column("b", ["x", "y"])[1]
            {'a': 2, 'b': 'y'}
        """
        view, arrow_type = columns.add_values(self._view, name, column, feature)
        features = pick_features(self._features, self._view.names)
        features[name] = from_arrow_type(arrow_type) if feature is None else feature
        values = view.take(range(len(view.table([name]))), [name])
        return self._derive(
            "add_column",
            values,
            view=view,
            features=features,
            format=self._spec.within(view.names, [name]),
            fingerprint=new_fingerprint,
        )

    def flatten(self, new_fingerprint: str | None = None, max_depth: int = 16) -> Dataset:
        """Gives each field of a struct a column of its own, named ``struct.field``; the values stay where they are.

        Args:
            new_fingerprint: Fingerprint of the result.
            max_depth: How many levels of structs are taken apart.

        Raises:
            InvalidArgumentError: A field would get the name of another column.

        Example:
            >>> Dataset.from_dict({"a": [{"b": 1, "c": {"d": 2}}]}).flatten()[0]
            {'a.b': 1, 'a.c.d': 2}
        """
        flat = flattening.flatten_view(self._view, self._features, max_depth)
        return self._derive(
            "flatten",
            max_depth,
            view=flat.view,
            features=flat.features,
            format=flat.format(self._spec),
            fingerprint=new_fingerprint,
        )

    def cast(
        self,
        features: Features,
        batch_size: int | None = 1000,
        keep_in_memory: bool = False,
        load_from_cache_file: bool | None = None,
        cache_file_name: str | None = None,
        writer_batch_size: int | None = 1000,
        num_proc: int | None = None,
    ) -> Dataset:
        """Brings the columns to other features; each value is checked, and only columns whose type changes are written.

        Args:
            features: A feature for each column, in the order wanted.
            batch_size: Accepted for compatibility; blocks are as large as reading them likes.
            keep_in_memory: As for `map`.
            load_from_cache_file: As for `map`.
            cache_file_name: As for `map`.
            writer_batch_size: Accepted for compatibility.
            num_proc: Worker processes.

        Raises:
            InvalidArgumentError: The features are not those of the dataset's columns.
            CastError: A value does not fit; names row, column and value.

        Example:
            >>> from gristmill.features import Value
            >>> Dataset.from_dict({"a": [1, 2]}).cast(Features({"a": Value("string")}))["a"][:]
            ['1', '2']
        """
        wanted = check_features(features, self._features)
        place = self._place(
            "cast",
            wanted.to_dict(),
            keep_in_memory=keep_in_memory,
            load_from_cache_file=load_from_cache_file,
            cache_file_name=cache_file_name,
        )
        view = casting.cast_view(self._view, self._features, wanted, place, num_proc)
        return self._derive("cast", view=view, features=wanted, identity=place.identity)

    def cast_column(self, column: str, feature: Any, new_fingerprint: str | None = None) -> Dataset:
        """Brings one column to another feature, see `cast`.

        Args:
            column: Its name.
            feature: The feature wanted.
            new_fingerprint: Fingerprint of the result.

        Raises:
            ColumnNotFoundError: There is no such column.
            CastError: A value does not fit; names row, column and value.

        Example:
            >>> from gristmill.features import ClassLabel
            >>> labels = ClassLabel(names=["neg", "pos"])
            >>> Dataset.from_dict({"label": ["pos", "neg"]}).cast_column("label", labels)["label"][:]
            [1, 0]
        """
        check_column(column, self._view.names)
        wanted = Features({**self._features, column: feature})
        place = self._place("cast_column", (column, wanted.to_dict()), new_fingerprint=new_fingerprint)
        view = casting.cast_view(self._view, self._features, wanted, place, None)
        return self._derive("cast_column", view=view, features=wanted, identity=place.identity)

    def class_encode_column(self, column: str, include_nulls: bool = False) -> Dataset:
        """Makes a `ClassLabel` of a column of plain values: a class for each distinct value, named by its text.

        Args:
            column: Its name.
            include_nulls: Make a class ``"None"`` of None too.

        Raises:
            ColumnNotFoundError: There is no such column.
            InvalidArgumentError: It is no column of plain values.

        Example:
            >>> ds = Dataset.from_dict({"kind": ["b", "a", None]}).class_encode_column("kind")
            >>> ds.features["kind"].names, ds["kind"][:]
            (['a', 'b'], [1, 0, None])
        """
        return self._encode_classes(column, include_nulls, None)

    def _encode_classes(self, column: str, include_nulls: bool, names: list[str] | None) -> Dataset:
        check_column(column, self._view.names)
        classes = labels.find_classes(self._view, self._features, column, include_nulls, names)
        features = Features({**self._features, column: classes.label})
        place = self._place("class_encode_column", (column, include_nulls, names))
        view = rewrite(self._view, [column], classes.encode, place, None, "Encoding the classes")
        return self._derive("class_encode_column", view=view, features=features, identity=place.identity)

    def align_labels_with_mapping(self, label2id: dict[str, int], label_column: str) -> Dataset:
        """Gives the classes of a `ClassLabel` column the ids that a model knows; names match whatever their case.

        Args:
            label2id: Class name to id; ids count from 0 without gaps.
            label_column: A column of class labels, or of lists of them.

        Raises:
            ColumnNotFoundError: There is no such column.
            InvalidArgumentError: It holds no class labels, or a class that occurs has no id.

        Example:
            >>> from gristmill.features import ClassLabel
            >>> features = Features({"y": ClassLabel(names=["yes", "no"])})
            >>> ds = Dataset.from_dict({"y": [0, 1]}, features=features)
            >>> ds.align_labels_with_mapping({"NO": 0, "YES": 1}, "y")["y"][:]
            [1, 0]
        """
        check_column(label_column, self._view.names)
        label2id = labels.check_ids(label2id)
        place = self._place("align_labels_with_mapping", (label2id, label_column))
        view, features = labels.align_labels(self._view, self._features, label2id, label_column, place)
        return self._derive(
            "align_labels_with_mapping", view=view, features=features, identity=place.identity
        )

    def unique(self, column: str) -> list[Any]:
        """Gives the distinct values of a column, in order of appearance; None counts as one.

        Args:
            column: Its name.

        Raises:
            ColumnNotFoundError: There is no such column.
            InvalidArgumentError: Its values are lists or structs.

        Example:
            >>> Dataset.from_dict({"a": [2, 1, 2]}).unique("a")
            [2, 1]
        """
        check_column(column, self._view.names)
        distinct = sorting.with_one_nan(sorting.distinct_values(self._view, column))
        values = View.from_table(pa.table({column: distinct}))
        plain = Reader(values, {column: self._features[column]}, FormatSpec())
        found: list[Any] = plain.column(column, range(values.num_rows))
        return found

    # ---------------------------------------------------------------- computing

    def map(
        self,
        function: Callable[..., Any] | None = None,
        with_indices: bool = False,
        with_rank: bool = False,
        input_columns: str | list[str] | None = None,
        batched: bool = False,
        batch_size: int | None = 1000,
        drop_last_batch: bool = False,
        remove_columns: str | list[str] | None = None,
        keep_in_memory: bool = False,
        load_from_cache_file: bool | None = None,
        cache_file_name: str | None = None,
        writer_batch_size: int | None = 1000,
        features: Features | None = None,
        disable_nullable: bool = False,
        fn_kwargs: dict[str, Any] | None = None,
        num_proc: int | None = None,
        suffix_template: str = "_{rank:05d}_of_{num_proc:05d}",
        new_fingerprint: str | None = None,
        desc: str | None = None,
        try_original_type: bool | None = True,
        on_mixed_types: str | None = "use_json",
    ) -> Dataset:
        """Applies a function to every row or batch and keeps what it returns.

        Only the columns that the function returns are written; the others stay where they are. The result is kept
        under the fingerprint of rows, function and arguments, and found again by a later run, whatever `num_proc`.

        Args:
            function: Takes a row (or with `batched` a dict of columns) and returns a dict of new or changed values,
                or None to change nothing. With `batched` it may return more or fewer rows than it was given, if it
                returns all columns that remain.
            with_indices: Also pass the row number (or the list of them).
            with_rank: Also pass the number of the worker process.
            input_columns: Pass these columns as arguments, in place of the row.
            batched: Pass batches.
            batch_size: Rows a batch; None, or less than 1, means all rows at once.
            drop_last_batch: Leave out a last batch that is smaller.
            remove_columns: Columns to leave out of the result (unless the function returns them).
            keep_in_memory: Keep the result in memory instead of a file.
            load_from_cache_file: Use the result of an earlier run; by default if caching is enabled.
            cache_file_name: File to keep the result in.
            writer_batch_size: Accepted for compatibility; batches are as large as reading them likes.
            features: Features of the result, of all its columns; inferred over all rows if left out.
            disable_nullable: Accepted for compatibility.
            fn_kwargs: Further arguments of the function.
            num_proc: Worker processes; None, 0 or 1 works here.
            suffix_template: Accepted for compatibility.
            new_fingerprint: Fingerprint of the result.
            desc: What the progress bar says.
            try_original_type: Keep the type of a changed column if the new values fit it.
            on_mixed_types: ``"use_json"`` makes `Json` of returned values that have no common type; None makes them an
                error.

        Returns:
            A new dataset.

        Raises:
            TransformError: The function failed; names the row and keeps the function's error as the cause.
            TransformOutputError: It returned something that can't become rows.
            WorkerDiedError: A worker process ended without an answer.
            SchemaConflictError: A column's values have no common type.

        Example:
            >>> Dataset.from_dict({"a": [1, 2]}).map(lambda row: {"b": row["a"] * 10})[1]
            {'a': 2, 'b': 20}
        """
        caller = Caller.plan(
            self._view,
            self._features,
            self._spec,
            function=function if function is not None else _identity,
            batched=batched,
            with_indices=with_indices,
            with_rank=with_rank,
            input_columns=input_columns,
            fn_kwargs=fn_kwargs,
        )
        job = mapping.MapJob.plan(
            caller,
            batch_size=batch_size,
            drop_last_batch=drop_last_batch,
            remove_columns=remove_columns,
            features=features,
            keep_types=bool(try_original_type),
            on_mixed_types=on_mixed_types,
        )
        place = self._place(
            "map",
            job.key,
            keep_in_memory=keep_in_memory,
            load_from_cache_file=load_from_cache_file,
            cache_file_name=cache_file_name,
            new_fingerprint=new_fingerprint,
        )
        result = mapping.run_map(job, place, self._features, num_proc, desc or "Map")
        return self._derive(
            "map",
            view=result.view,
            features=result.features,
            format=self._spec.within(result.view.names, result.added),
            identity=place.identity,
        )

    def filter(
        self,
        function: Callable[..., Any] | None = None,
        with_indices: bool = False,
        with_rank: bool = False,
        input_columns: str | list[str] | None = None,
        batched: bool = False,
        batch_size: int | None = 1000,
        keep_in_memory: bool = False,
        load_from_cache_file: bool | None = None,
        cache_file_name: str | None = None,
        writer_batch_size: int | None = 1000,
        fn_kwargs: dict[str, Any] | None = None,
        num_proc: int | None = None,
        suffix_template: str = "_{rank:05d}_of_{num_proc:05d}",
        new_fingerprint: str | None = None,
        desc: str | None = None,
    ) -> Dataset:
        """Keeps the rows for which a function says yes; no row is copied.

        Args:
            function: Takes a row (or with `batched` a dict of columns) and returns whether to keep it (or a list of
                that).
            with_indices: As for `map`.
            with_rank: As for `map`.
            input_columns: As for `map`.
            batched: As for `map`.
            batch_size: As for `map`.
            keep_in_memory: As for `map`.
            load_from_cache_file: As for `map`.
            cache_file_name: As for `map`.
            writer_batch_size: Accepted for compatibility.
            fn_kwargs: As for `map`.
            num_proc: As for `map`.
            suffix_template: Accepted for compatibility.
            new_fingerprint: Fingerprint of the result.
            desc: What the progress bar says.

        Raises:
            TransformError: The function failed; names the row.
            TransformOutputError: It did not answer once a row.

        Example:
            >>> Dataset.from_dict({"a": [1, 2, 3]}).filter(lambda row: row["a"] > 1)["a"][:]
            [2, 3]
        """
        caller = Caller.plan(
            self._view,
            self._features,
            self._spec,
            function=function if function is not None else _yes,
            batched=batched,
            with_indices=with_indices,
            with_rank=with_rank,
            input_columns=input_columns,
            fn_kwargs=fn_kwargs,
        )
        job = filtering.FilterJob.plan(caller, batch_size)
        place = self._place(
            "filter",
            job.key,
            keep_in_memory=keep_in_memory,
            load_from_cache_file=load_from_cache_file,
            cache_file_name=cache_file_name,
            new_fingerprint=new_fingerprint,
        )
        rows = filtering.run_filter(job, place, num_proc, desc or "Filter")
        return self._derive("filter", view=self._view.select(rows), identity=place.identity)

    def _place(self, name: str, key: object, **options: Any) -> Place:
        return Place.plan(self._identity, name, Hasher.hash(key), self._cache_dir, **options)

    def cleanup_cache_files(self) -> int:
        """Deletes the results of transforms in the dataset's cache folder that this dataset does not read itself.

        Returns:
            How many files are gone.

        Raises:
            FileError: A file can't be deleted.
        """
        return tidying.delete_unused(self._cache_dir, self._view.files)

    # ---------------------------------------------------------------- giving away

    def save_to_disk(
        self,
        dataset_path: Any,
        max_shard_size: int | str | None = None,
        num_shards: int | None = None,
        num_proc: int | None = None,
        storage_options: dict[str, Any] | None = None,
    ) -> None:
        """Saves the dataset as a folder that `load_from_disk` opens, here or with `datasets`.

        The rows are written in their order. The folder appears, or takes the place of an earlier one, when it is whole;
        it may be the one that the dataset was opened from. What else lies in it stays.

        Args:
            dataset_path: The folder, or its URL on another file system.
            max_shard_size: Largest size of one Arrow file, as a number of bytes or text such as ``"500MB"``, which is
                the default.
            num_shards: Number of Arrow files, in place of their size.
            num_proc: Worker processes.
            storage_options: Options of that file system.

        Raises:
            FileError: The folder can't be written.
            InvalidArgumentError: The sizes mean nothing.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     Dataset.from_dict({"a": [1, 2]}).save_to_disk(folder + "/saved")
            ...     Dataset.load_from_disk(folder + "/saved")["a"][:]
            [1, 2]
        """
        plan = sharding.Sharding.parse(max_shard_size, num_shards, num_proc)
        with saving.saving_to(dataset_path, storage_options) as folder:
            saving.write_saved(self._saved(), folder, plan)

    def _saved(self) -> saving.Saved:
        return saving.Saved(self._view, self._info, self._split, self._spec, self._fingerprint)

    def to_dict(
        self, batch_size: int | None = None, batched: bool = False
    ) -> dict[str, list[Any]] | Iterator[dict[str, list[Any]]]:
        """Gives all rows as a dict of columns of Python values.

        Args:
            batch_size: Rows a batch, with `batched`.
            batched: Give an iterator of batches.

        Example:
            >>> Dataset.from_dict({"a": [1, 2]}).to_dict()
            {'a': [1, 2]}
        """
        plain = Reader(self._view, self._features, FormatSpec())
        if batched:
            return plain.batches(row_count("batch_size", batch_size) or 1000)
        whole: dict[str, list[Any]] = plain.batch(range(len(self)))
        return whole

    def to_list(self) -> list[dict[str, Any]]:
        """Gives all rows as a list of dicts of Python values.

        Example:
            >>> Dataset.from_dict({"a": [1, 2]}).to_list()
            [{'a': 1}, {'a': 2}]
        """
        return list(Reader(self._view, self._features, FormatSpec()).rows())

    def to_pandas(self, batch_size: int | None = None, batched: bool = False) -> Any:
        """Gives all rows as a pandas frame.

        Args:
            batch_size: Rows a batch, with `batched`.
            batched: Give an iterator of frames.

        Raises:
            MissingDependencyError: pandas is not installed.

        Example:
            >>> Dataset.from_dict({"a": [1, 2]}).to_pandas()["a"].sum().item()
            3
        """
        reader = Reader(self._view, self._features, FormatSpec("pandas"))
        size = row_count("batch_size", batch_size) or 1000
        return reader.batches(size) if batched else reader.batch(range(len(self)))

    def to_polars(
        self,
        batch_size: int | None = None,
        batched: bool = False,
        schema_overrides: dict[str, Any] | None = None,
        rechunk: bool = True,
    ) -> Any:
        """Gives all rows as a polars frame.

        Args:
            batch_size: Rows a batch, with `batched`.
            batched: Give an iterator of frames.
            schema_overrides: Types of columns in polars.
            rechunk: Join the pieces of each column in memory.

        Raises:
            MissingDependencyError: polars is not installed.
        """
        size = (row_count("batch_size", batch_size) or 1000) if batched else None
        return frames.to_polars(self._view, size, schema_overrides, rechunk)

    def to_iterable_dataset(self, num_shards: int | None = 1) -> IterableDataset:
        """Gives the rows as a stream, which reads them in order and can resume; nothing is copied.

        Args:
            num_shards: How many parts that workers can read apart from each other; at most the number of rows.

        Raises:
            InvalidArgumentError: `num_shards` is below 1, or more than there are rows.

        Example:
            >>> list(Dataset.from_dict({"a": [1, 2]}).to_iterable_dataset(num_shards=2).shard(2, 1))
            [{'a': 2}]
        """
        from gristmill.iterable import IterableDataset

        spec = FormatSpec(self._spec.type, None, False, self._spec.kwargs)
        shards = 1 if num_shards is None else num_shards
        return IterableDataset._of_view(self._view, self._features, self._info, self._split, shards, spec)

    def to_tf_dataset(
        self,
        batch_size: int | None = None,
        columns: str | list[str] | None = None,
        shuffle: bool = False,
        collate_fn: Callable[..., Any] | None = None,
        drop_remainder: bool = False,
        collate_fn_args: dict[str, Any] | None = None,
        label_cols: str | list[str] | None = None,
        prefetch: bool = True,
        num_workers: int = 0,
        num_test_batches: int = 20,
    ) -> Any:
        """Gives the rows as a `tf.data.Dataset`, for example for the ``fit`` of Keras.

        Whole numbers and booleans are int64, other numbers float32, text strings. Lists of differing lengths become
        ragged tensors, unless `collate_fn` pads them.

        Args:
            batch_size: Rows a batch; single rows if left out.
            columns: The inputs: one tensor for one column, else a dict; all columns, as a dict, if left out.
            shuffle: Another order each epoch; `tf.random.set_seed` decides which.
            collate_fn: Takes a list of examples (dicts of numpy arrays) and returns a dict of arrays or tensors; its
                columns may have other names. By default columns are stacked.
            drop_remainder: Leave out a last batch that is smaller.
            collate_fn_args: Further arguments of `collate_fn`.
            label_cols: The labels: elements are then pairs of inputs and labels.
            prefetch: Prepare batches while earlier ones are used.
            num_workers: Processes that load batches; a script must then guard its work with
                ``if __name__ == "__main__"``.
            num_test_batches: How many batches are looked at for types and shapes.

        Raises:
            MissingDependencyError: TensorFlow is not installed.
            InvalidArgumentError: The arguments exclude each other, or a column can't become a tensor.
            ColumnNotFoundError: There is no such column.
            TransformError: `collate_fn` failed; names the rows.
        """
        from gristmill.dataset.to_tensorflow import to_tf_dataset

        return to_tf_dataset(
            self._view,
            self._features,
            self._spec,
            batch_size=batch_size,
            columns=columns,
            shuffle=shuffle,
            collate_fn=collate_fn,
            drop_remainder=drop_remainder,
            collate_fn_args=collate_fn_args,
            label_cols=label_cols,
            prefetch=prefetch,
            num_workers=num_workers,
            num_test_batches=num_test_batches,
        )

    def to_sql(
        self,
        name: str,
        con: Any,
        batch_size: int | None = None,
        num_proc: int | None = None,
        **sql_writer_kwargs: Any,
    ) -> int:
        """Writes the rows to a table of a database.

        Args:
            name: The table.
            con: An open connection (sqlite3, SQLAlchemy, ADBC) or a URI; ``sqlite:///path`` needs no further library.
            batch_size: Rows sent at once.
            num_proc: Accepted for compatibility; a database takes one writer at a time.
            **sql_writer_kwargs: ``if_exists`` (``"fail"``, ``"replace"`` or ``"append"``), ``schema``, ``index``,
                ``index_label``, ``dtype``.

        Returns:
            The number of rows written.

        Raises:
            InvalidArgumentError: A column is nested, or the table exists.
            DatabaseError: The database refuses; nothing is written then.
            MissingDependencyError: The connection needs SQLAlchemy, and it is not installed.
        """
        from gristmill.formats.sql_write import write_sql

        return write_sql(self._view.blocks, self._view.schema, name, con, batch_size, **sql_writer_kwargs)

    def to_parquet(
        self,
        path_or_buf: Any,
        batch_size: int | None = None,
        storage_options: dict[str, Any] | None = None,
        *,
        max_shard_size: int | str | None = None,
        num_shards: int | None = None,
        num_proc: int | None = None,
        **parquet_writer_kwargs: Any,
    ) -> int:
        """Writes the rows to a Parquet file or to several, whole or not at all.

        Args:
            path_or_buf: Path, or an open binary file.
            batch_size: Rows a row group.
            storage_options: Options of the file system, if the path is a URL such as ``s3://...``.
            max_shard_size: Write several files of about so many bytes of Arrow data, such as ``"500MB"``, named after the
                path: ``train.parquet`` becomes ``train-00000-of-00042.parquet`` and so on.
            num_shards: Write so many files.
            num_proc: Worker processes, each of which writes a file at a time.
            **parquet_writer_kwargs: Options of `pyarrow.parquet.ParquetWriter`; ``row_group_bytes``, the size in memory
                of row groups.

        Returns:
            Bytes written.

        Raises:
            FileError: The file can't be written.
        """
        options = {"batch_size": row_count("batch_size", batch_size), **parquet_writer_kwargs}
        files = sharding.Sharding.parse_export(max_shard_size, num_shards, num_proc)
        return export.write_rows(
            self._view, self._features, "parquet", path_or_buf, storage_options, options, files
        )

    def to_json(
        self,
        path_or_buf: Any,
        batch_size: int | None = None,
        num_proc: int | None = None,
        storage_options: dict[str, Any] | None = None,
        *,
        max_shard_size: int | str | None = None,
        num_shards: int | None = None,
        **to_json_kwargs: Any,
    ) -> int:
        """Writes the rows as JSON, one object a line, whole or not at all.

        JSON has no bytes: they are written as base64, and read with ``Value("binary")`` that text is the bytes. Other
        values are read back equal with ``features=`` of this dataset, but NaN and the infinities, which become null.

        Args:
            path_or_buf: Path, or an open binary file.
            batch_size: Rows converted at once.
            num_proc: Worker processes; they are used where several files are written.
            storage_options: Options of the file system, if the path is a URL such as ``s3://...``.
            max_shard_size: Write several files of about so many bytes of Arrow data, such as ``"500MB"``, named after the
                path: ``train.jsonl`` becomes ``train-00000-of-00042.jsonl`` and so on.
            num_shards: Write so many files.
            **to_json_kwargs: Options with the names and meanings of `pandas.DataFrame.to_json`: ``orient``, ``lines``,
                ``indent``, ``index``, ``force_ascii``, ``date_format``, ``date_unit``, ``double_precision``,
                ``compression``. ``lines=False`` writes one array.

        Returns:
            Bytes written.

        Raises:
            FileError: The file can't be written.
            InvalidArgumentError: An option is not known.
        """
        row_count("batch_size", batch_size)
        files = sharding.Sharding.parse_export(max_shard_size, num_shards, num_proc)
        return export.write_rows(
            self._view, self._features, "json", path_or_buf, storage_options, to_json_kwargs, files
        )

    def to_docs(
        self,
        path_or_buf: Any,
        column: str | None = None,
        storage_options: dict[str, Any] | None = None,
        *,
        role: str | None = None,
        content: str | None = None,
        roles: Mapping[str, int] | None = None,
    ) -> int:
        """Writes one column of text or of messages to a memory-mapped ``.docs`` file, whole or not at all.

        A null is an empty document, so that document `i` is row `i`.

        Args:
            path_or_buf: Path, URL, or an open binary file.
            column: The column; by default ``text``, else ``messages`` or ``conversations``.
            storage_options: Options of the file system, if the path is a URL such as ``s3://...``.
            role: Field of a message with its role; by default ``role`` or ``from``.
            content: Field of a message with its text; by default ``content`` or ``value``.
            roles: Role name -> byte, beyond system 0, user 1, assistant 2, tool 3.

        Returns:
            Bytes written.

        Raises:
            ColumnNotFoundError: There is no such column or field.
            DataError: A role is not known, or the column holds neither text nor messages.
            FileError: The file can't be written.

        Example:
            >>> import io
            >>> Dataset.from_dict({"text": ["one", "two"]}).to_docs(io.BytesIO())
            134
        """
        options = {"column": column, "role": role, "content": content, "roles": roles}
        return export.write_rows(self._view, self._features, "docs", path_or_buf, storage_options, options)

    def to_csv(
        self,
        path_or_buf: Any,
        batch_size: int | None = None,
        num_proc: int | None = None,
        storage_options: dict[str, Any] | None = None,
        *,
        max_shard_size: int | str | None = None,
        num_shards: int | None = None,
        **to_csv_kwargs: Any,
    ) -> int:
        """Writes the rows as CSV with a header line, whole or not at all.

        Args:
            path_or_buf: Path, or an open binary file.
            batch_size: Rows converted at once.
            num_proc: Worker processes; they are used where several files are written.
            storage_options: Options of the file system, if the path is a URL such as ``s3://...``.
            max_shard_size: Write several files of about so many bytes of Arrow data, such as ``"500MB"``, named after the
                path: ``train.csv`` becomes ``train-00000-of-00042.csv`` and so on.
            num_shards: Write so many files.
            **to_csv_kwargs: Options with the names and meanings of `pandas.DataFrame.to_csv`: ``sep``, ``na_rep``,
                ``float_format``, ``columns``, ``header``, ``index``, ``index_label``, ``encoding``, ``errors``,
                ``compression``, ``quoting``, ``quotechar``, ``doublequote``, ``escapechar``, ``lineterminator``,
                ``date_format``, ``decimal``.

        Returns:
            Bytes written.

        Raises:
            FileError: The file can't be written.
            InvalidArgumentError: An option is not known.
        """
        row_count("batch_size", batch_size)
        files = sharding.Sharding.parse_export(max_shard_size, num_shards, num_proc)
        return export.write_rows(
            self._view, self._features, "csv", path_or_buf, storage_options, to_csv_kwargs, files
        )

    def push_to_hub(
        self,
        repo_id: str,
        config_name: str = "default",
        set_default: bool | None = None,
        split: str | None = None,
        data_dir: str | None = None,
        commit_message: str | None = None,
        commit_description: str | None = None,
        private: bool | None = None,
        token: str | None = None,
        revision: str | None = None,
        create_pr: bool | None = False,
        max_shard_size: int | str | None = None,
        num_shards: int | None = None,
        embed_external_files: bool = True,
        num_proc: int | None = None,
    ) -> CommitInfo:
        """Publishes the rows on a Hub as Parquet files that `load_dataset` and others read.

        Files are written and sent a few at a time; then one commit puts them in the place of the split's older files and
        brings the card up to date. Its other words, and other configs, stay. What the Hub has already is not sent again:
        run the same call after a failure, and it goes on.

        Args:
            repo_id: ``"namespace/name"``, or ``"name"`` for one of the token's account; made if it is not there.
            config_name: The config (the card's name for one of several datasets in a repository).
            set_default: Make it the config that is loaded when none is named.
            split: The split; that of this dataset, or ``"train"``, if left out.
            data_dir: Folder of the files in the repository; ``data`` for the config ``"default"``, else the config's name.
            commit_message: First line of the commit; "Upload dataset" if left out.
            commit_description: What else the commit says.
            private: Whether only some accounts see a repository that is made; None leaves that to the Hub.
            token: A token that may write; the one of ``HF_TOKEN`` or `hf auth login` if left out.
            revision: The branch, made if it is not there; ``main`` if left out.
            create_pr: Leave the branch alone and begin a pull request.
            max_shard_size: Size of a file as Arrow data, such as ``"500MB"``; that is what it is if left out.
            num_shards: Number of files, instead of their size.
            embed_external_files: Put pictures, sounds and the like that columns only name into the files.
            num_proc: Worker processes that write files.

        Returns:
            What ``huggingface_hub`` says of the commit: ``oid``, ``commit_url``, ``pr_url`` and so on.

        Raises:
            InvalidArgumentError: A name or number can't be right, or the columns are not those of the config's other splits.
            CardError: The README there can't be used as it is.
            AccessError: A token is missing, unknown, or may not write; or there is no room left there.
            HubError: The Hub refuses or can't be reached.
            OfflineError: Offline mode is on.

        Example:
            >>> rows = Dataset.from_dict({"a": [1, 2]})
            >>> rows.push_to_hub("me/numbers", split="train")  # doctest: +SKIP
            CommitInfo(commit_url='https://huggingface.co/datasets/me/numbers/commit/...
        """
        from gristmill.publishing import PushOptions, push_splits

        plan = sharding.Sharding.parse(max_shard_size, num_shards, num_proc)
        options = PushOptions(
            repo_id, config_name, set_default, data_dir, commit_message, commit_description, private, token,
            revision, create_pr,
        )  # fmt: skip
        name = str(self._split or "train") if split is None else str(split)
        return push_splits({name: self._shards(plan, embed_external_files)}, options)

    def _shards(self, plan: sharding.Sharding, embed: bool) -> DatasetSource:
        from gristmill.dataset.publishing import DatasetSource

        return DatasetSource(self._view, self._features, plan, embed)

    # ---------------------------------------------------------------- still to come

    from_spark = MissingMethod()

    # ---------------------------------------------------------------- together with others

    @classmethod
    def _combined(
        cls,
        datasets: Sequence[Dataset],
        view: View,
        features: Features,
        name: str,
        args: object,
        info: DatasetInfo | None,
        split: str | None,
    ) -> Dataset:
        """Makes a dataset of several; the format is kept if they agree on it."""
        wanted_features(None, info)  # refuses what is no info
        infos = [dataset._info for dataset in datasets] if info is None else [info]
        # As in `_derive`, facts that stay the same are shared.
        merged = copy.copy(infos[0]) if all_equal(infos) else DatasetInfo.from_merge(list(infos))
        merged.features = features
        specs = [dataset._spec for dataset in datasets]
        alike = all(other is specs[0] or other == specs[0] for other in specs)
        spec = specs[0].within(view.names) if alike else FormatSpec()
        identities = [dataset._identity for dataset in datasets]
        identity = Identity(
            make=lambda: Hasher.hash((name, [identity.value for identity in identities], args))
        )
        folders = [dataset._cache_dir for dataset in datasets if dataset._cache_dir is not None]
        made = cls.__new__(cls)
        made._fill(view, merged, split, spec, identity, folders[0] if folders else None)
        return made


_STATE = frozenset({"_view", "_info", "_split", "_spec", "_identity", "_cache_dir", "_search_indexes"})
"""The attributes of ours."""


def _identity(row: Any) -> Any:
    return row


def _yes(_: Any) -> bool:
    return True


def _restore(cls: type[Dataset], state: tuple[Any, ...]) -> Dataset:
    view, info, split, spec, fingerprint, cache_dir = state
    made = cls.__new__(cls)
    made._fill(view, info, split, spec, Identity(value=fingerprint), cache_dir)
    return made
