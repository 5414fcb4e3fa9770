"""Columns of class labels: made from values, or brought to the ids that a model knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.arguments import check_column, whole_number
from gristmill.dataset.place import Place
from gristmill.dataset.rewriting import rewrite
from gristmill.dataset.sorting import comparable, distinct_values
from gristmill.errors import InvalidArgumentError, suggest
from gristmill.features import ClassLabel, Features, LargeList, List, Value
from gristmill.table.view import View


@dataclass(frozen=True)
class _Encode:
    """Replaces values by class ids."""

    name: str
    values: pa.Array
    ids: pa.Array

    def __call__(self, table: pa.Table, _: int) -> pa.Table:
        positions = pc.index_in(comparable(table.column(0)), value_set=self.values)
        return pa.table({self.name: self.ids.take(positions.combine_chunks())})


@dataclass(frozen=True)
class Classes:
    """The classes that the values of a column make.

    Attributes:
        name: The column.
        label: Its feature as class labels.
        encode: Replaces its values by their ids.
    """

    name: str
    label: ClassLabel
    encode: _Encode


def find_classes(
    view: View, features: Features, name: str, include_nulls: bool, names: list[str] | None = None
) -> Classes:
    """Makes a class of each distinct value of a column, named by its text, in the order of the names.

    Args:
        view: The rows.
        features: The feature of each column.
        name: The column.
        include_nulls: Make None a class too.
        names: The classes, if they are known already.

    Raises:
        ColumnNotFoundError: There is no such column.
        InvalidArgumentError: It is no column of plain values.
    """
    name = check_column(name, view.names)
    if not isinstance(features[name], Value):
        raise InvalidArgumentError(
            f'Column "{name}" is {features[name]!r:.120}; classes are made of plain values (Value) only.'
        )
    values = distinct_values(view, name)
    texts = [None if value is None and not include_nulls else _text(value) for value in values.to_pylist()]
    if names is None:
        names = sorted({text for text in texts if text is not None})
    label, number = ClassLabel(names=names), {text: number for number, text in enumerate(names)}
    ids = pa.array([None if text is None else number[text] for text in texts], pa.int64())
    return Classes(name, label, _Encode(name, values, ids))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


@dataclass(frozen=True)
class _Translate:
    """Replaces class ids by others, also inside lists."""

    name: str
    ids: dict[int, int]

    def __call__(self, table: pa.Table, _: int) -> pa.Table:
        chunks = [self._chunk(chunk) for chunk in table.column(0).chunks]
        return pa.table({self.name: pa.chunked_array(chunks, table.column(0).type)})

    def _chunk(self, array: Any) -> Any:
        if pa.types.is_integer(array.type):
            old = pa.array(list(self.ids), pa.int64())
            new = pa.array(list(self.ids.values()), pa.int64())
            # -1 stands for "no label" on both sides.
            return pc.if_else(pc.equal(array, -1), array, new.take(pc.index_in(array, value_set=old)))
        mask = array.is_null() if array.null_count else None
        if pa.types.is_fixed_size_list(array.type):
            size = array.type.list_size
            # What lies under a null list is no id, perhaps, and becomes null.
            values = self._chunk(array.values.slice(array.offset * size, len(array) * size))
            return pa.FixedSizeListArray.from_arrays(values, type=array.type, mask=mask)
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
        values = self._chunk(array.flatten())
        large = pa.types.is_large_list(array.type)
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int64() if large else pa.int32())
        make = pa.LargeListArray if large else pa.ListArray
        return make.from_arrays(offsets, values, type=array.type, mask=mask)


def check_ids(label2id: Any) -> dict[str, int]:
    """Checks the ids that classes shall get.

    Raises:
        InvalidArgumentError: They are no dict of whole numbers by names.

    Example:
        >>> check_ids({"no": 0, "yes": 1})
        {'no': 0, 'yes': 1}
    """
    if not isinstance(label2id, Mapping) or not all(isinstance(name, str) for name in label2id):
        raise InvalidArgumentError.from_value("label2id", label2id, "a dict of ids by the names of classes")
    return {name: whole_number("label2id", number) for name, number in label2id.items()}


def align_labels(
    view: View, features: Features, label2id: Mapping[str, int], name: str, place: Place
) -> tuple[View, Features]:
    """Gives the classes of a column the ids of a mapping; names match whatever their case.

    Args:
        view: The rows.
        features: The feature of each column.
        label2id: Class name to the id wanted; ids count from 0 without gaps.
        name: A column of class labels, or of lists of them.
        place: Where the new column goes.

    Returns:
        (the rows, their features).

    Raises:
        ColumnNotFoundError: There is no such column.
        InvalidArgumentError: It holds no class labels, a class that occurs has no id, or the ids have gaps.
    """
    name = check_column(name, view.names)
    feature = features[name]
    label = feature.feature if isinstance(feature, List | LargeList) else feature
    if not isinstance(label, ClassLabel):
        raise InvalidArgumentError(
            f'Column "{name}" is {feature!r:.120}, not a ClassLabel or a list of them; see class_encode_column.'
        )
    names = [text for text, _ in sorted(label2id.items(), key=lambda item: item[1])]
    if [int(label2id[text]) for text in names] != list(range(len(names))):
        raise InvalidArgumentError.from_value("label2id", dict(label2id), "ids from 0 on, without gaps")
    wanted = {text.lower(): int(number) for text, number in label2id.items()}
    ids = {}
    for number in _used_ids(view, name):
        text = label.names[number]
        if text.lower() not in wanted:
            raise InvalidArgumentError(
                f'The class "{text}" of column "{name}" has no id in label2id. {suggest(text, list(label2id))}'
            )
        ids[number] = wanted[text.lower()]
    changed = rewrite(view, [name], _Translate(name, ids), place, None, "Aligning the labels")
    aligned = ClassLabel(names=names)
    described = Features(features)
    described[name] = _with_items(feature, aligned)
    return changed, described


def _with_items(feature: Any, label: ClassLabel) -> Any:
    if isinstance(feature, List):
        return List(label, length=feature.length, id=feature.id)
    return LargeList(label, id=feature.id) if isinstance(feature, LargeList) else label


def _used_ids(view: View, name: str) -> list[int]:
    column = view.table([name]).column(0)
    while not pa.types.is_integer(column.type):
        column = pc.list_flatten(column)
    return [number for number in pc.unique(column).to_pylist() if number is not None and number >= 0]
