"""The tables that a user's builder generates: examples brought to columns a batch at a time, or tables as they come."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa

from gristmill.calling.owned import owned
from gristmill.errors import DatasetGenerationError, DuplicatedKeysError, GristmillError
from gristmill.features import Features
from gristmill.features.build import table_from_rows
from gristmill.logging import get_logger

_log = get_logger(__name__)


@dataclass(frozen=True)
class Source:
    """What a builder generates one split by; sent to worker processes.

    Attributes:
        generate: ``_generate_examples`` or ``_generate_tables`` of the builder.
        features: The columns, if they are given.
        batch_size: How many examples become a table at a time.
        check_keys: Whether two examples with one key are an error.
        where: What to call it in errors.
    """

    generate: Callable[..., Iterable[Any]]
    features: Features | None
    batch_size: int
    check_keys: bool
    where: str

    def pairs(self, gen_kwargs: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
        """Yields the pairs of key and example or table; what the user's code raises names the row.

        Raises:
            DatasetGenerationError: The user's code failed, or yielded something else.
        """
        count = 0
        try:
            for pair in self.generate(**gen_kwargs):
                if not isinstance(pair, tuple) or len(pair) != 2:
                    raise DatasetGenerationError(
                        f"{self.where} must yield pairs of a key and an example or table, not {type(pair).__name__} "
                        f"(number {count})."
                    )
                yield pair
                count += 1
        except GristmillError:
            raise
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise DatasetGenerationError(
                f"{self.where} failed after yielding {count} of its keys: {problem}"
            ) from error


def named(row: Any, names: set[str]) -> Any:
    """Gives a row without the values that have none of these names; what is no dict is left as it is."""
    if not isinstance(row, Mapping) or names.issuperset(row):
        return row
    return {name: value for name, value in row.items() if name in names}


@dataclass(frozen=True)
class Examples(Source):
    """The tables of a `GeneratorBasedBuilder`."""

    def __call__(self, gen_kwargs: Mapping[str, Any], advance: Callable[[int], object]) -> Iterator[pa.Table]:
        """Yields tables of `batch_size` rows.

        Raises:
            CastError: A value does not fit; names row and column.
            DuplicatedKeysError: Two examples have the same key.
        """
        pairs = self.pairs(gen_kwargs)
        names = None if self.features is None else set(self.features)
        keys = _Keys(self.where) if self.check_keys else None
        first, told = 0, False
        # Rows wait until there are enough for a table; meanwhile the code may fill the same dict with the next one.
        while block := [(key, owned(row)) for key, row in islice(pairs, self.batch_size)]:
            if keys is not None:
                keys.check([key for key, _ in block], first)
            rows = [row for _, row in block]
            if names is not None:
                odd = [row for row in rows if isinstance(row, Mapping) and not names.issuperset(row)]
                if odd and not told:
                    told = True
                    more = sorted({str(name) for row in odd for name in row} - names)
                    _log.warning(
                        "%s: left out %s, which the features do not name", self.where, ", ".join(more)
                    )
                if odd:
                    rows = [named(row, names) for row in rows]
            yield table_from_rows(rows, self.features, first_row=first, python_text=True)
            first += len(block)
            advance(len(block))


@dataclass(frozen=True)
class WholeTables(Source):
    """The tables of an `ArrowBasedBuilder`."""

    def __call__(self, gen_kwargs: Mapping[str, Any], advance: Callable[[int], object]) -> Iterator[pa.Table]:
        """Yields tables as they come.

        Raises:
            DuplicatedKeysError: Two tables have the same key.
            DatasetGenerationError: It is no table.
        """
        keys = _Keys(self.where) if self.check_keys else None
        for number, (key, table) in enumerate(self.pairs(gen_kwargs)):
            if keys is not None:
                keys.check([key], number)
            if isinstance(table, pa.RecordBatch):
                table = pa.Table.from_batches([table])  # noqa: PLW2901  # the same rows
            yield table
            advance(getattr(table, "num_rows", 0))


class _Keys:
    """The keys so far, as hashes."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._rows: dict[bytes, int] = {}

    def check(self, keys: list[Any], first: int) -> None:
        """Takes in keys; raises DuplicatedKeysError for one that was there before."""
        for row, key in enumerate(keys, first):
            digest = hashlib.blake2b(
                f"{type(key).__name__} {key}".encode("utf-8", "surrogatepass"), digest_size=16
            ).digest()
            earlier = self._rows.setdefault(digest, row)
            if earlier != row:
                raise DuplicatedKeysError.from_key(key, earlier, row, self._where)
