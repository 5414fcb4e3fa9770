"""Paths given out before anything is fetched."""

import os
import pickle
from pathlib import Path

import pyarrow.csv
import pytest

from gristmill import StreamingDownloadManager
from gristmill.download import LazyPath
from gristmill.download.lazy import xbasename, xjoin, xopen
from gristmill.errors import EntryNotFoundError


def test_nothing_is_fetched_before_it_is_opened(server):
    manager = StreamingDownloadManager(base_path=server.url)
    found = manager.download({"train": ["data/train.csv"], "packed": "a.txt.gz"})
    unpacked = manager.extract(found["packed"])
    assert not server.seen
    path = found["train"][0]
    assert str(path) == path == f"{server.url}/data/train.csv"
    assert path.endswith(".csv")
    assert path.split("/")[-1] == "train.csv"
    with open(path) as file:  # noqa: PTH123  # as users write it
        assert file.read() == "a\n1\n"
    assert pyarrow.csv.read_csv(path)["a"].to_pylist() == [1]
    assert len(server.seen) == 1
    assert Path(unpacked).read_text() == "hello"
    assert Path(pickle.loads(pickle.dumps(unpacked))).read_text() == "hello"
    manager.get_recorded_sizes_checksums()
    manager.manage_extracted_files()


def test_archives(server, tmp_path):
    manager = StreamingDownloadManager(data_dir="/by/hand")
    folder = manager.download_and_extract(f"{server.url}/a.zip")
    assert not server.seen
    assert Path(os.path.join(folder, "data", "a.txt")).read_text() == "one\n"  # noqa: PTH118  # as users write it
    assert (folder / "data/b.txt").read_text() == "two\n"
    assert [Path(file).name for file in manager.iter_files(folder)] == ["a.txt", "b.txt"]
    names = [name for name, _ in manager.iter_archive(f"{server.url}/a.tar.gz")]
    assert names == ["data/a.txt", "data/b.txt", "__MACOSX/c.txt"]
    (tmp_path / "a.zip").write_bytes(server.files["a.zip"])
    assert Path(manager.download_and_extract(str(tmp_path / "a.zip")), "data/a.txt").read_text() == "one\n"
    assert manager.manual_dir == "/by/hand"


def test_paths_here_stay_text(tmp_path):
    manager = StreamingDownloadManager(base_path=str(tmp_path))
    assert manager.download(["a.txt", "/b.txt"]) == [str(tmp_path / "a.txt"), "/b.txt"]


def test_open_and_names(server, tmp_path):
    with xopen(f"{server.url}/a.txt", "rb") as file:
        assert file.read() == b"hello"
    with pytest.raises(EntryNotFoundError):
        xopen(f"{server.url}/nothing")
    (tmp_path / "b").write_text("b")
    with xopen(tmp_path / "b", encoding="utf-8") as file:
        assert file.read() == "b"
    assert xjoin("/a", "b", "c") == "/a/b/c"
    assert xjoin("s3://a/", "b") == "s3://a/b"
    assert xbasename(LazyPath("https://x/y/z.csv")) == "z.csv"


def test_lazy_paths_compare_by_what_they_mean():
    path = LazyPath("https://x/a")
    assert path == LazyPath("https://x/a")
    assert path != path.extracted()
    assert path != 3
    assert len({path, LazyPath("https://x/a")}) == 1
    assert repr(path.extracted()) == "LazyPath('https://x/a', extracted=True)"
    with pytest.raises(AttributeError):
        _ = path.nothing
