import codecs
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.formats import streams
from gristmill.formats.source import Position, SourceFile
from gristmill.formats.streams import check_utf8, iter_blocks, whole_characters

_PIECES = st.sampled_from(
    [b"a", b"\n", "é".encode(), "日".encode(), "🌾".encode(), b"\x80", b"\xc0\xaf", b"\xe0\x80", b"\xed\xa0\x80",
     b"\xf4\x90\x80\x80", b"\xf8", b"\xff", b"\xe6\x97", b"\xf0\x9f", b"\xc3"]
)  # fmt: skip
_DATA = st.one_of(st.binary(max_size=12), st.lists(_PIECES, max_size=12).map(b"".join))


def _problem(data: bytes) -> tuple[int, str] | None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start, error.reason
    return None


@given(_DATA, st.integers(0, 12))
def test_utf8_is_checked_as_python_decodes_it(data, size):
    size = min(size, len(data))
    found = None
    try:
        check_utf8(data, size)
    except UnicodeDecodeError as error:
        found = (error.start, error.reason)
    assert found == _problem(data[:size])


@given(st.text(max_size=12).filter(lambda text: not _problem(text.encode("utf-8", "surrogatepass"))))
def test_whole_characters_are_those_that_can_be_decoded_at_any_cut(text):
    data = text.encode()
    for end in range(len(data) + 1):
        decoded = codecs.getincrementaldecoder("utf-8")().decode(data[:end])
        assert whole_characters(data[:end]) == len(decoded.encode())


@given(_DATA)
def test_what_is_left_over_at_a_cut_is_short(data):
    assert 0 <= len(data) - whole_characters(data) <= 3


def test_nothing_is_text():
    check_utf8(b"", 0)
    assert whole_characters(b"") == 0


def test_the_error_says_which_byte():
    with pytest.raises(UnicodeDecodeError) as caught:
        check_utf8(b"ab\xffc", 4)
    assert (caught.value.start, caught.value.object[caught.value.start]) == (2, 0xFF)


_LINES = st.lists(st.sampled_from([b"a", b"bc" * 9, b"\n", b"\r\n", b"\r"]), max_size=40).map(b"".join)


@given(_LINES, st.booleans(), st.integers(1, 40), st.integers(1, 20))
def test_blocks_are_whole_lines_of_the_file_and_reading_goes_on_from_each(data, marked, size, tail):
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(streams, "_TAIL", tail):
        path = Path(folder, "a.txt")
        path.write_bytes(codecs.BOM_UTF8 * marked + data)
        file = SourceFile(path, "a.txt")
        blocks = list(iter_blocks(file, size=size))
        assert b"".join(block.data for block in blocks) == data
        before, mark = b"", len(codecs.BOM_UTF8) * marked
        for number, block in enumerate(blocks):
            assert block.offset == mark + len(before)
            if b"\r" not in data:
                assert block.line == before.count(b"\n")
                assert block.data.endswith(b"\n") or number == len(blocks) - 1
            before += block.data
            start = Position(0, block.offset, line=block.line)
            assert (
                b"".join(b.data for b in iter_blocks(file, size=size, start=start))
                == data[block.offset - mark :]
            )
