"""What is written as Thrift's compact protocol is read back; what is damaged is refused, quickly."""

import contextlib
import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.parquet import records
from gristmill.parquet.thrift import ListOf, decode
from tests.parquet.encoders import encode_record, varint

KINDS = {
    "bool": st.booleans(),
    "double": st.floats(allow_nan=False),
    "binary": st.binary(max_size=20),
    "text": st.text(max_size=10),
    "note": st.text(max_size=10),
    **{f"i{bits}": st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) for bits in (8, 16, 32, 64)},
}


def of_kind(kind):
    if isinstance(kind, ListOf):
        return st.lists(of_kind(kind.kind), max_size=17)
    return KINDS[kind] if isinstance(kind, str) else st.deferred(lambda: of_record(kind))


def of_record(record):
    fields = {}
    for field in dataclasses.fields(record):
        _, kind, required = field.metadata["thrift"]
        value = of_kind(kind)
        fields[field.name] = value if required or field.default is not None else st.none() | value
    return st.builds(record, **fields)


SMALL = [
    records.KeyValue, records.SchemaElement, records.Statistics, records.ColumnIndex, records.OffsetIndex,
    records.PageHeader, records.ColumnMetaData, records.SortingColumn, records.SizeStatistics,
]  # fmt: skip


@pytest.mark.parametrize("record", SMALL, ids=lambda record: record.__name__)
@settings(max_examples=12)
@given(data=st.data())
def test_round_trip(record, data):
    value = data.draw(of_record(record))
    raw = encode_record(value)
    assert decode(record, b"xy" + raw + b"z", 2) == (value, len(raw) + 2)


@settings(max_examples=60)
@given(st.data())
def test_cut_off_or_changed_bytes_end_in_an_error_or_a_record(data):
    raw = bytearray(encode_record(data.draw(of_record(records.PageHeader))))
    cut = data.draw(st.integers(0, len(raw) - 1))
    with pytest.raises(EOFError):
        decode(records.PageHeader, bytes(raw[:cut]))
    raw[cut] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError, EOFError):
        decode(records.PageHeader, bytes(raw))


@settings(max_examples=200)
@given(st.binary(max_size=60))
def test_any_bytes_end(raw):
    with contextlib.suppress(ValueError, EOFError):
        decode(records.FileMetaData, raw)


def test_unknown_fields_of_every_kind_are_skipped():
    unknown = bytes([0x01 | 9 << 4])  # field 9, true
    unknown += bytes([0x13, 5])  # i8
    unknown += bytes([0x17]) + bytes(8)  # double
    unknown += bytes([0x18, 2, 1, 2])  # binary
    unknown += bytes([0x19, 0x35]) + varint(1) * 3  # three i32
    unknown += bytes([0x1B, 1, 0x8C, 1, 7, 0x15, 2, 0])  # a map of one entry: binary -> struct
    unknown += bytes([0x1D]) + bytes(16)  # uuid
    raw = bytes([0x18, 1]) + b"k" + unknown + b"\x00"
    assert decode(records.KeyValue, raw) == (records.KeyValue("k"), len(raw))


def test_a_field_of_another_type_is_as_good_as_absent():
    assert decode(records.KeyValue, b"\x18\x01k\x16\x02\x00")[0] == records.KeyValue("k")
    with pytest.raises(ValueError, match="KeyValue lacks its key"):
        decode(records.KeyValue, b"\x16\x02\x00")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"\x18\xff\xff\xff\xff\x07abc", "a value of 2,147,483,647 bytes is announced where 3 are left"),
        (b"\x1a\xfc\xff\xff\xff\xff\x07", "a list of 2,147,483,647 is announced"),
        (b"\xfb\xff\xff\xff\xff\x07", "a map of 2,147,483,647 is announced"),
        (b"\x16" + b"\xff" * 11, "more than ten bytes"),
        (b"\xfc" + b"\x1c" * 60, "nested more than"),
        (b"\x1e\x00", "there is no type 14"),
        (b"\x18\x01\xff\x00", "KeyValue.key is not UTF-8"),
    ],
)
def test_what_is_wrong_is_said(raw, said):
    with pytest.raises((ValueError, EOFError), match=said):
        decode(records.KeyValue, raw)


def test_text_nobody_relies_on_may_be_any_bytes():
    assert decode(records.KeyValue, b"\x18\x01k\x18\x02\xffa\x00")[0].value == "\\xffa"
