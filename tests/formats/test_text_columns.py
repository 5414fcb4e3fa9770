import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.formats.text_columns import (
    TEXT,
    bytes_of,
    constant,
    edge_bytes,
    holding_bytes,
    join,
    lengths_of,
    overwritten,
    pieces_of,
    replaced,
    texts_with_bytes,
)

texts = st.lists(st.none() | st.text("ax\u00e9 ", max_size=4), max_size=8)


def sliced(values, start):
    return pa.array(values, TEXT).slice(min(start, len(values)))


@settings(deadline=None)
@given(texts, st.integers(0, 4))
def test_texts_with_a_byte_are_those_that_hold_it(values, start):
    found = texts_with_bytes(sliced(values, start), lambda data: data == ord("x"))
    expected = [i for i, text in enumerate(values[start:]) if text is not None and "x" in text]
    assert found.tolist() == expected


@settings(deadline=None)
@given(texts, st.integers(0, 4))
def test_texts_that_hold_one_of_some_bytes(values, start):
    expected = [text is not None and ("x" in text or " " in text) for text in values[start:]]
    assert holding_bytes(sliced(values, start), b"x ").tolist() == expected


def test_texts_that_hold_a_byte_everywhere_or_far_apart():
    values = ["x" * 70_000, "y", None, "yx", "y" * 200_000 + "x", "y" * 200_000]
    expected = [True, False, False, True, True, False]
    assert holding_bytes(pa.array(values, TEXT), b"x").tolist() == expected


@settings(deadline=None)
@given(texts, st.integers(0, 12), st.data())
def test_overwritten_texts_keep_their_lengths(values, start, data):
    array = sliced([None] * 9 + values, start)
    values = array.to_pylist()
    filled = [i for i, text in enumerate(values) if text is not None]
    chosen = sorted(data.draw(st.sets(st.sampled_from(filled)))) if filled else []
    expected = [None if text is None else "-" * len(text.encode()) if i in chosen else text
                for i, text in enumerate(values)]  # fmt: skip
    positions = np.array(chosen, np.int64)
    result = overwritten(array, positions, ord("-"))
    result.validate(full=True)
    assert result.to_pylist() == expected
    assert lengths_of(array, positions).tolist() == [len(values[i].encode()) for i in chosen]


@settings(deadline=None)
@given(st.lists(st.text(max_size=3), max_size=5), st.integers(0, 3))
def test_each_text_as_bytes(values, start):
    assert pieces_of(sliced(values, start)) == [text.encode() for text in values[start:]]


@settings(deadline=None)
@given(texts, st.integers(0, 4))
def test_first_and_last_bytes(values, start):
    filled, first, last = edge_bytes(sliced(values, start))
    expected = [(i, text.encode()) for i, text in enumerate(values[start:]) if text]
    assert list(zip(filled.tolist(), first.tolist(), last.tolist(), strict=True)) == [
        (i, data[0], data[-1]) for i, data in expected
    ]


@settings(deadline=None)
@given(texts, st.integers(0, 4))
def test_joined_rows_are_one_run_of_bytes(values, start):
    filled = ["" if text is None else text for text in values]
    rows = join([constant("<"), sliced(filled, start), constant(">\n")])
    assert bytes_of(rows) == "".join(f"<{text}>\n" for text in filled[start:]).encode()


def test_replaced_texts():
    array = pa.array(["a", None, "c", "d"], TEXT)
    assert replaced(array, np.array([1, 3]), ["b", None]).to_pylist() == ["a", "b", "c", None]
