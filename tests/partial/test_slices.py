import io
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from gristmill.partial.slices import LeapingFile, RangeSlice

DATA = bytes(i * 7 % 251 for i in range(300_000))


@dataclass
class Source:
    data: bytes = DATA
    asked: list[int] = field(default_factory=list)
    name = "a"
    identity = "1"
    tail = b""

    @property
    def size(self):
        return len(self.data)

    def read(self, start, length):
        assert start + length <= self.size
        self.asked.append(length)
        return self.data[start : start + length]


PLACES = st.integers(0, len(DATA) + 5_000)


@given(st.lists(st.tuples(PLACES, st.one_of(st.integers(0, 5_000), st.just(-1))), max_size=20))
def test_leaping_reads_what_any_file_reads(steps):
    file, plain = LeapingFile(Source()), io.BytesIO(DATA)
    for place, size in steps:
        assert file.seek(place) == plain.seek(place)
        assert file.read(size) == plain.read(size)
        assert file.tell() == plain.tell()
    assert file.seek(0, io.SEEK_END) == len(DATA)


def test_a_leap_fetches_little():
    source = Source(bytes(50 << 20))
    file = LeapingFile(source)
    for place in range(0, 50 << 20, 1 << 20):
        file.seek(place)
        file.read(512)
    assert len(source.asked) == 50
    assert sum(source.asked) < 300_000
    assert file.is_worth_it


def test_many_leaps_or_reading_all_are_not_worth_it():
    for step, size in ((10_000, 512), (60_000, 60_000)):
        file = LeapingFile(Source(bytes(5 << 20)))
        for place in range(0, 5 << 20, step):
            file.seek(place)
            file.read(size)
        assert not file.is_worth_it


@given(PLACES, st.integers(0, 5_000), st.integers(0, 6_000), st.integers(0, 6_000))
def test_a_slice_is_the_bytes_it_is_of(start, size, first, length):
    start = min(start, len(DATA) - size)
    part = RangeSlice(Source(), start, size, "1", "a")
    assert part.read(first, length) == DATA[start : start + size][first : first + length]
