"""Some rows at once with the same columns, as Arrow's where it can, as Python objects where it must.

Arrow columns stay as the source gave them until somebody wants Python values. What a user's function returned stays the
objects it returned, since nobody said that they fit into Arrow: they may be tensors, or differ in their keys from row
to row, see `block`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.errors import CastError, ColumnNotFoundError
from gristmill.features import Features
from gristmill.features.build import array_from_values
from gristmill.features.cast import cast_array
from gristmill.features.columnless import without_columns
from gristmill.features.convert import from_arrow_type, to_arrow_type
from gristmill.formatting.python_rows import PythonFormatter, make_rows
from gristmill.iterable.origin import Origin, locating
from gristmill.table.gather import gather
from gristmill.table.selection import IndexVector

Row = dict[str, Any]


class Columns:
    """Some rows, by column.

    Args:
        columns: The values of each column: a `pyarrow.ChunkedArray`, or any sequence of one object a row.
        num_rows: How many rows.
        features: The feature of Arrow columns that say more than their type.
        origin: Where the rows come from, if known.
    """

    __slots__ = ("_columns", "_table", "features", "num_rows", "origin")

    def __init__(
        self,
        columns: Mapping[str, Any],
        num_rows: int,
        features: Mapping[str, Any] | None = None,
        origin: Origin | None = None,
    ) -> None:
        self._columns: dict[str, Any] | None = dict(columns)
        self._table: pa.Table | None = None
        self.num_rows = num_rows
        self.features = features or {}
        self.origin = origin

    @classmethod
    def of_table(
        cls, table: pa.Table, features: Mapping[str, Any] | None = None, origin: Origin | None = None
    ) -> Columns:
        """Makes a block of a table.

        Args:
            table: The rows.
            features: The feature of each column; by its schema if left out.
            origin: Where the rows come from, if known.
        """
        if features is None:
            features = Features.from_arrow_schema(table.schema)
        if not table.num_columns:  # Arrow forgets the number of rows where such a table is cut or changed
            return cls({}, table.num_rows, features, origin)
        return cls._over(table.replace_schema_metadata(None), features, origin)

    @classmethod
    def _over(cls, table: pa.Table, features: Mapping[str, Any], origin: Origin | None) -> Columns:
        # A table is cut at once, where columns are cut one by one.
        made = cls({}, table.num_rows, features, origin)
        made._columns, made._table = None, table
        return made

    @property
    def columns(self) -> dict[str, Any]:
        """The values of each column."""
        if self._columns is None:
            assert self._table is not None  # one of both is there
            self._columns = dict(zip(self._table.column_names, self._table.columns, strict=True))
        return self._columns

    @property
    def names(self) -> list[str]:
        """The columns, in order."""
        return list(self.columns) if self._table is None else self._table.column_names

    def feature(self, name: str) -> Any:
        """Gives the feature of an Arrow column."""
        feature = self.features.get(name)
        return from_arrow_type(self.columns[name].type) if feature is None else feature

    def slice(self, start: int, stop: int) -> Columns:
        """Gives the rows from `start` to before `stop`; Arrow columns share their memory."""
        if start == 0 and stop == self.num_rows:
            return self
        origin = None if self.origin is None else self.origin.slice(start)
        if self._table is not None:
            return Columns._over(self._table.slice(start, stop - start), self.features, origin)
        cut = {
            name: values.slice(start, stop - start) if is_arrow(values) else values[start:stop]
            for name, values in self.columns.items()
        }
        return Columns(cut, stop - start, self.features, origin)

    def take(self, rows: IndexVector) -> Columns:
        """Gives rows in the order asked for."""
        arrow = {name: values for name, values in self.columns.items() if is_arrow(values)}
        taken: dict[str, Any] = {}
        if arrow:
            table = gather(pa.table(arrow), rows)
            taken = dict(zip(table.column_names, table.columns, strict=True))
        columns = {
            name: taken[name] if name in taken else _chosen(values, rows)
            for name, values in self.columns.items()
        }
        origin = None if self.origin is None else self.origin.take(rows)
        return Columns(columns, len(rows), self.features, origin)

    def choose(self, names: Sequence[str]) -> Columns:
        """Keeps some columns, in the order given.

        Raises:
            ColumnNotFoundError: There is no such column.
        """
        for name in names:
            if name not in self.columns:
                raise ColumnNotFoundError.from_name(name, self.columns)
        return Columns(
            {name: self.columns[name] for name in names}, self.num_rows, self.features, self.origin
        )

    def without(self, names: Sequence[str]) -> Columns:
        """Leaves out some columns; those that are not there do no harm."""
        gone = set(names)
        return self.choose([name for name in self.columns if name not in gone])

    def rename(self, mapping: Mapping[str, str]) -> Columns:
        """Gives columns other names.

        Raises:
            ColumnNotFoundError: There is no such column.
        """
        for name in mapping:
            if name not in self.columns:
                raise ColumnNotFoundError.from_name(name, self.columns)
        columns = {mapping.get(name, name): values for name, values in self.columns.items()}
        features = {mapping.get(name, name): item for name, item in self.features.items()}
        return Columns(columns, self.num_rows, features, self.origin)

    def table(self, features: Features | None = None) -> tuple[pa.Table, Features]:
        """Gives the rows as a table.

        Args:
            features: What the columns shall be, those that are not there with nothing in them; found from the values if
                left out.

        Returns:
            (the table, its features).

        Raises:
            CastError: A value does not fit its feature, or a column is not wanted.
            SchemaConflictError: Values of a column have no common type.
        """
        if features is None and (known_features := self._described) is not None:
            if self._table is not None and self._table.num_columns:
                return self._table, known_features
            arrays, described = self.columns, known_features
        elif features is None:
            arrays = {
                name: values if is_arrow(values) else array_from_values(plain(values), column=name)
                for name, values in self.columns.items()
            }
            known = {name: self.features.get(name) for name in arrays}
            described = Features(
                {
                    name: from_arrow_type(array.type) if known[name] is None else known[name]
                    for name, array in arrays.items()
                }
            )
        else:
            check_names(self.columns, features, missing=False)
            arrays = {name: self._as_feature(name, feature) for name, feature in features.items()}
            described = features
        return (pa.table(arrays) if arrays else without_columns(self.num_rows)), described

    @property
    def _described(self) -> Features | None:
        """The features that a source gave all columns, if they still are what it gave."""
        features = self.features
        if not isinstance(features, Features) or list(features) != self.names:
            return None
        alike = self._table is not None or all(map(is_arrow, self.columns.values()))
        return features if alike else None

    def _as_feature(self, name: str, feature: Any) -> Any:
        values = self.columns.get(name)
        if values is None:
            return pa.chunked_array([pa.nulls(self.num_rows, to_arrow_type(feature))])
        if not is_arrow(values):
            return array_from_values(plain(values), feature, column=name)
        known = self.features.get(name)
        if values.type == to_arrow_type(feature) and (known is None or known == feature):
            return values
        return cast_array(values, feature, column=name)

    def values(self, name: str) -> Sequence[Any]:
        """Gives the values of a column as Python objects, one a row.

        Raises:
            ColumnNotFoundError: There is no such column.
        """
        if name not in self.columns:
            raise ColumnNotFoundError.from_name(name, self.columns)
        values = self.columns[name]
        if is_arrow(values):
            formatter = PythonFormatter({name: self.feature(name)})
            return locating(formatter.column, self.origin, name, values)
        return values if isinstance(values, list) else list(values)

    def rows(self) -> list[Row]:
        """Gives the rows as dicts of Python objects."""
        return make_rows(self.names, [self.values(name) for name in self.columns], self.num_rows)


def is_arrow(values: Any) -> bool:
    """Says whether the values of a column are Arrow's."""
    return isinstance(values, pa.ChunkedArray)


def plain(values: Any) -> Any:
    """Gives a column of objects in a form that Arrow arrays are made of."""
    return values if isinstance(values, list | np.ndarray) else list(values)


def _chosen(values: Any, rows: IndexVector) -> Any:
    if isinstance(values, np.ndarray):
        return values[rows]
    return [values[row] for row in rows.tolist()]


def check_names(there: Mapping[str, Any], features: Features, missing: bool = True) -> None:
    """Checks that the columns there are those wanted.

    Raises:
        CastError: There are others, or (with `missing`) one is not there.
    """
    lacking = [name for name in features if name not in there]
    extra = [name for name in there if name not in features]
    if extra or (missing and lacking):
        problem = (
            f"the columns {', '.join(lacking)} are missing" if lacking else "there are columns not wanted"
        )
        raise CastError.at(
            f"{problem}; there are {', '.join(there) or 'none'}, and features= names {', '.join(features)}",
            remedy="Remove columns with remove_columns=, or name all columns in features=.",
        )
