"""Names of splits, and the older way to say which rows of them are meant: ``Split.TRAIN.subsplit(percent[:25])``."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from gristmill.errors import InvalidArgumentError
from gristmill.splits.infos import SplitDict, SplitReadInstruction
from gristmill.splits.slices import SplitPart

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["NamedSplit", "NamedSplitAll", "PercentSlice", "Split", "SplitBase", "percent"]

_NAME = re.compile(r"\w[\w.-]*")


class _PercentMeta(type):
    def __getitem__(cls, bounds: slice) -> PercentSlice:
        return PercentSlice(bounds)


class PercentSlice(metaclass=_PercentMeta):
    """Percentages of a split, written as a slice.

    Args:
        bounds: A slice of whole numbers from -100 to 100, without a step.

    Raises:
        InvalidArgumentError: It is no such slice.

    Example:
        >>> Split.TRAIN.subsplit(percent[:25])
        NamedSplit('train')[:25%]
    """

    def __init__(self, bounds: Any) -> None:
        if (
            not isinstance(bounds, slice)
            or bounds.step is not None
            or not all(bound is None or _is_percent(bound) for bound in (bounds.start, bounds.stop))
        ):
            expected = "a slice of whole percents from -100 to 100, such as percent[:25]"
            raise InvalidArgumentError.from_value("percent", bounds, expected)
        self.bounds = bounds


percent: _PercentMeta = PercentSlice


def _is_percent(bound: object) -> bool:
    return isinstance(bound, int) and not isinstance(bound, bool) and abs(bound) <= 100


class SplitBase(ABC):
    """What stands for rows of splits: a name, some percent of one, or several joined by ``+``.

    Example:
        >>> isinstance(Split.TRAIN, SplitBase), isinstance(Split.TRAIN + Split.TEST, SplitBase)
        (True, True)
    """

    __slots__ = ()

    @property
    @abstractmethod
    def parts(self) -> tuple[SplitPart, ...]:
        """The splits meant, with the slice of each; a part named ``"all"`` is every split there is."""

    def get_read_instruction(self, split_dict: SplitDict) -> SplitReadInstruction:
        """Looks up what is meant among the splits of a dataset.

        Args:
            split_dict: The splits there are.

        Raises:
            SplitNotFoundError: There is no such split.

        Example:
            >>> from gristmill.splits import SplitInfo
            >>> splits = SplitDict()
            >>> splits.add(SplitInfo("train", 1000, 200))
            >>> quarter = Split.TRAIN.subsplit(percent[:25])
            >>> quarter.get_read_instruction(splits).get_list_sliced_split_info()[0].slice_value
            slice(None, 25, None)
        """
        instruction = SplitReadInstruction()
        for part in self.parts:
            every = part.split == "all" and "all" not in split_dict
            for name in list(split_dict) if every else [part.split]:
                found = SplitReadInstruction(split_dict[name])
                if not part.whole:
                    found = found[slice(part.start, part.stop)]
                instruction += found
        return instruction

    def __add__(self, other: Any) -> Any:
        if isinstance(other, SplitBase):
            return _Joined((*self.parts, *other.parts))
        return NotImplemented

    def subsplit(
        self,
        arg: Any = None,
        k: int | None = None,
        percent: Any = None,
        weighted: Sequence[int] | None = None,
    ) -> Any:
        """Cuts by percentages; exactly one argument is given.

        Args:
            arg: Any of the others: a number, a percent slice, or a list.
            k: Into so many equal parts.
            percent: One part: ``percent[:25]``.
            weighted: Into parts of these sizes relative to each other.

        Returns:
            One part for a percent slice, otherwise a tuple of parts that cover everything once.

        Raises:
            InvalidArgumentError: None or several were given, or it can't be cut like that.

        Example:
            >>> Split.TRAIN.subsplit(weighted=[3, 1])
            (NamedSplit('train')[0%:75%], NamedSplit('train')[75%:100%])
        """
        given = [value for value in (arg, k, percent, weighted) if value is not None]
        if len(given) != 1:
            raise InvalidArgumentError(
                "subsplit takes exactly one of: a number of parts k, a percent slice, weighted sizes."
            )
        value: Any = given[0]
        if isinstance(value, slice | PercentSlice):
            bounds = value.bounds if isinstance(value, PercentSlice) else PercentSlice(value).bounds
            return self._cut(bounds)
        weights = [1] * value if _is_percent(value) and value > 0 else value
        if (
            not isinstance(weights, list | tuple)
            or not 0 < len(weights) <= 100
            or not all(isinstance(weight, int) and weight > 0 for weight in weights)
        ):
            expected = "a number of parts from 1 to 100, a percent slice, or a list of whole sizes"
            raise InvalidArgumentError.from_value("subsplit", value, expected)
        marks = [0, *(100 * reached // sum(weights) for reached in accumulate(weights))]
        return tuple(self._cut(slice(start, stop)) for start, stop in pairwise(marks))

    def _cut(self, bounds: slice) -> _Cut:
        if any(not part.whole for part in self.parts):
            raise InvalidArgumentError(f"{self!r} is a part already and can't be cut again.")
        return _Cut(self, bounds)


class _Cut(SplitBase):
    """Some percent of every split that a name or a sum of names stands for."""

    def __init__(self, base: SplitBase, bounds: slice) -> None:
        self._base, self._bounds = base, bounds

    @property
    def parts(self) -> tuple[SplitPart, ...]:
        start, stop = self._bounds.start, self._bounds.stop
        return tuple(SplitPart(part.split, start, stop, True) for part in self._base.parts)

    def __repr__(self) -> str:
        start, stop = (
            "" if bound is None else f"{bound}%" for bound in (self._bounds.start, self._bounds.stop)
        )
        return f"{self._base!r}[{start}:{stop}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Cut) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)


class _Joined(SplitBase):
    """The rows of several, one after another."""

    def __init__(self, parts: tuple[SplitPart, ...]) -> None:
        self._parts = parts

    @property
    def parts(self) -> tuple[SplitPart, ...]:
        return self._parts

    def __repr__(self) -> str:
        return f"({' + '.join(part.spec for part in self._parts)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Joined) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)


class NamedSplit(SplitBase, str):
    """The name of a split: a string in every respect, with a repr that says what it is.

    Two of them added give both, one after another; a name and plain text give text.

    Args:
        name: For example ``"train"``, or a slice such as ``"train[:10%]"``.

    Raises:
        InvalidArgumentError: It is no text, or can't be the name of a split.

    Example:
        >>> NamedSplit("train") == "train"
        True
        >>> NamedSplit("train") + NamedSplit("test")
        (train + test)
    """

    __slots__ = ()

    def __new__(cls, name: str) -> Self:
        """Makes the name."""
        given: object = name
        if not isinstance(given, str):
            raise InvalidArgumentError.from_value("split", name, "the name of a split, as text")
        for piece in name.split("+"):
            if not _NAME.fullmatch(piece.partition("[")[0].partition("(")[0].strip(" ")):
                expected = 'a name of letters, digits, "_", "." and "-"'
                raise InvalidArgumentError.from_value("split", str(name), expected)
        return str.__new__(cls, name)

    @property
    def parts(self) -> tuple[SplitPart, ...]:
        """The split of this name."""
        return (SplitPart(str(self)),)

    def __add__(self, other: Any) -> Any:
        return SplitBase.__add__(self, other) if isinstance(other, SplitBase) else str.__add__(self, other)

    __eq__ = str.__eq__
    __ne__ = str.__ne__
    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return f"NamedSplit({str(self)!r})"

    def __reduce__(self) -> tuple[type[NamedSplit], tuple[str, ...]]:
        return NamedSplit, (str(self),)


class NamedSplitAll(NamedSplit):
    """The name that means every split of a dataset.

    Example:
        >>> NamedSplitAll(), NamedSplitAll() == "all"
        (NamedSplitAll(), True)
    """

    __slots__ = ()

    def __new__(cls) -> Self:
        """Makes the name."""
        return str.__new__(cls, "all")

    def __repr__(self) -> str:
        return "NamedSplitAll()"

    def __reduce__(self) -> tuple[type[NamedSplit], tuple[str, ...]]:
        return NamedSplitAll, ()


class Split:
    """The usual split names; calling it makes any other.

    Example:
        >>> Split.TRAIN, str(Split("extra"))
        (NamedSplit('train'), 'extra')
    """

    TRAIN: ClassVar[NamedSplit] = NamedSplit("train")
    TEST: ClassVar[NamedSplit] = NamedSplit("test")
    VALIDATION: ClassVar[NamedSplit] = NamedSplit("validation")
    ALL: ClassVar[NamedSplit] = NamedSplitAll()

    def __new__(cls, name: str) -> NamedSplit:  # type: ignore[misc]  # documented: Split("x") is a NamedSplit
        """Makes the name of a split."""
        return NamedSplitAll() if name == "all" else NamedSplit(name)
