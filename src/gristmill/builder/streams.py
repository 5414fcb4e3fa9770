"""A builder's rows as streams: files are fetched when they are read, and nothing is prepared."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gristmill.builder.preparing import list_generators
from gristmill.builder.tables import Examples, Source, WholeTables, named
from gristmill.download import StreamingDownloadManager
from gristmill.errors import SplitNotFoundError
from gristmill.iterable import IterableDataset, IterableDatasetDict
from gristmill.iterable.block import Block, Columns
from gristmill.iterable.node import Node, State, Stream
from gristmill.iterable.origin import Run
from gristmill.iterable.sources import Generated
from gristmill.prepared.split_spec import in_shape
from gristmill.splits import NamedSplit
from gristmill.table.making import describe

if TYPE_CHECKING:
    from gristmill.builder.core import DatasetBuilder

__all__ = ["stream"]


def stream(builder: DatasetBuilder, split: Any, base_path: str | None) -> Any:
    """Gives the rows of a builder's splits as streams; see `DatasetBuilder.as_streaming_dataset`.

    Args:
        builder: The builder.
        split: A split, or a list, tuple or dict of them; None for all.
        base_path: Where relative paths start.

    Raises:
        SplitNotFoundError: There is no such split.
        InvalidArgumentError: The builder gives no list of different splits.
    """
    manager = StreamingDownloadManager(
        builder.dataset_name, builder.config.data_dir, builder._download_config(), base_path
    )
    generators = {one.name: one for one in list_generators(builder, manager)}
    builder.dl_manager = manager

    def node(name: str) -> Node:
        tables = builder._tables(name, check_keys=False)
        kwargs = generators[name].gen_kwargs
        if isinstance(tables, Examples):
            return Generated.of_function(_Rows(tables), tables.features, kwargs)
        assert isinstance(tables, WholeTables)
        return _GeneratedTables.of_function(_Tables(tables), tables.features, kwargs)

    def one(name: object) -> IterableDataset:
        if str(name) not in generators:
            raise SplitNotFoundError.from_name(str(name), generators, builder.dataset_name)
        return IterableDataset(node(str(name)), builder.info.copy(), NamedSplit(str(name)))

    wanted: Any = {name: name for name in generators} if split is None else split
    shaped = in_shape(wanted, one)
    return IterableDatasetDict(shaped) if isinstance(shaped, dict) else shaped


@dataclass(frozen=True)
class _Rows:
    """The examples of a split, as a generator function."""

    source: Source

    def __call__(self, **gen_kwargs: Any) -> Iterator[Mapping[str, Any]]:
        names = None if self.source.features is None else set(self.source.features)
        for _, row in self.source.pairs(gen_kwargs):
            yield row if names is None else named(row, names)


@dataclass(frozen=True)
class _Tables:
    """The tables of a split, as a generator function."""

    source: WholeTables

    def __call__(self, **gen_kwargs: Any) -> Iterator[Any]:
        return self.source(gen_kwargs, lambda _: None)


@dataclass(frozen=True)
class _GeneratedTables(Generated):
    """Tables of a generator function; each item of the lists among its arguments is a shard."""

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading; tables before the state are made again and dropped."""
        return _TableStream(self, self.order.shards(epoch), state or {"shard": 0, "table": 0})


class _TableStream(Stream):
    def __init__(self, node: _GeneratedTables, shards: list[int], state: State) -> None:
        self._node = node
        self._shards = shards
        self._shard: int = state["shard"]
        self._table: int = state["table"]
        self._tables: Iterator[Any] | None = None

    def next(self) -> Block | None:
        while self._shard < len(self._shards):
            if self._tables is None:
                arguments = self._node.arguments_of(self._shards[self._shard])
                self._tables = iter(self._node.function(**arguments))
                for _ in range(self._table):
                    next(self._tables, None)
            table = next(self._tables, None)
            if table is not None:
                self._table += 1
                # A number of the table's: rows of those before it were not counted where they were skipped.
                origin = Run(f"table {self._table - 1} of {self._node.name}", 0, is_file=False)
                return Columns.of_table(*describe(table, self._node.features), origin)
            self._close_tables()
            self._shard, self._table = self._shard + 1, 0
        return None

    def state(self) -> State:
        return {"shard": self._shard, "table": self._table}

    def _close_tables(self) -> None:
        tables, self._tables = self._tables, None
        close = getattr(tables, "close", None)
        if close is not None:
            with contextlib.suppress(RuntimeError):  # a generator that is running, in another thread
                close()

    def close(self) -> None:
        self._close_tables()
        self._shard = len(self._shards)
