"""LFS uploads in parts: by the reference client, and by one that leaves out, mixes up and breaks off."""

import hashlib
import io
import os
import socket
from urllib.parse import urlsplit

import pytest
from huggingface_hub import HfApi
from hypothesis import given
from hypothesis import strategies as st

from gristmill.hub.server import serve_in_thread
from gristmill.hub.server.history import History
from gristmill.hub.server.lfs_parts import PartsUpload, part_size
from tests.hub.server.conftest import Writer

PART = 100_000
DATA = os.urandom(3 * PART + 17)
OID = hashlib.sha256(DATA).hexdigest()
SIZE = len(DATA)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr("gristmill.hub.server.lfs_parts.PART", PART)


def batch(writer, oid=OID, size=SIZE, transfers=("basic", "multipart")):
    asked = {"operation": "upload", "transfers": list(transfers), "objects": [{"oid": oid, "size": size}]}
    return writer.post("/datasets/org/new.git/info/lfs/objects/batch", asked).json


class Parts:
    """An upload that was begun."""

    def __init__(self, writer: Writer, oid: str = OID, size: int = SIZE) -> None:
        self.writer = writer
        told = batch(writer, oid, size)
        assert told["transfer"] == "multipart"
        upload = told["objects"][0]["actions"]["upload"]
        header = dict(upload["header"])
        assert header.pop("chunk_size") == str(PART)
        assert sorted(header) == [f"{number:05d}" for number in range(1, len(header) + 1)]
        self.urls = [urlsplit(header[name]).path for name in sorted(header)]
        self.complete_url = urlsplit(upload["href"]).path
        self.oid = oid
        self.etags: dict[int, str] = {}

    def send(self, *numbers, data=DATA):
        for number in numbers or range(1, len(self.urls) + 1):
            answer = self.writer.ask("PUT", self.urls[number - 1], data[(number - 1) * PART : number * PART])
            assert answer.status == 200
            self.etags[number] = answer.headers["ETag"]

    def complete(self, **more):
        parts = [{"partNumber": number, "etag": etag} for number, etag in sorted(self.etags.items())]
        return self.writer.post(self.complete_url, {"oid": self.oid, "parts": parts, **more})


def left(folder):
    return sorted(p.name for p in folder.glob("datasets/org/new/.gristmill/parts/*"))


def commit(writer, oid=OID):
    return writer.commit(("lfsFile", {"path": "x.bin", "algo": "sha256", "oid": oid}))


def test_in_any_order_and_again(writer, folder):
    parts = Parts(writer)
    parts.send(4, 2, 1, 3)
    parts.send(2, data=bytes(len(DATA)))  # a wrong one, sent again rightly
    parts.send(2)
    assert commit(writer).status == 400
    assert parts.complete().status == 200
    assert parts.complete().status == 200  # its answer was lost: asked again
    assert left(folder) == []
    verify = {"oid": OID, "size": len(DATA)}
    assert writer.post("/api/lfs/verify/datasets/org/new", verify).status == 200
    assert commit(writer).status == 200
    assert writer.get("/datasets/org/new/resolve/main/x.bin").body == DATA
    assert "actions" not in batch(writer)["objects"][0]


def test_who_does_not_offer_it_sends_it_whole(writer):
    assert batch(writer, transfers=["basic"])["transfer"] == "basic"
    assert batch(writer, size=PART)["transfer"] == "basic"


def test_what_is_wrong_is_refused(writer, folder):
    parts = Parts(writer)
    parts.send(1, 2, 4)
    assert parts.complete().status == 400  # one is missing
    parts.etags[3] = parts.etags[2]
    assert parts.complete().status == 400
    assert writer.ask("PUT", parts.urls[2], DATA[:PART] + b"x").status == 413
    assert writer.ask("PUT", parts.urls[2], DATA[: PART - 1]).status == 400
    assert parts.complete().status == 400
    odd_ones: list[dict[str, object]] = [
        {"parts": 7},
        {"parts": [{}]},
        {"parts": [{"partNumber": "x", "etag": "y"}]},
        {"oid": "0" * 64},
    ]
    for odd in odd_ones:
        assert parts.complete(**odd).status == 400
    assert writer.ask("PUT", parts.urls[0][:-2], DATA[:PART]).status == 401
    assert writer.ask("PUT", parts.complete_url.replace("complete", "part"), b"x").status == 401
    parts.send(3, data=bytes(len(DATA)))
    answer = parts.complete()  # all there, but another content
    assert (answer.status, left(folder)) == (400, [])
    assert b"sha256" in answer.body
    assert parts.complete().status == 404
    assert writer.ask("PUT", parts.urls[0], DATA[:PART]).status == 404
    assert writer.post("/api/lfs/verify/datasets/org/new", {"oid": OID, "size": len(DATA)}).status == 404


def test_a_part_that_breaks_off_or_comes_late_harms_nothing(writer, folder):
    parts = Parts(writer)
    parts.send(1, 3, 4)
    broken, late = (socket.create_connection(writer.address, timeout=20) for _ in range(2))
    head = f"PUT {parts.urls[1]} HTTP/1.1\r\nHost: x\r\nContent-Length: {PART}\r\n\r\n".encode()
    broken.sendall(head + DATA[:1000])
    late.sendall(head + bytes(PART - 10))
    broken.close()
    assert parts.complete().status == 400
    parts.send(2)
    assert parts.complete().status == 200
    late.sendall(bytes(10))  # of a part that is no more wanted
    assert late.recv(12) == b"HTTP/1.1 404"
    late.close()
    assert commit(writer).status == 200
    assert writer.get("/datasets/org/new/resolve/main/x.bin").body == DATA
    assert left(folder) == []


def test_given_up(writer, folder, monkeypatch):
    first, second = Parts(writer), Parts(writer)
    first.send(1)
    assert len(left(folder)) == 2
    assert writer.ask("DELETE", first.complete_url).status == 200
    assert len(left(folder)) == 1
    monkeypatch.setattr("gristmill.hub.server.lfs_parts.KEEP_SECONDS", -10.0)
    third = Parts(writer)
    assert len(left(folder)) == 1
    assert second.writer.ask("PUT", second.urls[0], DATA[:PART]).status == 404
    third.send()
    assert third.complete().status == 200


def test_nothing_is_left_of_a_deleted_repository(writer, folder):
    parts = Parts(writer)
    parts.send(1)
    assert writer.post("/api/repos/delete", {"name": "org/new", "type": "dataset"}, "DELETE").status == 200
    assert writer.ask("PUT", parts.urls[1], DATA[PART : 2 * PART]).status == 404
    assert parts.complete().status == 404
    assert not (folder / "datasets/org/new").exists()


@pytest.mark.filterwarnings("ignore:Use .content=:DeprecationWarning")  # the reference client's own
def test_the_reference_client(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_PROGRESS_BARS", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    log = tmp_path / "log"
    (tmp_path / "a.bin").write_bytes(DATA)
    with serve_in_thread(folder, allow_write=True, log=log) as endpoint:
        api = HfApi(endpoint=endpoint, token="hf_any")
        api.create_repo("org/new", repo_type="dataset")
        for name, given_as in [("a.bin", tmp_path / "a.bin"), ("b.bin", io.BytesIO(DATA[::-1]))]:
            api.upload_file(
                path_or_fileobj=given_as, path_in_repo=name, repo_id="org/new", repo_type="dataset"
            )
        for name, content in [("a.bin", DATA), ("b.bin", DATA[::-1])]:
            assert Writer(endpoint).get(f"/datasets/org/new/resolve/main/{name}").body == content
    text = log.read_text()
    assert text.count('"/api/lfs/part/\\u2026"') == 8  # the addresses are rights, and in no log
    assert text.count('"/api/lfs/complete/\\u2026"') == 2


@given(st.integers(1, 2**50))
def test_parts_make_up_the_object(tmp_path_factory, size):
    upload = PartsUpload(History(tmp_path_factory.getbasetemp()), "0" * 32, "", size, part_size(size))
    assert 1 <= upload.count <= max(1000, -(-size // PART))
    lengths = (
        [upload.length(number) for number in range(1, upload.count + 1)] if upload.count <= 1000 else [size]
    )
    assert sum(lengths) == size
    assert min(lengths) > 0


def test_an_answer_has_so_many_addresses_at_most(writer, folder, monkeypatch):
    monkeypatch.setattr("gristmill.hub.server.lfs_api._MOST_URLS", 10)
    asked = {
        "operation": "upload",
        "transfers": ["basic", "multipart"],
        "objects": [{"oid": f"{number:064x}", "size": SIZE} for number in range(4)],
    }
    told = writer.post("/datasets/org/new.git/info/lfs/objects/batch", asked).json
    headers = [each["actions"]["upload"]["header"] for each in told["objects"]]
    # Two in four parts each; the others are to be sent whole.
    assert [len(header) for header in headers] == [5, 5, 0, 0]
    assert len(list(folder.glob("datasets/org/new/.gristmill/parts/*"))) == 2
