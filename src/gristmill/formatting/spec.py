"""A format as data: which kind of objects, of which columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gristmill.arguments import check_columns
from gristmill.errors import InvalidArgumentError
from gristmill.formatting.registry import FRAMES, Formatter, format_name, make_formatter


@dataclass(frozen=True)
class FormatSpec:
    """What `Dataset.set_format` was told.

    Attributes:
        type: None for Python values, ``"custom"`` for a transform, or the name of a registered format.
        columns: The columns that are formatted; None for all, also those added later.
        output_all_columns: Give the other columns too, as Python values.
        kwargs: Options of the format, for example ``dtype`` for numpy, or ``transform``.
    """

    type: str | None = None
    columns: tuple[str, ...] | None = None
    output_all_columns: bool = False
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(
        cls,
        type: str | None,
        columns: Sequence[str] | None,
        output_all_columns: bool,
        kwargs: Mapping[str, Any],
        existing: Sequence[str],
    ) -> FormatSpec:
        """Checks the arguments of `Dataset.set_format`.

        Args:
            type: Any documented spelling.
            columns: Names, or None.
            output_all_columns: As documented.
            kwargs: As documented.
            existing: The columns that exist.

        Raises:
            InvalidArgumentError: The type is not known, or its batches have no room for other columns.
            ColumnNotFoundError: A column does not exist.

        Example:
            >>> FormatSpec.parse("np", None, False, {}, []).type
            'numpy'
        """
        name = format_name(type)
        columns = None if columns is None else list(dict.fromkeys(check_columns(columns, existing)))
        if name in FRAMES and output_all_columns and set(columns or existing) != set(existing):
            raise InvalidArgumentError(
                f'Batches of the format "{name}" have no room for columns of Python values: '
                "leave out output_all_columns, or name all columns."
            )
        nested = kwargs.get("format_kwargs") or {}
        if not isinstance(nested, Mapping):
            raise InvalidArgumentError.from_value("format_kwargs", nested, "a dict of options")
        options = {**nested, **kwargs}
        options.pop("format_kwargs", None)
        if name == "custom" and not callable(options.get("transform")):
            raise InvalidArgumentError.from_value(
                "transform", options.get("transform"), "a function that takes a dict of columns"
            )
        return cls(name, None if columns is None else tuple(columns), output_all_columns, options)

    @property
    def is_plain(self) -> bool:
        """Whether rows are plain dicts of Python values of all columns."""
        return self.type is None and self.columns is None

    @property
    def transform(self) -> Callable[[dict[str, list[Any]]], Any]:
        """The function of a custom format."""
        function: Callable[[dict[str, list[Any]]], Any] = self.kwargs["transform"]
        return function

    def formatter(self, features: Mapping[str, Any]) -> Formatter:
        """Makes what turns Arrow data into what the user sees.

        Args:
            features: The feature of each column.

        Raises:
            MissingDependencyError: The format's library is not installed.
            InvalidArgumentError: The format has no such option.
        """
        return make_formatter(self.type, self.kwargs, features)

    def renamed(self, mapping: Mapping[str, str]) -> FormatSpec:
        """Follows columns to their new names."""
        if self.columns is None:
            return self
        return replace(self, columns=tuple(mapping.get(name, name) for name in self.columns))

    def within(self, existing: Sequence[str], added: Sequence[str] = ()) -> FormatSpec:
        """Forgets columns that are gone and takes in columns a transform added."""
        if self.columns is None:
            return self
        kept = [name for name in self.columns if name in existing]
        return replace(self, columns=tuple(dict.fromkeys([*kept, *added])))
