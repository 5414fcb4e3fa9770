"""The kinds of many short CSV columns, found together: calling Arrow's kernels for each would be what costs.

Columns whose first cells look like integers, or like floats, are laid one after another and read as such at once. Where
that fails, halves of them are tried, down to one column, which `csv_settle.settled` looks at. So one odd column among
thousands costs a few more calls, and what is found is what looking at each by itself finds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from gristmill.formats.csv_options import CsvOptions
from gristmill.formats.csv_settle import INTEGERS, begins_as_text, numbers_of_one_kind, of_integers, settled

__all__ = ["settled_together"]

_MOST_ROWS = 4096
"""Of longer columns the cells are what costs, not the calls; and laid together they would be copied."""
_FEWEST = 8
"""Fewer columns are looked at one by one."""
_MOST_CELLS = 1 << 22
_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)
_FLOAT = re.compile(r"-?[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?", re.ASCII)

Found = tuple[str, Any]
"""What `csv_settle.settled` gives."""
_LEAST = {"int": ("null", "blank", *INTEGERS), "float": ("null", "blank", *INTEGERS, "float")}
_TYPES: dict[str, Any] = {"int": pa.int64(), "float": pa.float64()}


def settled_together(columns: Sequence[Any], options: CsvOptions, least: Sequence[str]) -> list[Found]:
    """Finds the kind of each of several columns of one length, and makes values of it.

    Args:
        columns: Text; missing cells are null.
        options: The file's options.
        least: For each, the kind of its other cells, as for `settled`.

    Returns:
        For each column what `settled` gives.

    Example:
        >>> columns = [pa.array(["1", "2"]), pa.array(["0.5", "2"]), pa.array(["a", None])]
        >>> [kind for kind, _ in settled_together(columns * 4, CsvOptions(), ["null"] * 12)][:3]
        ['int', 'float', 'text']
    """
    found: dict[int, Found] = {}
    # With other signs, what looks like a fraction may be an integer.
    plain = not options.thousands and options.decimal == "."
    if plain and len(columns) >= _FEWEST and 0 < len(columns[0]) <= _MOST_ROWS:
        groups: dict[str, list[int]] = {"int": [], "float": []}
        for position, cells in enumerate(columns):
            kind = _looks_like(cells, options)
            if kind == "text":
                found[position] = ("text", None)
            elif kind in groups and least[position] in _LEAST[kind]:
                groups[kind].append(position)
        most = max(1, _MOST_CELLS // len(columns[0]))
        for kind, positions in groups.items():
            for start in range(0, len(positions), most):
                _settle(columns, positions[start : start + most], kind, options, found)
    return [
        found[position] if position in found else settled(cells, options, least[position])
        for position, cells in enumerate(columns)
    ]


def _looks_like(cells: Any, options: CsvOptions) -> str | None:
    """Says what the first cell that is not missing looks like; None if it does not tell."""
    if begins_as_text(cells, options):
        return "text"
    first = cells[0].as_py()
    if first is None:
        present = cells.drop_null()
        first = present[0].as_py() if len(present) else ""
    if _INTEGER.fullmatch(first):
        return "int"
    return "float" if first and _FLOAT.fullmatch(first) else None


def _settle(
    columns: Sequence[Any], positions: Sequence[int], kind: str, options: CsvOptions, found: dict[int, Found]
) -> None:
    """Settles columns as one kind, or as far as they are of it."""
    if len(positions) < _FEWEST:
        return
    rows = len(columns[0])
    together = pa.concat_arrays([columns[position] for position in positions])
    numbers = numbers_of_one_kind(together, _TYPES[kind], options)
    if numbers is not None:
        # One look at all of them: mostly none has a minus, and then none is of another kind.
        same = kind == "float" or of_integers(numbers) == kind
        for number, position in enumerate(positions):
            values = numbers.slice(number * rows, rows)
            found[position] = (kind if same else of_integers(values), values)
        return
    middle = len(positions) // 2
    for half in (positions[:middle], positions[middle:]):
        _settle(columns, half, kind, options, found)
