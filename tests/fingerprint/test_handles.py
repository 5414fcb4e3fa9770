"""Objects that belong to a process, in what functions use: clients with locks, open files, pools."""

import asyncio
import concurrent.futures
import contextvars
import logging
import multiprocessing
import re
import socket
import ssl
import sys
import threading
import weakref
import zipfile
from typing import Any

import pytest

from gristmill import Dataset
from gristmill.fingerprint import Hasher, fingerprint_warnings


class Client:
    """What clients of services look like: settings, and what they work with."""

    def __init__(self, factor):
        self.factor = factor
        self.lock = threading.Lock()
        self.calls = threading.RLock()
        self.changed = threading.Condition()
        self.log = logging.getLogger("client")
        self.local = threading.local()
        self.context = ssl.create_default_context()

    def times(self, number):
        with self.lock:
            return number * self.factor


def times(client):
    word = re.compile("[a-z]+")
    return lambda row: {"b": client.times(row["a"]), "n": len(word.findall("a b"))}


@pytest.fixture
def told(caplog):
    """What is said of objects that can't be hashed."""
    fingerprint_warnings.clear()
    root = logging.getLogger("gristmill")
    root.addHandler(caplog.handler)
    yield caplog
    root.removeHandler(caplog.handler)


@pytest.fixture
def quiet(told):
    yield
    assert "can't be hashed" not in told.text


@pytest.mark.usefixtures("quiet")
def test_a_function_with_a_client_finds_its_result_again(tmp_path):
    Dataset.from_dict({"a": [1, 2]}).save_to_disk(tmp_path / "ds")
    ds = Dataset.load_from_disk(tmp_path / "ds")
    first, again, other = (ds.map(times(Client(factor))) for factor in (3, 3, 4))
    assert first["b"][:] == again["b"][:] == [3, 6]
    assert again.cache_files == first.cache_files  # not computed again
    assert other["b"][:] == [4, 8]


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    "make",
    [
        threading.Lock, threading.RLock, threading.Event, threading.Condition, lambda: threading.Barrier(2),
        threading.Semaphore, threading.local, multiprocessing.Lock, multiprocessing.Semaphore, asyncio.Lock,
        socket.socket, ssl.create_default_context, lambda: concurrent.futures.ThreadPoolExecutor(1),
        lambda: contextvars.ContextVar("name"), asyncio.new_event_loop, logging.NullHandler,
        lambda: logging.StreamHandler(sys.__stderr__),
    ],
)  # fmt: skip
def test_by_what_they_are(make):
    one, other = make(), make()
    try:
        assert Hasher.hash(one) == Hasher.hash(other)
        assert Hasher.hash([one]) != Hasher.hash([object()])
    finally:
        for thing in (one, other):
            if hasattr(thing, "close"):
                thing.close()


@pytest.mark.usefixtures("quiet")
def test_what_they_hold_counts():
    one, other = threading.local(), threading.local()
    one.factor, other.factor = 1, 2
    assert Hasher.hash(one) != Hasher.hash(other)
    assert Hasher.hash(threading.Semaphore(1)) != Hasher.hash(threading.Semaphore(2))
    client, second = Client(3), Client(4)
    assert Hasher.hash(weakref.ref(client)) != Hasher.hash(weakref.ref(second))
    same = Client(3)
    assert Hasher.hash(weakref.ref(client)) == Hasher.hash(weakref.ref(same))
    variable = contextvars.ContextVar[Any]("name", default=None)
    before = Hasher.hash(variable)
    variable.set([1])
    assert Hasher.hash(variable) != before


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("mode", ["r", "rb"])
def test_open_files(tmp_path, mode):
    path = tmp_path / "words.txt"
    path.write_text("one\ntwo\n")
    with path.open(mode) as one, path.open(mode) as other:
        assert Hasher.hash(one) == Hasher.hash(other)
        one.readline()
        assert Hasher.hash(one) != Hasher.hash(other)  # it goes on at another place
    path.write_text("one\ntwo\nthree\n")
    with path.open(mode) as later:
        changed = Hasher.hash(later)
    with path.open(mode) as once_more:
        assert Hasher.hash(once_more) == changed
        assert Hasher.hash(other) != changed  # closed


@pytest.mark.usefixtures("quiet")
def test_files_that_are_written(tmp_path):
    with (tmp_path / "a.log").open("w") as log:
        before = Hasher.hash(log)
        log.write("line\n" * 10_000)
        assert Hasher.hash(log) == before
        with (tmp_path / "b.log").open("w") as other:
            assert Hasher.hash(other) != before


def test_a_file_in_an_archive(tmp_path):
    hashes = []
    for name, text in [("a", "text"), ("b", "other")]:
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            archive.writestr("a.txt", text)
        with zipfile.ZipFile(tmp_path / f"{name}.zip") as archive, archive.open("a.txt") as member:
            hashes.append(Hasher.hash(member))
    assert hashes[0] != hashes[1]


def test_classes_of_users_may_hold_more(told):
    class Pool(concurrent.futures.ThreadPoolExecutor):
        factor = 2

    with Pool(1) as pool:
        assert Hasher.hash(pool) != Hasher.hash(pool)
    assert "can't be hashed" in told.text
