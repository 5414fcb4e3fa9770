"""CSV rows of a stream: types by the head of the file, cells that do not fit with a type of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.formats.csv_options import CsvOptions
from gristmill.formats.csv_settle import INTEGERS, KINDS, convert, kind_of, settled, wider
from gristmill.formats.loose import Part, Places

__all__ = ["cells_by_head", "parts_by_row"]

_NUMBER = r"^[ \t]*[-+]?[0-9.]+([eE][-+]?[0-9]+)?[ \t]*$|[iI]nf"
_FEW = 16


def cells_by_head(cells: pa.Array, head: str, options: CsvOptions) -> list[Part]:
    """Makes values of the cells of a column.

    Args:
        cells: Text; missing cells are null.
        head: The kind of the column in the head of the file.
        options: The file's options.

    Returns:
        Values of one type, each time with the places of their cells. A cell that is not of the kind is a number if it is
        one and the others are numbers too, else the text that stands there.
    """
    rows = np.arange(len(cells))
    if head in ("null", "blank", "text"):
        return [(rows, cells)]
    kind, values = settled(cells, options, head)
    if _is_as(kind, head):
        return [(rows, _of_kind(cells, head, options) if values is None else _cast(values, KINDS[head]))]
    found: dict[str, list[Any]] = {}
    maybe = np.ones(len(cells), np.bool_)
    if head != "bool" and not options.thousands and options.decimal == ".":
        # Most cells that are no numbers are seen to be none at once.
        matches = pc.match_substring_regex(cells, _NUMBER).fill_null(True)
        maybe = matches.to_numpy(zero_copy_only=False)
        found["text"] = [np.flatnonzero(~maybe)]
    waiting = [np.flatnonzero(maybe)]
    while waiting:
        places = waiting.pop()
        if not len(places):
            continue
        several = cells.take(pa.array(places))
        kind = kind_of(several, options)
        if _is_as(kind, head):
            found.setdefault(head, []).append(places)
        elif len(places) == 1:
            found.setdefault(kind if _is_number_beside(kind, head) else "text", []).append(places)
        else:
            middle = len(places) // 2
            waiting += [places[:middle], places[middle:]]
    parts: list[Part] = []
    for name, pieces in found.items():
        places = np.sort(np.concatenate(pieces))
        if len(places):
            parts.append((places, _of_kind(cells.take(pa.array(places)), name, options)))
    return parts


def _is_as(kind: str, head: str) -> bool:
    """Says whether cells of a kind can be values of the kind of the head."""
    signed = all(name in INTEGERS and name != "unsigned" for name in (kind, head))
    return kind in ("null", "blank") or wider(head, kind) == head or signed


def _is_number_beside(kind: str, head: str) -> bool:
    """Says whether a cell that does not fit a column of integers is a number all the same."""
    return head in INTEGERS and (kind in INTEGERS or (kind == "float" and INTEGERS[head][0] == 0))


def _of_kind(cells: pa.Array, kind: str, options: CsvOptions) -> pa.Array:
    return convert(cells, kind, options)


def _cast(values: pa.Array, type_: pa.DataType) -> pa.Array:
    return values if values.type == type_ else values.cast(type_)


def parts_by_row(columns: dict[str, list[Part]], rows: int) -> list[Part]:
    """Puts columns side by side: rows whose values have the same types stay together.

    Args:
        columns: The values of each column, in parts of one type.
        rows: How many rows.
    """
    choices = np.zeros((len(columns), rows), np.int16)
    for number, parts in enumerate(columns.values()):
        for choice, (places, _) in enumerate(parts):
            choices[number, places] = choice
    found: list[Part] = []
    for pattern in (
        np.unique(choices, axis=1).T if any(len(p) > 1 for p in columns.values()) else [choices[:, 0]]
    ):
        here: Places = np.flatnonzero((choices == pattern[:, None]).all(axis=0))
        values = []
        for parts, choice in zip(columns.values(), pattern.tolist(), strict=True):
            places, array = parts[choice]
            whole = len(here) == len(places)
            values.append(array if whole else array.take(pa.array(np.searchsorted(places, here))))
        found.append((here, pa.RecordBatch.from_arrays(values, names=list(columns))))
    return found
