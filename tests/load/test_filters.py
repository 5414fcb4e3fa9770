"""``filters=`` over files of which only some have the column: null where it is missing, as a dataset of pyarrow has it."""

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import gristmill
from gristmill.errors import ColumnNotFoundError, InvalidArgumentError
from gristmill.formats import get_format

field = pc.field
TABLES = [
    pa.table({"a": [1, 2]}),
    pa.table({"a": [3, 4], "b": ["x", None]}),
    pa.table({"a": [5, 6], "c": [1.5, 2.0]}),
]
SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.string()), ("c", pa.float64())])
FILTERS = [
    field("b") == "x",
    field("b").is_null(),
    ~(field("b") == "x"),
    field("b").isin(["x", None]),
    ~field("b").isin(["x"]),
    pc.starts_with(field("b"), "x"),
    (field("b") == "x") | (field("a") > 4),
    (field("c") > 1.7) | (field("b") == "x"),
    field("b") == field("c").cast("string"),
    [("b", "==", "x")],
    [[("b", "==", "x")], [("c", "<", 2)]],
]
FORMATS = {"parquet": "parquet", "json": "jsonl", "csv": "csv", "arrow": "arrow"}


@pytest.fixture(params=FORMATS)
def files(request, tmp_path):
    paths = []
    for number, table in enumerate(TABLES):
        path = tmp_path / f"{number}.{FORMATS[request.param]}"
        get_format(request.param).write(table.to_batches(), path, schema=table.schema)
        paths.append(str(path))
    return request.param, paths


def rows_of(files, tmp_path, **arguments):
    format, paths = files
    prepared = gristmill.load_dataset(
        format, data_files=paths, split="train", cache_dir=str(tmp_path / "cache"), **arguments
    )
    streamed = gristmill.load_dataset(format, data_files=paths, split="train", streaming=True, **arguments)
    # A stream of text gives the columns that a file has.
    filled = [{name: row.get(name) for name in prepared.column_names} for row in streamed]
    assert prepared.to_list() == filled
    return prepared.to_list()


@pytest.mark.parametrize("number", range(len(FILTERS)))
@pytest.mark.parametrize("columns", [None, ["c"]], ids=str)
def test_a_missing_column_is_null(files, tmp_path, number, columns):
    chosen = FILTERS[number]
    kept = ds.dataset(pa.concat_tables(TABLES, promote_options="default").cast(SCHEMA)).to_table(
        filter=pq.filters_to_expression(chosen) if isinstance(chosen, list) else chosen
    )
    expected = kept.select(columns or SCHEMA.names).to_pylist()
    assert rows_of(files, tmp_path, filters=chosen, columns=columns) == expected


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("columns", [None, ["a"]], ids=str)
@pytest.mark.parametrize("chosen", [field("bb") == "x", [("bb", "==", "x")]], ids=str)
def test_a_column_that_no_file_has_is_named(files, tmp_path, streaming, columns, chosen):
    format, paths = files
    where = {} if streaming else {"cache_dir": str(tmp_path / "cache")}
    with pytest.raises(
        ColumnNotFoundError, match=r'0\.\w+ and .*: there is no column "bb"\. Did you mean "b"'
    ):
        list(
            gristmill.load_dataset(
                format, data_files=paths, split="train", streaming=streaming, filters=chosen, columns=columns, **where
            )
        )  # fmt: skip


def test_a_filter_that_does_not_fit_the_type_elsewhere_is_refused(files, tmp_path):
    with pytest.raises(InvalidArgumentError, match="can't be used on"):
        rows_of(files, tmp_path, filters=pc.starts_with(field("c"), "x"))


def test_remote_files(files):
    memory = fsspec.filesystem("memory")
    format, paths = files
    urls = []
    for path in paths:
        name = path.rpartition("/")[2]
        memory.put(path, f"/filters/{name}")
        urls.append(f"memory://filters/{name}")
    try:
        for columns in (None, ["a"]):
            stream = gristmill.load_dataset(
                format, data_files=urls, split="train", streaming=True, filters=~(field("b") == "y"), columns=columns
            )  # fmt: skip
            assert [row["a"] for row in stream] == [3]
    finally:
        memory.rm("/filters", recursive=True)


NESTED = [
    pa.table({"a": [1, 2], "s": [{"x": 1}, None]}),
    pa.table({"a": [3, 4], "s": [{"x": 3, "y": {"z": "u"}}, {"x": None, "y": {"z": None}}]}),
    pa.table({"a": [5, 6], "s": [{"x": 5, "y": {"w": True}}, {"x": 6, "y": None}]}),
]
WHOLE = pa.schema(
    {"a": pa.int64(), "s": pa.struct({"x": pa.int64(), "y": pa.struct({"z": pa.string(), "w": pa.bool_()})})}
)
OF_FIELDS = {
    "text": field("s", "y", "z") == "u",
    "null": field("s", "y", "z").is_null(),
    "deep": field("s", "y", "w") | (field("s", "x") < 3),
    "struct": field("s", "y").is_valid(),
}


@pytest.mark.parametrize("format", ["parquet", "json", "arrow"])
@pytest.mark.parametrize("columns", [None, ["a"], ["s"], ["s", "a"]], ids=str)
@pytest.mark.parametrize("which", OF_FIELDS)
def test_a_field_that_only_some_structs_have_is_null(format, columns, which, tmp_path):
    paths = []
    for number, table in enumerate(NESTED):
        path = tmp_path / f"{number}.{FORMATS[format]}"
        get_format(format).write(table.to_batches(), path, schema=table.schema)
        paths.append(str(path))
    whole = [
        {"a": row["a"], "s": row["s"] and {"x": row["s"]["x"], "y": row["s"].get("y") and {"z": None, "w": None} | row["s"]["y"]}}
        for table in NESTED
        for row in table.to_pylist()
    ]  # fmt: skip
    kept = ds.dataset(pa.Table.from_pylist(whole, WHOLE)).to_table(filter=OF_FIELDS[which])
    arguments = {"data_files": paths, "split": "train", "filters": OF_FIELDS[which], "columns": columns}
    prepared = gristmill.load_dataset(format, cache_dir=str(tmp_path / "cache"), **arguments)
    assert prepared.to_list() == kept.select(columns or WHOLE.names).to_pylist()
    assert prepared.column_names == (columns or WHOLE.names)
    numbers = [row["a"] for row in gristmill.load_dataset(format, streaming=True, **arguments) if "a" in row]
    assert numbers == ([] if columns == ["s"] else kept["a"].to_pylist())


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("columns", [None, ["a"]], ids=str)
def test_a_field_that_no_struct_has_is_refused(streaming, columns, tmp_path):
    for number, table in enumerate(NESTED):
        pq.write_table(table, tmp_path / f"{number}.parquet")
    where = {"streaming": True} if streaming else {"cache_dir": str(tmp_path / "cache")}
    with pytest.raises(InvalidArgumentError, match=r"can't be used on .*No match for"):
        list(gristmill.load_dataset(
            "parquet", data_files=str(tmp_path / "*.parquet"), split="train", filters=field("s", "q") == 1, columns=columns, **where
        ))  # fmt: skip
