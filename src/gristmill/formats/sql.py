"""Rows of database queries, a bounded number at a time, with the types the database says they have.

PostgreSQL and MySQL name the type of each column of an answer, which also says what a column of nulls is; SQLite has
values of any type in any column, so there the values are looked at.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from gristmill.errors import InvalidArgumentError
from gristmill.features.build import array_from_values
from gristmill.features.cast import cast_table
from gristmill.features.infer import unify_schemas
from gristmill.features.schema import Features
from gristmill.formats.base import Batches, one_batch
from gristmill.formats.source import Position
from gristmill.formats.sql_connection import connected, is_alchemy, quoted, talking
from gristmill.formats.sql_types import Column, declared, parse_dates
from gristmill.optional import require

__all__ = ["SqlOptions", "infer_query_schema", "iter_query_tables", "query_key", "read_query"]

_ROWS = 10_000


@dataclass(frozen=True)
class SqlOptions:
    """Options of ``load_dataset("sql", ...)`` and `Dataset.from_sql`.

    Attributes:
        sql: A query, the name of a table, or a SQLAlchemy query.
        con: A URI, a SQLAlchemy engine or connection, or an open connection of a driver (sqlite3, ADBC, ...).
        index_col: Columns that come last: a dataset has no index.
        coerce_float: Accepted; decimals stay decimals, which loses nothing.
        params: Values for the query: a sequence or dict as the driver has it, or a dict for ``:name`` in the query.
        parse_dates: Columns of text (or of seconds since 1970) that become timestamps: a list, or a dict of name to
            a format as in `datetime.datetime.strptime` or a unit of time such as ``"ms"``.
        columns: Columns of a table.
        chunksize: Rows fetched at once.
    """

    sql: Any = None
    con: Any = None
    index_col: str | Sequence[str] | None = None
    coerce_float: bool = True
    params: Sequence[Any] | Mapping[str, Any] | None = None
    parse_dates: Sequence[str] | Mapping[str, Any] | None = None
    columns: Sequence[str] | None = None
    chunksize: int | None = _ROWS

    def __post_init__(self) -> None:
        for name in ("sql", "con"):
            if getattr(self, name) is None:
                raise InvalidArgumentError(f"{name}= is needed to read from a database.")
        if not isinstance(self.sql, str) and not is_alchemy(self.sql):
            raise InvalidArgumentError.from_value(
                "sql", self.sql, "a query, the name of a table or a SQLAlchemy query"
            )
        if self.chunksize is not None and (type(self.chunksize) is not int or self.chunksize < 1):
            raise InvalidArgumentError.from_value("chunksize", self.chunksize, "a positive number of rows")

    @property
    def is_table(self) -> bool:
        """Whether `sql` is the name of a table."""
        return isinstance(self.sql, str) and len(self.sql.split()) == 1


def query_key(options: SqlOptions) -> str:
    """Hashes what is asked, so that the same question has the same name in every process; not the answer.

    Example:
        >>> a, b = SqlOptions("SELECT 1", "sqlite:///x"), SqlOptions("SELECT 1", "sqlite:///x", chunksize=5)
        >>> query_key(a) == query_key(b)
        True
    """
    con = options.con if isinstance(options.con, str) else type(options.con).__module__
    dates = options.parse_dates
    facts = [str(options.sql), con, options.index_col, options.params, options.columns]
    facts.append(sorted(dates.items()) if isinstance(dates, Mapping) else dates)
    return hashlib.sha256(json.dumps(facts, default=repr).encode()).hexdigest()[:32]


def iter_query_tables(options: SqlOptions) -> Iterator[pa.Table]:
    """Runs a query and gives its rows as they come, at least one table, each with the types of its own values.

    Args:
        options: The query.

    Raises:
        DatabaseError: The database refuses.
        InvalidArgumentError: Two columns have one name, or the connection can't be used.
        MissingDependencyError: SQLAlchemy is needed and not installed.
        SchemaConflictError: Values of a column have no common type.
    """
    secrets = _secrets(options.con)
    scheme = options.con.partition(":")[0] if isinstance(options.con, str) else options.con
    with talking("be reached", scheme, secrets=secrets), connected(options.con) as connection:
        query = _query(options, connection)
        with talking("answer", connection, query, secrets):
            for table in _answer(options, query, connection):
                yield _shaped(table, options)


def _secrets(con: Any) -> list[str]:
    if not isinstance(con, str):
        return []
    password = con.partition("://")[2].rpartition("@")[0].partition(":")[2]
    return [password] if password else []


def _query(options: SqlOptions, connection: Any) -> Any:
    """Reads the name of a table as the query of all its rows."""
    if not options.is_table:
        if options.columns is not None:
            raise InvalidArgumentError(
                "columns= goes with the name of a table; a query names its columns itself."
            )
        return options.sql
    columns = options.columns
    chosen = "*" if columns is None else ", ".join(_column(name, connection) for name in columns)
    return f"SELECT {chosen} FROM {quoted(options.sql.strip(), connection)}"  # noqa: S608  # quoted


def _column(name: str, connection: Any) -> str:
    if is_alchemy(connection):
        return str(connection.dialect.identifier_preparer.quote_identifier(name))
    return '"' + str(name).replace('"', '""') + '"'


def _answer(options: SqlOptions, query: Any, connection: Any) -> Iterator[pa.Table]:
    cursor, description, dialect = _executed(query, options, connection)
    try:
        names = [entry[0] for entry in description or ()]
        if len(set(names)) < len(names):
            raise InvalidArgumentError(f"The query gives two columns of one name: {', '.join(names)}.")
        if hasattr(cursor, "fetch_record_batch"):  # ADBC
            reader = cursor.fetch_record_batch()
            yield reader.schema.empty_table()
            yield from (pa.Table.from_batches([batch]) for batch in reader)
            return
        columns = [declared(entry, dialect) for entry in description or ()]
        row, size = 0, options.chunksize or _ROWS
        while True:
            rows = cursor.fetchmany(size)
            if rows or not row:
                yield _table(names, columns, rows, row)
            row += len(rows)
            if not rows:
                return
    finally:
        cursor.close()


def _executed(query: Any, options: SqlOptions, connection: Any) -> tuple[Any, Any, str]:
    """Runs a query so that rows come as they are asked for; gives the cursor, what it says of columns, the dialect."""
    params = options.params
    if not is_alchemy(connection):
        if is_alchemy(query):
            raise InvalidArgumentError(
                "A query of SQLAlchemy needs a connection, an engine or a URI of SQLAlchemy in con=."
            )
        cursor = connection.cursor()
        try:
            cursor.execute(query, params) if params else cursor.execute(query)
        except BaseException:
            cursor.close()
            raise
        return cursor, cursor.description, "sqlite" if isinstance(connection, sqlite3.Connection) else ""
    # Without these the driver would fetch all rows at once.
    streaming = {"stream_results": True, "max_row_buffer": options.chunksize or _ROWS}
    if not isinstance(query, str):
        result = connection.execute(query, params or {}, execution_options=streaming)
    elif isinstance(params, Mapping) and "%(" not in query:
        text = require("sqlalchemy", "A query with parameters").text(query)
        result = connection.execute(text, params, execution_options=streaming)
    else:
        given = params if isinstance(params, Mapping) or not params else tuple(params)
        plain = {**streaming, "no_parameters": not given}
        result = connection.exec_driver_sql(query, given or None, execution_options=plain)
    description = getattr(result.cursor, "description", None)
    if description is None:
        raise InvalidArgumentError("The query gives no rows: only queries that answer with rows can be read.")
    return result, description, connection.dialect.name


def _table(names: Sequence[str], columns: Sequence[Column], rows: Sequence[Any], first: int) -> pa.Table:
    made = {}
    for i, (name, column) in enumerate(zip(names, columns, strict=True)):
        values = [row[i] for row in rows]
        if column.prepare is not None:
            values = [None if value is None else column.prepare(value) for value in values]
        made[name] = array_from_values(values, column.feature, column=name, first_row=first)
    return pa.table(made)


def _shaped(table: pa.Table, options: SqlOptions) -> pa.Table:
    if options.parse_dates:
        table = parse_dates(table, options.parse_dates)
    if options.index_col is None:
        return table
    last = [options.index_col] if isinstance(options.index_col, str) else list(options.index_col)
    for name in last:
        if name not in table.column_names:
            raise InvalidArgumentError.from_choice("index_col", name, table.column_names)
    return table.select([*(name for name in table.column_names if name not in last), *last])


def infer_query_schema(options: SqlOptions) -> pa.Schema:
    """Finds the schema that holds all rows of a query, by running it.

    Raises:
        DatabaseError: The database refuses.
        SchemaConflictError: Values of a column have no common type.
    """
    schema, row = None, 0
    for table in iter_query_tables(options):
        found = table.schema.remove_metadata()
        schema = found if schema is None else unify_schemas(schema, found, row=row)
        row += table.num_rows
    assert schema is not None
    return schema


def read_query(
    options: SqlOptions, *, start: Position | None = None, schema: pa.Schema | None = None
) -> Batches:
    """Reads the rows of a query as record batches of one schema, as `Format.read` does for files.

    Args:
        options: The query; it should have an ORDER BY if positions are to mean the same rows later.
        start: Position that an earlier read gave.
        schema: Types to bring the columns to; those of `infer_query_schema` if None, for which the query runs twice.

    Yields:
        (position of the batch's first row, batch).

    Raises:
        DatabaseError: The database refuses.
        CastError: A value does not fit `schema`.
    """
    shape = infer_query_schema(options) if schema is None else schema
    features = Features.from_arrow_schema(shape)
    row, first = 0, 0 if start is None else start.row
    for table in iter_query_tables(options):
        end = row + table.num_rows
        if end > first:
            at = max(row, first)
            piece = cast_table(table.slice(at - row), features, file="the query", first_row=at)
            yield Position(at), one_batch(piece)
        row = end
