"""What a name means: the first that it could be, in the documented order."""

import pytest

from gristmill import config
from gristmill.errors import DatasetNotFoundError, DatasetScriptError
from gristmill.load import load_dataset
from tests.hub.buckets import BucketHub
from tests.hub.faulty import COMMIT


def write(folder, value, name="train.csv"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"a\n{value}\n")


def rows(*arguments, **options):
    return load_dataset(*arguments, split="train", **options)["a"][:]


def test_a_format_comes_before_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "csv", 1)
    write(tmp_path / "other", 2)
    assert rows("csv", data_files="other/train.csv") == [2]
    assert rows("./csv") == [1]


def test_a_script_comes_before_the_data_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "poems", 1)
    assert rows("poems") == [1]
    (tmp_path / "poems/poems.py").write_text("raise SystemExit")
    with pytest.raises(DatasetScriptError, match=r"poems\.py"):
        load_dataset("poems")
    (tmp_path / "poems/poems.py").rename(tmp_path / "poems/tools.py")
    assert rows("poems") == [1]  # a program that is not of that name is none


def test_a_folder_comes_before_the_hub_and_its_buckets(online, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hub = online({"train.csv": b"a\n2\n"})
    assert rows("org/data") == [2]
    write(tmp_path / "org/data", 1)
    hub.seen.clear()
    assert rows("org/data") == [1]
    assert not hub.seen
    with BucketHub({"train.csv": b"a\n3\n"}) as buckets, config.override(HF_ENDPOINT=buckets.url):
        assert rows("buckets/me/data") == [3]
        write(tmp_path / "buckets/me/data", 4)
        assert rows("buckets/me/data") == [4]


def test_the_hub_comes_before_what_was_prepared(online, tmp_path, said, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hub = online({"train.csv": b"a\n2\n"})
    assert rows("org/data") == [2]
    hub.move("d" * 40, {"train.csv": b"a\n22\n"})
    assert rows("org/data") == [22]
    assert not said
    config.HF_HUB_OFFLINE = True
    config.HF_HUB_CACHE = tmp_path / "empty"
    assert rows("org/data") == [22]
    [line] = said
    assert "d" * 40 in line
    assert COMMIT not in line
    with pytest.raises(DatasetNotFoundError, match="org/data"):
        load_dataset("org/date")
