"""JSON: one object a line, one array, pretty-printed objects, or the rows in a field of one object.

Rules: text is text (never a date). null takes the type of the other values; integers next to floats become floats,
if no value changes by it; integers above int64 become uint64; values that no type holds are a `SchemaConflictError`.
Types are settled over the whole file before the first row is given out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import pyarrow as pa
import pyarrow.types as pt

from gristmill.errors import CastError, FileFormatError, InvalidArgumentError, SchemaConflictError
from gristmill.features.build import columns_of_rows, table_from_rows
from gristmill.features.infer import JSON, Clash, refuse, to_json
from gristmill.features.mixed import array_of_mixed, check_mixed_types, widen_array
from gristmill.features.schema import Features
from gristmill.features.visit import has_extension, map_leaves
from gristmill.formats.base import Batches, Format, Target, fitter, one_batch
from gristmill.formats.json_document import field_blocks, is_lines, value_blocks
from gristmill.formats.json_loose import good_rows, rows_as, rows_by_head
from gristmill.formats.json_parse import hint_from, parse_block, parse_rows, unify_block, whole_pairs
from gristmill.formats.kept import Kept
from gristmill.formats.loose import HEAD_BYTES, HEAD_ROWS, Bad, LooseRows, in_turn
from gristmill.formats.source import Position, SourceFile
from gristmill.formats.streams import BLOCK_BYTES, Block, iter_blocks, reading_text
from gristmill.formats.views import has_byte

_EMPTY = pa.schema([])
_KEPT = Kept()


@dataclass(frozen=True)
class JsonOptions:
    """Options of ``load_dataset("json", ...)``.

    Attributes:
        encoding: Encoding of the text.
        encoding_errors: What to do with bytes that are no text, as in `open`; also with escapes of half a surrogate
            pair, which ``"ignore"`` leaves out and any other but ``"strict"`` replaces by U+FFFD.
        field: Name of the field that holds the rows, in a file that is one object.
        chunksize: Bytes to parse at a time; results do not depend on it.
        use_threads: Accepted; parsing is parallel.
        block_size: Accepted; the older name of `chunksize`.
        newlines_in_values: Accepted; values that span lines are recognised.
        on_mixed_types: ``"use_json"`` makes `Json` columns, items and fields of values that have no common type; None
            makes them an error.
        parse_agent_traces: Accepted; rows are read as they are.
    """

    encoding: str | None = "utf-8"
    encoding_errors: str | None = None
    field: str | None = None
    chunksize: int = BLOCK_BYTES
    use_threads: bool = True
    block_size: int | None = None
    newlines_in_values: bool | None = None
    on_mixed_types: Literal["use_json"] | None = "use_json"
    parse_agent_traces: bool = True

    def __post_init__(self) -> None:
        check_mixed_types(self.on_mixed_types)
        for name, size in (("chunksize", self.chunksize), ("block_size", self.block_size or self.chunksize)):
            if type(size) is not int or size < 1:
                raise InvalidArgumentError.from_value(name, size, "a positive number of bytes")
        for name, text in (
            ("encoding", self.encoding), ("encoding_errors", self.encoding_errors), ("field", self.field),
        ):  # fmt: skip
            if text is not None and not isinstance(text, str):
                raise InvalidArgumentError.from_value(name, text, "text or None")


class JsonFormat(Format[JsonOptions]):
    """JSON in its usual shapes; which one is seen from the file itself, not from its name."""

    name = "json"
    suffixes = (".json", ".jsonl", ".ndjson")
    options = JsonOptions

    def _read(
        self,
        file: SourceFile,
        options: JsonOptions,
        columns: list[str] | None,
        start: Position,
        schema: pa.Schema | None,
        predicate: Any,
    ) -> Batches:
        shape = _of_columns(self.infer_schema(file, options) if schema is None else schema, columns)
        hint = hint_from(shape)
        fit = fitter(shape, columns, file)
        wanted = shape if schema is not None or _has_json(shape) else None
        with reading_text(file, "JSON"):
            row = start.row
            if start == Position() and columns is None:
                for at, table in _kept(file, options, shape):
                    yield at, one_batch(fit(table, at.row))
                    row = -1
            if row < 0:
                return
            for block, skip in _blocks(file, options, start, views=True):
                table = _parsed(block, file, row - skip, hint, wanted, columns)
                if columns is not None:
                    table = table.select([name for name in table.column_names if name in columns])
                if table.num_rows <= skip:
                    continue
                at = Position(row, block.offset, line=block.line)
                yield at, one_batch(fit(table.slice(skip), row))
                row += table.num_rows - skip

    def infer_schema(
        self, file: SourceFile, options: JsonOptions | Mapping[str, Any] | None = None
    ) -> pa.Schema:
        """Settles the schema by parsing the whole file; remembered until the file changes."""
        settings = self.parse_options(options)
        with reading_text(file, "JSON"):
            return _settled(file, settings, file.state())

    def first_columns(
        self, file: SourceFile, options: JsonOptions | Mapping[str, Any] | None = None
    ) -> list[str]:
        """Reads the head of the file."""
        with reading_text(file, "JSON"):
            names: list[str] = _head(file, self.parse_options(options), True, file.state()).names
        return names

    def read_by_row(
        self,
        file: SourceFile,
        options: JsonOptions,
        columns: list[str] | None,
        start: Position,
        schema: pa.Schema | None,
        bad: Bad | None,
    ) -> Iterator[tuple[Position, LooseRows]] | None:
        """Reads for a stream, if types are not known or rows may be left out."""
        if schema is not None and bad is None:
            return None
        return _by_row(file, options, columns, start, schema, bad)

    def clash(self, options: JsonOptions | Mapping[str, Any] | None = None) -> Clash:
        """Says that mixed values become `Json`, unless ``on_mixed_types=None``."""
        return _clash(self.parse_options(options))

    def write(
        self, batches: Iterable[pa.RecordBatch], target: Target, *, schema: pa.Schema, **options: Any
    ) -> int:
        """Writes JSON lines or a document, see `write_json_file`."""
        # Loaded here: reading has no use for it.
        from gristmill.formats.json_layout import write_json_file

        return write_json_file(batches, target, schema=schema, **options)


def _by_row(
    file: SourceFile,
    options: JsonOptions,
    columns: list[str] | None,
    start: Position,
    schema: pa.Schema | None,
    bad: Bad | None,
) -> Iterator[tuple[Position, LooseRows]]:
    """Reads for a stream, see `Format.read_by_row`."""
    with reading_text(file, "JSON"):
        head = schema if schema is not None else _head(file, options, bad is not None, file.state())
        if columns is not None:
            head = pa.schema([head.field(name) for name in columns if name in head.names], head.metadata)
        features = Features.from_arrow_schema(head)
        hint = None if _has_json(head) else hint_from(head)
        row = start.row
        for block, skip in _blocks(file, options, start):
            first = row - skip
            table = _fitting(block, file, first, hint, head, columns) if schema is None else None
            if table is None and schema is not None:
                table = _as_asked(block, file, first, hint, schema, columns)
            if table is not None:
                found = in_turn([one_batch(table.slice(skip))], table.num_rows - skip)
            else:
                rows = list(good_rows(block, file, first, bad))
                seen = (rows[-1][0] + 1 if rows else first) - row
                kept = [(n, _chosen(one, columns)) for n, one in rows if n >= row]
                if schema is None:
                    made = rows_by_head(kept, file, head, options.on_mixed_types is not None, bad)
                else:
                    assert bad is not None
                    made = rows_as(kept, file, features, bad)
                found = LooseRows(*made, max(0, seen))
            if found.num_rows:
                yield Position(row, block.offset, line=block.line), found
            row += found.seen


def _first_lines(block: Block, lines: int) -> Block:
    several = block.data.split(b"\n", lines)
    return block if len(several) <= lines else Block(b"\n".join(several[:lines]), block.offset, block.line)


def _chosen(row: dict[str, Any], columns: list[str] | None) -> dict[str, Any]:
    return row if columns is None else {name: row[name] for name in columns if name in row}


def _fitting(
    block: Block,
    file: SourceFile,
    row: int,
    hint: pa.Schema | None,
    head: pa.Schema,
    columns: list[str] | None,
) -> pa.Table | None:
    """Parses a block all of whose rows fit the types of the head; None if they do not."""
    if hint is None:
        return None
    try:
        table = parse_block(block, file, row, hint, only_hint=columns is not None)
        if columns is not None:
            table = table.select([name for name in table.column_names if name in columns])
        if not _leads_to(table.schema, {field.name: field.type for field in head}):
            return None
        return fitter(head, None, file)(table, row)
    except (SchemaConflictError, CastError, FileFormatError):
        return None  # looked at row by row


def _as_asked(
    block: Block,
    file: SourceFile,
    row: int,
    hint: pa.Schema | None,
    schema: pa.Schema,
    columns: list[str] | None,
) -> pa.Table | None:
    try:
        schema = _of_columns(schema, columns)
        table = _parsed(block, file, row, hint, schema, columns)
        if columns is not None:
            table = table.select([name for name in table.column_names if name in columns])
        return fitter(schema, columns, file)(table, row)
    except (SchemaConflictError, CastError, FileFormatError):
        return None


@lru_cache(maxsize=256)
def _head(
    file: SourceFile, options: JsonOptions, skips: bool, _state: tuple[int, int, int] | str
) -> pa.Schema:
    """Settles the types of a file by its first blocks."""
    schema: pa.Schema | None = None
    row, size = 0, 0
    quiet = Bad(file, tells=False) if skips else None
    for whole, _ in _blocks(file, options, Position()):
        block = _first_lines(whole, HEAD_ROWS - row)
        try:
            table = _parsed_mixed(block, file, row, None, options)
        except (FileFormatError, SchemaConflictError, CastError):
            if quiet is None:
                raise
            good = [one for _, one in good_rows(block, file, row, quiet)]
            table = table_from_rows(good, file=file.name, first_row=row)
        if table.num_rows:
            schema = unify_block(schema, table, block, file, row, _clash(options))
        row, size = row + table.num_rows, size + len(whole.data)
        if len(block.data) < len(whole.data) or row >= HEAD_ROWS or size >= HEAD_BYTES:
            break
    return _EMPTY if schema is None else schema


def _of_columns(schema: pa.Schema, columns: list[str] | None) -> pa.Schema:
    if columns is None:
        return schema
    wanted = set(columns)
    return pa.schema([field for field in schema if field.name in wanted], schema.metadata)


def _parsed(
    block: Block,
    file: SourceFile,
    row: int,
    hint: pa.Schema | None,
    schema: pa.Schema | None,
    columns: list[str] | None,
) -> pa.Table:
    """Parses a block; `hint` and `schema` are of `columns` alone, and what the others hold is nobody's concern."""
    if schema is None or not _has_json(schema):
        try:
            return parse_block(block, file, row, hint, only_hint=columns is not None)
        except SchemaConflictError:
            if schema is None:
                raise
    # `Json` keeps values exactly. Mixed values can mean one thing to the features asked for: names and ids of a class label.
    rows = parse_rows(block, file, row)
    if columns is not None:
        rows = [_chosen(one, columns) for one in rows]
    return table_from_rows(rows, Features.from_arrow_schema(schema), file=file.name, first_row=row)


def _has_json(schema: pa.Schema) -> bool:
    return any(has_extension(field.type) for field in schema)


def _clash(options: JsonOptions) -> Clash:
    return refuse if options.on_mixed_types is None else to_json


def _parsed_mixed(
    block: Block, file: SourceFile, row: int, hint: pa.Schema | None, options: JsonOptions
) -> pa.Table:
    """Parses a block for its types."""
    try:
        return parse_block(block, file, row, hint)
    except (SchemaConflictError, CastError) as error:
        if options.on_mixed_types is None:
            raise
        refused = error
    columns = columns_of_rows(parse_rows(block, file, row), file=file.name, first_row=row)
    try:
        arrays = {
            name: array_of_mixed(values, column=name, file=file.name, first_row=row)
            for name, values in columns.items()
        }
    except CastError:  # not for being mixed: half a surrogate pair
        raise refused from None
    return pa.table(arrays)


def _kept(file: SourceFile, options: JsonOptions, shape: pa.Schema) -> Sequence[tuple[Position, pa.Table]]:
    """Gives what settling the types has parsed, if it is still there and its types lead to those wanted."""
    known = _KEPT.take((file, options, file.state())) or []
    wanted = {field.name: field.type for field in shape}
    return known if all(_leads_to(table.schema, wanted) for _, table in known) else []


def _leads_to(schema: pa.Schema, wanted: Mapping[str, Any]) -> bool:
    """Says whether parsing again would find nothing that a block's own types have lost."""
    return all(field.name in wanted and _type_leads_to(field.type, wanted[field.name]) for field in schema)


def _type_leads_to(found: Any, wanted: Any) -> bool:
    if found == wanted or (pt.is_null(found) and not has_extension(wanted)):
        return True
    if pt.is_struct(found) and pt.is_struct(wanted):
        inner = {field.name: field.type for field in wanted}
        return all(field.name in inner and _type_leads_to(field.type, inner[field.name]) for field in found)
    if pt.is_list(found) and pt.is_list(wanted):
        return _type_leads_to(found.value_type, wanted.value_type)
    return bool(found == pa.int64() and wanted == pa.float64())


@lru_cache(maxsize=256)
def _settled(file: SourceFile, options: JsonOptions, _state: tuple[int, int, int] | str) -> pa.Schema:
    schema: pa.Schema | None = None
    hint: pa.Schema | None = None
    row = 0
    widened: set[str] = set()
    with _KEPT.keeping((file, options, _state)) as keeping:
        for block, _ in _blocks(file, options, Position(), views=True):
            table = _parsed_mixed(block, file, row, hint, options)
            if table.num_rows:
                keeping.add((Position(row, block.offset, line=block.line), table), table.nbytes)
                before, schema = schema, unify_block(schema, table, block, file, row, _clash(options))
                widened |= _widened(before, table.schema, schema)
                hint = hint_from(schema)
                row += table.num_rows
    if schema is None:
        return _EMPTY
    return (
        schema if options.on_mixed_types is None or not widened else _checked(file, options, schema, widened)
    )


def _widened(before: pa.Schema | None, found: pa.Schema, after: pa.Schema) -> set[str]:
    """Names the columns whose values in some block have a narrower type than they end up with."""
    # By name once: a schema makes its list of names anew each time it is asked.
    sides = [{field.name: field.type for field in side} for side in (before, found) if side is not None]
    return {
        field.name
        for field in after
        for side in sides
        if side.get(field.name, field.type) not in (field.type, pa.null()) and _has_wide_numbers(field.type)
    }


def _has_wide_numbers(type_: pa.DataType) -> bool:
    found: list[pa.DataType] = []
    map_leaves(type_, found.append)
    return pa.float64() in found or pa.uint64() in found


def _checked(file: SourceFile, options: JsonOptions, schema: pa.Schema, names: set[str]) -> pa.Schema:
    """Makes `Json` of columns of numbers whose types have a common one that does not hold every value.

    Integers become floats next to floats, but one above 2**53 may be none: within a block that is seen at once.
    """
    row = 0
    for block, _ in _blocks(file, options, Position(), views=True):
        table = _parsed_mixed(block, file, row, None, options)
        for name in names.intersection(table.column_names):
            position = schema.get_field_index(name)
            try:
                widen_array(table.column(name), schema.field(position).type)
            except CastError:
                schema = schema.set(position, pa.field(name, JSON))
        row += table.num_rows
    return schema


def _blocks(
    file: SourceFile, options: JsonOptions, start: Position, views: bool = False
) -> Iterator[tuple[Block, int]]:
    """Yields blocks of one object a line, each with the number of rows in it that lie before `start`."""
    size = options.block_size or options.chunksize
    encoding, errors = options.encoding, options.encoding_errors
    if options.field is not None:
        blocks = _from_row(field_blocks(file, options.field, size, encoding, errors), start)
    elif is_lines(file, encoding, errors):
        lines = iter_blocks(file, size=size, encoding=encoding, errors=errors, start=start, views=views)
        blocks = ((_one_kind_of_line_end(block), 0) for block in lines)
    else:
        blocks = _from_row(value_blocks(file, size, encoding, errors), start)
    if errors in (None, "strict"):
        yield from blocks
        return
    for block, skip in blocks:
        data, source = whole_pairs(block.data, errors), whole_pairs(block.source, errors)
        yield block._replace(data=data, source=source), skip


def _from_row(blocks: Iterable[Block], start: Position) -> Iterator[tuple[Block, int]]:
    # In these forms only the row says where to go on: what lies before is scanned again, not parsed.
    before = 0
    for block in blocks:
        rows = block.data.count(b"\n") + 1
        if before + rows > start.row:
            yield block, max(0, start.row - before)
        before += rows


def _one_kind_of_line_end(block: Block) -> Block:
    # A raw carriage return is only ever white space in JSON.
    if not has_byte(block.data, b"\r"):
        return block
    return Block(bytes(block.data).replace(b"\r", b"\n"), block.offset, block.line)
