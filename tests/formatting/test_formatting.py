"""Formats of others, and formatters used on whole tables."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from gristmill import Dataset
from gristmill.errors import ColumnNotFoundError, InvalidArgumentError, RowIndexError
from gristmill.formatting import _register_formatter, format_table, get_formatter, query_table, registry
from gristmill.formatting.formatting import Formatter, LazyBatch, LazyRow
from gristmill.table import InMemoryTable

TABLE = pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]})


class Shouting(Formatter):
    def __init__(self, mark="!", **kwargs):
        super().__init__(**kwargs)
        self.mark = mark

    def format_row(self, pa_table):
        return {name: values[0] for name, values in self.format_batch(pa_table).items()}

    def format_column(self, pa_table):
        return [f"{value}{self.mark}" for value in pa_table.column(0).to_pylist()]

    def format_batch(self, pa_table):
        return {name: self.format_column(pa_table.select([name])) for name in pa_table.column_names}


@pytest.fixture
def shouting(monkeypatch):
    monkeypatch.setattr(registry, "_MAKERS", dict(registry._MAKERS))
    monkeypatch.setattr(registry, "_ALIASES", dict(registry._ALIASES))
    _register_formatter(Shouting, "shouting", aliases=["loud"])


def test_a_format_of_others(shouting):
    ds = Dataset(TABLE).with_format("loud")
    assert ds.format["type"] == "shouting"
    assert ds[0] == {"a": "1!", "b": "x!"}
    assert list(ds)[2] == {"a": "3!", "b": "z!"}
    assert ds[1:] == {"a": ["2!", "3!"], "b": ["y!", "z!"]}
    assert ds["a"][:] == ["1!", "2!", "3!"]
    assert ds.with_format("shouting", mark="?")[0]["a"] == "1?"
    assert ds.with_format("shouting", columns=["a"], output_all_columns=True)[0] == {"a": "1!", "b": "x"}
    assert ds.map(lambda row: {"c": row["a"]}).with_format(None)["c"][:] == ["1!", "2!", "3!"]
    assert isinstance(get_formatter("loud", mark="?"), Shouting)


def test_our_formatters_on_tables():
    with pytest.raises(InvalidArgumentError) as unknown:
        Dataset(TABLE).with_format("tensor")
    assert "torch" in str(unknown.value)  # all formats fit into the message, without their other spellings
    assert "more" not in str(unknown.value)
    formatter = get_formatter("numpy", dtype=np.float32)
    assert formatter.format_batch(TABLE)["a"].dtype == np.float32
    assert formatter.format_row(TABLE)["b"] == "x"
    assert formatter(TABLE.select(["a"]), "column").tolist() == [1, 2, 3]
    with pytest.raises(InvalidArgumentError, match="query_type"):
        formatter(TABLE, "cell")
    with pytest.raises(InvalidArgumentError, match="numpi"):
        get_formatter("numpi")


def test_query():
    for table in (TABLE, InMemoryTable(TABLE)):
        assert query_table(table, -1).to_pydict() == {"a": [3], "b": ["z"]}
        assert query_table(table, "a").to_pydict() == {"a": [1, 2, 3]}
        assert query_table(table, [2, 0])["a"].to_pylist() == [3, 1]
        assert query_table(table, slice(None, None, 2))["a"].to_pylist() == [1, 3]
        indices = pa.table({"indices": [2, 1]})
        assert query_table(table, 0, indices)["a"].to_pylist() == [3]
        assert query_table(table, "b", indices)["b"].to_pylist() == ["z", "y"]
    with pytest.raises(RowIndexError):
        query_table(TABLE, 3)
    with pytest.raises(ColumnNotFoundError):
        query_table(TABLE, "c")
    with pytest.raises(InvalidArgumentError):
        query_table(TABLE, 1.5)


def test_format_table():
    formatter = get_formatter("numpy")
    assert format_table(TABLE.slice(1, 1), 1, formatter) == {"a": 2, "b": "y"}
    assert format_table(TABLE.select(["b"]), "b", formatter, ["a"]) == ["x", "y", "z"]
    assert format_table(TABLE, slice(None), formatter, ["a"]).keys() == {"a"}
    assert format_table(TABLE, range(3), formatter, ["a"], True)["b"] == ["x", "y", "z"]
    with pytest.raises(InvalidArgumentError, match="room"):
        format_table(TABLE, range(3), get_formatter("arrow"), ["a"], True)


def test_names():
    import gristmill.formatting

    assert gristmill.formatting.LazyRow is LazyRow
    assert gristmill.formatting.LazyBatch is LazyBatch


def test_what_arrow_needs_for_frames_is_loaded_only_beside_pandas():
    for first, there in (("", False), ("import pandas; ", True)):
        code = f"{first}import sys, gristmill; gristmill.Dataset; print('pyarrow.vendored.version' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == str(there)
