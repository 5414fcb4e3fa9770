"""Formatters of whole tables, as libraries that add a format of their own write them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from gristmill.errors import ColumnNotFoundError, InvalidArgumentError, RowIndexError
from gristmill.formatting import registry
from gristmill.formatting.lazy import LazyBatch, LazyRow
from gristmill.formatting.spec import FormatSpec
from gristmill.table import Table
from gristmill.table.gather import gather
from gristmill.table.selection import IndexVector, compose, parse_indices

__all__ = ["Formatter", "LazyBatch", "LazyRow", "format_table", "get_formatter", "query_table"]


class Formatter:
    """Turns Arrow tables into what the user sees; the base class of formats of others.

    Args:
        features: The feature of each column.
        token_per_repo_id: Hub token by repository, for columns of files.

    Example:
        >>> class Shouting(Formatter):
        ...     def format_row(self, pa_table):
        ...         return {name: str(value).upper() for name, value in pa_table.to_pylist()[0].items()}
        >>> Shouting()(pa.table({"a": ["x"]}), "row")
        {'a': 'X'}
    """

    def __init__(
        self,
        features: Mapping[str, Any] | None = None,
        token_per_repo_id: dict[str, Any] | None = None,
    ) -> None:
        self.features = features
        self.token_per_repo_id = token_per_repo_id

    def __call__(self, pa_table: pa.Table, query_type: str) -> Any:
        """Formats a table.

        Args:
            pa_table: The rows.
            query_type: ``"row"``, ``"column"`` or ``"batch"``.

        Raises:
            InvalidArgumentError: `query_type` is something else.
        """
        if query_type not in ("row", "column", "batch"):
            raise InvalidArgumentError.from_choice("query_type", query_type, ["row", "column", "batch"])
        return getattr(self, f"format_{query_type}")(pa_table)

    def format_row(self, pa_table: pa.Table) -> Any:
        """Formats a table of one row."""
        raise NotImplementedError

    def format_column(self, pa_table: pa.Table) -> Any:
        """Formats the first column of a table."""
        raise NotImplementedError

    def format_batch(self, pa_table: pa.Table) -> Any:
        """Formats a table of several rows."""
        raise NotImplementedError


class _OfOthers:
    """A formatter of whole tables, used like ours."""

    def __init__(self, formatter: Any) -> None:
        self.formatter = formatter

    def column(self, name: str, values: pa.ChunkedArray) -> Any:
        return self.formatter.format_column(pa.table({name: values}))

    def batch(self, table: pa.Table) -> Any:
        return self.formatter.format_batch(table)

    def rows(self, table: pa.Table) -> list[Any]:
        return [self.formatter.format_row(table.slice(row, 1)) for row in range(table.num_rows)]


class _OfOurs(Formatter):
    """A formatter of ours, used on whole tables."""

    def __init__(self, made: registry.Formatter, features: Mapping[str, Any]) -> None:
        super().__init__(features)
        self._made = made

    def format_row(self, pa_table: pa.Table) -> Any:
        return self._made.rows(pa_table.slice(0, 1))[0]

    def format_column(self, pa_table: pa.Table) -> Any:
        return self._made.column(pa_table.column_names[0], pa_table.column(0))

    def format_batch(self, pa_table: pa.Table) -> Any:
        return self._made.batch(pa_table)


def _register_formatter(
    formatter_cls: type, format_type: str | None, aliases: list[str] | None = None
) -> None:
    """Adds a format, or replaces one.

    Args:
        formatter_cls: A class like `Formatter`; made of the features and the options given to `set_format`.
        format_type: Its name.
        aliases: Other names.
    """

    def make(features: Mapping[str, Any], **options: Any) -> registry.Formatter:
        return _OfOthers(formatter_cls(features=features, **options))

    registry.register(format_type, make, aliases)


def get_formatter(format_type: str | None, **format_kwargs: Any) -> Any:
    """Makes the formatter of a format, for whole tables.

    Args:
        format_type: Any spelling of its name.
        **format_kwargs: `features`, and the options of the format.

    Raises:
        InvalidArgumentError: There is no such format.

    Example:
        >>> get_formatter("numpy").format_batch(pa.table({"a": [1, 2]}))
        {'a': array([1, 2])}
    """
    features = format_kwargs.pop("features", None) or {}
    format_kwargs.pop("token_per_repo_id", None)
    spec = FormatSpec(registry.format_name(format_type), kwargs=format_kwargs)
    made = spec.formatter(features)
    return made.formatter if isinstance(made, _OfOthers) else _OfOurs(made, features)


def _rows_of(key: Any, rows: int) -> range | IndexVector:
    if isinstance(key, str):
        return range(rows)
    if isinstance(key, slice):
        return range(rows)[key]
    if isinstance(key, Iterable):
        return parse_indices(key, rows, negative=True)
    try:
        row = operator.index(key)
    except TypeError as error:
        raise InvalidArgumentError.from_value(
            "key", key, "a row number, slice, column name or row numbers"
        ) from error
    if not -rows <= row < rows:
        raise RowIndexError.from_index(row, rows)
    return range(row % rows, row % rows + 1)


def query_table(table: Table | pa.Table, key: Any, indices: Table | pa.Table | None = None) -> pa.Table:
    """Gives the part of a table that a key means.

    Args:
        table: The rows.
        key: A column name, a row number, a slice, or row numbers.
        indices: A table whose first column holds the rows meant, in order; all rows if left out.

    Raises:
        ColumnNotFoundError: There is no such column.
        RowIndexError: There is no such row.

    Example:
        >>> query_table(pa.table({"a": [1, 2, 3]}), slice(1, None)).to_pydict()
        {'a': [2, 3]}
    """
    plain = table.table if isinstance(table, Table) else table
    if isinstance(key, str):
        if key not in plain.column_names:
            raise ColumnNotFoundError.from_name(key, plain.column_names)
        plain = plain.select([key])
    if indices is None:
        return gather(plain, _rows_of(key, plain.num_rows))
    chosen = parse_indices(indices.column(0), plain.num_rows)
    rows = compose(chosen, _rows_of(key, len(chosen)))
    assert rows is not None
    return gather(plain, rows)


def format_table(
    table: Table | pa.Table,
    key: Any,
    formatter: Any,
    format_columns: list[str] | None = None,
    output_all_columns: bool = False,
) -> Any:
    """Formats the part of a table that a key meant.

    Args:
        table: What `query_table` gave.
        key: The key.
        formatter: What `get_formatter` gave.
        format_columns: The columns to format; all by default.
        output_all_columns: Give the other columns too, as Python values.

    Raises:
        InvalidArgumentError: Other columns are wanted, and the format has no room for them.
    """
    plain = table.table if isinstance(table, Table) else table
    single = not isinstance(key, slice | Iterable)
    query = "column" if isinstance(key, str) else "row" if single else "batch"
    python = get_formatter(None, features=getattr(formatter, "features", None))
    if format_columns is None:
        return formatter(plain, query)
    if query == "column":
        return (formatter if key in format_columns else python)(plain, query)
    made = formatter(plain.select([name for name in plain.column_names if name in format_columns]), query)
    if not output_all_columns:
        return made
    if not isinstance(made, dict):
        raise InvalidArgumentError(
            "This format has no room for columns of Python values: leave out output_all_columns."
        )
    rest = plain.select([name for name in plain.column_names if name not in format_columns])
    return {**made, **python(rest, query)}
