"""What a workload is, and what it is given: the library under test, the data, a clock.

A workload is one function for both libraries (their interfaces are the same) and one for the limit, the same job on
raw pyarrow and numpy. What happens inside ``with case.timed():`` counts; what the function returns is compared.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

WORKLOADS: dict[str, Workload] = {}


@dataclass
class Workload:
    """One job to be measured.

    Attributes:
        name: What it is called in the table.
        run: The job, for the libraries.
        limit: The same job without a library; None if there is no such thing.
        cold: Start with nothing imported; else pyarrow, numpy, pandas and the library are there before.
        needs: A module without which it is left out.
    """

    name: str
    run: Callable[[Case], Any]
    limit: Callable[[Case], Any] | None = None
    cold: bool = False
    needs: str | None = None

    def limited(self, function: Callable[[Case], Any]) -> Callable[[Case], Any]:
        """Decorates the function that does the same job on raw pyarrow and numpy."""
        self.limit = function
        return function


def workload(
    function: Callable[[Case], Any] | None = None, *, cold: bool = False, needs: str | None = None
) -> Any:
    """Decorates a job: ``@workload`` or ``@workload(cold=True)``; its name is the function's."""

    def register(run: Callable[[Case], Any]) -> Workload:
        return WORKLOADS.setdefault(run.__name__, Workload(run.__name__, run, None, cold, needs))

    return register if function is None else register(function)


def load_workloads() -> dict[str, Workload]:
    """Imports every module of `workloads/`; a new one needs no other line."""
    for path in sorted((Path(__file__).parent / "workloads").glob("[a-z]*.py")):
        importlib.import_module(f"workloads.{path.stem}")
    return WORKLOADS


class Case:
    """One measurement of one side.

    Args:
        side: ``"gristmill"``, ``"datasets"`` or ``"limit"``.
        data: Folder with the data, see `data.py`.
        folder: An empty folder for what is written.
        scale: Factor of all row numbers.
    """

    def __init__(self, side: str, data: Path, folder: Path, scale: float) -> None:
        self.side = side
        self.data = data
        self.folder = folder
        self.scale = scale
        self.seconds = 0.0
        self.cpu = 0.0
        self.peak = 0

    def count(self, rows: int) -> int:
        """Scales a number of rows."""
        return max(10, int(rows * self.scale))

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Measures wall clock, processor time (with that of all processes below this one) and peak memory."""
        _reset_peak()
        cpu, start = _cpu(), time.perf_counter()
        yield
        self.seconds += time.perf_counter() - start
        self.cpu += _cpu() - cpu
        self.peak = max(self.peak, _peak())

    @cached_property
    def lib(self) -> Any:
        """The library under test."""
        return importlib.import_module(self.side)

    def rows(self, name: str = "rows") -> Any:
        """The rows of a data file as the library's dataset, from the cache that it made itself."""
        return self.lib.load_dataset("parquet", data_files=str(self.data / f"{name}.parquet"), split="train")

    def table(self, name: str = "rows") -> Any:
        """The same rows as a memory-mapped Arrow table in large batches, for the limits."""
        import pyarrow as pa

        return pa.ipc.open_stream(pa.memory_map(str(self.data / f"{name}.arrow"))).read_all()


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime + _cpu_below(os.getpid())


def _cpu_below(pid: int) -> float:
    """Sums up the time of processes that live, such as one that forks workers, and of what they have waited for."""
    total = 0.0
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in _read(children).split():
            numbers = _read(Path(f"/proc/{child}/stat")).rpartition(")")[2].split()[11:15]
            total += sum(map(int, numbers)) / os.sysconf("SC_CLK_TCK") + _cpu_below(int(child))
    return total


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has just ended
        return ""


def _reset_peak() -> None:
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:  # noqa: PTH123
        file.write("5")


def _peak() -> int:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def digest(result: Any) -> str:
    """Reduces a result to a short text that is equal for equal values, whatever holds them."""
    import hashlib

    return hashlib.blake2b(repr(_plain(result)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


_SAMPLED = 30_000


def _plain(value: Any) -> Any:
    if hasattr(value, "to_pydict") or type(value).__name__ == "Dataset":
        value = value.to_dict() if type(value).__name__ == "Dataset" else value.to_pydict()
    if type(value).__name__ == "DataFrame":
        value = {str(name): value[name].tolist() for name in value.columns}
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in sorted(value.items())}
    if hasattr(value, "tolist"):
        value = value.tolist()
    elif hasattr(value, "to_pylist"):
        value = value.to_pylist()
    if isinstance(value, list | tuple):
        step = max(1, len(value) // _SAMPLED)
        return [len(value), *map(_plain, value[::step])]
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, os.PathLike):
        return _file(Path(value))
    return value


def _file(path: Path) -> Any:
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return _plain(pq.read_table(path))
    if path.suffix == ".csv":
        import pyarrow.csv

        return _plain(pyarrow.csv.read_csv(path))
    import json

    return _plain([json.loads(line) for line in path.read_bytes().splitlines()])
