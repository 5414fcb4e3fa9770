import threading

import pytest

from gristmill.prepared.ahead import read_ahead


def test_items_come_in_order_from_one_other_thread():
    def numbers():
        for i in range(100):
            yield i, threading.get_ident()

    seen = list(read_ahead(numbers()))
    assert [i for i, _ in seen] == list(range(100))
    [thread] = {ident for _, ident in seen}
    assert thread != threading.get_ident()


def test_the_next_item_is_drawn_while_this_one_is_worked_on():
    drawn = threading.Event()

    def numbers():
        yield 1
        drawn.set()
        yield 2

    items = read_ahead(numbers())
    assert next(items) == 1
    assert drawn.wait(10)
    assert list(items) == [2]


def test_an_error_comes_after_the_items_before_it():
    def numbers():
        yield 1
        raise KeyError("two")

    items = read_ahead(numbers())
    assert next(items) == 1
    with pytest.raises(KeyError, match="two"):
        next(items)


def test_stopping_early_closes_the_source_and_ends_the_thread():
    closed = []

    def numbers():
        try:
            yield from range(1000)
        finally:
            closed.append(True)

    items = read_ahead(numbers())
    assert next(items) == 0
    items.close()
    assert closed == [True]
    assert not [t for t in threading.enumerate() if t.name.startswith("gristmill-read-ahead")]


def test_without_a_thread_each_item_is_drawn_when_it_is_asked_for():
    drawn, closed = [], []

    def numbers():
        try:
            for number in range(3):
                drawn.append((number, threading.get_ident()))
                yield number
        finally:
            closed.append(True)

    items = read_ahead(numbers(), in_thread=False)
    assert next(items) == 0
    assert drawn == [(0, threading.get_ident())]
    items.close()
    assert closed == [True]
