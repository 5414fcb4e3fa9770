"""What the user's function returned, as an Arrow table: columns checked, types kept or inferred."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Any

import pyarrow as pa

from gristmill.calling.alike import Alike
from gristmill.calling.caller import as_table
from gristmill.calling.masks import length_of
from gristmill.calling.taking import alike_types, has_infinity, takes_as_they_are
from gristmill.errors import CastError, SchemaConflictError, TransformOutputError, shorten
from gristmill.features.build import array_from_values
from gristmill.features.cast import cast_array
from gristmill.features.columnless import concat_tables, without_columns
from gristmill.features.convert import from_arrow_type, to_arrow_type
from gristmill.features.kinds import ClassLabel
from gristmill.features.mixed import array_of_mixed
from gristmill.features.value_types import alike_in, types_of
from gristmill.formatting import LazyBatch, LazyRow
from gristmill.formatting.lazy import Block

_NOTHING = type(None)
_UNCHANGEABLE = {str, bytes, int, float, bool, _NOTHING}
_INT_LISTS = pa.list_(pa.int64())


@dataclass
class Outputs:
    """Turns answers into tables, block after block.

    Attributes:
        name: What to call the function in messages.
        features: Features the user asked for, by column.
        types: The type to try first for each column: the original one, then the one found so far.
        labels: The features of columns that say more than a type does (names of classes, shapes, `Json`); new values of
            such a column are stored as it says, if they fit.
        classes: The features of columns with class labels in them: new values that are stored as ids are checked.
        mixed: Values without a common type become `Json`; else they are an error.
        kept: Columns that stay in their files if the function gives back the very values it was given.
        removed: Columns that the function deleted from the row it was given.
        replaces: The function returned tables, which stand for all columns.
        answered: "nothing" or "something", once known: a function may not do both.
    """

    name: str
    features: Mapping[str, Any] | None
    types: dict[str, pa.DataType]
    labels: Mapping[str, Any]
    classes: Mapping[str, Any] = field(default_factory=dict)
    mixed: bool = False
    kept: frozenset[str] = frozenset()
    removed: set[str] = field(default_factory=set)
    replaces: bool = False
    answered: str | None = None

    def of_rows(self, answers: Alike | list[Any], block: Block, start: int) -> pa.Table | None:
        """Makes the table of one block, a row an answer; None if the function returned nothing.

        Args:
            answers: What it returned for each row.
            block: The rows.
            start: Row number of the first.

        Raises:
            TransformOutputError: An answer can't become a row; names it.
        """
        if isinstance(answers, Alike):
            return self.of_columns(self.changed_columns(answers, block, start), start, len(answers))
        kinds = types_of(answers)
        if LazyRow in kinds and not all(given := block.has_given(answers)):
            # A row that the function had kept stands for its own values, and not for those of the row it was called with.
            kept = [type(answer) is LazyRow and not mine for answer, mine in zip(answers, given, strict=True)]
            answers = [dict(answer) if other else answer for answer, other in zip(answers, kept, strict=True)]
            kinds = types_of(answers)
        self._check_answered(answers, kinds, start)
        if self.answered == "nothing":
            return None
        if kinds == {dict}:
            return self._of_dicts(answers, block, start, plain=True)
        if kinds == {LazyRow}:
            self._note_removed(set().union(*filter(None, map(attrgetter("removed"), answers))))
            return self._of_dicts(list(map(attrgetter("changes"), answers)), block, start, plain=True)
        if all(issubclass(kind, Mapping) for kind in kinds):
            plain = [answer.changes if isinstance(answer, LazyRow) else answer for answer in answers]
            return self._of_dicts(plain, block, start, plain=False)
        tables = [as_table(answer) for answer in answers]
        if any(table is None for table in tables):
            # Where some are dicts, those are right and the others are not.
            right = (Mapping,) if any(isinstance(answer, Mapping) for answer in answers) else ()
            odd = next(
                position
                for position, answer in enumerate(answers)
                if not (isinstance(answer, right) if right else tables[position] is not None)
            )
            raise self._bad(start + odd, f"returned {shorten(answers[odd])}, not a dict or None")
        self.replaces = True
        return concat_tables([table for table in tables if table is not None])

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
        if isinstance(answer, LazyBatch) and not answer.is_of(block):
            answer = dict(answer)  # one that the function had kept stands for its own values
        elif isinstance(answer, LazyBatch):
            self._note_removed(answer.removed)
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

    def _note_removed(self, removed: set[str]) -> None:
        if removed - self.removed:
            self.removed |= removed

    def changed_columns(self, answers: Alike, block: Block, start: int) -> dict[str, list[Any]]:
        """Gives the columns of dicts taken apart, without those that are just as they were.

        Args:
            answers: What the function returned.
            block: The rows.
            start: Row number of the first.

        Raises:
            TransformOutputError: It returned None for the rows before.
        """
        self._check_answered([{}], {dict}, start)
        columns = zip(answers.names, answers.columns, strict=True)
        return {name: values for name, values in columns if not self._untouched(name, values, block)}

    def of_columns(self, columns: Mapping[str, Any], start: int, rows: int) -> pa.Table:
        """Makes the table of columns of values.

        Args:
            columns: The columns.
            start: Row number of the first value.
            rows: How many rows there are.

        Raises:
            TransformOutputError: They can't be stored.
        """
        return self._table(columns, start) if columns else without_columns(rows)

    def _of_dicts(
        self, answers: Sequence[Mapping[str, Any]], block: Block, start: int, *, plain: bool
    ) -> pa.Table:
        names: dict[Any, None] = dict.fromkeys(answers[0])
        # Of other mappings, some have an answer for keys that they do not have.
        columns = _columns_of_like(answers) if plain else None
        if columns is None:
            for answer in answers:
                names.update(dict.fromkeys(answer))
            completed = [self._completed(answer, names, block, row) for row, answer in enumerate(answers)]
            columns = {name: [answer[name] for answer in completed] for name in names}
        for name in names:
            if not isinstance(name, str):
                raise self._bad(start, f"returned a dict with the key {name!r}; column names are strings")
        columns = {
            name: values for name, values in columns.items() if not self._untouched(name, values, block)
        }
        return self.of_columns(columns, start, len(answers))

    def _untouched(self, name: str, values: Sequence[Any], block: Block) -> bool:
        """Says whether values are the block's own, as in ``{**row, "new": 1}``: such a column need not be written.

        Only where the very same objects tell: a list may have been changed in place.
        """
        given = block.columns.get(name) if name in self.kept else None
        return (
            type(given) is list
            and len(given) == len(values)
            and all(map(operator.is_, values, given))
            and types_of(given) <= _UNCHANGEABLE
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
            length = None if isinstance(values, str | bytes | Mapping) else length_of(values)
            if length is None:
                raise self._bad(
                    start,
                    f'returned {shorten(values, 60)} for column "{name}"; with batched=True it must be a list or array '
                    "with one value a row",
                )
            lengths[name] = length
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name}: {length}" for name, length in list(lengths.items())[:10])
            raise self._bad(start, f"returned columns of different lengths ({shown})")
        if not answer:
            return without_columns(block.num_rows)
        return self._table(dict(answer), start)

    def is_plain(self, name: str) -> bool:
        """Says whether nothing but its type is known of a column."""
        return self.features is None and name not in self.labels and name not in self.classes

    def _table(self, columns: Mapping[str, Any], start: int) -> pa.Table:
        return pa.table({name: self._stored(name, values, start) for name, values in columns.items()})

    def _stored(self, name: str, values: Any, start: int) -> Any:
        try:
            array = self._array(name, values, start)
        except (SchemaConflictError, CastError) as error:
            raise TransformOutputError(
                f"{self.name} returned values that can't be stored together: {error}"
            ) from error
        feature = self.classes.get(name)
        if feature is not None and array.type == to_arrow_type(feature):
            self._check_classes(name, array, feature, start)
        return array

    def _check_classes(self, name: str, array: Any, feature: Any, start: int) -> None:
        try:
            cast_array(array, feature, column=name, first_row=start)
        except CastError as error:
            raise TransformOutputError(
                f"{self.name} returned what is no class of its column: {error} "
                "If it is to hold other numbers, say so with features=."
            ) from error

    def _array(self, name: str, values: Any, start: int) -> Any:
        if self.features is not None and name in self.features:
            return array_from_values(values, self.features[name], column=name, first_row=start)
        hint, label = self.types.get(name), self.labels.get(name)
        if label is not None and not isinstance(label, ClassLabel):
            try:
                return array_from_values(values, label, column=name, first_row=start)
            except (CastError, SchemaConflictError):
                pass  # something else by now: the values decide
        # Lists of whole numbers are not looked at twice: without a hint they are made as fast.
        known = hint is not None and hint != _INT_LISTS
        if known and type(values) is list and takes_as_they_are(hint, values):
            try:
                array = pa.array(values, hint)
                if not has_infinity(array):
                    return array  # an infinity may be a number too large for the type
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                pass  # not of that type after all: the values decide
        make = array_of_mixed if self.mixed else array_from_values
        array = make(values, column=name, first_row=start)
        if hint is not None and array.type != hint:
            array = self._as_before(name, array, hint)
        self.types[name] = array.type
        return array

    def _as_before(self, name: str, array: Any, hint: pa.DataType) -> Any:
        """Brings values back to the type their column had, if that changes none of them."""
        label = self.labels.get(name)
        try:
            if label is not None and pa.types.is_string(array.type):
                return cast_array(array, label)
            if alike_types(array.type, hint):
                return cast_array(array, from_arrow_type(hint))
        except (pa.ArrowException, CastError):
            return array
        return array

    def _bad(self, row: int, problem: str) -> TransformOutputError:
        return TransformOutputError(f"{self.name} {problem} (row {row}).")


def _columns_of_like(answers: Sequence[Mapping[Any, Any]]) -> dict[Any, list[Any]] | None:
    """Takes dicts apart into columns if all have the same keys, which most have; None if they do not."""
    if not alike_in(answers, len):
        return None
    try:
        return {name: list(map(itemgetter(name), answers)) for name in answers[0]}
    except KeyError:
        return None
