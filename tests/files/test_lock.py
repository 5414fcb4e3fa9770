"""One owner at a time, named, and gone with its process. Both kinds of lock: flock, and the file that stands in."""

import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from gristmill.errors import DiskFullError, FileError, LockTimeoutError
from gristmill.files import lock as module
from gristmill.files.lock import lock
from tests.disk_faults import failing, watched

HOLD = """
import sys, time
from gristmill.files import lock as module
if sys.argv[2] == "file":
    module.fcntl = None
with module.lock(sys.argv[1]):
    print("ready", flush=True); time.sleep(60)
"""


@pytest.fixture(params=["flock", "file"])
def kind(request, monkeypatch):
    if request.param == "file":
        monkeypatch.setattr(module, "fcntl", None)
    return request.param


def hold(path: object, kind: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), kind], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def kill(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_taken_and_given_back(tmp_path, kind):
    path = tmp_path / "new" / "thing.lock"
    for _ in range(3):
        with lock(path, timeout=0):
            assert json.loads(path.read_text())["pid"] == os.getpid()
        assert not path.exists()


def test_a_full_disk_is_told_and_what_is_there_can_be_locked(tmp_path, kind, monkeypatch):
    """What frees a disk takes locks as well; so that a lock can't be signed is no reason to refuse it."""
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    path = tmp_path / "thing.lock"
    with (
        failing(tmp_path, errno.ENOSPC),
        pytest.raises(DiskFullError, match=r"could not lock .*MB are free at"),
    ):
        lock(path).__enter__()
    monkeypatch.setattr(os, "pwrite", Mock(side_effect=full))
    for _ in range(2):
        with lock(path, timeout=0):
            assert path.exists()
        assert not path.exists()


def test_a_lock_whose_file_stays_is_given_back(tmp_path, monkeypatch):
    path = tmp_path / "thing.lock"
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", Mock(side_effect=OSError(errno.EROFS, os.strerror(errno.EROFS))))
        with lock(path):
            pass
    assert path.exists()
    with lock(path, timeout=0):
        pass
    assert not path.exists()


def test_a_folder_that_is_deleted_while_it_is_locked_is_made_again(tmp_path, kind):
    folder, calls = tmp_path / "new" / "deep", 0

    def delete(_call, _writes):
        nonlocal calls
        calls += 1
        if calls in (2, 4):
            shutil.rmtree(tmp_path / "new", ignore_errors=True)

    with watched(tmp_path, delete), lock(folder / "thing.lock", timeout=1):
        assert (folder / "thing.lock").exists()
    assert calls > 4


def test_given_back_after_an_error(tmp_path, kind):
    path = tmp_path / "thing.lock"
    with pytest.raises(KeyboardInterrupt):
        with lock(path):
            raise KeyboardInterrupt
    with lock(path, timeout=0):
        pass


def test_a_waiting_user_is_told_who_holds_it(tmp_path, kind):
    path = tmp_path / "thing.lock"
    process = hold(path, kind)
    try:
        started = time.monotonic()
        with pytest.raises(LockTimeoutError) as caught:
            with lock(path, timeout=0.2):
                pass
        assert 0.2 <= time.monotonic() - started < 5
        assert f"process {process.pid} on {socket.gethostname()} since 20" in str(caught.value)
        assert isinstance(caught.value, TimeoutError)
        assert path.exists(), "giving up must not break the owner's lock"
    finally:
        kill(process)


def test_a_killed_owner_s_lock_is_recovered(tmp_path, kind):
    path = tmp_path / "thing.lock"
    kill(hold(path, kind))
    assert path.exists()
    started = time.monotonic()
    with lock(path, timeout=10):
        assert json.loads(path.read_text())["pid"] == os.getpid()
    assert time.monotonic() - started < 5
    assert not path.exists()


def test_waits_until_the_owner_is_done(tmp_path, kind):
    path = tmp_path / "thing.lock"
    process = hold(path, kind)
    threading.Timer(0.3, kill, [process]).start()
    with lock(path, timeout=20, poll=0.01):
        assert process.poll() is not None


def test_threads_exclude_each_other(tmp_path, kind):
    path = tmp_path / "thing.lock"
    inside, most = [0], [0]

    def work():
        for _ in range(5):
            with lock(path, poll=0.001):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.001)
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_processes_exclude_each_other(tmp_path, kind):
    """A counter that is read, slept on and written back counts right only under a lock that holds."""
    program = """
import sys, time
from pathlib import Path
from gristmill.files import lock as module
if sys.argv[2] == "file":
    module.fcntl = None
counter = Path(sys.argv[1] + ".count")
for _ in range(10):
    with module.lock(sys.argv[1], poll=0.001):
        value = int(counter.read_text())
        time.sleep(0.001)
        counter.write_text(str(value + 1))
"""
    path = tmp_path / "thing.lock"
    (tmp_path / "thing.lock.count").write_text("0")
    processes = [subprocess.Popen([sys.executable, "-c", program, str(path), kind]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    assert (tmp_path / "thing.lock.count").read_text() == "40"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x", "host": 1}', "7"])
def test_a_file_that_names_no_owner(tmp_path, text, monkeypatch):
    """Without flock nobody can tell whether its owner lives: it is waited for, until it is old."""
    monkeypatch.setattr(module, "fcntl", None)
    path = tmp_path / "thing.lock"
    path.write_text(text)
    with pytest.raises(LockTimeoutError, match="did not say who it is"):
        with lock(path, timeout=0.1):
            pass
    os.utime(path, (1, 1))
    with lock(path, timeout=10):
        pass


def test_a_lock_of_another_machine_is_left_alone_until_it_is_old(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "fcntl", None)
    path = tmp_path / "thing.lock"
    path.write_text(json.dumps({"pid": 1, "host": "elsewhere", "since": "long ago"}))
    with pytest.raises(LockTimeoutError, match="process 1 on elsewhere since long ago"):
        with lock(path, timeout=0.1):
            pass
    os.utime(path, (1, 1))
    with lock(path, timeout=10):
        pass


def test_flock_does_not_mind_what_is_in_the_file(tmp_path):
    path = tmp_path / "thing.lock"
    path.write_text("{")
    with lock(path, timeout=0):
        pass


def test_one_that_can_not_be_made(tmp_path, kind):
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="Could not lock"):
        with lock(tmp_path / "file" / "thing.lock"):
            pass
    (tmp_path / "folder.lock").mkdir()
    with pytest.raises(FileError):
        with lock(tmp_path / "folder.lock", timeout=0.1):
            pass


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_file_systems_without_flock(tmp_path, monkeypatch, code):
    import fcntl

    def refuse(*args: object) -> None:
        raise OSError(code, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuse)
    path = tmp_path / "thing.lock"
    with lock(path):
        with pytest.raises(LockTimeoutError, match=f"process {os.getpid()} on"):
            with lock(path, timeout=0.1):
                pass
    assert list(tmp_path.iterdir()) == []


def test_an_abandoned_file_is_cleared_away_by_one_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "fcntl", None)
    path, guard = tmp_path / "thing.lock", tmp_path / "thing.lock.takeover"
    kill(hold(path, "file"))
    guard.touch()
    with pytest.raises(LockTimeoutError):
        with lock(path, timeout=0.1):
            pass
    os.utime(guard, (1, 1))
    with lock(path, timeout=10):
        assert not guard.exists()


def test_errors_of_the_block_are_its_own(tmp_path, kind):
    """An OSError raised inside must not come out as a failure to lock."""
    with pytest.raises(FileNotFoundError, match="mine"):
        with lock(tmp_path / "thing.lock"):
            raise FileNotFoundError("mine")


def test_a_child_of_fork_does_not_keep_the_lock(tmp_path):
    """A process forked while the lock is held inherits its handle; giving back must not wait for the child."""
    program = """
import os, signal, sys
from gristmill.files.lock import lock
with lock(sys.argv[1]):
    child = os.fork()
    if child == 0:
        signal.pause()
with lock(sys.argv[1], timeout=1):
    print("again", flush=True)
os.kill(child, signal.SIGKILL)
os.wait()
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(tmp_path / "thing.lock")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "again\n", done.stderr


def test_interoperates_with_filelock(tmp_path):
    """huggingface_hub locks the same files with `filelock`."""
    filelock = pytest.importorskip("filelock")
    path = tmp_path / "thing.lock"
    with filelock.FileLock(path):
        with pytest.raises(LockTimeoutError):
            with lock(path, timeout=0.1):
                pass
    with lock(path, timeout=1):
        with pytest.raises(filelock.Timeout):
            filelock.FileLock(path).acquire(timeout=0.1)
