"""Many files are waited for at once, or several at a time; what the disk could not take is an error either way."""

import ctypes
import errno
import sys
from pathlib import Path

import pytest

from gristmill.files import durable
from gristmill.files.durable import Durable


@pytest.fixture
def written(tmp_path):
    paths = [tmp_path / str(number) for number in range(40)]
    for path in paths:
        path.write_bytes(b"x")
    return paths


def test_few_and_many(tmp_path, written):
    with Durable(tmp_path) as disk:
        for count in (0, 1, 2, 40):
            disk.wait([*written[:count], tmp_path])


def test_each_by_itself_where_the_system_has_no_better(tmp_path, written, monkeypatch):
    monkeypatch.setattr(durable, "_whole_file_system", lambda: None)
    waited: list[Path] = []
    monkeypatch.setattr(durable, "_wait", waited.append)
    with Durable(tmp_path) as disk:
        disk.wait(written)
    assert sorted(waited) == sorted(written)


def test_unknown_file_systems_are_not_asked_as_a_whole(tmp_path, written, monkeypatch):
    monkeypatch.setattr(durable, "_KNOWN", frozenset())
    waited: list[Path] = []
    monkeypatch.setattr(durable, "_wait", waited.append)
    with Durable(tmp_path) as disk:
        disk.wait(written)
    assert len(waited) == len(written)


def test_what_is_gone_is_an_error(tmp_path, written, monkeypatch):
    monkeypatch.setattr(durable, "_whole_file_system", lambda: None)
    written[20].unlink()
    with Durable(tmp_path) as disk, pytest.raises(FileNotFoundError):
        disk.wait(written)


def test_a_disk_that_fails_is_an_error(tmp_path, written, monkeypatch):
    class Library:
        def __init__(self, *_, **__):
            pass

        def syncfs(self, handle):
            ctypes.set_errno(errno.EIO)
            return -1

    monkeypatch.setattr(durable, "_known", lambda handle: True)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(durable, "_kernel", lambda: (6, 1))
    monkeypatch.setattr(ctypes, "CDLL", Library)
    durable._whole_file_system.cache_clear()
    try:
        with Durable(tmp_path) as disk, pytest.raises(OSError, match="Input/output") as failure:
            disk.wait(written)
        assert failure.value.errno == errno.EIO
    finally:
        durable._whole_file_system.cache_clear()


def test_old_kernels_keep_errors_to_themselves(monkeypatch):
    monkeypatch.setattr(durable, "_kernel", lambda: (5, 4))
    durable._whole_file_system.cache_clear()
    try:
        assert durable._whole_file_system() is None
    finally:
        durable._whole_file_system.cache_clear()
