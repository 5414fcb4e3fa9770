"""Damages real files in seeded ways and looks at each with all tools: ``python -m tests.parquet.mutate COUNT SEED``.

Runs in a process of its own: what ends it, hangs it, or takes more than a gigabyte shows. The worker that decodes values
is forked from here instead of started, so that no import is paid for; it is the same code, with the same bounds.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gristmill.parquet.worker import ALLOCATOR

# The allocator is chosen when pyarrow is imported.
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = ALLOCATOR

from gristmill.errors import GristmillError
from gristmill.parquet import check, decoding, inspect, open_parquet, plain_values, worker
from gristmill.parquet.leaf import iter_leaf
from gristmill.progress import disable_progress_bars

LARGEST = 1 << 30
SECONDS = 60
EXTREMES = [
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x00",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\x80\x80\x80\x80\x10",
    b"\x01",
]


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Changes a few bytes, cuts, repeats or removes some; half of the time near the end, where the footer is."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4, 8])):
        if not out:
            break
        at = rng.randrange(len(out))
        if rng.random() < 0.5:
            at = max(0, len(out) - 1 - int(rng.expovariate(1 / 400)))
        kind = rng.random()
        if kind < 0.5:
            out[at] ^= 1 << rng.randrange(8)
        elif kind < 0.7:
            out[at] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        elif kind < 0.82:
            extreme = rng.choice(EXTREMES)
            out[at : at + len(extreme)] = extreme
        elif kind < 0.9:
            del out[at : at + rng.randrange(1, 9)]
        elif kind < 0.97:
            other = rng.randrange(len(out))
            out[at:at] = out[other : other + rng.randrange(1, 33)]
        else:
            del out[at:]
    return bytes(out)


class Forked:
    """As much of `subprocess.Popen` as `gristmill.parquet.decoding` uses."""

    def __init__(self, task: Any, said: Any) -> None:
        read, write = os.pipe()
        self.said = tempfile.TemporaryFile() if isinstance(said, int) else said  # noqa: SIM115  # read after the fork
        self.stdout: Any = os.fdopen(read, "rb")
        self.stderr = None
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            signal.alarm(0)
            for number, source in enumerate((task.fileno(), write, self.said.fileno())):
                os.dup2(source, number)
            sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
            status = 1
            try:
                status = worker.main()
                sys.stdout.flush()
            except BrokenPipeError:
                pass
            finally:
                os._exit(status)
        os.close(write)

    def communicate(self) -> tuple[bytes, bytes]:
        out = self.stdout.read()
        self.wait()
        self.said.seek(0)
        return out, self.said.read()

    def poll(self) -> int | None:
        if self.returncode is None and os.waitpid(self.pid, os.WNOHANG)[0]:
            self.returncode = 0
        return self.returncode

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def start(_: Any, *, stdin: Any, stderr: Any, **__: Any) -> Forked:
    return Forked(stdin, stderr)


@contextlib.contextmanager
def timed() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TimeoutError(f"more than {SECONDS} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)


def look(path: Path, rng: random.Random) -> str:
    """Uses all tools on a file; gives how it ended: refused, sound, or with a decoder that died."""
    try:
        inspect(path)
        with open_parquet(path) as file:
            leaf = rng.choice(file.leaves).dotted if file.leaves else None
            if leaf is not None:
                for batch in iter_leaf(file, leaf):
                    plain_values(batch.values)
        check(path)
    except GristmillError as error:
        text = str(error)
        if str(path) not in text and "There is no column" not in text:
            raise AssertionError(f"the file is not named: {text}") from error
        if "ended its process" in text or "took too long" in text:
            return "decoder died: " + text.rpartition(": ")[2]
        return "refused when decoded" if "decode" in text else "refused"
    return "sound"


def peak() -> int:
    """Gives the most memory this process has had, in bytes; `getrusage` counts its parent's before the exec as well."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return next(
        int(line.split()[1]) << 10 for line in status.read_text().splitlines() if line.startswith("VmHWM")
    )


def main(count: int, seed: int, folder: Path) -> dict[str, Any]:
    """Runs the experiment."""
    disable_progress_bars()
    decoding.subprocess.Popen = start  # type: ignore[attr-defined]  # the point of this module
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".parquet", ".parq", ".encrypted"))
    contents = [path.read_bytes() for path in files if "large_string_map" not in path.name]
    ends: Counter[str] = Counter()
    failures: list[str] = []
    slowest = 0.0
    before = peak()
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "mutated.parquet"
        for number in range(count):
            rng = random.Random(f"{seed} {number}")
            path.write_bytes(mutate(rng.choice(contents), rng))
            began = time.monotonic()
            try:
                with timed():
                    ends[look(path, rng)] += 1
            except BaseException as error:  # noqa: BLE001  # anything but our own errors is what is looked for
                failures.append(f"{number}: {type(error).__name__}: {str(error)[:300]}")
                ends["failed"] += 1
            slowest = max(slowest, time.monotonic() - began)
    own = peak()
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
    return {
        "count": count, "ends": dict(ends), "failures": failures[:20], "slowest": round(slowest, 2),
        "memory": own, "memory_before": before, "memory_children": children,
    }  # fmt: skip


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))) + "\n")
