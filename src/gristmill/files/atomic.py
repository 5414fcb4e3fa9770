"""Files and folders that are whole or absent: written under a temporary name, synced, renamed.

The temporary name sits beside the final one (a rename within a folder is atomic, across file systems it is not),
begins with a dot and holds the writer's process id, so that `sweep` can tell what a dead process left behind.
A writer that is killed leaves at most such a file; the old data under the real name stays readable throughout.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

from gristmill.errors import FileError
from gristmill.files.borders import writing

_TEMPORARY = re.compile(
    r"\.(?P<name>.+)\.(?P<pid>\d{1,10})-(?P<host>[0-9a-f]{8})-[0-9a-f]{8}\.(?P<kind>incomplete|aside)",
    re.DOTALL,
)
# File systems take names of 255 bytes; what a temporary name adds is 38 at most.
_LONGEST_NAME = 200
_SYNCED_AT_ONCE = 8


@functools.cache
def _host() -> str:
    # Process ids mean something only on the machine (or in the container) that gave them out.
    import socket
    import zlib

    # Containers may share their name and a folder, and yet have processes of their own.
    with contextlib.suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115  # no path, but a name of the kernel's
        return f"{zlib.crc32(f'{socket.gethostname()} {space}'.encode()):08x}"
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def temporary_name(path: Path) -> Path:
    """Makes a fresh temporary name beside `path`, in the form that `sweep` recognises.

    Args:
        path: The final name.

    Raises:
        FileError: It is that of a device or a pipe, which a rename would put an end to.

    Example:
        >>> temporary_name(Path("/tmp/a.json")).name.startswith(".a.json.")
        True
    """
    if is_device(path):
        raise FileError(f"Could not write {path}: it is a device or a pipe, where a file is needed.")
    short = os.fsencode(path.name)[:_LONGEST_NAME].decode("utf-8", "ignore")
    return path.with_name(f".{short}.{_writer()}.incomplete")


def is_device(path: Path) -> bool:
    """Says whether a path is that of a device, a pipe or a socket, as ``/dev/stdout`` or ``/dev/null``.

    Example:
        >>> is_device(Path("/dev/null")), is_device(Path("/"))
        (True, False)
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _writer() -> str:
    return f"{os.getpid()}-{_host()}-{secrets.token_hex(4)}"


def sync_folder(folder: Path) -> None:
    """Makes renames inside `folder` durable; a no-op where folders can't be opened (Windows)."""
    with contextlib.suppress(OSError, AttributeError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def atomic_file(
    path: str | os.PathLike[str], mode: str = "wb", *, make_folder: bool = True, durable: bool = True
) -> Iterator[IO[Any]]:
    """Opens a file for writing that appears under its name only when the block ends without an error.

    What is written to a device or a pipe goes straight there.

    Args:
        path: Final name.
        mode: ``"wb"`` or ``"w"`` (text, UTF-8, the same line ends on every system).
        make_folder: Make its folder if needed; if not, a folder that is gone is an error.
        durable: Wait until the disk has it. Without that, the file may be shorter than it was after a power cut (not
            after a kill), which suits what can be made again and whose readers notice.

    Yields:
        The open file.

    Raises:
        FileError: The file can't be made, synced or renamed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with atomic_file(Path(folder) / "a.txt", "w") as file:
        ...         _ = file.write("whole")
        ...     (Path(folder) / "a.txt").read_text()
        'whole'
    """
    final = Path(path)
    if is_device(final):
        with writing(final), _open(final, mode) as device:
            yield device
        return
    temporary = temporary_name(final)
    try:
        if make_folder:
            final.parent.mkdir(parents=True, exist_ok=True)
        file = _open(temporary, mode)
    except OSError as error:
        raise FileError.from_os_error("write", final, error) from error
    try:
        with file:
            yield file
            with writing(final):
                file.flush()
                if durable:
                    os.fsync(file.fileno())
                file.close()  # file systems over a network tell of a full disk here
        with writing(final):
            temporary.replace(final)
            if durable:
                sync_folder(final.parent)
    except BaseException:
        with contextlib.suppress(OSError):  # what went wrong before is what counts
            temporary.unlink(missing_ok=True)
        raise


def exported_file(path: str | os.PathLike[str]) -> contextlib.AbstractContextManager[IO[Any]]:
    """Opens a file of bytes that a user asked for, as `to_csv` writes it: see `atomic_file`.

    Waiting for the disk may take longer than all the rest. So that is only done where another file is replaced, which a
    power cut would put an end to as well; a new file can be written again from what it was made of.

    Args:
        path: Final name.

    Raises:
        FileError: The file can't be made, synced or renamed.
    """
    return atomic_file(path, durable=os.path.lexists(path))


def give_name(source: Path, final: Path) -> None:
    """Gives a file that is whole its final name, for what `exported_file` says.

    Args:
        source: The file, on the same file system.
        final: Its name from now on.
    """
    durable = os.path.lexists(final)
    if durable:
        _sync_file(source)
    source.replace(final)
    if durable:
        sync_folder(final.parent)


def _open(path: Path, mode: str) -> IO[Any]:
    return path.open(mode) if "b" in mode else path.open(mode, encoding="utf-8", newline="\n")


@contextlib.contextmanager
def atomic_folder(path: str | os.PathLike[str], durable: bool = True) -> Iterator[Path]:
    """Gives an empty folder to fill that takes its final name only when the block ends without an error.

    A folder that is already there under the final name is replaced: it is moved aside, the new one moved in, then the
    old one deleted, so the time without either is two renames and old data is never mixed with new. `sweep` brings
    back what a writer killed between the two left aside.

    Args:
        path: Final name of the folder.
        durable: Wait until the disk has all of it. What can be made again does without, if its readers compare sizes:
            after a power cut (not after a kill) a file may be shorter than it was.

    Yields:
        The temporary folder.

    Raises:
        FileError: The folder can't be made, synced or renamed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as top:
        ...     with atomic_folder(Path(top) / "made") as folder:
        ...         _ = (folder / "a").write_text("1")
        ...     sorted(p.name for p in (Path(top) / "made").iterdir())
        ['a']
    """
    final = Path(path)
    temporary = temporary_name(final)
    try:
        temporary.mkdir(parents=True)
    except OSError as error:
        raise FileError.from_os_error("make the folder", final, error) from error
    try:
        yield temporary
        with writing(final):
            if durable:
                _sync_tree(temporary)
            _move_in(temporary, final)
            if durable:
                sync_folder(final.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _move_in(temporary: Path, final: Path) -> None:
    for rounds_left in reversed(range(100)):
        aside = final.with_name(f".{final.name}.{_writer()}.aside")
        if os.path.lexists(final):
            with contextlib.suppress(FileNotFoundError):
                final.replace(aside)
        try:
            temporary.replace(final)
        except OSError as error:
            _bring_back(aside, final)
            # Another writer was faster: its folder is complete as well, and moves aside in the next round.
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR) and rounds_left:
                continue
            raise
        if os.path.lexists(aside):
            _remove(aside)
        return


def _bring_back(aside: Path, final: Path) -> None:
    if not os.path.lexists(aside):
        return
    if os.path.lexists(final):
        _remove(aside)
    else:
        try:
            aside.replace(final)
        except OSError:
            # A writer was faster, so there is something newer to read.
            if os.path.lexists(final):
                _remove(aside)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _sync_tree(folder: Path) -> None:
    # A disk syncs several files about as fast as one.
    with ThreadPoolExecutor(_SYNCED_AT_ONCE) as pool:
        for root, _, names in os.walk(folder):
            for _ in pool.map(_sync_file, [Path(root, name) for name in names]):
                pass
            sync_folder(Path(root))


def _sync_file(path: Path) -> None:
    if path.is_symlink():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_json(path: str | os.PathLike[str], value: object, *, durable: bool = True) -> None:
    """Writes a small JSON file atomically: UTF-8, indented, with a newline at its end.

    Args:
        path: Final name.
        value: Anything `json.dumps` takes.
        durable: See `atomic_file`.
    """
    with atomic_file(path, "w", durable=durable) as file:
        file.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def find_leftovers(folder: Path) -> list[Path]:
    """Lists temporary files and folders that processes of this machine left in `folder` when they were killed.

    What a living process, or one on another machine, may still be writing is not among them.

    Args:
        folder: The folder to look into (not below it).
    """
    try:
        return [entry for entry in folder.iterdir() if _is_leftover(entry.name)]
    except (FileNotFoundError, NotADirectoryError):  # now, or a moment ago
        return []


def _is_leftover(name: str) -> bool:
    match = _TEMPORARY.fullmatch(name)
    return match is not None and match["host"] == _host() and not _alive(int(match["pid"]))


def sweep(folder: Path) -> list[Path]:
    """Deletes what `find_leftovers` finds; a folder that was moved aside to be replaced, and never was, gets its name back.

    Args:
        folder: The folder to look into (not below it).

    Returns:
        The temporary paths that are gone.
    """
    removed = find_leftovers(folder)
    for entry in removed:
        match = _TEMPORARY.fullmatch(entry.name)
        if match is not None and match["kind"] == "aside":
            _bring_back(entry, folder / match["name"])
        else:
            _remove(entry)
    return removed
