"""What a forked child inherits: free locks, and nothing that is kept alive."""

import gc
import os
import threading
import warnings
import weakref
from collections.abc import Callable

import pytest

from gristmill.files.forks import ForkedLock, renew_in_children
from gristmill.files.http import HttpSession

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def in_child(check: Callable[[], bool]) -> int:
    """Gives the exit code of a forked child: 0 if `check` holds there; it is killed if it hangs."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # newer Pythons warn of forking with threads, which is what is tried here
        child = os.fork()
    if child == 0:
        import signal

        signal.alarm(20)
        try:
            os._exit(0 if check() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def held_by_a_thread(lock) -> Callable[[], None]:
    taken, free = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            taken.set()
            free.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(60)

    def release() -> None:
        free.set()
        thread.join()

    return release


def test_a_lock_is_free_in_a_child():
    lock = ForkedLock()
    release = held_by_a_thread(lock)

    def check() -> bool:
        with lock:
            return True

    assert in_child(check) == 0
    release()
    with lock:  # the parent's was taken and released as ever
        assert in_child(check) == 0
    assert check()


def test_leaving_a_block_in_a_child():
    lock = ForkedLock()

    def check() -> bool:
        lock.__exit__(None, None, None)
        with lock:
            return True

    with lock:
        assert in_child(check) == 0


def test_a_session_whose_lock_a_thread_holds(tmp_path):
    session = HttpSession("http://127.0.0.1:9")
    release = held_by_a_thread(session._lock)
    try:
        assert in_child(lambda: session._connections() is not None) == 0
    finally:
        release()
        session.close()


def test_nothing_is_kept_alive():
    class Thing:
        def renew(self) -> None:
            raise AssertionError("it is gone")

    thing = Thing()
    renew_in_children(thing)
    gone = weakref.ref(thing)
    del thing
    gc.collect()
    assert gone() is None
    assert in_child(lambda: True) == 0


def test_locks_of_the_process():
    from gristmill.formats.kept import Kept
    from gristmill.hub import bars, careful

    kept = Kept()
    for lock in (kept._lock, bars._lock, careful._lock):
        release = held_by_a_thread(lock)
        try:

            def check(lock=lock) -> bool:
                with lock:
                    return True

            assert in_child(check) == 0
        finally:
            release()
