"""`save_to_disk` and `load_from_disk`: what was saved comes back, whatever lay in the folder before."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill import load, load_from_disk
from gristmill.arguments import parse_size
from gristmill.dataset import Dataset, DatasetDict
from gristmill.dataset.sharding import Sharding
from gristmill.errors import (
    FileError,
    FileFormatError,
    FileMissingError,
    InvalidArgumentError,
    UnsafePathError,
)
from gristmill.features import ClassLabel, Features, List, Value
from gristmill.info import DatasetInfo
from gristmill.table.origins import Origins


def opened(path, **options):
    return load.load_from_disk(path, **options)  # a Dataset or DatasetDict, as the test knows


FEATURES = Features(
    {
        "i": Value("int32"),
        "s": Value("large_string"),
        "l": List(Value("int64")),
        "d": {"x": Value("int8"), "y": List(Value("string"))},
        "c": ClassLabel(names=["no", "yes"]),
    }
)
ROWS: list[dict[str, Any]] = [
    {"i": 1, "s": "a", "l": [1], "d": {"x": 1, "y": ["q"]}, "c": 0},
    {"i": None, "s": None, "l": None, "d": None, "c": None},
    {"i": 3, "s": "é", "l": [], "d": {"x": None, "y": []}, "c": -1},
    {"i": 4, "s": "", "l": [2, None], "d": {"x": 4, "y": None}, "c": 1},
]


@pytest.fixture
def ds():
    return Dataset.from_list(ROWS, features=FEATURES)


def test_round_trip(ds, tmp_path):
    ds.info.description = "words"
    ds.info.license = "mit"
    ds.save_to_disk(tmp_path / "saved")
    back = Dataset.load_from_disk(tmp_path / "saved")
    assert back.to_list() == ROWS
    assert back.features == FEATURES
    assert (back.description, back.license, back.split) == ("words", "mit", None)
    assert back._fingerprint == ds._fingerprint
    assert back.cache_files == [{"filename": str(tmp_path / "saved" / "data-00000-of-00001.arrow")}]
    assert sorted(path.name for path in (tmp_path / "saved").iterdir()) == [
        "data-00000-of-00001.arrow",
        "dataset_info.json",
        "state.json",
    ]


def test_the_state_is_that_of_datasets(ds, tmp_path):
    ds.select([3, 1]).with_format("numpy", columns=["i"]).save_to_disk(tmp_path / "saved", num_shards=2)
    state = json.loads((tmp_path / "saved" / "state.json").read_text())
    assert state.pop("_fingerprint")
    assert state == {
        "_data_files": [
            {"filename": "data-00000-of-00002.arrow"},
            {"filename": "data-00001-of-00002.arrow"},
        ],
        "_format_columns": ["i"],
        "_format_kwargs": {},
        "_format_type": "numpy",
        "_output_all_columns": False,
        "_split": None,
    }
    back = opened(tmp_path / "saved")
    assert back.format["columns"] == ["i"]
    assert back["i"][0] == 4


def test_files_as_datasets_writes_them_are_read(tmp_path):
    # An Arrow stream of small batches, no metadata in it, and an old info file.
    folder = tmp_path / "theirs"
    folder.mkdir()
    table = pa.table({"text": ["a", "b", "c"], "label": pa.array([0, 1, None], pa.int64())})
    with (
        pa.OSFile(str(folder / "data-00000-of-00001.arrow"), "wb") as sink,
        pa.ipc.new_stream(sink, table.schema) as stream,
    ):
        stream.write_table(table, max_chunksize=1)
    features = {
        "text": {"dtype": "string", "_type": "Value"},
        "label": {"names": ["neg", "pos"], "_type": "ClassLabel"},
    }
    info = {"citation": "c", "description": "d", "features": features, "homepage": "", "license": ""}
    (folder / "dataset_info.json").write_text(json.dumps(info))
    state: dict[str, Any] = {
        "_data_files": [{"filename": "data-00000-of-00001.arrow"}],
        "_fingerprint": "5336412f86bd5bc2",
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": "validation",
    }
    (folder / "state.json").write_text(json.dumps(state))
    back = opened(str(folder))
    assert back.to_dict() == {"text": ["a", "b", "c"], "label": [0, 1, None]}
    assert back.features["label"] == ClassLabel(names=["neg", "pos"])
    assert (back.split, back.citation, back._fingerprint) == ("validation", "c", "5336412f86bd5bc2")


@pytest.mark.parametrize("num_proc", [None, 2])
def test_shards_and_workers(ds, tmp_path, num_proc):
    big = Dataset.from_dict({"a": range(1000)}).shuffle(seed=1)
    big.save_to_disk(tmp_path / "big", max_shard_size="1KB", num_proc=num_proc)
    back = opened(tmp_path / "big")
    assert back["a"][:] == big["a"][:]
    assert len(back.cache_files) == 9
    ds.save_to_disk(tmp_path / "more", num_shards=6, num_proc=num_proc)
    assert opened(tmp_path / "more").to_list() == ROWS
    assert len(opened(tmp_path / "more").cache_files) == 6


def test_as_many_files_as_workers(ds, tmp_path):
    ds.save_to_disk(tmp_path / "saved", num_proc=2)
    assert len(opened(tmp_path / "saved").cache_files) == 2


@pytest.mark.parametrize("count", [0, -1])
def test_a_number_of_files_below_one(ds, tmp_path, count):
    with pytest.raises(ValueError, match="num_shards"):
        ds.save_to_disk(tmp_path / "saved", num_shards=count)
    assert not (tmp_path / "saved").exists()


def test_sizes():
    assert [parse_size(size) for size in (7, "7", "2KB", "1.5 MB", "1GiB", "3b")] == [
        7,
        7,
        2000,
        1_500_000,
        1 << 30,
        3,
    ]
    for size in ("", "many", "-1KB", 0, -5, True, "1.2.3MB"):
        with pytest.raises(InvalidArgumentError):
            parse_size(size)
    with pytest.raises(InvalidArgumentError, match="not both"):
        Sharding.parse("1MB", 2, None)


def test_saved_to_the_folder_it_was_opened_from(tmp_path):
    path = tmp_path / "store"
    Dataset.from_dict({"text": ["one", "two"]}).save_to_disk(path)
    first = opened(path)
    longer = first.add_item({"text": "three"})
    longer.save_to_disk(path)
    assert opened(path)["text"][:] == ["one", "two", "three"]
    assert (first["text"][:], longer["text"][:]) == (["one", "two"], ["one", "two", "three"])
    assert [entry.name for entry in tmp_path.iterdir()] == ["store"]


def test_other_rows_under_the_name_of_the_files_are_not_taken_for_the_old_ones(tmp_path):
    path = tmp_path / "store"
    Dataset.from_dict({"n": [1, 2, 3]}).save_to_disk(path)
    old = opened(path)
    old.map(lambda row: {"n": row["n"] * 10}, keep_in_memory=True).save_to_disk(path)
    assert pickle.loads(pickle.dumps(old))["n"][:] == [1, 2, 3]
    assert old.map(lambda row: {"m": row["n"]}, num_proc=2, keep_in_memory=True)["m"][:] == [1, 2, 3]
    assert opened(path)["n"][:] == [10, 20, 30]


def test_what_else_lies_in_the_folder_stays(ds, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "data.csv").write_text("a\n1\n")
    ds.save_to_disk(tmp_path)
    ds.select([0]).save_to_disk(tmp_path)
    assert opened(tmp_path).to_list() == ROWS[:1]
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (tmp_path / "more" / "data.csv").read_text() == "a\n1\n"
    parts = DatasetDict({"train": ds, "more": ds.select([1])})
    parts.save_to_disk(tmp_path)
    assert (tmp_path / "more" / "data.csv").read_text() == "a\n1\n"
    assert opened(tmp_path)["more"].to_list() == ROWS[1:2]


def test_a_folder_of_saved_datasets_is_not_taken_for_one(ds, tmp_path):
    ds.save_to_disk(tmp_path / "a")
    DatasetDict({"t": ds}).save_to_disk(tmp_path / "b")
    ds.select([0]).save_to_disk(tmp_path)
    assert opened(tmp_path).num_rows == 1
    assert opened(tmp_path / "a").to_list() == opened(tmp_path / "b")["t"].to_list() == ROWS


def test_nothing_of_the_old_one_is_left_beside_other_files(ds, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    known = Dataset._from_parts(pa.table({"a": [1]}), origins=Origins.single("org/name", "abc", "a.csv", 1))
    known.save_to_disk(tmp_path)
    DatasetDict({"t": ds}).save_to_disk(tmp_path)
    Dataset.from_dict({"a": [2]}).save_to_disk(tmp_path, num_shards=3)
    back = opened(tmp_path)
    assert back.to_list() == [{"a": 2}]
    assert back.origins()["source"].to_pylist() == [None]
    Dataset.from_dict({"a": [3]}).save_to_disk(tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.*")) == [
        "data-00000-of-00001.arrow",
        "dataset_info.json",
        "notes.txt",
        "state.json",
    ]


def test_a_link_is_followed(ds, tmp_path):
    (tmp_path / "disk" / "store").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "store")
    ds.save_to_disk(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert opened(tmp_path / "disk" / "store").to_list() == ROWS


def test_a_failure_leaves_the_old_one(tmp_path):
    path = tmp_path / "store"
    Dataset.from_dict({"n": [1]}).save_to_disk(path)
    parts = DatasetDict({"train": Dataset.from_dict({"n": [2]}), "../out": Dataset.from_dict({"n": [3]})})
    with pytest.raises(UnsafePathError):
        parts.save_to_disk(path)
    assert opened(path)["n"][:] == [1]
    assert [entry.name for entry in tmp_path.iterdir()] == ["store"]


def test_a_transform_is_left_out(tmp_path):
    ds = Dataset.from_dict({"x": [1, 2]}).with_transform(lambda b: {"x": [v * 10 for v in b["x"]]})
    ds.save_to_disk(tmp_path / "saved")
    back = opened(tmp_path / "saved")
    assert back["x"][:] == [1, 2]
    assert back.format["type"] is None


def test_origins_come_along(tmp_path):
    table = pa.table({"a": range(5)})
    ds = Dataset._from_parts(table, origins=Origins.single("org/name", "abc", "a.csv", 5))
    ds.select([4, 0]).save_to_disk(tmp_path / "saved")
    back = opened(tmp_path / "saved")
    assert back.origins().to_pylist() == ds.select([4, 0]).origins().to_pylist()
    (tmp_path / "saved" / "origins.json").write_text("[")
    assert opened(tmp_path / "saved").origins()["source"].null_count == 2


def test_nothing_to_save(ds, tmp_path):
    ds.select([]).save_to_disk(tmp_path / "no_rows")
    back = opened(tmp_path / "no_rows")
    assert (len(back), back.features) == (0, FEATURES)
    Dataset.from_dict({}).save_to_disk(tmp_path / "no_columns")
    assert opened(tmp_path / "no_columns").column_names == []


def test_dicts(ds, tmp_path):
    parts = DatasetDict({"train": ds, "test": ds.select([0])})
    parts.save_to_disk(tmp_path / "saved", num_shards={"train": 2, "test": 1})
    assert json.loads((tmp_path / "saved" / "dataset_dict.json").read_text()) == {"splits": ["train", "test"]}
    back = opened(tmp_path / "saved")
    assert isinstance(back, DatasetDict)
    assert back["train"].to_list() == ROWS
    assert back.num_rows == {"train": 4, "test": 1}
    assert len(back.cache_files["train"]) == 2
    back.map(lambda row: {"i": 7}).save_to_disk(tmp_path / "saved")
    assert DatasetDict.load_from_disk(tmp_path / "saved")["test"]["i"][:] == [7]
    with pytest.raises(InvalidArgumentError, match="num_shards"):
        parts.save_to_disk(tmp_path / "other", num_shards={"train": 2})
    with pytest.raises(InvalidArgumentError, match="num_shards=2"):
        parts.save_to_disk(tmp_path / "other", num_shards=2)  # type: ignore[arg-type]


def test_other_file_systems(ds, tmp_path):
    import fsspec

    url = f"memory://{tmp_path.name}/saved"
    ds.save_to_disk(url)
    assert opened(url).to_list() == ROWS
    ds.select([0]).save_to_disk(url, num_shards=1)
    assert Dataset.load_from_disk(url).to_list() == ROWS[:1]
    DatasetDict({"train": ds}).save_to_disk(url)
    assert opened(url)["train"].to_list() == ROWS
    names = fsspec.filesystem("memory").find(f"/{tmp_path.name}")
    assert all("/saved/" in name for name in names)
    ds.to_json(f"memory://{tmp_path.name}/rows.jsonl.gz")
    assert fsspec.filesystem("memory").cat(f"/{tmp_path.name}/rows.jsonl.gz")[:2] == b"\x1f\x8b"
    ds.save_to_disk(f"file://{tmp_path}/here")
    assert opened(tmp_path / "here").to_list() == ROWS
    with pytest.raises(FileMissingError):
        opened(f"memory://{tmp_path.name}/nothing")


def test_a_program_may_change_its_working_folder(ds, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "rows.csv").write_text("i\n1\n2\n")
    monkeypatch.chdir(tmp_path)
    ds.save_to_disk("saved")
    made = {
        "saved": opened("saved"),
        "cache/csv": Dataset.from_csv("rows.csv", cache_dir="cache"),
        "cache/generator": Dataset.from_generator(lambda: iter([{"i": 1}, {"i": 2}]), cache_dir="cache"),
        "own.arrow": opened("saved").map(lambda row: {"i": 1}, cache_file_name="own.arrow"),
    }
    builder = load.load_dataset_builder("csv", data_files="rows.csv", cache_dir="cache")
    monkeypatch.chdir("elsewhere")
    assert Path(builder.cache_dir).is_relative_to(tmp_path / "cache")
    for start, one in made.items():
        assert one.cache_files[-1]["filename"].startswith(str(tmp_path / start))
        assert pickle.loads(pickle.dumps(one)).cache_files == one.cache_files
        twice = one.map(lambda row: {"twice": [row["i"], row["i"]]}, num_proc=2)
        assert twice["twice"][1] == [one["i"][1]] * 2
        assert all(Path(file["filename"]).is_relative_to(tmp_path) for file in twice.cache_files)
    assert list((tmp_path / "elsewhere").iterdir()) == []  # results stay beside what they are made from


def test_folders_that_are_none(ds, tmp_path):
    with pytest.raises(FileNotFoundError):
        opened(tmp_path / "nothing")
    with pytest.raises(FileMissingError, match="save_to_disk"):
        opened(tmp_path)
    ds.save_to_disk(tmp_path / "one")
    DatasetDict({"a": ds}).save_to_disk(tmp_path / "many")
    with pytest.raises(
        FileMissingError, match=r"one holds a Dataset, not a DatasetDict; open it with load_from"
    ):
        DatasetDict.load_from_disk(tmp_path / "one")
    with pytest.raises(FileMissingError, match="many holds a DatasetDict, not a Dataset"):
        Dataset.load_from_disk(tmp_path / "many")
    (tmp_path / "rows.csv").write_text("a\n1\n")
    with pytest.raises(
        FileMissingError, match=r"rows\.csv is a file, not a folder .* Use load_dataset for data"
    ):
        opened(tmp_path / "rows.csv")
    (tmp_path / "one" / "state.json").unlink()
    with pytest.raises(FileMissingError, match=r"state\.json or dataset_info\.json is missing"):
        opened(tmp_path / "one")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"_data_files": 3}', '{"_data_files": [{}]}', "nul"])
def test_damaged_states(ds, tmp_path, text):
    ds.save_to_disk(tmp_path / "saved")
    (tmp_path / "saved" / "state.json").write_text(text)
    with pytest.raises(FileFormatError):
        opened(tmp_path / "saved")


def test_hostile_states(ds, tmp_path):
    ds.save_to_disk(tmp_path / "saved")
    state = json.loads((tmp_path / "saved" / "state.json").read_text())
    state["_data_files"] = [{"filename": "../../outside.arrow"}]
    (tmp_path / "saved" / "state.json").write_text(json.dumps(state))
    with pytest.raises(UnsafePathError):
        opened(tmp_path / "saved")
    state["_data_files"] = [{"filename": "data-00000-of-00001.arrow"}]
    state["_format_type"], state["_format_columns"] = "nonsense", 3
    (tmp_path / "saved" / "state.json").write_text(json.dumps(state))
    assert opened(tmp_path / "saved").to_list() == ROWS
    data = tmp_path / "saved" / "data-00000-of-00001.arrow"
    data.write_bytes(data.read_bytes()[:-20])
    with pytest.raises(FileFormatError):
        opened(tmp_path / "saved")
    (tmp_path / "saved" / "dataset_info.json").write_text("[1]")
    with pytest.raises(FileFormatError):
        opened(tmp_path / "saved")


def test_in_memory(ds, tmp_path):
    ds.save_to_disk(tmp_path / "saved")
    back = opened(tmp_path / "saved", keep_in_memory=True)
    assert back.cache_files == []
    assert back.to_list() == ROWS


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.text(max_size=4)), max_size=20),
    st.integers(1, 5),
    st.integers(0, 3),
)
def test_any_rows_in_any_number_of_files(tmp_path_factory, values, shards, seed):
    folder = tmp_path_factory.mktemp("saved") / "x"
    ds = Dataset.from_dict({"s": values}, features=Features({"s": Value("string")})).shuffle(seed=seed)
    ds.save_to_disk(folder, num_shards=shards)
    assert opened(folder)["s"][:] == ds["s"][:]


def test_info_of_several():
    one, other = DatasetInfo(description="x", license="l"), DatasetInfo(description="y", license="l")
    assert DatasetInfo.from_merge([one, other, None]) == DatasetInfo(description="x\n\ny", license="l")
    assert DatasetInfo.from_merge([]) == DatasetInfo()
    assert DatasetInfo.from_merge([one, one]) == one
    assert np.bool_(DatasetInfo.from_merge([one, one]) is not one)


def test_a_file_is_not_replaced_by_a_folder(tmp_path):
    (tmp_path / "notes").write_text("mine")
    ds = Dataset.from_dict({"a": [1]})
    with pytest.raises(FileError, match=r"notes: it is a file"):
        ds.save_to_disk(tmp_path / "notes")
    assert (tmp_path / "notes").read_text() == "mine"
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    ds.save_to_disk(tmp_path / "one")
    assert load_from_disk(tmp_path / "one")["a"][:] == [1]


def test_odd_options_of_a_saved_format_are_left_out(tmp_path):
    Dataset.from_dict({"a": [1]}).save_to_disk(tmp_path / "x")
    state = json.loads((tmp_path / "x/state.json").read_text())
    (tmp_path / "x/state.json").write_text(
        json.dumps({**state, "_format_type": "numpy", "_format_kwargs": 5})
    )
    loaded = Dataset.load_from_disk(tmp_path / "x")
    assert loaded.format["type"] is None
    assert loaded[:] == {"a": [1]}
