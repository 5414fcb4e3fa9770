"""How CSV is written: the options of `to_csv`, checked, and what single cells and header lines look like with them."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from gristmill.arguments import check_columns, whole_number
from gristmill.errors import InvalidArgumentError

__all__ = ["Dialect"]

_QUOTINGS = (csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC, csv.QUOTE_NONE)
_IGNORED = ("mode", "chunksize")


class Dialect:
    """The options of `to_csv`, with the names and meanings they have in pandas.

    Attributes:
        sep: Character between cells.
        na_rep: What a missing value is written as.
        float_format: How floats are written: a format such as ``"%.2f"``, or a function of the number; None for the
            shortest form that reads back equal.
        columns: The columns to write, in this order; None for all.
        header: Whether to write a line of names, or the names to write there.
        index: Write the number of each row before its cells.
        index_label: What the line of names calls that column; False leaves no room for it.
        encoding: Encoding of the text.
        quoting: One of the ``QUOTE_`` constants of the module csv.
        quotechar: Character around cells that are quoted.
        lineterminator: What ends a line.
        date_format: How timestamps are written, for `strftime`; None for ISO form.
        doublequote: Whether a quote in a quoted cell is doubled, rather than escaped.
        escapechar: Character before what is escaped.
        decimal: The decimal point.
        errors: What happens to characters that the encoding has not.
    """

    sep: str = ","
    na_rep: str = ""
    float_format: str | Callable[[float], str] | None = None
    columns: Sequence[str] | None = None
    header: bool | Sequence[str] = True
    index: bool = False
    index_label: Any = None
    encoding: str | None = "utf-8"
    quoting: int | None = csv.QUOTE_MINIMAL
    quotechar: str = '"'
    lineterminator: str | None = "\n"
    date_format: str | None = None
    doublequote: bool = True
    escapechar: str | None = None
    decimal: str = "."
    errors: str = "strict"

    # Written out, as making a data class takes as long as writing thousands of rows.
    def __init__(self, **options: Any) -> None:
        for name, value in options.items():
            setattr(self, name, value)

    @classmethod
    def parse(cls, options: Mapping[str, Any], names: Sequence[str]) -> Dialect:
        """Checks the options of `to_csv`.

        Args:
            options: What the user gave.
            names: The columns there are.

        Raises:
            InvalidArgumentError: An option is not known, or its value can't be used.
            ColumnNotFoundError: A column to write does not exist.
        """
        given = {name: value for name, value in options.items() if name not in _IGNORED}
        known = list(cls.__annotations__)
        for name in given:
            if name not in known:
                raise InvalidArgumentError.from_choice(
                    "to_csv option", name, [*known, *_IGNORED, "compression"]
                )
        if options.get("mode", "w") != "w":
            expected = '"w": a file is written whole or not at all; concatenate_datasets adds rows to others'
            raise InvalidArgumentError.from_value("mode", options["mode"], expected)
        if options.get("chunksize") is not None:
            whole_number("chunksize", options["chunksize"], 1)
        for name, default in (
            ("encoding", "utf-8"),
            ("quoting", csv.QUOTE_MINIMAL),
            ("lineterminator", "\n"),
        ):
            if given.get(name, default) is None:
                given[name] = default
        if given.get("columns") is not None:
            names = given["columns"] = check_columns(given["columns"], names)
        dialect = cls(**given)
        dialect._check_characters()
        dialect._check_formats()
        if not isinstance(dialect.header, bool):
            titles: Any = dialect.header
            if isinstance(titles, str) or not isinstance(titles, Sequence) or len(titles) != len(names):
                expected = f"True, False, or a name for each of the {len(names)} columns"
                raise InvalidArgumentError.from_value("header", titles, expected)
        return dialect

    def _check_characters(self) -> None:
        for name in ("sep", "quotechar", "escapechar", "decimal"):
            value = getattr(self, name)
            if value is None and name == "escapechar":
                continue
            if not _is_character(value):
                raise InvalidArgumentError.from_value(name, value, "one ASCII character")
        if self.quotechar in (self.sep, self.escapechar) or self.sep == self.escapechar:
            raise InvalidArgumentError("sep, quotechar and escapechar have to be different characters.")
        for name in ("na_rep", "lineterminator"):
            if type(getattr(self, name)) is not str:
                raise InvalidArgumentError.from_value(name, getattr(self, name), "text")
        if self.quoting not in _QUOTINGS:
            raise InvalidArgumentError.from_value(
                "quoting",
                self.quoting,
                "one of csv.QUOTE_MINIMAL, QUOTE_ALL, QUOTE_NONNUMERIC and QUOTE_NONE",
            )

    def _check_formats(self) -> None:
        try:
            self.float_text(0.5)
        except (TypeError, ValueError) as error:
            expected = 'a format such as "%.2f", or a function that makes text of a number'
            raise InvalidArgumentError.from_value("float_format", self.float_format, expected) from error
        if self.date_format is not None and type(self.date_format) is not str:
            raise InvalidArgumentError.from_value("date_format", self.date_format, "a format for strftime")
        try:
            codecs.lookup(str(self.encoding))
            codecs.lookup_error(self.errors)
        except (LookupError, TypeError) as error:
            raise InvalidArgumentError.from_value(
                "encoding", (self.encoding, self.errors), "an encoding and a way to treat errors of it"
            ) from error

    @property
    def is_utf8(self) -> bool:
        """Whether the text is written as UTF-8."""
        return codecs.lookup(str(self.encoding)).name == "utf-8"

    def encoder(self) -> codecs.IncrementalEncoder:
        """Makes what encodes the text, piece by piece."""
        return codecs.getincrementalencoder(str(self.encoding))(self.errors)

    def float_text(self, value: float) -> str:
        """Writes one float as `float_format` says, with the decimal point of this dialect."""
        form = self.float_format
        text = repr(value) if form is None else form(value) if callable(form) else str(form) % value
        if type(text) is not str:
            raise TypeError(f"float_format gave {text!r}")
        return text.replace(".", self.decimal)

    def names(self, names: Sequence[str]) -> list[str]:
        """Gives the columns to write, of those there are."""
        return list(names if self.columns is None else self.columns)

    def head(self, names: Sequence[str]) -> str:
        """Writes the line of names; nothing if there is to be none."""
        if self.header is False:
            return ""
        cells = self.names(names) if self.header is True else [str(name) for name in self.header]
        if self.index and self.index_label is not False:
            label = self.index_label
            if isinstance(label, Sequence) and not isinstance(label, str):
                label = label[0] if len(label) == 1 else None
            cells.insert(0, "" if label is None else str(label))
        return self._line(cells)

    def missing(self, columns: int) -> str:
        """Gives the text of a missing value; where it is the only cell of a line, it is not empty."""
        text = self.na_rep if self.na_rep or columns != 1 else "NA"
        if self.quoting in (csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC):
            return self._line([text]).removesuffix(str(self.lineterminator))
        special = {self.sep, self.quotechar, "\r", "\n", self.escapechar}
        return text if special.isdisjoint(text) else self._line([text]).removesuffix(str(self.lineterminator))

    def _line(self, cells: Sequence[str]) -> str:
        out = io.StringIO()
        writer = csv.writer(
            out,
            delimiter=self.sep,
            quotechar=self.quotechar,
            quoting=self.quoting or csv.QUOTE_MINIMAL,  # type: ignore[arg-type]  # checked above
            escapechar=self.escapechar,
            doublequote=self.doublequote,
            lineterminator=str(self.lineterminator),
        )
        try:
            writer.writerow(cells)
        except csv.Error as error:
            raise InvalidArgumentError(
                f"{cells} can't be written without quotes ({error}): {ESCAPES}"
            ) from error
        return out.getvalue()

    def chosen(self, batch: Any, row: int) -> Any:
        """Gives the columns of a batch that are written, with the number of each row before them if asked for."""
        if self.columns is not None:
            batch = batch.select(list(self.columns))
        if not self.index:
            return batch
        numbers = pa.array(range(row, row + batch.num_rows), pa.int64())
        return pa.table([numbers, *batch.columns], names=["", *batch.schema.names])


def _is_character(value: Any) -> bool:
    return type(value) is str and len(value) == 1 and value.isascii() and value not in "\r\n"


ESCAPES = "Pass escapechar=, or another quoting=."
"""What to do where a character can be neither quoted nor escaped."""
