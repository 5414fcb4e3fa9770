"""A stream on its way to the user: rows and batches in a format, and where it is after each of them."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from gristmill.errors import GristmillError, InvalidArgumentError, shorten
from gristmill.formatting import FormatSpec
from gristmill.iterable.block import Block, Columns
from gristmill.iterable.cursor import Cursor
from gristmill.iterable.node import Node, State
from gristmill.iterable.seen import batch_in, rows_in
from gristmill.table.view import BLOCK_BYTES, BLOCK_ROWS

_FIRST = 16
_VERSION = 1
_KEYS = {"version", "epoch", "shape", "part", "seeds", "at"}


class Walk:
    """One reading of a stream.

    Args:
        node: The stream.
        epoch: The epoch.
        state: Where an earlier reading was, as `state` said; the start if None.

    Raises:
        InvalidArgumentError: The state is that of another stream.
    """

    def __init__(self, node: Node, epoch: int, state: State = None) -> None:
        if state is not None:
            check_state(state, node)
            node, epoch = node.with_seeds(iter(state["seeds"])), state["epoch"]
        self.node = node
        self.epoch = epoch
        try:
            self._cursor = Cursor.open(node, epoch, None if state is None else state["at"])
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            if state is None or isinstance(error, GristmillError):
                raise
            raise InvalidArgumentError(
                f"The state is damaged: its place is {shorten(state['at'])}."
            ) from error
        # The piece that is being handed out: where it begins, its rows, and an iterator that knows how many are left.
        self._before: State = None
        self._rows = 0
        self._left: Any = iter(())
        self._last: State = None

    def rows(self, spec: FormatSpec) -> Iterator[Any]:
        """Gives row after row."""
        size = _FIRST
        try:
            while True:
                before = self._cursor.state()
                block = self._cursor.some(size)
                if block is None:
                    break
                rows = rows_in(block, spec)
                self._before, self._rows, self._left = before, len(rows), iter(rows)
                yield from self._left
                size = min(size * 4, _most_rows(block))
        finally:
            self.close()

    def batches(self, spec: FormatSpec, size: int, drop_last: bool) -> Iterator[Any]:
        """Gives batch after batch."""
        try:
            while (block := self._cursor.take(size)) is not None:
                if drop_last and block.num_rows < size:
                    break
                yield batch_in(block, spec)
        finally:
            self.close()

    def blocks(self, size: int) -> Iterator[Block]:
        """Gives the rows in blocks of this size."""
        try:
            while (block := self._cursor.take(size)) is not None:
                yield block
        finally:
            self.close()

    def state(self) -> dict[str, Any]:
        """Says where the next row is, as a small dict that JSON can hold."""
        at = self._last
        if at is None:
            given = self._rows - operator.length_hint(self._left)
            if self._before is not None and given < self._rows:
                at = {"at": self._before["at"], "skip": self._before["skip"] + given}
            else:
                at = self._cursor.state()
        return make_state(self.node, self.epoch, at)

    def close(self) -> None:
        """Closes files and generators; the state stays what it was."""
        if self._last is None:
            self._last = self.state()["at"]
            self._cursor.close()


def make_state(node: Node, epoch: int, at: State) -> dict[str, Any]:
    """Makes the state of a stream; `at` is None for its start."""
    return {
        "version": _VERSION,
        "epoch": epoch,
        "shape": node.shape,
        "part": node.part,
        "seeds": node.seeds,
        "at": at,
    }


def check_state(state: Any, node: Node) -> None:
    """Checks that a state belongs to a stream.

    Raises:
        InvalidArgumentError: It is no state, or that of another stream.
    """
    if not isinstance(state, dict) or not set(state) >= _KEYS:
        raise InvalidArgumentError.from_value("state_dict", state, "what state_dict() of a stream gave")
    if state["version"] != _VERSION:
        raise InvalidArgumentError(
            f"The state is of version {state['version']}, and this Gristmill reads version {_VERSION}."
        )
    # Where nothing was read yet, seeds and epoch are all there is to go on with, whichever worker does.
    begun = state["at"] is not None
    if state["shape"] != node.shape and (begun or _whole(str(state["shape"])) != _whole(node.shape)):
        raise InvalidArgumentError(
            f"The state is that of another stream: it was {state['shape']}, and this one is {node.shape}. Make the stream "
            "by the same calls, and read it with the same number of workers."
        )
    if begun and state["part"] != node.part:
        raise InvalidArgumentError(
            "The state is that of another part of the stream: it was read by another number of workers or machines, by "
            "another of them, or its rows lie in other shards now. Go on with the same numbers, each worker and machine "
            "with its own state."
        )
    seeds, epoch = state["seeds"], state["epoch"]
    numbers = [*seeds, epoch] if isinstance(seeds, list) else [None]
    if len(numbers) != len(node.seeds) + 1 or not all(type(one) is int and one >= 0 for one in numbers):
        raise InvalidArgumentError(
            f"The state is damaged: its seeds are {shorten(seeds)}, its epoch {epoch!r:.80}."
        )


def _whole(shape: str) -> str:
    """Leaves out that readers take turns at the rows."""
    return shape[5:-1] if shape.startswith("Step(") else shape


def _most_rows(block: Block) -> int:
    """Says how many rows to turn into Python objects at once."""
    if not isinstance(block, Columns) or not block.columns:
        return BLOCK_ROWS
    size = sum(getattr(values, "nbytes", 0) for values in block.columns.values())
    return max(1, min(BLOCK_ROWS, int(BLOCK_BYTES * block.num_rows / max(1, size))))
