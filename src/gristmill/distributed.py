"""A dataset or stream shared by several machines."""

from __future__ import annotations

from typing import TypeVar

from gristmill.arguments import whole_number
from gristmill.dataset import Dataset
from gristmill.errors import InvalidArgumentError
from gristmill.iterable import IterableDataset

__all__ = ["split_dataset_by_node"]

DatasetType = TypeVar("DatasetType", Dataset, IterableDataset)


def split_dataset_by_node(
    dataset: DatasetType, rank: int, world_size: int, strategy: str = "auto"
) -> DatasetType:
    """Gives the part of one of several machines; the parts of all are the rows, each once.

    A dataset is cut into parts that follow each other. Of a stream, each machine reads its share of the shards if their
    number is a multiple of `world_size`. Otherwise each reads everything and keeps every `world_size`-th row, so that
    the numbers of rows differ by one at most; ``stream.reshard()`` may give shards that divide. With workers of a
    `DataLoader`, use the same number on each machine.

    Args:
        dataset: What to share.
        rank: Number of this machine.
        world_size: How many there are.
        strategy: For streams: ``"shards"`` or ``"examples"`` chooses one of the two ways, whatever the number of shards.

    Raises:
        InvalidArgumentError: There is no such rank, or there are fewer shards than machines for ``"shards"``.

    Example:
        >>> stream = Dataset.from_dict({"a": [0, 1, 2, 3]}).to_iterable_dataset(num_shards=2)
        >>> [row["a"] for row in split_dataset_by_node(stream, rank=1, world_size=2)]
        [2, 3]
    """
    if isinstance(dataset, IterableDataset):
        return dataset._split_by_node(rank, world_size, strategy)
    if strategy != "auto":
        raise InvalidArgumentError.from_value(
            "strategy", strategy, '"auto" for a Dataset, whose rows are all at hand'
        )
    world, mine = whole_number("world_size", world_size, 1), whole_number("rank", rank)
    if not 0 <= mine < world:
        raise InvalidArgumentError.from_value(
            "rank", rank, f"a number from 0 to {world - 1} (world_size - 1)"
        )
    return dataset.shard(world, mine, contiguous=True)
