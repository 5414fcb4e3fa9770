"""Blocks of JSON lines to tables: pyarrow's parser where it is exact, Python's where it is not.

pyarrow is fast and has opinions: text that looks like a date becomes a timestamp, an integer above int64 a float. The
first is undone by naming the column as text and parsing again, the second is found by looking at large floats. What
pyarrow refuses goes through Python's parser, which either accepts it (pyarrow's types within one block are stricter)
or says exactly which row and column is at fault.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.types as pt

from gristmill.errors import DataError, FileFormatError, SchemaConflictError
from gristmill.features.build import table_from_rows
from gristmill.features.infer import Clash, refuse, unify_schemas
from gristmill.features.visit import leaf_arrays, map_leaves
from gristmill.formats.source import SourceFile
from gristmill.formats.streams import Block
from gristmill.formats.views import is_space

__all__ = ["hint_from", "not_json", "parse_block", "parse_rows", "unify_block", "whole_pairs"]

_PARALLEL = 1 << 20
"""pyarrow parses pieces of this many bytes of a block in parallel."""
_LONG_LINE = 10_000
"""Only a line this long can be nested deep enough (tens of thousands of levels) to exhaust pyarrow's C++ stack."""
_DEEP = 1_000
_DEEPEST = 64
"""Levels of lists and structs that Arrow's ways to exchange data allow."""
_BIG_INTEGER = re.compile(rb"(?<![\d.eE+])[0-9]{16,}(?![\d.eE])")


def parse_block(
    block: Block, file: SourceFile, first_row: int, hint: pa.Schema | None = None, *, only_hint: bool = False
) -> pa.Table:
    """Parses a block of JSON objects, normally one on each line.

    Args:
        block: The block.
        file: Its file, for errors.
        first_row: Index in the file of the block's first row, for errors.
        hint: Types known from earlier blocks, see `hint_from`; a block that does not fit them is parsed all the same.
        only_hint: Leave out columns that `hint` does not have.

    Returns:
        A table with types of JSON: null, bool, int64 (uint64 above), double, string, list, struct.

    Raises:
        FileFormatError: Not JSON, not UTF-8, a key stands twice in an object; names line and row.
        SchemaConflictError: Values of a column within the block have no common type.
        CastError: An integer fits no integer type.
    """
    block.check(file)  # pyarrow does not
    data = block.data
    if not _too_deep(data):
        for known in [hint, None] if hint is not None else [None]:
            try:
                table = _fast(block, file, first_row, known, only_hint and known is not None)
                table.validate()  # pyarrow makes lists of nulls shorter than they are
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError):
                continue
            if not _lost_integers(table, data):
                return table
            break
    table = _exact(block, file, first_row)
    _check_depth(table, file, first_row)
    return table.select([n for n in table.column_names if n in hint.names]) if only_hint and hint else table


def _fast(
    block: Block, file: SourceFile, first_row: int, hint: pa.Schema | None, only_hint: bool
) -> pa.Table:
    data = block.data
    if is_space(data):
        return pa.table({})
    table = _pyarrow(data, hint, only_hint, file.threads)
    _check_depth(table, file, first_row)  # before anything here walks through the types
    texts = pa.schema([pa.field(f.name, map_leaves(f.type, _text_of_time)) for f in table.schema])
    if texts != table.schema:
        table = _pyarrow(data, hint_from(texts), only_hint, file.threads)
    return table


def _pyarrow(data: bytes, hint: pa.Schema | None, only_hint: bool, in_threads: bool) -> pa.Table:
    rules = pj.ParseOptions(
        explicit_schema=hint, unexpected_field_behavior="ignore" if only_hint else "infer"
    )
    if in_threads and len(data) > 2 * _PARALLEL:
        try:
            read = pj.ReadOptions(block_size=_PARALLEL, use_threads=True)
            return pj.read_json(pa.BufferReader(data), read_options=read, parse_options=rules)
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error):
                raise
    # Also where a line is longer than the piece: the whole block in one piece always works.
    read = pj.ReadOptions(block_size=len(data) + 1, use_threads=False)
    return pj.read_json(pa.BufferReader(data), read_options=read, parse_options=rules)


def _text_of_time(leaf: Any) -> Any:
    return pa.string() if pt.is_timestamp(leaf) else leaf


def hint_from(schema: pa.Schema) -> pa.Schema | None:
    """Makes the hint for further blocks from a settled schema.

    Columns without a type yet (null) stay open.

    Args:
        schema: Types settled so far, or asked for.

    Returns:
        The hint; None if the schema has types that are not JSON's own, which parsing must not force.
    """
    native = {pa.int64(), pa.float64(), pa.string(), pa.bool_()}
    foreign: list[Any] = []

    def change(leaf: Any) -> Any:
        if leaf not in native and not pt.is_null(leaf):
            foreign.append(leaf)
        return None if pt.is_null(leaf) else leaf

    types = {field.name: map_leaves(field.type, change) for field in schema}
    if foreign:
        return None
    return pa.schema([pa.field(name, type_) for name, type_ in types.items() if type_ is not None])


def _lost_integers(table: pa.Table, data: bytes) -> bool:
    """Says whether an integer may have become a float that is another number."""
    for column in table.columns:
        for leaf in leaf_arrays(column):
            if pt.is_floating(leaf.type):
                largest = pc.max(pc.abs(leaf)).as_py()
                if largest is not None and largest >= 2**53:
                    return _BIG_INTEGER.search(data) is not None
    return False


def _too_deep(data: bytes) -> bool:
    """Says whether objects and arrays may be nested so deep that pyarrow would exhaust its stack."""
    if not _has_long_line(data):
        return False
    buffer = np.frombuffer(data, np.uint8)
    # Brackets inside strings count as well: that only sends a strange block to the slower parser.
    steps = _STEPS[buffer]
    return bool(np.cumsum(steps, dtype=np.int32).max(initial=0) > _DEEP)


def _has_long_line(data: bytes) -> bool:
    # From one line end to the last one within reach: few bytes are looked at.
    at = 0
    while len(data) - at > _LONG_LINE:
        end = bytes(data[at : at + _LONG_LINE]).rfind(b"\n")  # a view has no `rfind`
        if end < 0:
            return True
        at += end + 1
    return False


_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"{[")] = 1
_STEPS[list(b"}]")] = -1


def _check_depth(table: pa.Table, file: SourceFile, first_row: int) -> None:
    for field in table.schema:
        types, depth = [field.type], 0
        while types := [part.type for type_ in types for part in _parts(type_)]:
            depth += 1
            if depth > _DEEPEST:
                raise too_deep(file, first_row, column=field.name)


def whole_pairs(data: bytes, errors: str) -> bytes:
    r"""Replaces escapes of half a surrogate pair, which stand for no character.

    Args:
        data: JSON text.
        errors: ``"ignore"`` leaves them out; anything else puts U+FFFD in their place.

    Example:
        >>> whole_pairs(rb'["\ud800 \ud83c\udf3e \\ud800"]', "ignore")
        b'[" \\ud83c\\udf3e \\\\ud800"]'
    """
    if _HALF.search(data) is None:
        return data
    instead = b"" if errors == "ignore" else rb"\ufffd"
    return _ESCAPES.sub(lambda found: instead if found["half"] else found[0], data)


_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
# Escaped backslashes and whole pairs first, so that what is left over is half a pair.
_ESCAPES = re.compile(
    rb"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})", re.DOTALL
)


def _parts(type_: Any) -> Iterator[pa.Field]:
    return (type_.field(i) for i in range(type_.num_fields if pt.is_nested(type_) else 0))


def _exact(block: Block, file: SourceFile, first_row: int) -> pa.Table:
    rows = parse_rows(block, file, first_row)
    try:
        return table_from_rows(rows, file=file.name, first_row=first_row)
    except RecursionError as error:
        raise too_deep(file, first_row) from error


def parse_rows(block: Block, file: SourceFile, first_row: int) -> list[dict[str, Any]]:
    """Parses a block with Python's parser, exactly: a dict for each row.

    Args:
        block: The block.
        file: Its file, for errors.
        first_row: Index in the file of the block's first row, for errors.

    Raises:
        FileFormatError: Not JSON, or a key stands twice in an object; names line and row.
    """
    text = block.text(file)
    decoder = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_float=_finite)
    rows: list[dict[str, Any]] = []
    at = 0

    def line_at(place: int) -> int:  # to count for each row would take the square of the time
        return block.line + text.count("\n", 0, place) + 1

    # In what is left of an array, the commas between the rows were looked at before.
    between = " \t\r\n," if block.source else " \t\r\n"
    while (at := _skip(text, at, between)) < len(text):
        start = at
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            not_json(file, error, line=line_at(error.pos), row=first_row + len(rows))
        except RecursionError as error:
            raise too_deep(file, first_row + len(rows), line_at(start)) from error
        except ValueError as error:
            raise FileFormatError.at(
                _unusable(error), file=file.name, row=first_row + len(rows), line=line_at(start)
            ) from error
        if not isinstance(value, dict):
            raise FileFormatError.at(
                "a row must be a JSON object", file=file.name, row=first_row + len(rows), line=line_at(start)
            )
        rows.append(value)
    return rows


def _skip(text: str, at: int, characters: str) -> int:
    while at < len(text) and text[at] in characters:
        at += 1
    return at


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]  # add gives None: false
        raise ValueError(f'the key "{twice}" stands twice in one object')
    return made


def _unusable(error: ValueError) -> str:
    limit = sys.get_int_max_str_digits() if hasattr(sys, "get_int_max_str_digits") else 0
    return f"an integer has more than {limit} digits" if "digits" in str(error) else str(error)


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text:.40} is too large for a float")
    return number


def not_json(file: SourceFile, error: json.JSONDecodeError, *, line: int, row: int | None) -> NoReturn:
    """Raises the error for text that is no JSON."""
    raise FileFormatError.at(f"not valid JSON ({error.msg})", file=file.name, line=line, row=row) from error


def too_deep(
    file: SourceFile, row: int, line: int | None = None, column: str | None = None
) -> FileFormatError:
    """Words the error for values nested deeper than can be followed."""
    made: FileFormatError = FileFormatError.at(
        "values are nested too deep", file=file.name, row=row, line=line, column=column
    )
    return made


def unify_block(
    settled: pa.Schema | None,
    table: pa.Table,
    block: Block,
    file: SourceFile,
    first_row: int,
    clash: Clash = refuse,
) -> pa.Schema:
    """Widens the schema settled so far by that of a block; `clash` as for `unify_types`.

    Raises:
        SchemaConflictError: They conflict; names the first row at fault.
    """
    if settled is None or settled == table.schema:
        return table.schema
    try:
        return unify_schemas(settled, table.schema, file=file.name, row=first_row, clash=clash)
    except RecursionError as error:
        raise too_deep(file, first_row) from error
    except SchemaConflictError:
        _blame(settled, block, file, first_row)
        raise


def _blame(settled: pa.Schema, block: Block, file: SourceFile, first_row: int) -> None:
    """Looks for the first row that conflicts, by halving, and raises the error for it."""
    rows = parse_rows(block, file, first_row)
    low, high = 0, len(rows)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            unify_schemas(settled, table_from_rows(rows[low:middle]).schema)
        except DataError:
            high = middle
        else:
            low = middle
    if rows:
        unify_schemas(settled, table_from_rows(rows[low:high]).schema, file=file.name, row=first_row + low)
