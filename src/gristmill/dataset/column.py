"""`Column`: the values of one column, read when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gristmill.arguments import check_columns
from gristmill.dataset.rows import parse_key
from gristmill.errors import InvalidArgumentError
from gristmill.formatting import Reader
from gristmill.table.selection import compose

_BLOCK = 1000
_SHOWN = 5


class Column(Sequence[Any]):
    """One column of a dataset, as a sequence that reads its values on demand.

    ``column[:]`` gives all values at once, in the dataset's format; a name goes one level into dicts.

    Args:
        source: The dataset, or a column of dicts.
        column_name: The column, or the field of the dicts.

    Attributes:
        source: As given.
        column_name: As given.

    Example:
        >>> from gristmill.dataset import Dataset
        >>> column = Dataset.from_dict({"a": [1, 2, 3]})["a"]
        >>> column[0], column[1:], len(column), column == [1, 2, 3], column.column_name
        (1, [2, 3], 3, True, 'a')
    """

    _reader: Reader
    _name: str
    _rows: range

    def __init__(self, source: Any, column_name: str) -> None:
        self.source = source
        self.column_name = column_name
        self._path: tuple[str, ...] = ()
        if isinstance(source, Column):
            self._reader, self._name, self._rows = source._reader, source._name, source._rows
            self._path = (*source._path, column_name)
            return
        [self._name] = check_columns(column_name, source.column_names)
        self._reader = source._reader
        self._rows = range(len(source))

    @property
    def features(self) -> Any:
        """What the values are; None for a field of values of any type, such as `Json`.

        Example:
            >>> from gristmill.dataset import Dataset
            >>> column = Dataset.from_dict({"a": [{"b": 1}]})["a"]
            >>> column.features, column["b"].features
            ({'b': Value('int64')}, Value('int64'))
        """
        known = self.source.features
        return known.get(self.column_name) if isinstance(known, Mapping) else None

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return Column(self, key)
        single, rows = parse_key(key, len(self))
        chosen = compose(self._rows, rows)
        assert chosen is not None
        values = self._read(chosen)
        return values[0] if single else values

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), _BLOCK):
            yield from self._read(self._rows[start : start + _BLOCK])

    def _read(self, rows: Any) -> Any:
        values = self._reader.column(self._name, rows)
        for field in self._path:
            values = self._inner(values, field)
        return values

    def _inner(self, values: Any, field: str) -> list[Any]:
        try:
            return [None if value is None else value[field] for value in values]
        except (KeyError, TypeError, IndexError) as error:
            raise InvalidArgumentError(
                f'Column "{self._name}" has no field "{field}" in each of its values.'
            ) from error

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence | np.ndarray) or isinstance(other, str | bytes):
            return NotImplemented
        return len(self) == len(other) and all(
            np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs
            for mine, theirs in zip(self, other, strict=True)
        )

    def __repr__(self) -> str:
        if len(self) <= _SHOWN:
            return f"Column({list(self)!r})"
        return f"Column([{', '.join(map(repr, self[:_SHOWN]))}, ...])"
