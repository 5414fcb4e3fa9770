"""Writes ``.docs`` files piece by piece: four sections that grow side by side, in bounded memory.

Where it is known how many documents there can be at most, each section is written where it belongs at once. Where it is
not, sections grow in temporary files and are joined at the end.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import xxhash

from gristmill.errors import DataError
from gristmill.files.borders import writing
from gristmill.formats.docs_layout import Header, plan, section_digest

__all__ = ["DocsWriter", "docs_writer"]

_ZEROS = bytes(64)


class _Section:
    """Bytes appended to one region of a file, and their checksum."""

    def __init__(self, file: IO[bytes], at: int) -> None:
        self.file = file
        self.at = at
        self.size = 0
        self._digest = xxhash.xxh3_64()

    def append(self, data: Any) -> None:
        view = memoryview(data).cast("B")
        self._digest.update(view)
        self.file.seek(self.at + self.size)
        self.file.write(view)
        self.size += len(view)

    @property
    def digest(self) -> bytes:
        return self._digest.intdigest().to_bytes(8, "little")


class DocsWriter:
    """Takes documents, or messages of conversations, in order.

    Attributes:
        documents: Documents (messages) so far.
        conversations: Conversations so far.
        text_bytes: Bytes of text so far.
    """

    def __init__(
        self, header: Header, files: tuple[IO[bytes], IO[bytes], IO[bytes], IO[bytes]], base: bool
    ) -> None:
        places = (64, header.roles_at, header.starts_at, header.text_at) if base else (0, 0, 0, 0)
        self._header = header
        self._offsets, self._roles, self._starts, self._text = map(_Section, files, places)
        self.documents = 0
        self.conversations = 0
        self._offsets.append(bytes(8))
        if header.is_chat:
            self._starts.append(bytes(8))

    @property
    def text_bytes(self) -> int:
        """Bytes of text so far."""
        return self._text.size

    def add(
        self,
        lengths: npt.NDArray[np.integer[Any]],
        text: Any,
        roles: npt.NDArray[np.uint8] | None = None,
        messages: npt.NDArray[np.integer[Any]] | None = None,
    ) -> None:
        """Adds documents.

        Args:
            lengths: Bytes of each document.
            text: Their UTF-8 bytes, one after another; as long as all `lengths` together.
            roles: The role byte of each, in a chat file.
            messages: Messages of each conversation, in a chat file; together as many as `lengths`.

        Raises:
            DataError: There are more than was said at the start.
        """
        if not self._header.is_chat and (roles is not None or messages is not None):
            raise ValueError("roles and messages are for chat files")
        self.documents += len(lengths)
        self.conversations += 0 if messages is None else len(messages)
        if self.documents > self._header.documents or self.conversations > self._header.conversations:
            raise DataError("There are more documents than the source announced; nothing was written.")
        self._offsets.append(_running(lengths, self._text.size))
        self._text.append(text)
        if roles is not None and messages is not None:
            self._starts.append(_running(messages, self._roles.size))
            self._roles.append(np.ascontiguousarray(roles))

    def finish(self) -> Header:
        """Gives the header that says what was written."""
        chat = self._header.is_chat
        parts = (
            [self._offsets, self._roles, self._starts, self._text] if chat else [self._offsets, self._text]
        )
        digest = section_digest(b"".join(part.digest for part in parts))
        return self._header.with_counts(self.documents, self.conversations, digest)


def _running(lengths: npt.NDArray[np.integer[Any]], base: int) -> npt.NDArray[np.uint64]:
    ends = np.cumsum(lengths, dtype=np.uint64)
    ends += np.uint64(base)
    return ends.astype("<u8", copy=False)


@contextlib.contextmanager
def docs_writer(
    file: IO[bytes], *, chat: bool, documents: int | None = None, conversations: int | None = None
) -> Iterator[DocsWriter]:
    """Opens a writer; the file is a whole ``.docs`` file when the block ends without an error.

    Args:
        file: An empty binary file; seekable if `documents` is given.
        chat: Documents are messages of conversations.
        documents: Documents (messages) at most, if known: then sections are written in place.
        conversations: Conversations at most; needed with `documents` in a chat file.

    Yields:
        The writer.
    """
    with writing(getattr(file, "name", "the .docs file")):
        if documents is not None:
            writer = DocsWriter(
                plan(documents, (conversations or 0) if chat else None), (file,) * 4, base=True
            )
            yield writer
            header = writer.finish()
            file.seek(0)
            file.write(header.to_bytes())
            # A file without text ends where its text would begin; what was never written reads as zeros.
            file.truncate(header.text_at + writer.text_bytes)
            return
        with contextlib.ExitStack() as stack:
            parts = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(4)]
            unbounded = plan(1 << 50, 1 << 50 if chat else None)
            writer = DocsWriter(unbounded, (parts[0], parts[1], parts[2], parts[3]), base=False)
            yield writer
            counted = writer.finish()
            header = plan(writer.documents, writer.conversations if chat else None).with_counts(
                writer.documents, writer.conversations, counted.digest
            )
            _join(file, header, parts)


def _join(file: IO[bytes], header: Header, parts: Sequence[IO[bytes]]) -> None:
    places = [(64, parts[0]), (header.text_at, parts[3])]
    if header.is_chat:
        places[1:1] = [(header.roles_at, parts[1]), (header.starts_at, parts[2])]
    file.write(header.to_bytes())
    at = 64
    for begins, part in places:
        file.write(_ZEROS[: begins - at])
        at = begins + part.seek(0, 2)
        part.seek(0)
        shutil.copyfileobj(part, file, 1 << 20)
