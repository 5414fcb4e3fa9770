"""``columns=`` of every format: prepared and streamed rows agree, and a column that is not there is an error."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill.errors import ColumnNotFoundError
from gristmill.features import Features, Json, Value
from gristmill.load import load_dataset


def _lines(rows):
    return "".join(f"{row}\n" for row in rows)


@pytest.fixture(params=["json", "array", "field", "csv", "parquet", "arrow", "text", "xml"])
def one_file(request, tmp_path):
    """(format, file, its first column, the values there, options)."""
    kind = request.param
    file = tmp_path / f"rows.{kind}"
    table = pa.table({"a": [1, 3], "b": [2, 4]})
    rows = ['{"a": 1, "b": 2}', '{"a": 3, "b": 4}']
    if kind in ("json", "array", "field"):
        text = {"json": _lines(rows), "array": f"[{','.join(rows)}]", "field": f'{{"d": [{",".join(rows)}]}}'}
        file.write_text(text[kind])
        return "json", str(file), "a", [1, 3], {"field": "d"} if kind == "field" else {}
    if kind in ("text", "xml"):
        file.write_text("<one/>")
        return kind, str(file), kind, ["<one/>"], {}
    if kind == "csv":
        file.write_text("a,b\n1,2\n3,4\n")
    elif kind == "parquet":
        pq.write_table(table, file)
    else:
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return kind, str(file), "a", [1, 3], {}


def _load(kind, files, streaming, **options):
    return load_dataset(kind, data_files=files, split="train", streaming=streaming, **options)


both = pytest.mark.parametrize("streaming", [False, True], ids=["prepared", "streamed"])


@both
def test_column_that_is_nowhere(one_file, streaming):
    kind, file, name, _, options = one_file
    for wanted in (["zz"], [name, "zz"]):
        with pytest.raises(ColumnNotFoundError, match=r'(T|t)here is no column "zz"'):
            list(_load(kind, file, streaming, columns=wanted, **options))


@both
def test_column_named_twice(one_file, streaming):
    kind, file, name, values, options = one_file
    rows = list(_load(kind, file, streaming, columns=[name, name], **options))
    assert rows == [{name: value} for value in values]


@both
def test_features_of_more_columns_than_are_read(one_file, streaming):
    kind, file, name, values, options = one_file
    features = Features({name: Value("string"), "b": Value("string")})
    loaded = _load(kind, file, streaming, columns=[name], features=features, **options)
    assert list(loaded) == [{name: str(value)} for value in values]
    assert loaded.features == Features({name: Value("string")})
    with pytest.raises(ColumnNotFoundError, match='the features asked for: there is no column "zz"'):
        list(_load(kind, file, streaming, columns=["zz"], features=features, **options))


@both
@pytest.mark.parametrize("kind", ["json", "csv", "parquet"])
def test_column_of_one_file_only(tmp_path, kind, streaming):
    one, two = tmp_path / f"1.{kind}", tmp_path / f"2.{kind}"
    if kind == "json":
        one.write_text('{"a": 1}\n')
        two.write_text('{"a": 2, "b": 3}\n')
    elif kind == "csv":
        one.write_text("a\n1\n")
        two.write_text("a,b\n2,3\n")
    else:
        pq.write_table(pa.table({"a": [1]}), one)
        pq.write_table(pa.table({"a": [2], "b": [3]}), two)
    files = [str(one), str(two)]
    assert list(_load(kind, files, streaming, columns=["b", "a"])) == [{"b": None, "a": 1}, {"b": 3, "a": 2}]
    assert list(_load(kind, files, streaming, columns=["b"])) == [{"b": None}, {"b": 3}]
    with pytest.raises(ColumnNotFoundError, match=r'no column "z".*a, b'):
        list(_load(kind, files, streaming, columns=["z", "a"]))


@both
def test_stream_goes_on_with_columns_that_a_file_lacks(tmp_path, streaming):
    for number in range(3):
        name = "ab"[number % 2]
        (tmp_path / f"{number}.jsonl").write_text(_lines([f'{{"{name}": {i}}}' for i in range(3)]))
    files = sorted(map(str, tmp_path.iterdir()))
    data = _load("json", files, True, columns=["b"])
    rows = iter(data)
    head = [next(rows) for _ in range(4)]
    data.load_state_dict(data.state_dict())
    expected = [{"b": None}] * 3 + [{"b": i} for i in range(3)] + [{"b": None}] * 3
    assert head + list(data) == expected == list(_load("json", files, streaming, columns=["b"]))


@both
def test_mixed_values_in_columns_that_are_not_read(tmp_path, streaming):
    file = tmp_path / "mixed.jsonl"
    file.write_text('{"a": 1, "b": 2, "t": "2020-01-01"}\n{"a": "x", "b": 3}\n')
    assert list(_load("json", str(file), streaming, columns=["a"])) == [{"a": 1}, {"a": "x"}]
    assert list(_load("json", str(file), streaming, columns=["b"])) == [{"b": 2}, {"b": 3}]
    assert list(_load("json", str(file), streaming, columns=["t"])) == [{"t": "2020-01-01"}, {"t": None}]
    asked = Features({"b": Value("float32"), "a": Json()})
    assert list(_load("json", str(file), streaming, columns=["b"], features=asked)) == [
        {"b": 2.0},
        {"b": 3.0},
    ]
    assert list(_load("json", str(file), streaming, columns=["a"], features=asked)) == [{"a": 1}, {"a": "x"}]


def test_filter_on_a_column_that_a_stream_lacks(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text('{"a": 1}\n')
    with pytest.raises(ColumnNotFoundError, match=r'no column "zz"\. There are: a\.$'):
        list(_load("json", str(file), True, filters=[("zz", ">", 1)]))
