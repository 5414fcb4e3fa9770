"""The index of faiss: the same rows as the exact one, files that are whole, and errors that are ours."""

import sys

import numpy as np
import pytest

from gristmill import Dataset
from gristmill.errors import (
    CastError,
    FileFormatError,
    FileMissingError,
    InvalidArgumentError,
    MissingDependencyError,
    SearchIndexError,
)
from gristmill.search import FaissIndex


@pytest.fixture
def faiss():
    return pytest.importorskip("faiss")


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)


@pytest.fixture
def ds(vectors):
    return Dataset.from_dict({"v": vectors, "n": np.arange(len(vectors))})


def test_not_installed(monkeypatch, ds):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "gristmill\[faiss\]"'):
        ds.add_faiss_index("v")


def test_the_same_rows_as_by_hand(faiss, ds, vectors):
    assert ds.add_faiss_index("v", batch_size=7) is ds
    assert ds.get_index("v").faiss_index.ntotal == 300
    ds.add_exact_index("v", "exact")
    queries = vectors[:5] + np.float32(0.1)
    ours, exact = ds.search_batch("v", queries, 6), ds.search_batch("exact", queries, 6)
    assert ours.total_indices.tolist() == exact.total_indices.tolist()
    np.testing.assert_allclose(ours.total_scores, exact.total_scores, rtol=1e-4)
    single = ds.search("v", queries[2].tolist(), 6)
    assert single.indices.tolist() == ours.total_indices[2].tolist()
    assert ds.get_nearest_examples("v", queries[:1], 1).examples["n"] == [0]


def test_inner_product_a_factory_and_an_index_of_ones_own(faiss, ds, vectors):
    ds.add_faiss_index("v", "inner", metric_type=faiss.METRIC_INNER_PRODUCT)
    expected = int((vectors @ vectors[3]).argmax())
    assert ds.search("inner", vectors[3], 1).indices.tolist() == [expected]
    ds.add_faiss_index("v", "ivf", string_factory="IVF4,Flat", train_size=200, faiss_verbose=False)
    assert ds.search("ivf", vectors[3], 1).indices.tolist() == [3]
    ds.add_faiss_index("v", "own", custom_index=faiss.IndexFlatL2(8))
    assert ds.search("own", vectors[4], 1).indices.tolist() == [4]
    ds.add_faiss_index_from_external_arrays(vectors[::-1].astype(np.float64), "other")
    assert ds.search("other", vectors[0], 1).indices.tolist() == [299]
    short = Dataset.from_dict({"v": [[1.0]]}).add_faiss_index("v").get_nearest_examples("v", [2.0], 3)
    assert short.examples == {"v": [[1.0]]}
    assert short.scores.tolist() == [1.0]


@pytest.mark.parametrize("where", ["folder", "memory"])
def test_saved_and_loaded(faiss, ds, vectors, tmp_path, where):
    file = tmp_path / "new" / "v.index" if where == "folder" else f"memory://{tmp_path.name}/v.index"
    ds.add_faiss_index("v")
    ds.save_faiss_index("v", file)
    other = ds.select(range(300))
    other.load_faiss_index("again", file)
    assert (
        other.search("again", vectors[7], 3).indices.tolist()
        == ds.search("v", vectors[7], 3).indices.tolist()
    )
    if where == "folder":
        assert [path.name for path in (tmp_path / "new").iterdir()] == ["v.index"]
        assert faiss.read_index(str(file)).ntotal == 300


def test_a_save_that_fails_leaves_the_old_file(faiss, ds, vectors, tmp_path, monkeypatch):
    file = tmp_path / "v.index"
    ds.add_faiss_index("v")
    ds.save_faiss_index("v", file)
    before = file.read_bytes()

    def breaks(index, writer):
        writer(b"half")
        raise RuntimeError("no room")

    monkeypatch.setattr(faiss, "write_index", breaks)
    with pytest.raises(SearchIndexError):
        ds.save_faiss_index("v", file)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["v.index"]


def test_files_that_are_no_index(faiss, ds, tmp_path):
    ds.add_faiss_index("v")
    ds.save_faiss_index("v", tmp_path / "good")
    whole = (tmp_path / "good").read_bytes()
    for name, content in {"empty": b"", "text": b"hello" * 100, "cut": whole[: len(whole) // 2]}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FileFormatError, match=name):
            ds.load_faiss_index("v", tmp_path / name)
    with pytest.raises(FileMissingError):
        ds.load_faiss_index("v", tmp_path / "nothing")
    with pytest.raises(InvalidArgumentError, match="file="):
        ds.load_faiss_index("v", 3)
    with pytest.raises(InvalidArgumentError, match="file="):
        ds.save_faiss_index("v", None)


def test_what_faiss_would_refuse_in_its_own_words(faiss, ds, vectors):
    with pytest.raises(SearchIndexError, match="Nonsense"):
        ds.add_faiss_index("v", string_factory="Nonsense")
    with pytest.raises(InvalidArgumentError, match="train_size"):
        ds.add_faiss_index("v", string_factory="IVF4,Flat")
    with pytest.raises(InvalidArgumentError, match="not both"):
        ds.add_faiss_index("v", string_factory="Flat", custom_index=faiss.IndexFlatL2(8))
    with pytest.raises(InvalidArgumentError, match="device"):
        ds.add_faiss_index("v", device="cuda")
    with pytest.raises(CastError, match="takes 3"):
        ds.add_faiss_index("v", custom_index=faiss.IndexFlatL2(3))
    with pytest.raises(CastError, match="row 1"):
        Dataset.from_dict({"v": [[1.0], None]}).add_faiss_index("v")
    ds.add_faiss_index("v")
    with pytest.raises(InvalidArgumentError, match="8 numbers"):
        ds.search("v", [1.0])
    with pytest.raises(InvalidArgumentError, match="8 numbers"):
        ds.search_batch("v", vectors[0])
    with pytest.raises(SearchIndexError, match="search"):
        ds.search("v", vectors[0], unknown=1)
    assert ds.list_indexes() == ["v"]
    with pytest.raises(SearchIndexError, match="nothing in the index"):
        FaissIndex().search([1.0])
    if not hasattr(faiss, "StandardGpuResources"):
        with pytest.raises(SearchIndexError, match="GPU"):
            ds.add_faiss_index("v", device=0)
