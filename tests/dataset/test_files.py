"""Files read as datasets: the same rows as `load_dataset`, from the same cache."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import config
from gristmill.dataset import Dataset, DatasetDict
from gristmill.errors import (
    DataFilesNotFoundError,
    DatasetGenerationError,
    InvalidArgumentError,
)
from gristmill.features import Features, Value
from gristmill.load import load_dataset


@pytest.fixture(autouse=True)
def cache(tmp_path):
    with config.override(HF_DATASETS_CACHE=tmp_path / "cache"):
        yield tmp_path / "cache"


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("n,s\n1,x\n,y\n9007199254740993,z\n")
    return path


def test_csv(csv, tmp_path):
    ds = Dataset.from_csv(str(csv))
    assert ds.to_dict() == {"n": [1, None, 2**53 + 1], "s": ["x", "y", "z"]}
    assert (ds.split, len(ds.cache_files)) == ("train", 1)
    assert Dataset.from_csv([csv, csv])["s"][:] == ["x", "y", "z"] * 2
    (tmp_path / "b.csv").write_text("n;s\n1;x\n")
    assert Dataset.from_csv(tmp_path / "b.csv", sep=";", split="test").split == "test"
    typed = Dataset.from_csv(csv, features=Features({"n": Value("string"), "s": Value("string")}))
    assert typed["n"][:] == ["1", None, "9007199254740993"]
    assert Dataset.from_csv(csv, keep_in_memory=True).to_dict() == ds.to_dict()


def test_the_same_rows_and_cache_as_load_dataset(csv):
    ds, loaded = Dataset.from_csv(str(csv)), load_dataset("csv", data_files=str(csv), split="train")
    assert ds.cache_files == loaded.cache_files
    assert ds._fingerprint == loaded._fingerprint
    assert ds.origins().to_pylist() == loaded.origins().to_pylist()
    assert ds.origins()["row_index"].to_pylist() == [0, 1, 2]


def test_what_was_written_comes_back(csv, tmp_path):
    ds = Dataset.from_csv(csv)
    ds.to_csv(tmp_path / "back.csv")
    ds.to_json(tmp_path / "back.jsonl")
    ds.to_parquet(tmp_path / "back.parquet")
    assert Dataset.from_csv(tmp_path / "back.csv").to_dict() == ds.to_dict()
    assert Dataset.from_json(tmp_path / "back.jsonl").to_dict() == ds.to_dict()
    assert Dataset.from_parquet(tmp_path / "back.parquet").to_dict() == ds.to_dict()


def test_json(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"version": 1, "data": [{"a": 1}, {"a": 2, "b": "x"}]}))
    assert Dataset.from_json(path, field="data").to_list() == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]


def test_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]}), path)
    assert Dataset.from_parquet(path, columns=["b"]).to_dict() == {"b": ["x", "y", "z"]}
    assert Dataset.from_parquet(path, filters=[("a", ">", 1)])["b"][:] == ["y", "z"]
    (tmp_path / "bad.parquet").write_text("no")
    with pytest.raises(DatasetGenerationError, match=r"bad\.parquet"):
        Dataset.from_parquet([path, tmp_path / "bad.parquet"])
    kept = Dataset.from_parquet([path, tmp_path / "bad.parquet"], on_bad_files="skip")
    assert kept["a"][:] == [1, 2, 3]


def test_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n\nthree\n")
    assert Dataset.from_text(path)["text"][:] == ["one", "two", "", "three"]
    assert Dataset.from_text(path, keep_linebreaks=True)["text"][0] == "one\n"
    assert len(Dataset.from_text(path, sample_by="paragraph")) == 2


def test_dicts(csv, tmp_path):
    paths = {"train": csv, "test": [csv, csv]}
    parts = DatasetDict.from_csv(paths)
    assert parts.num_rows == {"train": 3, "test": 6}
    assert parts["test"].split == "test"
    assert Dataset.from_csv(paths, split="test").num_rows == 6
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n')
    assert DatasetDict.from_json({"x": tmp_path / "a.jsonl"})["x"].to_list() == [{"a": 1}]
    assert DatasetDict.from_text({"x": tmp_path / "a.jsonl"})["x"].to_list() == [{"text": '{"a": 1}'}]
    pq.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "a.parquet")
    assert DatasetDict.from_parquet({"x": tmp_path / "a.parquet"}, columns=["b"])["x"][0] == {"b": 2}
    with pytest.raises(InvalidArgumentError, match="DatasetDict"):
        Dataset.from_csv(paths)
    with pytest.raises(InvalidArgumentError, match="split"):
        Dataset.from_csv(paths, split="other")


def test_mistakes(csv, tmp_path):
    with pytest.raises(DataFilesNotFoundError, match="nothing"):
        Dataset.from_csv(tmp_path / "nothing.csv")
    with pytest.raises(InvalidArgumentError, match="csv has no option"):
        Dataset.from_csv(csv, nonsense=1)
    with pytest.raises(DatasetGenerationError, match="row"):
        Dataset.from_csv(csv, features=Features({"n": Value("int8"), "s": Value("string")}))
