"""The types of many values, whatever the order in which they come."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from gristmill.features.value_types import alike_in, types_of

_VALUES = st.lists(st.sampled_from([None, True, 1, 1.5, "a", b"a", [1], {"a": 1}]), max_size=300)


@given(_VALUES)
def test_every_type_is_found(values: list[Any]) -> None:
    assert types_of(values) == {type(value) for value in values}
    assert types_of(iter(values)) == {type(value) for value in values}


@pytest.mark.parametrize("alternations", [1, 62, 63, 64, 65, 200])
def test_a_type_behind_many_changes_is_found(alternations: int) -> None:
    values: list[Any] = [[1, None][number % 2] for number in range(alternations)]
    assert types_of([*values, 2.5]) == {*map(type, values), float}
    assert types_of([*values, 1, 1, 1, "a"]) == {*map(type, values), int, str}


@given(st.lists(st.lists(st.integers(), max_size=2), max_size=20))
def test_alike(values: list[list[int]]) -> None:
    assert alike_in(values, len) == (len(set(map(len, values))) == 1)
