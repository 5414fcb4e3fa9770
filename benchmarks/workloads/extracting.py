"""Text out of Parquet into one mapped file. `datasets` has no such thing; the limit decodes and writes the same bytes."""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from case import WORKLOADS, Case, Workload

_GROUP = 16_384


def _source(case: Case, codec: str) -> Path:
    """The texts of `big` in row groups of 5 MB, the size that FineWeb has, in pages that hold values as they are."""
    import pyarrow.parquet as pq

    path: Path = case.folder / f"{codec}.parquet"
    table = case.table("big").select(["text"])
    pq.write_table(table, path, row_group_size=_GROUP, compression=codec, use_dictionary=False)
    return path


def _extract(codec: str) -> Callable[[Case], Any]:
    def run(case: Case) -> Any:
        _ = case.lib.DocsFile  # `datasets` has none: said so, not failed
        from gristmill.docs_file import extract

        source = _source(case, codec)
        with case.timed():
            [made] = extract(source, case.folder / "a.docs", threads=2)
        return made.text_bytes

    return run


def _decode_and_write(codec: str) -> Callable[[Case], Any]:
    def run(case: Case) -> Any:
        import pyarrow.parquet as pq

        source = _source(case, codec)
        total = 0
        with case.timed():
            footer = pq.read_metadata(source)

            def decode(group: int) -> Any:
                with pq.ParquetFile(source, metadata=footer, memory_map=True) as file:
                    return file.read_row_group(group, columns=["text"], use_threads=False).column(0).chunks

            waiting: deque[Any] = deque()
            with ThreadPoolExecutor(2) as pool, (case.folder / "raw").open("wb") as out:
                for group in range(footer.num_row_groups + 3):
                    if group < footer.num_row_groups:
                        waiting.append(pool.submit(decode, group))
                    if waiting and (len(waiting) > 2 or group >= footer.num_row_groups):
                        for chunk in waiting.popleft().result():
                            _, offsets, data = chunk.buffers()
                            out.write(offsets)
                            out.write(data)
                            total += int.from_bytes(
                                memoryview(offsets)[4 * len(chunk) : 4 * len(chunk) + 4], "little"
                            )
                out.flush()
                os.fsync(out.fileno())
        return total

    return run


def _decompress(codec: str) -> Callable[[Case], Any]:
    """The decompressor alone, on blocks of a row group's text."""

    def run(case: Case) -> Any:
        import pyarrow as pa

        blocks = [
            pa.py_buffer("".join(batch.column("text").to_pylist()).encode())
            for batch in case.table("big").select(["text"]).combine_chunks().to_batches(max_chunksize=_GROUP)
        ]
        packed = [(pa.compress(block, codec), block.size) for block in blocks]
        total = 0
        with case.timed():
            for data, size in packed:
                total += pa.decompress(data, size, codec).size
        return total

    return run


for _codec in ("zstd", "snappy"):
    WORKLOADS[f"extract_{_codec}"] = Workload(
        f"extract_{_codec}", _extract(_codec), _decode_and_write(_codec)
    )
    WORKLOADS[f"decompress_{_codec}"] = Workload(f"decompress_{_codec}", _decompress(_codec))
