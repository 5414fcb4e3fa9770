"""CSV, typed by all of its cells.

The rules for types are in `csv_settle`: the file is read once as text to settle them and once more to convert. A cell is
missing if it is empty or spells a missing value (NA, null, NaN, ...) without quotes; in quotes it is text. Numbers
in quotes are numbers, as other readers have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa

from gristmill.errors import CastError
from gristmill.features.infer import Clash, to_text
from gristmill.features.schema import Features
from gristmill.formats.base import Batches, Format, Target, output
from gristmill.formats.csv_cells import cell_batches, column_names
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
        with reading_text(file, "CSV"):
            if schema is None:
                yield from self._read_settled(file, options, columns, start)
            else:
                yield from _read_as(file, options, columns, start, schema)

    def _read_settled(
        self, file: SourceFile, options: CsvOptions, columns: list[str] | None, start: Position
    ) -> Batches:
        asked = options.asked_types(column_names(file, options))
        kinds = _settled(file, _Key(options), _state(file))
        names = list(kinds) if columns is None else [name for name in columns if name in kinds]
        shape = pa.schema([pa.field(name, _type(name, kinds, asked)) for name in names])
        for row, batch in _known_rows(file, options, names, start):
            values = [
                to_feature(batch.column(name), asked[name], options, _where(file, name, row))
                if name in asked
                else convert(batch.column(name), kinds[name], options)
                for name in names
            ]
            yield Position(row), pa.RecordBatch.from_arrays(values, schema=shape)

    def infer_schema(
        self, file: SourceFile, options: CsvOptions | Mapping[str, Any] | None = None
    ) -> pa.Schema:
        """Settles the schema by reading the whole file; remembered until the file changes."""
        settings = self.parse_options(options)
        with reading_text(file, "CSV"):
            asked = settings.asked_types(column_names(file, settings))
            kinds = _settled(file, _Key(settings), _state(file))
            return pa.schema([pa.field(name, _type(name, kinds, asked)) for name in kinds])

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
def _settled(file: SourceFile, key: _Key, _state: tuple[int, int]) -> dict[str, str]:
    """Gives the kind of each column, over all rows that `nrows` lets through."""
    kinds: dict[str, str] = {}
    with _KEPT.keeping((file, key, _state)) as keeping:
        for row, batch in _rows(file, key.options, None, Position()):
            keeping.add((row, batch), batch.nbytes)
            for name, cells in zip(batch.schema.names, batch.columns, strict=True):
                before = kinds.get(name, "null")
                # Nothing is wider than text: no need to look.
                kinds[name] = before if before == "text" else wider(before, kind_of(cells, key.options))
    if not kinds:
        kinds = dict.fromkeys(_used_names(file, key.options), "null")
    return kinds


def _used_names(file: SourceFile, options: CsvOptions) -> list[str]:
    names = column_names(file, options)
    if options.usecols is None:
        return names
    return [name for i, name in enumerate(names) if i in options.usecols or name in options.usecols]


def _type(name: str, kinds: Mapping[str, str], asked: Mapping[str, Any]) -> Any:
    return asked[name].pa_type if name in asked else KINDS[kinds[name]]


def _where(file: SourceFile, name: str, row: int) -> dict[str, Any]:
    return {"file": file.name, "column": name, "first_row": row}


def _read_as(
    file: SourceFile, options: CsvOptions, columns: list[str] | None, start: Position, schema: pa.Schema
) -> Batches:
    features = Features.from_arrow_schema(schema)
    if columns is not None:
        features = Features({name: features[name] for name in columns if name in features})
    shape = features.arrow_schema
    wanted = None if columns is None else list(features)
    for row, batch in _known_rows(file, options, wanted, start):
        there = batch.schema.names
        extra = [name for name in there if name not in features]
        if extra:
            raise CastError.at(
                f"the columns {', '.join(extra[:10])} are not among those asked for ({', '.join(list(features)[:20])})",
                file=file.name,
                remedy="Add them to `features`, or leave them out with usecols=.",
            )
        values = [
            to_feature(batch.column(name), feature, options, _where(file, name, row))
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
    for batch in cell_batches(file, options, columns):
        end = row + batch.num_rows
        limit = end if options.nrows is None else min(end, options.nrows)
        first = max(row, start.row)
        if first < limit:
            yield first, batch.slice(first - row, limit - first)
        row = end
        if row >= limit and options.nrows is not None and row >= options.nrows:
            return
