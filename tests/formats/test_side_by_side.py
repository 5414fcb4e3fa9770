import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.formats.side_by_side import side_by_side


def names():
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("gristmill-read_")]


def one_byte(_):
    return 1


@given(st.lists(st.lists(st.integers(), max_size=5), max_size=6), st.integers(1, 4), st.integers(0, 3))
def test_items_come_in_order_however_many_threads_and_however_little_room(lists, workers, room):
    pieces = [lambda items=items: iter(items) for items in lists]
    assert list(side_by_side(pieces, workers, one_byte, room)) == [item for items in lists for item in items]
    assert not names()


def test_two_pieces_are_drawn_from_at_a_time():
    both = threading.Barrier(2, timeout=20)

    def piece(name):
        both.wait()
        yield name

    found = side_by_side([lambda: piece("a"), lambda: piece("b")], 2, one_byte)
    assert list(found) == ["a", "b"]


def test_no_more_is_drawn_than_there_is_room_for():
    drawn = []

    def piece(number):
        for item in range(100):
            drawn.append((number, item))
            yield item

    items = side_by_side([lambda: piece(0), lambda: piece(1)], 2, one_byte, 10)
    assert next(items) == 0
    deadline = time.monotonic() + 20
    while len(drawn) < 11 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert 11 <= len(drawn) <= 1 + 10 + 2
    assert len(list(items)) == 199
    assert len(drawn) == 200


def test_an_error_comes_after_the_items_before_it_and_ends_the_threads():
    begun, closed = threading.Event(), threading.Event()

    def fails():
        yield 1
        assert begun.wait(20)
        raise KeyError("two")

    def goes_on():
        try:
            begun.set()
            while True:
                yield 3
        finally:
            closed.set()

    items = side_by_side([fails, goes_on], 2, one_byte, 10)
    assert next(items) == 1
    with pytest.raises(KeyError, match="two"):
        next(items)
    assert closed.is_set()
    assert not names()


def test_who_stops_early_leaves_no_thread():
    def goes_on():
        while True:
            yield 1

    items = side_by_side([goes_on] * 3, 2, one_byte, 10)
    assert [next(items), next(items)] == [1, 1]
    items.close()
    assert not names()


def test_one_worker_needs_no_thread():
    found = side_by_side([lambda: iter([threading.get_ident()])] * 2, 1, one_byte)
    assert set(found) == {threading.get_ident()}
