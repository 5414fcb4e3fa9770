import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import DatasetGenerationError, FileFormatError, FileMissingError
from gristmill.features import ClassLabel, Features, Value
from gristmill.prepared.local import local_file
from gristmill.prepared.opening import open_prepared
from gristmill.prepared.prepare import prepare
from gristmill.prepared.source import DataFile, SplitSource


def write(path, table, form="file", **options):
    made = pa.ipc.new_file if form == "file" else pa.ipc.new_stream
    with made(str(path), table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=3)
    return path


def source_of(*paths, **changes):
    files = tuple(local_file(path, path.name) for path in paths)
    return replace(
        SplitSource("poems", "poems", "poems", None, "default", "train", "arrow", files), **changes
    )


def opened(source, cache):
    return open_prepared(prepare(source, cache), source="poems")


TABLE = pa.table({"id": list(range(10)), "text": [f"line {number}" for number in range(10)]})


@pytest.mark.parametrize("form", ["file", "stream"])
def test_arrow_files_are_used_where_they_lie(tmp_path, form):
    paths = [write(tmp_path / f"{number}.arrow", TABLE, form) for number in range(2)]
    found = opened(source_of(*paths), tmp_path / "cache")
    assert found.files == tuple(paths)
    assert found.table.to_pylist() == TABLE.to_pylist() * 2
    assert sorted(path.name for path in found.folder.iterdir()) == [
        "dataset_info.json", "files.json", "origins.json",
    ]  # fmt: skip
    used = sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert used < 6_000
    assert found.origins is not None
    assert found.origins.to_table().to_pylist()[12] == {
        "source": "poems", "revision": None, "file": "1.arrow", "row_index": 2,
    }  # fmt: skip
    assert found.split.shard_lengths == [10, 10]


@pytest.mark.parametrize(
    "changes",
    [
        {"columns": ("id",)},
        {"filters": [("id", ">", -1)]},
        {"features": Features({"id": Value("int8"), "text": Value("string")})},
        {"card_features": Features({"text": Value("string"), "id": Value("int64")})},
    ],
)
def test_what_asks_for_other_rows_or_types_is_copied(tmp_path, changes):
    found = opened(source_of(write(tmp_path / "a.arrow", TABLE), **changes), tmp_path / "cache")
    assert found.files[0].parent == found.folder
    assert found.table["id"].to_pylist() == list(range(10))


def test_compressed_files_and_dictionaries_are_copied(tmp_path):
    compressed = write(tmp_path / "a.arrow", TABLE, compression="zstd")
    encoded = write(tmp_path / "b.arrow", pa.table({"tag": pa.array(["x", "y"]).dictionary_encode()}))
    for path, rows in ((compressed, TABLE.to_pylist()), (encoded, [{"tag": "x"}, {"tag": "y"}])):
        found = opened(source_of(path), tmp_path / "cache")
        assert found.files[0].parent == found.folder
        assert found.table.to_pylist() == rows


def test_files_that_differ_in_type_are_copied(tmp_path):
    paths = [
        write(tmp_path / "a.arrow", pa.table({"x": pa.array([1], pa.int32())})),
        write(tmp_path / "b.arrow", pa.table({"x": [2.5]})),
    ]
    found = opened(source_of(*paths), tmp_path / "cache")
    assert found.table["x"].to_pylist() == [1.0, 2.5]
    assert found.files[0].parent == found.folder


def test_whether_a_column_may_be_null_is_no_reason_to_copy(tmp_path):
    schema = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    paths = [
        write(tmp_path / "a.arrow", pa.table({"x": [1]}, schema)),
        write(tmp_path / "b.arrow", pa.table({"x": [2]})),
    ]
    found = opened(source_of(*paths), tmp_path / "cache")
    assert (found.files, found.table["x"].to_pylist()) == (tuple(paths), [1, 2])


def test_the_names_of_classes_in_the_file_are_kept(tmp_path):
    features = Features({"y": ClassLabel(names=["no", "yes"])})
    table = pa.table({"y": [1, 0]}, schema=features.arrow_schema)
    found = opened(source_of(write(tmp_path / "a.arrow", table)), tmp_path / "cache")
    assert (found.features, found.files[0].name) == (features, "a.arrow")


def test_a_file_that_was_replaced_is_another_dataset(tmp_path):
    path = write(tmp_path / "a.arrow", TABLE)
    before = opened(source_of(path), tmp_path / "cache")
    write(tmp_path / "new", TABLE.slice(5)).replace(path)
    after = opened(source_of(path), tmp_path / "cache")
    assert after.table["id"].to_pylist() == [5, 6, 7, 8, 9]
    assert after.fingerprint != before.fingerprint
    assert before.table["id"].to_pylist() == list(range(10))  # still maps the file it opened
    with pytest.raises(FileFormatError, match=r"a\.arrow"):
        open_prepared(before.folder, source="poems")


def test_a_file_that_is_gone_or_touched_is_noticed(tmp_path):
    path = write(tmp_path / "a.arrow", TABLE)
    folder = prepare(source_of(path), tmp_path / "cache")
    os.utime(path, ns=(1, 1))
    with pytest.raises(FileFormatError, match="changed since"):
        open_prepared(folder, source="poems")
    path.unlink()
    with pytest.raises(FileMissingError):
        open_prepared(folder, source="poems")


def test_a_damaged_file_is_an_error(tmp_path):
    path = write(tmp_path / "a.arrow", TABLE)
    data = bytearray(path.read_bytes())
    at = data.index(b"\x00\x00\x00\x00\x06\x00\x00\x00\x0c\x00\x00\x00")  # offsets of the texts
    data[at + 4 : at + 8] = b"\xff\xff\xff\x7f"
    path.write_bytes(bytes(data))
    with pytest.raises(DatasetGenerationError, match=r"a\.arrow"):
        prepare(source_of(path), tmp_path / "cache")
    path.write_bytes(bytes(data[:-30]))
    with pytest.raises(DatasetGenerationError, match=r"a\.arrow"):
        prepare(source_of(path), tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.json"))


def test_a_blob_is_used_through_its_link_under_its_own_name(tmp_path):
    blob, link = write(tmp_path / "blob", TABLE), tmp_path / "snapshot.arrow"
    link.symlink_to(blob)
    file = DataFile("data/a.arrow", "0" * 64, blob.stat().st_size, link)
    found = opened(source_of(blob, files=(file,)), tmp_path / "cache")
    assert found.files == (blob,)
    link.unlink()  # the snapshot may go, the content stays
    assert open_prepared(found.folder, source="poems").table.num_rows == 10


def test_no_file_at_all_is_no_reason_to_fail(tmp_path):
    empty = write(tmp_path / "a.arrow", TABLE.slice(0, 0))
    found = opened(source_of(empty), tmp_path / "cache")
    assert (found.table.num_rows, found.table.schema.names) == (0, ["id", "text"])


COLUMNS = st.lists(
    st.sampled_from(["int64", "string", "bool", "list", "struct", "null"]), min_size=1, max_size=4
)
VALUES = {
    "int64": (pa.int64(), st.integers(-5, 5)),
    "string": (pa.string(), st.text(max_size=4)),
    "bool": (pa.bool_(), st.booleans()),
    "list": (pa.list_(pa.int64()), st.lists(st.integers(0, 3), max_size=3)),
    "struct": (pa.struct({"k": pa.string()}), st.fixed_dictionaries({"k": st.none() | st.text(max_size=2)})),
    "null": (pa.null(), st.none()),
}


@given(st.data(), COLUMNS, st.integers(0, 9), st.sampled_from(["file", "stream"]))
@settings(max_examples=25)
def test_rows_used_in_place_are_those_that_a_copy_has(data, kinds, rows, form):
    arrays = {}
    for number, kind in enumerate(kinds):
        type, values = VALUES[kind]
        column = data.draw(st.lists(st.none() | values, min_size=rows, max_size=rows))
        arrays[f"c{number}"] = pa.array(column, type)
    table = pa.table(arrays)
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "a.arrow", table, form)
        used = opened(source_of(path), Path(folder) / "cache")
        copied = opened(source_of(path, columns=tuple(table.column_names)), Path(folder) / "cache")
        assert used.files == (path,)
        assert copied.files[0].parent == copied.folder
        assert used.table.to_pylist() == copied.table.to_pylist() == table.to_pylist()
        assert used.table.schema == copied.table.schema
        assert used.origins == copied.origins
