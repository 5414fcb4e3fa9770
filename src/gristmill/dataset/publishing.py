"""`push_to_hub` of datasets: ranges of rows as Parquet files, written here or by worker processes."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from gristmill.dataset.sharding import Sharding
from gristmill.engine import Context, Task, run_tasks
from gristmill.features import Features
from gristmill.features.schema import schema_metadata
from gristmill.files.temporary import temporary_prefix
from gristmill.publishing import WrittenShard, write_shard
from gristmill.table.view import View

__all__ = ["DatasetSource"]

_ROWS = 10_000
_BYTES = 16 << 20


@dataclass(frozen=True)
class DatasetSource:
    """The rows of a dataset.

    Attributes:
        view: The rows.
        features: Their columns.
        sharding: How many files, and by how many processes.
        embed: Put the bytes of files that columns only name into the Parquet files.
    """

    view: View
    features: Features
    sharding: Sharding
    embed: bool

    @property
    def together(self) -> bool:
        """Whether worker processes write several files at a time."""
        return self.sharding.num_proc is not None

    def write(self, folder: Path) -> Iterator[list[WrittenShard]]:
        """Writes the next files into a folder, as many at a time as there are processes."""
        ranges = self.sharding.ranges(self.view)
        workers = min(self.sharding.num_proc or 1, len(ranges))
        schema = self.view.schema.with_metadata(schema_metadata(self.features))
        with contextlib.ExitStack() as stack:
            view = self.view
            if workers > 1:
                prefix = temporary_prefix("rows")
                view = view.stored(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix))))
            write = _Write(view, schema, self.embed)
            for first in range(0, len(ranges), workers):
                tasks = [
                    Task(f"rows {rows[0]} to {rows[1]}", folder / f"{number}.parquet", rows)
                    for number, rows in enumerate(ranges[first : first + workers], first)
                ]
                if workers == 1:
                    size = write.to(tasks[0].output, ranges[first])
                    yield [WrittenShard(tasks[0].output, *size)]
                    continue
                run_tasks(
                    write, tasks, num_proc=workers, description="Writing files", unit="files", reuse=False
                )
                yield [WrittenShard(task.output, *_read_size(task.output)) for task in tasks]


@dataclass(frozen=True)
class _Write:
    """Writes a range of rows; sent to worker processes."""

    view: View
    schema: pa.Schema
    embed: bool

    def to(self, output: Path, rows: tuple[int, int]) -> tuple[int, int]:
        step = self.view.block_rows(_ROWS, _BYTES)
        return write_shard(output, self.view.blocks(step, *rows), self.schema, self.embed)

    def __call__(self, argument: tuple[int, int], output: Path, context: Context) -> None:
        rows, size = self.to(output, argument)
        _size_file(output).write_text(f"{rows} {size}", encoding="ascii")
        context.advance(1)


def _size_file(output: Path) -> Path:
    return output.with_suffix(".size")


def _read_size(output: Path) -> tuple[int, int]:
    rows, size = _size_file(output).read_text(encoding="ascii").split()
    return int(rows), int(size)
