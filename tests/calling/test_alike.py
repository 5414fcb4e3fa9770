"""Dicts that a function returns row after row, taken apart as they come."""

import pytest

import gristmill
from gristmill import Dataset
from gristmill.calling.alike import NOTHING_ODD, Alike


def test_values_go_to_columns_whatever_the_keys_are_called():
    names = ["a", "it's", 'say "x"', "line\nbreak", "{0}", "answer", "\\", ""]
    rows = [{name: (name, number) for name in names} for number in range(4)]
    alike = Alike.beginning_with(rows[0])
    assert alike is not None
    assert alike.extend(rows[1:3], None) is NOTHING_ODD
    assert alike.extend([3], lambda number: dict(reversed(rows[number].items()))) is NOTHING_ODD
    assert alike.names == tuple(names)
    assert alike.columns == [[(name, number) for number in range(4)] for name in names]
    assert alike.dicts() == rows
    assert len(alike) == 4


@pytest.mark.parametrize("odd", [None, 7, [], {}, {"a": 1}, {"a": 1, "c": 2}, {"a": 1, "b": 2, "c": 3}])
@pytest.mark.parametrize("called", [False, True])
def test_the_first_that_is_not_like_the_others_is_given_back(odd, called):
    alike = Alike.beginning_with({"a": 0, "b": 0})
    assert alike is not None
    given = iter([{"a": 1, "b": 1}, odd, {"a": 2, "b": 2}])
    assert alike.extend(given, (lambda answer: answer) if called else None) is odd
    assert alike.columns == [[0, 1], [0, 1]]
    assert list(given) == [{"a": 2, "b": 2}]


def test_what_is_no_dict_of_names_is_left_as_it_is():
    class Own(dict):
        pass

    for answer in (None, {}, {1: 2}, Own(a=1), [("a", 1)], dict.fromkeys(map(str, range(100)))):
        assert Alike.beginning_with(answer) is None


@pytest.mark.parametrize(
    "told", [{}, {"with_indices": True}, {"input_columns": ["i"]}, {"fn_kwargs": {"more": 0}}]
)
@pytest.mark.parametrize("failing", [0, 1, 700, 1999])
@pytest.mark.parametrize("error", [KeyError("a"), StopIteration(5), ValueError("no")])
def test_the_row_that_fails_is_named(told, failing, error):
    def function(row, index=0, more=0):
        number = row if isinstance(row, int) else row["i"]
        if number == failing:
            raise error
        return {"a": number, "b": str(number)}

    ds = Dataset.from_dict({"i": list(range(2000))})
    with pytest.raises(gristmill.errors.TransformError, match=rf"row {failing}\b") as caught:
        ds.map(function, **told)
    assert type(caught.value.__cause__) is type(error)


def test_one_dict_that_is_returned_again_and_again_is_read_each_time():
    answer = {}

    def function(row):
        answer["n"] = row["i"] * 2
        return answer

    ds = Dataset.from_dict({"i": list(range(1200))}).map(function)
    assert ds["n"] == list(range(0, 2400, 2))


def test_a_key_that_comes_late_is_none_before():
    ds = Dataset.from_dict({"i": list(range(1200))})
    made = ds.map(lambda row: {"n": row["i"], "late": "x"} if row["i"] == 1000 else {"n": row["i"]})
    assert made["n"] == list(range(1200))
    assert made["late"] == ["x" if number == 1000 else None for number in range(1200)]
