"""JSON files of rows: one object a line, or a document in one of the layouts that pandas has."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa

from gristmill.arguments import whole_number
from gristmill.errors import InvalidArgumentError
from gristmill.features.encode import decoded_values
from gristmill.features.unheld import converted
from gristmill.formats.base import Target, output
from gristmill.formats.json_write import encoder, json_rows

__all__ = ["Layout", "write_json_file"]

_ORIENTS = ("records", "split", "index", "columns", "values")
_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_ROWS = 10_000
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


@dataclass(frozen=True)
class Layout:
    """The options of `to_json`, with the names and meanings they have in pandas.

    Attributes:
        orient: ``"records"``: an object a row. ``"values"``: a list a row. ``"split"``: names, then a list a row.
            ``"index"``: an object of rows by their number. ``"columns"``: an object of columns, each by row numbers.
        lines: One row a line instead of one document; True for ``"records"`` if left out, unless `indent` is given.
        force_ascii: Write characters outside ASCII as escapes.
        indent: Spaces a level, each value on a line of its own.
        index: Whether ``"split"`` lists the numbers of the rows.
        date_format: ``"iso"``, or ``"epoch"``: the time since 1970 as a whole number.
        date_unit: ``"s"``, ``"ms"`` or ``"us"``: unit of that number (``"ms"`` if left out), or the digits of ISO forms.
        double_precision: Digits after the point of floats; all that are needed if left out.
    """

    orient: str = "records"
    lines: bool | None = None
    force_ascii: bool = True
    indent: int | None = None
    index: bool | None = None
    date_format: str | None = None
    date_unit: str | None = None
    double_precision: int | None = None

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> Layout:
        """Checks the options of `to_json`.

        Raises:
            InvalidArgumentError: One is not known, its value can't be used, or two do not go together.
        """
        known = [item.name for item in fields(cls)]
        for name in options:
            if name not in known and name != "mode":
                raise InvalidArgumentError.from_choice(
                    "to_json option", name, [*known, "compression", "mode"]
                )
        if options.get("mode", "w") != "w":
            expected = '"w": a file is written whole or not at all; concatenate_datasets adds rows to others'
            raise InvalidArgumentError.from_value("mode", options["mode"], expected)
        layout = cls(**{name: value for name, value in options.items() if name != "mode"})
        for name, choices in (
            ("orient", _ORIENTS),
            ("date_format", ("iso", "epoch")),
            ("date_unit", tuple(_UNITS)),
        ):
            value = getattr(layout, name)
            if value not in choices and not (value is None and name != "orient"):
                raise InvalidArgumentError.from_choice(name, value, choices)
        for name in ("indent", "double_precision"):
            if getattr(layout, name) is not None:
                whole_number(name, getattr(layout, name), 0)
        layout._check_pairs()
        return layout

    def _check_pairs(self) -> None:
        if self.lines and self.orient != "records":
            raise InvalidArgumentError(
                f'lines=True goes with orient="records" only, not with "{self.orient}".'
            )
        if self.lines and self.indent:
            raise InvalidArgumentError("With indent= a row takes several lines: leave out lines=True.")
        if (
            self.index is not None
            and self.orient != "split"
            and self.index != (self.orient in ("index", "columns"))
        ):
            raise InvalidArgumentError(f'index={self.index} does not go with orient="{self.orient}".')

    @property
    def is_lines(self) -> bool:
        """Whether each row is a line of its own."""
        return not self.indent and self.orient == "records" if self.lines is None else self.lines

    @property
    def is_plain(self) -> bool:
        """Whether rows are objects whose values are written in the usual way."""
        own = (self.indent, self.date_format, self.date_unit, self.double_precision)
        return self.orient == "records" and own in {(None,) * 4, (0, None, None, None)}

    def value_encoder(self) -> Callable[[Any], str]:
        """Makes the function that turns a Python value into JSON text."""
        usual: Callable[[Any], str] = encoder(self.force_ascii)
        if (self.date_format, self.date_unit, self.double_precision) == (None, None, None):
            return usual
        return lambda value: usual(self._formed(value))

    def _formed(self, value: Any) -> Any:
        if isinstance(value, float) and self.double_precision is not None:
            return round(value, self.double_precision) if value - value == 0 else None
        if isinstance(value, dt.date | dt.timedelta):
            return self._time(value)
        if isinstance(value, Mapping):
            return {key: self._formed(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._formed(item) for item in value]
        return value

    def _time(self, value: Any) -> Any:
        if self.date_format != "epoch":
            is_moment = isinstance(value, dt.datetime) and self.date_unit is not None
            names = {"s": "seconds", "ms": "milliseconds", "us": "microseconds"}
            return value.isoformat(timespec=names[str(self.date_unit)]) if is_moment else value
        if not isinstance(value, dt.timedelta):
            utc = dt.timezone.utc
            moment = (
                value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time(tzinfo=utc))
            )
            value = (moment if moment.tzinfo is not None else moment.replace(tzinfo=utc)) - _EPOCH
        return value // dt.timedelta(microseconds=_UNITS[self.date_unit or "ms"])


def write_json_file(
    batches: Iterable[pa.RecordBatch],
    target: Target,
    *,
    schema: pa.Schema,
    compression: str | None = "infer",
    **options: Any,
) -> int:
    """Writes JSON lines, or one document.

    NaN and the infinities become null, which is what JSON has for them; times are ISO text unless `date_format` says
    otherwise, bytes base64, see `json_write.encoder`.

    Args:
        batches: See `Format.write`.
        target: See `Format.write`.
        schema: See `Format.write`.
        compression: ``"gzip"``, ``"bz2"``, ``"xz"``, ``"zstd"``, None, or ``"infer"`` from the target's suffix.
        **options: See `Layout`.

    Returns:
        Number of bytes written, before compression.

    Raises:
        InvalidArgumentError: An option is not known, or can't be used.
        DataError: A value has no text, such as a date after the year 9999; names row and column.
    """
    layout = Layout.parse(options)
    with output(target, compression) as out:
        for text in _texts(batches, schema.names, layout):
            out.write(text)
        return out.count


def _texts(batches: Iterable[Any], names: Sequence[str], layout: Layout) -> Iterator[bytes]:
    if layout.is_plain and layout.is_lines:
        return json_rows(batches, layout.force_ascii)
    if layout.is_plain:
        return _plain_array(batches, layout)
    if layout.is_lines:
        encode = layout.value_encoder()
        return (f"{encode(dict(zip(names, row, strict=True)))}\n".encode() for row in _rows(batches))
    return _document(batches, names, layout)


def _plain_array(batches: Iterable[Any], layout: Layout) -> Iterator[bytes]:
    before = b"["
    for text in json_rows(batches, layout.force_ascii, end=",\n"):
        yield before + text.removesuffix(b",\n")
        before = b",\n"
    yield b"[]\n" if before == b"[" else b"]\n"


def _rows(batches: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    row = 0
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            piece = batch.slice(start, _ROWS)
            if not piece.num_columns:
                yield from [()] * piece.num_rows
                continue
            columns = [
                converted(_whole(column), decoded_values, column=name, row=row + start)
                for name, column in zip(piece.schema.names, piece.columns, strict=True)
            ]
            yield from zip(*columns, strict=True)
        row += batch.num_rows


def _whole(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _document(batches: Iterable[Any], names: Sequence[str], layout: Layout) -> Iterator[bytes]:
    encode = layout.value_encoder()
    kind = layout.orient
    if kind == "columns":
        rows = list(_rows(batches))
        items = (
            (name, {str(number): row[place] for number, row in enumerate(rows)})
            for place, name in enumerate(names)
        )
        return _nested("{", _named(items, encode, layout, 1), "}\n", layout, 1)
    if kind == "index":
        numbered = (
            (str(number), dict(zip(names, row, strict=True))) for number, row in enumerate(_rows(batches))
        )
        return _nested("{", _named(numbered, encode, layout, 1), "}\n", layout, 1)
    if kind != "split":
        made = (
            list(row) if kind == "values" else dict(zip(names, row, strict=True)) for row in _rows(batches)
        )
        return _nested("[", (_item(row, encode, layout, 1) for row in made), "]\n", layout, 1)
    return _split(batches, names, layout, encode)


def _split(batches: Iterable[Any], names: Sequence[str], layout: Layout, encode: Any) -> Iterator[bytes]:
    rows: Iterable[tuple[Any, ...]] = _rows(batches)
    head: list[tuple[str, list[Any]]] = [("columns", list(names))]
    if layout.index:
        rows = list(rows)
        head.append(("index", list(range(len(rows)))))
    new = _line(layout, 1)
    yield (
        "{" + "".join(f"{new}{text}," for text in _named(head, encode, layout, 1)) + new + '"data":'
    ).encode()
    items = (_item(list(row), encode, layout, 2) for row in rows)
    yield from _nested("[", items, f"]{_line(layout, 0)}}}\n", layout, 2)


def _named(items: Iterable[tuple[str, Any]], encode: Any, layout: Layout, depth: int) -> Iterator[str]:
    return (f"{encode(name)}:{_item(value, encode, layout, depth)}" for name, value in items)


def _item(value: Any, encode: Any, layout: Layout, depth: int) -> str:
    text: str = encode(value)
    if not layout.indent:
        return text
    # The text is JSON by now: what it was made of, such as dates and bytes, needs no second rule.
    spread = json.dumps(
        json.loads(text), indent=layout.indent, separators=(",", ":"), ensure_ascii=layout.force_ascii
    )
    return spread.replace("\n", "\n" + " " * layout.indent * depth)


def _line(layout: Layout, depth: int) -> str:
    return "\n" + " " * (layout.indent * depth) if layout.indent else ""


def _nested(start: str, items: Iterable[str], end: str, layout: Layout, depth: int) -> Iterator[bytes]:
    """Joins the items of a list or object, each on a line of its own, and gives them one by one."""
    new = _line(layout, depth)
    before, empty = start + new, True
    for item in items:
        yield (before + item).encode()
        before, empty = "," + (new or "\n"), False
    yield (start + end if empty else _line(layout, depth - 1) + end).encode()
