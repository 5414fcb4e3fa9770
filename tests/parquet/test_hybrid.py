"""The decoders of packed integers give back what was packed, and refuse what can't be."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.parquet.hybrid import MOST_ENTRIES, decode_bit_packed, decode_hybrid, highest
from tests.parquet.encoders import encode_hybrid, pack_from_the_top, varint


@st.composite
def runs_of_width(draw):
    width = draw(st.integers(0, 32))
    value = st.integers(0, (1 << width) - 1)
    whole = st.lists(value, min_size=1, max_size=40).map(lambda v: [*v, *v[:1] * (-len(v) % 8)])
    run = st.tuples(st.just("rle"), value, st.integers(1, 300)) | st.tuples(st.just("packed"), whole)
    runs = draw(st.lists(run, min_size=1, max_size=6))
    if runs[-1][0] == "packed":  # the last run may be of any length
        runs[-1] = ("packed", draw(st.lists(value, min_size=1, max_size=20)))
    return width, runs


@settings(max_examples=150)
@given(runs_of_width(), st.binary(max_size=4))
def test_hybrid_round_trip(case, behind):
    width, runs = case
    expected: list[int] = []
    for kind, *rest in runs:
        expected += [rest[0]] * rest[1] if kind == "rle" else rest[0]
    raw = encode_hybrid(runs, width)
    values, used = decode_hybrid(raw + behind, width, len(expected))
    assert values.tolist() == expected
    assert used == len(raw)
    assert highest(raw + behind, width, len(expected)) == max(expected)


@settings(max_examples=60)
@given(
    st.integers(0, 32).flatmap(
        lambda w: st.tuples(st.just(w), st.lists(st.integers(0, (1 << w) - 1), max_size=50))
    )
)
def test_bit_packed_round_trip(case):
    width, expected = case
    raw = pack_from_the_top(expected, width)
    values, used = decode_bit_packed(raw, width, len(expected))
    assert (values.tolist(), used) == (expected, len(raw))


@settings(max_examples=200)
@given(st.binary(max_size=40), st.integers(0, 33), st.integers(0, 1000))
def test_any_bytes_end_in_values_or_an_error(raw, width, count):
    try:
        values, used = decode_hybrid(raw, width, count)
    except ValueError:
        return
    assert len(values) == count
    assert used <= len(raw)


def test_a_last_run_without_its_padding_is_read():
    raw = encode_hybrid([("packed", [1, 2, 3])], 8)
    assert decode_hybrid(raw[:4], 8, 3)[0].tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="longer than what is left"):
        decode_hybrid(raw[:3], 8, 3)


@pytest.mark.parametrize(
    ("raw", "width", "count", "said"),
    [
        (b"", 1, 1, "end after 0"),
        (b"\x00\x00", 1, 1, "no values"),
        (b"\x01", 1, 1, "no values"),
        (b"\x04\x02", 1, 2, "repeats 2, which does not fit 1 bits"),
        (b"\x04", 9, 2, "cut off"),
        (b"\xff\xff\xff\xff\xff\xff", 1, 8, "end after 0"),
        (b"\x04\x00", 33, 2, "33 bits"),
        (varint(1 << 31), 0, MOST_ENTRIES + 1, "at most"),
    ],
)
def test_what_is_wrong_is_said(raw, width, count, said):
    with pytest.raises(ValueError, match=said):
        decode_hybrid(raw, width, count)


def test_a_million_values_are_not_decoded_one_by_one():
    expected = np.arange(1 << 20, dtype=np.uint32) % 1000
    bits = ((expected[:, None] >> np.arange(10)) & 1).astype(np.uint8)
    raw = varint((1 << 20) // 8 << 1 | 1) + np.packbits(bits, axis=None, bitorder="little").tobytes()
    start = time.process_time()
    assert np.array_equal(decode_hybrid(raw, 10, 1 << 20)[0], expected)
    assert time.process_time() - start < 1
