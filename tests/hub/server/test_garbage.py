"""What no ref reaches is freed, and nothing else: beside a server, beside pushes, and when it is killed."""

import json
import os
import signal
import sys
import threading
import time

import pytest

from gristmill.cli.main import main
from gristmill.errors import InvalidArgumentError
from gristmill.files.atomic import temporary_name
from gristmill.hub.server import collect_garbage, pending, serve_in_thread
from gristmill.hub.server.changes import create
from gristmill.hub.server.garbage import Collected
from gristmill.hub.server.hashing import blob_id
from gristmill.hub.server.history import History
from gristmill.hub.server.intake import Intake
from gristmill.hub.server.repos import Hub
from tests.hub.server.conftest import Writer, file, write
from tests.processes import Forks

API = "/api/datasets/org/new"


def objects(folder, repo="org/new"):
    return {path.name for path in folder.glob(f"datasets/{repo}/.gristmill/objects/*/*")}


def body(writer, revision, path="a.txt"):
    answer = writer.get(f"/datasets/org/new/resolve/{revision}/{path}")
    return answer.body if answer.status == 200 else answer.status


@pytest.fixture
def grown(writer):
    """Three versions of a file: the first with a tag, the second squashed away, the third the head."""
    commits = [writer.commit(file("a.txt", b"version %d" % n)).json["commitOid"] for n in (1, 2, 3)]
    assert writer.post(f"{API}/tag/{commits[0]}", {"tag": "v1"}).status == 200
    assert writer.post(f"{API}/super-squash/main", {"message": "one"}).status == 200
    return commits


def test_what_was_squashed_away_goes(writer, folder, grown):
    assert [body(writer, commit) for commit in grown] == [b"version 1", b"version 2", b"version 3"]
    expected = [Collected("datasets", "org/new", commits=2, contents=1, size=9)]
    assert collect_garbage(folder, dry_run=True) == expected
    assert body(writer, grown[1]) == b"version 2"
    assert collect_garbage(folder) == expected
    assert collect_garbage(folder) == []
    # The server knew them, and says what is true now.
    assert [body(writer, commit) for commit in grown] == [b"version 1", 404, 404]
    assert writer.get(f"{API}/revision/{grown[1]}").code == "RevisionNotFound"
    assert writer.get(f"{API}/revision/{grown[1][:12]}").code == "RevisionNotFound"
    assert body(writer, "main") == b"version 3"
    assert body(writer, "v1") == b"version 1"
    assert writer.commit(file("b.txt", b"version 2")).status == 200
    assert body(writer, "main", "b.txt") == b"version 2"


def test_deleted_branches_and_closed_pull_requests(writer, folder):
    head = writer.commit(file("a.txt", b"main")).json["commitOid"]
    assert writer.post(f"{API}/branch/side").status == 200
    side = writer.commit(file("a.txt", b"side"), revision="side").json["commitOid"]
    pull = writer.commit(file("p.txt", b"pull"), query="?create_pr=1").json["commitOid"]
    assert writer.post(f"{API}/discussions/1/status", {"status": "closed"}).status == 200
    assert collect_garbage(folder) == []
    assert writer.post(f"{API}/branch/side", method="DELETE").status == 200
    assert collect_garbage(folder, ["org/new"]) == [Collected("datasets", "org/new", 1, 1, 4)]
    assert body(writer, side) == 404
    # A closed pull request can be opened again, so it stays.
    assert body(writer, pull, "p.txt") == b"pull"
    # So does what it began from, when its branch has a new history.
    assert writer.post(f"{API}/super-squash/main", {"message": "one"}).status == 200
    assert collect_garbage(folder) == []
    assert body(writer, head) == b"main"
    assert writer.post(f"{API}/discussions/1/status", {"status": "open"}).status == 200
    assert writer.post(f"{API}/discussions/1/merge", {}).status == 200
    assert body(writer, "main", "p.txt") == b"pull"


def test_what_waits_for_its_commit_stays(writer, folder, grown):
    oid = writer.send_lfs(b"sent and not committed")
    stale = writer.commit(file("n.txt", b"refused"), parent="0" * 40)
    assert stale.status == 412
    assert collect_garbage(folder) == [Collected("datasets", "org/new", 2, 1, 9)]
    assert {oid, blob_id(b"refused")} <= objects(folder)
    assert writer.commit(("lfsFile", {"path": "x.bin", "oid": oid})).status == 200


def test_what_a_client_was_told_to_be_there_stays(writer, folder):
    oid = writer.send_lfs(b"large")
    assert writer.commit(("lfsFile", {"path": "x.bin", "oid": oid})).status == 200
    assert writer.commit(("deletedFile", {"path": "x.bin"})).status == 200
    assert writer.post(f"{API}/super-squash/main", {"message": "one"}).status == 200
    # A push begins, and is told that it need not send the content.
    asked = {"operation": "upload", "objects": [{"oid": oid, "size": 5}]}
    answer = writer.post("/datasets/org/new.git/info/lfs/objects/batch", asked).json
    assert "actions" not in answer["objects"][0]
    [done] = collect_garbage(folder)
    assert (done.commits, done.contents) == (3, 0)
    assert writer.commit(("lfsFile", {"path": "y.bin", "oid": oid})).status == 200
    assert body(writer, "main", "y.bin") == b"large"
    assert not list(folder.glob("datasets/org/new/.gristmill/pending/*"))


def test_a_commit_that_is_being_received(writer, folder, grown):
    history = History(folder / "datasets/org/new")
    id = blob_id(b"version 2")
    with Intake(history), pending.CommitNote(history) as note:
        note.add(id)
        assert history.has(id)  # so it is not stored again
        [done] = collect_garbage(folder)
        assert (done.commits, done.contents) == (2, 0)
        assert history.has(id)


def test_beside_many_pushes(writer, folder):
    wrong = []

    def push(number):
        for round in range(8):
            # The same contents over and over: some are garbage at the time.
            sent = [file(f"{number}/{each}.txt", b"%d" % ((round + each) % 3)) for each in range(5)]
            if writer.commit(*sent, revision="main").status != 200:
                wrong.append((number, round))

    threads = [threading.Thread(target=push, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        writer.post(f"{API}/super-squash/main", {"message": "one"})
        assert not any(each.failed for each in collect_garbage(folder))
    for thread in threads:
        thread.join()
    assert not wrong
    for number in range(3):
        for each in range(5):
            assert body(writer, "main", f"{number}/{each}.txt") == b"%d" % ((7 + each) % 3)


def collect_and_die(root, at):
    seen = [0]

    def count(event, _arguments):
        if event in ("os.rename", "os.remove", "open", "os.mkdir"):
            seen[0] += 1
            if seen[0] == at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    collect_garbage(root)


PROGRAM = """
from tests.hub.server.test_garbage import collect_and_die
def run(root, at):
    collect_and_die(root, int(at))
"""


def test_killed_at_any_event_what_is_reached_is_there(tmp_path):
    create(Hub(tmp_path, anyone_writes=True), "datasets", "org/new", "me", private=False)
    with Forks(PROGRAM) as forks, serve_in_thread(tmp_path, allow_write=True) as endpoint:
        writer = Writer(endpoint)
        for at in range(1, 80, 6):
            for number in range(3):
                assert writer.commit(file("a.txt", b"%d %d" % (at, number))).status == 200
            assert writer.post(f"{API}/super-squash/main", {"message": "one"}).status == 200
            forks.start(tmp_path, at)
            assert forks.end() in (-signal.SIGKILL, 0)
            assert body(writer, "main") == b"%d 2" % at
        assert not any(each.failed for each in collect_garbage(tmp_path))
        assert collect_garbage(tmp_path) == []
        head = History(tmp_path / "datasets/org/new").state().heads["main"]
        home = tmp_path / "datasets/org/new/.gristmill"
        assert [path.stem for path in (home / "commits").iterdir()] == [head]
        assert [path.stem for path in (home / "trees").iterdir()] == [head]
        assert len(objects(tmp_path)) == 2
        assert not list((home / "removing").iterdir())


def test_a_damaged_repository_is_left_as_it_is(writer, folder, grown, capsys):
    home = folder / "datasets/org/new/.gristmill"
    (home / "trees" / f"{grown[0]}.json").unlink()
    before = objects(folder)
    [told] = collect_garbage(folder)
    assert f"{grown[0]}.json is missing" in told.failed
    assert objects(folder) == before
    assert main(["hub", "gc", str(folder), "--yes"]) == 1
    assert "stays as it is" in capsys.readouterr().err


def test_plain_folders_and_second_names(folder):
    write(folder / "datasets/org/large", {"a.bin": bytes(2_000_000)})
    with serve_in_thread(folder, allow_write=True) as endpoint:
        writer = Writer(endpoint)
        gone: tuple[str, dict[str, object]] = ("deletedFile", {"path": "a.bin"})
        assert writer.commit(gone, file("b.txt", b"b"), repo="org/large").status == 200
        assert writer.post("/api/datasets/org/large/super-squash/main", {"message": "one"}).status == 200
        # What is removed is a second name, so no byte is freed by it.
        assert collect_garbage(folder) == [Collected("datasets", "org/large", 2, 1, 0)]
    assert (folder / "datasets/org/large/a.bin").stat().st_size == 2_000_000
    assert not (folder / "datasets/org/tiny/.gristmill").exists()


def test_which_repositories(writer, folder, grown):
    assert collect_garbage(folder, ["org/tiny", "models/org/model"]) == []
    with pytest.raises(InvalidArgumentError, match="no repository org/none"):
        collect_garbage(folder, ["org/none"])
    [done] = collect_garbage(folder, ["datasets/org/new"])
    assert done.commits == 2


def test_the_command(writer, folder, grown, capsys, monkeypatch):
    before = objects(folder)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda *_: "n")
    assert main(["hub", "gc", str(folder)]) == 1
    assert "nothing was removed" in capsys.readouterr().err
    assert objects(folder) == before
    assert main(["hub", "gc", str(folder), "--dry-run", "--json"]) == 0
    told = {"type": "datasets", "id": "org/new", "commits": 2, "contents": 1, "size": 9}
    assert json.loads(capsys.readouterr().out) == {"would_free": [told], "freed": [], "kept": []}
    assert objects(folder) == before
    assert main(["hub", "gc", str(folder), "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"freed": [told], "kept": []}
    assert before - objects(folder) == {blob_id(b"version 2")}
    assert main(["hub", "gc", str(folder)]) == 0
    assert "0 bytes to free" in capsys.readouterr().out


def test_what_is_left_of_a_deleted_repository_goes_at_the_next_start(folder):
    own = temporary_name(folder / "datasets/org/gone")
    left = own.with_name(own.name.replace(f".{os.getpid()}-", ".99999999-"))
    write(left, {"a.txt": b"a"})
    Hub(folder).look_after()
    assert not left.exists()
    assert (folder / "datasets/org/tiny/README.md").exists()


def test_notes_of_long_ago_hold_nothing_back(writer, folder, grown):
    history = History(folder / "datasets/org/new")
    pending.note(history, blob_id(b"version 2"))
    long_ago = time.time() - 2 * pending.KEEP_SECONDS
    os.utime(history.folder / "pending" / blob_id(b"version 2"), (long_ago, long_ago))
    assert collect_garbage(folder) == [Collected("datasets", "org/new", 2, 1, 9)]
