"""Archives among the data files of a split: what is inside are the data files.

Which split an archive belongs to is said by its own name; which files inside are data, by theirs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from gristmill import config
from gristmill.errors import DataFilesNotFoundError
from gristmill.files.archives import archive_suffix, detect_archive, extract_archive, list_members
from gristmill.files.locations import plain_name
from gristmill.files.lock import lock
from gristmill.files.packed_names import check_name, packed_suffix, read_head
from gristmill.files.patterns import is_hidden, natural_key
from gristmill.files.split_names import (
    KNOWN_SUFFIXES,
    format_of,
    is_archive_file,
    is_data_file,
    main_format,
)
from gristmill.formats.registry import get_format
from gristmill.prepared.archive_parts import extract_member, member_ranges, packed_member, remote_members
from gristmill.prepared.parts import may_be_streamed
from gristmill.prepared.source import DataFile, SplitSource, fetch_each

__all__ = ["enter_archives", "format_of_members", "unpack_archives"]


def format_of_members(
    file: DataFile, fetch: Callable[[Sequence[DataFile]], list[Path]], parts: bool = False
) -> str | None:
    """Names the format that most of the data files in an archive have.

    Args:
        file: The archive.
        fetch: Brings it here.
        parts: The headers of a remote zip or plain tar will do.

    Returns:
        The format; None if nothing inside has the suffix of one.

    Raises:
        FileFormatError: The archive is damaged.
        UnsafePathError: A name inside leaves the folder.
        HubError: It can't be fetched.
    """
    places = remote_members(file) if parts else None
    if places is not None:
        return main_format([name for name in places if is_data_file(name)])
    [path] = fetch([file])
    names = [member.name for member in list_members(path, file.name)]
    return main_format([name for name in names if is_data_file(name)])


def unpack_archives(
    source: SplitSource, paths: Sequence[Path], folder: Path, durable: bool = True
) -> tuple[SplitSource, list[Path]]:
    """Puts the data files inside archives in the place of the archives.

    Args:
        source: A split.
        paths: Where its files are.
        folder: Where to extract to: a folder for each archive, named after its identity; one that is there is used.
        durable: What is extracted is to outlive a power cut.

    Returns:
        The split with the files inside, named like ``zip://data/a.csv::https://example.org/a.zip``, and where they
        are; the very same split if there is no archive.

    Raises:
        DataFilesNotFoundError: An archive holds no data file.
        FileFormatError: An archive is damaged.
        DataError: One has too many members, or grows too large.
        UnsafePathError: A name inside leaves the folder.
    """
    if get_format(source.format).reads_archives:
        return source, list(paths)
    files: list[DataFile] = []
    found: list[Path] = []
    for file, path in zip(source.files, paths, strict=True):
        # Parquet and Arrow files are told by their suffix at no cost; a blob in a cache has none, but its name has.
        named = format_of(file.name) is not None and not archive_suffix(file.name)
        kind = None if named else detect_archive(path)
        if kind is None:
            if packed_suffix(file.name):
                check_name(file.name, read_head(path, file.name))
            files.append(file)
            found.append(path)
            continue
        inside = folder / hashlib.sha256(file.identity.encode()).hexdigest()[:32]
        with lock(folder / f"{inside.name}.lock"):
            if not inside.is_dir():
                extract_archive(path, inside, file.name, durable)
        names = (path.relative_to(inside).as_posix() for path in inside.rglob("*") if path.is_file())
        for name in _data_files(names, source.format, file):
            member = inside / name
            status = member.stat()
            identity = f"{file.identity}/{name}"
            files.append(DataFile(f"{kind}://{name}::{file.name}", identity, status.st_size, member))
            found.append(member)
    return (source if tuple(files) == source.files else replace(source, files=tuple(files))), found


def enter_archives(source: SplitSource) -> SplitSource:
    """Puts what is inside the archives among the files of a split in their place, for reading at any time.

    Args:
        source: A split; which remote files are archives is told by their names, of files on this machine whose name is of
            no format by what they hold. Files in a remote zip or plain tar are read where they lie, if their format can be; it is not fetched, unless its files are many and small. What is in any other
            archive is extracted to `config.EXTRACTED_DATASETS_PATH` and stays there.

    Returns:
        The split with the files inside; the very same split if there is no archive.

    Raises:
        DataFilesNotFoundError: An archive holds no data file.
        FileFormatError: An archive is damaged.
        DataError: One has too many members, or grows too large.
        UnsafePathError: A name inside leaves the folder.
        HubError: An archive can't be fetched.
    """
    if get_format(source.format).reads_archives or not any(map(_may_be_archive, source.files)):
        return source
    files: list[DataFile] = []
    remote: dict[str, DataFile] = {}
    for file in source.files:
        if not _may_be_archive(file):
            files.append(file)
            continue
        parts = _parts(source, file)
        if parts is not None:
            remote.update((part.identity, part) for part in parts)
            files += parts
            continue
        paths = source.fetch([file])
        inside, _ = unpack_archives(replace(source, files=(file,)), paths, config.EXTRACTED_DATASETS_PATH)
        files += inside.files
    fetch = partial(_fetch, source.fetch, remote) if remote else source.fetch
    return replace(source, files=tuple(files), fetch=fetch)


def _may_be_archive(file: DataFile) -> bool:
    """Says whether to look into a file before it is read: its name may be that of an archive, or says nothing."""
    if is_archive_file(plain_name(file.name)):
        return True
    # To look at a remote file costs a request; whoever reads it as rows looks at what comes.
    return file.path is not None and (bool(packed_suffix(file.name)) or format_of(file.name) is None)


def _parts(source: SplitSource, file: DataFile) -> list[DataFile] | None:
    """Gives the data files in a remote archive, to be read where they lie; None if it has to be fetched."""
    places = remote_members(file) if may_be_streamed(source.format, source.options) else None
    if places is None:
        return None
    return [
        DataFile(
            f"{place.kind}://{name}::{file.name}",
            f"{file.identity}/{name}",
            place.size,
            get=partial(extract_member, file, name),
            ranges=partial(member_ranges, file, name, place),
            packed=partial(packed_member, file, name, place),
        )
        for name in _data_files(places, source.format, file)
        for place in [places[name]]
    ]


def _fetch(
    fetch: Callable[[Sequence[DataFile]], list[Path]],
    inside: Mapping[str, DataFile],
    files: Sequence[DataFile],
) -> list[Path]:
    """Fetches files, those inside archives by way of these: the source that fetches the others does not know them."""
    others = iter(fetch([file for file in files if file.identity not in inside]))
    return [fetch_each([file])[0] if file.identity in inside else next(others) for file in files]


def _data_files(names: Iterable[str], format: str, file: DataFile) -> list[str]:
    """Picks the files of a format; all that are not hidden, if none has a suffix that says it is."""
    visible = sorted((name for name in names if not any(map(is_hidden, name.split("/")))), key=natural_key)
    known = [name for name in visible if is_data_file(name) and format_of(name) == format]
    packed = next((name for name in visible if is_archive_file(name)), None)
    if packed and not known:
        raise DataFilesNotFoundError(
            f"The archive {file.name} holds an archive, {packed}, and no {format} files. Name what is in that one: "
            f'data_files="zip://*::zip://{packed}::{file.name}".'
        )
    if not (known or visible):
        raise DataFilesNotFoundError(
            f"The archive {file.name} holds no data files; readable are {', '.join(KNOWN_SUFFIXES)}."
        )
    return known or visible
