"""The documented grammar of ``split=``: ``"train"``, ``"train[:10%]"``, ``"train[100:200]+test"``. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gristmill.errors import InvalidArgumentError, SplitNotFoundError

_PART = re.compile(
    r"(?P<split>\w[\w.-]*)"
    r"(?:\[(?P<start>-?\d+)?(?P<start_percent>%)?:(?P<stop>-?\d+)?(?P<stop_percent>%)?\])?"
    r"(?:\((?P<rounding>closest|pct1_dropremainder)\))?"
)
_GRAMMAR = 'a split name, or slices such as "train[:10%]" or "train[100:200]+test"'


@dataclass(frozen=True)
class Bound:
    """One end of a slice: a row number, or a percentage of the rows; negative ones count from the end."""

    value: int
    percent: bool


@dataclass(frozen=True)
class SplitPart:
    """A split, or some consecutive rows of it.

    Attributes:
        split: The split's name.
        text: The part as it was written.
        start: First row, None for the first there is.
        stop: Row to stop before, None for all that follow.
        drop_remainder: Whether one percent is rounded down to whole rows first, so that equal percentages have equal
            numbers of rows.
    """

    split: str
    text: str
    start: Bound | None = None
    stop: Bound | None = None
    drop_remainder: bool = False

    @property
    def whole(self) -> bool:
        """Whether all rows are meant."""
        return self.start is None and self.stop is None

    def rows(self, number: int) -> range:
        """Works the slice out for a split of so many rows.

        Args:
            number: Rows of the split.

        Raises:
            InvalidArgumentError: One percent of the rows is less than one row, and the remainder is to be dropped.

        Example:
            >>> parse_split("train[10%:-5]")[0].rows(200)
            range(20, 195)
        """
        start = 0 if self.start is None else self._row(self.start, number)
        stop = number if self.stop is None else self._row(self.stop, number)
        return range(start, max(start, stop))

    def _row(self, bound: Bound, number: int) -> int:
        value = bound.value
        if bound.percent and self.drop_remainder:
            if number < 100:
                expected = "a split of at least 100 rows for pct1_dropremainder"
                raise InvalidArgumentError.from_value("split", self.split, expected)
            value = value * (number // 100)
        elif bound.percent:
            value = round(value * number / 100)
        return min(max(value + number if bound.value < 0 else value, 0), number)


def parse_split(text: str) -> list[SplitPart]:
    """Reads a value of ``split=``.

    Args:
        text: One or more parts joined by ``+``.

    Returns:
        The parts in order.

    Raises:
        InvalidArgumentError: The text is not of the documented form.

    Example:
        >>> [part.split for part in parse_split("train[:100]+test")]
        ['train', 'test']
    """
    parts = []
    for piece in text.split("+"):
        match = _PART.fullmatch(piece.strip())
        if match is None:
            raise InvalidArgumentError.from_value("split", text, _GRAMMAR)
        start, stop = (_bound(match, name, text) for name in ("start", "stop"))
        parts.append(
            SplitPart(match["split"], match[0], start, stop, match["rounding"] == "pct1_dropremainder")
        )
    return parts


def _bound(match: re.Match[str], name: str, text: str) -> Bound | None:
    digits, percent = match[name], match[f"{name}_percent"] is not None
    if digits is None:
        if percent:
            raise InvalidArgumentError.from_value("split", text, _GRAMMAR)
        return None
    if len(digits) > 18 or (percent and abs(int(digits)) > 100):
        raise InvalidArgumentError.from_value("split", text, "percentages from -100% to 100%")
    return Bound(int(digits), percent)


def wanted_parts(split: object, known: Sequence[str], where: str = "") -> list[list[SplitPart]]:
    """Reads any documented value of ``split=`` and checks its names.

    Args:
        split: A name or slice, or a list of them.
        known: The splits there are.
        where: The dataset, for the error.

    Returns:
        For each name or slice, its parts; ``"all"`` is every split in turn.

    Raises:
        SplitNotFoundError: There is no such split.
        InvalidArgumentError: The value is not of the documented form.

    Example:
        >>> [[part.split for part in parts] for parts in wanted_parts(["test", "all"], ["train", "test"])]
        [['test'], ['train', 'test']]
    """
    wanted = []
    for text in split if isinstance(split, list | tuple) else [split]:
        if not isinstance(text, str):
            raise InvalidArgumentError.from_value("split", split, _GRAMMAR)
        if text == "all" and "all" not in known:
            wanted.append([SplitPart(name, name) for name in known])
            continue
        # A name is a name, whatever characters are in it.
        parts = [SplitPart(text, text)] if text in known else parse_split(text)
        for part in parts:
            if part.split not in known:
                raise SplitNotFoundError.from_name(part.split, known, where)
        wanted.append(parts)
    return wanted
