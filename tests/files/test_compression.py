import bz2
import gzip
import io
import lzma
from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill import config
from gristmill.errors import DataError, FileFormatError, FileMissingError, InvalidArgumentError
from gristmill.files.compression import (
    DecompressedFile,
    compression_suffix,
    detect_compression,
    open_decompressed,
)


def _arrow(codec: str, data: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, codec) as stream:
        stream.write(data)
    return out.getvalue().to_pybytes()


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: _arrow("zstd", data),
    "lz4": lambda data: _arrow("lz4", data),
}
KINDS = pytest.mark.parametrize("kind", COMPRESS)
TEXT = b"".join(b"line %d of a text that compresses\n" % i for i in range(20_000))


def read(data: bytes, kind: str, size: int = -1) -> bytes:
    with DecompressedFile(io.BytesIO(data), kind, "a.file") as file:
        if size < 0:
            return file.read()
        return b"".join(iter(lambda: file.read(size), b""))


@KINDS
def test_kind_is_seen_from_the_first_bytes(kind, tmp_path):
    path = tmp_path / "blob"
    path.write_bytes(COMPRESS[kind](TEXT))
    assert detect_compression(path.read_bytes()[:10]) == kind
    stream, plain = open_decompressed(path)
    with stream:
        assert (stream.read(), plain) == (TEXT, False)


def test_plain_files_stay_plain_and_can_be_seeked(tmp_path):
    for data in (b"BZh is how this text begins", b"", b"a"):
        (tmp_path / "a").write_bytes(data)
        stream, plain = open_decompressed(tmp_path / "a")
        with stream:
            assert (stream.read(), plain) == (data, True)
            assert stream.seek(0) == 0


@KINDS
@settings(max_examples=15)
@given(parts=st.lists(st.binary(max_size=300), min_size=1, max_size=4), size=st.integers(1, 400))
def test_members_one_after_another_are_one_stream(kind, parts, size):
    data = b"".join(COMPRESS[kind](part) for part in parts)
    assert read(data, kind, size) == b"".join(parts)


@pytest.mark.parametrize("kind", ["gzip", "bz2", "xz"])
def test_zeros_behind_the_data_are_padding(kind):
    assert read(COMPRESS[kind](b"text") + b"\0" * 70_000, kind) == b"text"


@KINDS
def test_cut_off_anywhere_is_an_error_that_says_where(kind):
    data = COMPRESS[kind](TEXT)
    for end in range(1, len(data), max(1, len(data) // 25)):
        with pytest.raises(
            FileFormatError, match=r"a\.file: the .* data is damaged or cut off near byte \d+"
        ):
            read(data[:end], kind)


@KINDS
def test_damage_is_an_error_or_noticed_by_nobody(kind):
    data = COMPRESS[kind](TEXT)
    for at in range(0, len(data), max(1, len(data) // 25)):
        damaged = data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]
        try:
            read(damaged, kind)
        except FileFormatError as error:
            assert "a.file" in str(error)  # noqa: PT017  # lz4 and zstd frames need not have a checksum


@KINDS
def test_other_bytes_behind_the_data_are_an_error(kind):
    with pytest.raises(FileFormatError, match="damaged"):
        read(COMPRESS[kind](b"text") + b"no such frame", kind)


@pytest.mark.parametrize("kind", ["bz2", "xz", "zstd"])
def test_bombs_are_refused_while_they_grow(kind, monkeypatch):
    monkeypatch.setattr("gristmill.files.compression._HARMLESS", 1 << 20)
    bomb = COMPRESS[kind](bytes(8 << 20))
    with DecompressedFile(io.BytesIO(bomb), kind, "bomb") as file:
        with pytest.raises(
            DataError, match=r"bomb: grows to more than 1000 times .* GRISTMILL_MAX_COMPRESSION_RATIO"
        ):
            file.read()
        assert file.tell() <= 1000 * len(bomb) + (2 << 20)
    with config.override(GRISTMILL_MAX_COMPRESSION_RATIO=10**6):
        assert len(read(bomb, kind)) == 8 << 20


def test_file_objects_behave():
    with DecompressedFile(io.BytesIO(gzip.compress(b"one\ntwo")), "gzip", "a") as file:
        assert file.readline() == b"one\n"
        assert file.tell() == 4
        buffer = bytearray(8)
        assert file.readinto(buffer) == 3
        assert bytes(buffer[:3]) == b"two"
        assert file.read(0) == file.read() == b""
        assert not file.seekable()
    with pytest.raises(ValueError, match="closed"):
        file.read()


def test_arguments_are_checked(tmp_path):
    with pytest.raises(FileMissingError, match="nowhere"):
        open_decompressed(tmp_path / "nowhere")
    with pytest.raises(InvalidArgumentError, match="compression"):
        DecompressedFile(io.BytesIO(), "rar", "a")
    assert [compression_suffix(name) for name in ("a.csv.GZ", "a.lz4", "a.csv")] == [".gz", ".lz4", ""]
