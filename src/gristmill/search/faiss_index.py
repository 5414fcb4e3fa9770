"""Approximate and exact nearest neighbours with the library faiss."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gristmill.arguments import whole_number
from gristmill.errors import (
    CastError,
    FileFormatError,
    FileMissingError,
    InvalidArgumentError,
    SearchIndexError,
)
from gristmill.files.atomic import atomic_file
from gristmill.files.remote import downloaded_file, local_path, uploaded_file
from gristmill.logging import get_logger
from gristmill.optional import require
from gristmill.progress import progress
from gristmill.search.base import BaseIndex, BatchedSearchResults, SearchResults
from gristmill.search.vectors import Matrix, VectorBlocks, query_matrix

_log = get_logger(__name__)


def _faiss() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of its bindings, on newer Pythons
        return require("faiss", "A faiss index")


@contextlib.contextmanager
def _border(doing: str) -> Iterator[None]:
    """Turns errors of faiss, which come as several builtins, into ours."""
    try:
        yield
    except (RuntimeError, AssertionError, TypeError, ValueError, AttributeError) as error:
        text = str(error).strip().splitlines()
        raise SearchIndexError(f"faiss could not {doing}: {text[-1] if text else error!r}") from error


class FaissIndex(BaseIndex):
    """An index of faiss over vectors.

    Args:
        device: Where it works: None for the processor, the number of a GPU, a negative number for all GPUs, or a list
            of numbers.
        string_factory: A description of faiss's index factory, for example ``"IVF256,Flat"``; by default vectors are
            stored as they are and compared one by one.
        metric_type: ``faiss.METRIC_L2`` (the default; scores are squared distances) or another metric of faiss.
        custom_index: An index that you made yourself, in place of the others.

    Raises:
        MissingDependencyError: faiss is not installed.
        InvalidArgumentError: The arguments exclude each other.
    """

    def __init__(
        self,
        device: int | list[int] | None = None,
        string_factory: str | None = None,
        metric_type: int | None = None,
        custom_index: Any = None,
    ) -> None:
        if custom_index is not None and (string_factory is not None or device is not None):
            other = "device" if string_factory is None else "string_factory"
            raise InvalidArgumentError(f"Pass either custom_index= or {other}=, not both.")
        if isinstance(device, bool) or not isinstance(device, int | list | tuple | None):
            raise InvalidArgumentError.from_value("device", device, "the number of a GPU, or a list of them")
        _faiss()
        self.device = device
        self.string_factory = string_factory
        self.metric_type = metric_type
        self.faiss_index = custom_index

    def add_vectors(
        self,
        vectors: Any,
        column: str | None = None,
        batch_size: int = 1000,
        train_size: int | None = None,
        faiss_verbose: bool | None = None,
    ) -> None:
        """Adds vectors after those that are there.

        Args:
            vectors: An array with one vector a row, or a dataset.
            column: The dataset's column of vectors.
            batch_size: Vectors added at once.
            train_size: How many of the first vectors an index that has to be trained is trained with.
            faiss_verbose: Let faiss say what it does.

        Raises:
            InvalidArgumentError: The column holds no vectors, or the index has to be trained and `train_size` is
                missing.
            CastError: A row has no vector, or one of another width; names the row.
            SearchIndexError: faiss refuses.
        """
        batch_size = whole_number("batch_size", batch_size, 1)
        blocks = vectors if isinstance(vectors, VectorBlocks) else VectorBlocks(vectors, column)
        if not len(blocks):
            return
        if self.faiss_index is None:
            self.faiss_index = self._make(_complete(blocks, 0, 1).shape[1])
        index = self.faiss_index
        if faiss_verbose is not None:
            for inner in (index, *(getattr(index, name, None) for name in _INNER)):
                if inner is not None:
                    inner.verbose = bool(faiss_verbose)
        if train_size is not None:
            with _border("train the index"):
                index.train(_complete(blocks, 0, min(len(blocks), whole_number("train_size", train_size, 1))))
        elif not index.is_trained:
            raise InvalidArgumentError(
                "This kind of index has to be trained: pass train_size= with the number of vectors to train it with."
            )
        with progress("Indexing", len(blocks)) as bar:
            for start in range(0, len(blocks), batch_size):
                block = _complete(blocks, start, min(len(blocks), start + batch_size))
                if block.shape[1] != index.d:
                    raise CastError.at(
                        f"the vectors have {block.shape[1]} numbers; the index takes {index.d}", column=column
                    )
                with _border("add vectors"):
                    index.add(block)
                bar.update(len(block))

    def _make(self, width: int) -> Any:
        faiss = _faiss()
        metric = () if self.metric_type is None else (self.metric_type,)
        with _border(f"make the index {self.string_factory or 'Flat'}"):
            if self.string_factory is None:
                made = faiss.IndexFlat(width, *metric)
            else:
                made = faiss.index_factory(width, self.string_factory, *metric)
        _log.info("made a faiss index of the class %s", type(made).__name__)
        return _to_device(made, self.device)

    def search(self, query: Any, k: int = 10, **kwargs: Any) -> SearchResults:
        """Finds the nearest rows.

        Args:
            query: A vector.
            k: How many rows; where there are fewer, the rest has the row number -1.
            **kwargs: Options of faiss's ``search``, for example ``params``.

        Raises:
            InvalidArgumentError: The query is no vector of the right width.
            SearchIndexError: Nothing was indexed, or faiss refuses.
        """
        scores, indices = self._search(query, k, True, kwargs)
        return SearchResults(scores[0], indices[0])

    def search_batch(self, queries: Any, k: int = 10, **kwargs: Any) -> BatchedSearchResults:
        """Finds the nearest rows for several queries.

        Args:
            queries: An array of shape (queries, width).
            k: As for `search`.
            **kwargs: As for `search`.

        Returns:
            Arrays of shape (queries, k).

        Raises:
            InvalidArgumentError: The queries are no vectors of the right width.
            SearchIndexError: Nothing was indexed, or faiss refuses.
        """
        return BatchedSearchResults(*self._search(queries, k, False, kwargs))

    def _search(
        self, queries: Any, k: int, single: bool, options: Mapping[str, Any]
    ) -> tuple[Matrix, Matrix]:
        index = self._filled()
        matrix = query_matrix(queries, index.d, single=single)
        with _border("search"):
            scores, indices = index.search(matrix, whole_number("k", k, 1), **options)
        return scores, indices.astype(np.int64)

    def _filled(self) -> Any:
        if self.faiss_index is None:
            raise SearchIndexError("There is nothing in the index yet; add_vectors fills it.")
        return self.faiss_index

    def save(self, file: Any, storage_options: Mapping[str, Any] | None = None) -> None:
        """Writes the index to a file, whole or not at all.

        Args:
            file: Its path, or its URL on another file system.
            storage_options: Options of that file system.

        Raises:
            FileError: The file can't be written.
            SearchIndexError: Nothing was indexed, or faiss can't write this kind of index.
        """
        faiss, index = _faiss(), self._filled()
        if self.device is not None:
            index = faiss.index_gpu_to_cpu(index)
        with contextlib.ExitStack() as stack:
            path = local_path(_path(file))
            if path is None:
                path = stack.enter_context(uploaded_file(str(file), storage_options))
            with atomic_file(path) as opened, _border("write the index"):
                writer = faiss.BufferedIOWriter(faiss.PyCallbackIOWriter(opened.write))
                faiss.write_index(index, writer)
                del writer  # it writes the rest of its buffer when it goes

    @classmethod
    def load(
        cls,
        file: Any,
        device: int | list[int] | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> FaissIndex:
        """Reads what `save` wrote, here or with `datasets`.

        Args:
            file: Its path, or its URL on another file system.
            device: As for the class.
            storage_options: Options of that file system.

        Raises:
            FileMissingError: There is no such file.
            FileFormatError: It is damaged, or no index of faiss.
        """
        made, faiss = cls(device), _faiss()
        with contextlib.ExitStack() as stack:
            path = local_path(_path(file))
            if path is None:
                path = stack.enter_context(downloaded_file(str(file), storage_options))
            elif not path.is_file():
                raise FileMissingError.from_path(path)
            try:
                index = faiss.read_index(os.fspath(path))
            except (RuntimeError, MemoryError) as error:
                raise FileFormatError.at("can't be read as an index of faiss", file=file) from error
        made.faiss_index = _to_device(index, device)
        return made


_INNER = ("index", "quantizer", "clustering_index")


def _path(file: Any) -> Any:
    if not isinstance(file, str | os.PathLike) or not os.fspath(file):
        raise InvalidArgumentError.from_value("file", file, "a path or URL")
    return file


def _complete(blocks: VectorBlocks, start: int, stop: int) -> Matrix:
    matrix = blocks.block(start, stop)
    missing = np.flatnonzero(np.isnan(matrix).all(axis=1))
    if len(missing) or not matrix.shape[1]:
        row = start + int(missing[0]) if len(missing) else start
        raise CastError.at(
            "the row has no vector",
            row=row,
            column=blocks.column,
            remedy="Leave such rows out with filter first.",
        )
    # What faiss takes, whatever the vectors were read as.
    return np.ascontiguousarray(matrix, dtype=np.float32)


def _to_device(index: Any, device: int | list[int] | None) -> Any:
    if device is None:
        return index
    faiss = _faiss()
    if not hasattr(faiss, "StandardGpuResources"):
        raise SearchIndexError("This build of faiss knows no GPU: install faiss-gpu, or leave device= out.")
    with _border("move the index to a GPU"):
        if not isinstance(device, int):
            return faiss.index_cpu_to_gpus_list(index, gpus=list(device))
        if device < 0:
            return faiss.index_cpu_to_all_gpus(index)
        return faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), device, index)
