"""Builders of the formats, as code that imports them uses them."""

import importlib
from typing import Any

import pyarrow as pa
import pytest

from gristmill import Dataset, Features, Value, load_dataset
from gristmill.errors import InvalidArgumentError

# By name, as type checkers do not know the old paths.
packaged: Any = importlib.import_module("gristmill.packaged_modules")
Csv: Any = importlib.import_module("gristmill.packaged_modules.csv.csv").Csv
CsvConfig: Any = importlib.import_module("gristmill.packaged_modules.csv").CsvConfig
Generator: Any = importlib.import_module("gristmill.packaged_modules.generator.generator").Generator
Parquet: Any = importlib.import_module("gristmill.packaged_modules.parquet.parquet").Parquet


@pytest.mark.parametrize("format", ["arrow", "csv", "json", "parquet", "text", "xml"])
def test_they_read_what_load_dataset_reads(format, tmp_path):
    path = tmp_path / f"data.{format}"
    data = Dataset.from_dict({"a": [1, 2], "b": ["x", "y"]})
    if format in ("text", "xml"):
        path.write_text("<a>\n<b>1</b>\n</a>")
    elif format == "arrow":
        with pa.ipc.new_stream(path, data.data.schema) as writer:
            writer.write_table(data.data.table if hasattr(data.data, "table") else data.data)
    else:
        getattr(data, f"to_{format}")(path)
    module, hash = packaged._PACKAGED_DATASETS_MODULES[format]
    assert (module.rpartition(".")[2], len(hash)) == (format, 16)
    package = importlib.import_module(module)
    builder = getattr(package, format.capitalize())(data_files=str(path))
    builder.download_and_prepare()
    assert builder.as_dataset("train")[:] == load_dataset(format, data_files=str(path), split="train")[:]
    assert [dict(row) for row in builder.as_streaming_dataset("train")] == list(builder.as_dataset("train"))


def test_options(tmp_path):
    (tmp_path / "a.csv").write_text("1;x\n2;y\n")
    features = Features({"n": Value("int8"), "t": Value("string")})
    builder = Csv(data_files=str(tmp_path / "a.csv"), sep=";", column_names=["n", "t"], features=features)
    builder.download_and_prepare()
    assert builder.as_dataset("train")[:] == {"n": [1, 2], "t": ["x", "y"]}
    assert builder.as_dataset("train").features == features
    kwargs = CsvConfig(delimiter="|", names=["a"]).pd_read_csv_kwargs
    assert (kwargs["sep"], kwargs["names"], "delimiter" in kwargs) == ("|", ["a"], False)


def test_columns_and_filters(tmp_path):
    Dataset.from_dict({"a": [1, 2, 3], "b": ["x", "y", "z"]}).to_parquet(tmp_path / "a.parquet")
    builder = Parquet(data_files=str(tmp_path / "a.parquet"), columns=["b"], filters=[("a", ">", 1)])
    builder.download_and_prepare()
    assert builder.as_dataset("train")[:] == {"b": ["y", "z"]}


def rows(numbers):
    for number in numbers:
        yield {"n": number}


def test_a_generator():
    builder = Generator(generator=rows, gen_kwargs={"numbers": [1, 2, 3]}, split="test")
    builder.download_and_prepare()
    assert builder.as_dataset("test")["n"][:] == [1, 2, 3]
    with pytest.raises(InvalidArgumentError, match="generator"):
        Generator()


def test_files_have_to_be_named():
    with pytest.raises(InvalidArgumentError, match="data_files"):
        Csv().download_and_prepare()
    assert packaged._MODULE_TO_EXTENSIONS["csv"] == [".csv", ".tsv"]
