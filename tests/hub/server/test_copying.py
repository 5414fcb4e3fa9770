"""Repositories of another Hub, copied into a folder that is served afterwards; what goes wrong on the way."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from gristmill import config
from gristmill.cli.main import main
from gristmill.errors import (
    DiskFullError,
    EntryNotFoundError,
    GatedRepoError,
    HubError,
    IncompleteBodyError,
    InvalidArgumentError,
    OfflineError,
    RepoNotFoundError,
    RevisionNotFoundError,
    UnsafePathError,
)
from gristmill.hub.server import mirror_repo, serve_in_thread
from tests.hub.faulty import COMMIT, FaultyHub, drop, longer, says, status, wrong
from tests.hub.server.conftest import FILES, Wire, file

BIG = bytes(range(256)) * 4000
CONTENT = {"README.md": b"# Data\n", "data/a.parquet": BIG, "data/b.parquet": b"b" * 999, "notes/c.txt": b"c"}


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Tries again without waiting."""
    monkeypatch.setattr("gristmill.files.retry.RetryPolicy.delay", lambda *args: 0.0)


@pytest.fixture
def hub():
    with FaultyHub(dict(CONTENT)) as faulty:
        yield faulty


@pytest.fixture
def copy(tmp_path):
    return tmp_path / "copy"


def listed(endpoint, revision="main", repo="org/data"):
    tree = Wire(endpoint).get(f"/api/datasets/{repo}/tree/{revision}?recursive=true").json
    return [item["path"] for item in tree if item["type"] == "file"]


def contents(copy):
    return sorted(path.name for path in copy.glob("datasets/org/data/.gristmill/objects/*/*"))


def test_the_whole_of_it_is_served_without_the_other_hub(endpoint, wire, copy):
    [one] = mirror_repo("org/tiny", copy, endpoint=endpoint)
    assert (one.files, one.whole) == (len(listed(endpoint, repo="org/tiny")), True)
    with serve_in_thread(copy) as near:
        assert Wire(near).get("/api/datasets/org/tiny").json["sha"] == one.commit
        assert wire.get("/api/datasets/org/tiny").json["sha"] == one.commit
        for path, content in FILES.items():
            url = f"/datasets/org/tiny/resolve/main/{wire.quoted(path)}"
            assert Wire(near).get(url).body == content
            assert Wire(near).get(url).headers["ETag"] == wire.get(url).headers["ETag"]


def test_a_second_run_fetches_what_changed(hub, copy):
    first = mirror_repo("org/data", copy, endpoint=hub.url)[0]
    assert (first.fetched, first.fetched_size) == (4, sum(map(len, CONTENT.values())))
    hub.seen.clear()
    again = mirror_repo("org/data", copy, endpoint=hub.url)[0]
    assert (again.fetched, again.commit, again.whole) == (0, first.commit, True)
    assert hub.requests("resolve") == hub.requests("/tree/") == []
    hub.move("d" * 40, {**CONTENT, "notes/c.txt": b"changed"})
    moved = mirror_repo("org/data", copy, endpoint=hub.url)[0]
    assert (moved.commit, moved.fetched) == ("d" * 40, 1)
    with serve_in_thread(copy) as near:
        wire = Wire(near)
        assert wire.get("/datasets/org/data/resolve/main/notes/c.txt").body == b"changed"
        assert wire.get(f"/datasets/org/data/resolve/{COMMIT}/notes/c.txt").body == b"c"


def test_some_files(hub, copy):
    options = {"endpoint": hub.url, "include": ["data/"], "exclude": ["*b.parquet"]}
    [one] = mirror_repo("org/data", copy, **options)
    assert (one.files, one.whole) == (2, False)
    with serve_in_thread(copy) as near:
        assert listed(near) == ["README.md", "data/a.parquet"]
        assert Wire(near).get("/datasets/org/data/resolve/main/notes/c.txt").code == "EntryNotFound"
        # A later copy adds to it, also while it is served.
        assert not mirror_repo("org/data", copy, endpoint=hub.url, include=["notes/*"])[0].whole
        assert listed(near) == ["README.md", "data/a.parquet", "notes/c.txt"]
        [whole] = mirror_repo("org/data", copy, endpoint=hub.url)
        assert (whole.fetched, whole.whole) == (1, True)
        assert listed(near) == sorted(CONTENT)
    with pytest.raises(EntryNotFoundError, match=r'fits "data/c\*"'):
        mirror_repo("org/data", copy, endpoint=hub.url, include=["data/c*"])


def test_several_revisions_side_by_side(writer, copy):
    first = writer.commit(file("a.txt", b"1"), file("same.txt", b"same")).json["commitOid"]
    writer.post("/api/datasets/org/new/tag/main", {"tag": "v1"})
    second = writer.commit(file("a.txt", b"2")).json["commitOid"]
    copied = mirror_repo("org/new", copy, revision=["v1", "main"], endpoint=writer.endpoint)
    assert [(one.revision, one.commit) for one in copied] == [("v1", first), ("main", second)]
    assert copied[1].fetched == 1
    with serve_in_thread(copy) as near:
        at = "/datasets/org/new/resolve"
        assert Wire(near).get(f"{at}/v1/a.txt").body == b"1"
        assert Wire(near).get(f"{at}/main/a.txt").body == b"2"
        assert Wire(near).get("/api/datasets/org/new/refs").json["tags"][0]["name"] == "v1"


def test_models(endpoint, copy):
    mirror_repo("org/model", copy, repo_type="model", endpoint=endpoint)
    with serve_in_thread(copy) as near:
        assert Wire(near).get("/org/model/resolve/main/model.safetensors").body == b"weights"


# -- what goes wrong


@pytest.mark.parametrize("fault", [wrong, longer])
def test_what_has_another_hash_is_not_kept(hub, copy, fault):
    hub.script("a.parquet", *[fault] * 4)
    with pytest.raises(IncompleteBodyError):
        mirror_repo("org/data", copy, endpoint=hub.url)
    assert hashlib.sha256(BIG).hexdigest() not in contents(copy)
    # Nothing of it is seen, and a second run completes it.
    with serve_in_thread(copy) as near:
        assert Wire(near).get("/api/datasets/org/data").code == "RepoNotFound"
        assert Wire(near).get("/api/datasets").json == []
        assert mirror_repo("org/data", copy, endpoint=hub.url)[0].whole
        assert listed(near) == sorted(CONTENT)


def test_a_new_commit_is_seen_when_all_of_it_is_here(hub, copy):
    mirror_repo("org/data", copy, endpoint=hub.url)
    hub.move("d" * 40, {**CONTENT, "data/new.parquet": b"new"})
    hub.script("new.parquet", *[status(500)] * 9)
    with pytest.raises(HubError):
        mirror_repo("org/data", copy, endpoint=hub.url)
    with serve_in_thread(copy) as near:
        assert Wire(near).get("/api/datasets/org/data").json["sha"] == COMMIT
        assert listed(near) == sorted(CONTENT)


def test_what_was_cut_off_is_gone_on_with(hub, copy):
    hub.script("a.parquet", *[drop(200_000)] * 4)
    with pytest.raises(HubError):
        mirror_repo("org/data", copy, endpoint=hub.url)
    hub.seen.clear()
    assert mirror_repo("org/data", copy, endpoint=hub.url)[0].whole
    [asked] = hub.requests("a.parquet")
    assert asked.headers["range"].startswith("bytes=")
    assert asked.headers["range"] != "bytes=0-"


def test_damage_on_this_disk_is_found_and_mended(hub, copy):
    mirror_repo("org/data", copy, endpoint=hub.url)
    [object] = copy.glob(f"datasets/org/data/.gristmill/objects/*/{hashlib.sha256(BIG).hexdigest()}")
    object.write_bytes(bytes(len(BIG)))
    assert mirror_repo("org/data", copy, endpoint=hub.url)[0].fetched == 0
    assert mirror_repo("org/data", copy, endpoint=hub.url, check=True)[0].fetched == 1
    assert object.read_bytes() == BIG


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (status(404, X_Error_Code="RepoNotFound"), RepoNotFoundError),
        (status(403, X_Error_Code="GatedRepo"), GatedRepoError),
        (status(404, X_Error_Code="RevisionNotFound"), RevisionNotFoundError),
        (status(500), HubError),
    ],
)
def test_what_the_other_hub_refuses(hub, copy, fault, error):
    hub.script("/revision/", *[fault] * 9)
    with pytest.raises(error):
        mirror_repo("org/data", copy, endpoint=hub.url)
    assert not list(copy.rglob("*.json"))


def test_paths_that_would_leave_the_folder(hub, copy, tmp_path):
    hub.script("/tree/", says([{"type": "file", "path": "../../../evil", "size": 1, "oid": "0" * 40}]))
    with pytest.raises(UnsafePathError):
        mirror_repo("org/data", copy, endpoint=hub.url)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_more_than_the_disk_holds(hub, copy):
    hub.script("/tree/", says([{"type": "file", "path": "a", "size": 2**62, "oid": "0" * 40}]))
    with pytest.raises(DiskFullError):
        mirror_repo("org/data", copy, endpoint=hub.url)


def test_a_folder_that_is_no_copy_is_left_alone(hub, copy):
    own = copy / "datasets/org/data"
    own.mkdir(parents=True)
    (own / "mine.txt").write_text("mine")
    with pytest.raises(InvalidArgumentError, match="is no mirror"):
        mirror_repo("org/data", copy, endpoint=hub.url)
    assert [path.name for path in own.iterdir()] == ["mine.txt"]


def test_a_copy_of_another_hub_is_left_alone(hub, copy):
    mirror_repo("org/data", copy, endpoint=hub.url)
    with FaultyHub(dict(CONTENT)) as other, pytest.raises(InvalidArgumentError, match="is a mirror of"):
        mirror_repo("org/data", copy, endpoint=other.url)


@pytest.mark.parametrize(
    "options", [{"revision": "../x"}, {"repo_type": "space"}, {"max_workers": 0}, {"endpoint": "ftp://x"}]
)
def test_arguments_that_cannot_be(hub, copy, options):
    with pytest.raises(InvalidArgumentError):
        mirror_repo("org/data", copy, **{"endpoint": hub.url, **options})
    assert hub.seen == []


def test_offline(hub, copy):
    with config.override(HF_HUB_OFFLINE=True), pytest.raises(OfflineError):
        mirror_repo("org/data", copy, endpoint=hub.url)


# -- the command


def run(arguments, hub, **more):
    environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_PROGRESS_BARS": "1", **more}
    command = [sys.executable, "-m", "gristmill", *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_killed_and_run_again(hub, copy):
    hub.files["slow.parquet"] = slow = os.urandom(3_000_000)

    def stall(truth, seen):
        time.sleep(0.3)
        return drop(1_000_000)(truth, seen)

    hub.script("slow.parquet", *[stall] * 9)
    process = run(["hub", "mirror", "org/data", copy], hub)
    part = copy / f"datasets/org/data/.gristmill/tmp/{hashlib.sha256(slow).hexdigest()}.part"
    while process.poll() is None and not (part.exists() and part.stat().st_size):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert part.stat().st_size
    with serve_in_thread(copy) as near:
        assert Wire(near).get("/api/datasets/org/data").code == "RepoNotFound"
    hub.scripts.clear()
    hub.seen.clear()
    [one] = mirror_repo("org/data", copy, endpoint=hub.url)
    assert one.whole
    assert hub.requests("slow.parquet")[0].headers["range"].startswith("bytes=")
    with serve_in_thread(copy) as near:
        assert Wire(near).get("/datasets/org/data/resolve/main/slow.parquet").body == slow


def test_the_command_tells_what_it_did(hub, copy, capsys):
    with config.override(HF_ENDPOINT=hub.url):
        assert main(["hub", "mirror", "org/data", str(copy), "--json"]) == 0
        [told] = json.loads(capsys.readouterr().out)["revisions"]
        assert (told["revision"], told["commit"], told["fetched"], told["whole"]) == ("main", COMMIT, 4, True)
        assert main(["hub", "mirror", "org/data", str(copy)]) == 0
        assert COMMIT in capsys.readouterr().out
        hub.info = {**hub.info, "gated": "auto"}
        assert main(["hub", "mirror", "org/data", str(copy)]) == 0
        assert "is gated, and so is the copy" in capsys.readouterr().err
        assert main(["hub", "mirror", "org/none", str(copy)]) == 1


def test_serving_needs_another_hub_than_itself(copy, capsys):
    copy.mkdir()
    import socket

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for url in (f"http://127.0.0.1:{port}", f"http://localhost:{port}/"):
        arguments = ["hub", "serve", str(copy), "--port", str(port), "--mirror", "--upstream", url]
        assert main(arguments) == 1
        assert "from itself" in capsys.readouterr().err
    assert main(["hub", "serve", str(copy), "--upstream", "http://x"]) == 2
