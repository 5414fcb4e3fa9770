"""Columns that the card of a dataset names, and those its files have: prepared and streamed alike, in each format."""

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import Features, Value
from gristmill.errors import CastError, DatasetGenerationCastError
from gristmill.load import load_dataset

FORMATS = ["csv", "json", "parquet", "arrow"]
NESTED = FORMATS[1:]


def written(format: str, rows: list[dict]) -> tuple[str, bytes]:
    table = pa.Table.from_pylist(rows)
    if format == "csv":
        lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        return "train.csv", ("\n".join(lines) + "\n").encode()
    if format == "json":
        return "train.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode()
    out = io.BytesIO()
    if format == "parquet":
        pq.write_table(table, out)
        return "train.parquet", out.getvalue()
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    return "train.arrow", out.getvalue()


def card(features: Features) -> bytes:
    lines = ["---", "dataset_info:", "  features:"]
    for name, feature in features.items():
        lines.append(f"  - name: {name}")
        if isinstance(feature, Value):
            lines.append(f"    dtype: {feature.dtype}")
            continue
        lines.append("    struct:")
        for inner, value in feature.items():
            lines += [f"    - name: {inner}", f"      dtype: {value.dtype}"]
    return "\n".join([*lines, "---", ""]).encode()


INT, TEXT = Value("int64"), Value("string")
CASES: dict[str, tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]] = {
    "a column that files lack": ({"a": INT, "b": TEXT}, [{"a": 1}, {"a": 2}], [{"a": 1, "b": None}, {"a": 2, "b": None}]),
    "another order": ({"b": TEXT, "a": INT}, [{"a": 1, "b": "x"}], [{"b": "x", "a": 1}]),
    "other types": ({"a": Value("float32"), "b": TEXT}, [{"a": 1, "b": 2}], [{"a": 1.0, "b": "2"}]),
    "all lacking": ({"b": TEXT, "a": INT}, [{"a": 1}], [{"b": None, "a": 1}]),
    "a field that files lack": ({"s": {"x": INT, "y": TEXT}}, [{"s": {"x": 1}}], [{"s": {"x": 1, "y": None}}]),
    "fields in another order": ({"s": {"y": TEXT, "x": INT}}, [{"s": {"x": 1, "y": "k"}}], [{"s": {"y": "k", "x": 1}}]),
}  # fmt: skip


@pytest.fixture(params=["here", "hub"])
def place_of(request, tmp_path, online):
    def make(files):
        if request.param == "hub":
            online(files)
            return "org/data"
        for name, content in files.items():
            (tmp_path / "data").mkdir(exist_ok=True)
            (tmp_path / "data" / name).write_bytes(content)
        return str(tmp_path / "data")

    return make


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("case", CASES)
def test_files_are_brought_to_the_columns_of_the_card(place_of, case, format):
    declared, rows, expected = CASES[case]
    if "field" in case and format not in NESTED:
        return
    name, content = written(format, rows)
    place = place_of({"README.md": card(Features(declared)), name: content})
    for streaming in (False, True):
        loaded = load_dataset(place, split="train", streaming=streaming)
        assert [list(row.items()) for row in loaded] == [list(row.items()) for row in expected], format
        assert loaded.features == Features(declared)
        assert list(loaded.features) == list(declared)


@pytest.mark.parametrize("format", FORMATS)
def test_a_value_that_does_not_fit_is_named_with_its_row(place_of, format):
    name, content = written(format, [{"a": "1"}, {"a": "x"}])
    place = place_of({"README.md": card(Features({"a": INT})), name: content})
    for streaming in (False, True):
        error = CastError if streaming else DatasetGenerationCastError
        with pytest.raises(error, match=rf"{name}, row 1, column \"a\": 'x' does not fit into int64"):
            list(load_dataset(place, split="train", streaming=streaming))


@pytest.mark.parametrize("format", NESTED)
def test_a_field_that_the_card_does_not_name_is_not_lost(place_of, format):
    name, content = written(format, [{"s": {"x": 1, "q": 2}}])
    place = place_of({"README.md": card(Features({"s": {"x": INT}})), name: content})
    for streaming in (False, True):
        error = CastError if streaming else DatasetGenerationCastError
        with pytest.raises(error, match=rf'{name}.*column "s": the fields q are not among those asked for'):
            list(load_dataset(place, split="train", streaming=streaming))


@pytest.mark.parametrize("format", FORMATS)
def test_a_column_that_the_card_does_not_name_is_an_error(place_of, format):
    name, content = written(format, [{"a": 1, "z": 2}])
    files = {"README.md": card(Features({"a": Value("int32"), "b": TEXT})), name: content}
    place = place_of(files)
    said = (
        rf"{name}: the columns z are not among those asked for \(a, b\)\. Add them to `features` \(in the call, or under "
        r"`dataset_info` in the dataset's card\), or choose columns with columns=\."
    )
    for streaming in (False, True):
        error = CastError if streaming else DatasetGenerationCastError
        with pytest.raises(error, match=said):
            list(load_dataset(place, split="train", streaming=streaming))
        wider = Features({"z": INT, "a": INT})
        assert list(load_dataset(place, split="train", streaming=streaming, features=wider)) == [
            {"z": 2, "a": 1}
        ]
        chosen = load_dataset(place, split="train", streaming=streaming, columns=["a"])
        assert list(chosen) == [{"a": 1}]
        assert chosen.features == Features({"a": Value("int32")})


@pytest.mark.parametrize("format", FORMATS)
def test_the_card_does_not_count_for_files_that_are_named(place_of, format):
    name, content = written(format, [{"a": 1, "z": 2}])
    place = place_of({"README.md": card(Features({"a": Value("int32"), "b": TEXT})), name: content})
    for streaming in (False, True):
        loaded = load_dataset(place, data_files=name, split="train", streaming=streaming)
        assert list(loaded) == [{"a": 1, "z": 2}]
        assert loaded.features in (None, Features({"a": INT, "z": INT}))


def test_the_card_gives_the_lines_of_a_text_no_other_name(place_of):
    place = place_of({"README.md": card(Features({"line": TEXT})), "train.txt": b"one\n"})
    for streaming in (False, True):
        error = CastError if streaming else DatasetGenerationCastError
        with pytest.raises(
            error, match=r"train\.txt: the columns text are not among those asked for \(line\)"
        ):
            load_dataset(place, split="train", streaming=streaming)
        named = load_dataset(place, split="train", streaming=streaming, features=Features({"line": TEXT}))
        assert list(named) == [{"line": "one"}]
