"""Servers that are killed while they merge, put parts together, or fill buckets: the old is there, or the new."""

import hashlib
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from gristmill.hub.server import lfs_parts, serve_in_thread
from gristmill.hub.server.bucket_files import Buckets
from gristmill.hub.server.changes import commit, create
from gristmill.hub.server.discussions import comment, merge_pull
from gristmill.hub.server.history import History
from gristmill.hub.server.operations import AddStored, Header
from gristmill.hub.server.repos import Hub
from gristmill.hub.server.versioned import VersionedRepo
from tests.hub.server.conftest import Writer, file


def merge_until_killed(root: Path) -> None:
    repo = Hub(root, anyone_writes=True).find("datasets", "org/x")
    assert isinstance(repo, VersionedRepo)
    while True:
        name = f"{len(repo.kept.state().pulls) + 1}.txt"
        added = AddStored(name, None, len(name), repo.kept.add(name.encode()))
        pull = commit(repo, "main", Header(name, "", None), [added], "me", create_pr=True).pull
        assert pull is not None
        comment(repo, pull, "Good", "you")
        merge_pull(repo, pull, "Thanks", "me")


def send_parts_until_killed(root: Path) -> None:
    history = History(root / "datasets/org/x")
    while True:
        data = os.urandom(50_000)
        upload = lfs_parts.begin(history, hashlib.sha256(data).hexdigest(), len(data))
        told = {}
        for number in range(1, upload.count + 1):
            part = data[(number - 1) * upload.part : number * upload.part]
            temporary = upload.temporary()
            temporary.write_bytes(part)
            told[number] = hashlib.sha256(part).hexdigest()
            upload.adopt(number, told[number], temporary)
        upload.complete(told)


def fill_until_killed(root: Path) -> None:
    bucket = Buckets(root).find("org/b")
    assert bucket is not None
    number = 0
    while True:
        number += 1
        temporary = bucket.temporary()
        temporary.write_bytes(b"%d" % (number % 10) * 200_000)
        with bucket.writing():
            bucket.place("d/f.bin", temporary, f"{number:064x}", time.time_ns())
            bucket.remove(f"d/{number - 1}.txt")
        temporary.write_bytes(b"x")
        with bucket.writing():
            bucket.place(f"d/{number}.txt", temporary, "a" * 64, time.time_ns())


def killed(job, root, seconds):
    process = multiprocessing.get_context("fork").Process(target=job, args=(root,))
    process.start()
    process.join(seconds)
    assert process.pid is not None
    assert process.exitcode is None, "it ended by itself"
    os.kill(process.pid, signal.SIGKILL)
    process.join()


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "hub"
    root.mkdir()
    create(Hub(root, anyone_writes=True), "datasets", "org/x", "me", private=False)
    Buckets(root).create("org/b", private=False)
    return root


def test_merging(root):
    for round in range(4):
        killed(merge_until_killed, root, 0.1 + 0.083 * round)
        with serve_in_thread(root, allow_write=True) as endpoint:
            writer = Writer(endpoint)
            there = {each["path"] for each in writer.get("/api/datasets/org/x/tree/main").json}
            history = {each["id"] for each in writer.get("/api/datasets/org/x/commits/main?limit=1000").json}
            for each in writer.get("/api/datasets/org/x/discussions").json["discussions"]:
                told = writer.get(f"/api/datasets/org/x/discussions/{each['num']}").json
                merged = told["status"] == "merged"
                assert (f"{each['num']}.txt" in there) == merged
                assert (told["changes"]["mergeCommitId"] in history) == merged
                if not merged:
                    assert writer.post(f"/api/datasets/org/x/discussions/{each['num']}/merge").status == 200
            name = f"after{round}"
            assert writer.commit(file(name, b"x"), repo="org/x").status == 200


def test_putting_parts_together(root, monkeypatch):
    monkeypatch.setattr(lfs_parts, "PART", 9_000)
    objects = root / "datasets/org/x/.gristmill/objects"
    seen = 0
    for round in range(4):
        killed(send_parts_until_killed, root, 0.1 + 0.071 * round)
        whole = [path for path in objects.glob("*/*") if len(path.name) == 64]
        for path in whole:
            assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
        assert len(whole) >= seen
        seen = len(whole)
    # Nothing of it was committed, and nothing is left a day later.
    monkeypatch.setattr(lfs_parts, "KEEP_SECONDS", -10.0)
    monkeypatch.setattr("gristmill.hub.server.pending.KEEP_SECONDS", -10.0)
    with serve_in_thread(root, allow_write=True) as endpoint:
        writer = Writer(endpoint)
        asked = {"operation": "upload", "transfers": ["basic", "multipart"],
                 "objects": [{"oid": "0" * 64, "size": 30_000}]}  # fmt: skip
        assert writer.post("/datasets/org/x.git/info/lfs/objects/batch", asked).status == 200
    assert [path for path in objects.glob("*/*") if len(path.name) == 64] == []
    assert len(list((root / "datasets/org/x/.gristmill/parts").iterdir())) == 1


def test_filling_a_bucket(root):
    for round in range(4):
        killed(fill_until_killed, root, 0.1 + 0.059 * round)
        bucket = Buckets(root).find("org/b")
        assert bucket is not None
        found = bucket.files()
        if "d/f.bin" not in found:  # killed before the first was there
            assert found == {}
            continue
        content = (root / "buckets/org/b/d/f.bin").read_bytes()
        assert content == content[:1] * 200_000
        assert set(found) - {"d/f.bin"} <= {path for path in found if path.endswith(".txt")}
        assert len(found) <= 2 + round * 2
        with serve_in_thread(root, allow_write=True) as endpoint:
            assert Writer(endpoint).get("/buckets/org/b/resolve/d/f.bin").body == content
        bucket.temporary()  # a next upload removes what dead ones left
        assert list((root / "buckets/org/b/.gristmill/tmp").iterdir()) == []
