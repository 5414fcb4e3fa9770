"""The HTTP session: errors at the border, bounds, ranges, and what survives forks and pickles."""

import gc
import os
import pickle
import time
import warnings

import pytest

from gristmill import config
from gristmill.errors import (
    EntryNotFoundError,
    HubConnectionError,
    HubResponseError,
    IncompleteBodyError,
    InvalidArgumentError,
    RangeIgnoredError,
    RateLimitedError,
)
from gristmill.files.http import HttpSession, is_unreachable, origin
from gristmill.files.ranges import ContentRange, parse_content_range
from gristmill.files.retry import RetryPolicy
from tests.hub.faulty import FaultyHub, Reply, drop, hang_up, redirect, says, short, status

BODY = bytes(range(256)) * 40


@pytest.fixture
def server():
    with FaultyHub({"file": BODY}) as faulty:
        yield faulty


@pytest.fixture
def sleeps():
    return []


@pytest.fixture
def session(server, sleeps):
    made = HttpSession(server.url, policy=RetryPolicy(sleep=sleeps.append))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://h", ("http", "h", 80)),
        ("HTTPS://H:443/x?y", ("https", "h", 443)),
        ("http://user:secret@h:8080", ("http", "h", 8080)),
        ("http://[::1]:9/", ("http", "::1", 9)),
    ],
)
def test_origin(url, expected):
    assert origin(url) == expected


@pytest.mark.parametrize(
    "url", ["", "h", "/x", "file:///x", "http://", "http://[::1", "http://h:x", "http://h:99999"]
)
def test_no_origin(url):
    with pytest.raises(InvalidArgumentError, match="url="):
        origin(url)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("bytes 0-9/100", ContentRange(0, 9, 100)),
        (" bytes 5-5/* ", ContentRange(5, 5, None)),
        ("bytes 9-0/100", None),
        ("bytes */100", None),
        ("bytes 0-9", None),
        ("lines 0-9/100", None),
        ("bytes 0-9/100, 20-29/100", None),
        (f"bytes 0-{'9' * 5000}/*", None),
        ("", None),
        (None, None),
    ],
)
def test_content_range(value, expected):
    assert parse_content_range(value) == expected


def test_a_range(session, server):
    assert session.get_range(f"{server.url}/file", 5, 10) == BODY[5:15]
    assert session.get_range(f"{server.url}/file", len(BODY) - 3, 10) == BODY[-3:]
    assert server.seen[0].headers["range"] == "bytes=5-14"
    assert server.seen[0].headers["accept-encoding"] == "identity"


def ranged(value: str, body: bytes = BODY[5:15], code: int = 206):
    return lambda truth, seen: Reply(code, body, {"Content-Range": value})


@pytest.mark.parametrize(
    "fault",
    [
        # Reading on would break off here and be tried again: no sleep shows that the body was left alone.
        lambda truth, seen: Reply(200, BODY, drop_after=0),
        lambda truth, seen: Reply(200, BODY, {"Content-Range": f"bytes 5-14/{len(BODY)}"}, drop_after=0),
        status(206, BODY[5:15]),
        ranged("bytes 0-9/10240"),
        ranged("bytes 5-15/10240"),
        ranged("bytes 5-13/10240"),
        ranged("bytes 5-14/12"),
        ranged("bytes 5-/10240"),
        status(416, Content_Range="bytes */3"),
        lambda truth, seen: Reply(206, truth.body, {**truth.headers, "Content-Encoding": "gzip"}),
    ],
)
def test_anything_but_the_range_asked_for_is_refused(session, server, sleeps, fault):
    server.script("file", fault)
    with pytest.raises(RangeIgnoredError, match="bytes 5 to 14 were asked for") as caught:
        session.get_range(f"{server.url}/file", 5, 10)
    assert caught.value.url == f"{server.url}/file"
    assert sleeps == []


def test_a_range_that_comes_in_pieces_or_too_long(session, server, sleeps):
    url = f"{server.url}/file"
    server.script("file", drop(3), short(3), status(500))
    assert session.get_range(url, 5, 10) == BODY[5:15]
    assert sleeps == [0.5, 1.0, 2.0]
    server.script("file", *[short(3)] * 4)
    with pytest.raises(IncompleteBodyError, match="Only 3 of 10 bytes"):
        session.get_range(url, 5, 10)
    server.script("file", ranged("bytes 5-14/10240", BODY))
    with pytest.raises(HubResponseError, match="larger than the 10 bytes"):
        session.get_range(url, 5, 10)


def test_a_bound_holds_without_a_length(session, server):
    server.script("file", lambda truth, seen: Reply(200, BODY, {"Content-Length": ""}))
    server.script("file", lambda truth, seen: Reply(200, BODY, {"Transfer-Encoding": "identity"}))
    with pytest.raises(HubResponseError, match="larger than the 100 bytes"):
        session.get_bytes(f"{server.url}/file", limit=100)


def test_a_body_that_blows_up_when_unpacked_is_not_unpacked_whole(session, server):
    import gzip

    bomb = gzip.compress(bytes(30_000_000))
    server.script("file", lambda truth, seen: Reply(200, bomb, {"Content-Encoding": "gzip"}))
    with pytest.raises(HubResponseError, match="larger than the 1,000,000 bytes"):
        session.get_bytes(f"{server.url}/file", limit=1_000_000)


@pytest.mark.parametrize("packing", ["gzip, gzip", "GZIP,gzip", "br", "zstd", "deflate", "gzip, br"])
def test_a_body_in_another_packing_than_asked_for_is_not_unpacked(session, server, sleeps, packing):
    server.script("file", lambda truth, seen: Reply(200, b"x", {"Content-Encoding": packing}))
    with pytest.raises(HubResponseError, match=f"packed as '{packing}', and at most gzip"):
        session.get_bytes(f"{server.url}/file", limit=1000)
    assert sleeps == []


@pytest.mark.parametrize("packing", ["", "identity", "gzip", "Gzip", "identity, gzip"])
def test_packings_that_were_asked_for(session, server, packing):
    import gzip

    body = gzip.compress(b"text") if "gzip" in packing.lower() else b"text"
    server.script("file", lambda truth, seen: Reply(200, body, {"Content-Encoding": packing}))
    assert session.get_bytes(f"{server.url}/file", limit=1000)[0] == b"text"


def test_redirects_that_no_url_can_be_made_of(session, server, sleeps):
    server.script("file", redirect("http://[bad/"))
    with pytest.raises(HubResponseError, match="which is no web address"):
        session.get_bytes(f"{server.url}/file", limit=1000)
    assert sleeps == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("ALL_PROXY", "gopher://127.0.0.1:1"), ("SSL_CERT_FILE", "/nonexistent/certificates.pem")],
)
def test_an_environment_no_connection_can_be_set_up_in(server, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidArgumentError, match=f"No connection can be set up: .*{name}"):
        HttpSession(server.url).get_bytes(f"{server.url}/file", limit=1000)


def test_json(session, server):
    server.script("x", says({"ü": [1]}, Link="<a>"))
    value, headers = session.get_json(f"{server.url}/x")
    assert value == {"ü": [1]}
    assert headers["link"] == "<a>"


def test_unknown_servers_refuse_plainly(session, server):
    server.script("x", says({"errors": [{"message": "gone"}]}, 410), says(["odd"], 418), status(301))
    with pytest.raises(EntryNotFoundError, match="gone"):
        session.get_json(f"{server.url}/x")
    for _ in range(2):
        with pytest.raises(HubResponseError, match=r"HTTP (418|301)"):
            session.get_json(f"{server.url}/x")


def test_no_server(sleeps):
    session = HttpSession("http://127.0.0.1:9", policy=RetryPolicy(sleep=sleeps.append))
    with pytest.raises(HubConnectionError, match="Connect") as caught:
        session.get_json("http://127.0.0.1:9/x")
    assert isinstance(caught.value, ConnectionError)
    assert caught.value.__cause__ is not None
    assert sleeps == [0.5, 1.0, 2.0]


def test_a_server_that_says_nothing(server, sleeps):
    def silent(truth: Reply, seen: object) -> Reply:
        time.sleep(1)
        return truth

    server.script("file", silent)
    with config.override(GRISTMILL_TIMEOUT=0.2):
        session = HttpSession(server.url, policy=RetryPolicy(sleep=sleeps.append))
        assert session.get_bytes(f"{server.url}/file", limit=100_000)[0] == BODY
    assert sleeps == [0.5]
    session.close()


def test_a_request_that_can_not_be_made(session, server, sleeps):
    with pytest.raises(HubResponseError, match="can't be made"):
        session.get_bytes(f"{server.url}/file", limit=10, headers={"X": "a\r\nY: b"})
    with pytest.raises(InvalidArgumentError):
        session.get_bytes("ftp://h/x", limit=10)
    assert sleeps == []


def test_a_proxy_is_not_asked_for_this_machine(server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    session = HttpSession(server.url, policy=RetryPolicy(attempts=1))
    assert session.get_bytes(f"{server.url}/file", limit=100_000)[0] == BODY
    session.close()


def test_pickled_and_closed_sessions_go_on(session, server):
    again = pickle.loads(pickle.dumps(session))
    assert again.get_bytes(f"{server.url}/file", limit=100_000)[0] == BODY
    again.close()
    again.close()
    assert again.get_bytes(f"{server.url}/file", limit=100_000)[0] == BODY
    again.close()


def test_a_forgotten_session_closes_its_connections(server):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        session = HttpSession(server.url)
        session.get_bytes(f"{server.url}/file", limit=100_000)
        del session
        gc.collect()
    assert [warning for warning in caught if issubclass(warning.category, ResourceWarning)] == []


def test_a_child_of_fork_opens_its_own_connection(session, server):
    url = f"{server.url}/file"
    session.get_bytes(url, limit=100_000)
    before = session._client
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # newer Pythons warn of forking with threads, which is what is tried here
        child = os.fork()
    if child == 0:
        try:
            good = session.get_bytes(url, limit=100_000)[0] == BODY and session._client is not before
            os._exit(0 if good else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert session._client is before
    assert session.get_bytes(url, limit=100_000)[0] == BODY


def test_what_counts_as_unreachable():
    assert is_unreachable(HubConnectionError("x"))
    assert is_unreachable(RateLimitedError.at_url("x", "u", 429))
    assert is_unreachable(HubResponseError.at_url("x", "u", 503))
    assert not is_unreachable(HubResponseError.at_url("x", "u", 200))
    assert not is_unreachable(EntryNotFoundError.at_url("x", "u", 404))


def test_hang_ups_without_an_answer(session, server, sleeps):
    server.script("file", hang_up, hang_up)
    assert session.get_bytes(f"{server.url}/file", limit=100_000)[0] == BODY
    assert sleeps == [0.5, 1.0]
