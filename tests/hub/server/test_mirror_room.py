"""A mirror that may take so much of the disk: what was not used for the longest time goes, and nobody notices."""

import hashlib
import os
import socket
import threading
import time

import pytest

from gristmill.cli.main import main
from gristmill.hub.server import fetching, mirror_repo, serve_in_thread
from gristmill.hub.server.mirror_room import MirrorRoom
from tests.hub.faulty import FaultyHub
from tests.hub.server.conftest import Wire

FILES = {f"{name}.parquet": name.encode() * 1000 for name in "abcdef"}
URL = "/datasets/org/data/resolve/main/"


@pytest.fixture
def hub():
    with FaultyHub(dict(FILES)) as faulty:
        yield faulty


@pytest.fixture
def copy(tmp_path):
    (tmp_path / "copy").mkdir()
    return tmp_path / "copy"


def path_of(copy, name):
    oid = hashlib.sha256(FILES[f"{name}.parquet"]).hexdigest()
    return copy / f"datasets/org/data/.gristmill/objects/{oid[:2]}/{oid}"


def kept(copy):
    return "".join(name[0] for name in sorted(FILES) if path_of(copy, name[0]).exists())


def age(copy, name, seconds):
    """Lets a content be one that was used so long ago."""
    path = path_of(copy, name)
    at = time.time() - seconds
    os.utime(path, (at, at))


def test_the_least_recently_used_go(hub, copy):
    with serve_in_thread(copy, mirror=hub.url, mirror_max=4000) as endpoint:
        wire = Wire(endpoint)
        for seconds, name in zip((4000, 3000, 2000, 1000), "abcd", strict=True):
            assert wire.get(f"{URL}{name}.parquet").body == FILES[f"{name}.parquet"]
            age(copy, name, seconds)
        assert kept(copy) == "abcd"
        assert wire.get(f"{URL}a.parquet").status == 200  # used again, so b is the oldest now
        assert wire.get(f"{URL}e.parquet").body == FILES["e.parquet"]
        assert kept(copy) == "ade"  # more than needed goes at once
        asked = len(hub.requests("resolve"))
        assert wire.get(f"{URL}b.parquet").body == FILES["b.parquet"]
        assert len(hub.requests("resolve")) == asked + 1
        listed = {item["path"] for item in wire.get("/api/datasets/org/data/tree/main").json}
        assert listed == set(FILES)


def test_what_is_larger_than_all_of_it_is_handed_on(hub, copy):
    with serve_in_thread(copy, mirror=hub.url, mirror_max=999) as endpoint:
        wire = Wire(endpoint)
        for _ in range(2):
            answer = wire.get(f"{URL}a.parquet")
            assert (answer.status, answer.body) == (200, FILES["a.parquet"])
            assert answer.headers["Content-Length"] == "1000"
        part = wire.get(f"{URL}a.parquet", Range="bytes=1-900")
        assert (part.status, part.body) == (206, FILES["a.parquet"][1:901])
        assert wire.head(f"{URL}a.parquet").headers["Content-Length"] == "1000"
        assert kept(copy) == ""


def test_who_reads_reads_on(copy):
    large = os.urandom(30_000_000)
    with FaultyHub({"large.parquet": large, "other.parquet": bytes(30_000_000)}) as hub:
        with serve_in_thread(copy, mirror=hub.url, mirror_max=40_000_000) as endpoint:
            wire = Wire(endpoint)
            assert wire.get(f"{URL}large.parquet").body == large
            with socket.create_connection(wire.address) as reader:
                reader.sendall(
                    f"GET {URL}large.parquet HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
                )
                got = bytearray(reader.recv(1000))
                assert wire.get(f"{URL}other.parquet").status == 200
                [left] = copy.glob("datasets/org/data/.gristmill/objects/*/*")
                assert left.name == hashlib.sha256(bytes(30_000_000)).hexdigest()
                while block := reader.recv(1 << 20):
                    got += block
            assert got.partition(b"\r\n\r\n")[2] == large


def test_the_bound_holds_while_many_come_in(hub, copy, monkeypatch):
    most = []
    fetch = fetching.fetch  # type: ignore[attr-defined]  # imported there

    def counted(session, download, watch):
        fetch(session, download, watch)
        most.append(sum(path.stat().st_size for path in copy.glob("datasets/*/*/.gristmill/objects/*/*")))

    monkeypatch.setattr(fetching, "fetch", counted)
    hub.latency = 0.02
    with serve_in_thread(copy, mirror=hub.url, mirror_max=2500) as endpoint:
        wire = Wire(endpoint)
        wrong = []

        def read(name):
            for _ in range(3):
                if wire.get(f"{URL}{name}").body != FILES[name]:
                    wrong.append(name)  # noqa: PERF401  # as it happens

        threads = [threading.Thread(target=read, args=(name,)) for name in FILES]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong
    assert max(most) <= 2500


def test_what_was_copied_as_a_whole_stays(hub, copy):
    mirror_repo("org/data", copy, endpoint=hub.url, token=False)
    assert kept(copy) == "abcdef"
    for name in "abcdef":
        age(copy, name, 10_000)
    room = MirrorRoom(copy, hub.url, 1000)
    assert room.take(copy / "new", 1000)
    assert kept(copy) == "abcdef"


def test_what_is_held_or_of_another_hub_stays(hub, copy):
    with serve_in_thread(copy, mirror=hub.url) as endpoint:
        for name in "ab":
            Wire(endpoint).get(f"{URL}{name}.parquet")
    part = copy / "datasets/org/data/.gristmill/tmp" / f"{'0' * 64}.part"
    part.write_bytes(bytes(700))
    assert MirrorRoom(copy, "http://other", 500).take(copy / "new", 500)
    assert kept(copy) == "ab"
    room = MirrorRoom(copy, hub.url, 1500)
    with room.hold([path_of(copy, "a")]):
        assert room.take(copy / "new", 400)
        assert kept(copy) == "a"
        assert not part.exists()  # what broke off counts, too
        assert not room.take(copy / "more", 1000)
        room.done(copy / "new")
    assert room.take(copy / "more", 1000)
    assert kept(copy) == ""


def test_the_option_is_for_mirrors(copy, capsys):
    assert main(["hub", "serve", str(copy), "--mirror-max", "1GB"]) == 2
    assert "--mirror-max" in capsys.readouterr().err
