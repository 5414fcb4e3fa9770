"""More text, and more items of lists, than one Arrow array can hold."""

import os

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.formatting.structure import structure_of
from gristmill.table import offsets
from gristmill.table.gather import gather
from gristmill.table.offsets import has_short_lists, rows_overflow

items = st.integers(-100, 100)
lists = st.none() | st.lists(items, max_size=6)
KINDS = {
    "list": (pa.list_(pa.int8()), lists),
    "list of lists": (pa.list_(pa.list_(pa.int8())), st.none() | st.lists(lists, max_size=4)),
    "struct": (pa.struct({"a": pa.list_(pa.int8()), "b": pa.int8()}), st.fixed_dictionaries({"a": lists, "b": items})),
    "pairs": (pa.list_(pa.list_(pa.int8()), 2), st.lists(lists, min_size=2, max_size=2)),
    "map": (pa.map_(pa.int8(), pa.list_(pa.int8())), st.lists(st.tuples(items, lists), max_size=4)),
    "large": (pa.large_list(pa.list_(pa.int8())), st.none() | st.lists(lists, max_size=4)),
}  # fmt: skip


def test_which_types_count_with_32_bits():
    assert has_short_lists(pa.list_(pa.int8()))
    assert has_short_lists(pa.large_list(pa.map_(pa.int8(), pa.int8())))
    assert has_short_lists(pa.struct({"a": pa.int8(), "b": pa.list_(pa.int8())}))
    assert has_short_lists(pa.fixed_shape_tensor(pa.int8(), [2])) is False
    assert not has_short_lists(pa.large_list(pa.int8()))
    assert not has_short_lists(pa.string())


def _most_items(value: object) -> int:
    """Items of a value at each level, the greatest number of any."""
    levels: dict[int, int] = {}

    def count(inner: object, level: int) -> None:
        if isinstance(inner, list):
            levels[level] = levels.get(level, 0) + len(inner)
            for item in inner:
                count(item, level + 1)
        elif isinstance(inner, tuple | dict):
            for item in inner.values() if isinstance(inner, dict) else inner:
                count(item, level + 1)

    count(value, 0)
    return max(levels.values(), default=0)


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
@settings(deadline=None, max_examples=50)
def test_rows_in_several_arrays_are_the_same_rows(name: str, data: st.DataObject):
    kind, values = KINDS[name]
    rows = data.draw(st.lists(values, min_size=1, max_size=12))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    column = pa.chunked_array(
        [pa.array(rows[a:b], kind) for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)], kind
    )
    wanted = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=30)), np.int64)
    # The smallest number of items that holds every row by itself.
    largest = max(1, *map(_most_items, rows)) + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offsets, "LARGEST", largest)
        got = gather(pa.table({"a": column, "row": range(len(rows))}), wanted)
    got.validate(full=True)
    assert got["row"].to_pylist() == wanted.tolist()
    assert got["a"].to_pylist() == [column[int(row)].as_py() for row in wanted]
    assert all(_most_items(chunk.to_pylist()) <= largest + len(chunk) for chunk in got["a"].chunks)


def test_lists_that_one_array_can_hold_stay_in_one():
    table = pa.table({"a": pa.chunked_array([[[1, 2], [3]], [[4, 5, 6]]])})
    assert gather(table, np.array([2, 0, 2, 1]))["a"].num_chunks == 1


def test_rows_that_are_wanted_often(monkeypatch):
    monkeypatch.setattr(offsets, "LARGEST", 100)
    array = pa.array([[1] * 30, [2]])
    assert not rows_overflow([(array, np.array([0, 0, 0, 1]))])
    assert rows_overflow([(array, np.array([0, 0, 0, 0]))])
    assert rows_overflow([(array, np.array([0, 0])), (array, np.array([0, 0]))])


def test_a_row_that_overflows_alone_is_told(monkeypatch):
    monkeypatch.setattr(offsets, "LARGEST", 2)
    with pytest.raises(pa.ArrowInvalid, match="overflow"):
        gather(pa.table({"a": [[1, 2, 3], [4]]}), np.array([0]))


@pytest.mark.skipif(
    os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") < 8 << 30, reason="needs 8 GB of free memory"
)
def test_more_than_two_gigabytes_of_text():
    texts = pa.array([chr(97 + number) * (1 << 20) for number in range(26)])
    column = pa.chunked_array([texts] * 90)
    table = pa.table({"text": column, "row": range(len(column))})
    backwards = np.arange(len(column))[::-1]
    got = gather(table, backwards)
    assert got["row"].to_pylist() == backwards.tolist()
    assert [got["text"][row].as_py()[:2] for row in (0, 25, 26, 2339)] == ["zz", "aa", "zz", "aa"]
    assert got["text"].num_chunks == 2
    items = structure_of(got["text"])
    assert len(items) == 2340
    assert items[2339] == "a" * (1 << 20)
