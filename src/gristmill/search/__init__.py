"""Nearest neighbours and full-text search over the rows of a dataset."""

from __future__ import annotations

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
from gristmill.search.mixin import IndexableMixin

__all__ = [
    "BaseIndex",
    "BatchedNearestExamplesResults",
    "BatchedSearchResults",
    "ElasticSearchIndex",
    "ExactIndex",
    "FaissIndex",
    "IndexableMixin",
    "NearestExamplesResults",
    "SearchResults",
]
