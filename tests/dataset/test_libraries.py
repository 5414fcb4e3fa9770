"""What libraries built on `datasets` read of a dataset and note on it."""

import copy
import pickle

import pytest

from gristmill import Dataset, IterableDataset, Value, concatenate_datasets
from gristmill.errors import InvalidArgumentError


@pytest.fixture
def rows():
    return Dataset.from_dict({"a": [1, 2], "b": ["x", "y"]})


@pytest.mark.parametrize(
    "derive",
    [
        lambda data: data,
        lambda data: data.to_iterable_dataset(),
        lambda data: data.to_iterable_dataset().shuffle(seed=1),
        lambda data: data.to_iterable_dataset()._resolve_features(),
        lambda data: Dataset(data.data, info=data.info),
        lambda data: Dataset.from_list([{"a": 1, "b": "x"}], features=data.features),
        lambda data: data.select([0]),
        lambda data: data.map(lambda row: row),
        lambda data: concatenate_datasets([data, data]),
    ],
)
def test_features_that_are_changed_change_no_dataset(rows, derive):
    made = derive(rows)
    features = made.features
    features["new"] = Value("string")
    del features["a"]
    for data in (rows, made):
        assert list(data.features) == ["a", "b"]
        assert data.features["a"] == Value("int64")
        assert next(iter(data)) == {"a": 1, "b": "x"}


def test_features_with_a_column_more_serve_a_map_of_the_stream_they_are_of(rows):
    stream = rows.to_iterable_dataset()
    features = stream.features
    features["name"] = Value("string")
    mapped = stream.map(
        lambda batch: {**batch, "name": ["n"] * len(batch["a"])}, batched=True, features=features
    )
    assert next(iter(mapped)) == {"a": 1, "b": "x", "name": "n"}
    assert rows.column_names == ["a", "b"]


def test_the_parts_of_the_format(rows):
    def transform(batch):
        return batch

    made = rows.with_transform(transform, columns=["a"], output_all_columns=True)
    assert made._format_type == "custom"
    assert made._format_kwargs == {"transform": transform}
    assert made._format_columns == ["a"]
    assert made._output_all_columns is True
    assert (rows._format_type, rows._format_kwargs, rows._format_columns) == (None, {}, None)


def test_where_a_result_of_a_fingerprint_is_kept(rows, tmp_path):
    rows.save_to_disk(tmp_path / "rows")
    data = Dataset.load_from_disk(tmp_path / "rows")
    file = data._get_cache_file_path("0123abc")
    assert file == str(tmp_path / "rows" / "cache-0123abc.arrow")
    data.map(
        lambda row: {"c": row["a"] + 1},
        remove_columns=["a", "b"],
        new_fingerprint="0123abc",
        cache_file_name=file,
    )
    joined = concatenate_datasets([data, Dataset.from_file(file)], axis=1)
    assert joined[:] == {"a": [1, 2], "b": ["x", "y"], "c": [2, 3]}
    with pytest.raises(InvalidArgumentError):
        data._get_cache_file_path("../x")


@pytest.mark.parametrize("data", [Dataset.from_dict({"a": [1]}), IterableDataset.from_generator(list)])
def test_what_a_library_notes_on_a_dataset_goes_along_with_copies(data):
    data._prepared_by = ["some library"]
    for same in (copy.copy(data), copy.deepcopy(data)):
        assert same._prepared_by == ["some library"]
    assert copy.copy(data)._prepared_by is data._prepared_by
    assert copy.deepcopy(data)._prepared_by is not data._prepared_by


def test_notes_in_pickles_and_formats_but_not_in_other_rows(rows):
    rows._prepared_by = "some library"
    assert pickle.loads(pickle.dumps(rows))._prepared_by == "some library"
    assert rows.with_format("numpy")._prepared_by == "some library"
    assert not hasattr(rows.select([0]), "_prepared_by")
    assert not hasattr(rows.map(lambda row: row), "_prepared_by")


def test_an_index_is_not_shared_with_copies():
    data = Dataset.from_dict({"v": [[0.0, 1.0]]}).add_exact_index("v")
    other = copy.copy(data)
    other.drop_index("v")
    assert data.list_indexes() == ["v"]
