"""Which rows of a file are wanted: `filters=` as an expression, the columns it looks at, the rows it is true for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from gristmill.errors import ColumnNotFoundError, InvalidArgumentError
from gristmill.features.columnless import without_columns
from gristmill.formats.source import SourceFile

__all__ = ["columns_needed", "filter_expression", "one_batch", "rows_of"]


def columns_needed(
    columns: Sequence[str] | None, filters: Any, schema: pa.Schema | None = None
) -> list[str] | None:
    """Says which columns have to be read to filter rows and keep some columns of them.

    Args:
        columns: The columns kept; all if None.
        filters: Rows to keep, see `Format.read`.
        schema: All columns of the file, if they are known.

    Returns:
        Their names; None for all, also where `filters` is an expression and there is no `schema` to try it on.

    Example:
        >>> columns_needed(["a"], [("b", ">", 1)]), columns_needed(["a"], None)
        (['a', 'b'], ['a'])
    """
    if columns is None:
        return None
    if filters is None or isinstance(filters, list):
        return list(dict.fromkeys([*columns, *_names(filters or ())]))
    looked_at = None if schema is None else _columns_of(filters, schema)
    return None if looked_at is None else list(dict.fromkeys([*columns, *looked_at]))


def _columns_of(expression: Any, schema: pa.Schema) -> list[str] | None:
    """Finds the columns that an expression looks at, since it does not tell: those it can't do without."""
    found: list[str] = []
    try:
        while (
            problem := _problem(expression, pa.schema([schema.field(name) for name in found]))
        ) is not None:
            lacking = next((name for name in schema.names if _lacks(problem, name)), None)
            if lacking is None or lacking in found:
                return None  # it does not fit the columns: filtering says so properly
            found.append(lacking)
    except (KeyError, pa.ArrowException):
        return None
    return found


def _problem(expression: Any, schema: pa.Schema) -> str | None:
    try:
        schema.empty_table().filter(expression)
    except pa.ArrowInvalid as error:
        return str(error)
    return None


def _lacks(problem: str, name: str) -> bool:
    return problem.startswith(
        (f"No match for FieldRef.Name({name}) in", f"No match for FieldRef.Nested(FieldRef.Name({name}) ")
    )


def _names(filters: Iterable[Any]) -> Iterator[str]:
    for term in filters:
        if isinstance(term, tuple) and term and isinstance(term[0], str):
            yield term[0]
        elif isinstance(term, list | tuple):
            yield from _names(term)


def filter_expression(filters: Any) -> Any:
    """Turns the documented forms of `filters` into an expression.

    Args:
        filters: None, an expression, a list of ``(column, op, value)`` (all must hold) or a list of such lists (one
            must hold).

    Raises:
        InvalidArgumentError: Neither.

    Example:
        >>> filter_expression([("a", ">", 1)])
        <pyarrow.compute.Expression (a > 1)>
    """
    if filters is None:
        return None
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if isinstance(filters, pc.Expression):
        return filters
    try:
        return pq.filters_to_expression(filters)
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise InvalidArgumentError.from_value(
            "filters", filters, 'an expression or a list such as [("column", ">", 1)]'
        ) from error


def rows_of(batch: pa.RecordBatch, predicate: Any, file: SourceFile) -> pa.RecordBatch:
    """Keeps the rows of a batch that an expression is true for.

    Args:
        batch: The rows.
        predicate: The expression.
        file: Where they are from; its `lacks` is asked for columns that the batch has not.

    Raises:
        ColumnNotFoundError: The expression names a column that no file has.
        InvalidArgumentError: The expression does not fit the columns' types.
    """
    table = pa.Table.from_batches([batch])
    for _ in range(_MOST_LACKING):
        try:
            kept = table.filter(predicate)
            break
        except pa.ArrowInvalid as error:
            missing = _NO_MATCH.match(str(error))
            name = None if missing is None else missing["name"]
            if name is None or name in table.column_names:
                raise _unusable(predicate, file, error) from error
            table = table.append_column(name, pa.nulls(len(table), _type_elsewhere(name, batch, file, error)))
        except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise _unusable(predicate, file, error) from error
    else:
        raise InvalidArgumentError(f"The filter {predicate} looks at more than {_MOST_LACKING} columns.")
    return one_batch(kept if table.num_columns == batch.num_columns else kept.select(batch.schema.names))


_MOST_LACKING = 1000
_NO_MATCH = re.compile(
    r"No match for FieldRef\.(Nested\(FieldRef\.)?Name\((?P<name>.*?)\)( in | FieldRef)", re.DOTALL
)


def _type_elsewhere(name: str, batch: pa.RecordBatch, file: SourceFile, error: Exception) -> pa.DataType:
    if file.lacks is not None:
        return file.lacks(name)
    there = [other for other in batch.schema.names if not other.startswith("\0")]  # no number of a row
    raise ColumnNotFoundError.from_name(name, there, file.name) from error


def _unusable(predicate: Any, file: SourceFile, error: Exception) -> InvalidArgumentError:
    return InvalidArgumentError(f"The filter {predicate} can't be used on {file.name}: {error}")


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """Joins a small table's chunks into one record batch; no copy where there is one chunk.

    A table that holds more than one batch can (2**31 bytes of text in a column) must be cut before.
    """
    table = (
        table.combine_chunks()
        if table.num_columns
        else without_columns(table.num_rows, table.schema.metadata)
    )
    batches = table.to_batches()
    if len(batches) == 1:
        return batches[0]
    return pa.RecordBatch.from_arrays(
        [pa.array([], field.type) for field in table.schema], schema=table.schema
    )
