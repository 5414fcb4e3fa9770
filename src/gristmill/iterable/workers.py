"""PyTorch's side: which part of a stream a DataLoader worker reads, and being one of its datasets.

Nothing here imports torch: whoever uses a DataLoader has.
"""

from __future__ import annotations

import sys
from typing import Any

from gristmill.iterable.limiting import stepped
from gristmill.iterable.node import Node
from gristmill.logging import get_logger

_log = get_logger(__name__)


def worker_part(node: Node) -> Node:
    """Gives the part of a stream that this process reads: all of it outside the workers of a DataLoader."""
    data = sys.modules.get("torch.utils.data")
    info = None if data is None else data.get_worker_info()
    return node if info is None else part_of(node, info.num_workers, info.id)


def part_of(node: Node, count: int, index: int) -> Node:
    """Gives one of `count` parts of a stream, which together are all of its rows, each once.

    Shards are dealt out; where there are fewer than readers, they are cut into smaller ones, and where that can't be
    done, the readers of a shard take turns at its rows.

    Args:
        node: The stream.
        count: How many readers.
        index: Which of them.
    """
    if node.num_shards < count:
        finer = node.reshard()
        node = finer if finer.num_shards >= count else node
    shards = node.num_shards
    if shards >= count:
        if shards % count and not index:
            _log.info(
                "%d shards for %d readers: some read one more than others; reshard() may even that.",
                shards,
                count,
            )
        return node.pick(range(index, shards, count))
    if not shards:
        return node
    if not index:
        _log.info(
            "%d shards for %d readers: several read the same shard and take turns at its rows.", shards, count
        )
    mine = index % shards
    return stepped(node.pick([mine]), len(range(mine, count, shards)), index // shards)


def become_torch_dataset(cls: type) -> None:
    """Makes a class one of torch's iterable datasets, if torch is there and it is none yet."""
    data = sys.modules.get("torch.utils.data")
    theirs: Any = getattr(data, "IterableDataset", None)
    if theirs is not None and theirs not in cls.__mro__:
        cls.__bases__ = (*cls.__bases__, theirs)
