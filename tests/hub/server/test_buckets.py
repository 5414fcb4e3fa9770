"""Buckets with the real clients on a real socket: the `HfApi`, the file system, and our own."""

import json
import os
import random
import threading
import time
from datetime import datetime, timezone
from urllib.parse import urlsplit

import pytest
from huggingface_hub import HfApi, HfFileSystem
from huggingface_hub.errors import BucketNotFoundError, HfHubHTTPError

from gristmill import config, load_dataset
from gristmill.hub.buckets import Bucket
from gristmill.hub.client import HubClient
from gristmill.hub.server import serve_in_thread
from gristmill.hub.server.bucket_files import Buckets
from gristmill.hub.server.bucket_hashes import EMPTY, KnownHashes, xet_hash
from gristmill.hub.server.repos import Hub
from gristmill.hub.server.walk import Found, Stamp
from gristmill.hub.server.xet_format import decode_chunks, index_xorb
from gristmill.hub.server.xet_read import PIECE, RUN, read_run, reconstruction, run_of, runs_between
from tests.hub.server.conftest import Writer
from tests.hub.server.test_xet import shard, xorb

ID = "me/data"
TOKENS = {
    "hf_me": {"user": "me", "write": ["me/*", "buckets/team/*"]},
    "hf_other": {"user": "other", "write": ["other/*"]},
    "hf_reader": {"user": "reader", "read": ["buckets/me/*"]},
}
BIG = random.Random(3).randbytes(5_000_000) + b"same" * 100_000


@pytest.fixture
def hub(tmp_path):
    (tmp_path / "hub").mkdir()
    (tmp_path / "tokens.json").write_text(json.dumps(TOKENS))
    return tmp_path / "hub"


@pytest.fixture
def endpoint(hub, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_PROGRESS_BARS", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    with serve_in_thread(hub, tokens=hub.parent / "tokens.json") as endpoint:
        yield endpoint


@pytest.fixture
def api(endpoint):
    return HfApi(endpoint=endpoint, token="hf_me")


@pytest.fixture
def filled(api):
    api.create_bucket(ID)
    api.batch_bucket_files(
        ID,
        add=[
            (b"x\n1\n", "logs/a.csv"),
            (b"x\n2\n", "logs/b/c.csv"),
            (b"x\n3\n", "logs2/d.csv"),
            (b"x\n4\n", "e f.csv"),
            (b"", "empty.txt"),
        ],
    )
    return api


def paths(api, **more):
    return [item.path for item in api.list_bucket_tree(ID, recursive=True, **more)]


def content(api, path, folder, id=ID):
    target = folder / "got"
    api.download_bucket_files(id, [(path, str(target))])
    return target.read_bytes()


def test_make_list_change_and_delete(api, endpoint, hub):
    made = api.create_bucket(ID)
    assert made.url == f"{endpoint}/buckets/{ID}"
    assert api.create_bucket(ID, exist_ok=True).bucket_id == ID
    with pytest.raises(HfHubHTTPError, match="409"):
        api.create_bucket(ID)
    api.create_bucket("hidden", private=True)  # the caller's own
    info = api.bucket_info("me/hidden")
    assert (info.private, info.size, info.total_files) == (True, 0, 0)
    assert isinstance(info.created_at, datetime)
    assert [each.id for each in api.list_buckets()] == ["me/data", "me/hidden"]
    assert [each.id for each in api.list_buckets("me", search="HID")] == ["me/hidden"]
    assert list(api.list_buckets("nobody")) == []
    api.update_bucket_settings("me/hidden", private=False)
    assert not api.bucket_info("me/hidden").private
    api.move_bucket("me/hidden", "team/shown")
    assert api.bucket_info("me/hidden").id == "team/shown"  # redirected
    api.delete_bucket("team/shown")
    with pytest.raises(BucketNotFoundError):
        api.bucket_info("team/shown")
    api.delete_bucket("team/shown", missing_ok=True)
    assert [p.name for p in (hub / "buckets/team").iterdir() if not p.name.endswith(".lock")] == []


def test_many_buckets_come_in_pages(api, endpoint):
    names = [f"me/b{number:02d}" for number in range(7)]
    for name in names:
        api.create_bucket(name)
    writer, seen, target = Writer(endpoint), [], "/api/buckets/me?limit=3"
    while target:
        answer = writer.get(target, Authorization="Bearer hf_me")
        seen += [each["id"] for each in answer.json]
        link = answer.headers["Link"]
        target = link and link.split(">")[0].removeprefix(f"<{endpoint}")
    assert seen == names


def test_files_go_up_and_come_down(api, tmp_path, hub):
    api.create_bucket(ID)
    (tmp_path / "big.bin").write_bytes(BIG)
    os.utime(tmp_path / "big.bin", (1_700_000_000, 1_700_000_000))
    api.batch_bucket_files(ID, add=[(tmp_path / "big.bin", "d/big.bin"), (BIG[::-1], "d/back.bin")])
    assert content(api, "d/big.bin", tmp_path) == BIG
    assert content(api, "d/back.bin", tmp_path) == BIG[::-1]
    [back, big] = api.list_bucket_tree(ID, "d/", recursive=True)
    assert big.mtime == datetime.fromtimestamp(1_700_000_000, timezone.utc)
    assert (big.size, big.xet_hash) == (len(BIG), xet_hash(tmp_path / "big.bin"))
    assert abs(back.uploaded_at.timestamp() - time.time()) < 100
    assert (hub / "buckets/me/data/d/big.bin").read_bytes() == BIG
    info = api.bucket_info(ID)
    assert (info.size, info.total_files) == (2 * len(BIG), 2)
    # Nothing of the upload is left beside the files but what a next one may refer to.
    own = hub / "buckets/me/data/.gristmill"
    assert list((own / "uploads").iterdir()) == []
    assert list((own / "tmp").iterdir()) == []
    # The same content under another name, and in another bucket: sent once, whole in both.
    api.create_bucket("me/second")
    api.batch_bucket_files(ID, add=[(BIG, "again.bin")])
    api.batch_bucket_files("me/second", add=[(BIG, "again.bin")])
    assert content(api, "again.bin", tmp_path) == content(api, "again.bin", tmp_path, "me/second") == BIG


def test_listing(filled, endpoint):
    assert paths(filled) == ["e f.csv", "empty.txt", "logs/a.csv", "logs/b/c.csv", "logs2/d.csv"]
    assert paths(filled, prefix="logs") == ["logs/a.csv", "logs/b/c.csv", "logs2/d.csv"]
    assert paths(filled, prefix="logs/") == ["logs/a.csv", "logs/b/c.csv"]
    assert paths(filled, prefix="nothing") == []
    top = {item.path: item.type for item in filled.list_bucket_tree(ID)}
    assert top == {"e f.csv": "file", "empty.txt": "file", "logs": "directory", "logs2": "directory"}
    inner = {item.path: item.type for item in filled.list_bucket_tree(ID, "logs")}
    assert inner == {"logs/a.csv": "file", "logs/b": "directory", "logs2": "directory"}
    found = filled.get_bucket_paths_info(ID, ["logs/a.csv", "logs", "nothing", "", "../x", "empty.txt"])
    assert [item.path for item in found] == ["logs/a.csv", "empty.txt"]
    writer = Writer(endpoint)
    for recursive in ("true", "false"):
        seen, target = [], f"/api/buckets/{ID}/tree?recursive={recursive}&limit=2"
        while target:
            answer = writer.get(target)
            seen += [each["path"] for each in answer.json]
            link = answer.headers["Link"]
            target = link and link.split(">")[0].removeprefix(f"<{endpoint}")
        assert seen == (paths(filled) if recursive == "true" else sorted(top))


def test_1100_files(api, hub):
    api.create_bucket(ID)
    for number in range(1100):
        (hub / f"buckets/me/data/{number:04d}.txt").write_text(str(number))
    assert len(paths(api)) == 1100
    names = [f"{number:04d}.txt" for number in range(1100)]
    assert [item.path for item in api.get_bucket_paths_info(ID, names)] == names


def test_copy_and_delete(filled, tmp_path):
    filled.create_bucket("me/copies")
    filled.copy_files(f"hf://buckets/{ID}/logs", "hf://buckets/me/copies/")
    filled.copy_files(f"hf://buckets/{ID}/e f.csv", f"hf://buckets/{ID}/moved/e.csv")
    assert content(filled, "logs/b/c.csv", tmp_path, "me/copies") == b"x\n2\n"
    assert content(filled, "moved/e.csv", tmp_path) == b"x\n4\n"
    filled.batch_bucket_files(ID, delete=["logs/a.csv", "logs/b/c.csv", "nothing"])
    assert paths(filled) == ["e f.csv", "empty.txt", "logs2/d.csv", "moved/e.csv"]
    filled.copy_files(f"hf://buckets/{ID}/empty.txt", "hf://buckets/me/copies/empty.txt")
    assert content(filled, "empty.txt", tmp_path, "me/copies") == b""


def test_a_dataset_is_copied_into_a_bucket(filled, tmp_path):
    filled.create_repo("me/set", repo_type="dataset")
    filled.upload_file(path_or_fileobj=BIG, path_in_repo="d/a.bin", repo_id="me/set", repo_type="dataset")
    filled.copy_files("hf://datasets/me/set/", f"hf://buckets/{ID}/from/")
    assert content(filled, "from/d/a.bin", tmp_path) == BIG


def test_sync(filled, tmp_path):
    here = tmp_path / "here"
    filled.sync_bucket(f"hf://buckets/{ID}", str(here), quiet=True)
    assert (here / "logs/b/c.csv").read_bytes() == b"x\n2\n"
    (here / "logs/b/c.csv").unlink()
    (here / "new.csv").write_text("x\n9\n")
    filled.sync_bucket(str(here), f"hf://buckets/{ID}", delete=True, quiet=True)
    assert paths(filled) == ["e f.csv", "empty.txt", "logs/a.csv", "logs2/d.csv", "new.csv"]
    plan = filled.sync_bucket(str(here), f"hf://buckets/{ID}", dry_run=True, quiet=True)
    assert plan.summary()["uploads"] == 0


def test_some_operations_fail_and_the_others_are_done(filled, endpoint):
    writer, bearer = Writer(endpoint), {"Authorization": "Bearer hf_me"}

    def batch(*operations):
        body = "\n".join(json.dumps(each) for each in operations).encode()
        return writer.ask("POST", f"/api/buckets/{ID}/batch", body, **bearer)

    [item] = filled.get_bucket_paths_info(ID, ["logs/a.csv"])
    good = {"type": "addFile", "xetHash": item.xet_hash, "mtime": 1_700_000_000_000}
    missing = {"type": "addFile", "path": "no.csv", "xetHash": "ab" * 32}
    in_the_way = {**good, "path": "logs"}
    below_a_file = {**good, "path": "logs/a.csv/x"}
    answer = batch({**good, "path": "z/copy.csv"}, missing, in_the_way, below_a_file)
    assert answer.status == 200
    told = answer.json
    assert (told["success"], told["processed"], told["succeeded"]) == (False, 4, 1)
    assert [each["path"] for each in told["failed"]] == ["no.csv", "logs", "logs/a.csv/x"]
    assert batch(missing).status == 422
    assert "z/copy.csv" in paths(filled)
    for path in (
        "../x",
        "/etc/x",
        "a//b",
        ".git/x",
        "a/.gristmill/b",
        "a\\b",
        "a\0b",
        "",
        ".x.incomplete",
        "n" * 300,
        7,
    ):
        assert batch({**good, "path": path}).status == 400, path
        assert batch({"type": "deleteFile", "path": path}).status == 400, path
    odd_ones: list[object] = [
        {"type": "other", "path": "a"},
        {"path": "a"},
        [],
        {**good, "path": "a", "mtime": "x"},
    ]
    for odd in odd_ones:
        assert batch(odd).status == 400
    assert writer.ask("POST", f"/api/buckets/{ID}/batch", b"{", **bearer).status == 400
    assert batch({**good, "path": "far.csv", "mtime": 10**30}).status == 200
    assert "far.csv" in paths(filled)


def test_many_write_at_once_through_two_servers(filled, endpoint, hub):
    [item] = filled.get_bucket_paths_info(ID, ["logs/a.csv"])
    statuses, wrong, stop = [], [], threading.Event()

    def write(wire, name):
        for number in range(5):
            lines = [
                {"type": "addFile", "path": f"{name}/{number}/x.csv", "xetHash": item.xet_hash},
                {"type": "addFile", "path": f"{name}/{number}/gone.csv", "xetHash": item.xet_hash},
                {"type": "addFile", "path": "same.csv", "xetHash": item.xet_hash},
                {"type": "deleteFile", "path": f"{name}/{number}/gone.csv"},
            ]
            body = "\n".join(json.dumps(line) for line in lines).encode()
            answer = wire.ask("POST", f"/api/buckets/{ID}/batch", body, Authorization="Bearer hf_me")
            statuses.append((answer.status, answer.json["succeeded"]))

    def read(wire):
        while not stop.is_set():
            answer = wire.get(f"/buckets/{ID}/resolve/same.csv")
            if answer.status != 404 and answer.body != b"x\n1\n":
                wrong.append((answer.status, answer.body))

    with serve_in_thread(hub, tokens=hub.parent / "tokens.json") as second:
        wires = [Writer(endpoint), Writer(second)]
        writers = [threading.Thread(target=write, args=(wires[n % 2], f"w{n}")) for n in range(6)]
        readers = [threading.Thread(target=read, args=(wires[n % 2],)) for n in range(4)]
        for thread in readers + writers:
            thread.start()
        for thread in writers:
            thread.join(100)
        stop.set()
        for thread in readers:
            thread.join(30)
    assert statuses == [(200, 4)] * 30
    assert wrong == []
    found = paths(filled)
    assert {f"w{n}/{number}/x.csv" for n in range(6) for number in range(5)} <= set(found)
    assert "same.csv" in found
    assert not [path for path in found if path.endswith("gone.csv")]


def test_rights(filled, endpoint, tmp_path):
    filled.update_bucket_settings(ID, private=True)
    [item] = filled.get_bucket_paths_info(ID, ["logs/a.csv"])
    for token in ("hf_other", False):
        stranger = HfApi(endpoint=endpoint, token=token)
        with pytest.raises(BucketNotFoundError):
            stranger.bucket_info(ID)
        with pytest.raises(HfHubHTTPError):
            stranger.get_bucket_file_metadata(ID, "logs/a.csv")
        with pytest.raises(HfHubHTTPError):
            stranger.delete_bucket(ID)
    assert list(HfApi(endpoint=endpoint, token="hf_other").list_buckets("me")) == []
    reader = HfApi(endpoint=endpoint, token="hf_reader")
    assert content(reader, "logs/a.csv", tmp_path) == b"x\n1\n"
    with pytest.raises(HfHubHTTPError, match="403"):
        reader.batch_bucket_files(ID, delete=["logs/a.csv"])
    with pytest.raises(HfHubHTTPError, match="403"):
        reader.create_bucket("me/theirs")
    # Nobody comes to a private content by its hash: not by a copy, not by adding it, not by a download.
    other = HfApi(endpoint=endpoint, token="hf_other")
    other.create_bucket("other/mine")
    for operation in (
        {"type": "copyFile", "sourceRepoType": "bucket", "sourceRepoId": ID},
        {"type": "addFile"},
    ):
        body = json.dumps({**operation, "path": "stolen", "xetHash": item.xet_hash}).encode()
        answer = Writer(endpoint).ask(
            "POST", "/api/buckets/other/mine/batch", body, Authorization="Bearer hf_other"
        )
        assert answer.status == 422
    writer = Writer(endpoint)
    told = writer.get("/api/buckets/other/mine/xet-read-token", Authorization="Bearer hf_other").json
    read = f"{urlsplit(told['casUrl']).path}/v1/reconstructions/{item.xet_hash}"
    assert writer.get(read, Authorization=f"Bearer {told['accessToken']}").status == 404
    assert writer.get(read, Authorization="Bearer hf_me").status == 401
    assert writer.get(read).status == 401


def test_contents_are_checked_by_their_xet_hash(filled, endpoint, hub):
    writer = Writer(endpoint)
    told = writer.get(f"/api/buckets/{ID}/xet-write-token", Authorization="Bearer hf_me").json
    cas, bearer = urlsplit(told["casUrl"]).path, {"Authorization": f"Bearer {told['accessToken']}"}
    assert writer.ask("POST", f"{cas}/v1/xorbs/default/{'a' * 64}", xorb([b"12345"]), **bearer).status == 200
    wrong = shard([(None, [("a" * 64, 0, 1, 5)])])  # its file hash is another one
    assert (
        writer.ask("POST", f"{cas}/v1/shards", wrong.replace(bytes(32), b"\7" * 32, 1), **bearer).status
        == 400
    )
    assert list((hub / "buckets/me/data/.gristmill/uploads").iterdir()) == []


def test_files_put_there_by_hand(api, hub, tmp_path):
    folder = hub / "buckets/org/plain"
    (folder / "d").mkdir(parents=True)
    (folder / "d/a.bin").write_bytes(BIG)
    (folder / "secret").symlink_to(tmp_path / "tokens.json")
    (folder / "out").symlink_to(tmp_path)
    assert [item.path for item in api.list_bucket_tree("org/plain", recursive=True)] == ["d/a.bin"]
    assert content(api, "d/a.bin", tmp_path, "org/plain") == BIG
    (folder / "d/a.bin").write_bytes(b"changed")
    assert content(api, "d/a.bin", tmp_path, "org/plain") == b"changed"
    writer = Writer(api.endpoint)
    for path in (
        "secret",
        "out/tokens.json",
        "..%2F..%2Ftokens.json",
        "../../tokens.json",
        ".gristmill/hashes.jsonl",
    ):
        assert writer.get(f"/buckets/org/plain/resolve/{path}").status in (400, 404), path
    assert not list(tmp_path.glob("*.csv"))


def test_a_link_leads_no_batch_out(filled, hub, tmp_path):
    (hub / "buckets/me/data/out").symlink_to(tmp_path)
    [item] = filled.get_bucket_paths_info(ID, ["logs/a.csv"])
    with pytest.raises(HfHubHTTPError, match="out of the bucket"):
        filled.batch_bucket_files(ID, copy=[("bucket", ID, item.xet_hash, "out/new/x.csv")])
    assert not (tmp_path / "new").exists()


def test_file_system(filled, endpoint):
    HfFileSystem.clear_instance_cache()
    fs = HfFileSystem(endpoint=endpoint, token="hf_me", skip_instance_cache=True)
    root = f"buckets/{ID}"
    assert fs.ls(root, detail=False) == [f"{root}/{n}" for n in ("e f.csv", "empty.txt", "logs", "logs2")]
    assert fs.ls(f"{root}/logs", detail=False) == [f"{root}/logs/a.csv", f"{root}/logs/b"]
    assert fs.find(f"{root}/logs") == [f"{root}/logs/a.csv", f"{root}/logs/b/c.csv"]
    assert fs.cat_file(f"{root}/e f.csv") == b"x\n4\n"
    with fs.open(f"hf://{root}/new/f.bin", "wb") as file:
        file.write(BIG)
    with fs.open(f"hf://{root}/new/f.bin", "rb", block_size=100_000) as file:
        file.seek(4_900_000)
        assert file.read(200_000) == BIG[4_900_000:5_100_000]
    fs.rm(f"{root}/logs", recursive=True)
    assert not fs.exists(f"{root}/logs/a.csv")
    HfFileSystem.clear_instance_cache()


def test_our_own_client(filled, endpoint, tmp_path):
    with config.override(
        HF_ENDPOINT=endpoint, HF_HUB_OFFLINE=False, DOWNLOADED_DATASETS_PATH=tmp_path / "downloads"
    ):
        assert load_dataset(f"buckets/{ID}/logs", split="train", cache_dir=str(tmp_path / "c"))["x"][:] == [
            1,
            2,
        ]
        assert sum(row["x"] for row in load_dataset(f"buckets/{ID}", split="train", streaming=True)) == 10
        client = HubClient(endpoint, token=False, cache_dir=tmp_path / "hub")
        bucket = Bucket(client, ID, "logs")
        assert [bucket.download(file).read_bytes() for file in bucket.files()] == [b"x\n1\n", b"x\n2\n"]
        before = [file.identity for file in bucket.files()]
        filled.batch_bucket_files(ID, add=[(b"x\n7\n", "logs/a.csv")])
        assert [file.identity for file in bucket.files()] != before
        client.session.close()


def test_pages_for_people(filled, endpoint):
    wire = Writer(endpoint)
    filled.create_bucket("me/hidden", private=True)
    front = wire.get("/").body.decode()
    assert '<a href="/buckets/me/data">me/data</a>' in front
    assert "hidden" not in front
    page = wire.get("/buckets/me/data").body.decode()
    assert '<a href="/buckets/me/data/resolve/e%20f.csv">e f.csv</a>' in page
    assert wire.get("/buckets/me/hidden").code == "RepoNotFound"


def test_what_is_done_when_the_server_starts(filled, hub, monkeypatch):
    (hub / "buckets/org/plain").mkdir(parents=True)
    (hub / "buckets/org/plain/a.txt").write_text("by hand")
    (hub / "buckets/me/data/.gristmill/uploads").mkdir(exist_ok=True)
    stale = hub / "buckets/me/data/.gristmill/uploads" / ("a" * 64)
    stale.write_text("nobody named it")
    os.utime(stale, (0, 0))
    Hub(hub).look_after()
    assert not stale.exists()
    fresh = Buckets(hub).find("org/plain")
    assert fresh is not None
    [found] = fresh.files().values()
    assert fresh.hashes.get(found) == xet_hash(found.file)


def test_ranges_and_heads_of_a_file(filled, endpoint):
    wire = Writer(endpoint)
    target = f"/buckets/{ID}/resolve/logs%2Fa.csv"
    head = wire.head(target)
    assert (head.status, head.headers["Content-Length"], head.body) == (200, "4", b"")
    assert len(head.headers["X-Xet-Hash"]) == 64
    assert head.headers["Link"] == f'<{endpoint}/api/buckets/{ID}/xet-read-token>; rel="xet-auth"'
    part = wire.get(target, Range="bytes=-2")
    assert (part.status, part.body, part.headers["ETag"]) == (206, b"1\n", head.headers["ETag"])
    assert wire.get(target, Range="bytes=9-").headers["Content-Range"] == "bytes */4"
    assert wire.get(f"/buckets/{ID}/resolve/logs/a.csv").body == b"x\n1\n"
    assert wire.get(f"/buckets/{ID}/resolve/nothing").code == "EntryNotFound"
    assert wire.get("/buckets/me/none/resolve/nothing").code == "RepoNotFound"
    assert wire.get(f"/api/buckets/{ID}/events").status == 404


@pytest.mark.parametrize("size", [1, PIECE, PIECE + 1, RUN * PIECE, RUN * PIECE + 5, 2 * RUN * PIECE + 7])
def test_runs_make_up_any_part_of_a_file(tmp_path, size):
    data = random.Random(size).randbytes(size)
    (tmp_path / "f").write_bytes(data)
    picks = random.Random(1)
    parts = [
        (0, size),
        (size - 1, size),
        *(sorted(picks.sample(range(size + 1), 2)) for _ in range(4) if size > 1),
    ]
    handle = os.open(tmp_path / "f", os.O_RDONLY)
    try:
        for first, end in parts:
            told = reconstruction(
                "h", size, first, end, {number: str(number) for number in runs_between(first, end)}
            )
            got = b""
            for term in told["terms"]:
                [fetch] = told["fetch_info"][term["hash"]]
                at, last = fetch["url_range"]["start"], fetch["url_range"]["end"]
                sent = b"".join(read_run(handle, run_of(size, int(fetch["url"])), at, last - at + 1))
                assert len(sent) == last - at + 1
                chunks = fetch["range"]["end"] - fetch["range"]["start"]
                decoded = b"".join(decode_chunks(sent, index_xorb(sent), 0, chunks))
                assert len(decoded) == term["unpacked_length"]
                got += decoded
            offset = told["offset_into_first_range"]
            assert got[offset : offset + end - first] == data[first:end]
    finally:
        os.close(handle)


def test_hashes_are_kept_and_lines_that_are_overtaken_go(tmp_path, monkeypatch):
    def found(name, text):
        (tmp_path / name).write_text(text)
        return Found(name, tmp_path / name, Stamp.of((tmp_path / name).stat()))

    first, kept = found("a", "1"), KnownHashes(tmp_path / "hashes.jsonl")
    other = KnownHashes(tmp_path / "hashes.jsonl")
    assert kept.get(first) is None
    assert kept.get(found("empty", "")) == EMPTY
    kept.note([("a", first.stamp, "h1"), ("b", first.stamp, "h1")])
    with (tmp_path / "hashes.jsonl").open("a") as file:
        file.write('["torn')
    assert other.get(first) == "h1"
    other.note([("a", first.stamp, "h2")])
    assert (kept.get(first), kept.paths("h1"), kept.paths("h2")) == ("h2", ["b"], ["a"])
    assert kept.get(found("a", "22")) is None
    other.drop("b")
    assert kept.paths("h1") == []
    monkeypatch.setattr("gristmill.hub.server.bucket_hashes._SPARE_LINES", 0)
    kept.compact()
    assert len((tmp_path / "hashes.jsonl").read_text().splitlines()) == 1
    assert (
        other.paths("h2") == kept.paths("h2") == KnownHashes(tmp_path / "hashes.jsonl").paths("h2") == ["a"]
    )
