"""Options of CSV files: the part of the documented ``CsvConfig`` that has a meaning here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gristmill.errors import InvalidArgumentError
from gristmill.features.kinds import Value

__all__ = ["CsvOptions"]

# What counts as missing in an unquoted cell by default; the same list as in pandas, which users know.
MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
_QUOTE_NONE = 3

_DTYPES: dict[object, str] = {
    str: "string", "str": "string", "object": "string", "category": "string",
    int: "int64", "int": "int64", "Int64": "int64",
    float: "float64", "float": "float64", "Float64": "float64",
    bool: "bool", "boolean": "bool",
}  # fmt: skip


@dataclass(frozen=True)
class CsvOptions:
    """Options of ``load_dataset("csv", ...)``.

    Attributes:
        sep: Character between cells.
        delimiter: Another name for `sep`; wins if given.
        header: Row that holds the column names: ``"infer"`` (the first, unless `names` is given), an index, or None.
        names: Column names. With ``header=0`` they replace those in the file.
        column_names: Another name for `names`; wins if given.
        usecols: Columns to read, by name or index.
        dtype: Type of all columns, or of some by name, for example ``{"zip": str}``.
        true_values: Further spellings of true.
        false_values: Further spellings of false.
        skiprows: Lines to skip at the beginning.
        nrows: Rows to read at most.
        na_values: Further spellings of a missing value.
        keep_default_na: Whether the usual spellings (empty, NA, null, NaN, ...) count as missing.
        na_filter: False: no cell is missing.
        skip_blank_lines: False: a blank line is a row.
        thousands: Character between groups of digits.
        decimal: Decimal point.
        quotechar: Quote character.
        quoting: As in `csv`; 3 (QUOTE_NONE) gives quotes no meaning.
        doublequote: Whether two quotes inside quotes mean one.
        escapechar: Character that takes the meaning from the one after it.
        encoding: Encoding of the text.
        encoding_errors: What to do with bytes that are no text, as in `open`.
        on_bad_lines: What to do with a row that has more or fewer cells: ``"error"``, ``"warn"`` (and skip) or ``"skip"``.
        chunksize: Accepted; results do not depend on it.
        block_bytes: Bytes to parse at a time; pyarrow reads up to 32 such blocks ahead of the one that is parsed.
        engine: Accepted, changes nothing; as are `low_memory`, `memory_map`, `float_precision`, `mangle_dupe_cols`.
        low_memory: See `engine`.
        memory_map: See `engine`.
        float_precision: See `engine`; floats are always exact.
        mangle_dupe_cols: See `engine`; a second column "a" is called "a.1".
    """

    sep: str = ","
    delimiter: str | None = None
    header: int | str | None = "infer"
    names: Sequence[str] | None = None
    column_names: Sequence[str] | None = None
    usecols: Sequence[int] | Sequence[str] | None = None
    dtype: Any = None
    true_values: Sequence[str] | None = None
    false_values: Sequence[str] | None = None
    skiprows: int | None = None
    nrows: int | None = None
    na_values: str | Sequence[str] | None = None
    keep_default_na: bool = True
    na_filter: bool = True
    skip_blank_lines: bool = True
    thousands: str | None = None
    decimal: str = "."
    quotechar: str | None = '"'
    quoting: int = 0
    doublequote: bool = True
    escapechar: str | None = None
    encoding: str | None = None
    encoding_errors: str | None = "strict"
    on_bad_lines: Literal["error", "warn", "skip"] = "error"
    chunksize: int = 10_000
    block_bytes: int = 2 << 20
    engine: str | None = None
    low_memory: bool = True
    memory_map: bool = False
    float_precision: str | None = None
    mangle_dupe_cols: bool = True

    def __post_init__(self) -> None:
        separator = self.separator
        if len(separator.encode()) != 1 or separator in "\r\n":
            raise InvalidArgumentError.from_value(
                "sep", separator, "one ASCII character, such as a comma or a tab"
            )
        for name, value in (("quotechar", self.quotechar), ("escapechar", self.escapechar)):
            if value and len(value.encode()) != 1:
                raise InvalidArgumentError.from_value(name, value, "one ASCII character")
        header = self.header
        is_row = type(header) is int and header >= 0
        if not (header is None or header == "infer" or is_row):
            raise InvalidArgumentError.from_value("header", header, '"infer", None or the index of a row')
        for name, count in (("skiprows", self.skiprows), ("nrows", self.nrows)):
            if count is not None and (type(count) is not int or count < 0):
                raise InvalidArgumentError.from_value(name, count, "a number of lines")
        if self.on_bad_lines not in ("error", "warn", "skip"):
            raise InvalidArgumentError.from_choice(
                "on_bad_lines", self.on_bad_lines, ["error", "warn", "skip"]
            )
        self.asked_types([])

    @property
    def separator(self) -> str:
        """The character between cells."""
        return self.delimiter if self.delimiter is not None else self.sep

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
        return None if self.quoting == _QUOTE_NONE else self.quotechar or None

    @property
    def missing(self) -> list[str]:
        """Spellings of a missing value in an unquoted cell."""
        if not self.na_filter:
            return []
        more = [self.na_values] if isinstance(self.na_values, str) else list(self.na_values or ())
        return [*(MISSING if self.keep_default_na else ()), *map(str, more)]

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


def _dtype(dtype: Any) -> str:
    try:
        return str(_DTYPES.get(dtype, getattr(dtype, "name", dtype)))
    except TypeError as error:
        raise InvalidArgumentError.from_value("dtype", dtype, 'a type such as str or "float32"') from error
