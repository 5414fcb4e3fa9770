"""Readers and writers as objects."""

import sqlite3

import pytest
from gristmill.io.abc import AbstractDatasetReader
from gristmill.io.csv import CsvDatasetReader, CsvDatasetWriter
from gristmill.io.generator import GeneratorDatasetInputStream
from gristmill.io.json import JsonDatasetReader, JsonDatasetWriter
from gristmill.io.parquet import ParquetDatasetReader, ParquetDatasetWriter
from gristmill.io.sql import SqlDatasetReader, SqlDatasetWriter
from gristmill.io.text import TextDatasetReader

from gristmill import Dataset, DatasetDict, IterableDataset, Value
from gristmill.errors import InvalidArgumentError

ROWS = Dataset.from_dict({"a": [1, 2], "b": ["x", "y"]})


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        (CsvDatasetReader, CsvDatasetWriter),
        (JsonDatasetReader, JsonDatasetWriter),
        (ParquetDatasetReader, ParquetDatasetWriter),
    ],
)
def test_files_there_and_back(tmp_path, reader, writer):
    file = str(tmp_path / "rows")
    assert writer(ROWS, file).write() > 0
    made = reader(file, cache_dir=str(tmp_path / "cache")).read()
    assert isinstance(made, Dataset)
    assert made.to_list() == ROWS.to_list()
    assert str(made.split) == "train"
    stream = reader(file, streaming=True).read()
    assert isinstance(stream, IterableDataset)
    assert list(stream) == ROWS.to_list()


def test_options_features_and_several_splits(tmp_path):
    file = tmp_path / "rows.csv"
    CsvDatasetWriter(ROWS, str(file), sep=";").write()
    features = ROWS.features
    features["a"] = Value("int8")
    read = CsvDatasetReader(str(file), features=features, cache_dir=str(tmp_path / "cache"), sep=";").read()
    assert read.features == features
    several = JsonDatasetReader({"train": str(file), "test": str(file)}, cache_dir=str(tmp_path / "cache"))
    assert several.split is None
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    lines = TextDatasetReader(str(tmp_path / "a.txt"), split="test", cache_dir=str(tmp_path / "cache")).read()
    assert lines["text"][:] == ["one", "two"]
    assert str(lines.split) == "test"


def test_databases_and_generators(tmp_path):
    with sqlite3.connect(tmp_path / "a.db") as connection:
        assert SqlDatasetWriter(ROWS, "rows", connection).write() == 2
        assert SqlDatasetReader("select b from rows", connection).read().to_list() == [{"b": "x"}, {"b": "y"}]
    connection.close()
    with pytest.raises(InvalidArgumentError, match="streaming"):
        SqlDatasetReader("rows", "sqlite:///x", streaming=True)

    def rows(number):
        yield from ({"n": n} for n in range(number))

    made = GeneratorDatasetInputStream(
        rows, gen_kwargs={"number": 3}, cache_dir=str(tmp_path / "cache")
    ).read()
    assert made["n"][:] == [0, 1, 2]
    stream = GeneratorDatasetInputStream(rows, gen_kwargs={"number": 3}, streaming=True).read()
    assert [row["n"] for row in stream] == [0, 1, 2]


def test_a_reader_of_ones_own():
    class Reader(AbstractDatasetReader):  # type: ignore[misc]
        def read(self):
            return DatasetDict({str(self.split): Dataset.from_dict({"path": [self.path_or_paths]})})

    assert Reader("x").read()["train"][0] == {"path": "x"}
    with pytest.raises(TypeError):
        AbstractDatasetReader("x")
