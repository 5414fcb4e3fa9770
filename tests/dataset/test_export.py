"""Rows as files of other formats: one or several, here and on other file systems."""

import bz2
import gzip
import json
import uuid
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gristmill
from gristmill import Dataset
from gristmill.errors import FileError, InvalidArgumentError

ROWS = [{"id": i, "text": f"row {i} é"} for i in range(100)]
FORMATS = pytest.mark.parametrize("format", ["parquet", "json", "csv"])


@pytest.fixture
def dataset() -> Dataset:
    return Dataset.from_list(ROWS)


def write(dataset, format, target, **arguments):
    return getattr(dataset, f"to_{format}")(target, **arguments)


def read(format: str, files, tmp_path) -> list:
    paths = [str(file) for file in files]
    loaded = gristmill.load_dataset(
        format, data_files=paths, split="train", cache_dir=str(tmp_path / uuid.uuid4().hex)
    )
    return loaded.to_list()


@FORMATS
def test_several_files_are_named_by_number_and_hold_the_rows_in_order(dataset, format, tmp_path):
    size = write(dataset, format, tmp_path / "out" / f"train.{format}", num_shards=3)
    files = sorted((tmp_path / "out").iterdir())
    assert [file.name for file in files] == [f"train-{i:05}-of-00003.{format}" for i in range(3)]
    assert size == sum(file.stat().st_size for file in files)
    assert read(format, files, tmp_path) == ROWS


@FORMATS
def test_size_of_files_decides_their_number(dataset, format, tmp_path):
    write(dataset, format, f"{tmp_path}/out/train.{format}", max_shard_size="1KB")
    files = sorted((tmp_path / "out").iterdir())
    assert 2 <= len(files) <= 6
    assert read(format, files, tmp_path) == ROWS


def test_files_of_another_number_are_replaced_and_others_stay(dataset, tmp_path):
    for name in ("train-extra.csv", "test-00000-of-00009.csv", "train-00000-of-00002.csv.gz"):
        (tmp_path / name).write_text("x")
    dataset.to_csv(tmp_path / "train.csv", num_shards=4)
    dataset.to_csv(tmp_path / "train.csv", num_shards=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "test-00000-of-00009.csv",
        "train-00000-of-00002.csv",
        "train-00000-of-00002.csv.gz",
        "train-00001-of-00002.csv",
        "train-extra.csv",
    ]


def test_failure_leaves_what_was_there(dataset, tmp_path, monkeypatch):
    dataset.to_json(tmp_path / "train.jsonl", num_shards=2)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InvalidArgumentError):
        dataset.select(range(3)).to_json(tmp_path / "train.jsonl", num_shards=3, nonsense=1)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_arguments_are_checked(dataset, tmp_path):
    with pytest.raises(InvalidArgumentError, match="not both"):
        dataset.to_csv(tmp_path / "a.csv", num_shards=2, max_shard_size="1MB")
    with pytest.raises(InvalidArgumentError, match="pass a path"), (tmp_path / "a").open("wb") as file:
        dataset.to_csv(file, num_shards=2)
    with pytest.raises(InvalidArgumentError, match="num_shards"):
        dataset.to_parquet(tmp_path / "a", num_shards=0)


@pytest.mark.parametrize(
    ("ending", "unpack"), [(".jsonl.gz", gzip.decompress), (".jsonl.bz2", bz2.decompress)]
)
def test_compression_follows_the_name_of_each_file(dataset, ending, unpack, tmp_path):
    dataset.to_json(tmp_path / f"a.b{ending}", num_shards=2, force_ascii=False)
    parts = [(tmp_path / f"a.b-0000{i}-of-00002{ending}").read_bytes() for i in range(2)]
    assert [json.loads(line) for part in parts for line in unpack(part).splitlines()] == ROWS


@pytest.fixture
def memory():
    name = uuid.uuid4().hex
    yield f"memory://{name}"
    system = fsspec.filesystem("memory")
    if system.exists(name):
        system.rm(name, recursive=True)


@FORMATS
@pytest.mark.parametrize("sharded", [False, True])
def test_other_file_systems(dataset, format, sharded, memory, tmp_path):
    arguments = {"num_shards": 2} if sharded else {}
    for _ in range(2):
        write(dataset, format, f"{memory}/deep/train.{format}", storage_options={}, **arguments)
    system = fsspec.filesystem("memory")
    names = sorted(system.ls(memory + "/deep", detail=False))
    assert [name.rpartition("/")[2] for name in names] == (
        [f"train-0000{i}-of-00002.{format}" for i in range(2)] if sharded else [f"train.{format}"]
    )
    for name in names:
        system.get_file(name, str(tmp_path / name.rpartition("/")[2]))
    assert read(format, sorted(tmp_path.iterdir()), tmp_path) == ROWS


@FORMATS
def test_urls_of_this_machine(dataset, format, tmp_path):
    write(dataset, format, f"file://{tmp_path}/a.{format}")
    write(dataset, format, f"file://{tmp_path}/a.{format}", num_shards=2)
    files = sorted(path for path in tmp_path.iterdir() if "-of-" in path.name)
    assert len(files) == 2
    assert read(format, [tmp_path / f"a.{format}"], tmp_path) == read(format, files, tmp_path) == ROWS


def test_an_upload_that_fails_leaves_what_was_there(dataset, memory, monkeypatch):
    dataset.to_csv(f"{memory}/a.csv", num_shards=2)
    system = fsspec.filesystem("memory")
    before = {name: system.cat_file(name) for name in system.find(memory)}
    put, calls = system.put_file, []

    def put_file(local, path, **kwargs):
        calls.append(path)
        if len(calls) == 2:
            raise OSError(5, "the line is cut")
        put(local, path, **kwargs)

    monkeypatch.setattr(type(system), "put_file", staticmethod(put_file))
    with pytest.raises(FileError, match="the line is cut"):
        dataset.select(range(5)).to_csv(f"{memory}/a.csv", num_shards=2)
    assert {name: system.cat_file(name) for name in system.find(memory)} == before


def test_row_groups_are_cut_by_bytes(tmp_path):
    dataset = Dataset.from_dict({"a": ["x" * 1000] * 1000})
    dataset.to_parquet(tmp_path / "a.parquet", row_group_bytes=100_000)
    meta = pq.read_metadata(tmp_path / "a.parquet")
    assert 9 <= meta.num_row_groups <= 12
    assert meta.row_group(0).column(0).has_offset_index


def test_rows_that_were_chosen_and_shuffled_are_written_by_workers(tmp_path):
    dataset = Dataset.from_dict({"a": list(range(50))}).shuffle(seed=1).select(range(30))
    dataset.to_parquet(tmp_path / "a.parquet", num_shards=3, num_proc=2)
    table = pa.concat_tables(pq.read_table(path) for path in sorted(Path(tmp_path).iterdir()))
    assert table["a"].to_pylist() == dataset["a"][:]
