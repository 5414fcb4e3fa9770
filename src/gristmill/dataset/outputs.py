"""What the user's function returned, as an Arrow table: columns checked, types kept or inferred."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from gristmill.dataset.calling import as_table
from gristmill.errors import CastError, SchemaConflictError, TransformOutputError, shorten
from gristmill.features.build import array_from_values
from gristmill.formatting import LazyBatch, LazyRow
from gristmill.formatting.lazy import Block
from gristmill.table.view import rows_without_columns

_NOTHING = type(None)


@dataclass
class Outputs:
    """Turns answers into tables, block after block.

    Attributes:
        name: What to call the function in messages.
        features: Features the user asked for, by column.
        types: The type to try first for each column: the original one, then the one found so far.
        removed: Columns that the function deleted from the row it was given.
        replaces: The function returned tables, which stand for all columns.
        answered: "nothing" or "something", once known: a function may not do both.
    """

    name: str
    features: Mapping[str, Any] | None
    types: dict[str, pa.DataType]
    removed: set[str] = field(default_factory=set)
    replaces: bool = False
    answered: str | None = None

    def of_rows(self, answers: list[Any], block: Block, start: int) -> pa.Table | None:
        """Makes the table of one block, a row an answer; None if the function returned nothing.

        Args:
            answers: What it returned for each row.
            block: The rows.
            start: Row number of the first.

        Raises:
            TransformOutputError: An answer can't become a row; names it.
        """
        kinds = set(map(type, answers))
        self._check_answered(answers, kinds, start)
        if self.answered == "nothing":
            return None
        if kinds == {dict}:
            return self._of_dicts(answers, block, start)
        if kinds == {LazyRow}:
            for position, answer in enumerate(answers):
                self._note_removed(answer.removed, start + position)
            return self._of_dicts([answer.changes for answer in answers], block, start)
        if all(issubclass(kind, Mapping) for kind in kinds):
            plain = [answer.changes if isinstance(answer, LazyRow) else answer for answer in answers]
            return self._of_dicts(plain, block, start)
        tables = [as_table(answer) for answer in answers]
        for position, table in enumerate(tables):
            if table is None:
                raise self._bad(
                    start + position, f"returned {shorten(answers[position])}, not a dict or None"
                )
        self.replaces = True
        return pa.concat_tables([table for table in tables if table is not None])

    def of_batch(self, answer: Any, block: Block, start: int) -> pa.Table | None:
        """Makes the table of one batch; None if the function returned nothing.

        Args:
            answer: What it returned.
            block: The rows it was given.
            start: Row number of the first.

        Raises:
            TransformOutputError: The answer can't become rows.
        """
        self._check_answered([answer], {type(answer)}, start)
        if answer is None:
            return None
        if isinstance(answer, LazyBatch):
            self._note_removed(answer.removed, start)
            answer = answer.changes
        if isinstance(answer, Mapping):
            return self._of_columns(answer, block, start)
        table = as_table(answer)
        if table is None:
            raise self._bad(start, f"returned {shorten(answer)}, not a dict of columns or None")
        self.replaces = True
        return table

    def _check_answered(self, answers: list[Any], kinds: set[type], start: int) -> None:
        if not kinds:
            return
        for kind in kinds:
            found = "nothing" if kind is _NOTHING else "something"
            if self.answered is None:
                self.answered = "nothing" if type(answers[0]) is _NOTHING else "something"
            if found != self.answered:
                odd = next(i for i, answer in enumerate(answers) if (answer is None) == (kind is _NOTHING))
                raise self._bad(
                    start + odd,
                    f"returned {'None' if kind is _NOTHING else 'a dict'}, and "
                    f"{'dicts' if kind is _NOTHING else 'None'} for the rows before; return a dict for every row "
                    "(an empty one changes nothing), or None for every row",
                )

    def _note_removed(self, removed: set[str], row: int) -> None:
        if removed - self.removed:
            self.removed |= removed

    def _of_dicts(self, answers: Sequence[Mapping[str, Any]], block: Block, start: int) -> pa.Table:
        names = dict.fromkeys(answers[0])
        if any(answer.keys() != names.keys() for answer in answers):
            for answer in answers:
                names.update(dict.fromkeys(answer))
            answers = [self._completed(answer, names, block, row) for row, answer in enumerate(answers)]
        odd = next((name for name in names if not isinstance(name, str)), None)
        if odd is not None:
            raise self._bad(start, f"returned a dict with the key {odd!r}; column names are strings")
        if not names:
            return rows_without_columns(len(answers))
        return self._table(
            {name: [answer[name] for answer in answers] for name in names}, start, len(answers)
        )

    def _completed(
        self, answer: Mapping[str, Any], names: Mapping[str, None], block: Block, row: int
    ) -> Mapping[str, Any]:
        # A column that this answer leaves out stays as it was; a new one has no value here.
        if len(answer) == len(names):
            return answer
        return {
            name: answer[name]
            if name in answer
            else block.column(name)[row]
            if name in block.names and name not in self.removed
            else None
            for name in names
        }

    def _of_columns(self, answer: Mapping[str, Any], block: Block, start: int) -> pa.Table:
        lengths: dict[str, int] = {}
        for name, values in answer.items():
            if not isinstance(name, str):
                raise self._bad(start, f"returned a dict with the key {name!r}; column names are strings")
            if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
                raise self._bad(
                    start,
                    f'returned {shorten(values, 60)} for column "{name}"; with batched=True it must be a list or array '
                    "with one value a row",
                )
            lengths[name] = len(values)
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name}: {length}" for name, length in list(lengths.items())[:10])
            raise self._bad(start, f"returned columns of different lengths ({shown})")
        if not answer:
            return rows_without_columns(block.num_rows)
        return self._table(dict(answer), start, next(iter(lengths.values())))

    def _table(self, columns: Mapping[str, Any], start: int, rows: int) -> pa.Table:
        arrays = {}
        for name, values in columns.items():
            try:
                arrays[name] = self._array(name, values)
            except (SchemaConflictError, CastError) as error:
                # The row in the error counts from the start of what the function was given.
                raise TransformOutputError(
                    f"{self.name} returned values that can't be stored together, counted from row {start}: {error}"
                ) from error
        return pa.table(arrays)

    def _array(self, name: str, values: Any) -> Any:
        if self.features is not None and name in self.features:
            return array_from_values(values, self.features[name], column=name)
        hint = self.types.get(name)
        if hint is not None and type(values) is list and not _holds_structs(hint):
            try:
                return pa.array(values, hint)
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                hint = None  # not of that type: the values decide
        array = array_from_values(values, column=name)
        if hint is not None and array.type != hint and pa.types.is_null(array.type):
            array = array.cast(hint)
        self.types[name] = array.type
        return array

    def _bad(self, row: int, problem: str) -> TransformOutputError:
        return TransformOutputError(f"{self.name} {problem} (row {row}).")


def _holds_structs(kind: pa.DataType) -> bool:
    # Arrow drops keys that a struct type does not have, without a word.
    return pa.types.is_struct(kind) or any(_holds_structs(kind.field(i).type) for i in range(kind.num_fields))
