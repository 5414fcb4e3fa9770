import pytest

from gristmill.errors import (
    DataFilesNotFoundError,
    FileError,
    IncompleteBodyError,
    InvalidArgumentError,
    RepoNotFoundError,
)
from gristmill.hub.shards import download_shards
from tests.hub.conftest import FILES
from tests.hub.faulty import REPO, drop

SHARDS = {f"data/train-{i}.parquet": bytes([i]) * (1000 + i) for i in (0, 1, 2, 9, 10, 11)}


@pytest.fixture
def sharded(hub):
    hub.files.clear()
    hub.files.update({"README.md": FILES["README.md"], "other/x.parquet": b"x", **SHARDS})
    return hub


def downloads(hub):
    return [seen.path for seen in hub.seen if "/resolve/" in seen.path]


def test_a_range_of_shards_lands_in_a_folder(sharded, client, tmp_path):
    got = download_shards(REPO, 2, 4, folder=tmp_path / "out", pattern="data/*.parquet", client=client)
    assert [number for number, _ in got.files] == [2, 3, 4]
    # In the order of the numbers in the names: 9 comes before 10.
    assert [path.name for path in got.local] == ["train-2.parquet", "train-9.parquet", "train-10.parquet"]
    for path in got.local:
        assert path.read_bytes() == SHARDS[f"data/{path.name}"]
    assert (got.total, got.skipped) == (6, 0)
    names = sorted(p.name for p in (tmp_path / "out" / "data").iterdir())
    assert names == ["train-10.parquet", "train-2.parquet", "train-9.parquet"]


def test_what_is_there_is_skipped(sharded, client, tmp_path):
    download_shards(REPO, 0, folder=tmp_path, pattern="data/*", client=client)
    before = len(downloads(sharded))
    got = download_shards(REPO, 0, 1, folder=tmp_path, pattern="data/*", client=client)
    assert got.skipped == 1
    assert len(downloads(sharded)) == before + 1
    # One that has another size is no whole shard: it comes anew.
    (tmp_path / "data/train-0.parquet").write_bytes(b"short")
    download_shards(REPO, 0, folder=tmp_path, pattern="data/*", client=client)
    assert (tmp_path / "data/train-0.parquet").read_bytes() == SHARDS["data/train-0.parquet"]


def test_a_broken_download_leaves_no_shard_and_goes_on_later(sharded, client, tmp_path):
    sharded.script("train-0.parquet", *[drop(100)] * 4)
    with pytest.raises((IncompleteBodyError, OSError)):
        download_shards(REPO, 0, folder=tmp_path, pattern="data/*", client=client)
    assert not (tmp_path / "data/train-0.parquet").exists()
    [part] = (tmp_path / "data").glob(".train-0.parquet.*.part")
    assert part.stat().st_size >= 100
    [path] = download_shards(REPO, 0, folder=tmp_path, pattern="data/*", client=client).local
    assert path.read_bytes() == SHARDS["data/train-0.parquet"]
    assert (
        sharded.seen[-1].headers.get("range", sharded.seen[-1].headers.get("Range", "")).startswith("bytes=")
    )
    assert list((tmp_path / "data").iterdir()) == [path]


def test_a_list_without_numbers(sharded, client, tmp_path):
    got = download_shards(REPO, folder=tmp_path / "out", client=client)
    assert [file.path for _, file in got.files] == [*SHARDS, "other/x.parquet"]
    assert got.local == ()
    assert not (tmp_path / "out").exists()
    assert downloads(sharded) == []


def test_what_is_not_there(sharded, client, tmp_path):
    with pytest.raises(
        InvalidArgumentError, match=r'neither a known name nor namespace/name\. Did you mean "fineweb"'
    ):
        download_shards("finewep", 0, client=client)
    with pytest.raises(InvalidArgumentError, match="they go from 0 to 5"):
        download_shards(REPO, 3, 6, folder=tmp_path, pattern="data/*", client=client)
    with pytest.raises(InvalidArgumentError, match="no shards 2 to 1"):
        download_shards(REPO, 2, 1, folder=tmp_path, pattern="data/*", client=client)
    with pytest.raises(DataFilesNotFoundError, match=r'fits "\*\.csv"'):
        download_shards(REPO, 0, folder=tmp_path, pattern="*.csv", client=client)
    with pytest.raises(RepoNotFoundError):
        download_shards("fineweb", 0, folder=tmp_path, client=client)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError):
        download_shards(REPO, 0, folder=tmp_path / "file", pattern="data/*", client=client)
