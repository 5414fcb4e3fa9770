"""How many files a dataset is saved as."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from gristmill import config
from gristmill.arguments import parse_size, whole_number
from gristmill.engine.tasks import check_num_proc
from gristmill.errors import InvalidArgumentError
from gristmill.table.view import View


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
