"""Where rows came from: (source, revision, file, row in the file), kept as runs.

Rows that follow each other in a file are one run, so a dataset of a million rows out of ten files has ten runs; only a
shuffled copy of it has many, and those are made when someone asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gristmill.errors import DataError
from gristmill.table.selection import IndexVector, as_vector

Place = tuple["str | None", "str | None", "str | None"]
"""(source, revision, file); all None for rows of which nothing is known."""
_UNKNOWN: Place = (None, None, None)


@dataclass(frozen=True, eq=False)
class Origins:
    """The origin of each row of a table.

    Attributes:
        places: The distinct (source, revision, file).
        place_ids: For each run, the position of its place in `places`.
        starts: For each run, the row index in its file of its first row.
        lengths: For each run, its number of rows.

    Example:
        >>> origins = Origins.concat(
        ...     [
        ...         Origins.single("org/name", "abc", "a.csv", 2),
        ...         Origins.single("org/name", "abc", "b.csv", 1),
        ...     ]
        ... )
        >>> origins.take(range(1, 3)).to_table().to_pylist()[1]
        {'source': 'org/name', 'revision': 'abc', 'file': 'b.csv', 'row_index': 0}
    """

    places: tuple[Place, ...]
    place_ids: npt.NDArray[np.int32]
    starts: IndexVector
    lengths: IndexVector
    _ends: IndexVector = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ends", np.cumsum(self.lengths))

    @classmethod
    def single(cls, source: str, revision: str | None, file: str, rows: int, first_row: int = 0) -> Origins:
        """Makes the origins of consecutive rows of one file.

        Args:
            source: Repository id, URL or folder the file belongs to.
            revision: Commit, if the source has commits.
            file: Path of the file in its source.
            rows: Number of rows.
            first_row: Row index in the file of the first of them.
        """
        runs = 1 if rows else 0
        return cls(
            ((source, revision, file),),
            np.zeros(runs, np.int32),
            np.full(runs, first_row, np.int64),
            np.full(runs, rows, np.int64),
        )

    @classmethod
    def unknown(cls, rows: int) -> Origins:
        """Makes the origins of rows of which nothing is known, to stand beside others."""
        runs = 1 if rows else 0
        return cls(
            (_UNKNOWN,), np.zeros(runs, np.int32), np.zeros(runs, np.int64), np.full(runs, rows, np.int64)
        )

    @classmethod
    def concat(cls, parts: Iterable[Origins]) -> Origins:
        """Joins origins one after another."""
        known: dict[Place, int] = {}
        ids, starts, lengths = [], [], []
        for part in parts:
            mine = np.array([known.setdefault(place, len(known)) for place in part.places], np.int32)
            ids.append(mine[part.place_ids] if len(mine) else np.empty(0, np.int32))
            starts.append(part.starts)
            lengths.append(part.lengths)
        if not ids:
            return cls((), np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int64))
        return cls(tuple(known), np.concatenate(ids), np.concatenate(starts), np.concatenate(lengths))

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Origins) and bool(self.to_table().equals(other.to_table()))

    def take(self, indices: range | IndexVector | Sequence[int]) -> Origins:
        """Gives the origins of the rows asked for, in that order.

        Args:
            indices: Row numbers from 0, already checked.
        """
        if isinstance(indices, range) and indices.step == 1:
            return self.slice(indices.start, len(indices))
        rows = as_vector(indices) if isinstance(indices, range) else np.asarray(indices, np.int64)
        ids, row_index = self._expand(rows)
        if not len(rows):
            return Origins(self.places, ids, row_index, row_index)
        new_run = np.flatnonzero((np.diff(ids) != 0) | (np.diff(row_index) != 1)) + 1
        first = np.concatenate([[0], new_run])
        lengths = np.diff(np.concatenate([first, [len(rows)]]))
        return Origins(self.places, ids[first], row_index[first], lengths)

    def slice(self, start: int, length: int | None = None) -> Origins:
        """Gives the origins of `length` rows from `start` on (to the end if `length` is left out)."""
        stop = len(self) if length is None else min(len(self), start + length)
        begins = self._ends - self.lengths
        left, right = np.maximum(begins, start), np.minimum(self._ends, stop)
        kept = left < right
        return Origins(
            self.places, self.place_ids[kept], (self.starts + left - begins)[kept], (right - left)[kept]
        )

    def _expand(self, rows: IndexVector) -> tuple[npt.NDArray[np.int32], IndexVector]:
        runs = np.searchsorted(self._ends, rows, side="right")
        begins = self._ends - self.lengths
        return self.place_ids[runs], self.starts[runs] + rows - begins[runs]

    def to_table(self) -> pa.Table:
        """Writes the origins out, one row a row: source, revision, file, row_index."""
        ids, row_index = self._expand(np.arange(len(self), dtype=np.int64))
        codes = pa.array(ids, pa.int32())

        def column(position: int) -> pa.Array:
            names = pa.array([place[position] for place in self.places], pa.string())
            return names.take(codes)

        unknown = np.array([place == _UNKNOWN for place in self.places], np.bool_)
        mask = unknown[ids] if unknown.any() else None
        return pa.table(
            {
                "source": column(0),
                "revision": column(1),
                "file": column(2),
                "row_index": pa.array(row_index, pa.int64(), mask=mask),
            }
        )

    def to_json(self) -> dict[str, Any]:
        """Gives the runs as plain JSON values, for ``origins.json`` in a cache folder."""
        return {
            "places": [list(place) for place in self.places],
            "runs": np.stack([self.place_ids, self.starts, self.lengths], axis=1).tolist(),
        }

    @classmethod
    def from_json(cls, value: Any) -> Origins:
        """Reads what `to_json` gave.

        Raises:
            DataError: The value is not of that form.
        """
        try:
            places = tuple(
                (_text(source), _text(revision), _text(file)) for source, revision, file in value["places"]
            )
            runs = np.array(value["runs"], np.int64).reshape(-1, 3)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DataError.at("the record of where rows came from can't be read") from error
        if len(runs) and (runs.min() < 0 or int(runs[:, 0].max()) >= len(places)):
            raise DataError.at("the record of where rows came from names a place that is not in it")
        return cls(places, runs[:, 0].astype(np.int32), runs[:, 1], runs[:, 2])


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
