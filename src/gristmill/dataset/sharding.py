"""How many files a dataset is saved as."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from gristmill import config
from gristmill.arguments import whole_number
from gristmill.engine.tasks import check_num_proc
from gristmill.errors import InvalidArgumentError
from gristmill.table.view import View

_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[KMGTP]?)(?P<binary>i?)B?", re.IGNORECASE)


@dataclass(frozen=True)
class Sharding:
    """How many Arrow files to write.

    Attributes:
        max_bytes: Largest size of one, if the number follows from it.
        count: Their number, if it was asked for.
        num_proc: Worker processes.
    """

    max_bytes: int
    count: int | None
    num_proc: int | None

    @classmethod
    def parse(
        cls, max_shard_size: int | str | None, num_shards: int | None, num_proc: int | None
    ) -> Sharding:
        """Checks the arguments of `Dataset.save_to_disk`.

        Raises:
            InvalidArgumentError: Both size and number are given, or one means nothing.

        Example:
            >>> Sharding.parse("500MB", None, None).max_bytes
            500000000
        """
        if max_shard_size is not None and num_shards is not None:
            raise InvalidArgumentError("Pass either max_shard_size= or num_shards=, not both.")
        if num_shards is not None:
            num_shards = whole_number("num_shards", num_shards, 1)
        size = config.MAX_SHARD_SIZE if max_shard_size is None else max_shard_size
        return cls(parse_size(size), num_shards, check_num_proc(num_proc))

    @classmethod
    def parse_export(
        cls, max_shard_size: int | str | None, num_shards: int | None, num_proc: int | None
    ) -> Sharding | None:
        """Checks the arguments of `Dataset.to_parquet` and its like; None stands for one file.

        Raises:
            InvalidArgumentError: Both size and number are given, or one means nothing.
        """
        if max_shard_size is None and num_shards is None:
            check_num_proc(num_proc)
            return None
        return cls.parse(max_shard_size, num_shards, num_proc)

    def ranges(self, view: View) -> list[tuple[int, int]]:
        """Divides rows among files of nearly equal numbers of rows."""
        if self.count is not None:
            count = self.count
        else:
            size = view.row_bytes * view.num_rows if view.names else 0
            count = max(int(size / self.max_bytes) + 1, self.num_proc or 1)
        cuts = [view.num_rows * number // count for number in range(count + 1)]
        return list(pairwise(cuts))


def parse_size(size: int | str) -> int:
    """Reads a number of bytes.

    Args:
        size: A number, or text such as ``"500MB"`` or ``"2GiB"``.

    Raises:
        InvalidArgumentError: It is neither, or below 1.

    Example:
        >>> parse_size("1.5KB"), parse_size("1MiB")
        (1500, 1048576)
    """
    value = size
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        base = 1024 if match["binary"] else 1000
        value = int(float(match["number"]) * base ** " KMGTP".index(match["unit"].upper() or " "))
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidArgumentError.from_value("max_shard_size", size, 'a size such as "500MB" or 2_000_000')
    return value
