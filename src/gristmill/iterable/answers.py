"""What a function returned for some rows, put beside the columns that stay: the objects themselves, unchanged."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.calling.caller import as_table
from gristmill.calling.masks import length_of
from gristmill.errors import TransformOutputError, shorten
from gristmill.features.build import array_from_values
from gristmill.features.value_types import types_of
from gristmill.formatting import LazyBatch
from gristmill.iterable.block import Block, Columns, Row, gathered, join, parts_of
from gristmill.iterable.origin import Origin, Run
from gristmill.table.selection import IndexVector


def of_rows(
    name: str, answers: list[Any], given: Sequence[Any], block: Block, removed: Sequence[str], start: int
) -> Block:
    """Gives the rows after a function was called on each.

    Args:
        name: What to call the function in messages.
        answers: What it returned.
        given: What it was given, for each row.
        block: The rows before.
        removed: Columns that go unless the function returns them anew.
        start: Number of the first row.

    Raises:
        TransformOutputError: An answer is no row.
    """
    kinds = types_of(answers)
    if kinds <= {type(None)}:
        return block.without(removed)
    if not all(kind is type(None) or issubclass(kind, Mapping) for kind in kinds):
        alone = [block.slice(at, at + 1) for at in range(block.num_rows)]
        return join(
            [
                _of_any(name, answer, row, one, removed, start + at)
                for at, (answer, row, one) in enumerate(zip(answers, given, alone, strict=True))
            ]
        )
    if (
        isinstance(block, Columns)
        and kinds == {dict}
        and (names := _one_set_of_keys(answers, given)) is not None
    ):
        _check_keys(name, names, start)
        return _beside(block.without(removed), names, answers)
    made: list[tuple[IndexVector, Columns]] = []
    for places, part in parts_of(block):
        mine = [(answers[place], given[place], start + place) for place in places.tolist()]
        made += [(places[rows], changed) for rows, changed in _of_part(name, mine, part, removed)]
    return gathered(made, block.num_rows)


def _of_any(name: str, answer: Any, given: Any, row: Block, removed: Sequence[str], number: int) -> Block:
    if answer is None or isinstance(answer, Mapping):
        return of_rows(name, [answer], [given], row, removed, number)
    table = as_table(answer)
    if table is None:
        raise TransformOutputError(
            f"{name} returned {shorten(answer)} (row {number}); return a dict for every row."
        ).about(number)
    return Columns.of_table(table, origin=row.origin if table.num_rows == 1 else None)


def _of_part(
    name: str, answers: Sequence[tuple[Any, Any, int]], part: Columns, removed: Sequence[str]
) -> Iterator[tuple[IndexVector, Columns]]:
    """Puts answers beside the rows of one part; those with the same keys stay together.

    Args:
        name: What to call the function in messages.
        answers: What it returned, what it was given, and the number of the row.
        part: The rows before.
        removed: Columns that go.
    """
    returned: dict[tuple[Any, ...] | None, list[int]] = {}
    given_back: list[int] = []
    for at, (answer, row, _) in enumerate(answers):
        if answer is not None and answer is row:
            given_back.append(at)
        else:
            returned.setdefault(None if answer is None else tuple(answer), []).append(at)
    kept = part.without(removed)
    for names, rows in returned.items():
        base = _taken(kept, rows)
        if names is None:
            yield np.array(rows, np.int64), base
            continue
        _check_keys(name, names, answers[rows[0]][2])
        yield np.array(rows, np.int64), _beside(base, names, [answers[at][0] for at in rows])
    if given_back:
        changed = [answers[at][0] for at in given_back]
        for rows_of_it, columns in _of_changed_rows(changed, _taken(part, given_back), removed):
            _check_keys(name, columns.names, answers[given_back[0]][2])
            yield np.array(given_back, np.int64)[rows_of_it], columns


def _one_set_of_keys(answers: Sequence[Any], given: Sequence[Any]) -> tuple[Any, ...] | None:
    """Gives the keys of dicts if all have the same ones, in one order, and none is the row that was given."""
    if any(map(operator.is_, answers, given)):
        return None
    names = set(map(tuple, answers))
    return names.pop() if len(names) == 1 else None


def _beside(base: Columns, names: Sequence[str], answers: Sequence[Mapping[str, Any]]) -> Columns:
    """Puts what answers have under some keys beside columns, or in their place."""
    new = {key: list(map(operator.itemgetter(key), answers)) for key in names}
    return Columns({**base.columns, **new}, len(answers), _of_arrow(base, new), base.origin)


def _taken(part: Columns, rows: list[int]) -> Columns:
    return part if len(rows) == part.num_rows else part.take(np.array(rows, np.int64))


def _check_keys(name: str, names: Sequence[Any], row: int) -> None:
    odd = next((key for key in names if not isinstance(key, str)), None)
    if odd is not None:
        raise TransformOutputError(
            f"{name} returned a dict with the key {odd!r} (row {row}); column names are strings."
        ).about(row)


def _of_changed_rows(
    rows: Sequence[Row], part: Columns, removed: Sequence[str]
) -> Iterator[tuple[IndexVector, Columns]]:
    """Takes rows that the function was given and changed in place: what it deleted is gone.

    A value that cannot have been changed, and was not replaced, stays Arrow's.
    """
    before = part.rows() if removed else []
    alike: dict[tuple[Any, ...], list[int]] = {}
    for at, row in enumerate(rows):
        names = tuple(
            key
            for key in row
            if key not in removed or key not in before[at] or not _same(row[key], before[at][key])
        )
        alike.setdefault(names, []).append(at)
    for names, numbers in alike.items():
        here = np.array(numbers, np.int64)
        old = _taken(part, numbers)
        values = {key: [rows[at][key] for at in numbers] for key in names}
        stays = np.array([_unchanged(old.columns.get(key), values[key]) for key in names])
        patterns = np.unique(stays, axis=1) if len(names) else np.ones((0, 1), np.bool_)
        for pattern in patterns.T:
            chosen = np.flatnonzero((stays == pattern[:, None]).all(axis=0)) if len(names) else here
            several = old if len(chosen) == old.num_rows else old.take(chosen)
            columns = {
                key: several.columns[key] if same else [values[key][at] for at in chosen.tolist()]
                for key, same in zip(names, pattern.tolist(), strict=True)
            }
            new = {key: None for key, same in zip(names, pattern.tolist(), strict=True) if not same}
            changed = Columns(columns, len(chosen), _of_arrow(part, new), several.origin)
            yield here[chosen] if len(names) else here, changed


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(one is other or one == other)
    except Exception:  # noqa: BLE001  # arrays and objects compare as they like
        return False


def _unchanged(column: Any, values: list[Any]) -> Any:
    """Says for each value whether it is the column's own."""
    if (
        not isinstance(column, pa.ChunkedArray)
        or pa.types.is_nested(column.type)
        or isinstance(column.type, pa.BaseExtensionType)
    ):
        return np.zeros(len(values), np.bool_)
    return np.fromiter(
        (
            type(value) is type(old)
            and type(value) in _UNCHANGEABLE
            and (value == old or (value != value and old != old))  # NaN
            for value, old in zip(values, column.to_pylist(), strict=True)
        ),
        np.bool_,
        len(values),
    )


_UNCHANGEABLE = {str, bytes, int, float, bool, type(None)}


def _of_arrow(kept: Columns, new: Mapping[str, Any]) -> dict[str, Any]:
    return {name: feature for name, feature in kept.features.items() if name not in new}


def of_batch(name: str, answer: Any, block: Block, removed: Sequence[str], start: int) -> Block:
    """Gives the rows after a function was called on all of them at once.

    Args:
        name: What to call the function in messages.
        answer: What it returned.
        block: The rows before.
        removed: Columns that go unless the function returns them anew.
        start: Number of the first row.

    Raises:
        TransformOutputError: The answer can't become rows.
    """
    gone = [*removed]
    if answer is None:
        return block.without(removed)
    if isinstance(answer, LazyBatch):
        gone += answer.removed
        answer = answer.changes
    if not isinstance(answer, Mapping):
        table = as_table(answer)
        if table is None:
            raise TransformOutputError(
                f"{name} returned {shorten(answer)} (row {start}), not a dict of columns or None."
            )
        return Columns.of_table(table, origin=_origin_of_answer(name, block, table.num_rows))
    new = {key: _column(name, key, values, start) for key, values in answer.items()}
    lengths = {key: len(values) for key, values in new.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{key}: {length}" for key, length in list(lengths.items())[:10])
        raise TransformOutputError(f"{name} returned columns of different lengths ({shown}) (row {start}).")
    kept = block.without(gone)
    if not new:
        return kept
    rows = next(iter(lengths.values()))
    by_column = (
        kept
        if isinstance(kept, Columns)
        else kept.columns() or Columns.of_table(*kept.table(), origin=kept.origin)
    )
    stay = by_column.without(list(new))
    if rows != block.num_rows and stay.columns:
        left = stay.names[:10]
        raise TransformOutputError(
            f"{name} returned {rows} values a column for the {block.num_rows} rows from row {start} on, but not for the "
            f"columns {', '.join(left)}, which have {block.num_rows} values. Return all columns, or pass "
            f"remove_columns={left}."
        )
    order = {**dict.fromkeys(by_column.columns), **dict.fromkeys(new)}
    columns = {key: new[key] if key in new else by_column.columns[key] for key in order}
    origin = _origin_of_answer(name, block, rows)
    return Columns(columns, rows, _of_arrow(by_column, new), origin)


def _origin_of_answer(name: str, block: Block, rows: int) -> Origin | None:
    """Says where rows of a batch's answer come from: as many as were given are those that were given."""
    if rows == block.num_rows or block.origin is None:
        return block.origin
    place = block.origin.at(0)
    return (
        None if place is None else Run(f"what {name} returned for the rows from {place} on", 0, is_file=False)
    )


def _column(name: str, key: Any, values: Any, start: int) -> Any:
    if not isinstance(key, str):
        raise TransformOutputError(
            f"{name} returned a dict with the key {key!r} (row {start}); column names are strings."
        )
    if isinstance(values, list):
        return values
    if isinstance(values, pa.Array | pa.ChunkedArray):
        array = array_from_values(values, column=key)
        return pa.chunked_array([array]) if isinstance(array, pa.Array) else array
    if isinstance(values, str | bytes | Mapping) or length_of(values) is None:
        raise TransformOutputError(
            f'{name} returned {shorten(values, 60)} for column "{key}" (row {start}); with batched=True it must be a list '
            "or array with one value a row."
        )
    to_list = getattr(values, "to_list", None)  # a Series is indexed by labels, not by place
    return to_list() if to_list is not None else values
