"""7z archives, through py7zr; see `archives`. What is inside is packed as a whole, so it is unpacked to read one file."""

from __future__ import annotations

import contextlib
import lzma
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from gristmill.errors import FileFormatError, GristmillError
from gristmill.files.archive_members import Bounds, Member, clean_name, member_file
from gristmill.files.borders import writing
from gristmill.files.temporary import temporary_prefix
from gristmill.logging import get_logger
from gristmill.optional import require

__all__ = ["iter_members", "list_members", "open_member"]

_log = get_logger(__name__)


def list_members(file: IO[bytes], label: object, bounds: Bounds) -> list[Member]:
    """Lists the files; see `archives.list_members`."""
    with _opened_archive(file, label) as archive:
        return [member for member, _ in _members(archive, label, bounds)]


def iter_members(file: IO[bytes], label: object, bounds: Bounds) -> Iterator[tuple[Member, IO[bytes]]]:
    """Yields files with their content; see `archives.iter_archive`."""
    with tempfile.TemporaryDirectory(prefix=temporary_prefix("7z")) as folder:
        for member, path in _unpack(file, label, bounds, Path(folder), None):
            with path.open("rb") as content:
                yield member, member_file(member.name, content.read, seek=content.seek)
            path.unlink()


def open_member(file: IO[bytes], label: object, bounds: Bounds, member: Member) -> IO[bytes]:
    """Opens one member; see `archives.open_member`."""
    folder = Path(tempfile.mkdtemp(prefix=temporary_prefix("7z")))
    try:
        found = [path for one, path in _unpack(file, label, bounds, folder, member.name) if one == member]
        content = found[-1].open("rb")
    finally:
        # The open file lives on without its name.
        shutil.rmtree(folder, ignore_errors=True)
        file.close()
    return member_file(member.name, content.read, content.close, content.seek)


def _members(archive: Any, label: object, bounds: Bounds) -> Iterator[tuple[Member, str]]:
    if archive.needs_password():
        raise FileFormatError.at("the archive is encrypted", file=label, remedy="Decrypt it first.")
    for number, entry in enumerate(archive.list()):
        bounds.add_member()
        if entry.is_directory:
            continue
        if not entry.is_file:
            _log.warning("%s: the link or device %s is left out", label, entry.filename)
            continue
        size = int(entry.uncompressed or 0)
        yield Member(clean_name(entry.filename, label), size, number, crc=entry.crc32), entry.filename


def _unpack(
    file: IO[bytes], label: object, bounds: Bounds, folder: Path, only: str | None
) -> list[tuple[Member, Path]]:
    """Writes members to files with numbers for names, so that names inside mean nothing to this file system."""
    io = require("py7zr.io", "Reading 7z archives")

    class Output(io.Py7zIO):  # type: ignore[misc,name-defined]  # known only at run time
        def __init__(self, path: Path) -> None:
            self._file = path.open("w+b")

        def write(self, data: bytes | bytearray) -> int:
            bounds.add_bytes(len(data))
            with writing(folder):
                return self._file.write(data)

        def read(self, size: int | None = None) -> bytes:
            return self._file.read(-1 if size is None else size)

        def seek(self, offset: int, whence: int = 0) -> int:
            return self._file.seek(offset, whence)

        def flush(self) -> None:
            self._file.flush()

        def size(self) -> int:
            return self._file.tell()

        def close(self) -> None:
            self._file.close()

    class Outputs(io.WriterFactory):  # type: ignore[misc,name-defined]  # as above
        def __init__(self) -> None:
            # Several of one name where the number that py7zr puts to the second of a name makes it another's.
            self.made: dict[str, list[Path]] = {}
            self.open: list[Output] = []

        def create(self, filename: str) -> Output:
            name = Path(filename).relative_to(folder.resolve()).as_posix()
            path = folder / f"{len(self.open):08}"
            self.made.setdefault(name, []).append(path)
            self.open.append(Output(path))
            return self.open[-1]

    outputs = Outputs()
    with _opened_archive(file, label) as archive:
        members = list(_members(archive, label, bounds))
        # Those that hold nothing at all are no part of what is unpacked.
        hollow = {number for number, one in enumerate(archive.files) if one.emptystream}
        targets = [name for member, name in members if only in (None, member.name)]
        try:
            if targets:
                archive.extract(path=folder.resolve(), targets=targets, factory=outputs)
        finally:
            for output in outputs.open:
                output.close()
    found = []
    seen: dict[str, int] = {}
    for member, name in members:
        if only not in (None, member.name):
            continue
        # py7zr numbers the second and further members of one name.
        count = seen[name] = seen.get(name, -1) + 1
        paths = outputs.made.get(clean_name(name if not count else f"{name}_{count - 1}", label))
        if paths and member.offset not in hollow:
            found.append((member, paths.pop(0)))
        else:
            empty = folder / f"empty-{member.offset}"
            empty.touch()
            if member.size:
                raise FileFormatError.at(f'the member "{member.name}" did not come out', file=label)
            found.append((member, empty))
    return found


@contextlib.contextmanager
def _opened_archive(file: IO[bytes], label: object) -> Iterator[Any]:
    py7zr = require("py7zr", "Reading 7z archives")
    exceptions = require("py7zr.exceptions", "Reading 7z archives")
    try:
        with py7zr.SevenZipFile(file, "r") as archive:
            yield archive
    except GristmillError:
        raise
    except exceptions.PasswordRequired as error:
        raise FileFormatError.at(
            "the archive is encrypted", file=label, remedy="Decrypt it first."
        ) from error
    except (
        exceptions.ArchiveError, lzma.LZMAError, zlib.error, EOFError, ValueError, LookupError, TypeError,
        AttributeError, OverflowError, OSError, RuntimeError, AssertionError, MemoryError, ArithmeticError,
    ) as error:  # fmt: skip  # py7zr trusts what it reads, so damage surfaces anywhere
        raise FileFormatError.at(
            f"the 7z archive is damaged or can't be read ({type(error).__name__}: {error})", file=label
        ) from error
