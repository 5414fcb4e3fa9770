import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import FileFormatError
from gristmill.formats.source import SourceFile
from gristmill.formats.streams import iter_blocks
from gristmill.formats.views import count_byte, has_byte, is_space, read_whole

_TAIL = 1 << 16


@given(st.binary(max_size=40))
def test_a_view_is_looked_into_as_bytes_are(data):
    assert has_byte(memoryview(data), b"\r") is has_byte(data, b"\r") is (b"\r" in data)
    assert count_byte(memoryview(data), 10) == data.count(b"\n")


@given(st.text(" \t\r\n\x0b\x0ca", max_size=5), st.integers(0, 2))
def test_white_space_is_what_bytes_call_so(text, thousands):
    data = text.encode() + b" " * (thousands * 1000) + text.encode()
    assert is_space(memoryview(data)) is is_space(data) is (not data or data.isspace())


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("lines", [0, 1, 3, 9_000, 40_000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("last", [b"", b"no end"])
def test_blocks_are_the_same_as_views(tmp_path, mark, lines, end, last):
    data = b"".join(b"line %d" % n + end for n in range(lines)) + last
    path = tmp_path / "a.txt"
    path.write_bytes(mark + data)

    size = _TAIL + 1000
    copied = list(iter_blocks(SourceFile(path), size=size))
    viewed = list(iter_blocks(SourceFile(path), size=size, views=True))

    assert [bytes(block.data) for block in viewed] == [block.data for block in copied]
    assert [(block.offset, block.line) for block in viewed] == [
        (block.offset, block.line) for block in copied
    ]
    assert b"".join(block.data for block in viewed) == data


def test_a_view_that_is_no_text_names_the_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\nb\xffd\n")
    [block] = iter_blocks(SourceFile(path), views=True)

    with pytest.raises(FileFormatError, match="line 2: not valid UTF-8"):
        block.check(SourceFile(path))


def test_a_file_that_has_another_size_by_now_is_not_whole(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"abc")
    with path.open("rb") as stream:
        assert bytes(read_whole(stream, 3)) == b"abc"
    for size in (0, 2, 4):
        with path.open("rb") as stream:
            assert read_whole(stream, size) is None
