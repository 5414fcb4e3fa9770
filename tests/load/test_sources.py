"""Data files wherever they are: other file systems, inside archives, buckets, URLs in cards."""

import gzip
import tarfile
import zipfile

import fsspec
import pytest

from gristmill import config
from gristmill.dataset import Dataset
from gristmill.errors import (
    CardError,
    DataFilesNotFoundError,
    DatasetNotFoundError,
    DatasetUnreachableError,
    FileFormatError,
    FileMissingError,
    InvalidArgumentError,
    UnsafePathError,
)
from gristmill.load import load_dataset
from tests.hub.buckets import BucketHub


@pytest.fixture
def shelf():
    """A file system of its own with a few files."""
    system = fsspec.filesystem("memory")
    files = {
        "train-0.csv": b"a\n1\n", "train-10.csv": b"a\n3\n", "train-2.csv": b"a\n2\n", "test.csv": b"a\n4\n",
        ".hidden.csv": b"a\n9\n", "deep/x/test.csv": b"a\n5\n",
    }  # fmt: skip
    for name, data in files.items():
        system.pipe(f"/shelf/{name}", data)
    yield "memory://shelf"
    system.rm("/shelf", recursive=True)


def rows(*arguments, **options):
    return {name: part["a"][:] for name, part in load_dataset(*arguments, **options).items()}


def test_files_of_other_file_systems(shelf):
    assert rows("csv", data_files=f"{shelf}/train-0.csv") == {"train": [1]}
    assert rows("csv", data_files=f"{shelf}/train-*.csv") == {"train": [1, 2, 3]}
    assert rows("csv", data_files={"x": f"{shelf}/test.csv", "y": [f"{shelf}/deep"]}) == {"x": [4], "y": [5]}
    assert rows("csv", data_dir=shelf) == {"train": [1, 2, 3], "test": [5, 4]}
    assert rows("csv", data_dir=shelf, data_files="train-2.csv") == {"train": [2]}
    origins = load_dataset("csv", data_files=f"{shelf}/test.csv", split="train").origins().to_pylist()
    assert origins[0]["file"] == "memory:///shelf/test.csv"
    with pytest.raises(DataFilesNotFoundError, match=r"nope\.csv"):
        load_dataset("csv", data_files=f"{shelf}/nope.csv")
    with pytest.raises(InvalidArgumentError, match="nosuch"):
        load_dataset("csv", data_files="nosuch://shelf/a.csv")


def test_a_changed_file_is_read_again(shelf):
    load = {"data_files": f"{shelf}/test.csv"}
    assert rows("csv", **load) == {"train": [4]}
    fsspec.filesystem("memory").pipe("/shelf/test.csv", b"a\n44\n")
    assert rows("csv", **load) == {"train": [44]}


def test_options_reach_the_file_system(shelf, monkeypatch):
    seen = []
    real = fsspec.core.url_to_fs

    def spy(url, **options):
        seen.append(options)
        return real(url)

    monkeypatch.setattr(fsspec.core, "url_to_fs", spy)
    rows("csv", data_files=f"{shelf}/test.csv", storage_options={"key": "k"})
    rows("csv", data_files=f"{shelf}/deep", storage_options={"memory": {"key": "m"}, "s3": {"key": "s"}})
    assert {"key": "k"} in seen
    assert {"key": "m"} in seen
    with pytest.raises(InvalidArgumentError, match="storage_options"):
        load_dataset("csv", data_files=f"{shelf}/test.csv", storage_options=["key"])


def test_from_files_of_other_file_systems(shelf):
    assert Dataset.from_csv(f"{shelf}/train-*.csv", storage_options={"key": "k"})["a"][:] == [1, 2, 3]
    assert Dataset.from_text(f"{shelf}/test.csv", num_proc=2)["text"][:] == ["a", "4"]


def test_file_urls(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    assert rows("csv", data_files=f"file://{tmp_path}/a.csv") == {"train": [1]}
    assert rows("csv", data_files=f"local://{tmp_path}/*.csv") == {"train": [1]}


@pytest.fixture
def outer(tmp_path):
    path = tmp_path / "outer.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {"data/train.csv": "a\n1\n", "data/test.csv": "a\n2\n", "notes.txt": "a"}.items():
            archive.writestr(name, text)
    return path


def test_files_in_archives(outer, tmp_path):
    assert rows("csv", data_files=f"zip://data/test.csv::{outer}") == {"train": [2]}
    assert rows("csv", data_files=f"zip://data/*.csv::{outer}") == {"train": [2, 1]}
    assert rows("csv", data_files={"x": f"zip://*/train.csv::file://{outer}"}) == {"x": [1]}
    named = load_dataset("csv", data_files=f"zip://data/test.csv::{outer}", split="train")
    assert named.origins().to_pylist()[0]["file"] == f"zip://data/test.csv::{outer}"
    with tarfile.open(tmp_path / "more.tar.gz", "w:gz") as archive:
        archive.add(outer, "in/outer.zip")
    assert rows("csv", data_files=f"zip://data/*.csv::tar://in/outer.zip::{tmp_path}/more.tar.gz") == {
        "train": [2, 1]
    }
    with pytest.raises(DataFilesNotFoundError, match=r"train\.csv"):
        load_dataset("csv", data_files=f"zip://data/trian.csv::{outer}")


def test_archives_elsewhere(outer):
    system = fsspec.filesystem("memory")
    system.put_file(str(outer), "/zips/outer.zip")
    system.pipe("/zips/b.csv.gz", gzip.compress(b"a\n7\n"))
    try:
        assert rows("csv", data_files="zip://data/test.csv::memory://zips/outer.zip") == {"train": [2]}
        assert rows("csv", data_files="zip://data/*::memory://zips/outer.zip") == {"train": [2, 1]}
        assert rows("csv", data_files="gzip://b.csv::memory://zips/b.csv.gz") == {"train": [7]}
        assert rows("csv", data_files="simplecache::memory://zips/b.csv.gz") == {"train": [7]}
        with pytest.raises(FileMissingError, match="nope"):
            load_dataset("csv", data_files="zip://nope.csv::memory://zips/outer.zip")
    finally:
        system.rm("/zips", recursive=True)


@pytest.mark.parametrize(
    ("chain", "error"),
    [
        ("zip://a.csv", InvalidArgumentError),
        ("ftp2://a.csv::{}", InvalidArgumentError),
        ("::".join(["zip://a"] * 30) + "::{}", InvalidArgumentError),
        ("zip://../a.csv::{}", UnsafePathError),
        ("zip://a.csv::{}.csv", FileFormatError),
        ("::", DataFilesNotFoundError),
        ("zip://", InvalidArgumentError),
    ],
)
def test_chains_that_lead_nowhere(outer, chain, error):
    outer.with_name("outer.zip.csv").write_text("a\n1\n")
    with pytest.raises(error):
        load_dataset("csv", data_files=chain.format(outer))


FILES = {
    "poems/README.md": b"---\nlicense: mit\nconfigs:\n- config_name: en\n  data_files: en/*.csv\n- config_name: fr\n  data_files: fr.csv\n---\n",
    "poems/en/a.csv": b"a\n1\n",
    "poems/en/b.csv": b"a\n2\n",
    "poems/fr.csv": b"a\n3\n",
    "poems2/x.csv": b"a\n4\n",
}


def test_buckets(tmp_path):
    with BucketHub(dict(FILES)) as hub, config.override(HF_ENDPOINT=hub.url, HF_HUB_OFFLINE=False):
        en = load_dataset("buckets/me/data/poems", "en", split="train")
        assert en["a"][:] == [1, 2]
        assert en.info.license == "mit"
        assert en.origins().to_pylist()[1]["file"] == "en/b.csv"
        assert en.origins().to_pylist()[1]["source"] == "buckets/me/data/poems"
        assert rows("buckets/me/data/poems2") == {"train": [4]}
        assert rows("buckets/me/data/poems", data_files="fr.csv") == {"train": [3]}
        assert rows("csv", data_files="hf://buckets/me/data/poems/en/*.csv") == {"train": [1, 2]}
        assert rows("csv", data_files={"x": "hf://buckets/me/data/poems2/x.csv"}) == {"x": [4]}
        with pytest.raises(DatasetNotFoundError, match="no bucket me/other"):
            load_dataset("buckets/me/other")
        for odd in ("buckets/me", "buckets/", "buckets/me/data/../x"):
            with pytest.raises(DatasetNotFoundError):
                load_dataset(odd)
        hub.files["poems/fr.csv"] = b"a\n33\n"
        assert rows("buckets/me/data/poems", "fr") == {"train": [33]}
    with config.override(HF_HUB_OFFLINE=True):
        assert load_dataset("buckets/me/data/poems", "en", split="train")["a"][:] == [1, 2]
        with pytest.raises(DatasetUnreachableError):
            load_dataset("buckets/me/data/poems", "de")


def test_urls_in_a_card(tmp_path):
    with BucketHub(dict(FILES)) as hub, config.override(HF_ENDPOINT=hub.url, HF_HUB_OFFLINE=False):
        url = f"{hub.url}/buckets/me/data/resolve/poems/fr.csv"
        (tmp_path / "x.csv").write_text("a\n8\n")
        (tmp_path / "README.md").write_text(
            f"---\nconfigs: [{{config_name: default, data_files: {{train: ['{url}', x.csv]}}}}]\n---\n"
        )
        assert rows(str(tmp_path)) == {"train": [3, 8]}


@pytest.mark.parametrize(
    "path",
    ["file:///etc/hostname", "memory://x/a.csv", "zip://a.csv::s3://b/a.zip", "zip://a::file:///a.zip",
     "../x.csv", "/etc/hostname", "a/../../x.csv", "zip://a.csv::../x.zip", "..", "~/x.csv"],
)  # fmt: skip
def test_a_card_leads_nowhere_else(tmp_path, path):
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "x.csv").write_text("a\n1\n")
    (folder / "y.csv").write_text("a\n1\n")
    for entry in (
        f"data_files: '{path}'",
        f"data_files: ['{path}', 'https://x/a.csv']",
        f"data_dir: '{path}'",
    ):
        (folder / "README.md").write_text(f"---\nconfigs:\n- config_name: default\n  {entry}\n---\n")
        with pytest.raises((CardError, UnsafePathError, DataFilesNotFoundError)):
            load_dataset(str(folder))


def test_the_url_of_a_data_file_is_a_name(shelf):
    assert rows(f"{shelf}/test.csv") == rows("csv", data_files=f"{shelf}/test.csv") == {"train": [4]}
    assert next(iter(load_dataset(f"{shelf}/test.csv", split="train", streaming=True))) == {"a": 4}
    with pytest.raises(DataFilesNotFoundError, match=r"shelf/tset\.csv"):
        rows(f"{shelf}/tset.csv")
    for wrong in ("https://huggingface.co/datasets/google/boolq", "hf://datasets/google/boolq"):
        with pytest.raises(InvalidArgumentError, match="by its name alone, namespace/name"):
            rows(wrong)
    with pytest.raises(InvalidArgumentError, match="data_files=URLS"):
        rows(f"{shelf}/test.csv", data_files="a.csv")
