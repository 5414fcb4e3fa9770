"""huggingface_hub's client is borrowed: for a time it gives up and seals, and then it is as it was."""

import threading
import time

import pytest
from huggingface_hub import get_session, set_client_factory
from huggingface_hub.utils._http import default_client_factory, http_backoff

from gristmill import config
from gristmill.hub.careful import careful_requests
from tests.hub.faulty import FaultyHub, status


@pytest.fixture
def client():
    set_client_factory(default_client_factory)
    yield get_session()
    set_client_factory(default_client_factory)


def state(client):
    return client.timeout, *(list(client.event_hooks[kind]) for kind in ("request", "response"))


def test_for_a_time(client):
    before = state(client)
    with config.override(GRISTMILL_TIMEOUT=7.0), careful_requests():
        assert client.timeout.read == 7.0
        with careful_requests():
            assert len(client.event_hooks["request"]) == len(before[1]) + 1
        assert client.timeout.read == 7.0
    assert state(client) == before


def test_in_several_threads(client):
    before = state(client)
    barrier = threading.Barrier(4)

    def one(number):
        with careful_requests():
            barrier.wait()
            time.sleep(0.01 * number)
            assert client.timeout.read == config.GRISTMILL_TIMEOUT

    threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert state(client) == before


def test_a_limit_of_somebody_else_is_kept(client):
    client.timeout = 3.0
    with careful_requests():
        assert client.timeout.read == 3.0
    assert client.timeout.read == 3.0


def test_a_silent_server_is_given_up(client):
    with FaultyHub({}) as hub, config.override(GRISTMILL_TIMEOUT=0.05):
        hub.latency = 0.5
        with careful_requests(), pytest.raises(Exception, match="timed out"):
            client.get(hub.url)


def test_bodies_are_sealed(client):
    with FaultyHub({}) as hub, careful_requests():
        close = {"Connection": "close"}  # that hub reads no bodies
        client.request("GET", f"{hub.url}/a", content=b"a", headers=close)
        client.request("GET", f"{hub.url}/b", content=iter([b"a"]), headers={**close, "Content-Length": "1"})
        client.get(f"{hub.url}/c")
    said = [seen.headers.get("content-digest") for seen in hub.seen]
    assert said == ["sha-256=:ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=:", None, None]


def test_answers_that_came_otherwise_are_asked_for_again(client, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    digest = {"Content_Digest": "sha-256=:ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=:"}
    with FaultyHub({}) as hub, careful_requests():
        hub.script("/a", status(200, b"b", **digest), status(200, b"a", **digest))
        assert http_backoff("GET", f"{hub.url}/a").content == b"a"
        hub.script("/a", *[status(200, b"b", **digest)] * 9)
        with pytest.raises(Exception, match="not those the server says it sent"):
            client.get(f"{hub.url}/a")
    assert {seen.headers["want-content-digest"] for seen in hub.seen} == {"sha-256=1"}
