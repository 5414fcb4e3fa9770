"""A lock between processes that names its owner and can't outlive it.

The operating system's advisory lock (``flock``) on a file beside the thing locked: the kernel drops it when the owner
dies, however it dies, so there is no stale lock to recover on a local disk. The file's text only tells a waiting user
who holds it. Where ``flock`` does not exist (Windows, some network disks), a file made with O_EXCL stands in, and one
whose owner is dead, or which is on another machine and has not been touched for an hour, is taken over.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from gristmill.errors import FileError, LockTimeoutError
from gristmill.files.atomic import _alive
from gristmill.logging import get_logger

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_STALE_AFTER = 3600.0
_TRIES = 3
_NO_FLOCK = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
_log = get_logger(__name__)


class _NoFlockError(Exception):
    """The file system knows no flock."""


def _describe(path: Path) -> str:
    try:
        owner = json.loads(path.read_text())
        return f"process {owner['pid']} on {owner['host']} since {owner['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "a process that did not say who it is"


def _identity() -> bytes:
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    return json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since}).encode()


def _try_flock(path: Path) -> int | None:
    assert fcntl is not None
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return None
        if error.errno in _NO_FLOCK:
            raise _NoFlockError from error
        raise
    # The owner before us may have deleted the file between our open and our lock: then we hold a lock on nothing.
    try:
        same = os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        same = False
    if not same:
        os.close(handle)
        return None
    _sign(handle)
    return handle


def _try_exclusive(path: Path) -> int | None:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        if _abandoned(path):
            _clear_away(path)
        return None
    _sign(handle)
    return handle


def _sign(handle: int) -> None:
    """Writes down who holds the lock. It is held without that too: what frees a full disk takes locks as well."""
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, _identity(), 0)
    except OSError as error:
        _log.debug("a lock does not name its owner: %s", error)


def _clear_away(path: Path) -> None:
    """Deletes a dead owner's file; one process at a time, so that nobody deletes the file of the next owner."""
    guard = path.with_name(f"{path.name}.takeover")
    try:
        os.close(os.open(guard, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except FileExistsError:
        with contextlib.suppress(FileNotFoundError):
            if time.time() - guard.stat().st_mtime > _STALE_AFTER:
                guard.unlink()
        return
    try:
        if _abandoned(path):
            _log.warning("taking over the lock %s, left by %s", path, _describe(path))
            path.unlink(missing_ok=True)
    finally:
        guard.unlink(missing_ok=True)


def _abandoned(path: Path) -> bool:
    try:
        owner = json.loads(path.read_text())
        if owner["host"] == socket.gethostname():
            return not _alive(int(owner["pid"]))
    except (OSError, ValueError, KeyError, TypeError):
        # No owner to ask (a lock cut off while being written): its age decides.
        _log.debug("the lock %s does not name its owner", path)
    with contextlib.suppress(FileNotFoundError):
        return time.time() - path.stat().st_mtime > _STALE_AFTER
    return False


@contextlib.contextmanager
def lock(
    path: str | os.PathLike[str], timeout: float | None = None, poll: float = 0.05, make_folder: bool = True
) -> Iterator[None]:
    """Holds a lock between processes for the length of a ``with`` block.

    Args:
        path: The lock file, by convention the locked thing's name plus ``.lock``; deleted when the block ends.
        timeout: Seconds to wait before giving up; None waits as long as it takes.
        poll: Seconds between two tries.
        make_folder: Make the folder it lies in if needed; if not, a folder that is gone is an error.

    Raises:
        LockTimeoutError: Another process still holds the lock after `timeout` seconds; the message names it.
        FileError: The lock file can't be made.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, lock(Path(folder) / "thing.lock"):
        ...     pass
    """
    final = Path(path)
    try:
        held, handle = (
            _make_and_acquire(final, timeout, poll) if make_folder else _acquire(final, timeout, poll)
        )
    except LockTimeoutError:
        raise
    except OSError as error:
        raise FileError.from_os_error("lock", final, error) from error
    try:
        yield
    finally:
        # Unlink before the lock is dropped: whoever opens the path after this makes a new file.
        try:
            held.unlink(missing_ok=True)
        except OSError as error:  # a file that is locked by nobody hinders nobody
            _log.warning("could not take away the lock %s: %s", held, error)
        finally:
            os.close(handle)


def is_held(path: Path) -> bool:
    """Says whether the file of a lock is there.

    Args:
        path: As for `lock`. Whoever holds it knows by this whether its folder was deleted.
    """
    return os.path.exists(path) or os.path.exists(f"{path}.owner")  # noqa: PTH110  # at each load


def sweep_lock(path: Path) -> None:
    """Takes away the file of a lock whose owner was killed at the last moment, when all was done; else does nothing.

    Args:
        path: As for `lock`.
    """
    if is_held(path):
        with contextlib.suppress(FileError), lock(path, timeout=0):
            pass


def _make_and_acquire(path: Path, timeout: float | None, poll: float) -> tuple[Path, int]:
    for _ in range(_TRIES - 1):
        with contextlib.suppress(FileNotFoundError):  # somebody deletes folders here
            path.parent.mkdir(parents=True, exist_ok=True)
            return _acquire(path, timeout, poll)
    path.parent.mkdir(parents=True, exist_ok=True)
    return _acquire(path, timeout, poll)


def _acquire(path: Path, timeout: float | None, poll: float) -> tuple[Path, int]:
    started = time.monotonic()
    attempt = _try_exclusive if fcntl is None else _try_flock
    told = False
    while True:
        try:
            handle = attempt(path)
        except _NoFlockError:
            # Nobody can lock this file here, so everybody comes to the same other one.
            path.unlink(missing_ok=True)
            attempt, path = _try_exclusive, path.with_name(f"{path.name}.owner")
            continue
        if handle is not None:
            return path, handle
        waited = time.monotonic() - started
        if timeout is not None and waited > timeout:
            raise LockTimeoutError.from_owner(path, _describe(path), timeout)
        if waited > 5 and not told:
            told = True
            _log.warning("waiting for %s, held by %s", path, _describe(path))
        time.sleep(poll)
