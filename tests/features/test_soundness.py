"""Damaged memory is refused; values beyond what their type says are not damage."""

import pyarrow as pa
import pytest

from gristmill.features.soundness import check_soundness


def large(type_: pa.DataType, *values: int) -> pa.Array:
    """Makes decimals of any size, whatever the precision of the type."""
    size = type_.bit_width // 8
    return pa.array([value.to_bytes(size, "little", signed=True) for value in values], pa.binary(size)).view(
        type_
    )


LARGE = large(pa.decimal128(3, 1), 12345, 1)
BAD = pa.array([b"\xff"]).view(pa.string())


@pytest.mark.parametrize(
    "column",
    [
        *(large(kind(3, 1), 12345) for kind in (pa.decimal32, pa.decimal64, pa.decimal128, pa.decimal256)),
        pa.array([90_000, -5], pa.int32()).view(pa.time32("s")),
        pa.array([2**50], pa.int64()).view(pa.time64("us")),
        pa.array([5], pa.int64()).view(pa.date64()),
        pa.StructArray.from_arrays([LARGE, pa.array(["1", "2"], pa.json_())], ["a", "j"]),
        pa.ListArray.from_arrays([0, 1, 2], LARGE),
        pa.LargeListArray.from_arrays([0, 1, 2], LARGE),
        pa.FixedSizeListArray.from_arrays(LARGE, 2),
        pa.MapArray.from_arrays([0, 1, 2], pa.array(["a", "b"]), LARGE),
        pa.DictionaryArray.from_arrays([0, 1, 1], LARGE),
        pa.record_batch({"a": LARGE, "b": pa.array(["x", "y"])}),
    ],
    ids=lambda column: str(getattr(column, "type", "batch"))[:40],
)
def test_values_beyond_their_type_are_sound(column):
    with pytest.raises(pa.ArrowInvalid):
        column.validate(full=True)
    check_soundness(column)


@pytest.mark.parametrize(
    "column",
    [
        BAD,
        pa.ListArray.from_arrays([0, 1], BAD),
        pa.MapArray.from_arrays([0, 1], pa.array(["a"]), BAD),
        pa.DictionaryArray.from_arrays(pa.array([0]), BAD),
        pa.DictionaryArray.from_arrays(pa.array([7]), LARGE, safe=False),
        pa.StructArray.from_arrays([LARGE[:1], BAD], ["a", "b"]),
        pa.record_batch({"a": LARGE[:1], "b": BAD}),
        pa.Array.from_buffers(
            pa.list_(pa.int8()), 2, [None, pa.py_buffer(b"\0\0\0\0\x09\0\0\0\x02\0\0\0")], children=[pa.array([1, 2], pa.int8())]
        ),
    ],
    ids=range(8),
)  # fmt: skip
def test_damage_is_found_also_beside_such_values(column):
    with pytest.raises(pa.ArrowInvalid):
        check_soundness(column)
