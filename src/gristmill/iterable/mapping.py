"""`map` and `filter`: the user's function over rows or batches of a stream."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gristmill.calling.caller import LAZY_FORMATS, Call
from gristmill.calling.masks import mask_of
from gristmill.calling.owned import owned_batch
from gristmill.errors import TransformError
from gristmill.features import Features
from gristmill.formatting import FormatSpec, LazyBatch
from gristmill.iterable import answers
from gristmill.iterable.block import Block, Columns
from gristmill.iterable.columnar import check_names
from gristmill.iterable.cursor import Cursor
from gristmill.iterable.node import Node, Over, State, Stream
from gristmill.iterable.origin import locating
from gristmill.iterable.pacing import MOST_ROWS, Pace
from gristmill.iterable.seen import Seen, batch_in, column_in, rows_in
from gristmill.logging import get_logger

_log = get_logger(__name__)


@dataclass(frozen=True)
class _Calling(Over):
    """A node that calls a function.

    Attributes:
        call: The function, and how it is called.
        spec: The format it sees rows in.
        batch_size: Rows a batch; None for all rows as one batch.
        drop_last_batch: Leave out a last batch that is smaller.
        skips: Leave out rows that the function fails on.
    """

    call: Call
    spec: FormatSpec
    batch_size: int | None
    drop_last_batch: bool
    skips: bool

    @property
    def is_rowwise(self) -> bool:
        """Whether what becomes of a row depends on nothing but the row."""
        return not self.call.batched and not self.call.with_indices

    def open(self, epoch: int, state: State = None) -> Stream:
        """Starts reading."""
        state = state or {"row": 0, "skipped": 0, "in": None}
        return _CallStream(self, Cursor.open(self.child, epoch, state["in"]), state["row"], state["skipped"])

    def step(self, count: int, index: int) -> Node | None:
        """Steps below, if rows do not depend on each other."""
        below = self.child.step(count, index) if self.is_rowwise and self.keeps_count else None
        return None if below is None else self.with_children([below])

    @property
    @abstractmethod
    def keeps_count(self) -> bool:
        """Whether there is one row for each row of a row-wise function."""

    @abstractmethod
    def after_rows(self, found: list[Any], given: list[Any], block: Block, start: int) -> Block:
        """Gives what the function's answers make of a block."""

    @abstractmethod
    def after_batch(self, found: Any, block: Block, start: int) -> Block:
        """Gives what the function's answer makes of a batch."""


@dataclass(frozen=True)
class Map(_Calling):
    """The function's answers beside the columns that stay.

    Attributes:
        removed: Columns that go unless the function returns them.
        features: What the columns are afterwards, if the user said so.
    """

    removed: tuple[str, ...]
    features: Features | None

    @property
    def keeps_count(self) -> bool:
        """Yes, unless rows are left out."""
        return not self.skips

    @property
    def num_rows(self) -> int | None:
        """As many as below for a function of rows."""
        return self.child.num_rows if not self.call.batched and not self.skips else None

    def seen(self, far: bool) -> Node:
        """Stays as it is: no look below tells what a function returns."""
        return self

    def cut(self, start: int, stop: int | None) -> Node | None:
        """Cuts below, if rows do not depend on each other."""
        below = self.child.cut(start, stop) if self.is_rowwise and self.keeps_count else None
        return None if below is None else self.with_children([below])

    def after_rows(self, found: list[Any], given: list[Any], block: Block, start: int) -> Block:
        """Puts the answers beside the columns that stay."""
        return self._described(
            answers.of_rows(self.call.name, found, given, block, self.removed, start), start
        )

    def after_batch(self, found: Any, block: Block, start: int) -> Block:
        """Puts the columns of the answer beside those that stay."""
        after = answers.of_batch(self.call.name, found, block, self.removed, start)
        if self.features is not None and isinstance(after, Columns):
            check_names(after.columns, self.features)
        return self._described(after)

    def _described(self, block: Block, start: int | None = None) -> Block:
        if self.features is None:
            return block
        table, features = locating(block.table, block.origin, self.features, counted=start)
        return Columns.of_table(table, features, block.origin)


@dataclass(frozen=True)
class Filter(_Calling):
    """The rows that the function says yes to."""

    @property
    def features(self) -> Features | None:  # type: ignore[override]  # a field elsewhere
        """Those below."""
        return self.child.features

    @property
    def keeps_count(self) -> bool:
        """No: which rows stay is only known when the function was asked."""
        return False

    def after_rows(self, found: list[Any], given: list[Any], block: Block, start: int) -> Block:
        """Keeps the rows whose answer is true."""
        mask = np.fromiter(map(bool, found), np.bool_, block.num_rows)
        return block if mask.all() else block.take(np.flatnonzero(mask))

    def after_batch(self, found: Any, block: Block, start: int) -> Block:
        """Keeps the rows whose answer is true."""
        mask = mask_of(self.call.name, found, start, block.num_rows)
        return block if mask.all() else block.take(np.flatnonzero(mask))


class _CallStream(Stream):
    def __init__(self, node: _Calling, cursor: Cursor, row: int, skipped: int) -> None:
        self._node = node
        self._cursor = cursor
        self._row = row
        self._skipped = skipped
        self._pace = Pace()
        self._error: TransformError | None = None

    @cached_property
    def _all_rows(self) -> bool:
        return self._node.batch_size is None

    def next(self) -> Block | None:
        if self._error is not None:
            raise self._error from self._error.__cause__
        block = self._next_batch() if self._node.call.batched else self._next_rows()
        if block is None and self._skipped:
            _log.warning("%s failed on %d rows, which were left out.", self._node.call.name, self._skipped)
            self._skipped = 0
        return block

    def _next_batch(self) -> Block | None:
        node, size = self._node, self._node.batch_size
        block = self._cursor.take(1 << 60 if size is None else size)
        if block is None or (node.drop_last_batch and size is not None and block.num_rows < size):
            return None
        start = self._row
        self._row += block.num_rows
        try:
            found = owned_batch(node.call.on_batch(self._batch(block), start, self._row, None))
        except TransformError as error:
            if not node.skips:
                raise _with_origin(error, block, start) from error.__cause__
            self._skipped += block.num_rows
            return block.slice(0, 0)
        try:
            return node.after_batch(found, block, start)
        except TransformError as error:
            raise _with_origin(error, block, start) from error.__cause__

    def _batch(self, block: Block) -> tuple[Any, ...]:
        call, spec = self._node.call, self._node.spec
        if call.input_columns is not None:
            return tuple(column_in(block, name, spec) for name in call.input_columns)
        if spec.type in LAZY_FORMATS and isinstance(block, Columns):
            return (LazyBatch(Seen(block, spec)),)  # type: ignore[arg-type]  # as good as its own kind of block
        return (batch_in(block, spec),)

    def _next_rows(self) -> Block | None:
        node = self._node
        # Calls of an async function wait together, so they are made together.
        block = self._cursor.some(MOST_ROWS if node.call.is_async else self._pace.rows)
        if block is None:
            return None
        given, arguments = self._arguments(block)
        found: list[Any] = []
        self._pace.start()
        try:
            node.call.on_rows(arguments, block.num_rows, self._row, None, found, given)
        except TransformError as error:
            return self._until(error, block, found, given)
        self._pace.stop(len(found))
        start = self._row
        self._row += block.num_rows
        return self._after_rows(found, given, block, start)

    def _after_rows(self, found: list[Any], given: list[Any], block: Block, start: int) -> Block:
        try:
            return self._node.after_rows(found, given, block, start)
        except TransformError as error:
            raise _with_origin(error, block, start) from error.__cause__

    def _arguments(self, block: Block) -> tuple[list[Any], Any]:
        call, spec = self._node.call, self._node.spec
        if call.input_columns is None:
            rows = rows_in(block, spec)
            given = (
                [dict(row) for row in rows] if not isinstance(block, Columns) and spec.type is None else rows
            )
            return given, given
        nothing = [None] * block.num_rows
        if not call.input_columns:
            return nothing, [()] * block.num_rows
        if spec.type is None:
            columns = [block.values(name) for name in call.input_columns]
            return nothing, zip(*columns, strict=True)
        rows = rows_in(block.choose(call.input_columns), spec)
        return nothing, [tuple(row[name] for name in call.input_columns) for row in rows]

    def _until(self, error: TransformError, block: Block, found: list[Any], given: list[Any]) -> Block:
        """Gives the rows before the one that the function failed on; the error comes when the next is asked for."""
        done, start = len(found), self._row
        error = _with_origin(error, block, start)
        self._cursor.give_back(block.num_rows - done)
        self._row += done
        if self._node.skips:
            self._cursor.some(1)
            self._row += 1
            self._skipped += 1
        elif not done:
            raise error from error.__cause__
        else:
            self._error = error
        return self._after_rows(found, given[:done], block.slice(0, done), start)

    def state(self) -> State:
        return {"row": self._row, "skipped": self._skipped, "in": self._cursor.state()}

    def close(self) -> None:
        self._cursor.close()


def _with_origin(error: TransformError, block: Block, start: int) -> TransformError:
    """Says in an error where its row, or the first row of its batch, comes from."""
    row = start if error.first_row is None else error.first_row
    place = None if block.origin is None else block.origin.at(row - start)
    if place is None or (not place.is_file and place.row == row):
        return error
    return error.comes_from(row, place)
