"""Files for builders: fetched once, from anywhere, extracted safely, recorded."""

import hashlib
import io
from pathlib import Path

import fsspec
import pytest

from gristmill import DownloadConfig, DownloadManager, StreamingDownloadManager, config
from gristmill.download.extracting import ExtractManager
from gristmill.download.manager import cached_path
from gristmill.download.nested import map_leaves
from gristmill.errors import (
    EntryNotFoundError,
    FileFormatError,
    FileMissingError,
    HubConnectionError,
    InvalidArgumentError,
    OfflineError,
    UnsafePathError,
)
from gristmill.files.retry import RetryPolicy
from tests.download.conftest import zip_of
from tests.hub.faulty import COMMIT, drop, hang_up


def read(path):
    return Path(path).read_bytes()


def test_any_shape_of_urls_and_paths(server, tmp_path):
    (tmp_path / "here.txt").write_text("local")
    manager = DownloadManager(base_path=str(tmp_path), record_checksums=True)
    asked = {"web": [f"{server.url}/a.txt", (f"{server.url}/a.txt.gz",)], "here": "here.txt"}
    found = manager.download(asked)
    assert read(found["web"][0]) == b"hello"
    assert isinstance(found["web"][1], tuple)
    assert found["here"] == str(tmp_path / "here.txt")
    recorded = manager.get_recorded_sizes_checksums()
    assert recorded[f"{server.url}/a.txt"] == {
        "num_bytes": 5,
        "checksum": hashlib.sha256(b"hello").hexdigest(),
    }
    assert manager.downloaded_size == 10 + len(server.files["a.txt.gz"])
    assert map_leaves(len, {"a": ("xy", ["z"])}) == {"a": (2, [1])}


def test_fetched_once_and_again_when_asked(server):
    url = f"{server.url}/a.txt"
    DownloadManager().download(url)
    DownloadManager().download(url)
    assert [seen.headers.get("if-none-match") is None for seen in server.seen] == [True, False]
    DownloadManager(download_config=DownloadConfig(use_etag=False)).download(url)
    assert len(server.seen) == 2
    DownloadManager(download_config=DownloadConfig(force_download=True)).download(url)
    assert server.seen[2].headers.get("if-none-match") is None
    offline = DownloadManager(download_config=DownloadConfig(local_files_only=True))
    assert read(offline.download(url)) == b"hello"
    with pytest.raises(OfflineError):
        offline.download(f"{server.url}/b.txt")


def test_a_cache_of_its_own(server, tmp_path):
    manager = DownloadManager(download_config=DownloadConfig(cache_dir=tmp_path / "own"))
    path = Path(manager.download_and_extract(f"{server.url}/a.zip"))
    assert path.is_relative_to(tmp_path / "own/extracted")
    assert not config.DOWNLOADED_DATASETS_PATH.exists()


def test_retries_and_what_is_not_there(server, monkeypatch):
    monkeypatch.setattr(RetryPolicy, "delay", lambda *_: 0.0)
    server.script("a.txt", drop(2), hang_up)
    assert (
        read(DownloadManager(download_config=DownloadConfig(max_retries=2)).download(f"{server.url}/a.txt"))
        == b"hello"
    )
    server.script("a.zip", hang_up, hang_up)
    with pytest.raises(HubConnectionError):
        DownloadManager(download_config=DownloadConfig(max_retries=1)).download(f"{server.url}/a.zip")
    with pytest.raises(EntryNotFoundError):
        DownloadManager().download(f"{server.url}/nothing")
    with pytest.raises(FileMissingError, match="nothing"):
        DownloadManager(base_path="/").download("nothing")


def test_files_of_the_hub(server):
    manager = DownloadManager(base_path=f"hf://datasets/org/data@{COMMIT}")
    assert read(manager.download("data/train.csv")) == b"a\n1\n"
    with pytest.raises(InvalidArgumentError, match="one file"):
        manager.download("*.txt*")


def test_other_file_systems(server):
    system = fsspec.filesystem("memory")
    system.pipe("/bucket/a.bin", b"old")
    manager = DownloadManager()
    first = manager.download("memory://bucket/a.bin")
    assert read(first) == b"old"
    assert manager.download("memory://bucket/a.bin") == first
    system.pipe("/bucket/a.bin", b"newer")
    assert read(manager.download("memory://bucket/a.bin")) == b"newer"
    with pytest.raises(FileMissingError):
        manager.download("memory://bucket/nothing")


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_archives(server, name):
    manager = DownloadManager()
    path = manager.download(f"{server.url}/{name}")
    folder = manager.extract(path)
    assert read(Path(folder, "data/a.txt")) == b"one\n"
    assert [Path(file).name for file in manager.iter_files([folder, path])] == [
        "a.txt",
        "b.txt",
        Path(path).name,
    ]
    for source in (path, io.BytesIO(read(path))):
        members = [(member, file.read()) for member, file in manager.iter_archive(source)]
        # Folders of a hidden name are gone through; only hidden files are left out.
        assert members == [("data/a.txt", b"one\n"), ("data/b.txt", b"two\n"), ("__MACOSX/c.txt", b"x")]
    iterable = manager.iter_archive(path)
    assert len(list(iterable)) == len(list(iterable)) == 3
    manager.delete_extracted_files()
    assert not Path(folder).exists()
    assert Path(path).exists()


def test_compressed_files_and_plain_ones(server):
    manager = DownloadManager(download_config=DownloadConfig(delete_extracted=True))
    plain, packed = manager.download([f"{server.url}/a.txt", f"{server.url}/a.txt.gz"])
    found = manager.extract({"plain": plain, "packed": packed})
    assert found["plain"] == plain
    assert read(found["packed"]) == b"hello"
    assert manager.extract(packed) == found["packed"]
    manager.manage_extracted_files()
    assert not Path(found["packed"]).exists()
    assert Path(plain).exists()


def test_extracted_on_download(server):
    manager = DownloadManager(download_config=DownloadConfig(extract_compressed_file=True))
    assert read(manager.download(f"{server.url}/a.txt.gz")) == b"hello"


def test_hostile_and_damaged_archives(tmp_path):
    manager = DownloadManager(download_config=DownloadConfig(cache_dir=tmp_path / "cache"))
    (tmp_path / "bad.zip").write_bytes(zip_of({"../../escaped": b"x"}))
    with pytest.raises(UnsafePathError):
        manager.extract(str(tmp_path / "bad.zip"))
    (tmp_path / "cut.zip").write_bytes(zip_of({"a": b"x" * 1000})[:-30])
    with pytest.raises(FileFormatError):
        manager.extract(str(tmp_path / "cut.zip"))
    assert not (tmp_path / "escaped").exists()
    assert not list((tmp_path / "cache/extracted").iterdir())


def test_a_changed_archive_is_extracted_anew(tmp_path):
    manager = DownloadManager(download_config=DownloadConfig(cache_dir=tmp_path / "cache"))
    archive = tmp_path / "a.zip"
    for content in (b"one", b"three"):
        archive.write_bytes(zip_of({"a": content}))
        assert read(Path(manager.extract(str(archive)), "a")) == content


def test_config():
    one = DownloadConfig(storage_options={"s3": {"anon": True}})
    other = one.copy()
    other.storage_options["s3"]["anon"] = False
    assert one.storage_options == {"s3": {"anon": True}}
    assert DownloadManager(data_dir="/by/hand").manual_dir == "/by/hand"


def test_what_libraries_call_by_other_names(server, tmp_path):
    assert read(cached_path(f"{server.url}/a.txt.gz", extract_compressed_file=True)) == b"hello"
    manager = ExtractManager(str(tmp_path / "own"))
    folder = manager.extract(cached_path(f"{server.url}/a.zip"))
    assert Path(folder).parent == Path(manager.extract_dir) == tmp_path / "own/extracted"
    assert read(Path(folder, "data/a.txt")) == b"one\n"


@pytest.mark.parametrize("manager", [DownloadManager, StreamingDownloadManager])
def test_what_is_called_an_archive_and_is_none(tmp_path, manager):
    config = DownloadConfig(cache_dir=tmp_path / "cache")
    for name in ("a.zip", "a.tar", "a.tgz", "a.tar.gz", "a.7z"):
        (tmp_path / name).write_text("<!doctype html>Sign in")
        for done in ("extract", "download_and_extract"):
            with pytest.raises(FileFormatError) as caught:
                getattr(manager(download_config=config), done)(str(tmp_path / name))
            assert str(caught.value).startswith(f"{tmp_path / name}: is no zip, tar or 7z archive")
            assert f"its name ends in .{name[2:]}: it holds a web page" in str(caught.value)
        with pytest.raises(FileFormatError, match=r"it holds a web page"):
            list(manager(download_config=config).iter_archive(str(tmp_path / name)))


def test_the_url_says_what_it_is_called(server, tmp_path):
    config = DownloadConfig(cache_dir=tmp_path / "cache")
    manager = DownloadManager(download_config=config)
    server.files["b.zip"] = b"no archive"
    with pytest.raises(
        FileFormatError, match=rf"{server.url}/b\.zip: is no zip.*text that begins with 'no archive'"
    ):
        manager.download_and_extract(f"{server.url}/b.zip")


def test_what_is_not_compressed_any_more_is_what_was_asked_for(tmp_path):
    """A server may have decompressed it on the way."""
    (tmp_path / "a.csv.gz").write_text("a,b")
    assert DownloadManager().extract(str(tmp_path / "a.csv.gz")) == str(tmp_path / "a.csv.gz")
