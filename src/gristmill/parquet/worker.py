"""A process that decodes values: ``python -m gristmill.parquet.worker``, started by `gristmill.parquet.decoding`.

Arrow's decoder can end the whole process on a damaged file (a failed assertion is no exception), so it runs here, with
bounds on memory and CPU time. The job comes as JSON on stdin. Lines of JSON go to stderr: the place that is decoded
next, and what failed. Values, if they are wanted, go to stdout as one Arrow stream a chunk.
"""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Of all of Arrow's allocators the system's is the one that keeps within the bounds set here.
ALLOCATOR = "system"
_PATIENCE = 4
"""Seconds on the clock that one batch may take, for each second of CPU time that all may."""


def main() -> int:
    """Does one job; gives the exit status: 0 if all was decoded, 3 if something could not be."""
    job: dict[str, Any] = json.load(sys.stdin)
    import pyarrow as pa

    from gristmill.parquet.flatten import leaf_values

    _bound(job["memory"], job["seconds"])
    at: dict[str, Any] = {}
    try:
        with contextlib.ExitStack() as files:
            fine, coarse = (files.enter_context(_open(job["path"], unit)) for unit in (None, "us"))
            for group, index, expected in job["chunks"]:
                at = {"group": group, "index": index, "row": 0}
                _say(at)
                file = fine if _fits_nanoseconds(fine, coarse, group, index) else coarse
                with contextlib.ExitStack() as stack:
                    writer = None
                    batches = file.reader.iter_batches(
                        job["rows"], row_groups=[group], column_indices=[index], use_threads=False
                    )
                    for batch in _watched(batches, _PATIENCE * job["seconds"]):
                        # A damaged page can decode to text that is not UTF-8, or to offsets out of range.
                        batch.validate(full=True)
                        at["row"] += batch.num_rows
                        if job["values"]:
                            values = pa.record_batch({"value": leaf_values(batch.column(0))})
                            writer = writer or stack.enter_context(
                                pa.ipc.new_stream(sys.stdout.buffer, values.schema)
                            )
                            writer.write_batch(values)
                    if job["values"] and writer is None:  # no rows, so nothing said the type
                        empty = pa.schema({"value": pa.null()})
                        stack.enter_context(pa.ipc.new_stream(sys.stdout.buffer, empty))
                    if at["row"] != expected:
                        raise ValueError(f"Arrow gives {at['row']:,} of {expected:,} rows")
                    # Before the stream ends: who reads it tells an end from a death by this line.
                    _say({**at, "done": True})
                sys.stdout.buffer.flush()
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        OverflowError,
        KeyError,
        IndexError,
        MemoryError,
        RecursionError,
    ) as error:
        _say({**at, "failed": (str(error).strip() or type(error).__name__).splitlines()[0]})
        return 3
    return 0


def _open(path: str, int96: str | None) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(
        path,
        pre_buffer=False,
        buffer_size=1 << 20,
        page_checksum_verification=True,
        coerce_int96_timestamp_unit=int96,
    )


def _fits_nanoseconds(fine: Any, coarse: Any, group: int, index: int) -> bool:
    """Says whether INT96 times are years that 64 bits of nanoseconds can hold; Arrow would give others without a word."""
    if fine.metadata.row_group(group).column(index).physical_type != "INT96":
        return True
    streams = [file.reader.iter_batches(1 << 14, row_groups=[group], column_indices=[index], use_threads=False)
               for file in (fine, coarse)]  # fmt: skip
    from gristmill.parquet.flatten import leaf_values

    for nano, micro in zip(*streams, strict=True):
        wide = leaf_values(micro.column(0))
        if not leaf_values(nano.column(0)).cast(wide.type, safe=False).equals(wide):
            return False
    return True


def _watched(batches: Iterator[Any], seconds: int) -> Iterator[Any]:
    """Lets the process end should one batch take too long, waiting included; not while whoever reads them is slow."""
    while True:
        signal.alarm(seconds)
        batch = next(batches, None)
        signal.alarm(0)
        if batch is None:
            return
        yield batch


def _say(message: dict[str, Any]) -> None:
    sys.stderr.write(json.dumps(message) + "\n")
    sys.stderr.flush()


def _bound(memory: int, seconds: int) -> None:
    """Keeps this process to some bytes more than it has now, and to some seconds of CPU time."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        # Where this is not known (no /proc), only time is bounded.
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + memory, now + memory))
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.exit(main())
