"""Which rows of a file are wanted: `filters=` as an expression, the columns it looks at, the rows it is true for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from gristmill.errors import ColumnNotFoundError, InvalidArgumentError
from gristmill.features.columnless import without_columns, without_rows
from gristmill.formats.source import SourceFile

__all__ = ["columns_needed", "filter_expression", "one_batch", "rows_of", "type_in_schemas"]


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
        without_rows(schema).filter(expression)
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
    table, names = (
        pa.Table.from_batches([batch]),
        dict(zip(batch.schema.names, batch.schema.names, strict=True)),
    )
    for _ in range(_MOST_LACKING):
        try:
            kept = table.filter(predicate)
            break
        except pa.ArrowInvalid as error:
            missing = _NO_MATCH.match(str(error))
            name = None if missing is None else missing["name"]
            if name is None:
                raise _unusable(predicate, file, error) from error
            if name not in table.column_names:
                table = table.append_column(
                    name, pa.nulls(len(table), _type_elsewhere(name, batch, file, error))
                )
                continue
            # It is there and has no such field, which it may have in another file.
            column = table.column(name)
            type_ = column.type if file.lacks is None else with_fields_of(column.type, file.lacks(name))
            if type_ == column.type:
                raise _unusable(predicate, file, error) from error
            if names.get(name) == name:
                names[name] = f"\0as it is: {name}"
                table = table.append_column(names[name], column)
            filled = pa.chunked_array([_filled(chunk, type_) for chunk in column.chunks], type_)
            table = table.set_column(table.column_names.index(name), name, filled)
        except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise _unusable(predicate, file, error) from error
    else:
        raise InvalidArgumentError(f"The filter {predicate} looks at more than {_MOST_LACKING} columns.")
    if table.num_columns > batch.num_columns:
        kept = kept.select(list(names.values())).rename_columns(list(names))
    return one_batch(kept)


def with_fields_of(type_: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Gives a struct, and structs in it, the fields that it has elsewhere; what it has itself stays.

    Args:
        type_: A type; one that is no struct is given back.
        other: Its type elsewhere.

    Example:
        >>> with_fields_of(pa.struct({"a": pa.int8()}), pa.struct({"b": pa.bool_(), "a": pa.int64()}))
        StructType(struct<a: int8, b: bool>)
    """
    if not (pt.is_struct(type_) and pt.is_struct(other)):
        return type_
    own, there = {field.name: field for field in type_}, {field.name: field for field in other}
    fields = [
        field.with_type(with_fields_of(field.type, there[name].type)) if name in there else field
        for name, field in own.items()
    ]
    return pa.struct([*fields, *(field for name, field in there.items() if name not in own)])


def type_in_schemas(name: str, schemas: Iterable[pa.Schema]) -> tuple[pa.DataType | None, list[str]]:
    """Finds the type of a column that a filter looks at.

    Args:
        name: The column.
        schemas: Those of the files, drawn as far as needed: to the first one that has the column, or to the last where
            it is a struct, which has the fields of all files, as the filter may look at one of any of them.

    Returns:
        Its type, None if no file has it, and the names of all columns that were met.

    Example:
        >>> type_in_schemas("b", [pa.schema({"a": pa.int8()}), pa.schema({"b": pa.bool_()})])
        (DataType(bool), ['a', 'b'])
    """
    names, found = dict[str, None](), None
    for schema in schemas:
        names.update(dict.fromkeys(schema.names))
        if name in schema.names:
            type_ = schema.field(name).type
            found = type_ if found is None else with_fields_of(found, type_)
            if not pt.is_struct(type_):
                break
    return found, list(names)


def _filled(array: Any, type_: pa.DataType) -> Any:
    """Adds fields of nulls to structs."""
    if array.type == type_:
        return array
    own = dict(zip((field.name for field in array.type), array.flatten(), strict=True))
    fields = [
        _filled(own[field.name], field.type) if field.name in own else pa.nulls(len(array), field.type)
        for field in type_
    ]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(
        fields, fields=[field.with_nullable(True) for field in type_], mask=mask
    )


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
        [pa.nulls(0, field.type) for field in table.schema], schema=table.schema
    )
