"""The structs of Parquet's metadata, one dataclass each, as the format's Thrift definition numbers them.

Names are the format's own. Enumerations stay numbers here, since a file may hold ones that nobody knows yet;
`gristmill.parquet.names` words them. What is None was not in the file.
"""

# ruff: noqa: RUF009  # `at` makes dataclass fields

from __future__ import annotations

from dataclasses import dataclass

from gristmill.parquet.thrift import ListOf, at


@dataclass(frozen=True, slots=True)
class Empty:
    """A struct whose presence says everything."""


@dataclass(frozen=True, slots=True)
class KeyValue:
    """One entry of key-value metadata; the value is text by the format, bytes in files that break it."""

    key: str = at(1, "text", required=True)
    value: str | None = at(2, "note")


@dataclass(frozen=True, slots=True)
class DecimalType:
    """Parameters of the logical type DECIMAL."""

    scale: int = at(1, "i32", required=True)
    precision: int = at(2, "i32", required=True)


@dataclass(frozen=True, slots=True)
class TimeUnit:
    """Which of three units: the one that is not None."""

    MILLIS: Empty | None = at(1, Empty)
    MICROS: Empty | None = at(2, Empty)
    NANOS: Empty | None = at(3, Empty)


@dataclass(frozen=True, slots=True)
class TimeType:
    """Parameters of the logical types TIME and TIMESTAMP."""

    isAdjustedToUTC: bool = at(1, "bool", required=True)  # noqa: N815  # the format's name
    unit: TimeUnit = at(2, TimeUnit, required=True)


@dataclass(frozen=True, slots=True)
class IntType:
    """Parameters of the logical type INTEGER."""

    bitWidth: int = at(1, "i8", required=True)  # noqa: N815  # the format's name
    isSigned: bool = at(2, "bool", required=True)  # noqa: N815  # the format's name


@dataclass(frozen=True, slots=True)
class VariantType:
    """Parameters of the logical type VARIANT."""

    specification_version: int | None = at(1, "i8")


@dataclass(frozen=True, slots=True)
class GeometryType:
    """Parameters of the logical type GEOMETRY."""

    crs: str | None = at(1, "text")


@dataclass(frozen=True, slots=True)
class GeographyType:
    """Parameters of the logical type GEOGRAPHY."""

    crs: str | None = at(1, "text")
    algorithm: int | None = at(2, "i32")


@dataclass(frozen=True, slots=True)
class LogicalType:
    """What a column means: the field that is not None; all None is a type of a later version of the format."""

    STRING: Empty | None = at(1, Empty)
    MAP: Empty | None = at(2, Empty)
    LIST: Empty | None = at(3, Empty)
    ENUM: Empty | None = at(4, Empty)
    DECIMAL: DecimalType | None = at(5, DecimalType)
    DATE: Empty | None = at(6, Empty)
    TIME: TimeType | None = at(7, TimeType)
    TIMESTAMP: TimeType | None = at(8, TimeType)
    INTEGER: IntType | None = at(10, IntType)
    UNKNOWN: Empty | None = at(11, Empty)
    JSON: Empty | None = at(12, Empty)
    BSON: Empty | None = at(13, Empty)
    UUID: Empty | None = at(14, Empty)
    FLOAT16: Empty | None = at(15, Empty)
    VARIANT: VariantType | None = at(16, VariantType)
    GEOMETRY: GeometryType | None = at(17, GeometryType)
    GEOGRAPHY: GeographyType | None = at(18, GeographyType)


@dataclass(frozen=True, slots=True)
class SchemaElement:
    """One node of the schema; the list of them is the tree in depth-first order."""

    type: int | None = at(1, "i32")
    type_length: int | None = at(2, "i32")
    repetition_type: int | None = at(3, "i32")
    name: str = at(4, "text", required=True)
    num_children: int | None = at(5, "i32")
    converted_type: int | None = at(6, "i32")
    scale: int | None = at(7, "i32")
    precision: int | None = at(8, "i32")
    field_id: int | None = at(9, "i32")
    logicalType: LogicalType | None = at(10, LogicalType)  # noqa: N815  # the format's name


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of a column chunk or page; `max` and `min` are the deprecated fields of unsure order."""

    max: bytes | None = at(1, "binary")
    min: bytes | None = at(2, "binary")
    null_count: int | None = at(3, "i64")
    distinct_count: int | None = at(4, "i64")
    max_value: bytes | None = at(5, "binary")
    min_value: bytes | None = at(6, "binary")
    is_max_value_exact: bool | None = at(7, "bool")
    is_min_value_exact: bool | None = at(8, "bool")


@dataclass(frozen=True, slots=True)
class SizeStatistics:
    """How large a column's text is, and how often each level occurs."""

    unencoded_byte_array_data_bytes: int | None = at(1, "i64")
    repetition_level_histogram: list[int] | None = at(2, ListOf("i64"))
    definition_level_histogram: list[int] | None = at(3, ListOf("i64"))


@dataclass(frozen=True, slots=True)
class PageEncodingStats:
    """How many pages of one kind and encoding a chunk has."""

    page_type: int = at(1, "i32", required=True)
    encoding: int = at(2, "i32", required=True)
    count: int = at(3, "i32", required=True)


@dataclass(frozen=True, slots=True)
class ColumnMetaData:
    """What the footer says of one column chunk."""

    type: int = at(1, "i32", required=True)
    encodings: list[int] = at(2, ListOf("i32"), required=True)
    path_in_schema: list[str] = at(3, ListOf("text"), required=True)
    codec: int = at(4, "i32", required=True)
    num_values: int = at(5, "i64", required=True)
    total_uncompressed_size: int = at(6, "i64", required=True)
    total_compressed_size: int = at(7, "i64", required=True)
    key_value_metadata: list[KeyValue] | None = at(8, ListOf(KeyValue))
    data_page_offset: int = at(9, "i64", required=True)
    index_page_offset: int | None = at(10, "i64")
    dictionary_page_offset: int | None = at(11, "i64")
    statistics: Statistics | None = at(12, Statistics)
    encoding_stats: list[PageEncodingStats] | None = at(13, ListOf(PageEncodingStats))
    bloom_filter_offset: int | None = at(14, "i64")
    bloom_filter_length: int | None = at(15, "i32")
    size_statistics: SizeStatistics | None = at(16, SizeStatistics)


@dataclass(frozen=True, slots=True)
class EncryptionWithColumnKey:
    """A column encrypted with a key of its own."""

    path_in_schema: list[str] = at(1, ListOf("text"), required=True)
    key_metadata: bytes | None = at(2, "binary")


@dataclass(frozen=True, slots=True)
class ColumnCryptoMetaData:
    """How a column is encrypted: the field that is not None."""

    ENCRYPTION_WITH_FOOTER_KEY: Empty | None = at(1, Empty)
    ENCRYPTION_WITH_COLUMN_KEY: EncryptionWithColumnKey | None = at(2, EncryptionWithColumnKey)


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """Where one column of one row group is."""

    file_path: str | None = at(1, "text")
    file_offset: int = at(2, "i64", default=0)
    meta_data: ColumnMetaData | None = at(3, ColumnMetaData)
    offset_index_offset: int | None = at(4, "i64")
    offset_index_length: int | None = at(5, "i32")
    column_index_offset: int | None = at(6, "i64")
    column_index_length: int | None = at(7, "i32")
    crypto_metadata: ColumnCryptoMetaData | None = at(8, ColumnCryptoMetaData)
    encrypted_column_metadata: bytes | None = at(9, "binary")


@dataclass(frozen=True, slots=True)
class SortingColumn:
    """One column that a row group is sorted by."""

    column_idx: int = at(1, "i32", required=True)
    descending: bool = at(2, "bool", required=True)
    nulls_first: bool = at(3, "bool", required=True)


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A run of rows whose columns lie together."""

    columns: list[ColumnChunk] = at(1, ListOf(ColumnChunk), required=True)
    total_byte_size: int = at(2, "i64", required=True)
    num_rows: int = at(3, "i64", required=True)
    sorting_columns: list[SortingColumn] | None = at(4, ListOf(SortingColumn))
    file_offset: int | None = at(5, "i64")
    total_compressed_size: int | None = at(6, "i64")
    ordinal: int | None = at(7, "i16")


@dataclass(frozen=True, slots=True)
class ColumnOrder:
    """The order that a column's statistics go by; None is an order of a later version."""

    TYPE_ORDER: Empty | None = at(1, Empty)


@dataclass(frozen=True, slots=True)
class EncryptionAlgorithm:
    """How a file is encrypted: the field that is not None."""

    AES_GCM_V1: Empty | None = at(1, Empty)
    AES_GCM_CTR_V1: Empty | None = at(2, Empty)


@dataclass(frozen=True, slots=True)
class FileMetaData:
    """The footer."""

    version: int = at(1, "i32", required=True)
    schema: list[SchemaElement] = at(2, ListOf(SchemaElement), required=True)
    num_rows: int = at(3, "i64", required=True)
    row_groups: list[RowGroup] = at(4, ListOf(RowGroup), required=True)
    key_value_metadata: list[KeyValue] | None = at(5, ListOf(KeyValue))
    created_by: str | None = at(6, "note")
    column_orders: list[ColumnOrder] | None = at(7, ListOf(ColumnOrder))
    encryption_algorithm: EncryptionAlgorithm | None = at(8, EncryptionAlgorithm)
    footer_signing_key_metadata: bytes | None = at(9, "binary")


@dataclass(frozen=True, slots=True)
class DataPageHeader:
    """Header of a data page of version 1."""

    num_values: int = at(1, "i32", required=True)
    encoding: int = at(2, "i32", required=True)
    definition_level_encoding: int = at(3, "i32", required=True)
    repetition_level_encoding: int = at(4, "i32", required=True)
    statistics: Statistics | None = at(5, Statistics)


@dataclass(frozen=True, slots=True)
class DictionaryPageHeader:
    """Header of a dictionary page."""

    num_values: int = at(1, "i32", required=True)
    encoding: int = at(2, "i32", required=True)
    is_sorted: bool | None = at(3, "bool")


@dataclass(frozen=True, slots=True)
class DataPageHeaderV2:
    """Header of a data page of version 2."""

    num_values: int = at(1, "i32", required=True)
    num_nulls: int = at(2, "i32", required=True)
    num_rows: int = at(3, "i32", required=True)
    encoding: int = at(4, "i32", required=True)
    definition_levels_byte_length: int = at(5, "i32", required=True)
    repetition_levels_byte_length: int = at(6, "i32", required=True)
    is_compressed: bool = at(7, "bool", default=True)
    statistics: Statistics | None = at(8, Statistics)


@dataclass(frozen=True, slots=True)
class PageHeader:
    """What stands before each page."""

    type: int = at(1, "i32", required=True)
    uncompressed_page_size: int = at(2, "i32", required=True)
    compressed_page_size: int = at(3, "i32", required=True)
    crc: int | None = at(4, "i32")
    data_page_header: DataPageHeader | None = at(5, DataPageHeader)
    dictionary_page_header: DictionaryPageHeader | None = at(7, DictionaryPageHeader)
    data_page_header_v2: DataPageHeaderV2 | None = at(8, DataPageHeaderV2)


@dataclass(frozen=True, slots=True)
class PageLocation:
    """Where one data page is, as the offset index says."""

    offset: int = at(1, "i64", required=True)
    compressed_page_size: int = at(2, "i32", required=True)
    first_row_index: int = at(3, "i64", required=True)


@dataclass(frozen=True, slots=True)
class OffsetIndex:
    """Where the data pages of a chunk are."""

    page_locations: list[PageLocation] = at(1, ListOf(PageLocation), required=True)
    unencoded_byte_array_data_bytes: list[int] | None = at(2, ListOf("i64"))


@dataclass(frozen=True, slots=True)
class ColumnIndex:
    """Smallest and largest value of each data page of a chunk."""

    null_pages: list[bool] = at(1, ListOf("bool"), required=True)
    min_values: list[bytes] = at(2, ListOf("binary"), required=True)
    max_values: list[bytes] = at(3, ListOf("binary"), required=True)
    boundary_order: int = at(4, "i32", required=True)
    null_counts: list[int] | None = at(5, ListOf("i64"))
    repetition_level_histograms: list[int] | None = at(6, ListOf("i64"))
    definition_level_histograms: list[int] | None = at(7, ListOf("i64"))


@dataclass(frozen=True, slots=True)
class BloomFilterHeader:
    """What stands before a Bloom filter."""

    numBytes: int = at(1, "i32", required=True)  # noqa: N815  # the format's name
