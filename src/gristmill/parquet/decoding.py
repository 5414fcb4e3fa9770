"""Values of column chunks, decoded by Arrow in a process of its own, which may die without taking ours along."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill.errors import FileFormatError
from gristmill.files.temporary import temporary_prefix
from gristmill.parquet.codecs import LARGEST_PAGE
from gristmill.parquet.footer import Chunk, ParquetFile, Place
from gristmill.parquet.pages import SLACK
from gristmill.parquet.source import LocalSource
from gristmill.parquet.worker import ALLOCATOR

BATCH_ROWS = 1 << 14
_MEMORY = 768 << 20
"""Bytes that decoding may take, besides some times the largest chunk."""
_SECONDS = 60
_PIECE = 16 << 20


@dataclass(frozen=True)
class DecodingFault:
    """What could not be decoded.

    Attributes:
        group: Row group; None if the file could not even be opened.
        index: Leaf.
        row: Rows of the group that could be decoded before.
        problem: What Arrow says, or how its process ended.
    """

    group: int | None
    index: int | None
    row: int
    problem: str

    def error(self, file: ParquetFile, page: int | None = None) -> FileFormatError:
        """Makes the error."""
        if self.group is None or self.index is None:
            return file.place.error(f"Arrow can't open it: {self.problem}")
        base = file.chunk_place(self.group, self.index)
        return Place(base.file, base.group, base.column, page).error(
            f"its values can't be decoded: {self.problem}"
        )


def find_fault(file: ParquetFile, chunks: Sequence[Chunk], rows: int = BATCH_ROWS) -> DecodingFault | None:
    """Decodes chunks to see whether they can be.

    Args:
        file: The file.
        chunks: What to decode.
        rows: Rows decoded at a time; few tell more closely where the fault is.

    Returns:
        The first fault, or None.
    """
    with _running(file, chunks, values=False, rows=rows) as process:
        _, said = process.communicate()
        return _fault(said, process.returncode)


def iter_values(file: ParquetFile, chunks: Sequence[Chunk]) -> Iterator[Iterator[pa.Array]]:
    """Decodes the values of chunks, one chunk after another.

    Args:
        file: The file.
        chunks: What to decode.

    Yields:
        For each chunk its values in pieces, nulls left out; to be read to its end before the next.

    Raises:
        FileFormatError: Values can't be decoded; names row group and column.
    """
    if not chunks:
        return
    with (
        tempfile.TemporaryFile() as said,
        _running(file, chunks, values=True, rows=BATCH_ROWS, said=said) as process,
    ):
        for chunk in chunks:
            yield _batches(file, chunk, process, said)


def _batches(
    file: ParquetFile, chunk: Chunk, process: subprocess.Popen[bytes], said: Any
) -> Iterator[pa.Array]:
    problem = "its values end in the middle"
    try:
        with pa.ipc.open_stream(process.stdout) as stream:
            for batch in stream:
                yield batch.column(0)
        # A process that dies between two batches leaves what looks like an end.
        if _is_done(os.pread(said.fileno(), os.fstat(said.fileno()).st_size, 0), chunk):
            return
    except (pa.ArrowException, OSError, EOFError) as error:
        problem = str(error)
    if process.stdout is not None:
        process.stdout.close()  # not to wait for one that waits for us
    process.wait()
    said.seek(0)
    fault = _fault(said.read(), process.returncode)
    raise (fault or DecodingFault(chunk.group, chunk.index, 0, problem)).error(file)


def _is_done(said: bytes, chunk: Chunk) -> bool:
    place = (chunk.group, chunk.index)
    return any(
        (line.get("group"), line.get("index")) == place and "done" in line for line in _messages(said)[0]
    )


@contextlib.contextmanager
def _running(
    file: ParquetFile, chunks: Sequence[Chunk], *, values: bool, rows: int, said: Any = subprocess.PIPE
) -> Iterator[subprocess.Popen[bytes]]:
    largest = max((chunk.meta.total_compressed_size for chunk in chunks), default=0)
    # What a footer says of sizes decompressed may be a lie, but what no codec reaches is no reason to wait.
    decoded = sum(
        min(chunk.meta.total_uncompressed_size, 2000 * chunk.meta.total_compressed_size) for chunk in chunks
    )
    job = {
        "path": str(_path(file).resolve()),
        "chunks": [(chunk.group, chunk.index, chunk.rows) for chunk in chunks],
        "rows": rows,
        "values": values,
        "memory": _MEMORY + 6 * largest + 2 * min(decoded, LARGEST_PAGE),
        "seconds": _SECONDS + decoded // 5_000_000,
    }
    package_folder = str(Path(__file__).parent.parent.parent)
    search = os.pathsep.join([package_folder, *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": search, "ARROW_DEFAULT_MEMORY_POOL": ALLOCATOR}
    with tempfile.TemporaryFile() as task:
        task.write(json.dumps(job).encode())
        task.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-m", "gristmill.parquet.worker"],
            stdin=task, stdout=subprocess.PIPE, stderr=said, env=environment,
        )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()


def _fault(said: bytes, status: int | None) -> DecodingFault | None:
    if not status:
        return None
    messages, words = _messages(said)
    last = messages[-1] if messages else {}
    problem = last.get("failed")
    if problem is None and status < 0:
        name = (
            signal.Signals(-status).name
            if -status in signal.Signals._value2member_map_
            else f"signal {-status}"
        )
        problem = (
            "it took too long"
            if name in ("SIGXCPU", "SIGALRM")
            else f"Arrow's decoder ended its process ({name})"
        )
    problem = (
        problem or f"the decoding process ended with status {status} ({words.strip() or 'nothing said'})"
    )
    return DecodingFault(last.get("group"), last.get("index"), int(last.get("row", 0)), problem)


def _messages(said: bytes) -> tuple[list[dict[str, Any]], str]:
    """Gives what the process reported, and the last line that is none of its reports: Arrow's, or a traceback's."""
    messages: list[dict[str, Any]] = []
    words = ""
    for line in said.decode("utf-8", "replace").splitlines():
        if line.startswith("{"):
            with contextlib.suppress(ValueError):
                messages.append(json.loads(line))
        else:
            words = line
    return messages, words


def _path(file: ParquetFile) -> Path:
    assert isinstance(file.source, LocalSource)  # `on_disk` saw to that
    return file.source.path


@contextlib.contextmanager
def on_disk(file: ParquetFile, chunks: Sequence[Chunk]) -> Iterator[ParquetFile]:
    """Gives a file on this machine in which some chunks of a file can be read.

    Args:
        file: The file; of one on a server, only the chunks named are fetched.
        chunks: What will be read.

    Yields:
        The file itself, if it is on this machine; else one with holes for everything else, gone after the block.
    """
    source = file.source
    if isinstance(source, LocalSource):
        yield file
        return
    with tempfile.NamedTemporaryFile(prefix=temporary_prefix("parquet"), suffix=".parquet") as sparse:
        end = source.size - 8 - file.footer_size
        spans = [(0, 4), (end, source.size - end), *_spans(file, chunks, end)]
        sparse.truncate(source.size)
        for offset, length in spans:
            sparse.seek(offset)
            for at in range(offset, offset + length, _PIECE):
                sparse.write(source.read_at(at, min(_PIECE, offset + length - at)))
        sparse.flush()
        with ParquetFile(LocalSource(Path(sparse.name), source.name)) as local:
            yield local


def _spans(file: ParquetFile, chunks: Sequence[Chunk], end: int) -> Iterator[tuple[int, int]]:
    """Gives where chunks and their indexes are: offset, length."""
    for chunk in chunks:
        if chunk.meta.num_values:
            # Some more than stated, for writers that leave a page header out of their count.
            yield chunk.start, min(chunk.meta.total_compressed_size + SLACK, end - chunk.start)
