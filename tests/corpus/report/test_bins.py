import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.corpus.report.bins import bin_lengths

LENGTHS = st.dictionaries(st.integers(0, 1 << 40), st.integers(1, 1000), max_size=30)


@given(LENGTHS, LENGTHS, st.integers(1, 12))
def test_everything_is_counted_once_in_the_class_it_belongs_to(first, second, most):
    bins = bin_lengths({"a": first, "b": second}, most)
    assert len(bins.edges) <= most
    assert sum(bins.counts["a"]) == sum(first.values())
    assert sum(bins.totals) == sum(first.values()) + sum(second.values())
    for place, edge in enumerate(bins.edges):
        end = bins.edges[place + 1] if place + 1 < len(bins.edges) else float("inf")
        assert bins.counts["a"][place] == sum(n for length, n in first.items() if edge <= length < end)


def test_labels_say_what_a_class_holds():
    bins = bin_lengths({"a": {0: 1, 1: 1, 5: 1, 200: 1}}, most=5)
    assert [bins.label(place) for place in range(len(bins.edges))] == [
        "0",
        "1",
        "2 to 3",
        "4 to 7",
        "8 or more",
    ]
    assert bins.counts["a"] == (1, 1, 0, 1, 1)


@pytest.mark.parametrize("series", [{}, {"a": {}}])
def test_nothing_counted_is_no_error(series):
    assert sum(bin_lengths({"a": {}, **series}).totals) == 0
