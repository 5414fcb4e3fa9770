import pickle

import pyarrow as pa
import pytest

from gristmill.errors import FileFormatError
from gristmill.table.arrow_file import open_arrow, write_arrow
from gristmill.table.view import Part, View


def test_a_mapped_view_travels_as_file_names(tmp_path):
    path = tmp_path / "a.arrow"
    write_arrow(path, pa.table({"a": range(100_000), "b": range(100_000)}))
    view = View.from_table(open_arrow(path), [path]).choose(["b"]).rename({"b": "c"}).select(range(5, 8))
    sent = pickle.dumps(view)
    assert len(sent) < 2000
    assert pickle.loads(sent).table().to_pydict() == {"c": [5, 6, 7]}


def test_a_view_in_memory_travels_with_the_rows_meant_only():
    view = View.from_table(pa.table({"a": ["x" * 100] * 10_000})).select(range(3))
    sent = pickle.dumps(view)
    assert len(sent) < 5000
    assert pickle.loads(sent).table().num_rows == 3


def test_a_file_that_changed_is_not_trusted(tmp_path):
    path = tmp_path / "a.arrow"
    write_arrow(path, pa.table({"a": [1, 2, 3]}))
    view = View.from_table(open_arrow(path), [path])
    write_arrow(path, pa.table({"a": [1]}))
    assert pickle.loads(pickle.dumps(view)).table().to_pydict() == {"a": [1, 2, 3]}


def test_joining_replaces_columns_where_they_stand():
    view = View.from_table(pa.table({"a": [1], "b": [2], "c": [3]}))
    joined = view.join(Part(pa.table({"b": ["x"], "d": ["y"]})))
    assert joined.table().to_pydict() == {"a": [1], "b": ["x"], "c": [3], "d": ["y"]}
    assert joined.choose(["d", "a"]).table().column_names == ["d", "a"]


def test_rows_without_columns_are_counted():
    view = View.from_table(pa.table({"a": [1, 2]})).choose([])
    assert (view.num_rows, view.table().num_rows, view.select(range(1)).num_rows) == (2, 2, 1)


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"a": [1]}, "holds 1 rows now, and held 3"),
        ({"a": [1, 2, 3, 4]}, "holds 4 rows now, and held 3"),
        ({"a": ["x", "y", "z"]}, "column a does not hold int64"),
        ({"b": [1, 2, 3]}, "does not hold the columns a"),
    ],
)
def test_a_pickle_whose_file_was_replaced_is_told(tmp_path, other, told):
    path = tmp_path / "a.arrow"
    write_arrow(path, pa.table({"a": [1, 2, 3]}))
    sent = pickle.dumps(View.from_table(open_arrow(path), [path]).select(range(2, 3)))
    assert pickle.loads(sent).table().to_pydict() == {"a": [3]}
    write_arrow(path, pa.table(other))
    with pytest.raises(FileFormatError, match=told):
        pickle.loads(sent)
