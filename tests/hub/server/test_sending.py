"""Bodies of files, by each of the ways in which they are sent."""

import contextlib
import hashlib
import http.client
import os
import random
import socket
import threading
from pathlib import Path

import anyio
import pytest

from gristmill.hub.server import sending
from gristmill.hub.server.quick import Quick
from tests.hub.server.conftest import write

BIG = random.Random(3).randbytes(3_000_000)
URL = "/datasets/org/tiny/resolve/main/big.bin"
PARTS = [(0, 1), (5, 1000), (100, 131_072), (100, 131_073), (2_999_999, 1), (1, 2_999_999), (0, 3_000_000)]


@pytest.fixture
def big(repo):
    write(repo, {"big.bin": BIG})


@pytest.mark.parametrize("way", ["pages", "cold", "no flag", "blocks"])
@pytest.mark.usefixtures("big")
def test_parts_of_all_lengths(wire, monkeypatch, way):
    if way == "cold":
        monkeypatch.setattr(sending.FileBody, "_small", lambda self: None)
        monkeypatch.setattr(sending, "_at_hand", lambda *part: False)
    elif way == "no flag":
        monkeypatch.setattr(sending, "_NOT_WAITING", 0)
    elif way == "blocks":
        monkeypatch.setattr(sending, "ZERO_COPY", "another")
        monkeypatch.setattr(sending, "_SMALL", 0)
    monkeypatch.setattr(sending, "_PIECE", 1_000_000)
    for start, length in PARTS:
        answer = wire.get(URL, Range=f"bytes={start}-{start + length - 1}")
        assert answer.status == 206
        assert answer.body == BIG[start : start + length]
    assert wire.get(URL).body == BIG


@pytest.mark.usefixtures("big")
def test_many_requests_of_one_connection(wire):
    connection = http.client.HTTPConnection(wire.address[0], wire.address[1], timeout=60)
    draw = random.Random(4)
    for _ in range(60):
        start = draw.randrange(len(BIG))
        length = min(draw.choice([10, 200_000, 2_000_000]), len(BIG) - start)
        connection.request("GET", URL, headers={"Range": f"bytes={start}-{start + length - 1}"})
        assert connection.getresponse().read() == BIG[start : start + length]
    connection.close()


@pytest.mark.usefixtures("big")
def test_requests_sent_before_the_answers_came(wire):
    asked = [(draw, draw + 400_000) for draw in (0, 700_000, 1_400_000)]
    lines = [
        f"GET {URL} HTTP/1.1\r\nHost: x\r\nRange: bytes={a}-{b - 1}\r\n" + "Connection: close\r\n" * (n == 2)
        for n, (a, b) in enumerate(asked)
    ]
    with socket.create_connection(wire.address, timeout=60) as connection:
        connection.sendall("".join(f"{line}\r\n" for line in lines).encode())
        came = b""
        while block := connection.recv(1 << 20):
            came += block
    for a, b in asked:
        head, _, came = came.partition(b"\r\n\r\n")
        assert b"206" in head.split(b"\r\n")[0]
        assert came[: b - a] == BIG[a:b]
        came = came[b - a :]
    assert came == b""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to see what is open")
@pytest.mark.usefixtures("big")
def test_readers_that_leave_or_are_slow_hold_nobody_up(wire, repo):
    write(repo, {"huge.bin": BIG * 10})
    assert wire.head(URL.replace("big", "huge")).status == 200  # hashed by now
    slow = []
    for number in range(20):
        connection = socket.create_connection(wire.address, timeout=60)
        connection.sendall(f"GET {URL.replace('big', 'huge')} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        connection.recv(100)
        if number % 2:
            connection.close()
        else:
            slow.append(connection)
    assert wire.get(URL).body == BIG
    for connection in slow:
        connection.close()
    for _ in range(200):
        if not _open_files("huge.bin"):
            break
        threading.Event().wait(0.05)
    assert not _open_files("huge.bin")


def _open_files(name):
    found = []
    for handle in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found.append(handle.readlink())
    return [path for path in found if path.name == name]


@pytest.mark.usefixtures("big")
def test_a_file_that_becomes_shorter_meanwhile_is_broken_off(wire, repo, monkeypatch):
    assert wire.head(URL).status == 200
    looked = sending._at_hand

    def cut(handle, offset, size):
        os.truncate(repo / "big.bin", 2_000_000)
        return looked(handle, offset, size)

    monkeypatch.setattr(sending, "_at_hand", cut)
    with pytest.raises(http.client.IncompleteRead):
        wire.get(URL)


def test_what_is_quick_is_done_at_once_and_what_is_slow_in_threads():
    async def run():
        quick = Quick(anyio.CapacityLimiter(4))
        own = threading.get_ident()
        assert await quick.call("a", False, threading.get_ident) != own
        assert await quick.call("a", False, threading.get_ident) == own
        assert await quick.call("b", False, threading.get_ident) != own
        assert await quick.call("a", True, threading.get_ident) != own
        await quick.call("a", False, threading.Event().wait, 0.05)
        assert await quick.call("a", False, threading.get_ident) != own
        with pytest.raises(ZeroDivisionError):
            await quick.call("c", False, lambda: 1 // 0)

    anyio.run(run)


@pytest.mark.usefixtures("big")
def test_a_changed_file_is_never_the_old_one(wire, repo):
    for number in range(20):
        content = BIG[number : number + 500_000]
        write(repo, {"big.bin": content})
        answer = wire.get(URL)
        assert answer.headers["X-Linked-ETag"].strip('"') == hashlib.sha256(content).hexdigest()
        assert answer.body == content
