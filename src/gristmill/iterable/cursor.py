"""Rows taken from a stream in other numbers than it gives them in, with an exact position at each row."""

from __future__ import annotations

from collections import deque

from gristmill.iterable.block import Block, join
from gristmill.iterable.node import Node, State, Stream


class Cursor:
    """Reads a stream row by row or many rows at once.

    Its state is that of the stream before the block which holds the next row, and how many rows of it were taken: the
    stream itself only has to know where it is between two blocks.

    Args:
        stream: What to read; it is closed with the cursor.
        skip: Rows to leave out first.
    """

    def __init__(self, stream: Stream, skip: int = 0) -> None:
        self._stream = stream
        self._skip = skip
        # (state before the block, the block, rows of it taken); only the first one is taken from.
        self._held: deque[tuple[State, Block]] = deque()
        self._taken = 0
        self._rows = 0

    @classmethod
    def open(cls, node: Node, epoch: int, state: State = None) -> Cursor:
        """Opens a node where a cursor was in `state`, or at its start."""
        if state is None:
            return cls(node.open(epoch))
        return cls(node.open(epoch, state["at"]), state["skip"])

    def state(self) -> State:
        """Gives the position of the next row."""
        self._drop_finished()
        if self._held:
            return {"at": self._held[0][0], "skip": self._taken}
        return {"at": self._stream.state(), "skip": self._skip}

    def peek(self, rows: int) -> int:
        """Reads on until this many rows can be taken at once; gives how many can be, fewer only at the end."""
        while self._rows - self._taken < rows and self._pull():
            pass
        return self._rows - self._taken

    def ahead(self, rows: int) -> Block:
        """Gives rows that `peek` found without taking them.

        Args:
            rows: At most as many as `peek` said, at least 1.
        """
        self._drop_finished()
        pieces: list[Block] = []
        start = self._taken
        for _, block in self._held:
            piece = block.slice(start, min(block.num_rows, start + rows))
            start, rows = 0, rows - piece.num_rows
            pieces.append(piece)
            if not rows:
                break
        return join(pieces)

    def some(self, rows: int) -> Block | None:
        """Takes some rows, at most this many, without joining blocks; None at the end."""
        self._drop_finished()
        if not self._held and not self._pull():
            return None
        block = self._held[0][1]
        stop = min(block.num_rows, self._taken + rows)
        piece = block.slice(self._taken, stop)
        self._taken = stop
        return piece

    def take(self, rows: int) -> Block | None:
        """Takes this many rows, fewer only at the end; None if there are no more."""
        pieces: list[Block] = []
        while rows > 0 and (piece := self.some(rows)) is not None:
            pieces.append(piece)
            rows -= piece.num_rows
        return join(pieces) if pieces else None

    def give_back(self, rows: int) -> None:
        """Untakes rows of the last piece that `some` gave."""
        self._taken -= rows

    def close(self) -> None:
        """Closes the stream."""
        self._held.clear()
        self._stream.close()

    def _drop_finished(self) -> None:
        while self._held and self._taken >= self._held[0][1].num_rows:
            rows = self._held.popleft()[1].num_rows
            self._taken -= rows
            self._rows -= rows

    def _pull(self) -> bool:
        """Reads a block that has rows; False at the end."""
        while True:
            before = self._stream.state()
            block = self._stream.next()
            if block is None:
                return False
            if self._skip >= block.num_rows:
                self._skip -= block.num_rows
                continue
            self._held.append((before, block))
            self._rows += block.num_rows
            if self._skip:
                self._taken, self._skip = self._skip, 0
            return True
