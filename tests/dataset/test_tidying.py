"""Results of transforms that nobody reads are deleted, and nothing else."""

from gristmill.dataset import Dataset, DatasetDict


def test_cleanup(tmp_path):
    Dataset.from_dict({"a": [1, 2]}).save_to_disk(tmp_path / "d")
    ds = Dataset.load_from_disk(tmp_path / "d")
    used = ds.map(lambda row: {"b": row["a"]})
    ds.map(lambda row: {"c": row["a"]})
    ds.filter(lambda row: row["a"] > 1)
    before = {path.name for path in (tmp_path / "d").iterdir()}
    assert used.cleanup_cache_files() == 4  # two results: a file of rows and a list of files each
    after = {path.name for path in (tmp_path / "d").iterdir()}
    assert before - after == {name for name in before if name.startswith("cache-")} - after
    assert used["b"][:] == [1, 2]
    assert used.map(lambda row: {"b": 1}).num_rows == 2
    (tmp_path / "d" / "cache-odd.json").write_text("[")
    assert ds.cleanup_cache_files() > 0
    assert Dataset.load_from_disk(tmp_path / "d")["a"][:] == [1, 2]


def test_nothing_to_clean(tmp_path):
    ds = Dataset.from_dict({"a": [1]})
    assert ds.cleanup_cache_files() == 0
    assert DatasetDict({"t": ds}).cleanup_cache_files() == {"t": 0}


def test_splits_in_one_folder_keep_each_others_files(tmp_path):
    Dataset.from_dict({"a": [1, 2]}).save_to_disk(tmp_path / "d")
    ds = Dataset.load_from_disk(tmp_path / "d")
    parts = DatasetDict({"one": ds.map(lambda row: {"b": 1}), "two": ds.map(lambda row: {"b": 2})})
    assert parts.cleanup_cache_files() == {"one": 0, "two": 0}
    assert parts["one"]["b"][:] == [1, 1]
