import numpy as np
import pyarrow as pa
import pytest

from gristmill.dataset import Dataset
from gristmill.errors import ColumnNotFoundError, DataError, InvalidArgumentError
from gristmill.features import Features, List, Value
from gristmill.formatting import LazyBatch, LazyRow, lazy


@pytest.fixture
def ds():
    return Dataset.from_dict(
        {
            "i": [1, 2, 3],
            "f": [1.5, 2.5, None],
            "s": ["a", "b", None],
            "r": [[1, 2], [3, 4], [5, 6]],
            "l": [[1.0], [2.0, 3.0], []],
            "d": [{"x": 1, "y": ["z"]}] * 3,
            "b": [True, False, True],
        }
    )


def test_numpy_batches(ds):
    batch = ds.with_format("numpy")[:]
    assert batch["i"].dtype == np.int64
    assert batch["f"].dtype == np.float32
    assert batch["b"].dtype == np.bool_
    assert batch["r"].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert [v.tolist() for v in batch["l"]] == [[1.0], [2.0, 3.0], []]
    assert batch["l"][0].dtype == np.float32
    assert np.isnan(batch["f"][2])
    assert batch["s"].tolist() == ["a", "b", None]
    assert ds.with_format("numpy")[:2]["s"].dtype.kind == "U"
    assert batch["d"][0]["x"] == 1
    batch["i"][0] = 9
    assert ds[0]["i"] == 1


def test_numpy_rows(ds):
    row = ds.with_format("numpy")[0]
    assert type(row["i"]) is np.int64
    assert type(row["f"]) is np.float64
    assert row["r"].tolist() == [1, 2]
    assert [r["i"] for r in ds.with_format("numpy")] == [1, 2, 3]
    assert ds.with_format("numpy", dtype=np.float16)[0]["f"].dtype == np.float16


def test_tables(ds):
    arrow = ds.with_format("arrow")
    assert isinstance(arrow[0], pa.Table)
    assert isinstance(arrow["i"][:2], pa.ChunkedArray)
    assert [len(row) for row in arrow] == [1, 1, 1]
    pandas = ds.with_format("pandas")
    assert pandas[:2]["i"].tolist() == [1, 2]
    assert pandas[0]["s"].tolist() == ["a"]
    assert pandas["i"][:].tolist() == [1, 2, 3]


def test_some_columns_and_the_others_as_python(ds):
    some = ds.with_format("numpy", columns=["i"])
    assert set(some[0]) == {"i"}
    everything = ds.with_format("numpy", columns=["i"], output_all_columns=True)
    assert type(everything[0]["i"]) is np.int64
    assert everything[0]["s"] == "a"
    assert type(everything[:2]["f"]) is list
    assert next(iter(everything))["r"] == [1, 2]
    assert everything.column_names == ds.column_names


def test_a_transform_is_applied_when_rows_are_read(ds):
    seen = []

    def double(batch):
        seen.append(len(batch["i"]))
        return {"two": [2 * i for i in batch["i"]]}

    made = ds.with_transform(double)
    assert made[1] == {"two": 4}
    assert made[:] == {"two": [2, 4, 6]}
    assert list(made) == [{"two": 2}, {"two": 4}, {"two": 6}]
    assert ds[0]["i"] == 1
    assert max(seen) == 3


def test_formats_are_set_in_place_and_reset(ds):
    ds.set_format("numpy", columns=["i"])
    assert ds.format == {
        "type": "numpy", "format_kwargs": {}, "columns": ["i"], "output_all_columns": False,
    }  # fmt: skip
    assert ds.select([0]).format["type"] == "numpy"
    with ds.formatted_as("arrow"):
        assert isinstance(ds[0], pa.Table)
    assert ds[0] == {"i": 1}
    ds.reset_format()
    assert ds.format["columns"] == ds.column_names
    assert ds.map(lambda row: {"q": 1}).format["columns"] == [*ds.column_names, "q"]
    assert ds.with_format("numpy", columns=["i"]).rename_column("i", "j").format["columns"] == ["j"]


def test_formats_that_are_not(ds):
    with pytest.raises(InvalidArgumentError, match="nmpy"):
        ds.set_format("nmpy")
    with pytest.raises(InvalidArgumentError, match="room"):
        ds.set_format("arrow", columns=["i"], output_all_columns=True)
    with pytest.raises(ColumnNotFoundError):
        ds.set_format("numpy", columns=["zz"])


def test_lazy_rows_are_mappings(ds):
    def look(row):
        assert isinstance(row, LazyRow)
        assert set(row) == set(ds.column_names)
        assert "i" in row
        assert "zz" not in row
        assert row.get("zz", 7) == 7
        assert {**row, "q": 1}["i"] == row["i"]
        assert (row | {"i": 0})["i"] == 0
        assert len(row) == 7
        assert row.copy()["s"] == row["s"]
        del row["s"]
        assert "s" not in row
        with pytest.raises(KeyError):
            row["s"]
        row["i"] += 1
        return row

    made = ds.map(look)
    assert made.column_names == ["i", "f", "r", "l", "d", "b"]
    assert made["i"] == [2, 3, 4]


@pytest.mark.parametrize("counted", [True, False])
def test_rows_that_are_kept_or_changed_are_nothing_of_later_blocks(counted, monkeypatch):
    if not counted:  # as in a Python that counts no references
        monkeypatch.setattr(lazy, "_references", lambda _: 0)
    ds = Dataset.from_dict({"i": list(range(2000)), "t": [f"t{number}" for number in range(2000)]})
    kept, views = [], []

    def look(row):
        number = row["i"]
        assert dict(row) == {"i": number, "t": f"t{number}"}
        if number in (3, 512, 900):
            kept.append(row)
        if number == 1500:
            views.append(row.items())
        if number % 5 == 0:
            row["t"] = "set"
        if number % 7 == 0:
            del row["i"]
            assert "i" not in row
        if number % 11 == 0:
            row["new"] = number
            assert row["new"] == number
        return {"n": number}

    assert ds.map(look)["n"] == list(range(2000))
    assert [row["t"] for row in kept] == ["t3", "t512", "set"]
    assert [row["i"] for row in kept] == [3, 512, 900]
    assert dict(views[0]) == {"i": 1500, "t": "set"}


def test_rows_that_are_given_back_changed():
    ds = Dataset.from_dict(
        {"i": list(range(1500)), "t": [f"t{number}" for number in range(1500)], "l": [[1]] * 1500}
    )

    def change(row):
        row["t"] = row["t"].upper()
        row["double"] = row["i"] * 2
        row["l"].append(row["double"])
        return row

    made = ds.map(change)
    assert made.column_names == ["i", "t", "l", "double"]
    assert made["t"] == [f"T{number}" for number in range(1500)]
    assert made["l"] == [[1, number * 2] for number in range(1500)]
    assert made.map(_without_t).column_names == ["i", "l", "double"]


def _without_t(row):
    del row["t"]
    return row


@pytest.mark.parametrize("asynchronous", [False, True])
def test_rows_that_a_function_keeps_stay_the_rows_they_were(ds, asynchronous):
    kept = []

    def keep_some(row):
        if row["i"] != 2:
            kept.append(row)
        row["seen"] = row["i"]
        return {"n": len(kept)}

    async def keep_some_later(row):
        return keep_some(row)

    many = ds.select([0, 1, 2] * 50)
    assert many.map(keep_some_later if asynchronous else keep_some)["n"][-2:] == [99, 100]
    assert [row["i"] for row in kept] == [1, 3] * 50
    assert [row["seen"] for row in kept] == [1, 3] * 50
    assert [row["s"] for row in kept] == [ds[0]["s"], ds[2]["s"]] * 50


def test_what_was_done_to_one_row_is_not_seen_in_the_next(ds):
    def spoil(row):
        assert set(row) == set(ds.column_names)
        found = repr((row["i"], row["r"], "new" in row))
        row["i"] = None
        row["new"] = 1
        row["r"].append(9)
        del row["s"]
        return {"found": found}

    made = ds.map(spoil)
    assert made["found"] == ["(1, [1, 2], False)", "(2, [3, 4], False)", "(3, [5, 6], False)"]


def test_a_view_of_a_row_that_is_kept_keeps_the_row(ds):
    kept = []
    ds.map(lambda row: kept.append(row.items()))
    assert [dict(items)["i"] for items in kept] == [1, 2, 3]


def test_a_list_read_first_hides_no_change(ds):
    def change(row):
        row["r"].append(0)
        row["i"] = row["i"] + 10
        row["f"] = row["i"] / 2
        return row

    made = ds.map(change)
    assert made["i"] == [11, 12, 13]
    assert made["f"] == [5.5, 6.0, 6.5]
    assert made["r"] == [[1, 2, 0], [3, 4, 0], [5, 6, 0]]


def test_what_is_changed_in_place_counts(ds):
    def append(row):
        row["r"].append(0)
        return row

    assert ds.map(append)["r"] == [[1, 2, 0], [3, 4, 0], [5, 6, 0]]
    assert ds["r"] == [[1, 2], [3, 4], [5, 6]]


def test_lazy_batches_are_mappings(ds):
    def look(batch):
        assert isinstance(batch, LazyBatch)
        batch["n"] = [v * 2 for v in batch["i"]]
        return batch

    assert ds.map(look, batched=True)["n"] == [2, 4, 6]


def test_a_row_handed_out_belongs_to_the_caller(ds):
    for index in (0, 1, 2, 2, 1):
        row = ds[index]
        row["r"].append(99)
        row["i"] = None
    assert [ds[i]["r"] for i in range(3)] == [[1, 2], [3, 4], [5, 6]]
    assert [ds[i]["i"] for i in range(3)] == [1, 2, 3]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2**30], pa.date32()),
        pa.array([1, 2**60], pa.timestamp("s")),
        pa.array([1, 2**60], pa.duration("s")),
        pa.array([1, 2], pa.timestamp("s", "Mars/Base")),
        pa.array([1, 2], pa.timestamp("s", "../../etc/passwd")),
        pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"a\xff")]),
    ],
)  # fmt: skip
def test_values_that_python_has_not_are_named(column):
    ds = Dataset(pa.table({"fine": [1, 2], "odd": column}))
    for read in (lambda: ds[:], lambda: ds[1], lambda: list(ds), lambda: ds["odd"][1], ds.to_list):
        with pytest.raises(DataError, match=r'column "odd".*with_format\("arrow"\)'):
            read()
    assert ds["fine"][:] == [1, 2]
    assert ds.with_format("arrow")[:].column("odd").type == column.type


@pytest.mark.parametrize("rows", [1000, 1_100_000])
def test_frames_of_few_and_of_many_bytes(rows):
    # From 16 MB on columns are copied by several threads.
    ds = Dataset.from_dict({"a": np.arange(rows), "b": np.arange(rows) / 4})
    frame = ds.to_pandas()
    assert frame["a"].sum() == rows * (rows - 1) // 2
    assert frame["b"].sum() == rows * (rows - 1) / 8
    frame.loc[0, "a"] = 7  # the frame's own memory
    assert ds[0]["a"] == 0


def test_numpy_keeps_the_types_of_columns_if_asked():
    features = Features(
        {"u": Value("uint8"), "h": Value("float16"), "d": Value("float64"), "l": List(Value("int16")),
         "m": List(Value("uint8"), length=2), "s": {"x": Value("int8")}, "n": Value("int32"), "t": Value("string")}
    )  # fmt: skip
    ds = Dataset.from_dict(
        {"u": [1, 255], "h": [0.5, 2], "d": [0.1, 0.2], "l": [[1], [2, 3]], "m": [[1, 2], [3, 4]],
         "s": [{"x": 1}, {"x": -1}], "n": [1, None], "t": ["a", None]}, features,
    ).with_format("numpy", dtype="keep")  # fmt: skip
    batch = ds[:]
    types = {"u": "uint8", "h": "float16", "d": "float64", "m": "uint8", "n": "float64"}
    assert {name: str(batch[name].dtype) for name in types} == types
    assert [str(ds[0][name].dtype) for name in "uhdm"] == ["uint8", "float16", "float64", "uint8"]
    assert batch["l"][1].dtype == ds[1]["l"].dtype == ds["l"][1].dtype == np.int16
    assert batch["s"][1]["x"].dtype == np.int8
    assert batch["d"].tolist() == [0.1, 0.2]
    assert batch["t"].tolist() == ["a", None]
    assert batch["u"].flags.writeable
    stream = ds.to_iterable_dataset().with_format("numpy", dtype="keep")
    assert next(iter(stream))["u"].dtype == np.uint8


def test_the_type_of_numbers_is_checked():
    with pytest.raises(InvalidArgumentError, match='"keep"'):
        Dataset.from_dict({"a": [1]}).with_format("numpy", dtype="kept")[0]
