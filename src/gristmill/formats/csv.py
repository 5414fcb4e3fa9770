"""CSV, typed by all of its cells.

The rules for types are in `csv_settle`: the file is read once as text to settle them and once more to convert. A cell is
missing if it is empty or spells a missing value (NA, null, NaN, ...) without quotes; in quotes it is text. Numbers
in quotes are numbers, as other readers have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from csv import QUOTE_NONNUMERIC as _QUOTE_NONNUMERIC
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gristmill.errors import CastError
from gristmill.features.cast import cast_array
from gristmill.features.convert import from_arrow_type
from gristmill.features.infer import Clash, to_text, unify_schemas
from gristmill.features.schema import Features
from gristmill.formats.base import Batches, Format, Target, output
from gristmill.formats.csv_cells import cell_batches, column_names
from gristmill.formats.csv_made import Maker, makers
from gristmill.formats.csv_options import CsvOptions
from gristmill.formats.csv_settle import KINDS, convert, kind_of, to_feature, wider
from gristmill.formats.kept import Kept
from gristmill.formats.source import Position, SourceFile
from gristmill.formats.streams import reading_text

__all__ = ["CsvFormat", "CsvOptions"]

_KEPT = Kept()


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
        kinds = _settled(file, _Key(options), _state(file))
        columns_of = _Columns(file, options, kinds)
        names = list(kinds) if columns is None else [name for name in columns if name in kinds]
        shape = pa.schema([pa.field(name, columns_of.type_of(name)) for name in names])
        for row, batch in _known_rows(file, options, names, start):
            values = [columns_of.values(name, batch.column(name), row) for name in names]
            yield Position(row), pa.RecordBatch.from_arrays(values, schema=shape)

    def infer_schema(
        self, file: SourceFile, options: CsvOptions | Mapping[str, Any] | None = None
    ) -> pa.Schema:
        """Settles the schema by reading the whole file; remembered until the file changes."""
        settings = self.parse_options(options).for_file(file.name)
        with reading_text(file, "CSV"):
            kinds = _settled(file, _Key(settings), _state(file))
            columns = _Columns(file, settings, kinds)
            return pa.schema([pa.field(name, columns.type_of(name)) for name in kinds])

    def clash(self, options: CsvOptions | Mapping[str, Any] | None = None) -> Clash:
        """Says that a column of numbers in one file and text in another is text: the text that stands in the files."""
        return to_text

    def write(
        self,
        batches: Iterable[pa.RecordBatch],
        target: Target,
        *,
        schema: pa.Schema,
        compression: str | None = "infer",
        **options: Any,
    ) -> int:
        """Writes CSV: a header, cells quoted where needed, numbers so that they read back equal.

        Args:
            batches: See `Format.write`.
            target: See `Format.write`.
            schema: See `Format.write`.
            compression: ``"gzip"``, ``"bz2"``, ``"xz"``, ``"zstd"``, None, or ``"infer"`` from the target's suffix.
            **options: ``sep``, ``header``, ``na_rep``, see `csv_write.write_csv`.

        Returns:
            Number of bytes written, before compression.
        """
        # Loaded here: reading has no use for it.
        from gristmill.formats.csv_write import write_csv

        with output(target, compression) as out:
            write_csv(batches, out, schema, **options)
            return out.count


class _Key:
    """Options as a key: they may hold lists and dicts, which can't be hashed."""

    def __init__(self, options: CsvOptions) -> None:
        self.options = options
        self._text = repr(options)

    def __hash__(self) -> int:
        return hash(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other._text == self._text


def _state(file: SourceFile) -> tuple[int, int]:
    stat = file.path.stat()
    return stat.st_mtime_ns, stat.st_size


@lru_cache(maxsize=256)
def _settled(file: SourceFile, key: _Key, _state: tuple[int, int]) -> dict[str, Any]:
    """Gives the kind of each column, over all rows that `nrows` lets through; the type of those that are made."""
    options, kinds = key.options, dict[str, Any]()
    made: dict[str, Maker] | None = None
    with _KEPT.keeping((file, key, _state)) as keeping:
        for row, batch in _rows(file, options, None, Position()):
            made = makers(column_names(file, options), options, file) if made is None else made
            keeping.add((row, batch), batch.nbytes)
            for name, cells in zip(batch.schema.names, batch.columns, strict=True):
                before = kinds.get(name, "null")
                if name in made:
                    kinds[name] = _widened(before, made[name](cells, row).type, name, file)
                # Nothing is wider than text: no need to look.
                elif before != "text":
                    kinds[name] = wider(before, kind_of(cells, options))
    if not kinds:
        return dict.fromkeys(options.used_names(column_names(file, options)), "null")
    if options.quoting == _QUOTE_NONNUMERIC:
        kinds = {name: "float" if kind == "int" else kind for name, kind in kinds.items()}
    return kinds


def _widened(before: Any, type_: Any, name: str, file: SourceFile) -> Any:
    known = pa.null() if before == "null" else before
    both = [pa.schema([pa.field(name, one)]) for one in (known, type_)]
    return unify_schemas(*both, file=file.name).field(0).type


class _Columns:
    """How the cells of each column become values of its type."""

    def __init__(self, file: SourceFile, options: CsvOptions, kinds: Mapping[str, Any]) -> None:
        self._file, self._options, self._kinds = file, options, kinds
        names = column_names(file, options)
        self._asked = options.asked_types(names)
        self.made = makers(names, options, file)

    def type_of(self, name: str) -> Any:
        """Gives the Arrow type."""
        if name in self._asked:
            return self._asked[name].pa_type
        return KINDS[self._kinds[name]] if isinstance(self._kinds[name], str) else self._kinds[name]

    def values(self, name: str, cells: Any, row: int) -> Any:
        """Makes the values of some cells, from the row with this index on."""
        if name in self._asked:
            return self.feature_values(name, self._asked[name], cells, row)
        if name in self.made:
            return self.feature_values(name, from_arrow_type(self.type_of(name)), cells, row)
        return convert(cells, self._kinds[name], self._options)

    def feature_values(self, name: str, feature: Any, cells: Any, row: int) -> Any:
        """Makes the values of some cells for a feature that is asked for."""
        where: dict[str, Any] = {"file": self._file.name, "column": name, "first_row": row}
        if name in self.made:
            return cast_array(self.made[name](cells, row), feature, **where)
        return to_feature(cells, feature, self._options, where)


def _read_as(
    file: SourceFile, options: CsvOptions, columns: list[str] | None, start: Position, schema: pa.Schema
) -> Batches:
    features = Features.from_arrow_schema(schema)
    if columns is not None:
        features = Features({name: features[name] for name in columns if name in features})
    shape = features.arrow_schema
    wanted = None if columns is None else list(features)
    values_of: _Columns | None = None
    for row, batch in _known_rows(file, options, wanted, start):
        there = batch.schema.names
        values_of = _Columns(file, options, {}) if values_of is None else values_of
        extra = [name for name in there if name not in features]
        if extra:
            raise CastError.at(
                f"the columns {', '.join(extra[:10])} are not among those asked for ({', '.join(list(features)[:20])})",
                file=file.name,
                remedy="Add them to `features`, or leave them out with usecols=.",
            )
        values = [
            values_of.feature_values(name, feature, batch.column(name), row)
            if name in there
            else pa.nulls(batch.num_rows, shape.field(name).type)
            for name, feature in features.items()
        ]
        yield Position(row), pa.RecordBatch.from_arrays(values, schema=shape)


def _known_rows(
    file: SourceFile, options: CsvOptions, columns: list[str] | None, start: Position
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yields what `_rows` does, from what settling the types has read if that is still there."""
    known = _KEPT.take((file, _Key(options), _state(file))) if start == Position() else None
    if known is None:
        yield from _rows(file, options, columns, start)
        return
    for row, batch in known:
        yield row, batch if columns is None else batch.select(columns)


def _rows(
    file: SourceFile, options: CsvOptions, columns: list[str] | None, start: Position
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yields text batches from a row on, each with the index of its first row; not more rows than `nrows`."""
    row = 0
    for batch in _cells(file, options, columns):
        end = row + batch.num_rows
        limit = end if options.nrows is None else min(end, options.nrows)
        first = max(row, start.row)
        if first < limit:
            yield first, batch.slice(first - row, limit - first)
        row = end
        if row >= limit and options.nrows is not None and row >= options.nrows:
            return


def _cells(file: SourceFile, options: CsvOptions, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
    """Reads cells; those that only one column has for missing are null, those for a converter stay as they are."""
    batches = cell_batches(file, options, columns)
    if isinstance(options.na_values, Mapping) and options.na_filter:
        batches = (_with_missing(batch, options) for batch in batches)
    if not options.converters:
        yield from batches
        return
    literal = [*options.converter_of(column_names(file, options))]
    if columns is not None:
        literal = [name for name in literal if name in columns]
    # Blocks are the same, so batches are.
    texts = cell_batches(file, replace(options, na_filter=False), literal)
    for batch, text in zip(batches, texts, strict=True):
        values = {name: batch.column(name) for name in batch.schema.names}
        values.update({name: text.column(name) for name in text.schema.names})
        yield pa.RecordBatch.from_arrays([*values.values()], names=[*values])


def _with_missing(batch: pa.RecordBatch, options: CsvOptions) -> pa.RecordBatch:
    columns = []
    for name, cells in zip(batch.schema.names, batch.columns, strict=True):
        spellings = options.missing_in(name)
        if spellings:
            missing = pc.is_in(cells, pa.array(spellings, pa.string()))
            columns.append(pc.if_else(missing, pa.scalar(None, pa.string()), cells))
        else:
            columns.append(cells)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
