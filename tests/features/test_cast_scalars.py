"""Text, floats and decimals that become times and spans of time."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from gristmill.features.cast_scalars import Misfit, cast_scalars

UTC = pa.timestamp("ms", "UTC")


def test_truth_and_decimals_become_half_floats():
    assert cast_scalars(pa.array([True, False, None]), pa.float16()).to_pylist() == [1.0, 0.0, None]
    assert cast_scalars(pa.array([Decimal("1.5"), None]), pa.float16()).to_pylist() == [1.5, None]
    with pytest.raises(Misfit):
        cast_scalars(pa.array([Decimal(10**9)]), pa.float16())


@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.string_view()])
@pytest.mark.parametrize(
    ("values", "target", "counts"),
    [
        (["2024-11-15T17:24:12.884000+00:00", None, "1970-01-01T00:00:00Z"], UTC, [1731691452884, None, 0]),
        (["1970-01-01T02:00:00.500000+02:00"], UTC, [500]),
        (["1891-03-15T00:09:21.500000+00:09:21"], pa.timestamp("ms", "Europe/Paris"), [-2486678400000 + 500]),
        (["1883-11-18T12:00:00-04:56:02"], pa.timestamp("s", "America/New_York"), [-2717651038]),
        (["9999-12-31 23:59:59.000000000"], pa.timestamp("us"), [253402300799 * 10**6]),
        (["1970-01-01T00:00:07.000", "1970-01-01"], pa.timestamp("s"), [7, 0]),
        (["00:00:01.500000", "00:01"], pa.time32("ms"), [1500, 60_000]),
        (["00:00:01.000"], pa.time32("s"), [1]),
        (["00:00:00.000000001"], pa.time64("ns"), [1]),
    ],
)  # fmt: skip
def test_text_becomes_times_where_nothing_but_zeros_is_left_out(
    values: list[str | None], target: Any, counts: list[int | None], text: Any
) -> None:
    cast = cast_scalars(pa.array(values, text), target)
    assert cast.type == target
    assert cast.cast(pa.int32() if target.bit_width == 32 else pa.int64()).to_pylist() == counts


@pytest.mark.parametrize(
    ("values", "target", "index"),
    [
        (["2024-11-15T17:24:12.884000+00:00", "2024-11-15T17:24:12.884001+00:00"], UTC, 1),
        (["1970-01-01T00:00:00.5"], pa.timestamp("s"), 0),
        (["1970-01-01T00:00:00.000000", "1970-01-01T00:00:00+00:00"], pa.timestamp("ms"), 1),
        (["1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000"], UTC, 1),
        (["00:00:00", "00:00:00.0005"], pa.time32("ms"), 1),
        (["00:00:00.000000001"], pa.time64("us"), 0),
        (["1.5"], pa.duration("s"), None),
    ],
)
def test_text_that_says_more_or_less_is_refused(values: list[str], target: Any, index: int | None) -> None:
    with pytest.raises(Misfit) as caught:
        cast_scalars(pa.array(values), target)
    assert caught.value.index == index


@pytest.mark.parametrize(
    ("values", "unit", "counts"),
    [
        ([1.5, None, -0.001, 1.1], "ms", [1500, None, -1, 1100]),
        ([1e-06, 4503599627.370495], "us", [1, 2**52 - 1]),
        ([2.0, -3.0], "s", [2, -3]),
        ([Decimal("9223372036.854775807"), None], "ns", [2**63 - 1, None]),
        ([Decimal("1.500000000")], "ms", [1500]),
        ([5, None], "ms", [5, None]),
    ],
)
def test_fractions_are_seconds_and_whole_numbers_counts(
    values: list[Any], unit: str, counts: list[int | None]
) -> None:
    assert cast_scalars(pa.array(values), pa.duration(unit)).cast(pa.int64()).to_pylist() == counts


@pytest.mark.parametrize(
    ("values", "unit", "index"),
    [
        ([1.5, 1.0005], "ms", 1),
        ([0.0, float("nan")], "us", 1),
        ([float("inf")], "us", 0),
        ([4503599627.370496], "us", 0),
        ([Decimal("1.0"), Decimal("1.5")], "s", 1),
        ([Decimal("9223372036.854775808")], "ns", 0),
    ],
)
def test_seconds_that_a_span_cannot_hold_are_refused(values: list[Any], unit: str, index: int) -> None:
    with pytest.raises(Misfit) as caught:
        cast_scalars(pa.array(values), pa.duration(unit))
    assert caught.value.index == index
