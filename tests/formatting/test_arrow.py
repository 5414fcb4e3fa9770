"""The features in the tables of the format of Arrow."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import Array2D, ClassLabel, Dataset, Features, Value

FEATURES = Features(
    {"l": ClassLabel(names=["x", "y"]), "a": Value("int64"), "m": Array2D(shape=(1, 2), dtype="int8")}
)
ROWS = {"l": [0, 1, 0], "a": [1, 2, 3], "m": [[[1, 2]]] * 3}


@pytest.fixture
def ds():
    return Dataset.from_dict(ROWS, features=FEATURES).with_format("arrow")


def test_tables_and_rows_keep_the_features(ds, tmp_path):
    for table in [ds[:], ds[1], ds[[2, 0]], *ds, *ds.iter(2)]:
        assert Dataset(table).features == FEATURES
    stream = ds.to_iterable_dataset()
    for table in [*stream, *stream.iter(2)]:
        assert Dataset(table).features == FEATURES
    assert Dataset(ds[:])[:] == ROWS
    pq.write_table(ds[:], tmp_path / "rows.parquet")
    read = Dataset.from_parquet(str(tmp_path / "rows.parquet"), cache_dir=str(tmp_path / "cache"))
    assert (read.features, read[:]) == (FEATURES, ROWS)


def test_only_columns_of_the_table_are_described(ds):
    for chosen in (ds.select_columns(["l"]), ds.with_format("arrow", columns=["l"])):
        table = chosen[:]
        assert table.schema.metadata == Features({"l": FEATURES["l"]}).arrow_schema.metadata
        assert table.column_names == ["l"]


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("in_memory", [False, True])
def test_map_over_tables_has_the_right_features(ds, batched, in_memory):
    told = {"batched": batched, "batch_size": 2, "keep_in_memory": in_memory}
    assert ds.map(lambda table: table, **told).features == FEATURES
    more = ds.map(lambda table: table.append_column("n", table["a"]), **told)
    assert more.features == Features({**FEATURES, "n": Value("int64")})
    text = ds.map(lambda table: table.set_column(0, "l", pa.array(["q"] * len(table))), **told)
    assert text.features == Features({**FEATURES, "l": Value("string")})
    assert text.with_format(None)["l"][:] == ["q"] * 3


def test_streams_of_tables_keep_the_features_of_what_a_function_returns(ds):
    made = ds.to_iterable_dataset().map(lambda table: table.append_column("n", table["a"]), batched=True)
    assert Dataset(next(iter(made.iter(3)))).features == Features({**FEATURES, "n": Value("int64")})
    assert [row["n"] for row in made.with_format(None)] == [1, 2, 3]


def test_rows_without_columns_stay(ds):
    assert ds.select_columns([])[:].num_rows == 3
