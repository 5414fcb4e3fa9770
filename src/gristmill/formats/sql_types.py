"""Types of databases and of Arrow: what a driver says of a column, and what a column of Arrow is in a table."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from gristmill.errors import CastError, ColumnNotFoundError, shorten
from gristmill.features.infer import JSON
from gristmill.features.json_values import Json
from gristmill.features.kinds import FeatureType, List, Value
from gristmill.features.unheld import converted, first_failing

__all__ = ["Column", "alchemy_type", "declared", "parse_dates", "sqlite_type", "to_parameters"]


@dataclass(frozen=True)
class Column:
    """What is known of a column of an answer.

    Attributes:
        feature: What its values are; None to find out from them.
        prepare: What to do to a value first.
    """

    feature: FeatureType | None = None
    prepare: Callable[[Any], Any] | None = None


_ANY = Column()
_PLAIN = {name: Column(Value(name)) for name in (
    "bool", "int64", "float64", "string", "binary", "date32", "time64[us]", "timestamp[us]", "timestamp[us, tz=UTC]",
    "duration[us]",
)}  # fmt: skip
_JSON = Column(Json())
_UTC = dt.timezone.utc

# The numbers that PostgreSQL has for its own types, whatever driver asks.
_POSTGRES: dict[int, Column] = {
    **dict.fromkeys((20, 21, 23, 26), _PLAIN["int64"]),
    **dict.fromkeys((700, 701), _PLAIN["float64"]),
    **dict.fromkeys((18, 19, 25, 1042, 1043), _PLAIN["string"]),
    16: _PLAIN["bool"],
    17: Column(Value("binary"), bytes),
    1082: _PLAIN["date32"],
    1083: _PLAIN["time64[us]"],
    1114: _PLAIN["timestamp[us]"],
    1184: Column(Value("timestamp[us, tz=UTC]"), lambda value: value.astimezone(_UTC)),
    1186: _PLAIN["duration[us]"],
    2950: Column(Value("string"), str),
    114: _JSON,
    3802: _JSON,
    **dict.fromkeys((1005, 1007, 1016), Column(List(Value("int64")))),
    **dict.fromkeys((1021, 1022), Column(List(Value("float64")))),
    **dict.fromkeys((1009, 1015), Column(List(Value("string")))),
    1000: Column(List(Value("bool"))),
}
_POSTGRES_NUMERIC = 1700
# ... and MySQL. BIGINT is not among them: an unsigned one can be larger than int64, which only its values tell.
_MYSQL_NAMES = ("mysql", "mariadb")
_MYSQL: dict[int, Column] = {
    **dict.fromkeys((1, 2, 3, 9, 13), _PLAIN["int64"]),
    4: _PLAIN["float64"],
    5: _PLAIN["float64"],
    7: _PLAIN["timestamp[us]"],
    10: _PLAIN["date32"],
    11: _PLAIN["duration[us]"],
    12: _PLAIN["timestamp[us]"],
    245: Column(Json(), lambda value: json.loads(value) if isinstance(value, str | bytes) else value),
}


def declared(entry: Sequence[Any], dialect: str) -> Column:
    """Reads what a driver says of a column.

    Args:
        entry: Name, type code, display size, internal size, precision, scale, as in a cursor's ``description``.
        dialect: Name of the database as SQLAlchemy has it.

    Example:
        >>> declared(("n", 1700, None, None, 9, 2, None), "postgresql").feature
        Value('decimal128(9, 2)')
    """
    code = entry[1]
    if dialect == "postgresql":
        if (
            code == _POSTGRES_NUMERIC
            and len(entry) > 5
            and entry[4]
            and entry[4] <= 76
            and 0 <= entry[5] <= entry[4]
        ):
            bits = 128 if entry[4] <= 38 else 256
            return Column(Value(f"decimal{bits}({entry[4]}, {entry[5]})"))
        return _POSTGRES.get(code, _ANY)
    if dialect in _MYSQL_NAMES:
        return _MYSQL.get(code, _ANY)
    return _ANY


def parse_dates(table: pa.Table, asked: Sequence[str] | Mapping[str, Any]) -> pa.Table:
    """Turns columns of text or numbers into timestamps.

    Args:
        table: The rows.
        asked: Names of columns; or each with a format, or the unit of its numbers.

    Raises:
        ColumnNotFoundError: There is no such column.
        CastError: A value is no date.
    """
    for name in asked:
        if name not in table.column_names:
            raise ColumnNotFoundError.from_name(name, table.column_names)
        how = asked[name] if isinstance(asked, Mapping) else None
        column = table.column(name)
        if not (pt.is_temporal(column.type) or pt.is_null(column.type)):
            try:
                column = _dates(column, how)
            except (ValueError, pa.ArrowException) as error:
                raise CastError.at(f"can't be read as dates: {shorten(str(error))}", column=name) from error
        if pt.is_null(column.type):
            column = column.cast(pa.timestamp("us"))
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _dates(column: Any, how: Any) -> Any:
    if pt.is_integer(column.type):
        unit = {"D": 86_400, "h": 3600, "m": 60}.get(how or "s")
        if unit is not None:
            column, how = pc.multiply(column, unit), "s"
        return column.cast(pa.timestamp(how or "s")).cast(pa.timestamp("us"))
    if how is None:
        return column.cast(pa.timestamp("us"))
    values = [None if text is None else dt.datetime.strptime(text, how) for text in column.to_pylist()]  # noqa: DTZ007
    return pa.chunked_array([pa.array(values, pa.timestamp("us"))])


def sqlite_type(type_: pa.DataType) -> str:
    """Names the type of a column in a SQLite table.

    Example:
        >>> import pyarrow as pa
        >>> sqlite_type(pa.int8()), sqlite_type(pa.timestamp("ns"))
        ('INTEGER', 'TIMESTAMP')
    """
    if pt.is_boolean(type_):
        return "BOOLEAN"
    if pt.is_integer(type_) or pt.is_duration(type_):
        return "INTEGER"
    if pt.is_floating(type_):
        return "REAL"
    if pt.is_timestamp(type_):
        return "TIMESTAMP"
    if pt.is_date(type_):
        return "DATE"
    if pt.is_time(type_):
        return "TIME"
    return "BLOB" if _is_bytes(type_) else "TEXT"


def alchemy_type(type_: pa.DataType, alchemy: Any) -> Any:
    """Makes the type of a column for SQLAlchemy, which knows what each database calls it.

    Args:
        type_: Arrow type.
        alchemy: The library.
    """
    if type_ == JSON:
        return alchemy.JSON(none_as_null=True)
    if pt.is_boolean(type_):
        return alchemy.Boolean()
    if pt.is_integer(type_):
        if type_ == pa.uint64():
            return alchemy.Numeric(20, 0)
        small, middle = (
            type_.bit_width <= 16 and type_ != pa.uint16(),
            type_.bit_width <= 32 and type_ != pa.uint32(),
        )
        return alchemy.SmallInteger() if small else alchemy.Integer() if middle else alchemy.BigInteger()
    if pt.is_floating(type_):
        return alchemy.Double() if pt.is_float64(type_) else alchemy.REAL()
    if pt.is_decimal(type_):
        return alchemy.Numeric(type_.precision, max(0, type_.scale))
    if pt.is_timestamp(type_):
        return _of_mysql(alchemy.DateTime(timezone=type_.tz is not None), alchemy, "DATETIME", fsp=6)
    if pt.is_date(type_):
        return alchemy.Date()
    if pt.is_time(type_):
        return _of_mysql(alchemy.Time(), alchemy, "TIME", fsp=6)
    if pt.is_duration(type_):
        return _of_mysql(alchemy.Interval(), alchemy, "TIME", fsp=6)
    if _is_bytes(type_):
        return _of_mysql(alchemy.LargeBinary(), alchemy, "LONGBLOB")
    return _of_mysql(alchemy.Text(), alchemy, "LONGTEXT")


def _of_mysql(kind: Any, alchemy: Any, name: str, **options: Any) -> Any:
    """Says what a type is in MySQL, where parts of a second, and more than 64 KB, have to be asked for."""
    dialect = getattr(alchemy.dialects, "mysql", None)
    return kind if dialect is None else kind.with_variant(getattr(dialect, name)(**options), *_MYSQL_NAMES)


def _is_bytes(type_: pa.DataType) -> bool:
    return any(
        test(type_) for test in (pt.is_binary, pt.is_large_binary, pt.is_fixed_size_binary, pt.is_binary_view)
    )


def to_parameters(column: Any, *, as_text: bool, name: str, row: int) -> list[Any]:
    """Turns a column into the values that a driver takes.

    Args:
        column: Values of Arrow.
        as_text: Write dates and decimals as text: SQLite has no types for them.
        name: The column's name, for errors.
        row: Its first row, for errors.

    Raises:
        CastError: A time is finer than microseconds, which is what databases keep.
        DataError: Python can't hold a value, such as a date after the year 9999.
    """
    return converted(
        column,
        partial(_parameters, as_text=as_text, name=name, row=row),
        column=name,
        row=row,
        target="a database",
    )


def _parameters(column: Any, as_text: bool, name: str, row: int) -> list[Any]:
    type_ = column.type
    if type_ == JSON:
        texts = [chunk.storage for chunk in column.chunks]
        values = [text for chunk in texts for text in chunk.to_pylist()]
        return values if as_text else [None if text is None else json.loads(text) for text in values]
    if pt.is_duration(type_) and as_text:
        # Counts of the column's own unit, as which Arrow reads them again.
        return list(column.cast(pa.int64()).to_pylist())
    if type_ == pa.uint64() and as_text:
        try:
            return list(column.cast(pa.int64()).to_pylist())
        except pa.ArrowInvalid as error:
            at = row + first_failing(column, lambda part: part.cast(pa.int64()))
            raise CastError.at(
                f"SQLite keeps integers up to 2**63 - 1: {error}", row=at, column=name
            ) from error
    finer = {pa.time64("ns"): pa.time64("us"), pa.duration("ns"): pa.duration("us")}.get(type_)
    if pt.is_timestamp(type_) and type_.unit == "ns":
        finer = pa.timestamp("us", type_.tz)
    if finer is not None:
        try:
            column = column.cast(finer)
        except pa.ArrowInvalid as error:
            at = row + first_failing(column, lambda part: part.cast(finer))
            problem = f"databases keep times to the microsecond: {error}"
            raise CastError.at(problem, row=at, column=name) from error
    values = column.to_pylist()
    if not as_text or not (pt.is_temporal(type_) or pt.is_decimal(type_)):
        return list(values)
    if pt.is_timestamp(type_):
        return [None if value is None else value.isoformat(" ") for value in values]
    return [None if value is None else str(value) for value in values]
