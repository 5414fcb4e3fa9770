import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill import Dataset, Json, List
from gristmill.errors import SchemaConflictError
from gristmill.features.build import array_from_values
from gristmill.features.int_lists import int_lists

NUMBERS = st.integers(-(2**63), 2**63 - 1)
LISTS = st.lists(NUMBERS) | st.lists(NUMBERS).map(tuple)


@given(st.lists(st.none() | LISTS))
def test_equals_what_arrow_makes(values):
    made = int_lists(values)
    assert made is not None
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.list_(pa.int64())))


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**30])
def test_numbers_that_do_not_fit_are_left_to_others(number):
    assert int_lists([[1], [number]]) is None


def test_large_numbers_become_what_holds_them():
    assert array_from_values([[1], [2**63]]).type == pa.list_(pa.uint64())


def test_what_is_no_whole_number_is_not_taken_for_one():
    with pytest.raises(SchemaConflictError, match="row 1"):
        array_from_values([[1, 0], [1, True]])
    assert array_from_values([[1], [2.5]]).to_pylist() == [[1.0], [2.5]]
    assert array_from_values([[1], [None]]).to_pylist() == [[1], [None]]
    ds = Dataset.from_dict({"a": [[1], [True], ["x"]]}, on_mixed_types="use_json")
    assert ds.features["a"] == List(Json())
    assert ds["a"][:] == [[1], [True], ["x"]]
