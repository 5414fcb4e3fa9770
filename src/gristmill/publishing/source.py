"""What is pushed: the rows of one split, written as Parquet files a few at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from gristmill.features import Features
from gristmill.features.columnless import with_metadata
from gristmill.formats.registry import get_format
from gristmill.table.casting import embed_table_storage

__all__ = ["ShardSource", "WrittenShard", "write_shard"]


@dataclass(frozen=True)
class WrittenShard:
    """One Parquet file of a split.

    Attributes:
        file: Where it is, until it has been sent.
        num_rows: Its rows.
        num_bytes: What they take as Arrow data.
    """

    file: Path
    num_rows: int
    num_bytes: int


class ShardSource(Protocol):
    """The rows of one split."""

    def write(self, folder: Path) -> Iterator[list[WrittenShard]]:
        """Writes the next files into a folder, one or, with several processes, a few at a time.

        The same rows give the same bytes, so that what was sent before a crash is found again.

        Args:
            folder: An empty folder; who draws deletes each file when it has been sent.
        """

    @property
    def features(self) -> Features | None:
        """The columns; a stream that does not know its own has them once `write` is at its end."""

    @property
    def together(self) -> bool:
        """Whether several files come at a time: then nothing else runs while they are written."""


def write_shard(file: Path, tables: Iterable[pa.Table], schema: pa.Schema, embed: bool) -> tuple[int, int]:
    """Writes tables as one Parquet file.

    Args:
        file: Its path.
        tables: The rows, drawn one by one.
        schema: Their schema, with the features in its metadata.
        embed: Put the bytes of files that columns only name into the file.

    Returns:
        Rows and bytes of Arrow data.
    """
    rows = size = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal rows, size
        for table in tables:
            given = with_metadata(table, schema.metadata)
            given = embed_table_storage(given) if embed else given
            rows, size = rows + given.num_rows, size + given.nbytes
            yield from given.to_batches()

    get_format("parquet").write(batches(), file, schema=schema)
    return rows, size
