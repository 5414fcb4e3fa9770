"""Small writers, for tests only: Thrift's compact protocol, the RLE/bit-packed hybrid, pages, and whole files."""

import dataclasses
import struct
import zlib
from typing import Any

import pyarrow as pa

from gristmill.parquet.names import CODECS, ENCODINGS, PAGES
from gristmill.parquet.records import (
    ColumnChunk,
    ColumnMetaData,
    DataPageHeader,
    DataPageHeaderV2,
    FileMetaData,
    PageHeader,
    RowGroup,
    SchemaElement,
)
from gristmill.parquet.thrift import ListOf

WIRE = {"i8": 3, "i16": 4, "i32": 5, "i64": 6, "double": 7, "binary": 8, "text": 8, "note": 8}


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def zigzag(value):
    return varint((value << 1) ^ (value >> 63))


def encode_record(record):
    """A dataclass of `gristmill.parquet.records` as a struct; None is left out."""
    out, last = b"", 0
    for field in dataclasses.fields(record):
        field_id, kind, _ = field.metadata["thrift"]
        value = getattr(record, field.name)
        if value is None:
            continue
        wire = (1 if value else 2) if kind == "bool" else wire_type(kind)
        step = field_id - last
        out += bytes([step << 4 | wire]) if 0 < step < 16 else bytes([wire]) + zigzag(field_id)
        out += b"" if kind == "bool" else encode_value(kind, value)
        last = field_id
    return out + b"\x00"


def wire_type(kind):
    return 9 if isinstance(kind, ListOf) else 12 if isinstance(kind, type) else WIRE.get(kind, 1)


def encode_value(kind, value):
    if kind == "bool":
        return bytes([1 if value else 2])
    if kind == "i8":
        return struct.pack("b", value)
    if kind == "double":
        return struct.pack("<d", value)
    if kind in ("binary", "text", "note"):
        raw = value if isinstance(value, bytes) else value.encode()
        return varint(len(raw)) + raw
    if isinstance(kind, ListOf):
        head = bytes([min(len(value), 15) << 4 | wire_type(kind.kind)])
        return (
            head
            + (varint(len(value)) if len(value) >= 15 else b"")
            + b"".join(encode_value(kind.kind, v) for v in value)
        )
    return encode_record(value) if isinstance(kind, type) else zigzag(value)


def pack(values, width):
    """Values of a number of bits, lowest bit first, padded to a group of eight."""
    values = [*values, *[0] * (-len(values) % 8)]
    number = sum(value << (width * place) for place, value in enumerate(values))
    return number.to_bytes(len(values) * width // 8, "little")


def pack_from_the_top(values, width):
    """The retired BIT_PACKED."""
    bits = "".join(f"{value:0{width}b}" for value in values) if width else ""
    return int(bits.ljust(-(-len(bits) // 8) * 8, "0") or "0", 2).to_bytes(-(-len(bits) // 8), "big")


def encode_hybrid(runs, width):
    """Runs as the tests mean them: ("rle", value, times) or ("packed", values), all but the last of whole groups."""
    out = b""
    for kind, *rest in runs:
        if kind == "rle":
            value, times = rest
            out += varint(times << 1) + value.to_bytes((width + 7) // 8, "little")
        else:
            (values,) = rest
            out += varint((-(-len(values) // 8)) << 1 | 1) + pack(values, width)
    return out


def plain_levels(levels, most):
    """Levels as one packed run."""
    return encode_hybrid([("packed", levels)], most.bit_length()) if levels and most else b""


@dataclasses.dataclass
class PageSpec:
    """A page to be written: its levels, its values encoded as PLAIN, and how it may lie."""

    repetition: list
    definition: list
    values: bytes
    version: int = 1
    level_encoding: str = "RLE"
    crc: bool = False
    header: dict = dataclasses.field(default_factory=dict)


def compress(codec, data):
    return data if codec == "UNCOMPRESSED" else pa.Codec(codec.lower()).compress(data, asbytes=True)


def encode_page(spec, max_repetition, max_definition, codec):
    count = len(spec.definition) or len(spec.repetition)
    rows = spec.repetition.count(0)
    if spec.version == 2:
        rep, levels = (
            plain_levels(spec.repetition, max_repetition),
            plain_levels(spec.definition, max_definition),
        )
        body = rep + levels + compress(codec, spec.values)
        size = len(rep) + len(levels) + len(spec.values)
        nulls = sum(level < max_definition for level in spec.definition)
        part: dict[str, Any] = {
            "data_page_header_v2": DataPageHeaderV2(
                count, nulls, rows, 0, len(levels), len(rep), codec != "UNCOMPRESSED"
            )
        }
        kind = "DATA_PAGE_V2"
    else:
        raw = b""
        for levels, most in ((spec.repetition, max_repetition), (spec.definition, max_definition)):
            if most and spec.level_encoding == "RLE":
                run = plain_levels(levels, most)
                raw += struct.pack("<I", len(run)) + run
            elif most:
                raw += pack_from_the_top(levels, most.bit_length())
        raw += spec.values
        body, size = compress(codec, raw), len(raw)
        code = ENCODINGS.index(spec.level_encoding)
        part = {"data_page_header": DataPageHeader(count, 0, code, code)}
        kind = "DATA_PAGE"
    crc = struct.unpack("<i", struct.pack("<I", zlib.crc32(body)))[0] if spec.crc else None
    header = PageHeader(PAGES.index(kind), size, len(body), crc, **part)
    head = encode_record(dataclasses.replace(header, **spec.header))
    return head + body, len(head) + size


def list_schema():
    """An optional list of optional int32: levels up to repetition 1 and definition 3."""
    return [
        SchemaElement(name="schema", num_children=1),
        SchemaElement(name="a", repetition_type=1, num_children=1, converted_type=3),
        SchemaElement(name="list", repetition_type=2, num_children=1),
        SchemaElement(name="element", repetition_type=1, type=1),
    ]


def write_file(path, pages, *, codec="UNCOMPRESSED", schema=None, meta=None, footer=None, rows=None):
    """A file of one row group and one column of int32; what `meta` and `footer` say overrides the truth."""
    schema = schema or list_schema()
    depth = schema[1:]
    max_definition = sum((element.repetition_type or 0) > 0 for element in depth)
    max_repetition = sum(element.repetition_type == 2 for element in depth)
    out, uncompressed = b"PAR1", 0
    for spec in pages:
        encoded, size = encode_page(spec, max_repetition, max_definition, codec)
        out += encoded
        uncompressed += size
    values = sum(len(spec.definition) for spec in pages)
    counted = sum(spec.repetition.count(0) for spec in pages) if max_repetition else values
    described = ColumnMetaData(
        1, [0, 3], [element.name for element in depth], CODECS.index(codec), values, uncompressed, len(out) - 4,
        data_page_offset=4,
    )  # fmt: skip
    described = dataclasses.replace(described, **(meta or {}))
    group = RowGroup(
        [ColumnChunk(file_offset=4, meta_data=described)], uncompressed, counted if rows is None else rows
    )
    whole = dataclasses.replace(FileMetaData(1, schema, group.num_rows, [group]), **(footer or {}))
    raw = encode_record(whole)
    path.write_bytes(out + raw + struct.pack("<I", len(raw)) + b"PAR1")
    return path
