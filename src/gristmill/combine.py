"""Several datasets or several streams made one: one after another, side by side, or in turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from gristmill.arguments import whole_number
from gristmill.dataset import Dataset, DatasetDict, combining
from gristmill.dataset.interleaving import interleaved_rows
from gristmill.errors import InvalidArgumentError
from gristmill.features.align import align_features
from gristmill.info import DatasetInfo

if TYPE_CHECKING:
    from gristmill.iterable import IterableDataset

__all__ = ["concatenate_datasets", "interleave_datasets"]

# Streams are loaded when there are some: they have more modules than all else that is needed here.
DatasetType = TypeVar("DatasetType", Dataset, "IterableDataset")


def concatenate_datasets(
    dsets: list[DatasetType],
    info: DatasetInfo | None = None,
    split: str | None = None,
    axis: int = 0,
) -> DatasetType:
    """Puts datasets together; nothing is copied where their types agree.

    Args:
        dsets: The datasets.
        info: What is known about the result; joined from theirs if left out.
        split: Name of the split.
        axis: 0 puts the rows one after another: columns are matched by name, a column that a dataset lacks is None
            there, and types widen where one holds both. 1 puts the columns side by side.

    Raises:
        InvalidArgumentError: The list is empty or holds something else, or with ``axis=1`` the numbers of rows differ
            or a column name comes twice.
        SchemaConflictError: Two columns of a name have features that nothing holds both of.

    Example:
        >>> first, second = Dataset.from_dict({"a": [1]}), Dataset.from_dict({"a": [2], "b": ["x"]})
        >>> concatenate_datasets([first, second]).to_dict()
        {'a': [1, 2], 'b': [None, 'x']}
    """
    datasets = _checked(dsets, "concatenate")
    if _are_streams(datasets):
        from gristmill.iterable import plans

        node = plans.plan_concatenation([dataset._node for dataset in datasets], axis)
        joined: DatasetType = type(datasets[0])._combined(datasets, node, info, split)
        return joined
    views = [dataset._view for dataset in datasets]
    if axis == 1:
        view = combining.join_views(views)
        merged = {name: feature for dataset in datasets for name, feature in dataset._features.items()}
        features = type(datasets[0]._features)(merged)
    elif axis == 0:
        features = align_features([dataset._features for dataset in datasets])
        view = combining.concat_views(views, features)
    else:
        raise InvalidArgumentError.from_value("axis", axis, "0 (rows) or 1 (columns)")
    made: DatasetType = type(datasets[0])._combined(
        datasets, view, features, "concatenate", axis, info, split
    )
    return made


def interleave_datasets(
    datasets: list[DatasetType],
    probabilities: list[float] | None = None,
    seed: int | None = None,
    info: DatasetInfo | None = None,
    split: str | None = None,
    stopping_strategy: str = "first_exhausted",
) -> DatasetType:
    """Takes rows from several datasets in turns; nothing is copied where their types agree.

    Args:
        datasets: The datasets; their columns are matched as by `concatenate_datasets`.
        probabilities: How likely each is drawn from; one after another if left out.
        seed: The same seed gives the same order.
        info: What is known about the result; joined from theirs if left out.
        split: Name of the split.
        stopping_strategy: ``"first_exhausted"`` ends with the first dataset that has no more rows;
            ``"all_exhausted"`` when each row was there at least once, starting shorter datasets again;
            ``"all_exhausted_without_replacement"`` when each row was there exactly once.

    Raises:
        InvalidArgumentError: The list is empty or holds something else, or the probabilities can't be used.
        SchemaConflictError: Two columns of a name have features that nothing holds both of.

    Example:
        >>> few, many = Dataset.from_dict({"a": [1, 2]}), Dataset.from_dict({"a": [10, 20, 30]})
        >>> interleave_datasets([few, many])["a"][:]
        [1, 10, 2, 20]
        >>> interleave_datasets([few, many], stopping_strategy="all_exhausted")["a"][:]
        [1, 10, 2, 20, 1, 30]
    """
    several = _checked(datasets, "interleave")
    seed = None if seed is None else whole_number("seed", seed, 0)
    if _are_streams(several):
        from gristmill.iterable import plans

        nodes = [one._node for one in several]
        node = plans.plan_interleaving(nodes, probabilities, seed, stopping_strategy)
        mixed: DatasetType = type(several[0])._combined(several, node, info, split)
        return mixed
    rows = interleaved_rows([len(one) for one in several], probabilities, seed, stopping_strategy)
    features = align_features([one._features for one in several])
    view = combining.concat_views([one._view for one in several], features).select(rows)
    made: DatasetType = type(several[0])._combined(several, view, features, "interleave", rows, info, split)
    return made


def _checked(datasets: Any, what: str) -> list[Any]:
    if type(datasets) is list and datasets and all(type(dataset) is Dataset for dataset in datasets):
        return list(datasets)
    from gristmill.iterable import IterableDataset, IterableDatasetDict

    # A stream can be iterated too, and gives rows; a dict gives names.
    listed = isinstance(datasets, Iterable) and not isinstance(
        datasets, Dataset | IterableDataset | Mapping | str
    )
    if not listed:
        raise InvalidArgumentError(
            f"The datasets to {what} are passed as a list, not as {type(datasets).__name__}."
        )
    several = list(datasets)
    if not several:
        raise InvalidArgumentError(f"There is nothing to {what}: the list of datasets is empty.")
    for position, dataset in enumerate(several):
        if isinstance(dataset, DatasetDict | IterableDatasetDict):
            raise InvalidArgumentError(
                f"Number {position} of the list is a {type(dataset).__name__} with the splits {', '.join(dataset)}; pick one, for "
                f'example dataset["{next(iter(dataset), "train")}"].'
            )
        if not isinstance(dataset, Dataset | IterableDataset):
            raise InvalidArgumentError(
                f"Number {position} of the list is {type(dataset).__name__}, not a Dataset."
            )
        if isinstance(dataset, Dataset) != isinstance(several[0], Dataset):
            raise InvalidArgumentError(
                f"Number {position} of the list and the first are not of one kind "
                f"({type(dataset).__name__}, {type(several[0]).__name__}); make streams of all with to_iterable_dataset()."
            )
    return several


def _are_streams(several: list[Any]) -> bool:
    return not isinstance(several[0], Dataset)
