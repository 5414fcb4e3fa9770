"""`ReadInstruction`: which rows of which splits, as a value that can be added up and written as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gristmill.errors import InvalidArgumentError, SplitNotFoundError
from gristmill.splits.slices import SplitPart, parse_split

__all__ = ["AbsoluteInstruction", "ReadInstruction"]

_ROUNDINGS = ("closest", "pct1_dropremainder")


class AbsoluteInstruction(NamedTuple):
    """Consecutive rows of a split.

    Attributes:
        splitname: The split's name.
        from_: The first row.
        to: The row to stop before.
    """

    splitname: str
    from_: int
    to: int


class ReadInstruction:
    """Rows of one or more splits; what `load_dataset` takes as ``split=``.

    Args:
        split_name: The split.
        rounding: How percentages become rows: ``"closest"`` (also if left out), or ``"pct1_dropremainder"``, by which
            one percent is rounded down to whole rows first, so that equal percentages have equal numbers of rows.
        from_: The first row or percent; negative ones count from the end. From the beginning if left out.
        to: Where to stop before, in the same unit. To the end if left out.
        unit: ``"%"`` or ``"abs"`` (row numbers, also if left out).

    Raises:
        InvalidArgumentError: The unit or rounding is not known, a percentage is beyond -100 or 100, or rounding is
            given where there are no percentages.

    Example:
        >>> half = ReadInstruction("train", to=50, unit="%")
        >>> (half + ReadInstruction("test")).to_spec()
        'train[:50%]+test'
    """

    def __init__(
        self,
        split_name: str,
        rounding: str | None = None,
        from_: int | None = None,
        to: int | None = None,
        unit: str | None = None,
    ) -> None:
        if not isinstance(split_name, str):
            raise InvalidArgumentError.from_value("split_name", split_name, "the name of a split")
        if unit not in (None, "%", "abs"):
            raise InvalidArgumentError.from_choice("unit", str(unit), ["%", "abs"])
        if rounding is not None and rounding not in _ROUNDINGS:
            raise InvalidArgumentError.from_choice("rounding", str(rounding), _ROUNDINGS)
        if rounding is not None and unit != "%":
            raise InvalidArgumentError.from_value("rounding", rounding, 'None where the unit is not "%"')
        bounds: tuple[tuple[str, Any], ...] = (("from_", from_), ("to", to))
        for name, bound in bounds:
            if bound is not None and (not isinstance(bound, int) or isinstance(bound, bool)):
                raise InvalidArgumentError.from_value(name, bound, "a whole number, or None")
            if bound is not None and unit == "%" and abs(bound) > 100:
                raise InvalidArgumentError.from_value(name, bound, "a percentage from -100 to 100")
        part = SplitPart(str(split_name), from_, to, unit == "%", rounding == "pct1_dropremainder")
        self._parts: tuple[SplitPart, ...] = (part,)

    @classmethod
    def _from_parts(cls, parts: Sequence[SplitPart]) -> ReadInstruction:
        made = cls.__new__(cls)
        made._parts = tuple(parts)
        return made

    @classmethod
    def from_spec(cls, spec: str) -> ReadInstruction:
        """Reads the text form.

        Args:
            spec: For example ``"train[:10%]"`` or ``"train[:33%](pct1_dropremainder)+test[-5:]"``.

        Raises:
            InvalidArgumentError: It is not of that form.

        Example:
            >>> ReadInstruction.from_spec("train[10:]+test").to_absolute({"train": 50, "test": 7})[1]
            AbsoluteInstruction(splitname='test', from_=0, to=7)
        """
        if not isinstance(spec, str):
            raise InvalidArgumentError.from_value("spec", spec, 'text such as "train[:10%]"')
        parts = parse_split(str(spec))
        return cls._from_parts(parts)

    def to_spec(self) -> str:
        """Gives the text form.

        Example:
            >>> ReadInstruction("train", from_=-10).to_spec()
            'train[-10:]'
        """
        return "+".join(part.spec for part in self._parts)

    def to_absolute(self, name2len: Mapping[str, int]) -> list[AbsoluteInstruction]:
        """Works out which rows are meant.

        Args:
            name2len: The number of rows of each split.

        Returns:
            For each part: split, first row, and the row to stop before.

        Raises:
            SplitNotFoundError: There is no such split.
            InvalidArgumentError: The remainder of less than 100 rows is to be dropped, which leaves none.

        Example:
            >>> ReadInstruction("train", to=33, unit="%").to_absolute({"train": 1000})
            [AbsoluteInstruction(splitname='train', from_=0, to=330)]
        """
        absolute = []
        for part in self._parts:
            if part.split not in name2len:
                raise SplitNotFoundError.from_name(part.split, name2len)
            rows = part.rows(name2len[part.split])
            absolute.append(AbsoluteInstruction(part.split, rows.start, rows.stop))
        return absolute

    def __add__(self, other: object) -> ReadInstruction:
        if not isinstance(other, ReadInstruction):
            return NotImplemented
        # A sum has one rule: parts without percentages go with either.
        if len({part.drop_remainder for part in (*self._parts, *other._parts) if part.percent}) > 1:
            expected = f"an instruction that rounds as {self.to_spec()} does"
            raise InvalidArgumentError.from_value("other", other.to_spec(), expected)
        return self._from_parts([*self._parts, *other._parts])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReadInstruction) and self.to_spec() == other.to_spec()

    def __hash__(self) -> int:
        return hash(self.to_spec())

    def __str__(self) -> str:
        return self.to_spec()

    def __repr__(self) -> str:
        return f"ReadInstruction.from_spec({self.to_spec()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, (type(self), self._parts)


def _remake(cls: type[ReadInstruction], parts: tuple[SplitPart, ...]) -> ReadInstruction:
    return cls._from_parts(parts)
