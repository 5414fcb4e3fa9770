"""`load_from_disk` at the top: a dataset or a dict of splits, as was saved."""

import pytest

import gristmill
from gristmill.dataset import Dataset, DatasetDict
from gristmill.errors import FileMissingError, InvalidArgumentError


def test_whatever_was_saved(tmp_path):
    ds = Dataset.from_dict({"a": [1, 2]})
    ds.save_to_disk(tmp_path / "one")
    DatasetDict({"t": ds}).save_to_disk(str(tmp_path / "many"))
    one, many = gristmill.load_from_disk(tmp_path / "one"), gristmill.load_from_disk(str(tmp_path / "many"))
    assert isinstance(one, Dataset)
    assert isinstance(many, DatasetDict)
    assert one.to_list() == many["t"].to_list() == [{"a": 1}, {"a": 2}]


def test_the_two_ways_to_load_name_each_other(tmp_path):
    Dataset.from_dict({"a": [1]}).save_to_disk(tmp_path / "saved")
    with pytest.raises(InvalidArgumentError, match="load_from_disk"):
        gristmill.load_dataset(str(tmp_path / "saved"), cache_dir=str(tmp_path / "cache"))
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "train.csv").write_text("a\n1\n")
    with pytest.raises(FileMissingError, match="load_dataset"):
        gristmill.load_from_disk(tmp_path / "rows")
