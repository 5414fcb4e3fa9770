"""Commits of many files: one wait for the disk, names only after it, and all of it or nothing after a kill at any moment."""

import base64
import errno
import io
import itertools
import json
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gristmill.files.durable import Durable
from gristmill.hub.server import commit_api, pending, serve_in_thread
from gristmill.hub.server.changes import commit, create
from gristmill.hub.server.hashing import blob_id
from gristmill.hub.server.history import History
from gristmill.hub.server.intake import Intake
from gristmill.hub.server.repos import Hub
from gristmill.hub.server.versioned import VersionedRepo
from tests.hub.server.conftest import Writer, file
from tests.processes import Forks


def objects(folder):
    return {path.name for path in folder.glob("datasets/*/*/.gristmill/objects/*/*")}


def test_many_files_are_waited_for_at_once(writer, folder, monkeypatch):
    waits = []
    contents = {blob_id(b"content %d" % number): b"content %d" % number for number in range(1000)}
    before = objects(folder)
    wait = Durable.wait

    def noted(self, paths):
        named = objects(folder) - before
        whole = sum(
            path.is_file() and path.read_bytes() == contents[path.name]
            for path in paths
            if path.name in contents
        )
        waits.append((len(named), whole))
        wait(self, paths)

    monkeypatch.setattr(Durable, "wait", noted)
    added = [file(f"d{number % 7}/{number}", b"content %d" % number) for number in range(1000)]
    assert writer.commit(*added, file("same", b"content 7")).status == 200
    # The contents before any has its name, then the names before the commit is written.
    assert waits == [(0, 1000), (1000, 0)]
    assert objects(folder) - before == set(contents)
    assert len(writer.get("/api/datasets/org/new").json["siblings"]) == 1002
    for number in (0, 123, 999):
        path = f"/datasets/org/new/resolve/main/d{number % 7}/{number}"
        assert writer.get(path).body == b"content %d" % number
    home = folder / "datasets/org/new/.gristmill"
    assert not list((home / "tmp").iterdir())
    assert not list((home / "pending").iterdir())


def test_reads_and_other_commits_go_on_while_the_disk_is_waited_for(writer, folder, monkeypatch):
    assert writer.commit(file("old", b"old")).status == 200
    slow, entered, wait = threading.Event(), threading.Event(), Durable.wait

    def held(self, paths):
        if any(path.name == blob_id(b"slow") for path in paths):
            entered.set()
            assert slow.wait(60)
        wait(self, paths)

    monkeypatch.setattr(Durable, "wait", held)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(writer.commit, file("new", b"slow"))
        try:
            assert entered.wait(60)
            assert writer.get("/datasets/org/new/resolve/main/old").body == b"old"
            assert writer.commit(file("quick", b"quick")).status == 200
            assert writer.get("/datasets/org/new/resolve/main/quick").body == b"quick"
            assert writer.get("/datasets/org/new/resolve/main/new").status == 404
        finally:
            slow.set()
        assert answer.result().status == 200
    for path, content in {"old": b"old", "new": b"slow", "quick": b"quick"}.items():
        assert writer.get(f"/datasets/org/new/resolve/main/{path}").body == content


def test_a_disk_that_fails_leaves_nothing(writer, folder, monkeypatch):
    before, head = objects(folder), writer.get("/api/datasets/org/new").json["sha"]

    def full(self, paths):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Durable, "wait", full)
        assert writer.commit(file("a", b"a"), file("b", b"b")).status == 507
    assert objects(folder) == before
    assert not list(folder.glob("datasets/org/new/.gristmill/tmp/*"))
    assert writer.get("/api/datasets/org/new").json["sha"] == head
    assert writer.commit(file("a", b"a")).status == 200


def test_what_another_commit_is_still_waiting_for_is_not_trusted(writer, folder):
    history = History(folder / "datasets/org/new")
    id = blob_id(b"shared")
    with Intake(history) as first:
        first.add(b"shared", id)
        assert not history.has(id)
        # So the second one stores it by itself, and waits for it by itself.
        assert writer.commit(file("b", b"shared")).status == 200
        assert history.has(id, 6)
        first.finish()
    assert writer.get("/datasets/org/new/resolve/main/b").body == b"shared"


def test_names_that_another_process_gave_are_waited_for(writer, folder, monkeypatch):
    history = History(folder / "datasets/org/new")
    with Intake(history) as first:
        first.add(b"shared", blob_id(b"shared"))
        first.finish()
    waited = []
    wait = Durable.wait

    def watched(self, paths):
        waited.extend(paths)
        wait(self, paths)

    monkeypatch.setattr(Durable, "wait", watched)
    assert writer.commit(file("b", b"shared")).status == 200
    assert history.object(blob_id(b"shared")).parent in waited


def test_a_note_stays_until_a_commit_has_all_of_it(writer, folder, monkeypatch):
    gone = ("deletedFile", {"path": "b"})
    assert writer.commit(file("a", b"kept"), file("b", b"dropped"), gone).status == 200
    assert len(list(folder.glob("datasets/org/new/.gristmill/pending/commit-*"))) == 1
    monkeypatch.setattr("gristmill.hub.server.pending.KEEP_SECONDS", -10.0)
    pending.sweep(History(folder / "datasets/org/new"))
    assert {blob_id(b"kept"), blob_id(b"dropped")} & objects(folder) == {blob_id(b"kept")}
    assert not list(folder.glob("datasets/org/new/.gristmill/pending/*"))


def test_what_is_wanted_again_is_not_swept(writer, folder):
    history = History(folder / "datasets/org/new")
    stale = writer.commit(file("a.txt", b"wanted again"), parent="0" * 40)
    assert stale.status == 412
    [note] = folder.glob("datasets/org/new/.gristmill/pending/commit-*")
    long_ago = time.time() - 10 * pending.KEEP_SECONDS
    os.utime(note, (long_ago, long_ago))
    with pending.CommitNote(history) as mine:
        mine.add(blob_id(b"wanted again"))
        pending.sweep(history)
    assert history.has(blob_id(b"wanted again"))
    assert not note.exists()
    mine.settle({blob_id(b"wanted again")})


def test_what_a_sweep_that_was_killed_had_in_its_hands_comes_back(writer, folder):
    assert writer.commit(file("a.txt", b"a")).status == 200
    history = History(folder / "datasets/org/new")
    aside = history.inside("removing") / blob_id(b"a")
    history.object(blob_id(b"a")).replace(aside)
    with history.writing():
        assert pending.remove(history, [], lambda ids: ids) == (0, 0)
    assert history.has(blob_id(b"a"), 1)
    assert not aside.exists()


def test_what_is_noted_while_it_is_being_removed_stays(writer, folder):
    history = History(folder / "datasets/org/new")
    history.add(b"in flight")
    history.add(b"not wanted")
    both = {blob_id(b"in flight"), blob_id(b"not wanted")}
    replace = Path.replace

    def noting(self, target):
        if self.name == blob_id(b"in flight"):
            pending.note(history, self.name)
        return replace(self, target)

    with history.writing(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", noting)
        assert pending.remove(history, both, lambda ids: set()) == (1, 10)
    assert objects(folder) & both == {blob_id(b"in flight")}


COUNT = 12
EVENTS = ("open", "os.rename", "os.mkdir", "os.link", "os.remove", "os.rmdir")


def commit_and_die(root: Path, number: int, at: int) -> None:
    """Makes a commit of many files and ends at the given event of the file system."""
    repo = Hub(root, anyone_writes=True).find("datasets", "org/x")
    assert isinstance(repo, VersionedRepo)
    seen = [0]

    def count(event: str, _arguments: object) -> None:
        if event in EVENTS:
            seen[0] += 1
            if seen[0] == at:
                os.kill(os.getpid(), signal.SIGKILL)

    lines: list[dict[str, object]] = [{"key": "header", "value": {"summary": f"number {number}"}}]
    for each in range(COUNT):
        content = base64.b64encode(b"%d of %d" % (each, number)).decode()
        lines.append({"key": "file", "value": {"path": f"{each}", "content": content, "encoding": "base64"}})
    body = io.BytesIO("\n".join(map(json.dumps, lines)).encode())
    sys.addaudithook(count)
    header, operations, note = commit_api._read_commit(body, repo.kept)
    commit(repo, "main", header, operations, "me", create_pr=False, note=note)
    (root / "events").write_text(str(seen[0]))


PROGRAM = """
from pathlib import Path
from tests.hub.server.test_intake import commit_and_die
def run(root, number, at):
    commit_and_die(Path(root), int(number), int(at))
"""


def test_killed_at_any_event_all_of_a_commit_is_there_or_nothing(tmp_path, monkeypatch):
    root = tmp_path / "hub"
    root.mkdir()
    create(Hub(root, anyone_writes=True), "datasets", "org/x", "me", private=False)
    newest = 0
    with Forks(PROGRAM) as forks, serve_in_thread(root, allow_write=True) as endpoint:
        forks.start(root, 0, 0)
        assert forks.end() == 0
        events = int((root / "events").read_text())
        writer = Writer(endpoint)
        # Some of the moments while contents come in, then each until it gets through; what was left makes it longer.
        points = itertools.chain(range(1, events - 20, 7), itertools.count(max(events - 20, 1)))
        for number, at in enumerate(points, 1):
            assert at < 2 * events
            forks.start(root, number, at)
            ended = forks.end()
            assert ended in (-signal.SIGKILL, 0)
            title = writer.get("/api/datasets/org/x/commits/main").json[0]["title"]
            assert title in (f"number {newest}", f"number {number}")
            newest = int(title.split()[1])
            for each in (0, COUNT // 2, COUNT - 1):
                got = writer.get(f"/datasets/org/x/resolve/main/{each}").body
                assert got == b"%d of %d" % (each, newest)
            if ended == 0:
                break
        assert newest > 0
        assert writer.commit(file("after", b"after"), repo="org/x").status == 200
        home = root / "datasets/org/x/.gristmill"
        assert not list((home / "tmp").iterdir())
        monkeypatch.setattr("gristmill.hub.server.pending.KEEP_SECONDS", -10.0)
        pending.sweep(History(root / "datasets/org/x"))
        named = {
            row[2]
            for tree in (home / "trees").glob("*.json")
            for row in json.loads(tree.read_text())["files"]
        }
        assert objects(root) == named
