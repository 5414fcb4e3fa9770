"""Clients that are slow, odd, many or hostile, and a server that is stopped while it works: on raw sockets."""

import http.client
import json
import random
import shutil
import socket
import subprocess
import threading
import time
from urllib.parse import urlsplit

import pytest

from gristmill.hub.server import serve_in_thread
from gristmill.hub.server.app import ROUTES
from tests.hub.server.conftest import FILES, TRICKY, Wire, Writer, file, write


def connect(wire):
    return socket.create_connection(wire.address, timeout=30)


def read_all(connection):
    answer = b""
    try:
        while block := connection.recv(65536):
            answer += block
    except ConnectionResetError:
        pass
    return answer


def drip(connection, data):
    for byte in data:
        connection.sendall(bytes([byte]))
        time.sleep(0.02)


def eventually(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# -- slow ones


@pytest.mark.parametrize("first", [b"", b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_a_head_that_never_ends_is_not_waited_for(folder, monkeypatch, first):
    monkeypatch.setattr("gristmill.hub.server.patience.HEAD_WITHIN", 0.5)
    with serve_in_thread(folder) as endpoint:
        wire = Wire(endpoint)
        with connect(wire) as connection:
            connection.sendall(first)
            if first:
                assert connection.recv(9) == b"HTTP/1.1 "
            # A byte now and then keeps nothing open.
            with pytest.raises(OSError, match=r"reset|pipe"):
                drip(connection, b"GET /health HTTP/1.1\r\nX-Slow: " + b"a" * 100_000)
        with connect(wire) as silent:
            assert read_all(silent) == b""


def test_many_slow_heads_keep_nobody_out(folder, monkeypatch):
    with serve_in_thread(folder) as endpoint:
        wire = Wire(endpoint)
        slow = [connect(wire) for _ in range(200)]
        try:
            for connection in slow:
                connection.sendall(b"POST /api/datasets HTTP/1.1\r\nHost: x\r\n")
            assert wire.get("/datasets/org/tiny/resolve/main/notes.txt").body == FILES["notes.txt"]
        finally:
            for connection in slow:
                connection.close()


def test_a_body_that_stops_is_not_waited_for(folder, monkeypatch):
    monkeypatch.setattr("gristmill.hub.server.patience.MOVE_WITHIN", 0.6)
    with serve_in_thread(folder, allow_write=True) as endpoint:
        writer = Writer(endpoint)
        writer.create()
        with connect(writer) as connection:
            connection.sendall(
                b"POST /api/datasets/org/new/commit/main HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n{"
            )
            assert read_all(connection) == b""
        eventually(lambda: not list((folder / ".gristmill/tmp").iterdir()))


def test_who_does_not_read_is_not_waited_for(folder, repo, monkeypatch):
    monkeypatch.setattr("gristmill.hub.server.patience.MOVE_WITHIN", 0.6)
    write(repo, {"big.bin": bytes(60_000_000)})
    with serve_in_thread(folder) as endpoint:
        wire = Wire(endpoint)
        stalled, slow = connect(wire), connect(wire)
        for connection in (stalled, slow):
            connection.sendall(b"GET /datasets/org/tiny/resolve/main/big.bin HTTP/1.1\r\nHost: x\r\n\r\n")
        got = 0
        for _ in range(15):  # longer than the limit, but something moves
            time.sleep(0.1)
            got += len(slow.recv(1_000_000))
        while got < 60_000_000:
            block = slow.recv(1_000_000)
            assert block
            got += len(block)
        assert len(read_all(stalled)) < 60_000_000
        stalled.close()
        slow.close()


def test_what_takes_long_on_the_server_is_waited_for(folder, monkeypatch):
    monkeypatch.setattr("gristmill.hub.server.patience.MOVE_WITHIN", 0.2)
    monkeypatch.setattr("gristmill.hub.server.patience.HEAD_WITHIN", 0.2)
    real = "gristmill.hub.server.plain.PlainRepo.head"
    from gristmill.hub.server.plain import PlainRepo

    def slow(self, head=PlainRepo.head):
        time.sleep(1.2)
        return head(self)

    monkeypatch.setattr(real, slow)
    with serve_in_thread(folder) as endpoint:
        assert Wire(endpoint).get("/datasets/org/tiny/resolve/main/notes.txt").body == FILES["notes.txt"]


# -- odd ones


def test_large_heads_and_bodies(writer):
    assert writer.raw(b"/" + b"a" * 100_000)[0] == 400
    with connect(writer) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 200_000)
        assert read_all(connection).startswith((b"HTTP/1.1 400", b""))
    for size in (b"99999999999999999999", b"2000000000"):
        with connect(writer) as connection:
            head = b"POST /api/datasets/org/new/commit/main HTTP/1.1\r\nHost: x\r\nContent-Length: "
            connection.sendall(head + size + b"\r\n\r\n")
            assert connection.recv(12) == b"HTTP/1.1 413"
    body = b'{"files":[' + b" " * 17_000_000
    assert writer.ask("POST", "/api/datasets/org/new/preupload/main", body).status == 413
    assert writer.get("/health").status == 200


@pytest.mark.parametrize(
    "head",
    [
        b"GET /health\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /health HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/validate-yaml HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"GET / HTTP/1.1\r\nHost: x\r\nBad Name: y\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
    ],
)
def test_what_is_no_request(writer, head):
    with connect(writer) as connection:
        connection.sendall(head)
        connection.shutdown(socket.SHUT_WR)
        answer = read_all(connection)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400"), answer[:50]
    assert writer.get("/health").status == 200


def test_pipelined_requests_are_answered_in_order(writer):
    writer.commit(file("a.txt", b"a"), file("b.txt", b"bb"))
    asked = b"".join(
        b"%s /datasets/org/new/resolve/main/%s HTTP/1.1\r\nHost: x\r\n%s\r\n" % (method, name, last)
        for method, name, last in [
            (b"GET", b"a.txt", b""),
            (b"HEAD", b"b.txt", b""),
            (b"GET", b"nothing", b""),
            (b"GET", b"b.txt", b"Connection: close\r\n"),
        ]
    )
    with connect(writer) as connection:
        connection.sendall(asked)
        answer = read_all(connection)
    heads = answer.split(b"HTTP/1.1 ")[1:]
    assert [each[:3] for each in heads] == [b"200", b"200", b"404", b"200"]
    assert heads[0].endswith(b"\r\n\r\na")
    assert heads[1].lower().endswith(b"\r\n\r\n")
    assert b"content-length: 2" in heads[1].lower()
    assert heads[3].endswith(b"\r\n\r\nbb")


def test_expect_100_continue(writer):
    body = b'{"content": "---\\nlicense: mit\\n---\\n"}'

    def ask(target, more=b""):
        connection = connect(writer)
        head = b"POST %s HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n%s\r\n"
        connection.sendall(head % (target, len(body), more))
        return connection

    with ask(b"/api/validate-yaml") as connection:
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert connection.recv(12) == b"HTTP/1.1 200"
    # Refused before the body is sent.
    with ask(b"/api/datasets/org/none/commit/main") as connection:
        assert connection.recv(12) == b"HTTP/1.1 401"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_sends_a_large_body(writer, tmp_path):
    (tmp_path / "body").write_bytes(random.Random(1).randbytes(3_000_000))
    command = ["curl", "-sS", "--noproxy", "*", "-o", str(tmp_path / "out"), "-w", "%{http_code}"]
    url = f"{writer.endpoint}/api/datasets/org/new/commit/main"
    for more in ([], ["-H", "Transfer-Encoding: chunked"], ["-H", "Expect: 100-continue"]):
        done = subprocess.run(
            [*command, *more, "--data-binary", f"@{tmp_path / 'body'}", url],
            capture_output=True,
            check=True,
            timeout=60,
        )
        assert done.stdout == b"400"


def test_head_is_get_without_a_body(writer, folder):
    writer.commit(file("README.md", b"---\nlicense: mit\n---\n"), file("d/a.txt", b"a"))
    folder.joinpath("buckets/org/b").mkdir(parents=True)
    folder.joinpath("buckets/org/b/x.txt").write_text("x")
    fill = {
        "type": "datasets",
        "id": "org/new",
        "rev": "main",
        "bucket": "org/b",
        "namespace": "org",
        "number": "1",
        "config": "default",
        "split": "train",
        "file": "0.parquet",
        "store": "s",
        "hash": "0" * 64,
        "token": "t",
        "prefix": "default",
    }
    for route in ROUTES:
        if "GET" not in route.methods or route.writes:
            continue
        target = route.pattern
        for name, value in fill.items():
            target = target.replace(f"{{{name}}}", value)
        path = (
            "x.txt"
            if "buckets" in target
            else "owner/repo/v1/data/a.csv"
            if "github" in target
            else "d/a.txt"
        )
        if "/tree/" in target:
            path = ""
        target = "/" + target.replace("{path}", path)
        if target.startswith("/org/new"):
            target = target.replace("/org/new", "/org/model").replace("d/a.txt", "config.json")
        whole, head = writer.get(target), writer.head(target)
        assert (head.status, head.body) == (whole.status, b""), target
        assert head.headers["Content-Length"] == str(len(whole.body)), target
        assert head.headers["Content-Type"] == whole.headers["Content-Type"], target


def test_connections_are_kept(writer):
    connection = http.client.HTTPConnection(writer.address[0], writer.address[1], timeout=30)
    ports = set()
    for target, status in [("/health", 200), ("/api/datasets/none/none", 401), ("/nothing/at/all", 404)] * 2:
        connection.request("GET", target)
        ports.add(connection.sock.getsockname())
        answer = connection.getresponse()
        answer.read()
        assert answer.status == status
    connection.close()
    assert len(ports) == 1


def test_paths_that_are_encoded_oddly(wire):
    base = "/datasets/org/tiny/resolve/main/"
    assert wire.get(base + "notes%2Etxt").body == FILES["notes.txt"]
    assert wire.get("/%64atasets/org/tiny/resolve/main/notes.txt").body == FILES["notes.txt"]
    assert wire.get(base + Wire.quoted(TRICKY)).body == FILES[TRICKY]
    assert wire.get(base + Wire.quoted(TRICKY).replace("/", "%2F")).body == FILES[TRICKY]
    for odd in ("%00", "a%00b", "..", "%2e%2e", "%2e%2e%2f%2e%2e%2fsecret.txt", "a/../../secret.txt", "%ff", "%5c..",
                "%2Fetc%2Fpasswd", "n" * 5000, "%", "%zz", "a//b", "./a"):  # fmt: skip
        status, body = wire.raw((base + odd).encode())
        assert status in (400, 404), odd
        assert b"secret" not in body.replace(b"secret.txt", b"")
    for odd in (
        "/datasets/..%2f..%2f/x",
        "/api/datasets/%2e%2e/%2e%2e",
        "/api/models/a%2Fb/c/tree/main",
        "//",
        "/%2F",
    ):
        assert wire.raw(odd.encode())[0] in (200, 400, 401, 404), odd


# -- many at once


def test_no_commit_is_lost(writer):
    seen: list[tuple[str, int]] = []
    lock = threading.Lock()

    def blind(name):
        for number in range(6):
            answer = writer.commit(file(f"{name}/{number}.txt", name.encode()), title=f"{name} {number}")
            with lock:
                seen.append((f"{name}/{number}.txt", answer.status))

    def careful(name):
        for number in range(3):
            while True:
                head = writer.get("/api/datasets/org/new").json["sha"]
                counted = writer.get("/datasets/org/new/resolve/main/count.txt")
                value = int(counted.body) if counted.status == 200 else 0
                answer = writer.commit(
                    file("count.txt", b"%d" % (value + 1)), parent=head, title=f"{name} {number}"
                )
                assert answer.status in (200, 412)
                if answer.status == 200:
                    break

    threads = [threading.Thread(target=blind, args=(f"b{n}",)) for n in range(8)]
    threads += [threading.Thread(target=careful, args=(f"c{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert {status for _, status in seen} == {200}
    listed = {e["path"] for e in writer.get("/api/datasets/org/new/tree/main?recursive=true").json}
    assert {path for path, _ in seen} <= listed
    titles = [each["title"] for each in writer.get("/api/datasets/org/new/commits/main?limit=1000").json]
    # One line of history: each commit that was answered with 200 is in it once.
    assert len(titles) == len(set(titles)) == 8 * 6 + len([t for t in titles if t[0] == "c"]) + 1
    count = int(writer.get("/datasets/org/new/resolve/main/count.txt").body)
    # Read before the head moved on, a count may be written for an older one, never lost for a newer.
    assert count == len([title for title in titles if title.startswith("c")]) == 12


def test_stopping_while_clients_write_loses_nothing_that_was_answered(folder):
    done: list[str] = []
    lock, stop = threading.Lock(), threading.Event()

    def push(writer, name):
        number = 0
        while not stop.is_set():
            path = f"{name}/{number}.txt"
            try:
                answer = writer.commit(file(path, path.encode() * 1000))
            except OSError:
                return
            if answer.status != 200:
                return
            with lock:
                done.append(path)
            number += 1

    threads = []
    with serve_in_thread(folder, allow_write=True) as endpoint:
        Writer(endpoint).create()
        threads = [threading.Thread(target=push, args=(Writer(endpoint), f"t{n}")) for n in range(6)]
        for thread in threads:
            thread.start()
        eventually(lambda: len(done) > 30)
    stop.set()
    for thread in threads:
        thread.join(60)
    with serve_in_thread(folder, allow_write=True) as endpoint:
        writer = Writer(endpoint)
        for path in done:
            assert writer.get(f"/datasets/org/new/resolve/main/{path}").body == path.encode() * 1000
        assert writer.commit(file("after", b"x")).status == 200
        assert not list((folder / "datasets/org/new/.gristmill/tmp").glob("*"))


def test_each_client_has_a_limit_of_its_own(folder, tmp_path):
    (tmp_path / "tokens.json").write_text(
        json.dumps({"hf_a": {"user": "a", "read": ["*"]}, "hf_b": {"user": "b", "read": ["*"]}})
    )
    with serve_in_thread(folder, tokens=tmp_path / "tokens.json", rate_limit=5) as endpoint:
        wire = Wire(endpoint)

        def statuses(count, **headers):
            return [wire.get("/api/datasets", **headers).status for _ in range(count)]

        # A minute may begin in between, which lets some more through.
        for headers in ({"Authorization": "Bearer hf_a"}, {"Authorization": "Bearer hf_b"}, {}):
            told = statuses(11, **headers)
            assert told[:5] == [200] * 5 or 429 not in told[:5]
            assert 429 in told
        answer = wire.get("/api/datasets")
        if answer.status == 429:
            assert answer.headers["RateLimit"].startswith('"api";r=0;t=')
        made_up = [wire.get("/api/datasets", Authorization=f"Bearer hf_x{n}").status for n in range(6)]
        assert set(made_up) <= {401, 429}
        assert wire.get("/health").status == 200


def test_health_and_log_tell_of_trouble(folder, tmp_path):
    log = tmp_path / "log.jsonl"
    with serve_in_thread(folder, log=log) as endpoint:
        wire = Wire(endpoint)
        assert wire.get("/health").json == {"status": "ok", "writable": False}
        answer = wire.get("/api/datasets/org/none", X_Secret="hf_secret", Authorization="Bearer hf_secret")
        assert answer.status == 404
        folder.rename(tmp_path / "away")
        assert wire.get("/health").status == 503
        (tmp_path / "away").rename(folder)
        assert wire.get("/health").status == 200
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["status"] for line in lines] == [200, 404, 503, 200]
    assert lines[1]["id"] == answer.headers["X-Request-Id"]
    assert urlsplit(lines[1]["path"]).path == "/api/datasets/org/none"
    assert "hf_secret" not in log.read_text()
