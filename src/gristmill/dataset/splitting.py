"""Which rows go where: shuffling, shards, train and test. Only row numbers, no rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gristmill.arguments import check_column, whole_number
from gristmill.errors import InvalidArgumentError
from gristmill.features import ClassLabel
from gristmill.table.selection import IndexVector
from gristmill.table.view import View

_TEST_SHARE = 0.25


def make_generator(seed: int | None, generator: np.random.Generator | None) -> np.random.Generator:
    """Gives the random numbers a transform uses.

    Without seed or generator they come from numpy's global state, which is moved on by one number: so
    ``numpy.random.seed`` makes a whole program reproducible, and two calls differ.

    Args:
        seed: A seed for a new generator.
        generator: A generator to use as it is.

    Raises:
        InvalidArgumentError: Both were given, or `generator` is none of numpy's.
    """
    if generator is not None:
        if seed is not None:
            raise InvalidArgumentError("Pass either seed= or generator=, not both.")
        if not isinstance(generator, np.random.Generator):
            raise InvalidArgumentError.from_value("generator", generator, "a numpy.random.Generator")
        return generator
    if seed is None:
        state: Any = np.random.get_state()
        words, position = state[1], state[2]
        seed = int(words[position] if position < len(words) else words[0])
        np.random.random()
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError.from_value("seed", seed, "a whole number, 0 or more") from error


def shard_rows(rows: int, num_shards: int, index: int, contiguous: bool) -> range:
    """Gives the rows of one of several shards of nearly equal size.

    Args:
        rows: How many rows there are.
        num_shards: How many shards.
        index: Which one, from 0.
        contiguous: Consecutive rows; otherwise every `num_shards`-th row.

    Raises:
        InvalidArgumentError: There is no such shard, or no shards.

    Example:
        >>> shard_rows(5, 2, 0, True), shard_rows(5, 2, 1, False)
        (range(0, 3), range(1, 5, 2))
    """
    num_shards, index = whole_number("num_shards", num_shards, 1), whole_number("index", index)
    if not 0 <= index < num_shards:
        raise InvalidArgumentError.from_value("index", index, f"a shard from 0 to {num_shards - 1}")
    if not contiguous:
        return range(index, rows, num_shards)
    size, larger = divmod(rows, num_shards)
    start = size * index + min(index, larger)
    return range(start, start + size + (1 if index < larger else 0))


@dataclass(frozen=True)
class SplitSizes:
    """How many rows the two parts get."""

    train: int
    test: int

    @classmethod
    def parse(cls, rows: int, test_size: float | None, train_size: float | None) -> SplitSizes:
        """Works out the sizes from shares (floats below 1) or numbers of rows.

        Args:
            rows: How many rows there are.
            test_size: As documented; a quarter if neither is given.
            train_size: As documented; the rest if not given.

        Raises:
            InvalidArgumentError: The sizes are out of range, too large together, or leave no rows to train on.

        Example:
            >>> SplitSizes.parse(10, 0.25, None)
            SplitSizes(train=7, test=3)
        """
        if test_size is None and train_size is None:
            test_size = _TEST_SHARE
        test = _count(rows, "test_size", test_size, math.ceil)
        train = _count(rows, "train_size", train_size, math.floor)
        if isinstance(test_size, float) and isinstance(train_size, float) and test_size + train_size > 1:
            raise InvalidArgumentError(
                f"train_size={train_size} and test_size={test_size} are more than all rows: their sum must be at most 1."
            )
        if train is None:
            assert test is not None
            train = rows - test
        elif test is None:
            test = rows - train
        if train + test > rows:
            raise InvalidArgumentError(
                f"train_size={train_size} and test_size={test_size} take {train + test} rows, and there are {rows}."
            )
        if train == 0 and rows:
            raise InvalidArgumentError(
                f"With {rows} rows, test_size={test_size} and train_size={train_size}, no row is left to train on."
            )
        return cls(train, test)


def _count(rows: int, name: str, size: float | None, rounding: Any) -> int | None:
    if size is None:
        return None
    if isinstance(size, bool) or not isinstance(size, int | float | np.integer | np.floating):
        raise InvalidArgumentError.from_value(name, size, "a number of rows or a share between 0 and 1")
    if isinstance(size, int | np.integer):
        if not (0 < size < rows or (rows == 0 and size >= 0)):
            raise InvalidArgumentError.from_value(name, size, f"a number of rows from 1 to {rows - 1}")
        return min(int(size), rows)
    if not 0 < size < 1:
        raise InvalidArgumentError.from_value(name, size, "a share between 0 and 1, or a number of rows")
    return int(rounding(size * rows))


def split_rows(
    rows: int, sizes: SplitSizes, generator: np.random.Generator | None
) -> tuple[range | IndexVector, range | IndexVector]:
    """Gives the rows for training and those for testing.

    Args:
        rows: How many rows there are.
        sizes: How many each part gets.
        generator: Shuffles the rows first; None takes them as they come, training first.
    """
    if generator is None:
        return range(sizes.train), range(sizes.train, sizes.train + sizes.test)
    order = generator.permutation(rows).astype(np.int64, copy=False)
    return order[sizes.test : sizes.test + sizes.train], order[: sizes.test]


def split_rows_by_class(
    labels: npt.NDArray[Any], sizes: SplitSizes, generator: np.random.Generator | None
) -> tuple[IndexVector, IndexVector]:
    """Gives rows for training and testing in which each class has the share it has in all rows.

    Args:
        labels: The class of each row.
        sizes: How many rows each part gets.
        generator: Decides which rows, and who gets the rows that do not divide evenly.

    Raises:
        InvalidArgumentError: There is no generator, are no rows, a class has a single row, or a part is smaller than the number of classes.
    """
    if generator is None or not len(labels):
        raise InvalidArgumentError("stratify_by_column needs rows, and shuffle=True.")
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if counts.min() < 2:
        rare = classes[int(counts.argmin())]
        raise InvalidArgumentError(
            f"Class {rare} has one row only; to be in train and test, a class needs at least two."
        )
    for name, size in (("train_size", sizes.train), ("test_size", sizes.test)):
        if size < len(classes):
            raise InvalidArgumentError.from_value(
                name, size, f"at least one row for each of {len(classes)} classes"
            )
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])
    for_train = _apportion(counts, sizes.train, generator)
    for_test = _apportion(counts - for_train, sizes.test, generator)
    train, test = [], []
    for rows, first, second in zip(members, for_train, for_test, strict=True):
        mixed = rows[generator.permutation(len(rows))]
        train.append(mixed[:first])
        test.append(mixed[first : first + second])
    return generator.permutation(np.concatenate(train)), generator.permutation(np.concatenate(test))


def class_ids(view: View, features: Mapping[str, Any], column: str) -> npt.NDArray[Any]:
    """Gives the class of each row, for splitting by class.

    Args:
        view: The rows.
        features: The feature of each column.
        column: The column with the classes.

    Raises:
        ColumnNotFoundError: There is no such column.
        InvalidArgumentError: It is no ClassLabel, or has missing values.
    """
    check_column(column, list(features))
    if not isinstance(features[column], ClassLabel):
        raise InvalidArgumentError(
            f'Column "{column}" is {features[column]}; to stratify by it, it must be a ClassLabel.'
        )
    values = view.table([column]).column(0)
    if values.null_count:
        raise InvalidArgumentError(f'Column "{column}" has {values.null_count} rows without a class.')
    labels: npt.NDArray[Any] = values.to_numpy()
    return labels


def _apportion(counts: IndexVector, wanted: int, generator: np.random.Generator) -> IndexVector:
    """Divides `wanted` rows among classes by size; the largest fractions get the rows left over, ties by lot."""
    exact = counts / counts.sum() * wanted
    given = np.floor(exact)
    fractions = exact - given
    left = int(wanted - given.sum())
    for fraction in np.unique(fractions)[::-1]:
        if left <= 0:
            break
        tied = np.flatnonzero(fractions == fraction)
        lucky = generator.choice(tied, size=min(len(tied), left), replace=False)
        given[lucky] += 1
        left -= len(lucky)
    whole: IndexVector = given.astype(np.int64)
    return whole
