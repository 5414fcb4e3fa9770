"""Folders and files on other file systems."""

from pathlib import Path

import fsspec
import pytest

from gristmill.errors import FileMissingError, InvalidArgumentError
from gristmill.files.remote import download_folder, local_path, upload_folder, uploaded_file


@pytest.fixture
def url(tmp_path):
    return f"memory://{tmp_path.name}"


def test_local_paths():
    assert local_path("a/b") == Path("a/b")
    assert local_path(Path("/a")) == Path("/a")
    assert local_path("file:///a/b") == local_path("local:///a/b") == Path("/a/b")
    assert local_path("s3://bucket/key") is None


def test_up_and_down(tmp_path, url):
    folder = tmp_path / "up"
    (folder / "inner").mkdir(parents=True)
    (folder / "a").write_text("1")
    (folder / "inner" / "b").write_text("2")
    upload_folder(folder, url + "/x")
    download_folder(url + "/x", tmp_path / "down")
    assert (tmp_path / "down" / "inner" / "b").read_text() == "2"
    (folder / "a").unlink()
    upload_folder(folder, url + "/x/")
    assert [name.rpartition("/")[2] for name in fsspec.filesystem("memory").find(f"/{tmp_path.name}")] == [
        "b"
    ]


def test_a_file_that_fails_is_not_put_there(tmp_path, url):

    def fail():
        with uploaded_file(url + "/f.txt") as path:
            path.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert fsspec.filesystem("memory").find(f"/{tmp_path.name}") == []
    with uploaded_file(url + "/f.txt") as path:
        assert path.name == "f.txt"
        path.write_text("whole")
    assert fsspec.filesystem("memory").cat(f"/{tmp_path.name}/f.txt") == b"whole"


def test_what_is_not_there(tmp_path, url):
    with pytest.raises(FileMissingError):
        download_folder(url + "/nothing", tmp_path / "down")
    with pytest.raises(InvalidArgumentError, match="nosuch"):
        download_folder("nosuch://x", tmp_path / "down")
