import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.calling.masks import truths
from gristmill.errors import TransformOutputError


@given(
    st.lists(st.booleans())
    | st.lists(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()))
)
def test_answers_are_true_where_python_says_so(answers):
    found = truths("f", answers, 0)
    assert found.dtype == np.bool_
    assert found.tolist() == [bool(answer) for answer in answers]


def test_an_answer_that_is_neither_names_its_row():
    with pytest.raises(TransformOutputError, match="row 12,"):
        truths("f", [True, False, np.array([1, 2])], 10)
