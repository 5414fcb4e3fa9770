import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.engine import GrowingTable
from gristmill.engine import growing as module
from gristmill.engine.growing import join_files
from gristmill.errors import SchemaConflictError
from gristmill.table.arrow_file import ArrowFileWriter, open_arrow, write_arrow

values = st.one_of(
    st.none(),
    st.integers(-5, 5),
    st.floats(allow_nan=False, width=16),
)
blocks = st.lists(st.lists(values, min_size=1, max_size=4), max_size=5)


def grow(path, tables, **options):
    with GrowingTable(path, **options) as growing:
        for table in tables:
            growing.write(table)
    return growing


@settings(deadline=None, max_examples=50)
@given(blocks)
def test_types_settle_over_all_pieces(tmp_path_factory, pieces):
    path = tmp_path_factory.mktemp("growing") / "a.arrow"
    tables = [
        pa.table({"a": pa.array([float(v) if any(isinstance(w, float) for w in piece) and v is not None else v
                                 for v in piece])})
        for piece in pieces
    ]  # fmt: skip
    expected = [value for piece in pieces for value in piece]
    on_disk, in_memory = grow(path, tables), grow(None, tables)
    for found in (on_disk.table(), in_memory.table()):
        if pieces:
            assert found["a"].to_pylist() == expected
        assert found.num_rows == len(expected)
    assert [p.name for p in path.parent.iterdir()] == ["a.arrow"]


def test_nulls_lists_and_structs_widen(tmp_path):
    tables = [
        pa.table({"a": pa.nulls(1), "b": [[]], "c": [{"x": 1}]}),
        pa.table({"a": ["t"], "b": [[1]], "c": [{"y": "z"}]}),
        pa.table({"d": [True]}),
    ]
    found = grow(tmp_path / "a.arrow", tables).table()
    assert found.to_pylist() == [
        {"a": None, "b": [], "c": {"x": 1, "y": None}, "d": None},
        {"a": "t", "b": [1], "c": {"x": None, "y": "z"}, "d": None},
        {"a": None, "b": None, "c": None, "d": True},
    ]


def test_types_that_do_not_join_name_column_and_row(tmp_path):
    with pytest.raises(SchemaConflictError, match='row 2, column "a"'):
        grow(tmp_path / "a.arrow", [pa.table({"a": [1, 2]}), pa.table({"a": ["x"]})])
    assert [p.name for p in tmp_path.iterdir()] == []


def test_columns_that_come_late_are_filled(tmp_path):
    def fill(name, start, stop):
        return pa.chunked_array([[f"{name}{i}" for i in range(start, stop)]])

    none = pa.table({"x": [1]}).select([])
    tables = [none, none, pa.table({"a": ["new"]}), none, pa.table({"b": ["late"]})]
    for path in (tmp_path / "a.arrow", None):
        found = grow(path, tables, fill=fill).table()
        assert found["a"].to_pylist() == ["a0", "a1", "new", "a3", "a4"]
        assert found["b"].to_pylist() == ["b0", "b1", "b2", "b3", "late"]


def test_a_table_too_large_for_memory_goes_to_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_IN_MEMORY", 1000)
    tables = [pa.table({"a": pa.nulls(10)}), *(pa.table({"a": [f"{i}" * 50] * 3}) for i in range(20))]
    growing = grow(None, tables, overflow=tmp_path / "over.arrow")
    assert growing.path == tmp_path / "over.arrow"
    assert (
        growing.table()["a"].to_pylist()
        == pa.concat_tables([tables[0].cast(pa.schema({"a": pa.string()})), *tables[1:]])["a"].to_pylist()
    )
    assert [p.name for p in tmp_path.iterdir()] == ["over.arrow"]


def test_files_made_apart_are_brought_together(tmp_path):
    write_arrow(tmp_path / "0", pa.table({"a": pa.nulls(2)}))
    write_arrow(tmp_path / "1", pa.table({"a": ["x"], "b": [1]}))
    paths = [tmp_path / "0", tmp_path / "1"]
    assert join_files(paths, [2, 1]).to_pydict() == {"a": [None, None, "x"], "b": [None, None, 1]}
    assert open_arrow(paths[0]).schema == open_arrow(paths[1]).schema


def test_what_ends_the_process_just_when_a_file_has_been_made_leaves_none(tmp_path, monkeypatch):
    enter = ArrowFileWriter.__enter__

    def ended(self):
        enter(self)
        assert list(tmp_path.iterdir()), "the file is there"
        raise KeyboardInterrupt

    monkeypatch.setattr(ArrowFileWriter, "__enter__", ended)
    with pytest.raises(KeyboardInterrupt):
        grow(tmp_path / "a.arrow", [pa.table({"a": [1]})])
    assert list(tmp_path.iterdir()) == []
