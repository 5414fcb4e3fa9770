import itertools

from hypothesis import given
from hypothesis import strategies as st

from gristmill.partial.intervals import intersect, merged, missing, plan_requests, total

ENDS = st.tuples(st.integers(0, 60), st.integers(0, 60))
SETS = st.lists(ENDS, max_size=8)


def bytes_of(intervals):
    return {byte for start, end in intervals for byte in range(start, end)}


@given(SETS, SETS)
def test_the_same_as_sets_of_numbers(first, second):
    assert bytes_of(merged(first)) == bytes_of(first)
    assert bytes_of(missing(first, second)) == bytes_of(first) - bytes_of(second)
    assert bytes_of(intersect(first, second)) == bytes_of(first) & bytes_of(second)
    assert total(merged(first)) == len(bytes_of(first))
    for result in (merged(first), missing(first, second), intersect(first, second)):
        assert all(a < b for a, b in result)
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(result))


@given(SETS, SETS, st.integers(0, 9), st.sampled_from([0, 0.1, 1, 9]), st.integers(1, 30))
def test_requests_hold_what_is_missing_and_little_more(wanted, here, gap, waste, largest):
    requests = plan_requests(wanted, here, gap=gap, waste=waste, largest=largest)
    needed = bytes_of(wanted) - bytes_of(here)
    assert bytes_of(requests) >= needed
    assert total(requests) == len(bytes_of(requests))
    assert total(requests) <= len(needed) * (1 + waste)
    assert all(end - start <= largest for start, end in requests)
    assert bool(requests) == bool(needed)


def test_the_smallest_gaps_are_bridged_first():
    wanted = [(0, 100), (103, 200), (201, 300)]
    assert plan_requests(wanted, [], gap=9, waste=0.01, largest=999) == [(0, 100), (103, 300)]
    assert plan_requests(wanted, [], gap=9, waste=0.02, largest=999) == [(0, 300)]
    assert plan_requests(wanted, [(50, 250)], gap=9, waste=1, largest=999) == [(0, 50), (250, 300)]
