"""Killed at any moment, a prepared dataset is whole or absent; of several processes, one prepares it."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.builder.own import Poems
from tests.processes import Forks

PREPARE = """
from pathlib import Path
import pyarrow
from tests.builder.own import Poems
from gristmill import builder, iterable
def run(cache, base, num_proc="1"):
    builder = Poems(cache_dir=cache, base_path=base, writer_batch_size=100)
    builder.download_and_prepare(max_shard_size=12_000, num_proc=int(num_proc))
    builder.as_dataset()
"""

ONE = """
import sys
from gristmill.builder import preparing
from tests.builder.own import Poems
def build(*arguments, _build=preparing._build):
    print("building")
    return _build(*arguments)
preparing._build = build
builder = Poems(cache_dir=sys.argv[1], base_path=sys.argv[2], writer_batch_size=100)
builder.download_and_prepare()
print(builder.as_dataset("train").num_rows)
"""


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def large_poems(folder):
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.txt").write_text("".join(f"{name} line {n}\n" for n in range(1000)))
    return str(folder)


def test_killed_at_any_moment(tmp_path):
    base, cache = large_poems(tmp_path / "large"), str(tmp_path / "cache")
    whole = Path(Poems(cache_dir=cache, base_path=base).cache_dir)
    chance, endings = random.Random(5), set()
    with Forks(PREPARE) as forks:
        forks.start(cache, base)
        assert forks.end() == 0
        expected = contents(whole)
        assert len(expected) > 6
        started = time.monotonic()
        for path in whole.iterdir():
            path.unlink()
        whole.rmdir()
        forks.start(cache, base)
        assert forks.end() == 0
        took = time.monotonic() - started
        for _ in range(10):
            for path in whole.iterdir():
                path.unlink()
            whole.rmdir()
            pid = forks.start(cache, base)
            time.sleep(chance.random() * took * 1.2)
            endings.add(forks.kill(pid))
            assert not whole.exists() or contents(whole) == expected
            forks.start(cache, base)
            assert forks.end() == 0
            assert contents(whole) == expected
            assert [path.name for path in whole.parent.iterdir()] == [whole.name]
    assert -signal.SIGKILL in endings


def test_killed_just_before_the_lock_is_dropped(tmp_path):
    base, cache = large_poems(tmp_path / "large"), str(tmp_path / "cache")
    builder = Poems(cache_dir=cache, base_path=base)
    whole = Path(builder.cache_dir)
    builder.download_and_prepare()
    whole.with_name(f"{whole.name}.lock").write_text("{}")
    builder.download_and_prepare()
    assert [path.name for path in whole.parent.iterdir()] == [whole.name]


def test_killed_while_workers_work(tmp_path):
    base, cache = large_poems(tmp_path / "large"), str(tmp_path / "cache")
    builder = Poems(cache_dir=cache, base_path=base)
    whole = Path(builder.cache_dir)
    with Forks(PREPARE) as forks:
        pid = forks.start(cache, base, 2)
        deadline = time.monotonic() + 60
        while not list(whole.parent.glob(".*.incomplete/*-00000*")) and time.monotonic() < deadline:
            time.sleep(0.005)  # until a worker has begun
        assert forks.kill(pid) == -signal.SIGKILL
    assert not whole.exists()
    time.sleep(0.5)  # a worker may take as long to notice that nobody listens
    builder.download_and_prepare()
    assert builder.as_dataset("train").num_rows == 3000
    assert [path.name for path in whole.parent.iterdir()] == [whole.name]


def test_two_processes_prepare_once(tmp_path):
    base = large_poems(tmp_path / "large")
    command = [sys.executable, "-c", ONE, str(tmp_path / "cache"), base]
    jobs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [job.communicate()[0].split() for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0]
    assert sorted(outputs) == [["3000"], ["building", "3000"]]
