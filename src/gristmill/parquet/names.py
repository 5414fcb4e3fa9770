"""What the numbers in Parquet's metadata are called."""

from __future__ import annotations

from collections.abc import Sequence

TYPES = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
REPETITIONS = ("REQUIRED", "OPTIONAL", "REPEATED")
CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")
PAGES = ("DATA_PAGE", "INDEX_PAGE", "DICTIONARY_PAGE", "DATA_PAGE_V2")
ORDERS = ("UNORDERED", "ASCENDING", "DESCENDING")
ENCODINGS = (
    "PLAIN", "GROUP_VAR_INT", "PLAIN_DICTIONARY", "RLE", "BIT_PACKED", "DELTA_BINARY_PACKED",
    "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT",
)  # fmt: skip
CONVERTED = (
    "UTF8", "MAP", "MAP_KEY_VALUE", "LIST", "ENUM", "DECIMAL", "DATE", "TIME_MILLIS", "TIME_MICROS",
    "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS", "UINT_8", "UINT_16", "UINT_32", "UINT_64", "INT_8", "INT_16", "INT_32",
    "INT_64", "JSON", "BSON", "INTERVAL",
)  # fmt: skip


def name_of(names: Sequence[str], number: int) -> str:
    """Words a number of an enumeration, known or not.

    Example:
        >>> name_of(CODECS, 6), name_of(CODECS, 70)
        ('ZSTD', 'unknown (70)')
    """
    return names[number] if 0 <= number < len(names) else f"unknown ({number})"
