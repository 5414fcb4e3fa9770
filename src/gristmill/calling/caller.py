"""How the user's function is called: with rows or batches, row numbers, the rank; and which row it failed on."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count, repeat, starmap
from typing import Any

import pyarrow as pa

from gristmill.arguments import check_columns
from gristmill.calling.alike import NOTHING_ODD, Alike
from gristmill.calling.awaiting import is_async, run_together
from gristmill.calling.owned import owned_answer, owned_arrays, owned_later, owned_rows
from gristmill.errors import GristmillError, InvalidArgumentError, TransformError
from gristmill.features.foreign import own_types
from gristmill.features.mixed import array_of_mixed
from gristmill.formatting import FormatSpec, LazyBatch, Reader
from gristmill.formatting.lazy import Block, missing_column
from gristmill.table.making import check_names
from gristmill.table.view import View


@dataclass
class Call:
    """A function with the documented ways to call it, whatever the rows are and wherever they come from.

    Attributes:
        function: The user's function.
        batched: Call it with batches.
        with_indices: Pass row numbers.
        with_rank: Pass the number of the worker.
        input_columns: Pass these columns as arguments.
        kwargs: Further arguments.
    """

    function: Callable[..., Any]
    batched: bool
    with_indices: bool
    with_rank: bool
    input_columns: list[str] | None
    kwargs: dict[str, Any]

    @cached_property
    def name(self) -> str:
        """What to call the function in messages."""
        name = getattr(self.function, "__qualname__", None) or type(self.function).__qualname__
        return f"the function {name}"

    @cached_property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function."""
        return is_async(self.function)

    def on_rows(
        self,
        arguments: Iterable[Any],
        rows: int,
        start: int,
        rank: int | None,
        answers: list[Any],
        given: Iterable[Any] | None = None,
    ) -> None:
        """Calls the function once a row.

        Args:
            arguments: The rows, or tuples of arguments if there are `input_columns`.
            rows: How many they are.
            start: Row number of the first one.
            rank: Number of the worker.
            answers: Takes what the function returns; when it fails, those of the rows before are in it.
            given: The rows, if the answers are kept: then those are copied where the function could change them later.

        Raises:
            TransformError: It failed; names the row, with its error as the cause, and is of its error's class too.
        """
        try:
            # Answers are added one by one, so their number says which row failed.
            calls = self._calls(arguments, start, rank)
            if given is not None:
                calls = map(owned_later, calls, given) if self.is_async else owned_rows(calls, given)
            answers.extend(calls)
            if len(answers) < rows:
                # For `map` that is its own end; the rows after it would be lost.
                raise StopIteration
        except Exception as error:
            row = start + len(answers)
            raise self._failed(row, row, error) from error
        except BaseException as error:
            self._note(error, start + len(answers), start + len(answers))
            raise
        if self.is_async:
            self._await(answers, start)

    def on_rows_apart(
        self, arguments: Iterable[Any], rows: int, start: int, rank: int | None
    ) -> Alike | list[Any]:
        """Calls the function once a row, and takes dicts apart as they come, if all have the same keys.

        A dict that is let go at once takes half the time of one that is kept until the block is done.

        Args:
            arguments: As for `on_rows`.
            rows: How many they are, at least one.
            start: Row number of the first one.
            rank: Number of the worker.

        Returns:
            What it returned: by column if that were dicts alone, with the same keys; else one by one.

        Raises:
            TransformError: As for `on_rows`.
        """
        answers: list[Any] = []
        if self.is_async:
            self.on_rows(arguments, rows, start, rank, answers, repeat(None))
            return answers
        alike: Alike | None = None
        try:
            given = iter(arguments)
            function = self._function
            calls = self._calls(given, start, rank)
            answers.append(next(calls))
            alike = Alike.beginning_with(answers[0])
            if alike is None:
                answers[0] = owned_answer(answers[0])
            else:
                answers.clear()
                plain = self.input_columns is None and not self.with_indices and not self.with_rank
                odd = alike.extend(given if plain else calls, function if plain else None)
                if len(alike) == rows:
                    return alike
                if odd is not NOTHING_ODD:
                    answers.extend([*alike.dicts(), owned_answer(odd)])
                    alike = None
            if alike is None:
                answers.extend(owned_rows(calls, repeat(None)))
            if len(answers) < rows:
                raise StopIteration  # as in `on_rows`
        except Exception as error:
            row = start + (len(answers) if alike is None else len(alike))
            raise self._failed(row, row, error) from error
        except BaseException as error:
            row = start + (len(answers) if alike is None else len(alike))
            self._note(error, row, row)
            raise
        return answers

    @property
    def _function(self) -> Callable[..., Any]:
        return partial(self.function, **self.kwargs) if self.kwargs else self.function

    def _calls(self, arguments: Iterable[Any], start: int, rank: int | None) -> Iterator[Any]:
        function = self._function
        extras: list[Iterable[Any]] = [count(start)] if self.with_indices else []
        if self.with_rank:
            extras.append(repeat(rank))
        if self.input_columns is None:
            return map(function, arguments, *extras)
        if extras:
            arguments = map(operator.add, arguments, zip(*extras, strict=False))
        return starmap(function, arguments)

    def _await(self, answers: list[Any], start: int) -> None:
        for position, answer in enumerate(run_together(answers)):
            if isinstance(answer, Exception):
                del answers[position:]
                raise self._failed(start + position, start + position, answer) from answer
            if isinstance(answer, BaseException):
                self._note(answer, start + position, start + position)
                raise answer  # a call that was cancelled is none that returned something
            answers[position] = answer

    def on_batch(self, values: tuple[Any, ...], start: int, stop: int, rank: int | None) -> Any:
        """Calls the function once with a batch.

        Args:
            values: The batch, or its `input_columns`.
            start: Row number of its first row.
            stop: Row number after its last row.
            rank: Number of the worker.

        Raises:
            TransformError: As for `on_rows`.
        """
        try:
            extras = self._extras(list(range(start, stop)) if self.with_indices else None, rank)
            answer = self.function(*values, *extras, **self.kwargs)
            if not self.is_async:
                return answer
            [answer] = run_together([answer])
            if isinstance(answer, BaseException):
                raise answer
            return answer
        except Exception as error:
            raise self._failed(start, stop - 1, error) from error
        except BaseException as error:
            self._note(error, start, stop - 1)
            raise

    def _extras(self, index: Any, rank: int | None) -> tuple[Any, ...]:
        return (*((index,) if self.with_indices else ()), *((rank,) if self.with_rank else ()))

    def _note(self, error: BaseException, first: int, last: int) -> None:
        """Notes where an exception that is no error, as SystemExit, came from; it goes on as it is.

        Only a worker process tells of it: with `add_note`, Ctrl-C would end in a line about some row.
        """
        rows = f"row {first}" if first == last else f"rows {first} to {last}"
        error.ended_call = f"This ended {self.name} on {rows}."  # type: ignore[attr-defined]

    def _failed(self, first: int, last: int, error: Exception) -> TransformError:
        told = missing_column(error) or error
        try:
            text = str(told) if isinstance(told, GristmillError) else f"{type(error).__name__}: {error}"
        except Exception:  # noqa: BLE001  # an exception whose own text can't be made
            text = type(error).__name__
        return TransformError.from_rows(self.name, first, last, text).also(error)


@dataclass
class Caller(Call):
    """A function and the rows of a view it is called on.

    Attributes:
        view: The rows it is called on.
        features: The feature of each column.
        spec: The format it sees them in.
    """

    view: View
    features: Mapping[str, Any]
    spec: FormatSpec

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
        if not isinstance(fn_kwargs, Mapping | None):
            raise InvalidArgumentError.from_value("fn_kwargs", fn_kwargs, "a dict of arguments by name")
        return cls(
            function, batched, with_indices, with_rank, inputs, dict(fn_kwargs or {}), view, features, spec
        )

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

    def __getstate__(self) -> dict[str, Any]:
        # Readers and formatters are made anew where the work is done.
        return {name: value for name, value in vars(self).items() if name not in ("_reader", "_formatter")}

    @cached_property
    def _formatter(self) -> Any:
        return self.spec.formatter(self.features)

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self.view, self.features, self.spec)

    def blocks(self, start: int, stop: int, size: int) -> Iterator[tuple[int, Block]]:
        """Gives rows for the function, block after block; each is done with when the next one is asked for.

        Args:
            start: The first row.
            stop: The row to stop before.
            size: Rows a block.

        Returns:
            The number of its first row, and the block.
        """
        block: Block | None = None
        for begin in range(start, stop, size):
            end = min(stop, begin + size)
            reused = block is not None and not self.batched
            block = (
                block.after(begin, end)
                if block is not None and reused
                else Block(self.view, begin, end, self._formatter)
            )
            yield begin, block

    def call_rows(self, block: Block, start: int, rank: int | None) -> list[Any]:
        """Calls the function once a row.

        Args:
            block: The rows.
            start: Row number of the first one.
            rank: Number of the worker.

        Returns:
            What it returned for each.

        Raises:
            TransformError: It failed; see `on_rows`.
        """
        answers: list[Any] = []
        self.on_rows(self._arguments(block, start), block.num_rows, start, rank, answers)
        return answers

    def call_rows_apart(self, block: Block, start: int, rank: int | None) -> Alike | list[Any]:
        """Calls the function once a row, see `call_rows` and `on_rows_apart`."""
        return self.on_rows_apart(self._arguments(block, start), block.num_rows, start, rank)

    def call_batch(self, block: Block, start: int, rank: int | None) -> Any:
        """Calls the function once with all rows of a block; see `call_rows`."""
        stop = start + block.num_rows
        if self.input_columns is not None:
            values: tuple[Any, ...] = tuple(block.column(name) for name in self.input_columns)
        elif self._is_lazy:
            values = (LazyBatch(block),)
        else:
            values = (self._reader.batch(range(start, stop)),)
        return owned_arrays(self.on_batch(values, start, stop, rank))

    @property
    def _is_lazy(self) -> bool:
        return self.spec.type in LAZY_FORMATS

    def _rows(self, block: Block, start: int) -> Any:
        if self._is_lazy:
            return block.rows()
        return self._reader.rows_at(range(start, start + block.num_rows))

    def _arguments(self, block: Block, start: int) -> Any:
        if self.input_columns is None:
            return self._rows(block, start)
        if not self.input_columns:
            return (() for _ in range(block.num_rows))
        return zip(*(block.column(name) for name in self.input_columns), strict=True)


LAZY_FORMATS = frozenset({None, "numpy", "torch", "jax", "tensorflow"})
"""Formats whose batches are dicts of columns, each of which can be converted on its own."""


def as_table(answer: Any) -> pa.Table | None:
    """Gives a table that a function returned as an Arrow table; None if it returned something else."""
    table = _table_of(answer)
    if table is None:
        return None
    check_names(table.column_names)
    return own_types(table)


def _table_of(answer: Any) -> pa.Table | None:
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
    check_names([str(name) for name in frame.columns])
    try:
        return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # A column of objects of several types, as a `Json` column is in pandas.
        return pa.table({str(name): array_of_mixed(frame[name].tolist()) for name in frame.columns})
