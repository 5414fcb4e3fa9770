"""Files and folders that are whole or absent: written under a temporary name, synced, renamed.

The temporary name sits beside the final one (a rename within a folder is atomic, across file systems it is not),
begins with a dot and holds the writer's process id, so that `sweep` can tell what a dead process left behind.
A writer that is killed leaves at most such a file; the old data under the real name stays readable throughout.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from gristmill.errors import FileError

_TEMPORARY = re.compile(r"^\.(?P<name>.+)\.(?P<pid>\d+)-(?P<host>[0-9a-f]{8})-[0-9a-f]{8}\.incomplete$")


def _host() -> str:
    # Process ids mean something only on the machine (or in the container) that gave them out.
    import socket
    import zlib

    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def temporary_name(path: Path) -> Path:
    """Makes a fresh temporary name beside `path`, in the form that `sweep` recognises.

    Example:
        >>> temporary_name(Path("/tmp/a.json")).name.startswith(".a.json.")
        True
    """
    return path.with_name(f".{path.name}.{os.getpid()}-{_host()}-{secrets.token_hex(4)}.incomplete")


def sync_folder(folder: Path) -> None:
    """Makes renames inside `folder` durable; a no-op where folders can't be opened (Windows)."""
    with contextlib.suppress(OSError, AttributeError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Opens a file for writing that appears under its name only when the block ends without an error.

    Args:
        path: Final name; its folder is made if needed.
        mode: ``"wb"`` or ``"w"`` (text, UTF-8, the same line ends on every system).

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
    temporary = temporary_name(final)
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        file: IO[Any] = (
            temporary.open(mode) if "b" in mode else temporary.open(mode, encoding="utf-8", newline="\n")
        )
    except OSError as error:
        raise FileError.from_os_error("write", final, error) from error
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(final)
        sync_folder(final.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives an empty folder to fill that takes its final name only when the block ends without an error.

    A folder that is already there under the final name is replaced: it is moved aside, the new one moved in, then the
    old one deleted, so the time without either is two renames and old data is never mixed with new.

    Args:
        path: Final name of the folder.

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
        _sync_tree(temporary)
        if final.exists():
            aside = temporary_name(final)
            final.replace(aside)
            temporary.replace(final)
            shutil.rmtree(aside, ignore_errors=True)
        else:
            temporary.replace(final)
        sync_folder(final.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _sync_tree(folder: Path) -> None:
    for root, _, names in os.walk(folder):
        for name in names:
            handle = os.open(Path(root, name), os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        sync_folder(Path(root))


def write_json(path: str | os.PathLike[str], value: object) -> None:
    """Writes a small JSON file atomically: UTF-8, indented, with a newline at its end.

    Args:
        path: Final name.
        value: Anything `json.dumps` takes.
    """
    with atomic_file(path, "w") as file:
        file.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def sweep(folder: Path) -> list[Path]:
    """Deletes temporary files and folders that processes of this machine left in `folder` when they were killed.

    What a living process, or one on another machine, may still be writing is left alone.

    Args:
        folder: The folder to look into (not below it).

    Returns:
        The paths deleted.
    """
    removed: list[Path] = []
    if not folder.is_dir():
        return removed
    for entry in folder.iterdir():
        match = _TEMPORARY.match(entry.name)
        if match is None or match["host"] != _host() or _alive(int(match["pid"])):
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
        removed.append(entry)
    return removed
