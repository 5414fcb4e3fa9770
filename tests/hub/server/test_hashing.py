"""Ids of files, LFS rules, and what makes a repository's commit: without HTTP."""

import hashlib
import itertools
import os
import shutil
import subprocess

import pytest

from gristmill.hub.server.hashing import ChangedWhileRead, Hasher, LfsRules, blob_id, pointer_text
from gristmill.hub.server.repos import Hub, valid_id
from gristmill.hub.server.snapshots import make_snapshot
from gristmill.hub.server.walk import Stamp, walk
from tests.hub.server.conftest import FILES, write


@pytest.fixture
def found(tmp_path):
    write(tmp_path / "hub/repo", {"a.txt": b"content"})
    return walk(tmp_path / "hub/repo", tmp_path / "hub")["a.txt"]


def test_hashes(found):
    hasher = Hasher()
    assert hasher.hash(found, lfs=True) == hashlib.sha256(b"content").hexdigest()
    assert hasher.hash(found, lfs=False) == hashlib.sha1(b"blob 7\0content").hexdigest()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_blob_ids_are_those_of_git(found):
    done = subprocess.run(["git", "hash-object", str(found.file)], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == Hasher().hash(found, lfs=False) == blob_id(b"content")


def test_a_file_is_read_once_as_long_as_it_does_not_change(found, monkeypatch):
    numbers = itertools.count(1)
    monkeypatch.setattr("gristmill.hub.server.hashing._read", lambda found, lfs: str(next(numbers)))
    monkeypatch.setattr("time.time_ns", lambda: found.stamp.ctime_ns + 10**9)
    hasher = Hasher()
    assert [hasher.hash(found, lfs=False) for _ in range(3)] == ["1", "1", "1"]


def test_a_file_changed_a_moment_ago_is_read_again(found, monkeypatch):
    numbers = itertools.count(1)
    monkeypatch.setattr("gristmill.hub.server.hashing._read", lambda found, lfs: str(next(numbers)))
    monkeypatch.setattr("time.time_ns", lambda: found.stamp.ctime_ns + 1000)
    hasher = Hasher()
    assert [hasher.hash(found, lfs=False) for _ in range(3)] == ["1", "2", "3"]


def test_a_change_under_the_hash_is_noticed(found):
    found.file.write_bytes(b"another")
    with pytest.raises(ChangedWhileRead):
        Hasher().hash(found, lfs=False)
    found.file.unlink()
    with pytest.raises(ChangedWhileRead):
        Hasher().hash(found, lfs=False)


def test_odd_times_can_be_told(found):
    for seconds in (-(10**9), 0, 10**12):
        stamp = Stamp(1, 1, 1, seconds * 10**9, 0)
        assert 0 <= stamp.modified < 10**12
    os.utime(found.file, (2**33, 2**33))
    assert Stamp.of(found.file.stat()).modified == 2**33


@pytest.mark.parametrize(
    ("path", "size", "expected"),
    [
        ("a.parquet", 1, True),
        ("a.PARQUET", 1, True),
        ("d/x.npz", 1, True),
        ("x.json.gz", 1, True),
        ("x.zst", 1, True),
        ("a.csv", 1, False),
        ("README.md", 1, False),
        ("parquet", 1, False),
        ("x.gz/notes", 1, False),
        ("a.csv", 10 * 1024 * 1024, False),
        ("a.csv", 10 * 1024 * 1024 + 1, True),
        ("a.parquet", 0, False),
    ],
)
def test_the_usual_lfs_files(path, size, expected):
    assert LfsRules(None).matches(path, size) is expected


def test_lfs_files_by_gitattributes():
    rules = LfsRules(
        "# comment\n\n*.csv filter=lfs diff=lfs merge=lfs -text\nsmall/*.csv -filter\nraw/**/*.txt filter=lfs\n"
        "/top.bin filter=lfs\n*a*b*c*d*e*f filter=lfs\n*.txt text\n"
    )
    lfs = ["a.csv", "d/a.csv", "small/deep/a.csv", "raw/a.txt", "raw/x/y/a.txt", "top.bin"]
    assert all(rules.matches(path, 5) for path in lfs)
    regular = ["small/a.csv", "a.txt", "d/top.bin", "a.parquet", "abcdef", "README.md"]
    assert not any(rules.matches(path, 5) for path in regular)


def test_a_repository_s_own_gitattributes_count(tmp_path):
    write(
        tmp_path / "datasets/o/r", {".gitattributes": b"*.txt filter=lfs\n", "a.txt": b"a", "b.parquet": b"b"}
    )
    repo = Hub(tmp_path).find("datasets", "o/r")
    assert repo is not None
    entries = repo.head().entries
    assert {path: entry.sha256 is not None for path, entry in entries.items()} == {
        ".gitattributes": False,
        "a.txt": True,
        "b.parquet": False,
    }
    assert entries["a.txt"].blob_id == blob_id(pointer_text(hashlib.sha256(b"a").hexdigest(), 1))


def test_snapshots(tmp_path):
    write(tmp_path / "datasets/o/r", FILES)
    hub = Hub(tmp_path)
    hub.look_after()
    repo = hub.find("datasets", "o/r")
    assert repo is not None
    head = repo.head()
    assert list(head.entries) == sorted(FILES)
    assert list(head.folders) == ["data", "docs", "docs/deep"]
    assert make_snapshot("main", reversed(list(head.entries.values()))).commit == head.commit
    assert make_snapshot("other", head.entries.values()).commit != head.commit
    assert hub.find("datasets", "o/r") is repo
    data = head.folders["data"].oid
    write(tmp_path / "datasets/o/r", {"notes.txt": b"new"})
    repo.distrust()
    assert repo.head().folders["data"].oid == data
    assert repo.head().commit != head.commit


@pytest.mark.parametrize(
    "good", ["a/b", "HuggingFaceFW/fineweb-2", "org/a.b_c", "0/0", "_a/b_", f"a/{'b' * 94}"]
)
def test_ids(good):
    assert valid_id(good)


@pytest.mark.parametrize(
    "bad",
    ["", "a", "a/b/c", "a/", "/a", "a/..", "../a", "a/b..c", "a/-b", "a/b-", "a/.b", "a/b.", "a/b--c", "a/b.git",
     "a/b c", "a/b\n", "a/ü", "a/b\0", "a\\b/c", f"a/{'b' * 95}"],
)  # fmt: skip
def test_ids_that_are_none(bad, tmp_path):
    assert not valid_id(bad)
    assert Hub(tmp_path).find("datasets", bad) is None
