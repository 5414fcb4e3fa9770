"""The documented grammar of ``split=``: ``"train"``, ``"train[:10%]"``, ``"train[100:200]+test"``. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gristmill.errors import InvalidArgumentError

__all__ = ["SplitPart", "check_rows", "parse_split"]

_PART = re.compile(
    r"(?P<split>\w[\w.-]*)"
    r"(?:\[(?P<start>-?[0-9]+)?(?P<start_percent>%)?:(?P<stop>-?[0-9]+)?(?P<stop_percent>%)?\])?"
    r"(?:\((?P<rounding>closest|pct1_dropremainder)\))?"
)
GRAMMAR = (
    'a split name, or slices by rows ("train[100:200]", "train[-5:]") or whole percents ("train[:10%]"), several joined '
    'by "+"'
)
_PERCENTS = "percentages from -100% to 100%"
_MOST_DIGITS = 18
_MOST_ROWS = 10**_MOST_DIGITS


@dataclass(frozen=True)
class SplitPart:
    """A split, or some consecutive rows of it.

    Attributes:
        split: The split's name.
        start: First row, None for the first there is; a negative one counts from the end.
        stop: Row to stop before, None for all that follow; a negative one counts from the end.
        percent: Whether `start` and `stop` are percentages of the rows and no row numbers.
        drop_remainder: Whether one percent is rounded down to whole rows first, so that equal percentages have equal
            numbers of rows.
        written: The part as it was written; its own wording if left out.
    """

    split: str
    start: int | None = None
    stop: int | None = None
    percent: bool = False
    drop_remainder: bool = False
    written: str = ""

    @property
    def whole(self) -> bool:
        """Whether all rows are meant."""
        return self.start is None and self.stop is None

    @property
    def is_nothing(self) -> bool:
        """Whether it ends where it begins, or before, however many rows the split has.

        Example:
            >>> [part.is_nothing for part in parse_split("train[5:3]+train[-3:]+train[:0]+train[:-3]")]
            [True, False, True, False]
        """
        start, stop = self.start or 0, self.stop
        return stop is not None and (start < 0) == (stop < 0) and stop <= start

    @property
    def is_reversed(self) -> bool:
        """Whether it ends before it begins, however many rows the split has: a slice without rows, as in Python.

        Example:
            >>> [part.is_reversed for part in parse_split("train[5:3]+train[-3:-5]+train[:0]+train[8:-5]")]
            [True, True, False, False]
        """
        return self.is_nothing and self.stop != (self.start or 0)

    @property
    def text(self) -> str:
        """The part as it was written, or as it would be."""
        return self.written or self.spec

    @property
    def spec(self) -> str:
        """The part in the grammar of ``split=``.

        Example:
            >>> SplitPart("train", stop=10, percent=True).spec
            'train[:10%]'
        """
        if self.whole:
            return self.split
        unit = "%" if self.percent else ""
        start, stop = ("" if bound is None else f"{bound}{unit}" for bound in (self.start, self.stop))
        return f"{self.split}[{start}:{stop}]{'(pct1_dropremainder)' * self.drop_remainder}"

    def rows(self, number: int) -> range:
        """Works the slice out for a split of so many rows.

        Args:
            number: Rows of the split.

        Raises:
            InvalidArgumentError: One percent of the rows is less than one row, and the remainder is to be dropped.

        Example:
            >>> parse_split("train[10%:-5%]")[0].rows(200)
            range(20, 190)
        """
        start, stop = self.bounds(number)
        return range(start, max(start, stop))

    def bounds(self, number: int) -> tuple[int, int]:
        """Gives the first row and the one to stop before, which comes earlier where the slice is reversed.

        Args:
            number: Rows of the split.

        Raises:
            InvalidArgumentError: As for `rows`.

        Example:
            >>> parse_split("train[-3:5]")[0].bounds(10)
            (7, 5)
        """
        start = 0 if self.start is None else self._row(self.start, number)
        stop = number if self.stop is None else self._row(self.stop, number)
        return start, stop

    def _row(self, bound: int, number: int) -> int:
        row = bound
        if self.percent and self.drop_remainder:
            if number < 100:
                expected = "a split of at least 100 rows for pct1_dropremainder"
                raise InvalidArgumentError.from_value("split", self.split, expected)
            row = bound * (number // 100)
        elif self.percent:
            row = round(bound * number / 100)
        return min(max(row + number if bound < 0 else row, 0), number)


def parse_split(text: str, known: Sequence[str] = ()) -> list[SplitPart]:
    """Reads a value of ``split=``.

    Args:
        text: One or more parts joined by ``+``. A percent sign at one end of a slice holds for both. Row numbers beyond the
            end, however large, mean the end.
        known: The splits there are, for the error.

    Returns:
        The parts in order.

    Raises:
        InvalidArgumentError: The text is not of the documented form.

    Example:
        >>> [part.split for part in parse_split("train[:100]+test")]
        ['train', 'test']
    """
    splits = f" The splits are: {', '.join(known)}" if known else ""
    return [_parse_part(piece.strip(" "), text, splits) for piece in text.split("+")]


def _parse_part(piece: str, text: str, splits: str) -> SplitPart:
    match = _PART.fullmatch(piece)
    if match is None:
        raise InvalidArgumentError.from_value("split", text, f"{GRAMMAR}.{splits}".removesuffix("."))
    percent = False
    for end in ("start", "stop"):
        if match[f"{end}_percent"] is not None:
            if match[end] is None:
                raise InvalidArgumentError.from_value("split", text, f"{GRAMMAR}.{splits}".removesuffix("."))
            percent = True
    start, stop = (_bound(match[end], percent, text) for end in ("start", "stop"))
    drop_remainder = percent and match["rounding"] == "pct1_dropremainder"
    return SplitPart(match["split"], start, stop, percent, drop_remainder, piece)


def _bound(digits: str | None, percent: bool, text: str) -> int | None:
    if digits is None:
        return None
    bound: int
    if len(digits) > _MOST_DIGITS:
        bound = -_MOST_ROWS if digits.startswith("-") else _MOST_ROWS
    else:
        bound = int(digits)
    if percent and abs(bound) > 100:
        raise InvalidArgumentError.from_value("split", text, _PERCENTS)
    return bound


def check_rows(parts: Sequence[SplitPart], sizes: Mapping[str, int]) -> None:
    """Makes sure that slices mean rows, where their splits have any; one that ends before it begins means none.

    Args:
        parts: The parts of a value of ``split=``.
        sizes: The rows of each split.

    Raises:
        InvalidArgumentError: All of them begin where they end.

    Example:
        >>> check_rows(parse_split("train[8:20]"), {"train": 10})
        >>> check_rows(parse_split("train[8:2]"), {"train": 10})
        >>> check_rows(parse_split("train[10:20]"), {"train": 10})
        Traceback (most recent call last):
        gristmill.errors.InvalidArgumentError: split='train[10:20]' can't be used: expected ... train has 10 rows.
    """
    named = {part.split: sizes[part.split] for part in parts}
    bounds = [part.bounds(sizes[part.split]) for part in parts]
    if not any(named.values()) or any(start != stop for start, stop in bounds):
        return
    has = ", ".join(f"{name} has {rows:,} rows" for name, rows in named.items())
    text = "+".join(part.text for part in parts)
    raise InvalidArgumentError.from_value("split", text, f"a slice that means at least one row; {has}")
