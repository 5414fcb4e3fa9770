"""Nearest neighbours by looking at every vector: exact, in flat memory, with nothing to install.

Each block of vectors is compared with all queries by one matrix product. That is fast and slightly inexact, so it
only says which rows may be among the best: their scores are then computed anew in double precision, each row by
itself. Hence the answer depends on the values alone, not on how rows are cut into blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gristmill.arguments import whole_number
from gristmill.errors import InvalidArgumentError
from gristmill.search.base import BaseIndex, BatchedSearchResults, SearchResults
from gristmill.search.vectors import Matrix, VectorBlocks, query_matrix

METRICS = ("l2", "inner_product")
_BLOCK_BYTES = 8 << 20
_QUERIES_AT_ONCE = 256


class ExactIndex(BaseIndex):
    """Finds nearest neighbours without a structure of its own: a search reads the vectors where they lie.

    Rows come nearest first; rows that are equally near, in their order. A row without a vector, or with a NaN in it,
    is never found.

    Args:
        vectors: A dataset, or an array with one vector a row.
        column: The dataset's column of vectors.
        metric: ``"l2"``: scores are squared Euclidean distances, the smallest first; ``"inner_product"``: scores are
            inner products, the largest first (the cosine, if vectors have length 1).
        dtype: The numbers compared.

    Raises:
        InvalidArgumentError: The metric is not known, or the column does not hold vectors.

    Example:
        >>> ExactIndex([[0, 0], [3, 4], [0, 1]]).search([0, 0], k=2)
        SearchResults(scores=array([0., 1.], dtype=float32), indices=array([0, 2]))
    """

    def __init__(
        self, vectors: Any, column: str | None = None, metric: str = "l2", dtype: Any = np.float32
    ) -> None:
        if metric not in METRICS:
            raise InvalidArgumentError.from_choice("metric", str(metric), METRICS)
        self.metric = metric
        self._vectors = VectorBlocks(vectors, column, dtype)
        if len(self._vectors):
            self._vectors.block(0, 1)  # so that a wrong column is told of here

    def search(self, query: Any, k: int = 10, **kwargs: Any) -> SearchResults:
        """Finds the nearest rows.

        Args:
            query: A vector.
            k: How many rows; where there are fewer, the rest has the row number -1.
            **kwargs: None are known.

        Raises:
            InvalidArgumentError: The query is no vector of the right width.
            CastError: A vector is not as wide as the others; names the row.
        """
        matrix = query_matrix(query, self._vectors.width, single=True, dtype=self._vectors.dtype)
        found = self.search_batch(matrix, k, **kwargs)
        return SearchResults(found.total_scores[0], found.total_indices[0])

    def search_batch(self, queries: Any, k: int = 10, **kwargs: Any) -> BatchedSearchResults:
        """Finds the nearest rows for several queries; the vectors are read once.

        Args:
            queries: An array of shape (queries, width).
            k: As for `search`.
            **kwargs: None are known.

        Returns:
            Arrays of shape (queries, k).

        Raises:
            InvalidArgumentError: The queries are no vectors of the right width.
            CastError: A vector is not as wide as the others; names the row.
        """
        if kwargs:
            raise InvalidArgumentError(f'An exact index knows no option "{min(kwargs)}".')
        k = whole_number("k", k, 1)
        vectors = self._vectors
        matrix = query_matrix(queries, vectors.width, single=False, dtype=vectors.dtype)
        groups = [
            _Best(matrix[start : start + _QUERIES_AT_ONCE], k, self.metric)
            for start in range(0, len(matrix), _QUERIES_AT_ONCE)
        ]
        rows = max(1, _BLOCK_BYTES // (max(1, vectors.width or 1) * vectors.dtype.itemsize))
        for start in range(0, len(vectors), rows):
            block = vectors.block(start, min(len(vectors), start + rows))
            if vectors.width == matrix.shape[1]:
                norms = _norms(block)
                for group in groups:
                    group.add(block, norms, start)
        worst = np.inf if self.metric == "l2" else -np.inf
        scores = np.full((len(matrix), k), worst, vectors.dtype)
        indices = np.full((len(matrix), k), -1, np.int64)
        for number, group in enumerate(groups):
            first = number * _QUERIES_AT_ONCE
            group.write(scores[first : first + len(group)], indices[first : first + len(group)])
        return BatchedSearchResults(scores, indices)


def _norms(matrix: Matrix) -> Matrix:
    # Values near the largest of their type overflow; the bound they give is "may be anything".
    with np.errstate(over="ignore", invalid="ignore"):
        norms: Matrix = np.einsum("ij,ij->i", matrix, matrix)
    return norms


class _Best:
    """The best rows so far for some queries; costs are what is to be smallest, so an inner product counts negative."""

    def __init__(self, queries: Matrix, k: int, metric: str) -> None:
        self._queries = queries
        self._exact = queries.astype(np.float64)
        self._norms = _norms(queries)
        self._k = k
        self._l2 = metric == "l2"
        # Flat, sorted by query, cost, row; at most k for each query.
        self._query = np.empty(0, np.int64)
        self._cost = np.empty(0, np.float64)
        self._row = np.empty(0, np.int64)
        self._bar = np.full(len(queries), np.inf)

    def __len__(self) -> int:
        return len(self._queries)

    def add(self, block: Matrix, norms: Matrix, start: int) -> None:
        """Compares a block whose first row is `start`."""
        with np.errstate(over="ignore", invalid="ignore"):
            cost = self._queries @ block.T
            cost *= -2 if self._l2 else -1
            if self._l2:
                cost += norms[None, :]
                cost += self._norms[:, None]
            # Rounding of a sum of n products is below n times the precision times what is summed.
            top = np.sqrt(norms.max(initial=0, where=np.isfinite(norms)).astype(np.float64))
            size = (top + np.sqrt(self._norms.astype(np.float64))) ** 2
            slack = 4 * (block.shape[1] + 4) * float(np.finfo(block.dtype).eps) * size
        # Overflow, or a row without a vector: only the exact cost tells.
        unclear = ~np.isfinite(cost)
        cost[unclear] = np.inf
        bar = self._bar
        if cost.shape[1] > self._k:
            kth = np.partition(cost, self._k - 1, axis=1)[:, self._k - 1].astype(np.float64)
            bar = np.minimum(bar, kth + slack)
        query, column = np.nonzero((cost <= (bar + slack)[:, None]) | unclear)
        self._merge(query, self._exact_cost(block, query, column), column + start)

    def _exact_cost(self, block: Matrix, query: Matrix, column: Matrix) -> Matrix:
        costs = np.empty(len(query), np.float64)
        step = max(1, _BLOCK_BYTES // (8 * max(1, block.shape[1])))
        with np.errstate(over="ignore", invalid="ignore"):
            for begin in range(0, len(query), step):
                part = slice(begin, begin + step)
                vectors, wanted = block[column[part]].astype(np.float64), self._exact[query[part]]
                if self._l2:
                    vectors -= wanted
                    costs[part] = np.square(vectors, out=vectors).sum(axis=1)
                else:
                    costs[part] = -np.multiply(vectors, wanted, out=vectors).sum(axis=1)
        return costs

    def _merge(self, query: Matrix, cost: Matrix, row: Matrix) -> None:
        known = ~np.isnan(cost)
        query = np.concatenate([self._query, query[known]])
        cost = np.concatenate([self._cost, cost[known]])
        row = np.concatenate([self._row, row[known]])
        order = np.lexsort((row, cost, query))
        query, cost, row = query[order], cost[order], row[order]
        rank = np.arange(len(query)) - np.searchsorted(query, query)
        kept = rank < self._k
        self._query, self._cost, self._row = query[kept], cost[kept], row[kept]
        full = self._query[rank[kept] == self._k - 1]
        self._bar[full] = self._cost[rank[kept] == self._k - 1]

    def write(self, scores: Matrix, indices: Matrix) -> None:
        """Writes the answer into arrays of shape (queries, k)."""
        rank = np.arange(len(self._query)) - np.searchsorted(self._query, self._query)
        with np.errstate(over="ignore"):
            scores[self._query, rank] = self._cost if self._l2 else -self._cost
        indices[self._query, rank] = self._row
