"""Decompression of pages, through Arrow's codecs: exactly the stated size comes out, or an error."""

from __future__ import annotations

import zlib

import pyarrow as pa

LARGEST_PAGE = 512 << 20
"""Bytes of one page, decompressed, that are decoded at most."""
_PIECE = 16 << 20
_LZ4_FRAME = b"\x04\x22\x4d\x18"


def decompress(codec: str, data: bytes, size: int) -> bytes:
    """Decompresses one page.

    Args:
        codec: The codec's name in the format, such as ``"ZSTD"``.
        data: The compressed bytes.
        size: How many bytes have to come out.

    Returns:
        `size` bytes.

    Raises:
        ValueError: Other than `size` bytes come out, the bytes are damaged, `size` is beyond `LARGEST_PAGE`, or the
            codec is not supported.

    Example:
        >>> decompress("GZIP", zlib.compress(b"text"), 4)
        b'text'
    """
    if not 0 <= size <= LARGEST_PAGE:
        raise ValueError(f"{size:,} bytes are stated, and at most {LARGEST_PAGE:,} are decoded")
    if codec == "UNCOMPRESSED":
        got = data
    elif not data and not size:
        return b""  # some writers leave nothing where a codec would leave an empty frame
    else:
        decoder = _DECODERS.get(codec)
        if decoder is None:
            raise ValueError(f"the codec {codec} is not supported")
        try:
            got = decoder(data, size)
        except (pa.ArrowException, OSError, zlib.error) as error:
            raise ValueError(
                f"its {codec} bytes are damaged ({str(error).strip() or type(error).__name__})"
            ) from error
        except MemoryError as error:
            raise ValueError(f"there is no memory for the {size:,} bytes stated") from error
    if len(got) != size:
        more = "more" if len(got) > size else f"{len(got):,}"
        raise ValueError(f"{size:,} bytes are stated, and {more} come out")
    return got


def _snappy(data: bytes, size: int) -> bytes:
    # The stream begins with its length; Arrow would hand out a longer buffer without a word.
    length = shift = 0
    for byte in data[:5]:
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    # A copy of at most 64 bytes takes at least two.
    if length != size or size > 64 * len(data):
        raise ValueError(f"{size:,} bytes are stated, and its snappy stream says {length:,}")
    return bytes(pa.Codec("snappy").decompress(data, decompressed_size=size, asbytes=True))


def _gzip(data: bytes, size: int) -> bytes:
    """Several members may follow each other; zlib streams without gzip's header are read too."""
    pieces: list[bytes] = []
    total = 0
    while data and total <= size:
        stream = zlib.decompressobj(47)  # either header
        piece = stream.decompress(data, size - total + 1)
        total += len(piece)
        pieces.append(piece)
        if not stream.eof:
            if total > size:
                break
            raise zlib.error("the stream is cut off")
        data = stream.unused_data
    return b"".join(pieces)


def _streaming(name: str, data: bytes, size: int) -> bytes:
    """Decompresses piece by piece, so that a lie about the size costs no memory."""
    pieces: list[bytes] = []
    total = 0
    with pa.CompressedInputStream(pa.BufferReader(data), name) as stream:
        while total <= size:
            piece = stream.read(min(_PIECE, size - total + 1))
            if not piece:
                break
            pieces.append(piece)
            total += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _zstd(data: bytes, size: int) -> bytes:
    return _streaming("zstd", data, size)


def _brotli(data: bytes, size: int) -> bytes:
    return _streaming("brotli", data, size)


def _lz4_block(data: bytes, size: int) -> bytes:
    if size > 255 * len(data) + 64:
        raise ValueError(f"{size:,} bytes are stated, more than {len(data):,} of LZ4 can hold")
    codec = pa.Codec("lz4_raw")
    if size:
        # A block does not say its length, and Arrow not how much came out: one byte less must not be enough.
        try:
            codec.decompress(data, decompressed_size=size - 1)
        except (pa.ArrowException, OSError):
            pass
        else:
            raise ValueError(f"{size:,} bytes are stated, and fewer come out")
    return bytes(codec.decompress(data, decompressed_size=size, asbytes=True))


def _lz4(data: bytes, size: int) -> bytes:
    """The retired codec: Hadoop's blocks with two lengths before each, a frame, or a bare block."""
    if data[:4] == _LZ4_FRAME:
        return _streaming("lz4", data, size)
    blocks = _hadoop_blocks(data, size)
    if blocks is None:
        return _lz4_block(data, size)
    return b"".join(_lz4_block(block, length) for block, length in blocks)


def _hadoop_blocks(data: bytes, size: int) -> list[tuple[bytes, int]] | None:
    """Splits Hadoop's framing; None if the lengths do not add up, so that it is something else."""
    blocks: list[tuple[bytes, int]] = []
    position = total = 0
    while position < len(data):
        length = int.from_bytes(data[position : position + 4], "big")
        packed = int.from_bytes(data[position + 4 : position + 8], "big")
        position += 8
        total += length
        if position + packed > len(data) or total > size or not packed:
            return None
        blocks.append((data[position : position + packed], length))
        position += packed
    return blocks if total == size else None


_DECODERS = {
    "SNAPPY": _snappy,
    "GZIP": _gzip,
    "BROTLI": _brotli,
    "ZSTD": _zstd,
    "LZ4": _lz4,
    "LZ4_RAW": _lz4_block,
}
