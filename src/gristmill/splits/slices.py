"""The documented grammar of ``split=``: ``"train"``, ``"train[:10%]"``, ``"train[100:200]+test"``. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gristmill.errors import InvalidArgumentError

__all__ = ["SplitPart", "parse_split"]

_PART = re.compile(
    r"(?P<split>\w[\w.-]*)"
    r"(?:\[(?P<start>-?[0-9]+)?(?P<start_percent>%)?:(?P<stop>-?[0-9]+)?(?P<stop_percent>%)?\])?"
    r"(?:\((?P<rounding>closest|pct1_dropremainder)\))?"
)
GRAMMAR = 'a split name, or slices such as "train[:10%]" or "train[100:200]+test"'
_MOST_DIGITS = 18


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
        start = 0 if self.start is None else self._row(self.start, number)
        stop = number if self.stop is None else self._row(self.stop, number)
        return range(start, max(start, stop))

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


def parse_split(text: str) -> list[SplitPart]:
    """Reads a value of ``split=``.

    Args:
        text: One or more parts joined by ``+``. A percent sign at one end of a slice holds for both.

    Returns:
        The parts in order.

    Raises:
        InvalidArgumentError: The text is not of the documented form.

    Example:
        >>> [part.split for part in parse_split("train[:100]+test")]
        ['train', 'test']
    """
    return [_parse_part(piece.strip(" "), text) for piece in text.split("+")]


def _parse_part(piece: str, text: str) -> SplitPart:
    match = _PART.fullmatch(piece)
    if match is None:
        raise InvalidArgumentError.from_value("split", text, GRAMMAR)
    percent = False
    for end in ("start", "stop"):
        if match[f"{end}_percent"] is not None:
            if match[end] is None:
                raise InvalidArgumentError.from_value("split", text, GRAMMAR)
            percent = True
    start, stop = (_bound(match[end], percent, text) for end in ("start", "stop"))
    drop_remainder = percent and match["rounding"] == "pct1_dropremainder"
    return SplitPart(match["split"], start, stop, percent, drop_remainder, piece)


def _bound(digits: str | None, percent: bool, text: str) -> int | None:
    if digits is None:
        return None
    if len(digits) > _MOST_DIGITS or (percent and abs(int(digits)) > 100):
        raise InvalidArgumentError.from_value("split", text, "percentages from -100% to 100%")
    return int(digits)
