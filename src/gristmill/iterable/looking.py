"""Columns that only the files of a stream know: told by a look at them when somebody asks, and remembered.

A look is for those who ask for `features` or `column_names`. What is read is read as if nobody had looked: each file still
has its own types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

from gristmill.errors import FileFormatError, SchemaConflictError
from gristmill.features import Features
from gristmill.features.convert import from_arrow_type
from gristmill.features.mixed import features_for_empty
from gristmill.formats.registry import get_format
from gristmill.iterable.file_columns import SCHEMA_IN_FILE, type_in_others
from gristmill.iterable.file_plan import FilePlan, Piece, StreamFile
from gristmill.iterable.file_stream import FileStream
from gristmill.iterable.node import Node

__all__ = ["LOOKED_INTO", "Look", "features_at_sight"]

LOOKED_INTO = frozenset({"arrow", "json", "parquet"})
"""Formats whose columns `datasets` knows without reading rows; of the others it says that they are not known."""
_MOST_LOOKED_AT = 8


def features_at_sight(node: Node, far: bool = True) -> Features | None:
    """Finds the columns of a stream, by a look at its files where they are not known otherwise.

    Args:
        node: The plan.
        far: Also look at files that are not on this machine; else only what was found in them before counts.

    Returns:
        The columns; None if they show only when rows are read: after `map`, where streams that are joined have no common
        columns, or where one was chosen that is not in the first rows.

    Raises:
        FileFormatError: The file looked at is damaged.
        HubError: It can't be fetched.
        OfflineError: Offline mode is on, and no file is here.
    """
    if node.features is not None:
        return node.features
    try:
        return node.seen(far).features
    except (SchemaConflictError, KeyError):
        # Files with columns that have no common type, or a column that begins further on: reading tells.
        return None


class _Files(FilePlan, Protocol):
    @property
    def look(self) -> Look: ...


@dataclass
class Look:
    """What was found in the files of a stream; shared by all streams of the same files.

    Attributes:
        found: The columns of the first file with rows.
        is_done: Whether somebody looked.
    """

    found: Features | None = None
    is_done: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        # A plan is the same, and is written the same, whether somebody looked or not.
        return Look, ()

    def features(self, node: _Files, far: bool) -> Features | None:
        """Gives the columns that are read of the files, after a look at them if nobody looked before.

        Args:
            node: What is read of which files.
            far: Whether files that are not on this machine may be asked.
        """
        if node.format not in LOOKED_INTO:
            return None
        if not self.is_done:
            if not far and any(file.path is None for file in node.files[:1]):
                return None
            self.found, self.is_done = _first_columns(node), True
        return self.found if self.found is None or node.columns is None else _chosen(node, self.found)


def _first_columns(node: _Files) -> Features | None:
    first: Features | None = None
    for number, file in enumerate(_looked_at(node.files)):
        try:
            features, has_rows = _columns(node, file, number)
        except FileFormatError:
            if not node.skips and node.options.get("on_bad_files", "error") == "error":
                raise
            continue
        if has_rows:
            return features
        first = features if first is None else first
    return first


def _looked_at(files: Sequence[StreamFile]) -> Sequence[StreamFile]:
    """Gives the files that come first; no more of those far away than a look may cost."""
    far = [number for number, file in enumerate(files) if file.path is None]
    return files[: far[_MOST_LOOKED_AT]] if len(far) > _MOST_LOOKED_AT else files


def _columns(node: _Files, file: StreamFile, number: int) -> tuple[Features | None, bool]:
    """Reads what columns one file has, and whether it has rows; the schema where it holds one, else the head."""
    if node.format in SCHEMA_IN_FILE:
        format, local = get_format(node.format), file.local()
        features = Features.from_arrow_schema(format.infer_schema(local, node.options))
        groups = format.group_rows(local)
        return features, groups is None or sum(groups) > 0
    whole: Any = replace(cast("Any", node), columns=None, filters=None, pieces=(Piece(number),))
    head = FileStream(whole, [0], {"shard": 0, "at": None, "skip": 0})
    try:
        while (block := head.next()) is not None:
            if block.num_rows:
                return features_for_empty(block.table()[1]), True
    finally:
        head.close()
    return None, False


def _chosen(node: _Files, found: Features) -> Features:
    types: dict[str, Any] = {}
    return Features(
        {
            name: found[name]
            if name in found
            else from_arrow_type(type_in_others(node, Piece(0), types, name))
            for name in node.columns or ()
        }
    )
