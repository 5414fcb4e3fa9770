import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.formats.text_columns import (
    TEXT,
    bytes_of,
    constant,
    edge_bytes,
    join,
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
