"""`Dataset.data` is one of the documented tables, mapped where the dataset is, and can be taken in again."""

import pickle

import pyarrow as pa

from gristmill import Dataset
from gristmill.table import (
    ConcatenationTable,
    InMemoryTable,
    MemoryMappedTable,
    concat_tables,
    list_table_cache_files,
)
from gristmill.table.arrow_file import write_arrow
from gristmill.table.of_view import plain_table

ROWS = {"a": [1, 2, 3], "b": ["x", "y", "z"]}


def in_file(path, rows=ROWS):
    write_arrow(path, pa.table(rows))
    return Dataset.from_file(str(path))


def test_in_memory():
    ds = Dataset.from_dict(ROWS)
    assert isinstance(ds.data, InMemoryTable)
    assert isinstance(ds.data.table, pa.Table)
    assert ds.data.to_pydict() == ROWS
    assert ds._indices is None
    assert b"huggingface" in ds.data.schema.metadata


def test_mapped(tmp_path):
    ds = in_file(tmp_path / "t.arrow").select_columns(["b", "a"]).rename_column("b", "text").select([2, 0])
    assert isinstance(ds.data, MemoryMappedTable)
    assert ds.data.column_names == ["text", "a"]
    assert ds.data.num_rows == 3
    assert isinstance(ds._indices, InMemoryTable)
    assert ds._indices.column(0).to_pylist() == [2, 0]
    sent = pickle.dumps(ds.data)
    assert str(tmp_path).encode() in sent
    assert pickle.loads(sent) == ds.data
    assert pickle.loads(sent).schema.metadata == ds.data.schema.metadata
    assert list_table_cache_files(ds.data) == [str(tmp_path / "t.arrow")]
    again = Dataset(ds.data, indices_table=ds._indices)
    assert again[:] == ds[:]
    assert again.features == ds.features


def test_a_column_of_its_own_beside_a_mapped_one(tmp_path):
    ds = in_file(tmp_path / "t.arrow").add_column("c", [1.0, 2.0, 3.0])
    assert isinstance(ds.data, ConcatenationTable)
    assert [type(block) for block in ds.data.blocks[0]] == [MemoryMappedTable, InMemoryTable]
    assert pickle.loads(pickle.dumps(ds.data)).to_pydict() == ds.to_dict() == {**ROWS, "c": [1.0, 2.0, 3.0]}
    shuffled = in_file(tmp_path / "u.arrow").select([2, 0]).add_column("c", [1.0, 2.0])
    assert isinstance(shuffled.data, InMemoryTable)
    assert shuffled.data.to_pydict() == shuffled.to_dict()
    assert ds.remove_columns(["a", "b", "c"]).data.num_columns == 0


def test_several_files(tmp_path):
    paths = []
    for number in range(3):
        paths.append(tmp_path / f"{number}.arrow")
        write_arrow(paths[-1], pa.table({"a": [number]}))
    table = pa.concat_tables([pa.table({"a": [number]}) for number in range(3)])
    ds = Dataset._from_parts(table, cache_files=paths)
    assert isinstance(ds.data, ConcatenationTable)
    assert ds.data.to_pydict() == {"a": [0, 1, 2]}
    assert list_table_cache_files(ds.data) == list(map(str, paths))


def test_files_that_are_gone_or_other_files_are_not_named(tmp_path):
    ds = in_file(tmp_path / "t.arrow")
    (tmp_path / "t.arrow").unlink()
    assert isinstance(ds.data, InMemoryTable)
    other = in_file(tmp_path / "u.arrow")
    write_arrow(tmp_path / "u.arrow", pa.table({"a": ["text"], "b": ["text"]}))
    assert isinstance(other.data, InMemoryTable)
    two = Dataset._from_parts(
        pa.table({"a": [1, 2]}), cache_files=[tmp_path / "no.arrow", tmp_path / "u.arrow"]
    )
    assert isinstance(two.data, InMemoryTable)


def test_a_dataset_of_mapped_tables_keeps_to_their_files(tmp_path):
    mapped = []
    for number in range(2):
        write_arrow(tmp_path / f"{number}.arrow", pa.table({"a": range(1000)}))
        mapped.append(MemoryMappedTable.from_file(str(tmp_path / f"{number}.arrow")))
    ds = Dataset(concat_tables(mapped))
    assert [file["filename"] for file in ds.cache_files] == [table.path for table in mapped]
    assert len(pickle.dumps(ds)) < 5000
    assert pickle.loads(pickle.dumps(ds))[1500] == {"a": 500}
    assert plain_table(mapped[0].slice(1))[1] == ()
    assert Dataset(mapped[0].slice(1)).cache_files == []
