import os
import threading

import pytest

from gristmill.engine.streaming import stream_from_workers
from gristmill.errors import InvalidArgumentError, WorkerDiedError


def work(n):
    if n == 13:
        raise ZeroDivisionError("thirteen")
    if n == 99:
        os._exit(1)
    return n * 10, os.getpid()


def test_results_come_in_order_and_arguments_are_taken_a_few_at_a_time():
    taken = []

    def arguments():
        for n in range(12):
            taken.append(n)
            yield n

    stream = stream_from_workers(work, arguments(), 2)
    first = next(stream)
    assert first[0] == 0
    assert len(taken) <= 5
    rest = list(stream)
    assert [value for value, _ in rest] == [n * 10 for n in range(1, 12)]
    assert os.getpid() not in {process for _, process in [first, *rest]}


def test_failures():
    with pytest.raises(ZeroDivisionError, match="thirteen"):
        list(stream_from_workers(work, [1, 13, 2], 1))
    with pytest.raises(WorkerDiedError, match="__main__"):
        list(stream_from_workers(work, [1, 99, 2], 1))
    lock = threading.Lock()
    with pytest.raises(InvalidArgumentError, match="can't be sent"):
        list(stream_from_workers(lambda n: lock, [1], 1))
