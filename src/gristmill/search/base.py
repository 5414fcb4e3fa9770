"""What every index can do, and the shapes of its answers."""

from __future__ import annotations

from typing import Any, NamedTuple

from gristmill.errors import SearchIndexError


class SearchResults(NamedTuple):
    """Rows found for one query, the best first.

    Attributes:
        scores: A number for each: a distance or a likeness, as the index says.
        indices: Row numbers; -1 where there are fewer rows than asked for.
    """

    scores: Any
    indices: Any


class BatchedSearchResults(NamedTuple):
    """Rows found for several queries.

    Attributes:
        total_scores: For each query what `SearchResults.scores` is for one.
        total_indices: Likewise the row numbers.
    """

    total_scores: Any
    total_indices: Any


class NearestExamplesResults(NamedTuple):
    """Rows found for one query, with what is in them.

    Attributes:
        scores: A number for each, the best first.
        examples: The rows, as a batch in the dataset's format.
    """

    scores: Any
    examples: Any


class BatchedNearestExamplesResults(NamedTuple):
    """Rows found for several queries, with what is in them.

    Attributes:
        total_scores: For each query what `NearestExamplesResults.scores` is for one.
        total_examples: Likewise the rows.
    """

    total_scores: list[Any]
    total_examples: list[Any]


class BaseIndex:
    """An index over rows: what `Dataset.search` asks. Derive from it to bring your own.

    Example:
        >>> class Letters(BaseIndex):
        ...     def search(self, query, k=10, **kwargs):
        ...         rows = [row for row, text in enumerate(["ab", "b"]) if query in text][:k]
        ...         return SearchResults([1.0] * len(rows), rows)
        >>> Letters().search_batch(["a", "b"]).total_indices
        [[0], [0, 1]]
    """

    def search(self, query: Any, k: int = 10, **kwargs: Any) -> SearchResults:
        """Finds the best rows for a query.

        Args:
            query: What the index understands: a vector, or a text.
            k: How many rows at most.
            **kwargs: Options of the index.
        """
        raise NotImplementedError

    def search_batch(self, queries: Any, k: int = 10, **kwargs: Any) -> BatchedSearchResults:
        """Finds the best rows for each of several queries, see `search`.

        Args:
            queries: Several of what `search` takes.
            k: As for `search`.
            **kwargs: As for `search`.
        """
        found = [self.search(query, k, **kwargs) for query in queries]
        return BatchedSearchResults([one.scores for one in found], [one.indices for one in found])

    def save(self, file: Any) -> None:
        """Writes the index to a file.

        Args:
            file: Its path.

        Raises:
            SearchIndexError: This kind of index has no file.
        """
        raise SearchIndexError(f"An index of the class {type(self).__name__} has no file to be saved to.")

    @classmethod
    def load(cls, file: Any) -> BaseIndex:  # noqa: ARG003  # a contract to fill
        """Reads what `save` wrote.

        Args:
            file: Its path.

        Raises:
            SearchIndexError: This kind of index has no file.
        """
        raise SearchIndexError(f"An index of the class {cls.__name__} has no file to be loaded from.")
