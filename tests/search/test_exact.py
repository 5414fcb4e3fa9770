"""The index that needs nothing: exact, whatever the values and however rows are cut."""

import pickle
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill import Dataset
from gristmill.errors import (
    CastError,
    ColumnNotFoundError,
    InvalidArgumentError,
    MissingIndexError,
    SearchIndexError,
)
from gristmill.search import BaseIndex, ExactIndex, SearchResults, exact

numbers = st.sampled_from([0.0, 1.0, -1.0, 0.5, 3.0, 1e3, 1e-3, 1e20, float("nan")])
matrices = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(numbers, min_size=width, max_size=width), min_size=1, max_size=40)
)


def by_hand(vectors, query, k, metric):
    vectors, query = np.asarray(vectors, np.float64), np.asarray(query, np.float64)
    with np.errstate(all="ignore"):
        cost = ((vectors - query) ** 2).sum(axis=1) if metric == "l2" else -(vectors * query).sum(axis=1)
    rows = [row for row in range(len(vectors)) if not np.isnan(cost[row])]
    return sorted(rows, key=lambda row: (cost[row], row))[:k]


@settings(max_examples=60, deadline=None)
@given(
    matrices, st.integers(1, 6), st.sampled_from(["l2", "inner_product"]), st.integers(0, 5), st.booleans()
)
def test_the_rows_found_are_the_nearest_and_ties_are_in_row_order(vectors, k, metric, seed, small_blocks):
    vectors = np.asarray(vectors, np.float32)
    query = np.random.default_rng(seed).choice([0.0, 1.0, -2.0], (2, vectors.shape[1])).astype(np.float32)
    size = 4 * vectors.shape[1] * 3 if small_blocks else 1 << 20
    with mock.patch.object(exact, "_BLOCK_BYTES", size), mock.patch.object(exact, "_QUERIES_AT_ONCE", 1):
        found = ExactIndex(vectors, metric=metric).search_batch(query, k)
    assert found.total_indices.shape == (2, k)
    for position in range(2):
        expected = by_hand(vectors, query[position], k, metric)
        assert [row for row in found.total_indices[position] if row >= 0] == expected


def test_many_vectors_in_a_dataset():
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(3000, 24)).astype(np.float32)
    vectors[1500:] = vectors[:1500]  # each is there twice
    ds = Dataset.from_dict({"v": vectors, "n": np.arange(3000)})
    queries = vectors[:40] + np.float32(0.01)
    with mock.patch.object(exact, "_BLOCK_BYTES", 24 * 4 * 257):
        found = ds.add_exact_index("v").search_batch("v", queries, k=4)
    for position in range(40):
        assert found.total_indices[position].tolist() == by_hand(vectors, queries[position], 4, "l2")
        assert found.total_indices[position][:2].tolist() == [position, position + 1500]
    assert found.total_scores.dtype == np.float32
    np.testing.assert_allclose(found.total_scores[:, 0], 24 * 0.01**2, rtol=1e-3)


@pytest.mark.parametrize("column", [[[1, 2], [3, 4], None], [[1.0, 2.0], None, [3.0, 4.0]]])
def test_rows_without_a_vector_are_never_found(column):
    ds = Dataset.from_dict({"v": column}).add_exact_index("v", "by v")
    found = ds.search("by v", [3, 4], k=5)
    assert column[found.indices[0]] == [3, 4]
    assert found.indices[2:].tolist() == [-1, -1, -1]
    assert np.isinf(found.scores[2:]).all()
    nearest = ds.get_nearest_examples("by v", [3, 4], k=5)
    assert nearest.examples == {"v": [[3, 4], [1, 2]]}
    assert nearest.scores.tolist() == [0, 8]
    scores, examples = ds.get_nearest_examples_batch("by v", [[3, 4], [1, 2]], k=1)
    assert [one.tolist() for one in scores] == [[0], [0]]
    assert examples == [{"v": [[3, 4]]}, {"v": [[1, 2]]}]


def test_large_numbers_do_not_overflow():
    vectors = np.array([[3e38, 3e38], [1.0, 1.0], [2e38, 0.0]], np.float32)
    assert ExactIndex(vectors).search([1, 1], k=3).indices.tolist() == [1, 2, 0]
    assert ExactIndex(vectors, metric="inner_product").search([1e38, 1e38], k=3).indices.tolist() == [0, 2, 1]


def test_empty_datasets():
    ds = Dataset.from_dict({"v": [[1.0]]}).select([])
    found = ds.add_exact_index("v").search_batch("v", [[1.0], [2.0]], k=2)
    assert found.total_indices.tolist() == [[-1, -1], [-1, -1]]
    assert ds.get_nearest_examples("v", [1.0], k=2).examples == {"v": []}


@pytest.mark.parametrize(
    ("column", "error", "word"),
    [
        ([[1.0], [1.0, 2.0]], CastError, "row 1"),
        ([["a"]], InvalidArgumentError, "lists of numbers"),
        ([1.0, 2.0], InvalidArgumentError, "lists of numbers"),
        ([[[1.0]]], InvalidArgumentError, "lists of numbers"),
        ([{"a": 1}], InvalidArgumentError, "lists of numbers"),
    ],
)
def test_columns_that_hold_no_vectors(column, error, word):
    with pytest.raises(error, match=word):
        Dataset.from_dict({"v": column}).add_exact_index("v").search("v", [1.0], 1)


@pytest.mark.parametrize(
    "query", [[1.0], [[1.0, 2.0], [1.0, 2.0]], "text", None, [[[1.0, 2.0]]], ["a", "b"], 3]
)
def test_queries_that_do_not_fit(query):
    ds = Dataset.from_dict({"v": [[1.0, 2.0]]}).add_exact_index("v")
    with pytest.raises(InvalidArgumentError, match="query"):
        ds.search("v", query, 1)


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", None, True])
def test_odd_numbers_of_rows(k):
    with pytest.raises(InvalidArgumentError, match="k="):
        ExactIndex([[1.0]]).search([1.0], k)


def test_odd_arguments():
    ds = Dataset.from_dict({"v": [[1.0, 2.0]]})
    with pytest.raises(InvalidArgumentError, match="metric"):
        ds.add_exact_index("v", metric="cosine")
    with pytest.raises(InvalidArgumentError, match="dtype"):
        ds.add_exact_index("v", dtype="int8")
    with pytest.raises(ColumnNotFoundError):
        ds.add_exact_index("w")
    with pytest.raises(InvalidArgumentError, match="nprobe"):
        ds.add_exact_index("v").search("v", [1.0, 2.0], nprobe=3)
    with pytest.raises(InvalidArgumentError, match="no file"):
        ds.save_faiss_index("v", "x")
    with pytest.raises(SearchIndexError, match="no file"):
        ds.get_index("v").save("x")
    with pytest.raises(SearchIndexError, match="no file"):
        ExactIndex.load("x")


def test_indexes_stay_with_the_rows_they_are_of():
    ds = Dataset.from_dict({"v": [[1.0], [2.0]], "n": [1, 2]}).add_exact_index("v")
    assert ds.list_indexes() == ["v"]
    assert ds.is_index_initialized("v")
    ds.set_format("numpy")
    assert ds.get_nearest_examples("v", [2.0], 1).examples["n"].tolist() == [2]
    assert ds.with_format("pandas").get_nearest_examples("v", [2.0], 1).examples["n"].tolist() == [2]
    for other in (
        ds.select([1]),
        ds.map(lambda row: {"n": 0}),
        ds.shuffle(seed=1),
        ds.rename_column("n", "m"),
        pickle.loads(pickle.dumps(ds)),
    ):
        assert other.list_indexes() == []
        with pytest.raises(MissingIndexError, match="begin without one"):
            other.search("v", [2.0])
    twin = ds.with_format(None)
    twin.drop_index("v")
    assert ds.list_indexes() == ["v"]
    with pytest.raises(KeyError):
        twin.drop_index("v")
    with pytest.raises(MissingIndexError, match="There are: v"):
        ds.get_index("w")


def test_an_index_of_ones_own():
    class First(BaseIndex):
        def search(self, query, k=10, **kwargs):
            return SearchResults([1.0] * k, list(range(k)))

    ds = Dataset.from_dict({"n": [5, 6, 7]})
    ds._indexes["first"] = First()
    assert ds.get_nearest_examples_batch("first", ["a"], k=2).total_examples == [{"n": [5, 6]}]
    with pytest.raises(NotImplementedError):
        BaseIndex().search("a")


def test_memory_stays_flat(tmp_path):
    import tracemalloc

    rows = 40_000
    Dataset.from_dict({"v": np.ones((rows, 64), np.float32)}).save_to_disk(tmp_path / "saved")
    ds = Dataset.load_from_disk(tmp_path / "saved")
    with mock.patch.object(exact, "_BLOCK_BYTES", 1 << 18):
        ds.add_exact_index("v").search("v", np.zeros(64), 3)
        tracemalloc.start()
        ds.search("v", np.zeros(64), 3)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 4 << 20 < rows * 64 * 4
