"""The methods by which a dataset is searched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from typing_extensions import Self

from gristmill.errors import InvalidArgumentError, MissingIndexError
from gristmill.search.base import (
    BaseIndex,
    BatchedNearestExamplesResults,
    BatchedSearchResults,
    NearestExamplesResults,
    SearchResults,
)
from gristmill.search.elastic import ElasticSearchIndex
from gristmill.search.exact import ExactIndex
from gristmill.search.faiss_index import FaissIndex
from gristmill.search.vectors import VectorBlocks


class IndexableMixin:
    """Search for a class whose rows have numbers.

    An index belongs to the rows as they are: it stays when the format changes, and the results of `select`, `map` and
    other transforms begin without one.
    """

    @property
    def _indexes(self) -> dict[str, BaseIndex]:
        found: dict[str, BaseIndex] = self.__dict__.setdefault("_search_indexes", {})
        return found

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, key: Any) -> Any:
        raise NotImplementedError

    def is_index_initialized(self, index_name: str) -> bool:
        """Says whether there is an index of this name."""
        return index_name in self._indexes

    def list_indexes(self) -> list[str]:
        """Lists the names of the indexes.

        Example:
            >>> from gristmill import Dataset
            >>> Dataset.from_dict({"v": [[0.0, 1.0]]}).add_exact_index("v").list_indexes()
            ['v']
        """
        return list(self._indexes)

    def get_index(self, index_name: str) -> BaseIndex:
        """Gives an index.

        Args:
            index_name: Its name.

        Raises:
            MissingIndexError: There is none of this name.
        """
        if index_name not in self._indexes:
            raise MissingIndexError.from_name(index_name, self._indexes)
        return self._indexes[index_name]

    def drop_index(self, index_name: str) -> None:
        """Forgets an index; one on a server stays there.

        Args:
            index_name: Its name.

        Raises:
            MissingIndexError: There is none of this name.
        """
        self.get_index(index_name)
        del self._indexes[index_name]

    def add_exact_index(
        self, column: str, index_name: str | None = None, metric: str = "l2", dtype: Any = np.float32
    ) -> Self:
        """Makes a column of vectors searchable, with nothing to install, build or save.

        A search compares the query with every vector, read block by block where it lies, so memory stays flat however
        many there are. The answer is exact: nearest first, rows that are equally near in their order. Not part of
        `datasets`; for millions of vectors and many single queries `add_faiss_index` is faster.

        Args:
            column: The column of vectors: lists of numbers, all of one length. Rows without one are never found.
            index_name: Name of the index; the column's by default.
            metric: ``"l2"`` (scores are squared distances) or ``"inner_product"``.
            dtype: The numbers compared, ``float32`` or ``float64``.

        Returns:
            This dataset.

        Raises:
            ColumnNotFoundError: There is no such column.
            InvalidArgumentError: It does not hold vectors, or the metric is not known.

        Example:
            >>> from gristmill import Dataset
            >>> ds = Dataset.from_dict({"word": ["cat", "dog", "car"], "v": [[1, 0], [0.9, 0.2], [0, 1]]})
            >>> ds.add_exact_index("v").get_nearest_examples("v", [1, 0.1], k=2).examples["word"]
            ['cat', 'dog']
        """
        self._indexes[column if index_name is None else index_name] = ExactIndex(self, column, metric, dtype)
        return self

    def add_faiss_index(
        self,
        column: str,
        index_name: str | None = None,
        device: int | list[int] | None = None,
        string_factory: str | None = None,
        metric_type: int | None = None,
        custom_index: Any = None,
        batch_size: int = 1000,
        train_size: int | None = None,
        faiss_verbose: bool = False,
        dtype: Any = np.float32,
    ) -> Self:
        """Makes a column of vectors searchable with faiss.

        Args:
            column: The column of vectors: lists of numbers, all of one length.
            index_name: Name of the index; the column's by default.
            device: As for `FaissIndex`.
            string_factory: As for `FaissIndex`.
            metric_type: As for `FaissIndex`.
            custom_index: As for `FaissIndex`.
            batch_size: Vectors added at once.
            train_size: How many of the first vectors an index that has to be trained is trained with.
            faiss_verbose: Let faiss say what it does.
            dtype: The numbers vectors are read as; faiss itself stores float32.

        Returns:
            This dataset.

        Raises:
            MissingDependencyError: faiss is not installed; `add_exact_index` needs nothing.
            ColumnNotFoundError: There is no such column.
            InvalidArgumentError: It does not hold vectors, or the arguments exclude each other.
            CastError: A row has no vector, or one of another width; names the row.
        """
        index = FaissIndex(device, string_factory, metric_type, custom_index)
        index.add_vectors(VectorBlocks(self, column, dtype), None, batch_size, train_size, faiss_verbose)
        self._indexes[column if index_name is None else index_name] = index
        return self

    def add_faiss_index_from_external_arrays(
        self,
        external_arrays: Any,
        index_name: str,
        device: int | list[int] | None = None,
        string_factory: str | None = None,
        metric_type: int | None = None,
        custom_index: Any = None,
        batch_size: int = 1000,
        train_size: int | None = None,
        faiss_verbose: bool = False,
        dtype: Any = np.float32,
    ) -> Self:
        """Makes the rows searchable by vectors that are not in the dataset.

        Args:
            external_arrays: An array with one vector a row, in the order of the rows.
            index_name: Name of the index.
            device: As for `FaissIndex`.
            string_factory: As for `FaissIndex`.
            metric_type: As for `FaissIndex`.
            custom_index: As for `FaissIndex`.
            batch_size: As for `add_faiss_index`.
            train_size: As for `add_faiss_index`.
            faiss_verbose: As for `add_faiss_index`.
            dtype: As for `add_faiss_index`.

        Returns:
            This dataset.

        Raises:
            MissingDependencyError: faiss is not installed.
            InvalidArgumentError: The arguments exclude each other.
            CastError: A row has no vector, or one of another width; names the row.
        """
        index = FaissIndex(device, string_factory, metric_type, custom_index)
        index.add_vectors(
            VectorBlocks(external_arrays, None, dtype), None, batch_size, train_size, faiss_verbose
        )
        self._indexes[index_name] = index
        return self

    def save_faiss_index(
        self, index_name: str, file: Any, storage_options: Mapping[str, Any] | None = None
    ) -> None:
        """Writes an index of faiss to a file, whole or not at all.

        Args:
            index_name: Its name.
            file: Path of the file, or its URL on another file system.
            storage_options: Options of that file system.

        Raises:
            MissingIndexError: There is none of this name.
            InvalidArgumentError: It is not one of faiss.
            FileError: The file can't be written.
        """
        index = self.get_index(index_name)
        if not isinstance(index, FaissIndex):
            raise InvalidArgumentError(
                f'The index "{index_name}" is a {type(index).__name__}, which has no file of its own.'
            )
        index.save(file, storage_options)

    def load_faiss_index(
        self,
        index_name: str,
        file: Any,
        device: int | list[int] | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        """Reads an index that `save_faiss_index` wrote, here or with `datasets`.

        Args:
            index_name: Name to give it.
            file: Path of the file, or its URL on another file system.
            device: As for `FaissIndex`.
            storage_options: Options of that file system.

        Raises:
            MissingDependencyError: faiss is not installed.
            FileMissingError: There is no such file.
            FileFormatError: It is damaged, or no index of faiss.
        """
        self._indexes[index_name] = FaissIndex.load(file, device, storage_options)

    def add_elasticsearch_index(
        self,
        column: str,
        index_name: str | None = None,
        host: str | None = None,
        port: int | None = None,
        es_client: Any = None,
        es_index_name: str | None = None,
        es_index_config: Mapping[str, Any] | None = None,
    ) -> Self:
        """Makes a column of texts searchable with an Elasticsearch server.

        Args:
            column: The column of texts.
            index_name: Name of the index here; the column's by default.
            host: As for `ElasticSearchIndex`.
            port: As for `ElasticSearchIndex`.
            es_client: As for `ElasticSearchIndex`.
            es_index_name: As for `ElasticSearchIndex`.
            es_index_config: As for `ElasticSearchIndex`.

        Returns:
            This dataset.

        Raises:
            MissingDependencyError: The library elasticsearch is not installed.
            ColumnNotFoundError: There is no such column.
            SearchIndexError: The server refuses, or does not answer.
        """
        index = ElasticSearchIndex(host, port, es_client, es_index_name, es_index_config)
        index.add_documents(self, column)
        self._indexes[column if index_name is None else index_name] = index
        return self

    def load_elasticsearch_index(
        self,
        index_name: str,
        es_index_name: str,
        host: str | None = None,
        port: int | None = None,
        es_client: Any = None,
        es_index_config: Mapping[str, Any] | None = None,
    ) -> None:
        """Uses an index that `add_elasticsearch_index` made on a server before.

        Args:
            index_name: Name to give it here.
            es_index_name: Its name on the server.
            host: As for `ElasticSearchIndex`.
            port: As for `ElasticSearchIndex`.
            es_client: As for `ElasticSearchIndex`.
            es_index_config: As for `ElasticSearchIndex`.

        Raises:
            MissingDependencyError: The library elasticsearch is not installed.
        """
        self._indexes[index_name] = ElasticSearchIndex(host, port, es_client, es_index_name, es_index_config)

    def search(self, index_name: str, query: Any, k: int = 10, **kwargs: Any) -> SearchResults:
        """Finds the rows that fit a query best.

        Args:
            index_name: The index to ask.
            query: A vector, or a text for Elasticsearch.
            k: How many rows.
            **kwargs: Options of the index's ``search``.

        Returns:
            Scores and row numbers, the best first.

        Raises:
            MissingIndexError: There is no index of this name.
            InvalidArgumentError: The query does not fit the index.

        Example:
            >>> from gristmill import Dataset
            >>> ds = Dataset.from_dict({"v": [[0.0], [5.0], [3.0]]}).add_exact_index("v")
            >>> ds.search("v", [4.0], k=2).indices.tolist()
            [1, 2]
        """
        return self.get_index(index_name).search(query, k, **kwargs)

    def search_batch(self, index_name: str, queries: Any, k: int = 10, **kwargs: Any) -> BatchedSearchResults:
        """Finds the rows that fit best for each of several queries, see `search`.

        Args:
            index_name: As for `search`.
            queries: An array of vectors, one a row, or a list of texts.
            k: As for `search`.
            **kwargs: As for `search`.

        Raises:
            MissingIndexError: There is no index of this name.
            InvalidArgumentError: The queries do not fit the index.
        """
        return self.get_index(index_name).search_batch(queries, k, **kwargs)

    def get_nearest_examples(
        self, index_name: str, query: Any, k: int = 10, **kwargs: Any
    ) -> NearestExamplesResults:
        """Finds the rows that fit a query best, and reads them.

        Args:
            index_name: As for `search`.
            query: As for `search`.
            k: As for `search`.
            **kwargs: As for `search`.

        Returns:
            Scores and the rows as a batch in the dataset's format, the best first; fewer than `k` if there are fewer.

        Raises:
            MissingIndexError: There is no index of this name.
            RowIndexError: The index has more rows than the dataset.
        """
        found = self.search(index_name, query, k, **kwargs)
        return NearestExamplesResults(*self._rows_found(found.scores, found.indices))

    def get_nearest_examples_batch(
        self, index_name: str, queries: Any, k: int = 10, **kwargs: Any
    ) -> BatchedNearestExamplesResults:
        """Finds the rows that fit best for each of several queries, and reads them, see `get_nearest_examples`.

        Args:
            index_name: As for `search_batch`.
            queries: As for `search_batch`.
            k: As for `search`.
            **kwargs: As for `search`.

        Raises:
            MissingIndexError: There is no index of this name.
            RowIndexError: The index has more rows than the dataset.
        """
        found = self.search_batch(index_name, queries, k, **kwargs)
        pairs = [self._rows_found(*one) for one in zip(found.total_scores, found.total_indices, strict=True)]
        return BatchedNearestExamplesResults([scores for scores, _ in pairs], [rows for _, rows in pairs])

    def _rows_found(self, scores: Any, indices: Any) -> tuple[Any, Any]:
        rows = [int(row) for row in indices if row >= 0]
        return scores[: len(rows)], self[rows]
