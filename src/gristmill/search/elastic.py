"""Full-text search with an Elasticsearch server."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gristmill.arguments import check_column, whole_number
from gristmill.errors import InvalidArgumentError, SearchIndexError
from gristmill.optional import require
from gristmill.progress import progress
from gristmill.search.base import BaseIndex, BatchedSearchResults, SearchResults

_AT_ONCE = 500
_CONFIG: Mapping[str, Any] = {
    "settings": {"number_of_shards": 1},
    "mappings": {"properties": {"text": {"type": "text", "analyzer": "standard", "similarity": "BM25"}}},
}


class ElasticSearchIndex(BaseIndex):
    """Texts in an index of an Elasticsearch server, found by their words (BM25).

    Args:
        host: The server's name, or its URL; ``localhost`` by default.
        port: Its port, 9200 by default.
        es_client: A client of the library elasticsearch, in place of `host` and `port`; for example one that has a
            password.
        es_index_name: Name of the index on the server; made up by default.
        es_index_config: Its settings and mappings; the texts are in the field ``text``.

    Raises:
        MissingDependencyError: The library elasticsearch is not installed.
        InvalidArgumentError: Both a client and a server are given.
    """

    def __init__(
        self,
        host: str | None = None,
        port: int | None = None,
        es_client: Any = None,
        es_index_name: str | None = None,
        es_index_config: Mapping[str, Any] | None = None,
    ) -> None:
        if es_client is not None and (host is not None or port is not None):
            raise InvalidArgumentError("Pass either es_client= or host= and port=, not both.")
        elastic = require("elasticsearch", "An Elasticsearch index")
        if es_client is None:
            server = host or "localhost"
            url = server if "://" in server else f"http://{server}:{9200 if port is None else port}"
            try:
                es_client = elastic.Elasticsearch(url)
            except (ValueError, TypeError) as error:
                raise InvalidArgumentError.from_value(
                    "host", host, f"the name of a server ({error})"
                ) from error
        self.es_client = es_client
        self.es_index_name = es_index_name or f"gristmill-{secrets.token_hex(8)}"
        self.es_index_config = dict(_CONFIG if es_index_config is None else es_index_config)

    def add_documents(self, documents: Any, column: str | None = None) -> None:
        """Makes the index on the server and sends it texts.

        Args:
            documents: Texts, or a dataset.
            column: The dataset's column of texts.

        Raises:
            SearchIndexError: The server refuses, does not answer, or has an index of this name.
            ColumnNotFoundError: There is no such column.
        """
        helpers: Any = require("elasticsearch.helpers", "An Elasticsearch index")
        if column is not None:
            check_column(column, documents.column_names)
        with _border(self.es_index_name), progress("Indexing", len(documents)) as bar:
            self.es_client.indices.create(index=self.es_index_name, **self.es_index_config)
            sent = helpers.streaming_bulk(
                client=self.es_client,
                index=self.es_index_name,
                actions=(
                    {"_id": str(row), "_source": {"text": text}}
                    for row, text in enumerate(_texts(documents, column))
                ),
                chunk_size=_AT_ONCE,
            )
            for _ in sent:
                bar.update(1)
            # What was sent can be found from here on.
            self.es_client.indices.refresh(index=self.es_index_name)

    def search(self, query: str, k: int = 10, **kwargs: Any) -> SearchResults:
        """Finds the rows whose texts fit best.

        Args:
            query: Words.
            k: How many rows at most; there are fewer if fewer fit.
            **kwargs: Options of the client's ``search``.

        Returns:
            Scores, the largest first, and row numbers.

        Raises:
            InvalidArgumentError: The query is no text.
            SearchIndexError: The server refuses, does not answer, or answers with other documents.
        """
        if not isinstance(query, str):
            raise InvalidArgumentError.from_value("query", query, "a text")
        wanted = {"multi_match": {"query": query, "fields": ["text"], "type": "cross_fields"}}
        with _border(self.es_index_name):
            answer = self.es_client.search(
                index=self.es_index_name, **{"query": wanted, "size": whole_number("k", k, 1), **kwargs}
            )
        try:
            hits = answer["hits"]["hits"]
            return SearchResults([float(hit["_score"]) for hit in hits], [int(hit["_id"]) for hit in hits])
        except (KeyError, TypeError, ValueError) as error:
            raise SearchIndexError(
                f"The Elasticsearch index {self.es_index_name} answered with something else than numbered rows: its "
                "documents were not put there by add_elasticsearch_index."
            ) from error

    def search_batch(
        self, queries: Sequence[str], k: int = 10, max_workers: int = 10, **kwargs: Any
    ) -> BatchedSearchResults:
        """Finds the rows whose texts fit best for each of several queries, which are sent at the same time.

        Args:
            queries: Texts.
            k: As for `search`.
            max_workers: How many queries are under way at a time.
            **kwargs: As for `search`.

        Raises:
            InvalidArgumentError: The queries are no texts.
            SearchIndexError: The server refuses, or does not answer.
        """
        if isinstance(queries, str):
            raise InvalidArgumentError.from_value("queries", queries, "a list of texts")
        with ThreadPoolExecutor(whole_number("max_workers", max_workers, 1)) as pool:
            found = list(pool.map(lambda query: self.search(query, k, **kwargs), queries))
        return BatchedSearchResults([one.scores for one in found], [one.indices for one in found])


def _texts(documents: Any, column: str | None) -> Iterator[Any]:
    if column is None:
        yield from documents
        return
    for batch in documents.with_format(None, columns=[column]).iter(_AT_ONCE):
        yield from batch[column]


@contextlib.contextmanager
def _border(index: str) -> Iterator[None]:
    elastic: Any = require("elasticsearch", "An Elasticsearch index")
    helpers: Any = require("elasticsearch.helpers", "An Elasticsearch index")
    try:
        yield
    except (elastic.ApiError, elastic.TransportError, helpers.BulkIndexError) as error:
        text = str(error).strip().splitlines()
        raise SearchIndexError(
            f"The Elasticsearch server refused, or did not answer, for the index {index}: "
            f"{text[0][:300] if text else error!r}"
        ) from error
