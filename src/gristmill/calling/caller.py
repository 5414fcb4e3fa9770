"""How the user's function is called: with rows or batches, row numbers, the rank; and which row it failed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from gristmill.arguments import check_columns
from gristmill.calling.awaiting import is_async, run_together
from gristmill.errors import GristmillError, InvalidArgumentError, TransformError
from gristmill.features.mixed import array_of_mixed
from gristmill.formatting import FormatSpec, LazyBatch, LazyRow, Reader
from gristmill.formatting.lazy import Block
from gristmill.formatting.registry import formatter_for
from gristmill.table.view import View


@dataclass
class Caller:
    """A function with the documented ways to call it.

    Attributes:
        function: The user's function.
        view: The rows it is called on.
        features: The feature of each column.
        spec: The format it sees them in.
        batched: Call it with batches.
        with_indices: Pass row numbers.
        with_rank: Pass the number of the worker.
        input_columns: Pass these columns as arguments.
        kwargs: Further arguments.
    """

    function: Callable[..., Any]
    view: View
    features: Mapping[str, Any]
    spec: FormatSpec
    batched: bool
    with_indices: bool
    with_rank: bool
    input_columns: list[str] | None
    kwargs: dict[str, Any]

    @classmethod
    def plan(
        cls,
        view: View,
        features: Mapping[str, Any],
        spec: FormatSpec,
        *,
        function: Callable[..., Any],
        batched: bool,
        with_indices: bool,
        with_rank: bool,
        input_columns: str | list[str] | None,
        fn_kwargs: dict[str, Any] | None,
    ) -> Caller:
        """Checks the arguments of `Dataset.map` that say how to call.

        Raises:
            InvalidArgumentError: The function can't be called.
            ColumnNotFoundError: An input column does not exist.
        """
        if not callable(function):
            raise InvalidArgumentError.from_value("function", function, "something that can be called")
        inputs = None if input_columns is None else check_columns(input_columns, view.names)
        # The function sees all columns, whichever ones the format shows.
        spec = FormatSpec(spec.type, None, False, spec.kwargs)
        return cls(function, view, features, spec, batched, with_indices, with_rank, inputs, fn_kwargs or {})

    @property
    def key(self) -> tuple[Any, ...]:
        """What decides the answers, for the fingerprint."""
        return (
            self.function,
            self.batched,
            self.with_indices,
            self.with_rank,
            self.input_columns,
            self.kwargs,
            self.spec.type,
            dict(self.spec.kwargs),
        )

    @cached_property
    def name(self) -> str:
        """What to call the function in messages."""
        name = getattr(self.function, "__qualname__", None) or type(self.function).__qualname__
        return f"the function {name}"

    def __getstate__(self) -> dict[str, Any]:
        # Readers and formatters are made anew where the work is done.
        return {name: value for name, value in vars(self).items() if name not in ("_reader", "_formatter")}

    @cached_property
    def _formatter(self) -> Any:
        return formatter_for(self.spec, self.features)

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self.view, self.features, self.spec)

    def block(self, start: int, stop: int) -> Block:
        """Reads rows for the function."""
        return Block(self.view, start, stop, self._formatter)

    def call_rows(self, block: Block, start: int, rank: int | None) -> list[Any]:
        """Calls the function once a row.

        Args:
            block: The rows.
            start: Row number of the first one.
            rank: Number of the worker.

        Returns:
            What it returned for each.

        Raises:
            TransformError: It failed; names the row, with its error as the cause, and is of its error's class too.
        """
        function, kwargs = self.function, self.kwargs
        answers: list[Any] = []
        try:
            if not (self.with_indices or self.with_rank or self.input_columns is not None or kwargs):
                # Answers are added one by one, so their number says which row failed.
                answers.extend(map(function, self._rows(block, start)))
            else:
                answers.extend(
                    function(*values, *self._extras(start + position, rank), **kwargs)
                    for position, values in enumerate(self._row_arguments(block, start))
                )
        except Exception as error:
            row = start + len(answers)
            raise self._failed(row, row, error) from error
        return self._awaited(answers, start) if self._is_async else answers

    def _awaited(self, coroutines: list[Any], start: int) -> list[Any]:
        answers = run_together(coroutines)
        for position, answer in enumerate(answers):
            if isinstance(answer, Exception):
                raise self._failed(start + position, start + position, answer) from answer
        return answers

    def call_batch(self, block: Block, start: int, rank: int | None) -> Any:
        """Calls the function once with all rows of a block; see `call_rows`."""
        stop = start + block.num_rows
        try:
            if self.input_columns is not None:
                values: tuple[Any, ...] = tuple(block.column(name) for name in self.input_columns)
            elif self._is_lazy:
                values = (LazyBatch(block),)
            else:
                values = (self._reader.batch(range(start, stop)),)
            extras = self._extras(list(range(start, stop)), rank)
            answer = self.function(*values, *extras, **self.kwargs)
            if not self._is_async:
                return answer
            [answer] = run_together([answer])
            if isinstance(answer, BaseException):
                raise answer
            return answer
        except Exception as error:
            raise self._failed(start, stop - 1, error) from error

    @cached_property
    def _is_async(self) -> bool:
        return is_async(self.function)

    @property
    def _is_lazy(self) -> bool:
        return self.spec.type in _LAZY

    def _rows(self, block: Block, start: int) -> Any:
        if self._is_lazy:
            return map(partial(LazyRow, block), range(block.num_rows))
        return self._reader.rows_at(range(start, start + block.num_rows))

    def _row_arguments(self, block: Block, start: int) -> Any:
        if self.input_columns is None:
            return ((row,) for row in self._rows(block, start))
        if not self.input_columns:
            return (() for _ in range(block.num_rows))
        return zip(*(block.column(name) for name in self.input_columns), strict=True)

    def _extras(self, index: Any, rank: int | None) -> tuple[Any, ...]:
        return (*((index,) if self.with_indices else ()), *((rank,) if self.with_rank else ()))

    def _failed(self, first: int, last: int, error: Exception) -> TransformError:
        text = str(error) if isinstance(error, GristmillError) else f"{type(error).__name__}: {error}"
        return TransformError.from_rows(self.name, first, last, text).also(error)


# Formats whose batches are dicts of columns, each of which can be converted on its own.
_LAZY = frozenset({None, "numpy", "torch", "jax", "tensorflow"})


def as_table(answer: Any) -> pa.Table | None:
    """Gives a table that a function returned as an Arrow table; None if it returned something else."""
    if isinstance(answer, pa.Table):
        return answer
    if isinstance(answer, pa.RecordBatch):
        return pa.Table.from_batches([answer])
    if type(answer).__module__.partition(".")[0] == "polars" and hasattr(answer, "to_arrow"):
        return answer.to_arrow()
    if type(answer).__module__.partition(".")[0] == "pandas" and hasattr(answer, "columns"):
        return _of_frame(answer)
    return None


def _of_frame(frame: Any) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # A column of objects of several types, as a `Json` column is in pandas.
        return pa.table({str(name): array_of_mixed(frame[name].tolist()) for name in frame.columns})
