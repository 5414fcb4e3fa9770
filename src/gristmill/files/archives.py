"""Archives: zip, tar (plain or compressed) and 7z, recognised by content, listed, read in order, extracted safely.

What is inside comes from strangers. Names that leave the folder end in an error, links are never made (a link to a file
that is inside becomes that file), devices and pipes are left out; sizes, numbers and growth are bounded by
`gristmill.config`. An extracted folder is whole or absent.

Example:
    >>> import tempfile, zipfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.zip"
    ...     with zipfile.ZipFile(path, "w") as archive:
    ...         archive.writestr("data/a.txt", "hello")
    ...     [member.name for member in list_members(path)], open_member(path, "data/a.txt").read()
    (['data/a.txt'], b'hello')
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from gristmill.errors import DataError, FileError, FileMissingError, UnsafePathError, suggest
from gristmill.files import archives_7z, archives_tar, archives_zip
from gristmill.files.archive_members import Bounds, Member, refuse_other_kind
from gristmill.files.archive_repeats import Repeats
from gristmill.files.atomic import atomic_folder
from gristmill.files.borders import writing
from gristmill.files.compression import DecompressedFile, detect_compression
from gristmill.files.contents import HEAD_BYTES, archive_head, describe_content
from gristmill.files.locations import plain_name
from gristmill.logging import get_logger

__all__ = [
    "ARCHIVE_SUFFIXES",
    "Member",
    "archive_suffix",
    "detect_archive",
    "extract_archive",
    "index_archive",
    "iter_archive",
    "list_members",
    "open_member",
]

ARCHIVE_SUFFIXES = (
    ".zip", ".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz", ".tar.zst", ".tar.lz4", ".7z",
)  # fmt: skip
"""File name endings of archives."""

_log = get_logger(__name__)
_ROOMS: dict[str, Any] = {"zip": archives_zip, "tar": archives_tar, "7z": archives_7z}
_COPY_BYTES = 1 << 20


def archive_suffix(name: str) -> str:
    """Gives the ending by which a file name says that it is an archive, or "".

    Example:
        >>> archive_suffix("data/train.TAR.gz"), archive_suffix("train.csv.gz")
        ('.tar.gz', '')
    """
    lower = name.lower()
    return next((s for s in sorted(ARCHIVE_SUFFIXES, key=len, reverse=True) if lower.endswith(s)), "")


def detect_archive(source: Path | IO[bytes]) -> str | None:
    """Names the kind of an archive by its first bytes; of a compressed file, by the first bytes of what is inside.

    Some formats of data are zip files inside (``.npz``, ``.xlsx``): ask only where an archive may stand.

    Args:
        source: A path, or a binary file object that can be seeked; it is left at its beginning.

    Returns:
        ``"zip"``, ``"tar"`` (compressed or not), ``"7z"``, or None.

    Raises:
        FileMissingError: There is no such file.
        FileError: It can't be read.

    Example:
        >>> import io
        >>> detect_archive(io.BytesIO(b"a,b")) is None
        True
    """
    with _opened(source, source) as file:
        head = file.read(archives_tar.BLOCK)
        file.seek(0)
        archive = archive_head(head)
        if archive is not None:
            return archive
        kind = detect_compression(head)
        if kind is None:
            return None
        try:
            inside = DecompressedFile(file, kind, source, own=False).read(archives_tar.BLOCK)
        except DataError:
            return None
        finally:
            file.seek(0)
        return "tar" if archives_tar.is_header(inside) else None


def list_members(path: Path, name: object = None) -> list[Member]:
    """Lists the files in an archive, in its order; folders, links and devices are left out.

    Of a compressed tar, everything is decompressed to know.

    Args:
        path: The archive.
        name: What to call it in errors; its path if left out.

    Returns:
        The members; a name that is there twice is listed twice (`extract_archive` says which counts).

    Raises:
        FileMissingError: There is no such file.
        FileFormatError: It is no archive, damaged, cut off, or encrypted.
        DataError: It has more members than allowed, or grows out of all proportion.
        UnsafePathError: A name leaves the folder.
        MissingDependencyError: A 7z archive, and py7zr is not installed.
    """
    label = path if name is None else name
    with _opened(path, label) as file:
        found: list[Member] = list(_room(file, label).list_members(file, label, Bounds(file, label)))
    return found


def index_archive(
    file: IO[bytes], name: object, goes_on: Callable[[], bool] = lambda: True
) -> dict[str, Member] | None:
    """Finds where the files in a plain tar or a zip lie, by its headers alone: those that `extract_archive` would write.

    Args:
        file: A binary file object that can be seeked.
        name: What to call it in errors.
        goes_on: Asked after each member; False gives up.

    Returns:
        Name -> member, its `offset` the first of its bytes in the archive (of a zip, of its header there); a link has the
        place of what it stands for. None if it is neither, or was given up.

    Raises:
        FileFormatError: It is damaged or cut off.
        DataError: It has more members than allowed.
        UnsafePathError: A name leaves the folder, or two names can't be in one folder.
    """
    head = file.read(archives_tar.BLOCK)
    file.seek(0)
    bounds = Bounds(file, name)
    members: Iterable[Member]
    if archives_tar.is_header(head):
        members = (member for member, _ in archives_tar.iter_members(file, name, bounds))
    elif archive_head(head) == "zip":
        members = archives_zip.index_members(file, name, bounds)
    else:
        return None
    found: dict[str, Member] = {}
    links: dict[str, str] = {}
    repeats = Repeats(name, last_counts=archives_tar.is_header(head))
    for member in members:
        repeats.add(member)
        if member.link:
            links[member.name] = member.link
        else:
            links.pop(member.name, None)
            found[member.name] = member
        if not goes_on():
            return None
    repeats.tell()
    for link, target in _resolve_links(links, found, name):
        found[link] = found[target]
    for inside in found:
        for at, letter in enumerate(inside):
            if letter == "/" and inside[:at] in found:
                raise _collision(inside, name)
    return found


def iter_archive(source: Path | IO[bytes], name: object = None) -> Iterator[tuple[str, IO[bytes]]]:
    """Reads the files in an archive one after another, as a stream.

    Args:
        source: A path, or a binary file object. A tar is read from it as a stream; zip and 7z need one that can be
            seeked.
        name: What to call it in errors; its path if left out.

    Yields:
        (name in the archive, binary file object). The file object is to be read before the next one is asked for.

    Raises:
        FileMissingError: There is no such file.
        FileFormatError: It is no archive, damaged, cut off, or encrypted.
        DataError: It has more members than allowed, or grows out of all proportion.
        UnsafePathError: A name leaves the folder.
        MissingDependencyError: A 7z archive, and py7zr is not installed.
    """
    label = source if name is None else name
    with _opened(source, label) as file:
        for member, content in _iter_opened(file, label):
            yield member.name, content


def open_member(path: Path, member: str | Member, name: object = None) -> IO[bytes]:
    """Opens one file in an archive for reading.

    Args:
        path: The archive.
        member: Its name in the archive, or what `list_members` gave, which finds it in a tar at once. Of a name that is
            there twice, that is meant which `extract_archive` would write.
        name: What to call the archive in errors; its path if left out.

    Returns:
        A binary file object; closing it closes the archive. It can be seeked if it lies in a plain tar.

    Raises:
        FileMissingError: There is no such file, or no such member.
        FileFormatError: It is no archive, damaged, cut off, or encrypted.
        DataError: It grows out of all proportion.
        MissingDependencyError: A 7z archive, and py7zr is not installed.
    """
    label = path if name is None else name
    file = _open(path, label)
    try:
        room = _room(file, label)
        bounds = Bounds(file, label)
        if isinstance(member, str):
            listed: dict[str, Member] = {}
            repeats = Repeats(label, last_counts=room is archives_tar)
            for found in room.list_members(file, label, bounds):
                if found.name == member:
                    repeats.add(found)
                listed[found.name] = found
            if member not in listed:
                raise FileMissingError(
                    f'There is no file "{member}" in the archive {label}. {suggest(member, listed)}'
                )
            repeats.tell()
            member = listed[member]
            file.seek(0)
        opened: IO[bytes] = room.open_member(file, label, bounds, member)
    except BaseException:
        file.close()
        raise
    return opened


def extract_archive(path: Path, folder: Path, name: object = None, durable: bool = True) -> Path:
    """Extracts an archive into a folder, which appears when it is whole and replaces what was there.

    Of files with the same name in a tar the last one counts, which a warning tells; in a zip or 7z archive they are an
    error, unless they are the same.

    Args:
        path: The archive.
        folder: The folder to make.
        name: What to call the archive in errors; its path if left out.
        durable: Wait until the disk has all of it, which for small files takes longer than all the rest.

    Returns:
        The folder.

    Raises:
        FileMissingError: There is no such file.
        FileFormatError: It is no archive, damaged, cut off, or encrypted.
        DataError: It has more members, or extracts to more bytes, than allowed, or grows out of all proportion.
        UnsafePathError: A name leaves the folder, or two names are one to this file system.
        DiskFullError: There is no room.
        MissingDependencyError: A 7z archive, and py7zr is not installed.

    Example:
        >>> import tempfile, zipfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with zipfile.ZipFile(Path(folder) / "a.zip", "w") as archive:
        ...         archive.writestr("data/a.txt", "hello")
        ...     (extract_archive(Path(folder) / "a.zip", Path(folder) / "out") / "data/a.txt").read_text()
        'hello'
    """
    label = path if name is None else name
    with _opened(path, label) as file:
        room = _room(file, label)  # no folder is made for what is no archive
        repeats = Repeats(label, last_counts=room is archives_tar)
        with atomic_folder(folder, durable) as inside:
            written: dict[str, Path] = {}
            links: dict[str, str] = {}
            for member, content in _iter_opened(file, label, with_links=True):
                repeats.add(member)
                if content is None:
                    links[member.name] = member.link
                else:
                    links.pop(member.name, None)
                    _write_member(inside, member.name, content, written, label)
            repeats.tell()
            _make_links(inside, links, written, label)
    return folder


def _write_member(
    inside: Path, name: str, content: IO[bytes] | Path, written: dict[str, Path], label: object
) -> None:
    """Writes a file, or (of a path) one more name of a file that is written."""
    target = inside.joinpath(*name.split("/"))
    with writing(f"{name} of the archive {label}"):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if name in written:  # what comes later in an archive stands for what came before
                target.unlink()
            if isinstance(content, Path):
                target.hardlink_to(content)
            else:
                with target.open("xb") as out:
                    shutil.copyfileobj(content, out, _COPY_BYTES)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise _collision(name, label) from error
    written[name] = target


def _collision(name: str, label: object) -> UnsafePathError:
    return UnsafePathError(f'{label}: the name "{name}" collides with another one in the archive; refused.')


def _make_links(inside: Path, links: dict[str, str], written: dict[str, Path], label: object) -> None:
    for name, target in _resolve_links(links, written, label):
        _write_member(inside, name, written[target], written, label)


def _resolve_links(
    links: dict[str, str], written: Mapping[str, object], label: object
) -> Iterator[tuple[str, str]]:
    """Yields links whose target is written by then, with it; the caller adds each to what is written."""
    # A link may stand before the file, or link, that it points to.
    while ready := [name for name, target in links.items() if target in written and target not in links]:
        for name in ready:
            yield name, links.pop(name)
    for name, target in links.items():
        _log.warning('%s: the link %s is left out: "%s" is no file in the archive', label, name, target)


def _iter_opened(file: IO[bytes], label: object, with_links: bool = False) -> Iterator[tuple[Member, Any]]:
    """Yields files with their content; if asked for, links as well, without."""
    room = _room(file, label)
    for member, content in room.iter_members(file, label, Bounds(file, label)):
        if not member.link:
            yield member, content
        elif with_links:
            yield member, None


def _room(file: IO[bytes], label: object) -> Any:
    if file.seekable():
        kind = detect_archive(file)
        if kind is None:
            head = file.read(HEAD_BYTES)
            file.seek(0)
            refuse_other_kind(label, describe_content(head), archive_suffix(plain_name(str(label))))
        return _ROOMS[str(kind)]
    return archives_tar


@contextlib.contextmanager
def _opened(source: Path | IO[bytes], label: object) -> Iterator[IO[bytes]]:
    if not isinstance(source, Path):
        yield source
        return
    with _open(source, label) as file:
        yield file


def _open(path: Path, label: object) -> IO[bytes]:
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        raise FileMissingError.from_path(label) from error
    except OSError as error:
        raise FileError.from_os_error("read", label, error) from error
