"""Whether a file is packed as its name says: an archive, or compressed."""

from __future__ import annotations

from pathlib import Path

from gristmill.errors import FileFormatError
from gristmill.files.archives import archive_suffix
from gristmill.files.borders import reading
from gristmill.files.compression import compression_suffix, detect_compression
from gristmill.files.contents import HEAD_BYTES, archive_head, describe_content
from gristmill.files.locations import plain_name

__all__ = ["check_name", "check_unpacked", "other_content", "packed_suffix", "read_head"]


def packed_suffix(name: str) -> str:
    """Gives the ending by which a name says that a file is an archive or compressed, or "".

    Args:
        name: A path, a URL or a chain.

    Example:
        >>> (
        ...     packed_suffix("https://example.org/a.tar.gz?x=1"),
        ...     packed_suffix("b.csv.ZST"),
        ...     packed_suffix("c.csv"),
        ... )
        ('.tar.gz', '.zst', '')
    """
    plain = plain_name(name)
    return archive_suffix(plain) or compression_suffix(plain)


def read_head(path: Path, name: object = None) -> bytes:
    """Reads the bytes by which the content of a file is told.

    Args:
        path: The file.
        name: What to call it in errors; its path if left out.

    Raises:
        FileMissingError: There is no such file.
        FileError: It can't be read.
    """
    with reading(path if name is None else name, "a file"), path.open("rb", buffering=0) as file:
        return file.read(HEAD_BYTES)


def check_name(name: object, head: bytes) -> None:
    r"""Makes sure that a file is packed in some way if its name says so; which way, its content says.

    Args:
        name: Its path, URL or chain.
        head: Its first `HEAD_BYTES` bytes, or all if there are fewer.

    Raises:
        FileFormatError: The name ends like that of an archive or of a compressed file, and it is neither.

    Example:
        >>> check_name("a.csv.gz", b"\x1f\x8b\x08")
        >>> check_name("a.csv.gz", b"a,b")
        Traceback (most recent call last):
        gristmill.errors.FileFormatError: a.csv.gz: is not compressed, though its name ends in .gz: it holds text ...
    """
    suffix = packed_suffix(str(name))
    if suffix and archive_head(head) is None and detect_compression(head) is None:
        raise named_wrongly(name, suffix, head)


def named_wrongly(name: object, suffix: str, head: bytes) -> FileFormatError:
    """Words the error for a file that is not packed though its name says that it is."""
    archive = archive_suffix(plain_name(str(name)))
    is_not = "is no zip, tar or 7z archive" if archive else "is not compressed"
    made: FileFormatError = FileFormatError.at(
        f"{is_not}, though its name ends in {suffix}: it holds {describe_content(head)}",
        file=name,
        remedy="Fetch it again, or give it a name that says what it is.",
    )
    return made


def check_unpacked(name: object, head: bytes) -> None:
    """Makes sure that what a reader of rows is about to read is no archive.

    Args:
        name: The file.
        head: Its first `HEAD_BYTES` bytes after decompression, or all if there are fewer.

    Raises:
        FileFormatError: It is an archive.
    """
    kind = archive_head(head)
    if kind is not None:
        raise FileFormatError.at(
            f"is a {kind} archive, which its name does not say",
            file=name,
            remedy=f"Give it a name that ends in .{kind}: then the files inside are read.",
        )


def other_content(path: Path, name: object, format: str, magic: bytes) -> FileFormatError:
    """Words the error for a file that does not end as those of its format do.

    Args:
        path: The file.
        name: What to call it.
        format: The format.
        magic: What a file of the format begins with.

    Raises:
        FileError: It can't be read.
    """
    head = read_head(path, name)
    # One that was cut off begins as it should.
    holds = "it is cut off or damaged" if head.startswith(magic) else f"it holds {describe_content(head)}"
    remedy = f"Decompress it: {format} files are compressed inside, and read from their end."
    made: FileFormatError = FileFormatError.at(
        f"can't be read as {format}: {holds}",
        file=name,
        remedy="" if detect_compression(head) is None else remedy,
    )
    return made
