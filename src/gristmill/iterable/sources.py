"""Where rows come from: tables in memory or mapped, and generators."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from gristmill.calling.owned import owned
from gristmill.errors import (
    GristmillError,
    InvalidArgumentError,
    TransformError,
    TransformOutputError,
    shorten,
)
from gristmill.features import Features
from gristmill.features.build import table_from_rows
from gristmill.iterable.block import Block, Columns, Examples, Row
from gristmill.iterable.node import Node, State, Stream
from gristmill.iterable.order import Order, even_parts
from gristmill.iterable.origin import Run
from gristmill.iterable.pacing import Pace
from gristmill.table.view import View

_ROWS, _BYTES = 10_000, 8 << 20
_SMALLEST = 1000


@dataclass(frozen=True)
class Source(Node):
    """A node without others below it, whose shards are read one after another."""

    order: Order
    features: Features | None

    @property
    def num_shards(self) -> int:
        """The shards that are read."""
        return self.order.num_shards

    def pick(self, shards: Sequence[int]) -> Node:
        """Keeps some shards."""
        return replace(self, order=self.order.pick(shards))

    def shuffle_shards(self, seed: int) -> Node:
        """Reads the shards in another order each epoch."""
        return replace(self, order=self.order.shuffle(seed))

    @property
    def seeds(self) -> list[int]:
        """Those of the order."""
        return self.order.seeds

    @cached_property
    def part(self) -> str:
        """Names the shards and how they are cut."""
        return hashlib.sha256(f"{self.order.picks} {self.cuts}".encode()).hexdigest()[:12]

    @property
    def cuts(self) -> object:
        """How the source is cut into shards."""
        return None

    def with_seeds(self, seeds: Iterator[int]) -> Node:
        """Shuffles the order by other seeds."""
        return replace(self, order=self.order.with_seeds(seeds))


@dataclass(frozen=True)
class Rows(Source):
    """The rows of a view.

    Attributes:
        view: The rows.
        ranges: The rows of each shard.
    """

    view: View
    ranges: tuple[range, ...]

    @property
    def cuts(self) -> object:
        """The rows of each shard."""
        return self.ranges

    @classmethod
    def of_view(cls, view: View, features: Features, num_shards: int = 1) -> Rows:
        """Makes a source of all rows of a view, in shards that follow each other."""
        return cls(Order(num_shards), features, view, tuple(even_parts(view.num_rows, num_shards)))

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading; any row can be gone to."""
        return _RowStream(self, self.order.shards(epoch), state or {"shard": 0, "row": 0})

    def reshard(self) -> Node:
        """Cuts shards into pieces of a thousand rows or more."""
        settled = self.order.settled()
        if settled is None:
            return self
        shards, seeds = settled
        parts = [
            range(whole.start + part.start, whole.start + part.stop)
            for whole in (self.ranges[shard] for shard in shards)
            for part in even_parts(len(whole), max(1, len(whole) // _SMALLEST))
        ]
        return replace(self, ranges=tuple(parts), order=Order(len(parts), seeds))

    @property
    def num_rows(self) -> int | None:
        """How many rows the shards hold; unknown where the epoch decides which ones are read."""
        settled = self.order.settled()
        return None if settled is None else sum(len(self.ranges[shard]) for shard in settled[0])

    def cut(self, start: int, stop: int | None) -> Node | None:
        """Keeps some rows, unless the epoch decides which rows come first."""
        if self.order.is_shuffled:
            return None
        kept, at = [], 0
        for whole in (self.ranges[shard] for shard in self.order.shards(0)):
            part = whole[max(0, start - at) : None if stop is None else max(0, stop - at)]
            at += len(whole)
            if len(part):
                kept.append(part)
        kept = kept or [range(0)]
        return replace(self, ranges=tuple(kept), order=Order(len(kept)))


class _RowStream(Stream):
    def __init__(self, node: Rows, shards: list[int], state: State) -> None:
        self._node = node
        self._shards = shards
        self._shard: int = state["shard"]
        self._row: int = state["row"]
        # Rows that are chosen one by one are copied; those of a whole table are only pointed at.
        self._size = node.view.block_rows(_ROWS, _BYTES)

    def next(self) -> Block | None:
        while self._shard < len(self._shards):
            rows = self._node.ranges[self._shards[self._shard]][self._row :]
            if not len(rows):
                self._shard, self._row = self._shard + 1, 0
                continue
            rows = rows[: self._size]
            self._row += len(rows)
            origin = Run("the dataset", rows.start, is_file=False)
            return Columns.of_table(self._node.view.take(rows), self._node.features, origin)
        return None

    def state(self) -> State:
        return {"shard": self._shard, "row": self._row}

    def close(self) -> None:
        self._shard = len(self._shards)


@dataclass(frozen=True)
class Generated(Source):
    """The rows of a generator function; each item of the lists among its arguments is a shard.

    Attributes:
        function: Called once a shard, with keyword arguments.
        arguments: The arguments of all shards.
    """

    function: Callable[..., Iterable[Mapping[str, Any]]]
    arguments: Mapping[str, Any]

    @classmethod
    def of_function(
        cls,
        function: Callable[..., Iterable[Mapping[str, Any]]],
        features: Features | None,
        arguments: Mapping[str, Any] | None,
    ) -> Generated:
        """Makes a source of a generator function.

        Raises:
            InvalidArgumentError: It can't be called, or lists among the arguments differ in length.
        """
        if not callable(function):
            raise InvalidArgumentError.from_value("generator", function, "a function that yields rows")
        if arguments is not None and not isinstance(arguments, Mapping):
            raise InvalidArgumentError.from_value("gen_kwargs", arguments, "a dict of arguments by name")
        given = dict(arguments or {})
        lengths = {name: len(value) for name, value in given.items() if isinstance(value, list)}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise InvalidArgumentError(
                f"The lists in gen_kwargs are the shards and must be of one length ({shown}). Pass what is no list of "
                "shards as a tuple."
            )
        count = max(1, next(iter(lengths.values()), 1))
        return cls(Order(count), features, function, given)

    @property
    def name(self) -> str:
        """What to call the function in messages."""
        label = getattr(self.function, "label", None)
        name = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return label if isinstance(label, str) else f"the generator {name}"

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments of all shards, under the name that libraries read."""
        return dict(self.arguments)

    def arguments_of(self, shard: int) -> dict[str, Any]:
        """Gives the arguments of one shard."""
        return {
            name: value[shard : shard + 1] if isinstance(value, list) else value
            for name, value in self.arguments.items()
        }

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading; a generator can't be gone to: rows before the state are made again and dropped."""
        return _GeneratedStream(self, self.order.shards(epoch), state or {"shard": 0, "row": 0})


class _GeneratedStream(Stream):
    def __init__(self, node: Generated, shards: list[int], state: State) -> None:
        self._node = node
        self._shards = shards
        self._shard: int = state["shard"]
        self._row: int = state["row"]
        self._skip = self._row
        self._rows: Iterator[Any] | None = None
        self._error: Exception | None = None
        self._pace = Pace()

    def next(self) -> Block | None:
        while self._shard < len(self._shards):
            rows = self._collect()
            if rows:
                self._row += len(rows)
                return self._block(rows)
            self._close_generator()
            self._shard, self._row, self._skip = self._shard + 1, 0, 0
        return None

    def _collect(self) -> list[Row]:
        """Takes rows of the shard as long as they come quickly."""
        if self._error is not None:
            raise self._error from self._error.__cause__
        rows: list[Row] = []
        self._pace.start()
        try:
            for row in self._generator():
                # A copy: some generators give the same dict or array again and again, with other values.
                rows.append(self._checked(row))
                if len(rows) >= self._pace.rows or self._pace.is_late:
                    break
        except Exception as error:  # raised again when the rows before it are given
            self._error = self._named(error, self._row + len(rows))
            if not rows:
                raise self._error from error
        self._pace.stop(len(rows))
        return rows

    def _named(self, error: Exception, row: int) -> Exception:
        if isinstance(error, GristmillError):
            return error
        problem = f"{type(error).__name__}: {error}"
        failed = TransformError.from_rows(self._node.name, row, row, problem).also(error)
        failed.__cause__ = error
        return failed

    def _generator(self) -> Iterator[Any]:
        if self._rows is None:
            self._rows = iter(self._node.function(**self._node.arguments_of(self._shards[self._shard])))
        while self._skip:
            if next(self._rows, self) is self:
                break
            self._skip -= 1
        return self._rows

    def _checked(self, row: Any) -> Row:
        if not isinstance(row, Mapping):
            raise TransformOutputError(f"{self._node.name} gave {shorten(row)}, not a dict.")
        return owned(row) if type(row) is dict else {name: owned(value) for name, value in row.items()}

    def _block(self, rows: list[Row]) -> Block:
        features = self._node.features
        first = self._row - len(rows)
        origin = Run(self._name, first, is_file=False)
        if features is None:
            return Examples.of_rows(rows, origin)
        table = table_from_rows(rows, features, first_row=first, python_text=True)
        return Columns.of_table(table, features, origin)

    @property
    def _name(self) -> str:
        shards = self._node.order.count
        return f"shard {self._shards[self._shard]} of {self._node.name}" if shards > 1 else self._node.name

    def state(self) -> State:
        return {"shard": self._shard, "row": self._row}

    def _close_generator(self) -> None:
        rows, self._rows = self._rows, None
        close = getattr(rows, "close", None)
        if close is not None:
            with contextlib.suppress(RuntimeError):  # a generator that is running, in another thread
                close()

    def close(self) -> None:
        self._close_generator()
        self._shard = len(self._shards)
