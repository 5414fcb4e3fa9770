"""What can be said of a page's values before they are decoded: whether there are bytes for all, and no index is too high."""

from __future__ import annotations

from gristmill.parquet.footer import Chunk
from gristmill.parquet.hybrid import highest
from gristmill.parquet.levels import DictionaryPage, PageLevels

_WIDTHS = {"INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
_DICTIONARY = ("PLAIN_DICTIONARY", "RLE_DICTIONARY")


def check_values(chunk: Chunk, levels: PageLevels, dictionary: int | None) -> None:
    """Holds the encoded values of a data page against their count.

    Args:
        chunk: The chunk.
        levels: The page.
        dictionary: Number of values of the chunk's dictionary, if it has one.

    Raises:
        ValueError: There are too few bytes, or an index is beyond the dictionary.
    """
    encoding, count, data = levels.page.encoding, levels.present, levels.values
    if not count:
        return
    if encoding in _DICTIONARY:
        if dictionary is None:
            raise ValueError("its values are indices, and the chunk has no dictionary page before it")
        _check_indices(data, count, dictionary)
        return
    width = _width(chunk)
    if width is not None and encoding == "PLAIN" and len(data) < count * width:
        raise ValueError(
            f"{count:,} values take {count * width:,} bytes, and {len(data):,} are left for them"
        )
    if width is not None and encoding == "BYTE_STREAM_SPLIT" and len(data) != count * width:
        raise ValueError(f"{count:,} split values take {count * width:,} bytes, and there are {len(data):,}")
    if chunk.leaf.physical == "BOOLEAN" and encoding == "PLAIN" and len(data) < (count + 7) // 8:
        raise ValueError(
            f"{count:,} bits take {(count + 7) // 8:,} bytes, and {len(data):,} are left for them"
        )


def check_dictionary(chunk: Chunk, found: DictionaryPage) -> int:
    """Holds the values of a dictionary page against their count.

    Args:
        chunk: The chunk.
        found: The page.

    Returns:
        How many values the dictionary has.

    Raises:
        ValueError: There are too few bytes, or the encoding can't be a dictionary's.
    """
    header = found.page.header.dictionary_page_header
    assert header is not None  # `iter_pages` refuses a dictionary page without it
    if found.page.encoding not in ("PLAIN", "PLAIN_DICTIONARY"):
        raise ValueError(f"its dictionary is said to be encoded as {found.page.encoding}")
    width = _width(chunk)
    needed = header.num_values * (4 if width is None else width)
    if chunk.leaf.physical != "BOOLEAN" and needed > len(found.values):
        raise ValueError(
            f"{header.num_values:,} values take {needed:,} bytes at least, and the dictionary has {len(found.values):,}"
        )
    return header.num_values


def _width(chunk: Chunk) -> int | None:
    if chunk.leaf.physical == "FIXED_LEN_BYTE_ARRAY":
        return chunk.leaf.length or 0
    return _WIDTHS.get(chunk.leaf.physical or "")


def _check_indices(data: memoryview, count: int, dictionary: int) -> None:
    if not data:
        raise ValueError(f"{count:,} indices are missing")
    width = data[0]
    if width > 32:
        raise ValueError(f"its indices are said to have {width} bits; there are none above 32")
    index = highest(data[1:], width, count)
    if index >= dictionary:
        raise ValueError(f"an index is {index:,}, and the dictionary has {dictionary:,} values")
