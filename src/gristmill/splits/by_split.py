"""A dict of datasets or streams by split name: what `DatasetDict` and `IterableDatasetDict` have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from typing_extensions import Self

from gristmill.errors import InvalidArgumentError, SplitNotFoundError

__all__ = ["BySplit", "WithSplit"]


class _Part(Protocol):
    @property
    def column_names(self) -> Any: ...
    @property
    def num_columns(self) -> Any: ...

    def remove_columns(self, column_names: Any) -> Any: ...
    def select_columns(self, column_names: Any) -> Any: ...
    def rename_column(self, original_column_name: str, new_column_name: str) -> Any: ...
    def rename_columns(self, column_mapping: Any) -> Any: ...
    def cast(self, features: Any) -> Any: ...
    def cast_column(self, column: str, feature: Any) -> Any: ...


Part = TypeVar("Part", bound=_Part)


class BySplit(dict[str, Part], Generic[Part]):
    """Datasets of one kind by split name.

    Like any dict it takes what it is given; what is neither a name nor a dataset is refused when it is used.

    Attributes:
        kind: Name of the class of the values.
        other: Name of the class that is often put there instead, and the dict for it.
    """

    kind: ClassVar[str]
    other: ClassVar[tuple[str, str]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            super().__init__(*args, **kwargs)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"{type(self).__name__} takes a dict of datasets by split name, such as "
                f'{{"train": dataset}}, not {", ".join(type(one).__name__ for one in args)} ({error}).'
            ) from error

    def __getitem__(self, key: str) -> Part:
        try:
            return super().__getitem__(key)
        except (KeyError, TypeError):
            raise SplitNotFoundError.from_key(key, self) from None

    def __repr__(self) -> str:
        lines = "".join(f"    {name}: {_indented(repr(part))}\n" for name, part in self.items())
        return f"{type(self).__name__}({{\n{lines}}})"

    def __reduce__(self) -> Any:
        return type(self), (dict(self),)

    def _checked(self) -> dict[str, Part]:
        """Gives the splits.

        Raises:
            InvalidArgumentError: A key is no name, or a value is something else than `kind`; names it.
        """
        for name, part in self.items():
            given: object = name
            if not isinstance(given, str):
                raise InvalidArgumentError.from_value("the name of a split", name, "text")
            # By name, so that neither class is loaded for it; PyTorch's Dataset is a base of our streams.
            ours = (base for base in type(part).__mro__ if base.__module__.partition(".")[0] == "gristmill")
            bases = {base.__name__ for base in ours}
            if self.kind not in bases:
                what, remedy = self.other
                hint = f" {remedy}" if what in bases else ""
                raise InvalidArgumentError(
                    f'The split "{name}" of the {type(self).__name__} is {_article(type(part).__name__)}, '
                    f"not {_article(self.kind)}.{hint}"
                )
        return self

    def _each(self, change: Callable[[str, Part], Part]) -> Self:
        """Gives a dict of what a function makes of each split."""
        return type(self)({name: change(name, part) for name, part in self._checked().items()})

    def _counts(self, num_shards: Any) -> dict[str, Any]:
        """Checks a number of files for each split; None for each if left out."""
        counts = dict.fromkeys(self) if num_shards is None else num_shards
        if not isinstance(counts, dict) or set(counts) != set(self):
            raise InvalidArgumentError.from_value(
                "num_shards", num_shards, "a number of files for each split"
            )
        return counts

    @property
    def column_names(self) -> dict[str, Any]:
        """Names of the columns of each split, as far as they are known."""
        return {name: part.column_names for name, part in self._checked().items()}

    @property
    def num_columns(self) -> dict[str, Any]:
        """How many columns each split has, as far as that is known."""
        return {name: part.num_columns for name, part in self._checked().items()}

    def remove_columns(self, column_names: str | list[str]) -> Self:
        """Leaves out columns of every split."""
        return self._each(lambda _, part: part.remove_columns(column_names))

    def select_columns(self, column_names: str | list[str]) -> Self:
        """Keeps some columns of every split."""
        return self._each(lambda _, part: part.select_columns(column_names))

    def rename_column(self, original_column_name: str, new_column_name: str) -> Self:
        """Gives a column of every split another name."""
        return self._each(lambda _, part: part.rename_column(original_column_name, new_column_name))

    def rename_columns(self, column_mapping: Mapping[str, str]) -> Self:
        """Gives columns of every split other names."""
        return self._each(lambda _, part: part.rename_columns(column_mapping))

    def cast(self, features: Any) -> Self:
        """Brings the columns of every split to features."""
        return self._each(lambda _, part: part.cast(features))

    def cast_column(self, column: str, feature: Any) -> Self:
        """Brings a column of every split to a feature."""
        return self._each(lambda _, part: part.cast_column(column, feature))


class WithSplit:
    """A function that is also told the name of the split, after its other arguments.

    Args:
        function: Takes it.
        split: The name.
    """

    def __init__(self, function: Callable[..., Any], split: str) -> None:
        self._function = function
        self._split = split

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it."""
        return self._function(*args, self._split, **kwargs)


def _article(name: str) -> str:
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


def _indented(text: str) -> str:
    return text.replace("\n", "\n    ")
