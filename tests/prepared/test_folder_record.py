"""What a prepared folder says is parsed once, and yet each load has objects of its own and sees each change."""

import json
import os

import pytest

import gristmill
from gristmill.errors import FileFormatError, FileMissingError
from gristmill.features import ClassLabel, Features, List, Value
from gristmill.prepared import folder_record
from gristmill.prepared.folder_record import read_record
from gristmill.prepared.local import local_file
from gristmill.prepared.opening import open_prepared
from gristmill.prepared.prepare import prepare
from gristmill.prepared.source import SplitSource


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"x": 1}\n{"x": 2}\n')
    source = SplitSource("a", "a", "a", None, "default", "train", "json", (local_file(path),))
    return prepare(source, tmp_path / "cache")


def change(path, old, new):
    """Replaces as many characters as there were, and sets the time of change back, as a damaged disk would."""
    status, text = path.stat(), path.read_text()
    assert old in text
    assert len(old) == len(new)
    path.write_text(text.replace(old, new))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_what_says_the_same_is_parsed_once(folder):
    first = read_record(folder, "a", None)
    assert read_record(folder, "a", None) is first
    # Rows are traced back to what was asked for, which is not in the files.
    other = read_record(folder, "b", "c0ffee")
    assert first.origins is not None
    assert other.origins is not None
    assert [origin["source"] for origin in other.origins.to_table().to_pylist()] == ["b", "b"]
    assert [origin["revision"] for origin in first.origins.to_table().to_pylist()] == [None, None]


def test_every_change_is_seen_whatever_its_time_and_size(folder):
    assert open_prepared(folder, source="a").table.num_rows == 2
    change(folder / "dataset_info.json", '"num_examples": 2', '"num_examples": 3')
    with pytest.raises(FileFormatError, match="has 2 rows, not 3"):
        open_prepared(folder, source="a")
    change(folder / "dataset_info.json", '"num_examples": 3', '"num_examples": 2')
    assert open_prepared(folder, source="a").table.num_rows == 2
    change(folder / "dataset_info.json", '"int64"', '"int32"')
    with pytest.raises(FileFormatError, match="other columns"):
        open_prepared(folder, source="a")
    change(folder / "dataset_info.json", '"int32"', '"int64"')
    change(folder / "files.json", "a-train", "b-train")
    with pytest.raises(FileMissingError, match="b-train"):
        open_prepared(folder, source="a")
    change(folder / "files.json", "b-train", "a-train")
    change(folder / "origins.json", "a.jsonl", "b.jsonl")
    found = open_prepared(folder, source="a").origins
    assert found is not None
    assert found.to_table()["file"].to_pylist()[0].endswith("b.jsonl")
    (folder / "origins.json").unlink()
    with pytest.raises(FileMissingError, match=r"origins\.json"):
        open_prepared(folder, source="a")


def test_text_that_is_none_is_named(folder):
    (folder / "origins.json").write_bytes(b'{"\xff": 1}')
    with pytest.raises(FileFormatError, match=r"origins\.json.* not valid utf-8 text at byte 2"):
        read_record(folder, "a", None)


def test_long_records_are_read_whole_and_parsed_each_time(folder, monkeypatch):
    monkeypatch.setattr(folder_record, "_LARGEST_KEPT", 100)
    monkeypatch.setattr(folder_record, "_PIECE", 7)
    first = read_record(folder, "a", None)
    assert read_record(folder, "a", None) is not first
    assert first.info.to_dict() == json.loads((folder / "dataset_info.json").read_text())


def test_each_load_has_objects_of_its_own(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"x": 1, "y": ["a"], "z": "p"}\n')
    (tmp_path / "b.jsonl").write_text('{"x": 2, "y": [], "z": "q"}\n')
    features = Features({"x": Value("int64"), "y": List(Value("string")), "z": ClassLabel(names=["p", "q"])})

    def load():
        files = [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
        return gristmill.load_dataset(
            "json", data_files=files, split="train", cache_dir=str(tmp_path / "cache"), features=features
        )

    load()
    before = load()
    kept = json.dumps(before.info.to_dict())
    assert before.features == features
    before.features["y"].feature.dtype = "int8"
    before.features["z"].names.append("r")
    before.features["w"] = Value("bool")
    before.info.description = "mine"
    before.info.splits["train"].original_shard_lengths.append(7)
    before.info.splits["train"].num_examples = 9
    for checksum in before.info.download_checksums.values():
        checksum["num_bytes"] = -1
    before.info.download_checksums.clear()
    before.info.version.major = 8
    again = load()
    assert json.dumps(again.info.to_dict()) == kept
    assert again.info.version.major == 0
    assert again.features == features
    assert again[:] == {"x": [1, 2], "y": [["a"], []], "z": [0, 1]}
    assert again.origins()["file"][1].as_py().endswith("b.jsonl")
