"""What a file holds, told by its first bytes."""

from __future__ import annotations

from gristmill.errors import shorten
from gristmill.files.archives_tar import BLOCK, is_header
from gristmill.files.compression import detect_compression

__all__ = ["HEAD_BYTES", "archive_head", "describe_content"]

HEAD_BYTES = BLOCK
"""How many bytes tell what a file holds: the header of a tar is the longest."""
_SHOWN = 40
_ZIP_HEADS = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_MAGIC = [
    (b"PAR1", "a Parquet file"),
    (b"PARE", "an encrypted Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"%PDF-", "a PDF document"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"Rar!", "a rar archive"),
    (b"\x89HDF", "an HDF5 file"),
]
_PAGES = (b"<!doctype html", b"<html")


def archive_head(head: bytes) -> str | None:
    r"""Names the kind of an archive by its first bytes, without looking through compression.

    Args:
        head: The first `HEAD_BYTES` bytes, or all if there are fewer.

    Example:
        >>> archive_head(b"PK\x03\x04..."), archive_head(b"a,b") is None
        ('zip', True)
    """
    if head.startswith(_ZIP_HEADS):
        return "zip"
    if head.startswith(b"7z\xbc\xaf\x27\x1c"):
        return "7z"
    return "tar" if is_header(head) else None


def describe_content(head: bytes) -> str:
    r"""Says in words what a file holds.

    Args:
        head: Its first `HEAD_BYTES` bytes, or all if there are fewer.

    Example:
        >>> describe_content(b""), describe_content(b"a,b\n1,2\n"), describe_content(b"PAR1...")
        ('nothing', "text that begins with 'a,b'", 'a Parquet file')
    """
    if not head:
        return "nothing"
    if not any(head):
        return "nothing but zeros"
    archive = archive_head(head)
    if archive is not None:
        return f"a {archive} archive"
    compression = detect_compression(head)
    if compression is not None:
        return f"data compressed by {compression}"
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return what
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[: len(_PAGES[0])].lower().startswith(_PAGES):
        return "a web page, as servers send it instead of a file"
    # A character may be cut in two at the end.
    text = start[:_SHOWN].decode("utf-8", "ignore")
    if not text or not all(letter.isprintable() or letter.isspace() for letter in text):
        return "bytes of no kind that is known here"
    return f"text that begins with {shorten(text.splitlines()[0], _SHOWN)}"
