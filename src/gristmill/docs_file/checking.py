"""Every invariant of a ``.docs`` file, checked in one pass with bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import xxhash

from gristmill.errors import FileFormatError
from gristmill.formats.docs import MappedDocs, open_docs
from gristmill.formats.docs_columns import first_invalid
from gristmill.formats.docs_layout import HEADER_BYTES, section_digest
from gristmill.progress import progress

_BLOCK = 64 << 20
_ROWS = 1 << 18


def check_docs(path: str | os.PathLike[str]) -> None:
    """Reads a whole ``.docs`` file and checks that everything in it holds.

    That is: the header, offsets and conversation starts that rise, padding of zeros, each document valid UTF-8, and the
    checksum over all of it.

    Args:
        path: The file.

    Raises:
        FileMissingError: It is not there.
        FileFormatError: Something does not hold; says what and where.
    """
    check_mapped(open_docs(path))


def check_mapped(docs: MappedDocs) -> None:
    """Checks an opened file, see `check_docs`."""
    header = docs.header
    for first in range(0, header.conversations, _ROWS):
        docs.messages(first, min(first + _ROWS, header.conversations))
    _check_padding(docs)
    with progress("checking", total=len(docs.text), unit="B") as bar:
        for first, last in _blocks(docs):
            bar.update(_check_text(docs, first, last))
    _check_digest(docs)


def _blocks(docs: MappedDocs) -> Iterator[tuple[int, int]]:
    """Cuts the documents into blocks bounded by rows and bytes; one document is never cut."""
    first = 0
    while first < docs.header.documents:
        last = min(first + _ROWS, docs.header.documents)
        ends = docs.bounds(first, last)
        last = first + max(1, int(np.searchsorted(ends, ends[0] + _BLOCK, side="right")) - 1)
        yield first, last
        first = last


def _check_text(docs: MappedDocs, first: int, last: int) -> int:
    import pyarrow as pa

    bounds = docs.bounds(first, last)
    texts = pa.LargeStringArray.from_buffers(last - first, pa.py_buffer(bounds), pa.py_buffer(docs.text))
    wrong = first_invalid(texts)
    if wrong is not None:
        raise FileFormatError.at(f"document {first + wrong} is not valid UTF-8 text", file=docs.name)
    return int(bounds[-1] - bounds[0])


def _check_padding(docs: MappedDocs) -> None:
    header = docs.header
    ends = [header.offsets_end]
    begins = [header.text_at]
    if header.is_chat:
        ends += [header.roles_at + header.documents, header.starts_at + 8 * (header.conversations + 1)]
        begins = [header.roles_at, header.starts_at, header.text_at]
    for end, begin in zip(ends, begins, strict=True):
        for at in range(end, begin, _BLOCK):
            if docs.data[at : min(at + _BLOCK, begin)].any():
                raise FileFormatError.at(
                    f"the bytes {end:,} to {begin:,} between sections are not zero", file=docs.name
                )


def _check_digest(docs: MappedDocs) -> None:
    header = docs.header
    sections: list[Any] = [docs.data[HEADER_BYTES : header.offsets_end]]
    if header.is_chat:
        sections += [
            docs.roles,
            docs.data[header.starts_at : header.starts_at + 8 * (header.conversations + 1)],
        ]
    sections.append(docs.text)
    digests = []
    for section in sections:
        digest = xxhash.xxh3_64()
        for at in range(0, len(section), _BLOCK):
            digest.update(section[at : at + _BLOCK])
        digests.append(digest.intdigest().to_bytes(8, "little"))
    if section_digest(b"".join(digests)) != header.digest:
        raise FileFormatError.at(
            "it was changed after it was written: the checksum over its content does not match",
            file=docs.name,
        )
