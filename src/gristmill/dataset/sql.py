"""Rows of a dataset from and to databases; what is asked and how is in `gristmill.formats.sql`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill.engine import GrowingTable
from gristmill.errors import InvalidArgumentError
from gristmill.features import Features
from gristmill.features.cast import cast_table
from gristmill.files.atomic import temporary_name
from gristmill.files.borders import writing
from gristmill.fingerprint import generate_random_fingerprint, get_temporary_cache_files_directory
from gristmill.formats.sql import SqlOptions, iter_query_tables
from gristmill.prepared.downloaded import sha256_of

__all__ = ["query_file", "read_sql"]

_OPTIONS = ("params", "columns", "chunksize", "index_col", "coerce_float", "parse_dates")


def read_sql(
    sql: Any, con: Any, features: Features | None, keep_in_memory: bool, **options: Any
) -> tuple[pa.Table, tuple[Path, ...]]:
    """Reads the rows of a query. Types are settled over all rows; many rows go to a file that is deleted at exit.

    Args:
        sql: A query, the name of a table, or a SQLAlchemy query.
        con: A URI, or an open connection.
        features: What the columns shall be.
        keep_in_memory: Never use a file.
        **options: Of `SqlOptions`.

    Returns:
        (the rows, the Arrow file behind them, if one was needed).

    Raises:
        DatabaseError: The database refuses.
        InvalidArgumentError: An option is not known, or the connection can't be used.
        MissingDependencyError: SQLAlchemy is needed and not installed.
        SchemaConflictError: Values of a column have no common type.
        CastError: A value does not fit its feature.
    """
    folder = Path(get_temporary_cache_files_directory())
    overflow = None if keep_in_memory else folder / f"sql-{generate_random_fingerprint()}.arrow"
    with GrowingTable(None, overflow) as growing:
        _grow(growing, _parsed(sql, con, options), features)
    return growing.table(), () if growing.path is None else (growing.path,)


def query_file(sql: Any, con: Any, folder: Path, **options: Any) -> Path:
    """Reads the rows of a query into an Arrow file whose name says what is in it: the same rows, the same file.

    Args:
        sql: See `read_sql`.
        con: See `read_sql`.
        folder: Where the file goes.
        **options: See `read_sql`.

    Returns:
        The file. One that was there is left as it is, so that what was made of it is found again.

    Raises:
        DatabaseError: The database refuses.
        FileError: The file can't be written.
    """
    parsed = _parsed(sql, con, options)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    path = temporary_name(folder / "rows.arrow")
    try:
        with GrowingTable(path) as growing:
            _grow(growing, parsed, None)
        final = folder / f"{sha256_of(path)[:32]}.arrow"
        if not final.exists():
            path.replace(final)
    finally:
        path.unlink(missing_ok=True)
    return final


def _parsed(sql: Any, con: Any, options: dict[str, Any]) -> SqlOptions:
    for name in options:
        if name not in _OPTIONS:
            raise InvalidArgumentError.from_unknown("from_sql has no option", name, _OPTIONS)
    return SqlOptions(sql, con, **options)


def _grow(growing: GrowingTable, options: SqlOptions, features: Features | None) -> None:
    wanted = None if features is None else Features(features)
    for table in iter_query_tables(options):
        growing.write(table if wanted is None else cast_table(table, wanted, first_row=growing.num_rows))
