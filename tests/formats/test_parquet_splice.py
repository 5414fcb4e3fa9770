"""A file put together from pieces is what pyarrow would have written; what only older versions of it tell is right, too."""

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.formats import parquet_splice
from gristmill.formats.parquet_pieces import Piece, PieceWriter
from gristmill.formats.parquet_splice import Splice, first_rows
from gristmill.parquet.footer import open_parquet

TABLE = pa.table({"a": range(300), "b": [str(i) * 20 for i in range(300)]})


def empty_file(table: pa.Table, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.ParquetWriter(sink, table.schema, **options).close()
    data: bytes = sink.getvalue().to_pybytes()
    return data


def alone(table: pa.Table, **options: Any) -> Piece:
    writer = PieceWriter(table.schema, options)
    piece = writer.write(table)
    writer.close()
    return piece


def test_files_of_several_row_groups_and_of_one_become_one() -> None:
    options = {"write_page_index": True, "max_rows_per_page": 70}
    both = PieceWriter(TABLE.select(["b"]).schema, options)
    out, expected = io.BytesIO(), io.BytesIO()
    splice = Splice(out)
    for _ in range(20):  # more than 14 have another head of the list
        splice.add_group([alone(TABLE.select(["a"]), **options), both.write(TABLE.select(["b"]))])
    both.close()
    splice.close(empty_file(TABLE, **options))
    pq.write_table(pa.concat_tables([TABLE] * 20), expected, row_group_size=300, **options)
    assert out.getvalue() == expected.getvalue()


def test_the_first_rows_of_pages_are_told() -> None:
    piece = alone(TABLE, write_page_index=True, max_rows_per_page=70, write_batch_size=10)
    assert first_rows(piece) == [[0, 70, 140, 210, 280]] * 2
    assert first_rows(alone(TABLE)) == [[], []]


def test_row_groups_that_tell_their_number_tell_the_right_one(tmp_path: Any) -> None:
    path = tmp_path / "x.parquet"
    with path.open("wb") as out:
        splice = Splice(out)
        for _ in range(3):
            piece = alone(TABLE)
            tell_number(piece)
            splice.add_group([piece])
        splice.close(empty_file(TABLE))
    with open_parquet(path) as file:
        assert [group.ordinal for group in file.metadata.row_groups] == [0, 1, 2]
    assert pq.read_table(path).num_rows == 900


def tell_number(piece: Piece) -> None:
    """Says that a row group is the first, as pyarrow 19 does."""
    [group] = parquet_splice._read_source(piece.source)
    numbers = group.numbers
    if 7 not in numbers:
        footer = group.footer[: group.end - 1] + b"\x14\0" + group.footer[group.end - 1 :]
        behind = len(footer).to_bytes(4, "little") + b"PAR1"
        piece.source.tail = piece.source.tail[: -8 - len(group.footer)] + footer + behind
