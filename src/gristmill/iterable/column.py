"""`IterableColumn`: the values of one column of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gristmill.errors import ColumnNotFoundError, InvalidArgumentError


class IterableColumn:
    """The values of one column, read anew each time they are asked for; a name goes one level into dicts.

    Args:
        source: The stream, or a column of dicts.
        column_name: The column, or the field of the dicts.

    Example:
        >>> from gristmill.iterable import IterableDataset
        >>> list(IterableDataset.from_dict({"a": [{"b": 1}, {"b": 2}]})["a"]["b"])
        [1, 2]
    """

    def __init__(self, source: Iterable[Any], column_name: str) -> None:
        if not isinstance(column_name, str):
            raise InvalidArgumentError.from_value("column_name", column_name, "the name of a column")
        self.source = source
        self.column_name = column_name

    def __iter__(self) -> Iterator[Any]:
        for row in self.source:
            try:
                value = row[self.column_name]
            except KeyError as error:
                raise ColumnNotFoundError.from_name(self.column_name, row) from error
            yield value

    def __getitem__(self, column_name: str) -> IterableColumn:
        return IterableColumn(self, column_name)

    def __repr__(self) -> str:
        return f"IterableColumn({self.column_name!r})"
