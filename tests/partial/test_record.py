import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import FileError
from gristmill.partial.intervals import merged, missing
from gristmill.partial.record import RangeRecord, format_range, parse_ranges

RANGES = st.lists(st.tuples(st.integers(0, 50), st.integers(51, 100)), max_size=6)


@given(RANGES, st.data())
def test_a_record_cut_anywhere_says_nothing_that_was_not_written(ranges, data):
    whole = b"".join(map(format_range, ranges))
    cut = data.draw(st.integers(0, len(whole)))
    found = parse_ranges(whole[:cut], 100)
    assert missing(found, merged(ranges)) == []
    # What a later run appends behind the cut is read.
    assert missing([(90, 99)], parse_ranges(whole[:cut] + format_range((90, 99)), 100)) == []
    assert parse_ranges(whole, 100) == merged(ranges)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_record(data):
    assert all(0 <= start < end <= 50 for start, end in parse_ranges(data, 50))


@given(RANGES.filter(bool), st.data())
def test_a_changed_digit_is_no_range(ranges, data):
    whole = bytearray(b"".join(map(format_range, ranges)))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    assert missing(parse_ranges(bytes(whole), 100), merged(ranges)) == []


def test_beyond_the_file_is_not_there():
    assert parse_ranges(format_range((0, 11)) + format_range((2, 10)), 10) == [(2, 10)]


def test_two_records_of_one_file_see_each_other(tmp_path):
    first, second = (RangeRecord(tmp_path / "a.ranges", 100) for _ in range(2))
    assert first.here() == []
    first.append([(0, 10)])
    assert second.here() == [(0, 10)]
    second.append([(10, 20), (50, 60)])
    assert first.here() == [(0, 20), (50, 60)]


def test_a_record_that_can_not_be_written(tmp_path):
    with pytest.raises(FileError):
        RangeRecord(tmp_path / "none" / "a.ranges", 100).append([(0, 1)])
