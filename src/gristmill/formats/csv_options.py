"""Options of CSV files: the documented ``CsvConfig``, each with its meaning here or the reason why it has none."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from gristmill.errors import ColumnNotFoundError, InvalidArgumentError
from gristmill.features.kinds import Value
from gristmill.files.compression import compression_suffix
from gristmill.formats.csv_missing import MISSING

__all__ = ["MISSING", "CsvOptions"]

_DTYPES: dict[object, str] = {
    str: "string", "str": "string", "object": "string", "category": "string",
    int: "int64", "int": "int64", "Int64": "int64",
    float: "float64", "float": "float64", "Float64": "float64",
    bool: "bool", "boolean": "bool",
}  # fmt: skip
_ENGINES = ("c", "python", "pyarrow", "python-fwf")
_QUOTING = {csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC, csv.QUOTE_NONE}


@dataclass(frozen=True)
class CsvOptions:
    r"""Options of ``load_dataset("csv", ...)``.

    Attributes:
        sep: Character between cells, or a regular expression of several characters. None: a comma, and a tab in files
            that are called ``.tsv``. Nothing is guessed from the text.
        delimiter: Another name for `sep`; wins if given.
        header: Row that holds the column names: ``"infer"`` (the first, unless `names` is given), an index, or None.
        names: Column names. With ``header=0`` they replace those in the file.
        column_names: Another name for `names`; wins if given.
        index_col: Columns, by name or index, that come last: a dataset has no index. False: cells after the last
            column are let go if they are empty.
        usecols: Columns to read, by name or index, or a function of a name.
        prefix: Has no meaning any more; name the columns with `names`.
        mangle_dupe_cols: Only True; a second column "a" is called "a.1".
        engine: Accepted, changes nothing; as are `low_memory`, `memory_map`, `float_precision`, `verbose`.
        converters: Functions by name or index of a column: of a cell's text, they give its value.
        dtype: Type of all columns, or of some by name, for example ``{"zip": str}``.
        true_values: Further spellings of true.
        false_values: Further spellings of false.
        skipinitialspace: Whether spaces after a separator are no part of the cell.
        skiprows: Lines to skip: so many at the beginning, or those with these numbers (from 0), or those for whose
            number a function says so.
        skipfooter: Lines to skip at the end.
        nrows: Rows to read at most.
        na_values: Further spellings of a missing value; a dict has them by column, where they also count in quotes.
        keep_default_na: Whether the usual spellings (empty, NA, null, NaN, ...) count as missing.
        na_filter: False: no cell is missing.
        verbose: See `engine`.
        skip_blank_lines: False: a blank line is a row of missing values.
        thousands: Character between groups of digits.
        decimal: Decimal point.
        lineterminator: Character that ends a line, if it is not the usual ones.
        quotechar: Quote character.
        quoting: As in `csv`; 3 (QUOTE_NONE) gives quotes no meaning, with 2 (QUOTE_NONNUMERIC) all numbers are floats.
        doublequote: Whether two quotes inside quotes mean one.
        escapechar: Character that takes the meaning from the one after it.
        comment: Character that begins a comment, which ends with the line.
        encoding: Encoding of the text.
        encoding_errors: What to do with bytes that are no text, as in `open`.
        dialect: A `csv.Dialect` or the name of one: its separator, quotes, escapes and spaces.
        on_bad_lines: What to do with a row that has more or fewer cells: ``"error"``, ``"warn"`` (and skip),
            ``"skip"``, or a function of its cells that gives cells, or None to skip it.
        error_bad_lines: Old form of `on_bad_lines`: False skips them.
        warn_bad_lines: Old form: whether to say so.
        parse_dates: Columns of dates or times, by name or index, that become timestamps.
        date_format: How dates are written, as in `datetime.datetime.strptime`, or a dict of that by column; ISO if None.
        low_memory: See `engine`.
        memory_map: See `engine`.
        float_precision: See `engine`; floats are always exact.
        chunksize: Accepted; results do not depend on it.
        block_bytes: Bytes to parse at a time.
    """

    sep: str | None = None
    delimiter: str | None = None
    header: int | str | None = "infer"
    names: Sequence[str] | None = None
    column_names: Sequence[str] | None = None
    index_col: int | str | Sequence[int] | Sequence[str] | None = None
    usecols: Sequence[int] | Sequence[str] | Callable[[str], bool] | None = None
    prefix: str | None = None
    mangle_dupe_cols: bool = True
    engine: Literal["c", "python", "pyarrow"] | None = None
    converters: Mapping[int | str, Callable[[str], Any]] | None = None
    dtype: Any = None
    true_values: Sequence[str] | None = None
    false_values: Sequence[str] | None = None
    skipinitialspace: bool = False
    skiprows: int | Sequence[int] | Callable[[int], bool] | None = None
    nrows: int | None = None
    na_values: Any = None
    keep_default_na: bool = True
    na_filter: bool = True
    verbose: bool = False
    skip_blank_lines: bool = True
    thousands: str | None = None
    decimal: str = "."
    lineterminator: str | None = None
    quotechar: str | None = '"'
    quoting: int = 0
    escapechar: str | None = None
    comment: str | None = None
    encoding: str | None = None
    dialect: Any = None
    error_bad_lines: bool = True
    warn_bad_lines: bool = True
    skipfooter: int = 0
    doublequote: bool = True
    memory_map: bool = False
    float_precision: str | None = None
    chunksize: int | None = 10_000
    encoding_errors: str | None = "strict"
    on_bad_lines: Any = "error"
    parse_dates: Sequence[int] | Sequence[str] | bool | None = None
    date_format: str | Mapping[str, str] | None = None
    low_memory: bool = True
    block_bytes: int = 4 << 20

    def __post_init__(self) -> None:
        if self.dialect is not None:
            self._take_dialect()
        self._check_marks()
        self._check_rows()
        self._check_meaningless()
        self.asked_types([])

    def _take_dialect(self) -> None:
        dialect = self.dialect
        try:
            dialect = csv.get_dialect(dialect) if isinstance(dialect, str) else dialect
            taken = {
                "delimiter": dialect.delimiter,
                "quotechar": dialect.quotechar,
                "quoting": dialect.quoting,
                "doublequote": dialect.doublequote,
                "escapechar": dialect.escapechar,
                "skipinitialspace": dialect.skipinitialspace,
            }
        except (csv.Error, AttributeError, TypeError) as error:
            raise InvalidArgumentError.from_value(
                "dialect", dialect, f"a csv.Dialect or one of {', '.join(csv.list_dialects())}"
            ) from error
        for name, value in taken.items():
            object.__setattr__(
                self, name, bool(value) if name in ("doublequote", "skipinitialspace") else value
            )

    def _check_marks(self) -> None:
        separator = self.separator
        if type(separator) is not str or not separator or separator in "\r\n":
            raise InvalidArgumentError.from_value("sep", separator, "a character, such as a comma or a tab")
        if len(separator) > 1:
            try:
                matches_nothing = re.compile(separator).match("") is not None
            except re.error as error:
                raise InvalidArgumentError.from_value(
                    "sep", separator, f"a regular expression ({error})"
                ) from error
            if matches_nothing:
                raise InvalidArgumentError.from_value(
                    "sep",
                    separator,
                    f"a regular expression that does not match empty text; perhaps {re.escape(separator)!r}",
                )
        marks = ("quotechar", "escapechar", "comment", "lineterminator", "thousands", "decimal")
        for name in marks:
            value = getattr(self, name)
            if value and (type(value) is not str or len(value) != 1):
                raise InvalidArgumentError.from_value(name, value, "one character")
        if self.quoting not in _QUOTING:
            raise InvalidArgumentError.from_value(
                "quoting", self.quoting, "csv.QUOTE_MINIMAL, QUOTE_ALL, QUOTE_NONNUMERIC or QUOTE_NONE"
            )

    def _check_rows(self) -> None:
        header = self.header
        is_row = type(header) is int and header >= 0
        if not (header is None or header == "infer" or is_row):
            raise InvalidArgumentError.from_value(
                "header", header, '"infer", None or the index of one row: columns have one name each'
            )
        rows: Any = self.skiprows
        listed = isinstance(rows, Sequence | set | frozenset) and not isinstance(rows, str)
        if listed and all(type(row) is int for row in rows):
            object.__setattr__(self, "skiprows", tuple(sorted(rows)))
        elif rows is not None and not callable(rows) and (type(rows) is not int or rows < 0):
            raise InvalidArgumentError.from_value(
                "skiprows", rows, "a number of lines, their numbers, or a function"
            )
        for name, count in (("nrows", self.nrows), ("skipfooter", self.skipfooter)):
            if count is not None and (type(count) is not int or count < 0):
                raise InvalidArgumentError.from_value(name, count, "a number of lines")
        if not callable(self.on_bad_lines) and self.on_bad_lines not in ("error", "warn", "skip"):
            raise InvalidArgumentError.from_choice(
                "on_bad_lines", str(self.on_bad_lines), ["error", "warn", "skip"]
            )

    def _check_meaningless(self) -> None:
        if self.prefix is not None:
            raise InvalidArgumentError(
                "prefix= was taken out of pandas and has no meaning here: name the columns with names=."
            )
        if self.mangle_dupe_cols is not True:
            raise InvalidArgumentError(
                "mangle_dupe_cols=False has no meaning: no two columns of a dataset have one name; rename them with names=."
            )
        if self.engine is not None and self.engine not in _ENGINES:
            raise InvalidArgumentError.from_choice("engine", str(self.engine), _ENGINES)
        if self.parse_dates is True or isinstance(self.parse_dates, Mapping | str):
            raise InvalidArgumentError.from_value(
                "parse_dates",
                self.parse_dates,
                "a list of columns; to join columns to a date, map the dataset afterwards",
            )
        for name, function in (self.converters or {}).items():
            if not callable(function):
                raise InvalidArgumentError.from_value(
                    "converters", {name: function}, "functions of a cell's text"
                )

    def for_file(self, name: str) -> CsvOptions:
        r"""Gives the options for a file: one called ``.tsv`` has tabs between cells if nothing else is asked for.

        Example:
            >>> CsvOptions().for_file("a.TSV.gz").separator
            '\t'
        """
        plain = name.lower()
        if self.sep is not None or self.delimiter is not None:
            return self
        return (
            replace(self, sep="\t")
            if plain.removesuffix(compression_suffix(plain)).endswith(".tsv")
            else self
        )

    @cached_property
    def text(self) -> str:
        """All of them as text: equal options have equal texts."""
        return repr(self)

    @property
    def separator(self) -> str:
        """What stands between cells."""
        chosen = self.delimiter if self.delimiter is not None else self.sep
        return "," if chosen is None else chosen

    @property
    def given_names(self) -> list[str] | None:
        """The column names that the user gives, if any."""
        names = self.column_names if self.column_names is not None else self.names
        return None if names is None else [str(name) for name in names]

    @property
    def header_row(self) -> int | None:
        """Index of the row with the column names; None if the file has none."""
        if self.header == "infer":
            return 0 if self.given_names is None else None
        return self.header  # type: ignore[return-value]  # checked above: an int or None

    @property
    def quote(self) -> str | None:
        """The quote character, None if quotes mean nothing."""
        return None if self.quoting == csv.QUOTE_NONE else self.quotechar or None

    @property
    def bad_lines(self) -> Any:
        """What to do with bad lines: one of the three words, or a function."""
        if self.on_bad_lines == "error" and not self.error_bad_lines:
            return "warn" if self.warn_bad_lines else "skip"
        return self.on_bad_lines

    @property
    def needs_rewriting(self) -> bool:
        """Whether the text has to be brought to plain CSV before Arrow's parser, which knows less, can read it."""
        marks = (self.separator, self.quote, self.escapechar)
        return bool(
            any(mark and (len(mark) > 1 or not mark.isascii()) for mark in marks)
            or self.skipinitialspace
            or self.comment
            or self.lineterminator
            or self.skipfooter
            or self.index_col is False
            or not self.skip_blank_lines
            or callable(self.bad_lines)
            or not isinstance(self.skiprows, int | None)
        )

    @property
    def plain(self) -> CsvOptions:
        """The options with which the rewritten text is read; the same ones if none of it is rewritten."""
        if not self.needs_rewriting:
            return self
        return replace(
            self, sep=",", delimiter=None, dialect=None, quotechar='"', quoting=0, doublequote=True, escapechar=None,
            skipinitialspace=False, comment=None, lineterminator=None, skipfooter=0, skip_blank_lines=True,
            skiprows=None, encoding=None, encoding_errors="strict", index_col=self.index_col or None,
            on_bad_lines="skip" if callable(self.bad_lines) else self.bad_lines,
        )  # fmt: skip

    @property
    def missing(self) -> list[str]:
        """Spellings of a missing value in an unquoted cell of any column."""
        if not self.na_filter:
            return []
        more = () if isinstance(self.na_values, Mapping) else _spellings(self.na_values)
        return [*(MISSING if self.keep_default_na else ()), *more]

    def missing_in(self, column: str) -> list[str]:
        """Spellings of a missing value in one column only."""
        if not self.na_filter or not isinstance(self.na_values, Mapping):
            return []
        return _spellings(self.na_values.get(column))

    def used_names(self, names: Sequence[str], file: str = "") -> list[str]:
        """Gives the columns to read of those that a file has: those of `usecols`, those of `index_col` last.

        Args:
            names: Those it has.
            file: What to call it in errors.

        Raises:
            ColumnNotFoundError: There is no such column.
            InvalidArgumentError: `usecols` is a function, and fails.
        """
        used = list(names)
        if callable(self.usecols):
            try:
                used = [name for name in names if self.usecols(name)]
            except Exception as error:
                expected = f"a function of a column's name: it fails ({type(error).__name__}: {error})"
                raise InvalidArgumentError.from_value("usecols", self.usecols, expected) from error
        elif self.usecols is not None:
            asked = {_named(column, names, file) for column in self.usecols}
            used = [name for name in names if name in asked]
        if self.index_col is None or self.index_col is False:
            return used
        index = [self.index_col] if isinstance(self.index_col, int | str) else self.index_col
        last = [_named(column, used, file) for column in index]
        return [*(name for name in used if name not in last), *last]

    def dates(self, names: Sequence[str], file: str = "") -> dict[str, str | None]:
        """Gives the columns of dates of a file, and how each is written; None for ISO."""
        formats = self.date_format
        listed: Any = self.parse_dates or ()  # True is refused
        dates = [_named(column, names, file) for column in listed]
        found = {name: formats.get(name) if isinstance(formats, Mapping) else formats for name in dates}
        return {name: None if format in ("ISO8601", "mixed") else format for name, format in found.items()}

    def converter_of(self, names: Sequence[str], file: str = "") -> dict[str, Callable[[str], Any]]:
        """Gives the functions of `converters` by the name of the column."""
        return {_named(column, names, file): function for column, function in (self.converters or {}).items()}

    def asked_types(self, columns: Sequence[str]) -> dict[str, Value]:
        """Gives the features that `dtype` asks for, for those of `columns` that it names.

        Raises:
            InvalidArgumentError: `dtype` names a type that does not exist.
        """
        if self.dtype is None:
            return {}
        if not isinstance(self.dtype, Mapping):
            kind = Value(_dtype(self.dtype))
            return dict.fromkeys(columns, kind)
        kinds = {str(name): Value(_dtype(dtype)) for name, dtype in self.dtype.items()}
        return {name: kinds[name] for name in columns if name in kinds}


def _named(column: Any, names: Sequence[str], file: str) -> str:
    if type(column) is int and -len(names) <= column < len(names):
        return names[column]
    if str(column) not in names:
        raise ColumnNotFoundError.from_name(str(column), names, file)
    return str(column)


def _spellings(values: Any) -> list[str]:
    """Writes out what stands for a missing value; numbers as integers and as floats."""
    if values is None:
        return []
    listed = [values] if isinstance(values, str) or not hasattr(values, "__iter__") else list(values)
    found = []
    for value in listed:
        found.append(str(value))
        if isinstance(value, int | float) and float(value).is_integer():
            found += [str(int(value)), str(float(value))]
    return list(dict.fromkeys(found))


def _dtype(dtype: Any) -> str:
    try:
        return str(_DTYPES.get(dtype, getattr(dtype, "name", dtype)))
    except TypeError as error:
        raise InvalidArgumentError.from_value("dtype", dtype, 'a type such as str or "float32"') from error
