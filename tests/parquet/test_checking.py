"""`check` names the first fault: file, row group, column, page; whole files, odd and plain, are sound."""

import csv
import dataclasses
import struct
import subprocess
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill.errors import FileFormatError, FileMissingError
from gristmill.parquet import check, inspect, read_leaf
from gristmill.parquet.footer import ParquetFile
from gristmill.parquet.records import DataPageHeader, SchemaElement, Statistics
from tests.parquet.encoders import PageSpec, list_schema, write_file
from tests.parquet.test_agreement import KEPT, REAL

FLAT = [SchemaElement(name="schema", num_children=1), SchemaElement(name="a", repetition_type=1, type=1)]

INNER = [
    SchemaElement(name="schema", num_children=1),
    SchemaElement(name="a", repetition_type=1, num_children=1),
    SchemaElement(name="b", repetition_type=1, type=1),
]


def ints(*values):
    return struct.pack(f"<{len(values)}i", *values)


def flat(*values, **options):
    """A page of an optional column; None is null."""
    there = [value for value in values if value is not None]
    return PageSpec([], [int(value is not None) for value in values], ints(*there), **options)


@pytest.mark.parametrize("codec", ["UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "BROTLI", "LZ4_RAW"])
@pytest.mark.parametrize("version", [1, 2])
def test_pages_of_both_versions_and_all_codecs(tmp_path, codec, version, without_values):
    pages = [
        PageSpec([0, 1, 0], [3, 2, 1], ints(7), version=version, crc=True),
        PageSpec([0, 0, 1, 1], [0, 3, 3, 3], ints(1, 2, 3), version=version),
    ]
    report = check(write_file(tmp_path / "a.parquet", pages, codec=codec))
    assert (report.rows, report.data_pages, report.entries, report.checksums) == (4, 2, 7, 1)
    assert report.remarks == []


def test_levels_in_the_retired_encoding(tmp_path):
    pages = [PageSpec([0, 1, 0], [3, 2, 1], ints(7), level_encoding="BIT_PACKED")]
    assert check(write_file(tmp_path / "a.parquet", pages)).entries == 3


@pytest.fixture
def without_values(monkeypatch):
    """Only our own part: starting a process for each of many files takes long."""
    from gristmill.parquet import checking

    monkeypatch.setattr(checking, "find_fault", lambda *_, **__: None)


BROKEN: dict[str, tuple[list[PageSpec], dict[str, Any], str]] = {
    "sizes": (
        [flat(1), flat(2, header={"uncompressed_page_size": 20})],
        {}, 'row group 0, column "a": page 1: it can\'t be used: 20 bytes are stated, and 10 come out',
    ),
    "cut": ([flat(1, header={"compressed_page_size": 9999})], {}, "page 0: its header states 9,999 bytes, and the chunk ends"),
    "negative": ([flat(1, header={"compressed_page_size": -1})], {}, "page 0: its header states -1 bytes"),
    "checksum": ([flat(1), flat(2, header={"crc": 5})], {}, "page 1: its checksum is .*, and its header says 00000005"),
    "too few": ([flat(1, 2)], {"meta": {"num_values": 3}}, "page 1: the chunk's .* bytes end with 2 of 3 values"),
    "too many": ([flat(1, 2)], {"meta": {"num_values": 1}}, "page 0: with it there are 2 values, and the chunk has 1"),
    "rows": ([flat(1, 2)], {"rows": 3}, 'column "a": its pages hold 2 rows, and the row group 3'),
    "levels": (
        [PageSpec([], [1, 0, 1], ints(1, 2), header={"data_page_header": DataPageHeader(90, 0, 3, 3)})],
        {"meta": {"num_values": 90}}, "page 0: it can't be used: 90 levels or indices are stated, and their runs end after 8",
    ),
    "high level": ([PageSpec([], [3], b"")], {"schema": INNER}, "a definition level is 3, and the column has at most 2"),
    "first level": ([PageSpec([1], [3], ints(1))], {"schema": list_schema()}, "the first row begins with repetition level 1"),
    "values": ([flat(1, 2), PageSpec([], [1, 1], ints(1))], {}, "page 1: it can't be used: 2 values take 8 bytes, and 4 are left"),
    "kind": ([flat(1, header={"type": 3})], {}, "page 0: its header says DATA_PAGE_V2 and lacks"),
    "codec": ([flat(1)], {"meta": {"codec": 3}}, "page 0: it can't be used: the codec LZO is not supported"),
    "huge": (
        [flat(1, header={"uncompressed_page_size": 1 << 30})], {}, "page 0: 1,073,741,824 bytes are stated, and pages of at most",
    ),
    "path": ([flat(1)], {"meta": {"path_in_schema": ["b"]}}, 'row group 0, column "a": the footer calls its chunk \'b\''),
    "type": ([flat(1)], {"meta": {"type": 2}}, "the schema says INT32, and its chunk is INT64"),
    "offset": ([flat(1)], {"meta": {"data_page_offset": 1 << 40}}, "are not within the file's data"),
    "elsewhere": ([flat(1)], {"footer": {"num_rows": -1}}, "the footer counts -1 rows"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_each_fault_is_named(tmp_path, case, without_values):
    pages, options, said = BROKEN[case]
    path = write_file(tmp_path / "a.parquet", pages, **{"schema": FLAT, **options})
    with pytest.raises(FileFormatError, match=f"a.parquet.*{said}"):
        check(path)


def test_a_value_that_does_not_decode_names_its_page(tmp_path):
    path = tmp_path / "a.parquet"
    texts = [f"text {number:04}" for number in range(200)]
    pq.write_table(pa.table({"n": range(200), "t": texts}), path, use_dictionary=False, data_page_size=64,
                   write_batch_size=50, compression="none")  # fmt: skip
    assert check(path).data_pages > 4
    path.write_bytes(path.read_bytes().replace(b"text 0120", b"text \xff120"))
    with pytest.raises(FileFormatError, match=r'row group 0, column "t": page 2: its values .*UTF8'):
        check(path)


def test_arrow_may_die(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    real = subprocess.Popen

    def dying(command, **options):
        script = 'import os, sys; sys.stderr.write(\'{"group": 0, "index": 0, "row": 0}\\n\'); sys.stderr.flush(); os.abort()'
        return real([command[0], "-c", script], **options)

    monkeypatch.setattr(subprocess, "Popen", dying)
    with pytest.raises(FileFormatError, match=r"column \"a\".*Arrow's decoder ended its process \(SIGABRT\)"):
        check(path)


@pytest.mark.parametrize("after", [0, 1])
def test_a_decoder_that_dies_between_batches_is_not_an_end(tmp_path, monkeypatch, after):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": range(40_000)}), path)
    real = subprocess.Popen
    script = f"""
import os, sys, pyarrow as pa
from gristmill.parquet import worker
writes = 0
class Dying(pa.ipc.RecordBatchStreamWriter):
    def write_batch(self, batch):
        global writes
        writes += 1
        if writes > {after}:
            sys.stdout.buffer.flush()
            os._exit(7)
        super().write_batch(batch)
pa.ipc.new_stream = lambda sink, schema: Dying(sink, schema)
sys.exit(worker.main())
"""
    monkeypatch.setattr(
        subprocess, "Popen", lambda command, **options: real([command[0], "-c", script], **options)
    )
    with pytest.raises(FileFormatError, match=r'row group 0, column "a": its values .* ended with status 7'):
        list(read_leaf(path, "a"))


def test_a_decoder_that_waits_for_ever_is_ended(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    real = subprocess.Popen
    script = """
import sys, time
from gristmill.parquet import worker
class Waiting:
    def __next__(self):
        time.sleep(60)
watched = worker._watched
worker._watched = lambda batches, seconds: watched(Waiting(), 1)
sys.exit(worker.main())
"""
    monkeypatch.setattr(
        subprocess, "Popen", lambda command, **options: real([command[0], "-c", script], **options)
    )
    with pytest.raises(
        FileFormatError, match=r'row group 0, column "a": page 1: its values .* it took too long'
    ):
        check(path)


def test_counts_that_are_off_are_remarks(tmp_path, without_values):
    path = write_file(
        tmp_path / "a.parquet",
        [flat(1)],
        schema=FLAT,
        meta={"total_uncompressed_size": 0},
        footer={"num_rows": 7},
    )
    first, second = check(path).remarks
    assert "the footer counts 7 rows, its row groups 1" in first
    assert "the footer says 0 bytes uncompressed" in second
    assert inspect(path).remarks == ["the footer counts 7 rows, its row groups 1"]


def test_what_is_no_parquet_file(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    whole = path.read_bytes()
    for content, said in [
        (b"", "it has 0 bytes"),
        (b"text, and no table", ".*it is no Parquet file"),
        (whole[:-20], ".*its end, with the footer, is cut off"),
        (whole[:-8] + b"\xff\xff\xff\x7fPAR1", "its footer is said to have 2,147,483,647 bytes"),
        (whole[:-4] + b"PARE", "its footer is encrypted"),
        (whole[:4] + bytes(len(whole) - 12) + whole[-8:], "the footer can't be used"),
    ]:
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=f"a.parquet: {said}"):
            inspect(path)
    with pytest.raises(FileMissingError):
        inspect(tmp_path / "none.parquet")
    with pytest.raises(FileMissingError, match="folder"):
        inspect(tmp_path)


@pytest.mark.parametrize("path", sorted((KEPT.parent / "bad").iterdir()), ids=lambda path: path.name)
def test_bad_and_encrypted_files_are_refused_by_name(path):
    said = "encrypted, and Gristmill has no keys" if path.suffix == ".encrypted" else "."
    with pytest.raises(FileFormatError, match=f"{path.name}.*{said}"):
        check(path)


# Damaged files that Arrow reads as well: odd, and yet with all their rows.
READABLE = {
    "decimal-1.parquet", "incorrect_index_page_offsets.parquet", "nullbyte.parquet", "polars-no-dict-offset.parquet",
    "variant_malicious.parquet", "bad_ARROW-GH-43605.parquet", "nation.dict-malformed.parquet", "invalid_utf8_stats.parquet",
    "corrupt_stats.parquet",
}  # fmt: skip


def refusal(path):
    """What `check` says of a file; nothing if it is sound."""
    try:
        check(path)
    except FileFormatError as error:
        return str(error)
    return ""


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the collection of real files is not here")
@pytest.mark.parametrize("kind", ["bad", "encrypted"])
def test_the_whole_collection_of_bad_files(kind, without_values):
    with (REAL / kind / "index.tsv").open() as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    passed = set()
    for row in rows:
        if not row["path"].endswith(".md"):
            said = refusal(REAL / row["path"])
            assert row["path"] in said or not said
            if not said:
                passed.add(row["path"].rpartition("/")[2])
    # Those whose values only Arrow can refuse: see the test above of what does not decode.
    decoded = {
        "invalid.parquet", "invalid_utf8_dba.parquet", "invalid_utf8_dictionary.parquet", "internal_6129.parquet",
    }  # fmt: skip
    assert passed - READABLE - decoded <= {"parquet-arrow-fuzz-5382863341289472"}


@pytest.mark.parametrize("field", ["min_value", "max_value"])
def test_statistics_of_another_width(tmp_path, field, without_values):
    said: dict[str, Any] = {field: b"abc"}
    path = write_file(
        tmp_path / "a.parquet",
        [flat(1)],
        schema=FLAT,
        meta={"statistics": Statistics(**said)},
    )
    with pytest.raises(FileFormatError, match=f"the statistics' {field} has 3 bytes, and a INT32 4"):
        check(path)
    shown = inspect(path).row_groups[0].columns[0].statistics
    assert shown is not None
    assert "0x616263" in [bound.value for bound in (shown.min, shown.max) if bound is not None]


def test_null_counts_have_to_be_true(tmp_path, without_values):
    path = write_file(
        tmp_path / "a.parquet", [flat(1, None)], schema=FLAT, meta={"statistics": Statistics(null_count=2)}
    )
    with pytest.raises(FileFormatError, match="1 entries are null, and the statistics say 2"):
        check(path)


def test_the_page_index_has_to_be_true(tmp_path, monkeypatch, without_values):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": range(3000)}), path, use_dictionary=False, data_page_size=1000, write_batch_size=100,
                   write_page_index=True, compression="none")  # fmt: skip
    report, info = check(path), inspect(path)
    index = info.row_groups[0].columns[0].index
    assert index is not None
    assert (index.pages, index.order) == (report.data_pages, "ASCENDING")
    real = ParquetFile.offset_index

    def off(self, group, column):
        found = real(self, group, column)
        assert found is not None
        moved = [dataclasses.replace(at, offset=at.offset + 1) for at in found.page_locations]
        return dataclasses.replace(found, page_locations=moved)

    monkeypatch.setattr(ParquetFile, "offset_index", off)
    with pytest.raises(FileFormatError, match="page 0: the offset index puts it at byte 5"):
        check(path)
