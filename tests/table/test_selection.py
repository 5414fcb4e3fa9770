import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import InvalidArgumentError, RowIndexError
from gristmill.table.gather import gather
from gristmill.table.selection import compose, parse_indices

ranges = st.builds(range, st.integers(0, 20), st.integers(0, 20), st.sampled_from([1, 2, -1, -3]))
selections = st.one_of(
    st.none(), ranges, st.lists(st.integers(0, 20), max_size=30).map(lambda v: np.array(v, np.int64))
)


def plain(selection, rows):
    return list(range(rows)) if selection is None else [int(i) for i in selection]


@given(selections, st.data())
def test_composing_is_choosing_from_what_was_chosen(selection, data):
    rows = plain(selection, 21)
    inner = (
        data.draw(st.one_of(st.slices(len(rows)).map(lambda s: range(len(rows))[s]), st.just(None)))
        if rows
        else range(0)
    )
    if inner is None:
        inner = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1))), np.int64)
    assert plain(compose(selection, inner), 21) == [rows[i] for i in inner]


@pytest.mark.parametrize(
    "given_indices", [[2, 0], (2, 0), np.array([2, 0]), np.array([2, 0], np.uint8), pa.array([2, 0]), iter([2, 0]),
                      pa.chunked_array([[2], [0]]), [np.int64(2), 0]]
)  # fmt: skip
def test_row_numbers_in_any_form(given_indices):
    assert list(parse_indices(given_indices, 3)) == [2, 0]


def test_neighbours_become_a_range():
    assert parse_indices([4, 5, 6], 9) == range(4, 7)
    assert parse_indices([], 0) == range(0)


@pytest.mark.parametrize("bad", [[3], [-1], range(4), range(-1, 2)])
def test_rows_that_do_not_exist(bad):
    with pytest.raises(RowIndexError):
        parse_indices(bad, 3)


def test_where_negative_numbers_count_is_told():
    with pytest.raises(
        RowIndexError, match=r"^Row -1 is out of range: rows go from 0 to 2, and negative numbers do not"
    ):
        parse_indices([0, -1], 3)
    with pytest.raises(RowIndexError, match=r"^Row 3 is out of range: rows go from 0 to 2\.$"):
        parse_indices([3], 3)
    with pytest.raises(
        RowIndexError, match=r"^Row -4 is out of range: rows go from 0 to 2 \(or -3 to -1\)\.$"
    ):
        parse_indices([-1, -4], 3, negative=True)


@pytest.mark.parametrize("bad", [[True, False, True], [1.5], ["a"], [[1]], [None], np.zeros((2, 2), int)])
def test_what_is_no_row_number(bad):
    with pytest.raises(InvalidArgumentError):
        parse_indices(bad, 3)


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=8),
    st.lists(st.integers(0, 10**6), max_size=50),
)
def test_gathering_from_any_chunks(lengths, wanted):
    total = sum(lengths)
    values = [f"v{i}" if i % 3 else None for i in range(total)]
    ends = np.cumsum(lengths)
    chunks = [pa.array(values[e - n : e], pa.string()) for n, e in zip(lengths, ends, strict=True)]
    table = pa.table({"a": pa.chunked_array(chunks, pa.string())})
    rows = [w % total for w in wanted] if total else []
    assert gather(table, np.array(rows, np.int64))["a"].to_pylist() == [values[i] for i in rows]
    assert gather(table, range(total - 1, -1, -1))["a"].to_pylist() == values[::-1]
