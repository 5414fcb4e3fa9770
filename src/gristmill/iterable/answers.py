"""What a function returned for some rows, put beside the columns that stay: the objects themselves, unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from gristmill.calling.caller import as_table
from gristmill.errors import TransformOutputError, shorten
from gristmill.formatting import LazyBatch
from gristmill.iterable.block import Block, Columns, Examples, Row


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
    if all(answer is None for answer in answers):
        return block.without(removed)
    if all(type(answer) is dict or isinstance(answer, Mapping) for answer in answers):
        if any(answer is row for answer, row in zip(answers, given, strict=True)):
            return _of_rows_given_back(answers, given, block, removed)
        return _of_dicts(name, answers, block, removed, start)
    tables = [as_table(answer) for answer in answers]
    for position, table in enumerate(tables):
        if table is None:
            problem = (
                "None, and something else for other rows"
                if answers[position] is None
                else shorten(answers[position])
            )
            raise TransformOutputError(
                f"{name} returned {problem} (row {start + position}); return a dict for every row."
            )
    return Columns.of_table(pa.concat_tables([table for table in tables if table is not None]))


def _of_dicts(
    name: str, answers: list[Mapping[str, Any]], block: Block, removed: Sequence[str], start: int
) -> Block:
    names = answers[0].keys()
    keys: set[Any] = {key for answer in answers for key in answer}
    odd = next((key for key in keys if not isinstance(key, str)), None)
    if odd is not None:
        raise TransformOutputError(
            f"{name} returned a dict with the key {odd!r} (row {start}); column names are strings."
        )
    if isinstance(block, Columns) and all(answer.keys() == names for answer in answers):
        kept = block.without(removed)
        new = {key: [answer[key] for answer in answers] for key in names}
        return Columns({**kept.columns, **new}, block.num_rows, _of_arrow(kept, new))
    rows = block.without(removed).rows()
    return Examples([{**row, **answer} for row, answer in zip(rows, answers, strict=True)])


def _of_rows_given_back(
    answers: list[Mapping[str, Any]], given: Sequence[Any], block: Block, removed: Sequence[str]
) -> Block:
    """Takes rows that the function was given and changed in place: what it deleted is gone."""
    before = block.rows() if removed else []
    rows: list[Row] = []
    for position, (answer, row) in enumerate(zip(answers, given, strict=True)):
        if answer is not row:
            base = {key: value for key, value in row.items() if key not in removed}
            rows.append({**base, **answer})
        elif removed:
            old = before[position]
            rows.append(
                {
                    key: value
                    for key, value in answer.items()
                    if key not in removed or key not in old or not _same(value, old[key])
                }
            )
        else:
            rows.append(dict(answer))
    examples = Examples(rows)
    changed = examples.columns()
    if changed is None or not isinstance(block, Columns):
        return changed or examples
    return _unchanged_as_before(changed, block, given)


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(one is other or one == other)
    except Exception:  # noqa: BLE001  # arrays and objects compare as they like
        return False


def _unchanged_as_before(changed: Columns, block: Columns, given: Sequence[Any]) -> Columns:
    """Puts back the Arrow columns whose values cannot have been changed in place and were not replaced."""
    columns: dict[str, Any] = {}
    for name, values in changed.columns.items():
        column = block.columns.get(name)
        same = (
            isinstance(column, pa.ChunkedArray)
            and not pa.types.is_nested(column.type)
            and not isinstance(column.type, pa.BaseExtensionType)
            and column.to_pylist() == values
            and set(map(type, values)) <= _UNCHANGEABLE
        )
        columns[name] = column if same else values
    return Columns(
        columns, changed.num_rows, _of_arrow(block, {n: v for n, v in columns.items() if type(v) is list})
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
        return Columns.of_table(table)
    new = {key: _column(name, key, values, start) for key, values in answer.items()}
    lengths = {key: len(values) for key, values in new.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{key}: {length}" for key, length in list(lengths.items())[:10])
        raise TransformOutputError(f"{name} returned columns of different lengths ({shown}) (row {start}).")
    kept = block.without(gone)
    if not new:
        return kept
    rows = next(iter(lengths.values()))
    by_column = kept if isinstance(kept, Columns) else kept.columns() or Columns.of_table(*kept.table())
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
    return Columns(columns, rows, _of_arrow(by_column, new))


def _column(name: str, key: Any, values: Any, start: int) -> Any:
    if not isinstance(key, str):
        raise TransformOutputError(
            f"{name} returned a dict with the key {key!r} (row {start}); column names are strings."
        )
    if isinstance(values, pa.Array):
        return pa.chunked_array([values])
    if isinstance(values, pa.ChunkedArray | list):
        return values
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
        raise TransformOutputError(
            f'{name} returned {shorten(values, 60)} for column "{key}" (row {start}); with batched=True it must be a list '
            "or array with one value a row."
        )
    to_list = getattr(values, "to_list", None)  # a Series is indexed by labels, not by place
    return to_list() if to_list is not None else values
