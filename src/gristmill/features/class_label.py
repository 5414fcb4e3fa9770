"""`ClassLabel`: a column of integers whose values are classes with names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, cast

import pyarrow as pa

from gristmill.arguments import file_path, whole_number
from gristmill.errors import (
    CastError,
    FileError,
    FileFormatError,
    FileMissingError,
    InvalidArgumentError,
    suggest,
)
from gristmill.features.exact import exact_int, is_text

__all__ = ["ClassLabel"]


@dataclass(init=False, repr=False)
class ClassLabel:
    """An integer column whose values are classes with names.

    Labels are stored as int64; -1 stands for "no label" (hidden test labels) and None for a missing one.

    Args:
        num_classes: Number of classes; their names are then ``"0"``, ``"1"``, ...
        names: Names of the classes, in the order of their ids.
        names_file: Text file with one name a line.
        id: A name of your own; kept, not interpreted.

    Raises:
        InvalidArgumentError: None or several of the three are given and disagree, or names repeat.

    Example:
        >>> label = ClassLabel(names=["neg", "pos"])
        >>> label.str2int("pos"), label.int2str([0, 1])
        (1, ['neg', 'pos'])
    """

    names: list[str]
    id: str | None = None
    num_classes: int = field(default=0, init=False, compare=False)
    names_file: ClassVar[str | None] = None  # an argument only; the names are what is kept
    dtype: ClassVar[str] = "int64"
    pa_type: ClassVar[Any] = pa.int64()
    _type: ClassVar[str] = "ClassLabel"

    def __init__(
        self,
        num_classes: int | None = None,
        names: list[str] | None = None,
        names_file: str | None = None,
        id: str | None = None,
    ) -> None:
        if names_file is not None and names is not None:
            raise InvalidArgumentError("Give ClassLabel either names or names_file, not both.")
        if names_file is not None:
            names = _read_names(names_file)
        if num_classes is not None:
            num_classes = whole_number("num_classes", num_classes, 0)
            names = [str(i) for i in range(num_classes)] if names is None else names
        if names is None:
            raise InvalidArgumentError("ClassLabel needs num_classes, names or names_file.")
        self.names = _checked_names(names)
        self.num_classes = len(self.names)
        self.id = id
        self._ids = {name: i for i, name in enumerate(self.names)}
        if num_classes not in (None, self.num_classes):
            raise InvalidArgumentError(
                f"ClassLabel was given {self.num_classes} names and num_classes={num_classes}."
            )
        if len(self._ids) != self.num_classes:
            repeated = next(name for i, name in enumerate(self.names) if self._ids[name] != i)
            raise InvalidArgumentError(f'The name "{repeated}" is given twice in ClassLabel(names=...).')

    def __call__(self) -> pa.DataType:
        """Gives the Arrow type of the column."""
        return self.pa_type

    def __repr__(self) -> str:
        return f"ClassLabel(names={self.names!r})"

    def int2str(self, values: int | Iterable[int]) -> str | list[str]:
        """Gives the name of a class id, or the names of several.

        Args:
            values: An id, or an iterable of ids.

        Raises:
            InvalidArgumentError: Not an id, or out of range.
        """
        if _is_many(values):
            return [self._name_of(v) for v in cast("Iterable[int]", values)]
        return self._name_of(values)

    def str2int(self, values: str | Iterable[str]) -> int | list[int]:
        """Gives the id of a class name, or the ids of several.

        Args:
            values: A name, or an iterable of names. Text that is no name but an id in digits counts as that id.

        Raises:
            InvalidArgumentError: Not a name of this label.
        """
        if _is_many(values):
            return [self._id_of_name(v) for v in values]
        return self._id_of_name(values)

    def encode_example(self, example_data: Any) -> int | None:
        """Turns a class name or id into the id that is stored; checks it.

        Args:
            example_data: A name, an id from -1 (no label) to ``num_classes - 1``, either of them as text, or None.

        Raises:
            CastError: The value is neither.
        """
        if example_data is None:
            return None
        try:
            if not isinstance(example_data, str):
                number = exact_int(example_data)
            else:
                # A column that holds names and "no label" is text throughout.
                hidden = example_data.strip() == "-1" and example_data not in self._ids
                number = -1 if hidden else self._id_of(example_data)
        except (TypeError, ValueError) as error:
            raise CastError.at(f"{example_data!r:.120} is no label of {self!r:.200}") from error
        if not -1 <= number < self.num_classes:
            raise CastError.at(f"the label {number} is out of range: ids go from 0 to {self.num_classes - 1}")
        return number

    def cast_storage(self, storage: pa.Array) -> pa.Array:
        """Turns a column of class names or ids into the ids that are stored; checks them.

        Args:
            storage: A column of text or integers; nulls stay.

        Raises:
            CastError: A value is neither a name nor an id.

        Example:
            >>> ClassLabel(names=["neg", "pos"]).cast_storage(pa.array(["pos", None])).to_pylist()
            [1, None]
        """
        from gristmill.features.cast import cast_array  # the cast knows this class

        return cast_array(storage, self)

    def _name_of(self, value: Any) -> str:
        try:
            number = exact_int(value)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError.from_value("values", value, "a class id or several") from error
        if isinstance(value, str) or not 0 <= number < self.num_classes:
            raise InvalidArgumentError.from_value("values", value, f"ids from 0 to {self.num_classes - 1}")
        return self.names[number]

    def _id_of_name(self, value: Any) -> int:
        name = value.item() if getattr(value, "ndim", None) == 0 else value
        if not isinstance(name, str):
            raise InvalidArgumentError.from_value("values", value, "a class name or several")
        return self._id_of(name)

    def _id_of(self, value: Any) -> int:
        text = str(value)
        for candidate in (text, text.strip()):
            if candidate in self._ids:
                return self._ids[candidate]
        # More digits than that are no id, and many more are more than `int` reads.
        if text.strip().isdecimal() and len(text) < 20 and int(text) < self.num_classes:
            return int(text)
        raise InvalidArgumentError(f'"{text[:120]}" is no class name. {suggest(text[:120], self.names)}')


def _checked_names(names: Any) -> list[str]:
    # A set has another order in each process, and of a dict nobody can tell whether names are its keys or values.
    refused = str, bytes, Mapping, AbstractSet
    if isinstance(names, refused) or not isinstance(names, Iterable):
        raise InvalidArgumentError.from_value("names", names, "a list with the name of each class")
    made = [str(name) for name in names]
    odd = next((name for name in made if not is_text(name)), None)
    if odd is not None:
        raise InvalidArgumentError.from_value("names", odd, "text (this is half a character)")
    return made


def _is_many(values: Any) -> bool:
    # A zero-dimensional array has __iter__ and can't be iterated.
    return isinstance(values, Iterable) and not isinstance(values, str) and getattr(values, "ndim", 1) > 0


def _read_names(path: str) -> list[str]:
    path = file_path("names_file", path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileFormatError.at(f"is no text in UTF-8 ({error})", file=path) from error
    except FileNotFoundError as error:
        raise FileMissingError.from_path(
            path, "names_file= needs a text file with one name a line."
        ) from error
    except OSError as error:
        raise FileError.from_os_error("read names_file=", path, error) from error
    return [line.strip() for line in text.split("\n") if line.strip()]
