"""`IterableDatasetDict`: streams by split name, with the transforms of `IterableDataset` for all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gristmill.errors import SplitNotFoundError
from gristmill.features import Features
from gristmill.iterable.core import IterableDataset
from gristmill.not_there_yet import MissingMethod


class IterableDatasetDict(dict[str, IterableDataset]):
    """Streams by split name: a dict, with the transforms of `IterableDataset` that apply to every split.

    Example:
        >>> parts = IterableDatasetDict({"train": IterableDataset.from_dict({"a": [1, 2]})})
        >>> list(parts.map(lambda row: {"a": row["a"] + 1})["train"])
        [{'a': 2}, {'a': 3}]
    """

    push_to_hub = MissingMethod()

    def __getitem__(self, key: str) -> IterableDataset:
        try:
            return super().__getitem__(key)
        except KeyError:
            raise SplitNotFoundError.from_name(str(key), self) from None

    def __repr__(self) -> str:
        lines = "".join(
            f"    {name}: {repr(part).replace(chr(10), chr(10) + '    ')}\n" for name, part in self.items()
        )
        return f"IterableDatasetDict({{\n{lines}}})"

    def __reduce__(self) -> Any:
        return IterableDatasetDict, (dict(self),)

    @property
    def column_names(self) -> dict[str, list[str] | None]:
        """Names of the columns of each split, as far as they are known."""
        return {name: part.column_names for name, part in self.items()}

    @property
    def num_columns(self) -> dict[str, int | None]:
        """How many columns each split has, as far as that is known."""
        return {name: part.num_columns for name, part in self.items()}

    def _each(self, change: Callable[[IterableDataset], IterableDataset]) -> IterableDatasetDict:
        return IterableDatasetDict({name: change(part) for name, part in self.items()})

    def map(
        self,
        function: Callable[..., Any] | None = None,
        with_indices: bool = False,
        with_split: bool = False,
        input_columns: str | list[str] | None = None,
        batched: bool = False,
        batch_size: int = 1000,
        drop_last_batch: bool = False,
        remove_columns: str | list[str] | None = None,
        fn_kwargs: dict[str, Any] | None = None,
    ) -> IterableDatasetDict:
        """Calls a function on the rows of every split; the arguments are those of `IterableDataset.map`.

        Args:
            function: As there.
            with_indices: As there.
            with_split: Also pass the split's name, as the last argument.
            input_columns: As there.
            batched: As there.
            batch_size: As there.
            drop_last_batch: As there.
            remove_columns: As there.
            fn_kwargs: As there.
        """
        return IterableDatasetDict(
            {
                name: part.map(
                    partial(_with_split, function, name) if with_split else function,
                    with_indices=with_indices,
                    input_columns=input_columns,
                    batched=batched,
                    batch_size=batch_size,
                    drop_last_batch=drop_last_batch,
                    remove_columns=remove_columns,
                    fn_kwargs=fn_kwargs,
                )
                for name, part in self.items()
            }
        )

    def filter(
        self,
        function: Callable[..., Any] | None = None,
        with_indices: bool = False,
        input_columns: str | list[str] | None = None,
        batched: bool = False,
        batch_size: int | None = 1000,
        fn_kwargs: dict[str, Any] | None = None,
    ) -> IterableDatasetDict:
        """Keeps the rows of every split that a function says yes to; see `IterableDataset.filter`.

        Args:
            function: As there.
            with_indices: As there.
            input_columns: As there.
            batched: As there.
            batch_size: As there.
            fn_kwargs: As there.
        """
        return self._each(
            lambda part: part.filter(function, with_indices, input_columns, batched, batch_size, fn_kwargs)
        )

    def shuffle(
        self,
        seed: int | None = None,
        generator: Any = None,
        buffer_size: int = 1000,
        max_buffer_input_shards: int | None = 10,
    ) -> IterableDatasetDict:
        """Shuffles every split; see `IterableDataset.shuffle`.

        Args:
            seed: As there.
            generator: As there.
            buffer_size: As there.
            max_buffer_input_shards: As there.
        """
        return self._each(lambda part: part.shuffle(seed, generator, buffer_size, max_buffer_input_shards))

    def with_format(self, type: str | None = None) -> IterableDatasetDict:
        """Gives the rows of every split in a format; see `IterableDataset.with_format`."""
        return self._each(lambda part: part.with_format(type))

    def rename_column(self, original_column_name: str, new_column_name: str) -> IterableDatasetDict:
        """Renames a column of every split; see `IterableDataset.rename_column`."""
        return self._each(lambda part: part.rename_column(original_column_name, new_column_name))

    def rename_columns(self, column_mapping: dict[str, str]) -> IterableDatasetDict:
        """Renames columns of every split; see `IterableDataset.rename_columns`."""
        return self._each(lambda part: part.rename_columns(column_mapping))

    def remove_columns(self, column_names: str | list[str]) -> IterableDatasetDict:
        """Leaves out columns of every split; see `IterableDataset.remove_columns`."""
        return self._each(lambda part: part.remove_columns(column_names))

    def select_columns(self, column_names: str | list[str]) -> IterableDatasetDict:
        """Keeps some columns of every split; see `IterableDataset.select_columns`."""
        return self._each(lambda part: part.select_columns(column_names))

    def cast_column(self, column: str, feature: Any) -> IterableDatasetDict:
        """Brings a column of every split to a feature; see `IterableDataset.cast_column`."""
        return self._each(lambda part: part.cast_column(column, feature))

    def cast(self, features: Features) -> IterableDatasetDict:
        """Brings the columns of every split to features; see `IterableDataset.cast`."""
        return self._each(lambda part: part.cast(features))


def _with_split(function: Callable[..., Any] | None, split: str, *arguments: Any, **kwargs: Any) -> Any:
    return None if function is None else function(*arguments, split, **kwargs)
