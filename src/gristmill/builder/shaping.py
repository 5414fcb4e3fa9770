"""From open splits to the datasets that a value of ``split=`` means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gristmill.dataset import Dataset
from gristmill.dataset_dict import DatasetDict
from gristmill.info import DatasetInfo
from gristmill.prepared.combine import info_with
from gristmill.prepared.opening import OpenSplit, join_parts
from gristmill.prepared.split_spec import in_shape, wanted_parts

__all__ = ["shape", "split_names"]


def split_names(wanted: object, known: Sequence[str], where: str = "") -> list[str]:
    """Lists the splits that a value of ``split=`` reads from, each once.

    Args:
        wanted: The value.
        known: The splits there are.
        where: The dataset, for the error.

    Raises:
        SplitNotFoundError: There is no such split.
        InvalidArgumentError: The value is not of a documented form.
    """
    names: dict[str, None] = {}
    parts = in_shape(wanted, lambda one: wanted_parts(one, known, where))
    in_shape(parts, lambda part: names.update({part.split: None}))
    return list(names)


def shape(
    opened: Mapping[str, OpenSplit], info: DatasetInfo, wanted: Any, known: Sequence[str], where: str = ""
) -> Any:
    """Gives open splits the shape that was asked for.

    Args:
        opened: Split -> its open files.
        info: What is known about all of them.
        wanted: A value of ``split=``; a dict for a `DatasetDict`.
        known: The splits there are.
        where: The dataset, for errors.

    Returns:
        A dataset, or datasets in the same lists, tuples and dicts.
    """

    def dataset(one: object) -> Dataset:
        parts = wanted_parts(one, known, where)
        rows = vars(join_parts(parts, opened))
        # What was opened has the columns that its own info names; `prepare_and_open` and `open_splits` saw to it.
        return Dataset._from_parts(**rows, info=info_with(info, opened[parts[0].split]), described=True)

    shaped = in_shape(wanted, dataset)
    return DatasetDict(shaped) if isinstance(shaped, dict) else shaped
