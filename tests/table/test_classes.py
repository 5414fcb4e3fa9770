"""The documented table classes do what pyarrow's table does, and travel to other processes as told."""

import copy
import itertools
import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import (
    CastError,
    FileMissingError,
    InvalidArgumentError,
    RowIndexError,
    SchemaConflictError,
)
from gristmill.features import ClassLabel, Features, List, Value
from gristmill.table import (
    ConcatenationTable,
    InMemoryTable,
    MemoryMappedTable,
    Table,
    array_cast,
    cast_array_to_feature,
    cast_table_to_features,
    cast_table_to_schema,
    concat_tables,
    embed_table_storage,
    list_table_cache_files,
    table_cast,
)
from gristmill.table.arrow_file import write_arrow
from gristmill.table.steps import apply_step

names = itertools.count()


def plain(rows):
    return pa.table(
        {
            "a": pa.array(range(rows), pa.int32()),
            "b": [None if n % 5 == 0 else f"text {n}" for n in range(rows)],
            "c": pa.array(
                [{"x": n, "y": [n]} for n in range(rows)],
                pa.struct({"x": pa.int64(), "y": pa.list_(pa.int8())}),
            ),
        }
    )


def cut(table, edges):
    edges = [0, *sorted(edges), table.num_rows]
    return [table.slice(start, stop - start) for start, stop in itertools.pairwise(edges)]


def mapped(folder, table):
    path = folder / f"{next(names)}.arrow"
    write_arrow(path, table)
    return MemoryMappedTable.from_file(str(path))


def beside(kind, folder, table):
    """The same table, its last column a block of its own."""
    left, right = table.select(["a", "b"]), table.select(["c"])
    return concat_tables([kind(folder, left), InMemoryTable(right)], axis=1)


def in_memory(folder, table):
    return InMemoryTable(table)


def under(folder, table):
    return concat_tables(
        [mapped(folder, piece) for piece in cut(table, [1, 1, 4] if table.num_rows > 4 else [])]
    )


def mixed(folder, table):
    first, second = cut(table, [table.num_rows // 2])
    return concat_tables(
        [beside(mapped, folder, first), in_memory(folder, second), in_memory(folder, first.slice(0, 0))]
    )


BUILDERS = {
    "in memory": in_memory,
    "mapped": mapped,
    "under": under,
    "beside": lambda folder, table: beside(mapped, folder, table),
    "under, then beside": lambda folder, table: beside(under, folder, table),
    "mixed": mixed,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def names_of(table):
    return (
        st.lists(st.sampled_from(table.column_names), unique=True, min_size=1)
        if table.num_columns
        else st.just([])
    )


def draw_step(draw, table):
    rows, columns = table.num_rows, table.num_columns
    kind = draw(
        st.sampled_from(
            ["slice", "select", "drop", "rename", "map_rename", "metadata", "combine", "filter", "append", "add", "set",
             "remove", "cast", "flatten"]
        )
    )  # fmt: skip
    fresh = f"n{next(names)}"
    if kind == "slice" or not columns:
        offset = draw(st.integers(0, rows + 1))
        return "slice", (offset, draw(st.none() | st.integers(0, rows))), {}
    if kind == "select":
        return "select", (draw(names_of(table)),), {}
    if kind == "drop":
        return "drop", (draw(names_of(table)),), {}
    if kind == "rename":
        return "rename_columns", ([f"{fresh}_{n}" for n in range(columns)],), {}
    if kind == "map_rename":
        return "rename_columns", ({draw(st.sampled_from(table.column_names)): fresh},), {}
    if kind == "metadata":
        return "replace_schema_metadata", (draw(st.sampled_from([None, {"k": "v"}])),), {}
    if kind == "combine":
        return "combine_chunks", (), {}
    if kind == "filter":
        mask = draw(st.lists(st.booleans(), min_size=rows, max_size=rows))
        return "filter", (pa.array(mask, pa.bool_()),), {}
    new = pa.array(range(rows), pa.int16())
    if kind == "append":
        return "append_column", (fresh, new), {}
    if kind == "add":
        return "add_column", (draw(st.integers(0, columns)), fresh, new), {}
    if kind == "set":
        return "set_column", (draw(st.integers(0, columns - 1)), fresh, new), {}
    if kind == "remove":
        return "remove_column", (draw(st.integers(0, columns - 1)),), {}
    if kind == "flatten":
        return "flatten", (), {}
    return (
        "cast",
        (pa.schema([(f.name, pa.int64() if pa.types.is_integer(f.type) else f.type) for f in table.schema]),),
        {},
    )


def check(ours, theirs):
    assert ours.table.schema.equals(theirs.schema, check_metadata=True)
    assert ours.num_rows == theirs.num_rows
    assert ours == theirs
    ours.validate(full=True)


@pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS)
@given(data=st.data())
def test_chains_of_steps_equal_pyarrow(build, folder, data):
    theirs = plain(data.draw(st.integers(0, 9)))
    ours = build(folder, theirs)
    check(ours, theirs)
    for _ in range(data.draw(st.integers(0, 6))):
        name, args, kwargs = draw_step(data.draw, theirs)
        ours = getattr(ours, name)(*args, **kwargs)
        theirs = apply_step(theirs, (name, args, kwargs))
        check(ours, theirs)
        if isinstance(ours, ConcatenationTable):
            # The blocks say the same as the whole.
            again = ConcatenationTable.from_blocks(ours.blocks)
            assert again.num_rows == theirs.num_rows
            assert again.table.equals(theirs)
    sent = pickle.loads(pickle.dumps(ours))
    assert type(sent) is type(ours)
    check(sent, theirs)


@pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS)
def test_looking(build, folder):
    theirs = plain(7)
    ours = build(folder, theirs)
    assert isinstance(ours, Table)
    assert len(ours) == 7
    assert ours["a"] == theirs["a"] == ours[0] == ours.column("a")
    assert ours.columns == theirs.columns == list(ours.itercolumns())
    assert ours.to_pydict() == theirs.to_pydict()
    assert ours.to_pylist() == theirs.to_pylist()
    assert ours.to_pandas().equals(theirs.to_pandas())
    assert pa.Table.from_batches(ours.to_batches(max_chunksize=2)) == theirs
    assert ours.to_reader(3).read_all() == theirs
    assert ours.field("b") == theirs.field("b")
    assert ours.shape == (7, 3)
    assert ours.num_columns == 3
    assert ours.column_names == ["a", "b", "c"]
    assert ours.nbytes == theirs.nbytes or ours.nbytes > 0
    assert type(ours).__name__ in repr(ours)
    assert "a: int32" in ours.to_string()
    assert ours.fast_slice(2, 3) == theirs.slice(2, 3)
    assert ours.fast_gather([6, 0, 0]) == theirs.take([6, 0, 0])
    assert copy.copy(ours) == copy.deepcopy(ours) == ours
    assert ours != theirs.slice(1)
    assert ours != 3
    assert pa.table(ours) == theirs
    with pytest.raises(RowIndexError):
        ours.fast_gather([7])
    with pytest.raises(InvalidArgumentError):
        ours.slice(-1)
    with pytest.raises(InvalidArgumentError):
        ours.slice(0, -1)


def test_a_plain_table_of_the_base_class():
    table = Table(plain(3))
    assert table.slice(1, 1).to_pydict()["a"] == [1]
    assert isinstance(table.select(["a"]), InMemoryTable)


def test_making_tables_in_memory(tmp_path):
    theirs = plain(3)
    write_arrow(tmp_path / "t.arrow", theirs)
    batches = theirs.to_batches()
    assert InMemoryTable.from_file(str(tmp_path / "t.arrow")) == theirs
    assert InMemoryTable.from_buffer(pa.py_buffer((tmp_path / "t.arrow").read_bytes())) == theirs
    assert InMemoryTable.from_batches(batches) == theirs
    assert InMemoryTable.from_arrays(theirs.columns, theirs.column_names) == theirs
    assert InMemoryTable.from_pydict({"a": [1]}) == InMemoryTable.from_pylist([{"a": 1}])
    assert InMemoryTable.from_pandas(theirs.select(["a"]).to_pandas()).to_pydict() == {"a": [0, 1, 2]}


def test_a_mapped_table_travels_as_its_path(tmp_path):
    write_arrow(tmp_path / "t.arrow", pa.table({"a": np.arange(100_000), "b": np.arange(100_000)}))
    table = MemoryMappedTable.from_file(str(tmp_path / "t.arrow"))
    made = table.slice(10).select(["b"]).rename_columns(["z"]).cast(pa.schema({"z": pa.int32()}))
    for start in range(100):
        made = made.slice(1, 50_000 - start)
    sent = pickle.dumps(made)
    assert len(sent) < 2000
    assert pickle.loads(sent) == made == pa.table({"z": pa.array(range(110, 110 + len(made)), pa.int32())})
    assert [name for name, _, _ in made.replays].count("slice") == 2
    assert list_table_cache_files(made) == [str(tmp_path / "t.arrow")]
    (tmp_path / "t.arrow").unlink()
    with pytest.raises(FileMissingError):
        pickle.loads(sent)


def test_a_slice_in_memory_travels_alone():
    assert len(pickle.dumps(InMemoryTable(pa.table({"a": range(100_000)})).slice(5, 2))) < 2000


def test_steps_that_do_not_exist_are_refused(tmp_path):
    write_arrow(tmp_path / "t.arrow", plain(1))
    with pytest.raises(InvalidArgumentError, match="to_pandas"):
        MemoryMappedTable.from_file(str(tmp_path / "t.arrow"), [("to_pandas", (), {})])


def test_features_follow_when_structs_are_flattened():
    from gristmill.features import ClassLabel, Features

    features = Features({"c": {"x": ClassLabel(names=["no", "yes"])}})
    rows = pa.Table.from_arrays(
        [pa.array([{"x": 1}], features.arrow_schema.field("c").type)], schema=features.arrow_schema
    )
    for table in (InMemoryTable(rows), concat_tables([InMemoryTable(rows), MockMapped(rows)])):
        assert Features.from_arrow_schema(table.flatten().schema) == {"c.x": ClassLabel(names=["no", "yes"])}


class MockMapped(Table):
    """A block that is not merged with those in memory."""


def kinds(table):
    assert isinstance(table, ConcatenationTable)
    return [[type(block) for block in row] for row in table.blocks]


def test_neighbours_in_memory_become_one_block():
    one = InMemoryTable(plain(2))
    assert kinds(concat_tables([one, one])) == [[InMemoryTable]]
    assert concat_tables([one]) is one
    three = concat_tables([one, MockMapped(plain(2)), one])
    assert kinds(three) == [[InMemoryTable], [MockMapped], [InMemoryTable]]
    assert concat_tables([three, three]).num_rows == 12
    assert isinstance(concat_tables([plain(1), plain(1)]), ConcatenationTable)


def test_columns_that_differ_are_null(folder):
    left = mapped(folder, pa.table({"a": [1], "b": [None]}))
    right = mapped(folder, pa.table({"b": ["x"], "c": [2.5]}))
    both = concat_tables([left, right])
    rows = [{"a": 1, "b": None, "c": None}, {"a": None, "b": "x", "c": 2.5}]
    assert both.to_pylist() == rows
    assert both.slice(1).to_pylist() == pickle.loads(pickle.dumps(both.slice(1))).to_pylist() == rows[1:]
    assert both.select(["c", "a"]).to_pydict() == {"c": [None, 2.5], "a": [1, None]}


def test_what_can_not_be_joined():
    table = InMemoryTable.from_pydict({"a": [1]})
    with pytest.raises(SchemaConflictError):
        concat_tables([table, InMemoryTable.from_pydict({"a": ["x"]})])
    with pytest.raises(InvalidArgumentError, match="rows"):
        concat_tables([table, InMemoryTable.from_pydict({"b": []})], axis=1)
    with pytest.raises(InvalidArgumentError, match="axis"):
        concat_tables([table, table], axis=2)
    with pytest.raises(InvalidArgumentError, match="no tables"):
        concat_tables([])
    with pytest.raises(InvalidArgumentError, match="mask"):
        ConcatenationTable.from_blocks(table).filter([True, False])
    with pytest.raises(CastError, match="schema"):
        ConcatenationTable.from_blocks(table).cast(pa.schema({"b": pa.int64()}))


@pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS)
def test_rows_without_columns(build, folder):
    none = build(folder, plain(5)).select([])
    for made in (
        none,
        none.replace_schema_metadata({"k": "v"}),
        none.flatten(),
        none.slice(1, 5),
        none.cast(pa.schema([])),
    ):
        assert made.num_rows in (4, 5)
        assert pickle.loads(pickle.dumps(made)).shape == made.shape
    assert none.cast(pa.schema({"z": pa.int8()})).to_pydict() == {"z": [None] * 5}


def test_filter_by_list_and_expression():
    table = ConcatenationTable.from_blocks([InMemoryTable(plain(3)), MockMapped(plain(2))])
    assert table.filter([True, False, False, False, True]).to_pydict()["a"] == [0, 1]
    assert table.filter(pa.compute.field("a") == 1).to_pydict()["a"] == [1, 1]


def test_ten_thousand_blocks_are_sliced_by_bisection(folder, monkeypatch):
    file = mapped(folder, pa.table({"a": range(10)}))
    many = ConcatenationTable.from_tables([file] * 10_000)
    assert list_table_cache_files(many) == [file.path]
    touched = []
    original = MemoryMappedTable._sliced

    def watched(self, *at):
        touched.append(at)
        return original(self, *at)

    monkeypatch.setattr(MemoryMappedTable, "_sliced", watched)
    for row in range(0, 100_000, 997):
        assert many.slice(row, 1).to_pydict() == {"a": [row % 10]}
        assert many.fast_slice(row, 13).column(0).to_pylist() == [
            n % 10 for n in range(row, min(row + 13, 100_000))
        ]
    assert len(touched) == 101
    assert [len(row[0]) for row in many.slice(8, 14).blocks] == [2, 10, 2]


def test_casting():
    schema = pa.schema({"a": pa.int8(), "b": pa.string()}, {"k": "v"})
    table = pa.table({"a": [1, 2]})
    assert table_cast(table, table.schema) is table
    assert table_cast(table, table.schema.with_metadata({"k": "v"})).schema.metadata == {b"k": b"v"}
    assert cast_table_to_schema(table, schema).schema.equals(schema, check_metadata=True)
    kind = pa.dictionary(pa.int8(), pa.string())
    assert cast_table_to_schema(
        pa.table({"d": ["x", "x"]}), pa.schema({"d": kind, "e": kind})
    ).to_pydict() == {
        "d": ["x", "x"],
        "e": [None, None],
    }
    with pytest.raises(CastError):
        cast_table_to_schema(pa.table({"z": ["x"]}), pa.schema({"d": kind}))
    with pytest.raises(CastError):
        table_cast(pa.table({"a": [300]}), pa.schema({"a": pa.int8()}))
    assert InMemoryTable(pa.table({"a": [300]})).cast(
        pa.schema({"a": pa.int8()}), safe=False
    ).to_pydict() == {"a": [44]}
    with pytest.raises(CastError):
        array_cast(pa.array([1]), pa.string(), allow_primitive_to_str=False)
    with pytest.raises(CastError):
        array_cast(pa.array(["x"]), pa.dictionary(pa.int8(), pa.int64()))


def test_arrays_and_tables_are_brought_to_features():
    numbers = pa.chunked_array([[1, 2], [None]])
    texts = cast_array_to_feature(numbers, Value("string"))
    assert (texts.type, texts.to_pylist()) == (pa.string(), ["1", "2", None])
    label = ClassLabel(names=["no", "yes"])
    assert cast_array_to_feature(pa.array(["yes", None]), label).to_pylist() == [1, None]
    assert cast_array_to_feature(pa.array([[1]]), feature=List(Value("int8"))).type == pa.list_(pa.int8())
    with pytest.raises(CastError, match="were not to become"):
        cast_array_to_feature(numbers, Value("string"), allow_primitive_to_str=False)
    with pytest.raises(CastError):
        cast_array_to_feature(pa.array([300]), Value("int8"))
    wanted = Features({"b": Value("string"), "a": label})
    table = cast_table_to_features(pa.table({"a": ["yes"]}), wanted)
    assert table.to_pydict() == {"b": [None], "a": [1]}
    assert Features.from_arrow_schema(table.schema) == wanted


def test_embedding_asks_the_features_that_hold_files(monkeypatch):
    class Pictures(dict):
        @classmethod
        def from_arrow_schema(cls, schema):
            return {"p": Picture(), "n": object()}

    class Picture:
        def embed_storage(self, array, token_per_repo_id, local_files, remote_files):
            return pa.array([f"{value}!" for value in array.to_pylist()])

    monkeypatch.setattr("gristmill.table.casting.Features", Pictures)
    assert embed_table_storage(pa.table({"p": ["a"], "n": [1]})).to_pydict() == {"p": ["a!"], "n": [1]}
