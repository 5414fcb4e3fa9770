"""`DocsFile`: the documents of a ``.docs`` file, read where they lie."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from gristmill.dataset import Dataset
from gristmill.docs_file.checking import check_mapped
from gristmill.errors import DataError, FileFormatError, RowIndexError
from gristmill.formats.docs import DocsOptions, open_docs, rows_of_docs

_ROWS = 4096


class DocsFile:
    r"""A ``.docs`` file, memory-mapped: opening reads its header only, a document touches its own pages only.

    Args:
        path: The file.
        roles: Role name -> byte, where the file was written with roles of its own.

    Raises:
        FileMissingError: It is not there.
        FileFormatError: It is no ``.docs`` file, is cut off, or was changed; says which.

    Example:
        >>> import tempfile
        >>> from gristmill import Dataset
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Dataset.from_dict({"text": ["one", "zwei", "três"]}).to_docs(f"{folder}/a.docs")
        ...     docs = DocsFile(f"{folder}/a.docs")
        >>> len(docs), docs[1], bytes(docs.bytes(2)), docs[::2]
        (3, 'zwei', b'tr\xc3\xaas', ['one', 'três'])
        >>> docs.to_dataset()[-1]
        {'text': 'três'}
    """

    def __init__(self, path: str | os.PathLike[str], roles: Mapping[str, int] | None = None) -> None:
        self._path = os.fspath(path)
        self._roles = dict(roles or {})
        self._names = DocsOptions(self._roles).role_names()
        self._docs = open_docs(path)

    def __repr__(self) -> str:
        talks = f", {self.num_conversations:,} conversations" if self.is_chat else ""
        what = "messages" if self.is_chat else "documents"
        return f"DocsFile({self._path!r}: {len(self):,} {what}{talks}, {len(self.text):,} bytes of text)"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the path, not the text: worker processes map the file themselves."""
        return DocsFile, (self._path, self._roles)

    def __len__(self) -> int:
        return self._docs.header.documents

    @property
    def is_chat(self) -> bool:
        """Whether documents are messages of conversations."""
        return self._docs.header.is_chat

    @property
    def num_conversations(self) -> int:
        """Number of conversations; 0 unless it is a chat file."""
        return self._docs.header.conversations

    @property
    def text_at(self) -> int:
        """The byte of the file at which the text begins."""
        return self._docs.header.text_at

    @property
    def offsets(self) -> npt.NDArray[np.uint64]:
        """``(len + 1,)`` unsigned 64-bit, a view of the file: document `i` is ``text[offsets[i]:offsets[i + 1]]``."""
        return self._docs.offsets

    @property
    def text(self) -> npt.NDArray[np.uint8]:
        """All text as UTF-8 bytes, a view of the file."""
        return self._docs.text

    @property
    def roles(self) -> npt.NDArray[np.uint8]:
        """``(len,)`` role bytes, a view of the file; empty unless it is a chat file."""
        return self._docs.roles

    @property
    def starts(self) -> npt.NDArray[np.uint64]:
        """``(num_conversations + 1,)``: the first message of each conversation, a view; empty likewise."""
        return self._docs.starts

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        """Gives a document as text, or those of a slice as a list.

        Raises:
            RowIndexError: There is no such document.
            FileFormatError: The file is damaged there.
        """
        if isinstance(index, slice):
            return [self._text(i) for i in range(*index.indices(len(self)))]
        return self._text(self._position(index))

    def bytes(self, index: int) -> memoryview:
        """Gives a document as UTF-8 bytes without copying them.

        Raises:
            RowIndexError: There is no such document.
            FileFormatError: The file is damaged there.
        """
        position = self._position(index)
        first, last = self._docs.bounds(position, position + 1).tolist()
        return self._docs.text[first:last].data

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), _ROWS):
            for position in range(first, min(first + _ROWS, len(self))):
                yield self._text(position)

    def conversation(self, index: int) -> list[dict[str, str]]:
        """Gives the messages of one conversation.

        Args:
            index: Which one; negative numbers count from the end.

        Returns:
            Dicts with ``role`` and ``content``.

        Raises:
            DataError: It is no chat file.
            RowIndexError: There is no such conversation.
            FileFormatError: The file is damaged there, or a role has no name.
        """
        if not self.is_chat:
            raise DataError.at("holds documents, not conversations", file=self._path)
        position = _checked(index, self.num_conversations)
        first, last = self._docs.messages(position, position + 1).tolist()
        return [{"role": self._role(i), "content": self._text(i)} for i in range(first, last)]

    def conversations(self) -> Iterator[list[dict[str, str]]]:
        """Iterates over the conversations, each a list of dicts with ``role`` and ``content``.

        Raises:
            DataError: It is no chat file.
            FileFormatError: The file is damaged, or a role has no name.
        """
        if not self.is_chat:
            raise DataError.at("holds documents, not conversations", file=self._path)
        return (self.conversation(index) for index in range(self.num_conversations))

    def check(self) -> None:
        """Reads the whole file and checks every invariant, the checksum too.

        Raises:
            FileFormatError: One does not hold; says which and where.
        """
        check_mapped(self._docs)

    def to_dataset(self, check: bool = True) -> Dataset:
        """Gives the documents as a dataset whose text is the mapped file: nothing is copied.

        Args:
            check: Check the whole file before, as `check` does; leave it out for files that were checked already.

        Returns:
            One column ``text``, or ``messages`` for a chat file.

        Raises:
            FileFormatError: The file is damaged, or a role has no name.
        """
        import pyarrow as pa

        if check:
            self.check()
        rows = self.num_conversations if self.is_chat else len(self)
        values = rows_of_docs(self._docs, 0, rows, self._names)
        return Dataset(pa.table({"messages" if self.is_chat else "text": values}))

    def _position(self, index: int) -> int:
        return _checked(index, len(self))

    def _text(self, position: int) -> str:
        first, last = self._docs.bounds(position, position + 1).tolist()
        try:
            return self._docs.text[first:last].tobytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise FileFormatError.at(
                f"document {position} is not valid UTF-8 text: the file is damaged", file=self._path
            ) from error

    def _role(self, position: int) -> str:
        number = int(self._docs.roles[position])
        if number not in self._names:
            raise FileFormatError.at(
                f"message {position} has the role number {number}, which has no name here",
                file=self._path,
                remedy="Pass the roles it was written with: roles={name: number}.",
            )
        return self._names[number]


def _checked(index: int, length: int) -> int:
    import operator

    try:
        position = operator.index(index)
    except TypeError:
        raise RowIndexError.from_index(index, length) from None
    if not -length <= position < length:
        raise RowIndexError.from_index(index, length)
    return position % length
