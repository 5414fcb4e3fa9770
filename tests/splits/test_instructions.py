import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import InvalidArgumentError, SplitNotFoundError
from gristmill.splits import ReadInstruction, Split


@pytest.mark.parametrize(
    ("instruction", "spec"),
    [
        (ReadInstruction("train"), "train"),
        (ReadInstruction(Split.TRAIN, to=20), "train[:20]"),
        (ReadInstruction("train", from_=10, to=20, unit="%"), "train[10%:20%]"),
        (ReadInstruction("train", from_=-5, unit="abs"), "train[-5:]"),
        (ReadInstruction("train", rounding="closest", to=1, unit="%"), "train[:1%]"),
        (
            ReadInstruction("train", "pct1_dropremainder", 0, 20, "%"),
            "train[0%:20%](pct1_dropremainder)",
        ),
    ],
)
def test_to_text_and_back(instruction, spec):
    assert instruction.to_spec() == str(instruction) == spec
    assert ReadInstruction.from_spec(spec) == instruction
    assert pickle.loads(pickle.dumps(instruction)) == copy.deepcopy(instruction) == instruction
    assert hash(ReadInstruction.from_spec(spec)) == hash(instruction)
    assert eval(repr(instruction)) == instruction  # what a repr promises


def test_absolute_rows():
    both = ReadInstruction.from_spec("train[:33%]+test[1:-1]")
    assert both.to_absolute({"train": 1000, "test": 50}) == [("train", 0, 330), ("test", 1, 49)]
    dropped = ReadInstruction.from_spec("train[:33%](pct1_dropremainder)")
    assert dropped.to_absolute({"train": 1099}) == [("train", 0, 330)]
    with pytest.raises(InvalidArgumentError, match="100 rows"):
        dropped.to_absolute({"train": 10})
    with pytest.raises(SplitNotFoundError, match="train"):
        both.to_absolute({"trian": 3})


def test_sums():
    dropped = ReadInstruction.from_spec("train[:10%](pct1_dropremainder)")
    assert (dropped + ReadInstruction("test")).to_spec() == "train[:10%](pct1_dropremainder)+test"
    with pytest.raises(InvalidArgumentError, match="rounds"):
        dropped + ReadInstruction.from_spec("test[:10%]")
    with pytest.raises(TypeError):
        dropped + "test"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"split_name": 3}, "split_name"),
        ({"unit": "rows"}, "unit"),
        ({"to": 20, "unit": "abs", "rounding": "closest"}, "rounding"),
        ({"rounding": "up", "unit": "%"}, "rounding"),
        ({"to": 120, "unit": "%"}, "to"),
        ({"from_": "1"}, "from_"),
        ({"to": True}, "to"),
    ],
)
def test_odd_arguments(arguments, name):
    with pytest.raises(InvalidArgumentError, match=f"^{name}="):
        ReadInstruction(**{"split_name": "train", **arguments})
    with pytest.raises(InvalidArgumentError, match="spec="):
        ReadInstruction.from_spec(3)  # type: ignore[arg-type]


@given(
    st.none() | st.integers(-100, 100),
    st.none() | st.integers(-100, 100),
    st.booleans(),
    st.integers(0, 1000),
)
def test_rows_are_those_of_a_python_slice(start, stop, percent, rows):
    instruction = ReadInstruction("x", from_=start, to=stop, unit="%" if percent else "abs")
    [(_, first, end)] = instruction.to_absolute({"x": rows})
    bounds = [None if b is None else round(b * rows / 100) if percent else b for b in (start, stop)]
    if percent:  # a small negative percentage of few rows is the end, not the beginning
        bounds = [
            rows if b == 0 and o is not None and o < 0 else b
            for b, o in zip(bounds, (start, stop), strict=True)
        ]
    assert list(range(rows))[slice(*bounds)] == list(range(first, end))
