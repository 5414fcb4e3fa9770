"""The data files of a split, ready to be read: whole, or in part where a part of a remote file will do."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gristmill.errors import HubResponseError, RangeIgnoredError
from gristmill.files.contents import HEAD_BYTES
from gristmill.files.locations import plain_name
from gristmill.files.packed_names import check_name, packed_suffix
from gristmill.files.split_names import is_archive_file
from gristmill.formats.base import columns_needed
from gristmill.formats.source import SourceFile
from gristmill.logging import get_logger
from gristmill.prepared.source import DataFile, SplitSource

if TYPE_CHECKING:
    from gristmill.partial.parquet import RemoteParquet

__all__ = ["closing_files", "may_be_streamed", "ready_files", "streamed_file"]

_log = get_logger(__name__)
_SMALL = 1_000_000
_MOST = 0.8
_OPENED_AT_A_TIME = 8
# The others are read more than once, or from both ends.
_READ_FORWARD = frozenset({"arrow", "csv", "json", "text"})
_READ_ONCE = frozenset({"csv", "json", "text"})


def ready_files(source: SplitSource, whole: bool = False) -> list[SourceFile]:
    """Brings the files of a split to this machine, as far as they are needed.

    Of a remote Parquet file, only the footer comes over if some of its columns or rows are wanted; the rest does when it
    is read. What is small, or of which nearly all is wanted, is fetched whole, together.

    Args:
        source: The split.
        whole: Parts will not do.

    Returns:
        The files, in order.

    Raises:
        FileFormatError: A file is damaged.
        HubError: The server refuses or can't be reached.
        FileError: A file can't be written.
    """
    found: dict[int, SourceFile] = {}
    if not whole and _may_be_parts(source):
        from gristmill.hub.transfer import run_parallel

        candidates = [number for number, file in enumerate(source.files) if _may_be_part(file)]

        def look(number: int, stop: threading.Event) -> SourceFile | None:
            return None if stop.is_set() else _part(source, source.files[number])

        parts = run_parallel(look, candidates, _OPENED_AT_A_TIME)
        found = {number: part for number, part in zip(candidates, parts, strict=True) if part is not None}
    rest = [number for number in range(len(source.files)) if number not in found]
    paths = source.fetch([source.files[number] for number in rest])
    for number, path in zip(rest, paths, strict=True):
        found[number] = SourceFile(path, source.files[number].name)
    return [found[number] for number in range(len(source.files))]


@contextlib.contextmanager
def closing_files(files: Sequence[SourceFile]) -> Iterator[None]:
    """Ends what is being fetched ahead of files when the block ends, however it does."""
    with contextlib.ExitStack() as stack:
        for file in files:
            if file.close is not None:
                stack.callback(file.close)
        yield


def _may_be_parts(source: SplitSource) -> bool:
    return source.format == "parquet" and (source.columns is not None or source.filters is not None)


def _may_be_part(file: DataFile) -> bool:
    return (
        file.path is None
        and file.ranges is not None
        and file.size >= _SMALL
        and not is_archive_file(plain_name(file.name))
    )


def _part(source: SplitSource, file: DataFile) -> SourceFile | None:
    """Opens a file in part; None if it has to be fetched whole, or may as well."""
    # What deals with parts of files is loaded where there are any.
    from gristmill.partial.parquet import RemoteParquet

    assert file.ranges is not None  # the caller looked
    try:
        ranges = file.ranges()
        if isinstance(ranges, Path):
            return SourceFile(ranges, file.name)
        remote = RemoteParquet.from_ranges(ranges, file.name)
    except (RangeIgnoredError, HubResponseError) as error:
        _log.info("%s can't be read in part and is fetched whole: %s", file.name, error)
        return None
    needed = _bytes_needed(remote, source.columns, source.filters)
    return None if needed > _MOST * remote.size else remote.source_file()


def _bytes_needed(remote: RemoteParquet, columns: Sequence[str] | None, filters: Any) -> int:
    from gristmill.formats.parquet import possible_groups
    from gristmill.partial.intervals import total

    groups = possible_groups(remote.source_file(), filters)
    return total(remote.ranges(groups, remote.known(columns_needed(columns, filters, remote.schema))))


def may_be_streamed(format: str, options: Mapping[str, Any]) -> bool:
    """Says whether `streamed_file` opens files that are read by a format and options."""
    # What the records of an XML file hold is known when all of them have been read.
    is_forward = format in _READ_FORWARD or (format == "xml" and options.get("record") is None)
    return is_forward or format in ("parquet", "docs")


def streamed_file(
    file: DataFile, format: str, options: Mapping[str, Any], whole: bool = False
) -> SourceFile | None:
    """Opens a remote file so that only what is read comes over, and nothing of it stays.

    Args:
        file: The file.
        format: The format it is read by.
        options: Options of the format's reader.
        whole: All of it will be read.

    Returns:
        The file; None if it has to be fetched whole.

    Raises:
        FileFormatError: It is no Parquet file, or damaged.
        HubError: The server refuses or can't be reached.
        FileError: The file system refuses.
    """
    if file.path is not None or file.ranges is None or not may_be_streamed(format, options):
        return None
    try:
        # The readers of the others go to and fro, which in what is compressed takes a long time.
        packed = file.packed() if file.packed is not None and format in _READ_ONCE else None
        if packed is not None:
            return SourceFile(Path(file.name), file.name, open=packed[0], version=packed[1])
        ranges = file.ranges()
        if isinstance(ranges, Path):
            return SourceFile(ranges, file.name)
        if format not in _READ_FORWARD and packed_suffix(file.name):  # those check what they open
            check_name(file.name, ranges.read(0, min(HEAD_BYTES, ranges.size)))
        if format == "parquet":
            from gristmill.partial.parquet import RemoteParquet

            return RemoteParquet.from_ranges(ranges, file.name, scratch=True, whole=whole).source_file()
        if format == "docs":
            from gristmill.partial.mirror import scratch_file

            return scratch_file(ranges, file.name)
    except RangeIgnoredError as error:
        _log.info("%s can't be read in part and is fetched whole: %s", file.name, error)
        return None
    from gristmill.partial.stream import KeptHead, RangedStream

    opened: Any = partial(RangedStream, KeptHead(ranges))
    return SourceFile(Path(file.name), file.name, open=opened, version=ranges.identity)
