"""Paths and URLs as helpers treat them."""

import io
from pathlib import Path

import fsspec
import pytest
from gristmill.download.streaming_download_manager import _prepare_path_and_storage_options, xPath
from gristmill.utils import file_utils

from gristmill import DownloadConfig, config
from gristmill.errors import FileMissingError, OfflineError


@pytest.mark.parametrize(
    ("name", "local", "relative"),
    [
        ("a", True, True),
        ("/a", True, False),
        ("http://x", False, False),
        ("hf://datasets/x", False, False),
        ("zip://a::b.zip", False, False),
        ("file:///x", True, False),
    ],
)
def test_what_a_name_is(name, local, relative):
    assert file_utils.is_local_path(name) is local
    assert file_utils.is_relative_path(name) is relative
    assert file_utils.is_remote_url(name) is ("://" in name)


def test_names():
    assert file_utils.relative_to_absolute_path("a") == str(Path.cwd() / "a")
    assert file_utils.relative_to_absolute_path(Path("a")) == Path.cwd() / "a"
    assert file_utils.url_or_path_join("hf://a", "b") == "hf://a/b"
    assert file_utils.url_or_path_parent("a/b.csv") == "a"
    assert file_utils.url_or_path_parent("a") == ""
    assert file_utils.SINGLE_FILE_COMPRESSION_EXTENSION_TO_PROTOCOL["zst"] == "zstd"
    # As `datasets` names its downloads.
    name = "b7afc3c14d4ff11fa2a87a65ba826022b3d825f3b1d64df52cd860282a39bd89"
    assert file_utils.hash_url_to_filename("http://a/b.h5") == name
    assert file_utils.hash_url_to_filename("http://a/b", "e") == (
        "1972c518da8e66a8782803107e4661595e4af1727c3c6087beaa9755ea3fc684."
        "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea"
    )


def test_options_of_a_file_system():
    assert _prepare_path_and_storage_options("/a") == ("/a", {})
    url = "hf://datasets/a/b@main/x"
    options = _prepare_path_and_storage_options(url, DownloadConfig(token="t"))[1]
    assert options == {"hf": {"endpoint": config.HF_ENDPOINT, "token": "t"}}
    given = DownloadConfig(storage_options={"s3": {"anon": True}})
    assert _prepare_path_and_storage_options("s3://a/b", given) == ("s3://a/b", {"s3": {"anon": True}})
    assert "https" in _prepare_path_and_storage_options("https://a/b")[1]


def test_files_of_other_file_systems():
    fsspec.filesystem("memory").pipe("/borrowed/a.txt", b"abc")
    assert file_utils.fsspec_head("memory://borrowed/a.txt")["size"] == 3
    target = io.BytesIO()
    file_utils.fsspec_get("memory://borrowed/a.txt", target)
    assert target.getvalue() == b"abc"
    with pytest.raises(FileMissingError):
        file_utils.fsspec_head("memory://borrowed/none")
    with config.override(HF_HUB_OFFLINE=True), pytest.raises(OfflineError, match="memory://"):
        file_utils.fsspec_head("memory://borrowed/a.txt")
    folder = xPath("memory://borrowed")
    assert folder.is_dir()
    assert (folder / "a.txt").is_file()
    assert not (folder / "b.txt").exists()
    assert [path.name for path in folder.rglob("*.txt")] == ["a.txt"]


def test_a_path_that_may_be_a_url(tmp_path):
    path = xPath("zip://inner/a.txt::https://example.org/x.zip")
    assert str(path.parent) == "zip://inner/a.txt::https://example.org"
    assert str(xPath("https://example.org/a.tar.gz").with_suffix(".b")) == "https://example.org/a.tar.b"
    assert str(xPath("/a") / "b") == "/a/b"
    (tmp_path / "a.txt").write_text("hello")
    file = xPath(tmp_path) / "a.txt"
    assert file.exists()
    with file.open() as opened:
        assert opened.read() == "hello"
    assert xPath(tmp_path).glob("*") == [file]
