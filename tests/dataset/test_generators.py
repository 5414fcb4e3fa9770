"""Datasets of generator functions: what is known about them, mixed types, errors."""

from __future__ import annotations

import pickle

import pytest

from gristmill import Dataset, Features, IterableDataset, Json, List, NamedSplit, Value
from gristmill.errors import DatasetGenerationError, InvalidArgumentError, TransformError
from gristmill.splits import SplitInfo


def _mixed(shards=(0,)):
    for _ in shards:
        yield {"a": 1}
        yield {"a": "x"}


def _empty(shards=(0,)):
    for _ in shards:
        yield {"a": {}}
        yield {"a": None}


def _fails(shards=(0,)):
    yield {"a": 1}
    raise KeyError("gone")


def test_the_info_says_what_was_made(tmp_path):
    made = Dataset.from_generator(
        lambda: iter([{"a": 1}, {"a": 2}]), split=NamedSplit("valid"), cache_dir=str(tmp_path)
    )
    assert (made.builder_name, made.config_name, str(made.version)) == ("generator", "default", "0.0.0")
    assert made.info.splits is not None
    assert made.info.splits["valid"] == SplitInfo("valid", 16, 2, dataset_name="generator")
    assert (made.dataset_size, made.download_size, made.size_in_bytes) == (16, 0, 16)


@pytest.mark.parametrize(
    "how", [{}, {"keep_in_memory": True}, {"gen_kwargs": {"shards": [1, 2]}, "num_proc": 2}]
)
def test_what_has_no_common_type_becomes_json(tmp_path, how):
    made = Dataset.from_generator(_mixed, cache_dir=str(tmp_path), **how)
    assert made.features == Features({"a": Json()})
    assert made["a"][:2] == [1, "x"]
    with pytest.raises(TransformError, match="int64 to string"):
        Dataset.from_generator(_mixed, cache_dir=str(tmp_path), on_mixed_types=None, **how)


def test_blocks_of_other_types_meet_as_json(tmp_path):
    rows = [{"a": i} for i in range(1500)] + [{"a": "x"}] * 1500
    made = Dataset.from_generator(lambda: iter(rows), cache_dir=str(tmp_path))
    assert made.to_list() == rows


def test_dicts_with_other_keys_stay_structs(tmp_path):
    made = Dataset.from_generator(lambda: iter([{"a": [{"b": 0}, {"c": 1}]}]), cache_dir=str(tmp_path))
    assert made[0] == {"a": [{"b": 0, "c": None}, {"b": None, "c": 1}]}


def test_features_that_do_not_fit_stay_an_error(tmp_path):
    with pytest.raises(TransformError, match="row 1"):
        Dataset.from_generator(_mixed, features=Features({"a": Value("int8")}), cache_dir=str(tmp_path))


@pytest.mark.parametrize("num_proc", [None, 2])
def test_failures_are_caught_by_every_name(tmp_path, num_proc):
    gen_kwargs = {"shards": [1, 2]}
    for kind in (DatasetGenerationError, TransformError, KeyError):
        with pytest.raises(kind) as caught:
            Dataset.from_generator(_fails, gen_kwargs=gen_kwargs, num_proc=num_proc, cache_dir=str(tmp_path))
        assert "_fails failed on row 1" in str(caught.value)
        assert isinstance(pickle.loads(pickle.dumps(caught.value)), DatasetGenerationError)


def test_arguments_that_do_not_exist_are_refused(tmp_path):
    with pytest.raises(InvalidArgumentError, match=r'no argument "gen_kwarg"\. Did you mean "gen_kwargs"'):
        Dataset.from_generator(_mixed, gen_kwarg={}, cache_dir=str(tmp_path))
    Dataset.from_generator(_mixed, description="Two rows.", cache_dir=str(tmp_path))


@pytest.mark.parametrize(
    "how", [{}, {"keep_in_memory": True}, {"gen_kwargs": {"shards": [1, 2]}, "num_proc": 2}]
)
def test_values_that_are_all_empty_dicts_become_json(tmp_path, how):
    made = Dataset.from_generator(_empty, cache_dir=str(tmp_path), **how)
    assert made.features == Features({"a": Json()})
    assert made["a"] == [{}, None] * (len(made) // 2)
    again = Dataset.from_generator(_empty, cache_dir=str(tmp_path), **how)
    assert (again.features, again["a"]) == (made.features, made["a"])
    kept = Dataset.from_generator(_empty, cache_dir=str(tmp_path), on_mixed_types=None, **how)
    assert kept.features == Features({"a": {}})


def test_streams_of_empty_dicts_can_be_written(tmp_path):
    stream = IterableDataset.from_generator(_empty).map(lambda row: {"b": [{}]})
    assert stream._resolve_features().features == Features({"a": Json(), "b": List(Json())})
    assert list(stream._resolve_features()) == [{"a": {}, "b": [{}]}, {"a": None, "b": [{}]}]
    stream.to_parquet(tmp_path / "a.parquet")
    assert Dataset.from_parquet(str(tmp_path / "a.parquet"), cache_dir=str(tmp_path)).to_list() == list(
        stream
    )
