"""Rows into a table of a database, all of them or none where the database can take that back."""

from __future__ import annotations

import contextlib
import sqlite3
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from gristmill.errors import InvalidArgumentError
from gristmill.formats.sql_connection import connected, is_alchemy, quoted, talking
from gristmill.formats.sql_types import alchemy_type, sqlite_type, to_parameters
from gristmill.optional import require

__all__ = ["write_query_rows", "write_sql"]

_WAYS = ("fail", "replace", "append")
# Where CREATE and DROP end the transaction they are in, and a moment has no zone.
_MYSQL_NAMES = ("mysql", "mariadb")


def write_sql(
    pieces: Callable[[int], Iterable[pa.Table]],
    columns: pa.Schema,
    name: str,
    con: Any,
    batch_size: int | None,
    *,
    if_exists: str = "fail",
    index: bool = False,
    index_label: str | None = None,
    schema: str | None = None,
    dtype: Any = None,
    chunksize: int | None = None,
    method: Any = None,
    **options: Any,
) -> int:
    """Writes rows to a table of a database, all in one transaction where the database allows it.

    Args:
        pieces: Gives the rows, so many at a time.
        columns: Their columns.
        name: The table.
        con: A URI, or an open connection.
        batch_size: Rows sent at once.
        if_exists: ``"fail"``, ``"replace"`` or ``"append"``.
        index: Also write row numbers as a column.
        index_label: What to call it; ``"index"`` by default.
        schema: Schema of the database that the table is in.
        dtype: Types of columns in the database.
        chunksize: Another name for `batch_size`.
        method: Accepted: None and ``"multi"``, which mean the same here.
        **options: None others are known.

    Returns:
        The number of rows written.

    Raises:
        InvalidArgumentError: A column is nested, the table exists, or an option can't be used.
        DatabaseError: The database refuses.
        CastError: A value can't be kept by a database.
        MissingDependencyError: SQLAlchemy is needed and not installed.
    """
    known = ["if_exists", "index", "index_label", "schema", "dtype", "chunksize", "method"]
    for option in options:
        raise InvalidArgumentError.from_unknown("to_sql has no option", option, known)
    if method not in (None, "multi"):
        raise InvalidArgumentError.from_value("method", method, 'None or "multi": rows are sent in batches')
    size = batch_size or chunksize or 1000
    if type(size) is not int or size < 1:
        raise InvalidArgumentError.from_value("batch_size", size, "a positive number of rows")

    return write_query_rows(
        pieces(size), columns, name, con, if_exists=if_exists, index=index, index_label=index_label, namespace=schema,
        dtype=dtype,
    )  # fmt: skip


def write_query_rows(
    batches: Iterable[pa.Table],
    schema: pa.Schema,
    name: str,
    con: Any,
    *,
    if_exists: str = "fail",
    index: bool = False,
    index_label: str | None = None,
    namespace: str | None = None,
    dtype: Any = None,
) -> int:
    """Writes rows to a table.

    Args:
        batches: The rows, so many at a time as shall be sent at once.
        schema: Their columns.
        name: The table.
        con: A URI, a SQLAlchemy engine or connection, or an open connection of sqlite3 or ADBC.
        if_exists: ``"fail"``, ``"replace"`` or ``"append"``.
        index: Also write row numbers, as the first column.
        index_label: What to call it; ``"index"`` by default.
        namespace: Schema of the database that the table is in.
        dtype: Types of columns in the database, by name or for all: of SQLAlchemy, or names where SQLite is asked.

    Returns:
        The number of rows written.

    Raises:
        InvalidArgumentError: A column is nested, the table exists, or an option can't be used.
        DatabaseError: The database refuses.
        CastError: A value can't be kept by a database.
        MissingDependencyError: SQLAlchemy is needed and not installed.
    """
    if if_exists not in _WAYS:
        raise InvalidArgumentError.from_choice("if_exists", str(if_exists), _WAYS)
    if type(name) is not str or not name:
        raise InvalidArgumentError.from_value("name", name, "the name of a table")
    nested = [field.name for field in schema if pt.is_nested(field.type)]
    if nested:
        raise InvalidArgumentError(
            f"The columns {', '.join(nested[:10])} are nested; SQL has no type for them. Flatten or remove them first."
        )
    if not schema.names and not index:
        raise InvalidArgumentError(
            "There are no columns, and a table of a database has some: add a column first."
        )
    if index:
        label = index_label or "index"
        schema, batches = pa.schema([pa.field(label, pa.int64()), *schema]), _numbered(batches, label)
    asked = dtype if isinstance(dtype, Mapping) or dtype is None else dict.fromkeys(schema.names, dtype)
    target = _Target(name, namespace, schema, if_exists, dict(asked or {}))
    scheme = con.partition(":")[0] if isinstance(con, str) else con
    with (
        talking("be reached", scheme),
        connected(con) as connection,
        talking(f'take the table "{name}"', connection),
    ):
        if isinstance(connection, sqlite3.Connection):
            return _to_sqlite(batches, target, connection)
        if is_alchemy(connection):
            return _to_alchemy(batches, target, connection)
        return _to_adbc(batches, target, connection)


class _Target:
    def __init__(
        self, name: str, namespace: str | None, schema: pa.Schema, if_exists: str, dtype: dict[str, Any]
    ) -> None:
        self.name, self.namespace, self.schema = name, namespace, schema
        self.if_exists, self.dtype = if_exists, dtype

    def exists(self) -> InvalidArgumentError:
        return InvalidArgumentError(
            f'The table "{self.name}" exists. Pass if_exists="append" or if_exists="replace", or another name.'
        )


def _numbered(batches: Iterable[pa.Table], label: str) -> Iterator[pa.Table]:
    row = 0
    for table in batches:
        yield table.add_column(0, label, pa.array(range(row, row + table.num_rows), pa.int64()))
        row += table.num_rows


def _rows(table: pa.Table, first: int, as_text: bool) -> list[tuple[Any, ...]]:
    columns = zip(table.column_names, table.columns, strict=True)
    values = (to_parameters(column, as_text=as_text, name=name, row=first) for name, column in columns)
    return list(zip(*values, strict=True))


def _to_sqlite(batches: Iterable[pa.Table], target: _Target, connection: sqlite3.Connection) -> int:
    # A dot in the name is part of it here: namespaces have an argument of their own.
    table = _whole(target.name)
    if target.namespace is not None:
        table = f"{_whole(target.namespace)}.{table}"
    kinds = {
        field.name: str(target.dtype.get(field.name, sqlite_type(field.type))) for field in target.schema
    }
    columns = ", ".join(f"{_whole(name)} {kind}" for name, kind in kinds.items())
    marks = ", ".join("?" * len(target.schema))
    written = 0
    with _transaction(connection):
        known = connection.execute(_known(target), (target.name,)).fetchone()
        if known and target.if_exists == "fail":
            raise target.exists()
        if known and target.if_exists == "replace":
            connection.execute(f"DROP TABLE {table}")
        if not known or target.if_exists == "replace":
            connection.execute(f"CREATE TABLE {table} ({columns})")
        names = ", ".join(map(_whole, target.schema.names))
        for piece in batches:
            rows = _rows(piece, written, True)
            connection.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)  # noqa: S608
            written += piece.num_rows
    return written


def _whole(name: str) -> str:
    return quoted(name, None) if "." not in name else '"' + name.replace('"', '""') + '"'


def _known(target: _Target) -> str:
    master = "sqlite_master" if target.namespace is None else f"{_whole(target.namespace)}.sqlite_master"
    return f"SELECT 1 FROM {master} WHERE type IN ('table', 'view') AND name = ?"  # noqa: S608  # quoted


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Makes tables and rows appear together; inside a transaction of the caller's, when that ends."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _to_alchemy(batches: Iterable[pa.Table], target: _Target, connection: Any) -> int:
    alchemy = require("sqlalchemy", "to_sql")
    require("sqlalchemy.dialects.mysql", "to_sql")
    kinds = {name: kind() if isinstance(kind, type) else kind for name, kind in target.dtype.items()}
    columns = [
        alchemy.Column(field.name, kinds.get(field.name) or alchemy_type(field.type, alchemy))
        for field in target.schema
    ]
    written = 0
    with contextlib.ExitStack() as stack:
        if not connection.in_transaction():
            stack.enter_context(connection.begin())
        known = alchemy.inspect(connection).has_table(target.name, schema=target.namespace)
        if known and target.if_exists == "fail":
            raise target.exists()
        anew = not known or target.if_exists == "replace"
        of_mysql = connection.dialect.name in _MYSQL_NAMES
        beside = anew and of_mysql
        name = f"_gristmill_{uuid.uuid4().hex}" if beside else target.name
        table = alchemy.Table(name, alchemy.MetaData(), *columns, schema=target.namespace)
        if beside:
            stack.enter_context(_beside(table, target, known, connection))
        elif anew:
            if known:
                table.drop(connection)
            table.create(connection)
        for piece in map(_in_utc, batches) if of_mysql else batches:
            rows = [dict(zip(target.schema.names, row, strict=True)) for row in _rows(piece, written, False)]
            if rows:
                connection.execute(table.insert(), rows)
            written += piece.num_rows
    return written


def _in_utc(table: pa.Table) -> pa.Table:
    """Brings moments to UTC, where a database keeps what the clock said and not in which zone."""
    for number, field in enumerate(table.schema):
        if pt.is_timestamp(field.type) and field.type.tz is not None:
            utc = pa.timestamp(field.type.unit, "UTC")
            table = table.set_column(number, field.with_type(utc), table.column(number).cast(utc))
    return table


@contextlib.contextmanager
def _beside(table: Any, target: _Target, known: bool, connection: Any) -> Iterator[None]:
    """Makes a table under another name, and gives it its own when its rows are there.

    Where a definition ends the transaction, nothing else keeps a table that is replaced until then.
    """
    quote = connection.dialect.identifier_preparer.format_table
    own, old = table.to_metadata(table.metadata, name=target.name), None
    table.create(connection)
    try:
        yield
        moves = [f"{quote(table)} TO {quote(own)}"]
        if known:
            old = table.to_metadata(table.metadata, name=f"_gristmill_{uuid.uuid4().hex}")
            moves.insert(0, f"{quote(own)} TO {quote(old)}")
        connection.exec_driver_sql(f"RENAME TABLE {', '.join(moves)}")
    except BaseException:
        table.drop(connection)
        raise
    if old is not None:
        old.drop(connection)


def _to_adbc(batches: Iterable[pa.Table], target: _Target, connection: Any) -> int:
    mode = {"fail": "create", "replace": "replace", "append": "create_append"}[target.if_exists]
    with contextlib.closing(connection.cursor()) as cursor:
        if not hasattr(cursor, "adbc_ingest"):
            raise InvalidArgumentError(
                f"con= is a connection of {type(connection).__module__}, which rows can't be written to: pass a URI or an "
                "engine of SQLAlchemy."
            )
        written = 0

        def pieces() -> Iterator[pa.RecordBatch]:
            nonlocal written
            for table in batches:
                written += table.num_rows
                yield from table.cast(target.schema).to_batches()

        reader = pa.RecordBatchReader.from_batches(target.schema, pieces())
        cursor.adbc_ingest(target.name, reader, mode=mode, db_schema_name=target.namespace)
        connection.commit()
    return written
