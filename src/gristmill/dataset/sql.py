"""Rows from and to SQL databases: sqlite3 from the standard library, everything else through SQLAlchemy."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill.engine import GrowingTable
from gristmill.errors import CastError, FileError, InvalidArgumentError
from gristmill.features import Features
from gristmill.features.cast import cast_table
from gristmill.fingerprint import generate_random_fingerprint, get_temporary_cache_files_directory
from gristmill.optional import require
from gristmill.table.making import columns_to_table
from gristmill.table.view import View

_ROWS = 10_000
_SQLITE = "sqlite:///"


@contextlib.contextmanager
def _connected(con: Any) -> Iterator[Any]:
    """Gives a connection: the one given, or one made for a URI and closed afterwards."""
    if not isinstance(con, str):
        yield con
    elif con.startswith(_SQLITE):
        path = con.removeprefix(_SQLITE) or ":memory:"
        with contextlib.closing(sqlite3.connect(path)) as connection:
            yield connection
            connection.commit()
    else:
        engine = require("sqlalchemy", "A database URI").create_engine(con)
        try:
            with engine.begin() as connection:
                yield connection
        finally:
            engine.dispose()


@contextlib.contextmanager
def _talking(what: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise FileError(f"The database can't {what}: {error}.") from error
    except ValueError as error:
        if isinstance(error, CastError):
            raise
        raise InvalidArgumentError(f"The database can't {what}: {error}.") from error


def _rows_of(connection: Any, sql: Any, params: Any) -> tuple[list[str], Any]:
    """Runs a query; gives its column names and a cursor."""
    if isinstance(connection, sqlite3.Connection):
        cursor = connection.execute(str(sql), params or ())
        return [entry[0] for entry in cursor.description or ()], cursor
    alchemy = require("sqlalchemy", "A database connection")
    query = alchemy.text(sql) if isinstance(sql, str) else sql
    if hasattr(connection, "connect"):  # an engine
        connection = connection.connect()
    cursor = connection.execute(query, params or {})
    return list(cursor.keys()), cursor


def _query(sql: Any, columns: Sequence[str] | None) -> Any:
    """Reads the name of a table as the query of all its rows."""
    if not isinstance(sql, str) or len(sql.split()) > 1:
        if columns is not None:
            raise InvalidArgumentError(
                "columns= goes with the name of a table; a query names its columns itself."
            )
        return sql
    chosen = "*" if columns is None else ", ".join(map(_quoted, columns))
    return f"SELECT {chosen} FROM {_quoted(sql)}"  # noqa: S608  # quoted


def _quoted(name: str) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def read_sql(
    sql: Any,
    con: Any,
    features: Features | None,
    keep_in_memory: bool,
    *,
    params: Any = None,
    columns: Sequence[str] | None = None,
    chunksize: int | None = _ROWS,
    coerce_float: bool = True,  # decimals stay decimals, which loses nothing
    **options: Any,
) -> tuple[pa.Table, tuple[Path, ...]]:
    """Reads the rows of a query. Types are settled over all rows; many rows go to a file that is deleted at exit.

    Args:
        sql: A query, the name of a table, or a SQLAlchemy query.
        con: A URI, or an open connection.
        features: What the columns shall be.
        keep_in_memory: Never use a file.
        params: Parameters of the query.
        columns: Columns of the table.
        chunksize: Rows fetched at once.
        coerce_float: Accepted for compatibility.
        **options: None others are known.

    Returns:
        (the rows, the Arrow file behind them, if one was needed).

    Raises:
        FileError: The database refuses.
        InvalidArgumentError: An option is not known, or the connection can't be used.
        MissingDependencyError: SQLAlchemy is needed and not installed.
        SchemaConflictError: Values of a column have no common type.
        CastError: A value does not fit its feature.
    """
    for name in options:
        raise InvalidArgumentError.from_choice("sql option", name, ["params", "columns", "chunksize"])
    size = chunksize or _ROWS
    folder = Path(get_temporary_cache_files_directory())
    overflow = None if keep_in_memory else folder / f"sql-{generate_random_fingerprint()}.arrow"
    wanted = None if features is None else Features(features)
    with _connected(con) as connection, GrowingTable(None, overflow) as growing, _talking("answer"):
        names, cursor = _rows_of(connection, _query(sql, columns), params)
        if len(set(names)) < len(names):
            raise InvalidArgumentError(f"The query gives two columns of one name: {', '.join(names)}.")
        while rows := cursor.fetchmany(size):
            growing.write(_table(names, rows, wanted, growing.num_rows))
    table = growing.table()
    if not growing.num_rows:
        table = _table(names, [], wanted, 0)
    return table, () if growing.path is None else (growing.path,)


def _table(names: list[str], rows: Sequence[Any], features: Features | None, first: int) -> pa.Table:
    values = {name: [row[position] for row in rows] for position, name in enumerate(names)}
    table = columns_to_table(values, None)
    if features is None:
        return table
    return cast_table(table, features, first_row=first)


def write_sql(
    view: View,
    name: str,
    con: Any,
    batch_size: int | None,
    *,
    if_exists: str = "fail",
    index: bool = False,
    **options: Any,
) -> int:
    """Writes rows to a table of a database, all in one transaction where the database allows it.

    Args:
        view: The rows.
        name: The table.
        con: A URI, or an open connection.
        batch_size: Rows sent at once.
        if_exists: ``"fail"``, ``"replace"`` or ``"append"``.
        index: Also write row numbers as a column ``index``.
        **options: Further options of `pandas.DataFrame.to_sql`.

    Returns:
        The number of rows written.

    Raises:
        InvalidArgumentError: A column is nested, or the table exists.
        FileError: The database refuses.
        MissingDependencyError: pandas or SQLAlchemy is needed and not installed.
    """
    nested = [field.name for field in view.schema if pa.types.is_nested(field.type)]
    if nested:
        raise InvalidArgumentError(
            f"The columns {', '.join(nested[:10])} are nested; SQL has no type for them. Flatten or remove them first."
        )
    require("pandas", "to_sql")
    size, written = batch_size or 1000, 0
    with _connected(con) as connection, _talking(f'take the table "{name}"'):
        for start in range(0, max(1, view.num_rows), size):
            table = view.take(range(start, min(view.num_rows, start + size)))
            # As objects, so that whole numbers beside None stay whole numbers.
            frame = table.to_pandas(integer_object_nulls=True, timestamp_as_object=False)
            frame.index += start
            frame.to_sql(
                name, connection, if_exists=if_exists if not start else "append", index=index, **options
            )
            written += len(frame)
    return written
