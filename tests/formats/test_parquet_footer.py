"""Footers looked through by the pattern of usual chunks and without it: the same is found, whatever the bytes say."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.formats import parquet_footer
from tests.shared import SHARED

GOOD = Path(__file__).parent.parent / "data" / "parquet" / "good"
REAL = SHARED / "parquet" / "good"


def write(path: Path, **options: Any) -> Path:
    table = pa.table({
        "number": [1, 2, None], "text": ["a", "b" * 30, None], "flag": [True, False, None],
        "nested": [[{"x": 1.5}], [], None], "a name of many letters, more than the pattern knows": [b"x" * 90, None, b""],
    })  # fmt: skip
    pq.write_table(table, path, row_group_size=1, **options)
    return path


def answers(data: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for many in (-1, 10**9):
        monkeypatch.setattr(parquet_footer, "_MANY", many)
        try:
            yield parquet_footer._types_of_chunks(data)
        except (IndexError, ValueError, RecursionError) as error:
            yield type(error)


OPTIONS: list[dict[str, Any]] = [
    {}, {"write_page_index": True}, {"write_statistics": False}, {"compression": "zstd", "version": "1.0"},
    {"use_dictionary": False, "data_page_version": "2.0"},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_chunks_of_any_options_are_found_both_ways(options, tmp_path, monkeypatch):
    path = write(tmp_path / "x.parquet", **options)
    footer = pq.read_metadata(path)
    columns = [footer.schema.column(i).physical_type for i in range(footer.num_columns)]
    wanted = [[parquet_footer._TYPES.index(name) for name in columns]] * 3
    assert list(answers(parquet_footer._read(path), monkeypatch)) == [wanted, wanted]
    for many in (-1, 10**9):
        monkeypatch.setattr(parquet_footer, "_MANY", many)
        assert parquet_footer.has_sound_chunks(path, footer)


def test_the_pattern_knows_what_pyarrow_writes(tmp_path):
    data = parquet_footer._read(write(tmp_path / "x.parquet", write_page_index=True))
    # All but the column of the long name, in each of three row groups.
    assert len(parquet_footer._usual_chunk().findall(data)) == 12


def test_another_type_of_one_chunk_is_found_among_many(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({f"c{i}": [1, 2] for i in range(400)}), path, row_group_size=1)
    footer = pq.read_metadata(path)
    assert parquet_footer.has_sound_chunks(path, footer)
    data = bytearray(path.read_bytes())
    at = data.rindex(b"\x1c\x15\x04")
    data[at + 2] = 10  # a double
    path.write_bytes(data)
    assert not parquet_footer.has_sound_chunks(path, footer)


@pytest.mark.parametrize("options", OPTIONS[:3], ids=str)
def test_damaged_footers_are_read_alike(options, tmp_path, monkeypatch):
    data = parquet_footer._read(write(tmp_path / "x.parquet", **options))

    @settings(max_examples=200)
    @given(st.lists(st.tuples(st.integers(0, len(data) - 1), st.integers(0, 255)), min_size=1, max_size=4))
    def law(changes):
        damaged = bytearray(data)
        for at, byte in changes:
            damaged[at] = byte
        fast, slow = answers(bytes(damaged), monkeypatch)
        assert fast == slow

    law()


@pytest.mark.parametrize("folder", [GOOD, REAL], ids=["here", "collection"])
def test_footers_of_other_writers_are_read_alike(folder, monkeypatch):
    if not folder.exists():
        pytest.skip("the collection of real files is not here")
    for path in sorted(
        path for path in folder.rglob("*") if path.is_file() and path.stat().st_size < 1 << 22
    ):
        if path.read_bytes()[-4:] == b"PAR1":
            fast, slow = answers(parquet_footer._read(path), monkeypatch)
            assert fast == slow, path
