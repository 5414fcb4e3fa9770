"""Readers and writers of files and databases as objects; each is a method of `Dataset` or `IterableDataset`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from gristmill.dataset import Dataset
from gristmill.errors import InvalidArgumentError
from gristmill.features import Features
from gristmill.iterable import IterableDataset
from gristmill.splits import NamedSplit, Split

__all__ = [
    "AbstractDatasetInputStream", "AbstractDatasetReader", "CsvDatasetReader", "CsvDatasetWriter",
    "GeneratorDatasetInputStream", "JsonDatasetReader", "JsonDatasetWriter", "ParquetDatasetReader",
    "ParquetDatasetWriter", "SqlDatasetReader", "SqlDatasetWriter", "TextDatasetReader",
]  # fmt: skip


class AbstractDatasetInputStream(ABC):
    """What makes a dataset of something that is no file: derive from it and write `read`.

    Args:
        features: What the columns shall be.
        cache_dir: Folder of the cache.
        keep_in_memory: Keep the rows in memory.
        streaming: Give a stream.
        num_proc: How many processes to use.
        **kwargs: Options of the source.
    """

    def __init__(
        self,
        features: Features | None = None,
        cache_dir: str | None = None,
        keep_in_memory: bool = False,
        streaming: bool = False,
        num_proc: int | None = None,
        **kwargs: Any,
    ) -> None:
        self.features = features
        self.cache_dir = cache_dir
        self.keep_in_memory = keep_in_memory
        self.streaming = streaming
        self.num_proc = num_proc
        self.kwargs = kwargs

    @abstractmethod
    def read(self) -> Any:
        """Makes the dataset."""


class AbstractDatasetReader(AbstractDatasetInputStream):
    """What makes a dataset of files: derive from it and write `read`.

    Args:
        path_or_paths: The files, in any form of ``data_files``.
        split: Name of the split.
        features: See `AbstractDatasetInputStream`, as the rest.
    """

    def __init__(
        self,
        path_or_paths: Any = None,
        split: NamedSplit | None = None,
        features: Features | None = None,
        cache_dir: str | None = None,
        keep_in_memory: bool = False,
        streaming: bool = False,
        num_proc: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(features, cache_dir, keep_in_memory, streaming, num_proc, **kwargs)
        self.path_or_paths = path_or_paths
        # Files of several splits say themselves which are which.
        self.split = split if split or isinstance(path_or_paths, Mapping) else Split.TRAIN


class _FileReader(AbstractDatasetReader):
    _rows: ClassVar[Callable[..., Dataset]]
    _stream: ClassVar[Callable[..., IterableDataset]]

    def read(self) -> Dataset | IterableDataset:
        """Reads the files.

        Returns:
            A `Dataset`, or an `IterableDataset` with ``streaming=True``.

        Raises:
            DataFilesNotFoundError: A path means nothing.
            DatasetGenerationError: A file can't be read.
        """
        split = None if self.split is None else str(self.split)
        if self.streaming:
            return type(self)._stream(self.path_or_paths, split, self.features, **self.kwargs)
        return type(self)._rows(
            self.path_or_paths,
            split,
            self.features,
            self.cache_dir,
            self.keep_in_memory,
            num_proc=self.num_proc,
            **self.kwargs,
        )


class CsvDatasetReader(_FileReader):
    """Reads CSV files, see `Dataset.from_csv`."""

    _rows, _stream = Dataset.from_csv, IterableDataset.from_csv


class JsonDatasetReader(_FileReader):
    """Reads JSON files, see `Dataset.from_json`; ``field=`` is one of its options."""

    _rows, _stream = Dataset.from_json, IterableDataset.from_json


class ParquetDatasetReader(_FileReader):
    """Reads Parquet files, see `Dataset.from_parquet`."""

    _rows, _stream = Dataset.from_parquet, IterableDataset.from_parquet


class TextDatasetReader(_FileReader):
    """Reads text files, see `Dataset.from_text`."""

    _rows, _stream = Dataset.from_text, IterableDataset.from_text


class GeneratorDatasetInputStream(AbstractDatasetInputStream):
    """Takes the rows of a generator function, see `Dataset.from_generator`.

    Args:
        generator: Yields rows as dicts.
        features: See `AbstractDatasetInputStream`.
        cache_dir: See `AbstractDatasetInputStream`.
        keep_in_memory: See `AbstractDatasetInputStream`.
        streaming: See `AbstractDatasetInputStream`.
        gen_kwargs: What the function is called with.
        num_proc: See `AbstractDatasetInputStream`.
        split: Name of the split.
        fingerprint: Fingerprint of the rows.
        **kwargs: Further options.
    """

    def __init__(
        self,
        generator: Callable[..., Any],
        features: Features | None = None,
        cache_dir: str | None = None,
        keep_in_memory: bool = False,
        streaming: bool = False,
        gen_kwargs: dict[str, Any] | None = None,
        num_proc: int | None = None,
        split: NamedSplit = Split.TRAIN,
        fingerprint: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(features, cache_dir, keep_in_memory, streaming, num_proc, **kwargs)
        self.generator = generator
        self.gen_kwargs = gen_kwargs
        self.split = split
        self.fingerprint = fingerprint

    def read(self) -> Dataset | IterableDataset:
        """Reads the rows."""
        if self.streaming:
            return IterableDataset.from_generator(self.generator, self.features, self.gen_kwargs, self.split)
        return Dataset.from_generator(
            self.generator,
            self.features,
            self.cache_dir,
            self.keep_in_memory,
            self.gen_kwargs,
            self.num_proc,
            self.split,
            self.fingerprint,
            **self.kwargs,
        )


class SqlDatasetReader(AbstractDatasetInputStream):
    """Reads the rows of a query, see `Dataset.from_sql`.

    Args:
        sql: A query, or the name of a table.
        con: A URI, or an open connection.
        features: See `AbstractDatasetInputStream`.
        cache_dir: See `AbstractDatasetInputStream`.
        keep_in_memory: See `AbstractDatasetInputStream`.
        **kwargs: Options of `Dataset.from_sql`.
    """

    def __init__(
        self,
        sql: Any,
        con: Any,
        features: Features | None = None,
        cache_dir: str | None = None,
        keep_in_memory: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(features, cache_dir, keep_in_memory, **kwargs)
        if self.streaming:
            raise InvalidArgumentError.from_value("streaming", True, 'False; load_dataset("sql") streams')
        self.sql = sql
        self.con = con

    def read(self) -> Dataset:
        """Reads the rows."""
        return Dataset.from_sql(
            self.sql, self.con, self.features, self.cache_dir, self.keep_in_memory, **self.kwargs
        )


class _Writer:
    _write: ClassVar[Callable[..., int]]

    def __init__(self, dataset: Dataset, *args: Any, **kwargs: Any) -> None:
        self.dataset = dataset
        self._args, self._kwargs = args, kwargs

    def write(self) -> int:
        """Writes the rows.

        Returns:
            Bytes written; of a database the number of rows.

        Raises:
            DataError: The format can't hold a value.
        """
        return type(self)._write(self.dataset, *self._args, **self._kwargs)


class CsvDatasetWriter(_Writer):
    """Writes CSV; takes a dataset and the arguments of `Dataset.to_csv`."""

    _write = Dataset.to_csv


class JsonDatasetWriter(_Writer):
    """Writes JSON; takes a dataset and the arguments of `Dataset.to_json`."""

    _write = Dataset.to_json


class ParquetDatasetWriter(_Writer):
    """Writes Parquet; takes a dataset and the arguments of `Dataset.to_parquet`."""

    _write = Dataset.to_parquet


class SqlDatasetWriter(_Writer):
    """Writes to a database; takes a dataset and the arguments of `Dataset.to_sql`."""

    _write = Dataset.to_sql
