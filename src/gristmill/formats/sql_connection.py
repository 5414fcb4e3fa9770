"""Connections to databases: sqlite3 from the standard library, SQLAlchemy for URIs and its own objects, other drivers.

Another driver is anything with a `cursor` as Python's database interface has it; those of ADBC give Arrow directly.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from gristmill.errors import DatabaseError, GristmillError, InvalidArgumentError
from gristmill.optional import require

__all__ = ["connected", "driver_name", "is_alchemy", "quoted", "talking"]

_SQLITE = "sqlite:///"
_LONGEST_QUERY = 300


@contextlib.contextmanager
def connected(con: Any) -> Iterator[Any]:
    """Gives a connection: the one given, or one made for a URI (or a SQLAlchemy engine) and closed afterwards.

    Args:
        con: A URI, a SQLAlchemy engine or connection, or an open connection of a driver.

    Raises:
        InvalidArgumentError: Neither.
        MissingDependencyError: SQLAlchemy, or the driver a URI names, is needed and not installed.
    """
    if isinstance(con, str) and con.startswith(_SQLITE):
        path = con.removeprefix(_SQLITE).partition("?")[0] or ":memory:"
        with contextlib.closing(sqlite3.connect(path)) as connection:
            yield connection
    elif isinstance(con, str):
        engine = _engine(con)
        try:
            with engine.connect() as connection:
                yield connection
        finally:
            engine.dispose()
    elif is_alchemy(con) and hasattr(con, "connect"):
        with con.connect() as connection:
            yield connection
    elif is_alchemy(con) or hasattr(con, "cursor"):
        yield con
    else:
        raise InvalidArgumentError.from_value("con", con, "a URI or an open connection to a database")


def _engine(uri: str) -> Any:
    alchemy = require("sqlalchemy", "A database URI")
    try:
        return alchemy.create_engine(uri)
    except alchemy.exc.ArgumentError as error:
        # The URI may hold a password, so it is not repeated.
        raise InvalidArgumentError(
            "con= is no URI of a database: those have the form dialect+driver://user:password@host:port/name."
        ) from error
    except ModuleNotFoundError as error:
        raise DatabaseError.from_query(
            f"connect: its driver {error.name} is not installed (pip install {error.name})",
            uri.partition(":")[0],
        ) from error


def is_alchemy(con: Any) -> bool:
    """Says whether something is one of SQLAlchemy's engines, connections or queries, without importing it."""
    return type(con).__module__.partition(".")[0] == "sqlalchemy"


def driver_name(con: Any) -> str:
    """Names the driver of a connection for errors.

    Example:
        >>> with connected("sqlite:///") as connection:
        ...     driver_name(connection)
        'sqlite3'
    """
    if is_alchemy(con):
        return f"{con.dialect.name}+{con.dialect.driver}"
    return type(con).__module__.partition(".")[0].lstrip("_")


def quoted(name: str, con: Any) -> str:
    """Quotes the name of a table or column, so that it can't be anything else; ``schema.table`` is two names.

    Example:
        >>> quoted('a"; DROP TABLE b; --', None)
        '"a""; DROP TABLE b; --"'
    """
    if "\0" in name:
        raise InvalidArgumentError.from_value("name", name, "a name without a zero byte")
    if is_alchemy(con):
        return ".".join(map(con.dialect.identifier_preparer.quote_identifier, name.split(".")))
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


@contextlib.contextmanager
def talking(what: str, con: Any, query: Any = None, secrets: Sequence[str] = ()) -> Iterator[None]:
    """Turns what a database or its driver raises into an error that names the query and the driver.

    Args:
        what: What the database can't do then, for example ``"answer"``.
        con: The connection.
        query: What it was asked.
        secrets: Text to leave out of the message.

    Raises:
        DatabaseError: The database refuses, or can't be reached.
        InvalidArgumentError: The driver can't use an argument.
    """
    try:
        yield
    except GristmillError:
        raise
    except Exception as error:
        names = {kind.__name__ for kind in type(error).__mro__}
        text = " ".join(str(getattr(error, "orig", None) or error).split())
        for secret in secrets:
            text = text.replace(secret, "***")
        driver = con if isinstance(con, str) else driver_name(con)
        shown = None if query is None else " ".join(str(query).split())[:_LONGEST_QUERY]
        # Every driver has classes of these names; they share no base but Exception.
        if names & {"Error", "Warning", "SQLAlchemyError"}:
            raise DatabaseError.from_query(f"{what}: {text}", driver, shown) from error
        if isinstance(error, ValueError | TypeError | OverflowError):
            raise InvalidArgumentError(f"The database ({driver}) can't {what}: {text}.") from error
        raise
