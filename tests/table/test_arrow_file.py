from pathlib import Path

import pyarrow as pa
import pyarrow.types as pt
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import DiskFullError, FileFormatError, FileMissingError
from gristmill.table import arrow_file
from gristmill.table.arrow_file import ArrowFileWriter, open_arrow, open_many, write_arrow


def test_small_batches_are_joined_and_the_schema_keeps_its_metadata(tmp_path):
    path = tmp_path / "a.arrow"
    schema = pa.schema({"x": pa.int64()}, metadata={b"k": b"v"})
    with ArrowFileWriter(path, schema) as writer:
        for i in range(50):
            writer.write_batch(pa.record_batch({"x": [i]}))
        assert not path.exists()
        assert writer.num_rows == 50
    table = open_arrow(path)
    assert table["x"].to_pylist() == list(range(50))
    assert table["x"].num_chunks == 1
    assert table.schema.metadata == {b"k": b"v"}


def test_batches_are_cut_before_offsets_could_overflow(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_file, "_LARGEST_BATCH", 1000)
    monkeypatch.setattr(arrow_file, "BATCH_BYTES", 500)
    path = tmp_path / "a.arrow"
    table = pa.table({"t": ["x" * 100] * 64})
    write_arrow(path, table)
    found = open_arrow(path)
    assert found.equals(table)
    assert max(len(chunk) for chunk in found["t"].chunks) < 20


def test_large_batches_are_written_as_they_are_and_small_ones_between_them_joined(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_file, "_JOINED_BYTES", 800)
    path = tmp_path / "a.arrow"
    sizes = [3, 200, 150, 4, 5, 6, 100, 2]
    values = iter(range(1000))
    with ArrowFileWriter(path, pa.schema({"x": pa.int64()})) as writer:
        for size in sizes:
            writer.write_batch(pa.record_batch({"x": [next(values) for _ in range(size)]}))
    found = open_arrow(path)["x"]
    assert [len(chunk) for chunk in found.chunks] == [3, 200, 150, 15, 100, 2]
    assert found.to_pylist() == list(range(sum(sizes)))


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.arrow"
    write_arrow(path, pa.table({"x": [1]}))
    with pytest.raises(ZeroDivisionError):  # noqa: PT012  # what fails is the block
        with ArrowFileWriter(path, pa.schema({"x": pa.int64()})) as writer:
            writer.write_table(pa.table({"x": [2]}))
            raise ZeroDivisionError
    assert open_arrow(path)["x"].to_pylist() == [1]
    assert [p.name for p in tmp_path.iterdir()] == ["a.arrow"]


def test_no_rows(tmp_path):
    write_arrow(tmp_path / "a.arrow", pa.table({"x": pa.array([], pa.string())}))
    assert open_arrow(tmp_path / "a.arrow").schema == pa.schema({"x": pa.string()})


def test_the_file_form_of_arrow_opens_too(tmp_path):
    table = pa.table({"x": [1, 2]})
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    assert open_arrow(tmp_path / "a.arrow").equals(table)


def test_what_is_missing_or_not_arrow_says_so(tmp_path):
    with pytest.raises(FileMissingError):
        open_arrow(tmp_path / "none.arrow")
    for content in (b"", b"\0" * 100, b"a,b\n1,2\n", b"ARROW1\0\0garbage"):
        (tmp_path / "bad.arrow").write_bytes(content)
        with pytest.raises(FileFormatError, match=r"bad\.arrow"):
            open_arrow(tmp_path / "bad.arrow")


def _many_batches(path: Path) -> bytes:
    schema = pa.schema({"x": pa.int64(), "s": pa.string()})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, schema) as stream:
        for i in range(10):
            stream.write_batch(pa.record_batch({"x": [i] * 20, "s": [f"row {i}"] * 20}, schema=schema))
    return path.read_bytes()


def test_a_stream_cut_off_anywhere_is_refused(tmp_path):
    whole = _many_batches(tmp_path / "whole.arrow")
    cut = tmp_path / "cut.arrow"
    for length in range(0, len(whole), 7):
        cut.write_bytes(whole[:length])
        with pytest.raises(FileFormatError):
            open_arrow(cut)


def test_streams_of_arrow_before_0_15_end_in_four_zeros(tmp_path):
    batch = pa.record_batch({"x": [1, -2]})
    path = tmp_path / "old.arrow"
    options = pa.ipc.IpcWriteOptions(use_legacy_format=True)
    with pa.ipc.new_stream(path, batch.schema, options=options) as stream:
        stream.write_batch(batch)
    assert open_arrow(path).to_pylist() == [{"x": 1}, {"x": -2}]
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(FileFormatError, match="cut off"):
        open_arrow(path)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_stream_gives_an_error_or_a_table(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("damaged")
    whole = bytearray(_many_batches(folder / "whole.arrow"))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 9))] = data.draw(st.integers(0, 255))
    (folder / "damaged.arrow").write_bytes(whole)
    try:
        assert open_arrow(folder / "damaged.arrow").num_rows >= 0
    except FileFormatError as error:
        assert "damaged.arrow" in str(error)  # noqa: PT017  # a damaged byte may also lie in the values


@pytest.mark.parametrize("check", ["offsets", "values"])
@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.list_(pa.string())])
def test_offsets_that_point_outside_are_refused(tmp_path, type_, check):
    text = "abcdefgh" * 20
    array = pa.array([text] * 3, pa.string()).cast(type_) if not pt.is_list(type_) else pa.array([[text] * 3])
    write_arrow(tmp_path / "a.arrow", pa.table({"a": array}))
    whole = (tmp_path / "a.arrow").read_bytes()
    width = 8 if pt.is_large_string(type_) else 4
    end = (3 * len(text)).to_bytes(width, "little")
    assert whole.count(end + bytes(4)) == 1
    (tmp_path / "b.arrow").write_bytes(
        whole.replace(end + bytes(4), (1 << 30).to_bytes(width, "little") + bytes(4))
    )
    with pytest.raises(FileFormatError, match=r"b\.arrow"):
        open_arrow(tmp_path / "b.arrow", check=check)


def test_text_that_is_none_is_found_where_every_value_is_looked_at(tmp_path):
    write_arrow(tmp_path / "a.arrow", pa.table({"a": ["some text"], "n": [1]}))
    (tmp_path / "a.arrow").write_bytes(
        (tmp_path / "a.arrow").read_bytes().replace(b"some text", b"some \xff\xff\xff\xff")
    )
    assert open_arrow(tmp_path / "a.arrow", check="offsets").column("n").to_pylist() == [1]
    with pytest.raises(FileFormatError, match=r"a\.arrow.*UTF"):
        open_arrow(tmp_path / "a.arrow", check="values")


def test_files_of_different_schemas_do_not_join(tmp_path):
    write_arrow(tmp_path / "a.arrow", pa.table({"x": [1]}))
    write_arrow(tmp_path / "b.arrow", pa.table({"x": ["a"]}))
    with pytest.raises(FileFormatError, match=r"b\.arrow"):
        open_many([tmp_path / "a.arrow", tmp_path / "b.arrow"])


def test_a_file_that_may_be_lost_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda _: pytest.fail("waited for the disk"))
    with ArrowFileWriter(tmp_path / "a.arrow", pa.schema({"x": pa.int64()}), durable=False) as writer:
        writer.write_table(pa.table({"x": [1, 2]}))
    assert open_arrow(tmp_path / "a.arrow").to_pydict() == {"x": [1, 2]}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.one_of(st.none(), st.text()), max_size=30), max_size=8))
def test_the_checksum_taken_while_writing_is_that_of_the_file(tmp_path_factory, batches):
    path = tmp_path_factory.mktemp("sums") / "a.arrow"
    schema = pa.schema({"t": pa.string()})
    with ArrowFileWriter(path, schema, checksum=True) as writer:
        for texts in batches:
            writer.write_batch(pa.record_batch([pa.array(texts, pa.string())], schema=schema))
    assert writer.checksum == xxhash.xxh3_128(path.read_bytes()).hexdigest()
    assert open_arrow(path)["t"].to_pylist() == [text for texts in batches for text in texts]


def test_a_full_disk_is_told_also_where_a_checksum_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_file, "temporary_name", lambda path: Path("/dev/full"))
    monkeypatch.setattr(Path, "unlink", lambda path, missing_ok=False: None)
    table = pa.table({"x": list(range(100_000))})
    with (
        pytest.raises(DiskFullError),
        ArrowFileWriter(tmp_path / "a.arrow", table.schema, checksum=True) as writer,
    ):
        writer.write_table(table)
    assert not list(tmp_path.iterdir())


def test_a_mapped_file_stays_as_long_as_some_of_it_is_used(tmp_path):
    path = tmp_path / "a.arrow"
    write_arrow(path, pa.table({"x": list(range(1000)), "t": ["abc"] * 1000}))
    allocated = pa.total_allocated_bytes()
    table = open_arrow(path)
    assert pa.total_allocated_bytes() == allocated  # what was read is in no memory of ours
    part = table["x"].slice(990)
    path.unlink()
    del table
    assert part.to_pylist() == list(range(990, 1000))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not list open files")
def test_files_that_are_mapped_are_not_kept_open(tmp_path):
    paths = [tmp_path / f"{number}.arrow" for number in range(20)]
    for number, path in enumerate(paths):
        write_arrow(path, pa.table({"x": [number]}))
    table = open_many(paths)
    held = {str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if entry.exists()}
    assert not held & set(map(str, paths))
    assert table["x"].to_pylist() == list(range(20))


def test_a_schema_that_is_not_as_expected_is_no_harm(tmp_path):
    path = tmp_path / "a.arrow"
    write_arrow(path, pa.table({"x": [1]}))
    for schema in (pa.schema({"x": pa.int64()}), pa.schema({"y": pa.string()})):
        assert open_arrow(path, schema=schema).to_pylist() == [{"x": 1}]
