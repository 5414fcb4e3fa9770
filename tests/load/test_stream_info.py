"""What the info of a stream says before a row is read."""

from __future__ import annotations

import pytest

from gristmill import Dataset, IterableDataset, load_dataset


@pytest.fixture
def path(tmp_path):
    Dataset.from_dict({"a": [1]}).to_csv(tmp_path / "poems.csv")
    return str(tmp_path / "poems.csv")


def names(stream):
    return stream.builder_name, stream.info.dataset_name, stream.config_name, str(stream.version)


def test_streams_of_files_name_what_reads_them(path):
    told = names(load_dataset("csv", name="verse", data_files=path, split="train", streaming=True))
    assert told == ("csv", "csv", "verse", "0.0.0")
    assert names(IterableDataset.from_csv(path)) == ("csv", "csv", "default", "0.0.0")
    assert names(load_dataset("csv", data_files=path, split="train")) == ("csv", "csv", "default", "0.0.0")


def test_streams_of_generators_do_too():
    made = IterableDataset.from_generator(lambda: iter([{"a": 1}]))
    assert names(made) == ("generator", "generator", "default", "0.0.0")
    assert names(made.map(lambda row: row).take(1)) == names(made)
