"""CSV, typed by all of its cells.

The rules for types are in `csv_settle`: the file is read once as text to settle them and once more to convert. A cell is
missing if it is empty or spells a missing value (NA, null, NaN, ...) without quotes; in quotes it is text. Numbers
in quotes are numbers, as other readers have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from csv import QUOTE_NONNUMERIC as _QUOTE_NONNUMERIC
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.errors import CastError
from gristmill.features.cast import cast_array
from gristmill.features.convert import from_arrow_type
from gristmill.features.infer import Clash, to_text, unify_schemas
from gristmill.features.schema import Features
from gristmill.formats.base import Batches, Format, Target
from gristmill.formats.csv_cells import cell_batches, column_names
from gristmill.formats.csv_loose import cells_by_head, parts_by_row
from gristmill.formats.csv_made import makers
from gristmill.formats.csv_options import CsvOptions
from gristmill.formats.csv_pieces import Piece, iter_pieces, iter_settled
from gristmill.formats.csv_settle import EXACT, KINDS, convert, kind_of, largest, to_feature, wider
from gristmill.formats.kept import Kept
from gristmill.formats.loose import HEAD_ROWS, Bad, LooseRows, Part, fitted, in_turn
from gristmill.formats.source import Position, SourceFile
from gristmill.formats.streams import reading_text

__all__ = ["CsvFormat", "CsvOptions"]

_KEPT = Kept()
_TEXT = pa.string()


class CsvFormat(Format[CsvOptions]):
    """Comma-separated values, and those separated by anything else."""

    name = "csv"
    suffixes = (".csv", ".tsv")
    options = CsvOptions

    def _read(
        self,
        file: SourceFile,
        options: CsvOptions,
        columns: list[str] | None,
        start: Position,
        schema: pa.Schema | None,
        predicate: Any,
    ) -> Batches:
        options = options.for_file(file.name)
        with reading_text(file, "CSV"):
            if schema is None:
                yield from self._read_settled(file, options, columns, start)
            else:
                yield from _read_as(file, options, columns, start, schema)

    def _read_settled(
        self, file: SourceFile, options: CsvOptions, columns: list[str] | None, start: Position
    ) -> Batches:
        kinds = _settled(file, _Key(options), file.state())
        columns_of = _Columns(file, options, kinds)
        names = list(kinds) if columns is None else [name for name in columns if name in kinds]
        shape = pa.schema([pa.field(name, columns_of.type_of(name)) for name in names])
        types = {name: columns_of.type_of(name) for name in names}
        for piece in _known_pieces(file, options, names, types, start):
            if not names:  # pyarrow has no number of rows without a column
                yield piece.at, piece.batch
                continue
            values = [columns_of.values(name, piece.batch.column(name), piece.at.row) for name in names]
            yield piece.at, pa.RecordBatch.from_arrays(values, schema=shape)

    def infer_schema(
        self, file: SourceFile, options: CsvOptions | Mapping[str, Any] | None = None
    ) -> pa.Schema:
        """Settles the schema by reading the whole file; remembered until the file changes."""
        settings = self.parse_options(options).for_file(file.name)
        with reading_text(file, "CSV"):
            kinds = _settled(file, _Key(settings), file.state())
            columns = _Columns(file, settings, kinds)
            return pa.schema([pa.field(name, columns.type_of(name)) for name in kinds])

    def column_names(
        self, file: SourceFile, options: CsvOptions | Mapping[str, Any] | None = None
    ) -> list[str]:
        """Reads the header alone."""
        settings = self.parse_options(options).for_file(file.name)
        with reading_text(file, "CSV"):
            return settings.used_names(column_names(file, settings), file.name)

    def read_by_row(
        self,
        file: SourceFile,
        options: CsvOptions,
        columns: list[str] | None,
        start: Position,
        schema: pa.Schema | None,
        bad: Bad | None,
    ) -> Iterator[tuple[Position, LooseRows]] | None:
        """Reads for a stream, if types are not known or rows may be left out."""
        if schema is not None and bad is None:
            return None
        return _by_row(file, options, columns, start, schema, bad)

    def clash(self, options: CsvOptions | Mapping[str, Any] | None = None) -> Clash:
        """Says that a column of numbers in one file and text in another is text: the text that stands in the files."""
        return to_text

    def write(
        self, batches: Iterable[pa.RecordBatch], target: Target, *, schema: pa.Schema, **options: Any
    ) -> int:
        """Writes CSV, see `write_csv_file`."""
        # Loaded here: reading has no use for it.
        from gristmill.formats.csv_write import write_csv_file

        return write_csv_file(batches, target, schema=schema, **options)


def _by_row(
    file: SourceFile,
    options: CsvOptions,
    columns: list[str] | None,
    start: Position,
    schema: pa.Schema | None,
    bad: Bad | None,
) -> Iterator[tuple[Position, LooseRows]]:
    """Reads for a stream, see `Format.read_by_row`."""
    options = options.for_file(file.name)
    if bad is not None and options.on_bad_lines == "error":
        options = replace(options, on_bad_lines="warn")
    with reading_text(file, "CSV"):
        names = column_names(file, options)
        used = options.used_names(names, file.name)
        wanted = used if columns is None else [name for name in columns if name in used]
        if schema is None:
            limit = HEAD_ROWS if options.nrows is None else min(HEAD_ROWS, options.nrows)
            head = _settled(file, _Key(replace(options, nrows=limit)), file.state())
            values_of = _Columns(file, options, {name: head.get(name, "text") for name in names})
            literal = {*options.asked_types(names), *values_of.made}
        else:
            values_of, head, literal = _Columns(file, options, {}), {}, set()
        if options.converters:
            pieces = _literal_pieces(file, options, wanted)
        else:
            pieces = iter_pieces(file, options, wanted, {}, start)
        for piece in _chosen(pieces, options, start):
            batch, row = _only(piece.batch, wanted), piece.at.row
            if schema is not None:
                shape = _asked_shape(schema, columns)
                make = _maker(values_of, batch, row, shape, file)
                found = in_turn(list(fitted(make, batch.num_rows, bad)), batch.num_rows)
            elif not wanted:
                found = in_turn([batch], batch.num_rows)
            else:
                parts: dict[str, list[Part]] = {}
                for name in wanted:
                    cells = batch.column(name)
                    if name in literal:
                        parts[name] = [(np.arange(len(cells)), values_of.values(name, cells, row))]
                    else:
                        parts[name] = cells_by_head(cells, head.get(name, "text"), options)
                found = LooseRows(batch.num_rows, parts_by_row(parts, batch.num_rows), batch.num_rows)
            yield piece.at, found


def _asked_shape(schema: pa.Schema, columns: list[str] | None) -> Features:
    features = Features.from_arrow_schema(schema)
    if columns is None:
        return features
    return Features({name: features[name] for name in columns if name in features})


def _maker(
    values_of: _Columns, batch: pa.RecordBatch, row: int, features: Features, file: SourceFile
) -> Callable[[int, int], pa.RecordBatch]:
    """Makes values of the features asked for of some rows of a batch."""
    _check_extra(batch.schema.names, features, file)
    shape, there = features.arrow_schema, set(batch.schema.names)

    def make(start: int, stop: int) -> pa.RecordBatch:
        some = batch.slice(start, stop - start)
        if not features:
            return some
        values = [
            values_of.feature_values(name, feature, some.column(name), row + start)
            if name in there
            else pa.nulls(some.num_rows, shape.field(name).type)
            for name, feature in features.items()
        ]
        return pa.RecordBatch.from_arrays(values, schema=shape)

    return make


def _check_extra(there: list[str], features: Features, file: SourceFile) -> None:
    extra = [name for name in there if name not in features]
    if extra:
        raise CastError.from_columns(extra, features, file.name)


class _Key:
    """Options as a key: they may hold lists and dicts, which can't be hashed."""

    def __init__(self, options: CsvOptions) -> None:
        self.options = options
        self._text = options.text

    def __hash__(self) -> int:
        return hash(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other._text == self._text


def _names(file: SourceFile, options: CsvOptions) -> list[str]:
    return _known_names(file, _Key(options), file.state())


@lru_cache(maxsize=256)
def _known_names(file: SourceFile, key: _Key, _state: tuple[int, int, int] | str) -> list[str]:
    return column_names(file, key.options)


@lru_cache(maxsize=256)
def _settled(file: SourceFile, key: _Key, _state: tuple[int, int, int] | str) -> dict[str, Any]:
    """Gives the kind of each column, over all rows that `nrows` lets through; the type of those that are made."""
    options, kinds = key.options, dict[str, Any]()
    names = _names(file, options)
    made = makers(names, options, file)
    # Their kinds are not those of their text, or not those of all rows of a piece.
    literal = set(names) if options.nrows is not None else _literal(names, options, file)
    pieces = (
        iter_settled(file, options, literal)
        if not options.converters
        else _literal_pieces(file, options, None)
    )
    with _KEPT.keeping((file, key, _state)) as keeping:
        for piece in _chosen(pieces, options, Position()):
            keeping.add((piece.at, piece.batch), piece.batch.nbytes)
            for name, cells in zip(piece.batch.schema.names, piece.batch.columns, strict=True):
                before = kinds.get(name, "null")
                if name in made:
                    kinds[name] = _widened(before, made[name](cells, piece.at.row).type, name, file)
                # Nothing is wider than text: no need to look.
                elif before != "text":
                    looks = name in literal or name not in piece.kinds
                    kinds[name] = wider(before, kind_of(cells, options) if looks else piece.kinds[name])
    if not kinds:
        return dict.fromkeys(options.used_names(names, file.name), "null")
    if options.quoting == _QUOTE_NONNUMERIC:
        kinds = {name: "float" if kind in ("int", "negative") else kind for name, kind in kinds.items()}
    return kinds


def _literal(names: list[str], options: CsvOptions, file: SourceFile) -> set[str]:
    """Names the columns whose values are made from text in any case."""
    found = {*makers(names, options, file), *options.asked_types(names)}
    return found | {name for name in names if options.missing_in(name)}


def _widened(before: Any, type_: Any, name: str, file: SourceFile) -> Any:
    known = pa.null() if before == "null" else before
    both = [pa.schema([pa.field(name, one)]) for one in (known, type_)]
    return unify_schemas(*both, file=file.name).field(0).type


class _Columns:
    """How the cells of each column become values of its type."""

    def __init__(self, file: SourceFile, options: CsvOptions, kinds: Mapping[str, Any]) -> None:
        self._file, self._options, self._kinds = file, options, kinds
        names = _names(file, options)
        self._asked = options.asked_types(names)
        self.made = makers(names, options, file)

    def type_of(self, name: str) -> Any:
        """Gives the Arrow type."""
        if name in self._asked:
            return self._asked[name].pa_type
        return KINDS[self._kinds[name]] if isinstance(self._kinds[name], str) else self._kinds[name]

    def values(self, name: str, cells: Any, row: int) -> Any:
        """Makes the values of some cells, from the row with this index on."""
        if cells.type != _TEXT:  # a number already
            type_ = self.type_of(name)
            return cells if cells.type == type_ else cells.cast(type_)
        if name in self._asked:
            return self.feature_values(name, self._asked[name], cells, row)
        if name in self.made:
            return self.feature_values(name, from_arrow_type(self.type_of(name)), cells, row)
        return convert(cells, self._kinds[name], self._options)

    def feature_values(self, name: str, feature: Any, cells: Any, row: int) -> Any:
        """Makes the values of some cells for a feature that is asked for."""
        where: dict[str, Any] = {"file": self._file.name, "column": name, "first_row": row}
        if cells.type != _TEXT:
            return cast_array(cells, feature, **where)
        if name in self.made:
            return cast_array(self.made[name](cells, row), feature, **where)
        return to_feature(cells, feature, self._options, where)


def _read_as(
    file: SourceFile, options: CsvOptions, columns: list[str] | None, start: Position, schema: pa.Schema
) -> Batches:
    features = _asked_shape(schema, columns)
    wanted = None if columns is None else list(features)
    types = {name: getattr(feature, "pa_type", None) for name, feature in features.items()}
    values_of: _Columns | None = None
    for piece in _known_pieces(file, options, wanted, types, start):
        values_of = _Columns(file, options, {}) if values_of is None else values_of
        make = _maker(values_of, piece.batch, piece.at.row, features, file)
        yield piece.at, make(0, piece.batch.num_rows)


def _known_pieces(
    file: SourceFile,
    options: CsvOptions,
    columns: list[str] | None,
    types: Mapping[str, Any],
    start: Position,
) -> Iterator[Piece]:
    """Reads pieces, or takes what settling the types has read if that is still there and can become these types."""
    known: Any = _KEPT.take((file, _Key(options), file.state())) if start.row == 0 else None
    if known is not None and all(_can_become(batch, types) for _, batch in known):
        for at, batch in known:
            yield Piece(at, _only(batch, columns), {})
        return
    if options.converters:
        pieces = _literal_pieces(file, options, columns)
    else:
        literal = _literal(_names(file, options), options, file)
        numbers = {name: type_ for name, type_ in types.items() if type_ in _NUMBERS and name not in literal}
        pieces = iter_pieces(file, options, columns, numbers, start)
    for piece in _chosen(pieces, options, start):
        yield Piece(piece.at, _only(piece.batch, columns), piece.kinds)


def _only(batch: pa.RecordBatch, columns: Sequence[str] | None) -> pa.RecordBatch:
    """Leaves out what was read for another reason than being asked for."""
    names = batch.schema.names
    there = set(names)
    wanted = names if columns is None else [name for name in columns if name in there]
    return batch if wanted == names else batch.select(wanted)


_NUMBERS = (pa.int64(), pa.float64(), pa.bool_())


def _can_become(batch: pa.RecordBatch, types: Mapping[str, Any]) -> bool:
    """Says whether columns that were read as numbers can become values of these types as well as their text could."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        type_ = types.get(name, column.type)
        if column.type in (_TEXT, type_):
            continue
        # Integers beside floats; what a float would round is text.
        if not (column.type == pa.int64() and type_ == pa.float64() and largest(column) < EXACT):
            return False
    return True


def _chosen(pieces: Iterable[Piece], options: CsvOptions, start: Position) -> Iterator[Piece]:
    """Yields the rows from `start` on, not more than `nrows`, null where a column has its own spelling of that."""
    for piece in pieces:
        row, end = piece.at.row, piece.at.row + piece.batch.num_rows
        limit = end if options.nrows is None else min(end, options.nrows)
        first = max(row, start.row)
        if first < limit:
            batch = _with_missing(piece.batch.slice(first - row, limit - first), options)
            yield piece._replace(at=piece.at if first == row else Position(first), batch=batch)
        if options.nrows is not None and end >= options.nrows:
            return


def _literal_pieces(file: SourceFile, options: CsvOptions, columns: list[str] | None) -> Iterator[Piece]:
    """Reads cells with those for converters as they are; the others are null where they spell a missing value."""
    names = _names(file, options)
    literal = [name for name in options.converter_of(names) if columns is None or name in columns]
    row = 0
    # Blocks are the same, so batches are.
    texts = cell_batches(file, replace(options, na_filter=False), literal)
    for batch, text in zip(cell_batches(file, options, columns), texts, strict=True):
        values = {name: batch.column(name) for name in batch.schema.names}
        values.update({name: text.column(name) for name in text.schema.names})
        yield Piece(Position(row), pa.RecordBatch.from_arrays([*values.values()], names=[*values]), {})
        row += batch.num_rows


def _with_missing(batch: pa.RecordBatch, options: CsvOptions) -> pa.RecordBatch:
    if not isinstance(options.na_values, Mapping):
        return batch
    columns = []
    for name, cells in zip(batch.schema.names, batch.columns, strict=True):
        spellings = options.missing_in(name)
        if spellings:
            missing = pc.is_in(cells, pa.array(spellings, pa.string()))
            columns.append(pc.if_else(missing, pa.scalar(None, pa.string()), cells))
        else:
            columns.append(cells)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
