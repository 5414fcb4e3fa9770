"""What people and strangers may pass or write: always one of our errors, soon, and nothing outside is touched."""

import gzip
import os
import time
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from gristmill.errors import (
    CardError,
    ConfigNotFoundError,
    DataFilesNotFoundError,
    FileError,
    GristmillError,
    InvalidArgumentError,
    UnsafePathError,
)
from gristmill.inspect import get_dataset_config_names, get_dataset_infos, get_dataset_split_names
from gristmill.load import load_dataset
from gristmill.prepared.write_split import write_split


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "train.csv").write_text("a\n1\n2\n")
    (tmp_path / "outside.csv").write_text("a\n9\n")
    return data


ODD = [
    1.5,
    True,
    b"x",
    [[]],
    {1: 2},
    object(),
    "\n",
    "\0",
    "\ud800",
    "x" * 5000,
    "../nope",
    "~nobody/x",
    float("nan"),
]


@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize(
    "argument",
    ["name", "data_dir", "data_files", "split", "features", "download_mode", "verification_mode", "revision",
     "num_proc", "storage_options", "columns", "filters"],
)  # fmt: skip
def test_arguments(folder, argument, value):
    harmless = {("num_proc", "True"), ("revision", "..."), ("storage_options", "{1: 2}"), ("split", "[[]]")}
    try:
        load_dataset(str(folder), **{argument: value})
    except GristmillError:
        return
    assert argument == "revision" or (argument, str(value)) in harmless


@pytest.mark.parametrize(
    "value", [1.5, True, b"x", [[]], {1: 2}, object()], ids=lambda value: repr(value)[:12]
)
def test_arguments_that_are_no_text(folder, value):
    for call in (
        lambda: load_dataset(value),
        lambda: load_dataset(str(folder), cache_dir=value),
        lambda: get_dataset_config_names(value),
        lambda: get_dataset_split_names(str(folder), value),
    ):
        with pytest.raises(InvalidArgumentError):
            call()


def test_nothing_asked_for_is_nothing(folder):
    assert load_dataset(str(folder), split=[]) == []
    assert load_dataset(str(folder), split={}) == {}


CARDS = [
    ("configs: 3", CardError),
    ("configs: [3]", CardError),
    ("configs: [{config_name: a, data_files: 3}]", CardError),
    ("configs: [{config_name: a, data_files: [3]}]", CardError),
    ("configs: [{config_name: a, data_files: {train: [[x]]}}]", CardError),
    ("configs: [{config_name: a, data_files: [{split: train}]}]", CardError),
    ('configs: [{config_name: a, data_files: {"a\\nb": train.csv}}]', CardError),
    ("configs: [{config_name: a}, {config_name: a}]", CardError),
    ("configs: [{config_name: a, default: true}, {config_name: b, default: true}]", CardError),
    ("configs: [{config_name: a}, {config_name: b}]", ConfigNotFoundError),
    ("configs: [{config_name: a, data_files: ../outside.csv}]", UnsafePathError),
    ("configs: [{config_name: a, data_files: x/../../outside.csv}]", UnsafePathError),
    ("configs: [{config_name: a, data_files: /etc/passwd}]", UnsafePathError),
    ("configs: [{config_name: a, data_files: outside.csv, data_dir: ..}]", UnsafePathError),
    ('configs: [{config_name: a, data_files: "train.csv\\0"}]', UnsafePathError),
    ("configs: [{config_name: a, data_files: '~/train.csv'}]", DataFilesNotFoundError),
    ("configs: &a [*a]", CardError),
    ("configs: &a [{config_name: x, data_files: *a}]", CardError),
    ("configs: [{config_name: ../../x, data_files: train.csv}]", None),
    ('configs: [{config_name: "a\\nb", data_files: train.csv}]', None),
    ("configs: [{config_name: a, data_files: train.csv, features: 3, nosuch: [x]}]", None),
    ("configs: [{config_name: a, data_files: '%s'}]" % ("{a,b}" * 5000), InvalidArgumentError),
    ("configs: [{config_name: a, data_files: '%s'}]" % ("[!" * 20000), InvalidArgumentError),
    ("configs: [{config_name: a, data_files: '%sx'}]" % ("**/" * 20000), DataFilesNotFoundError),
    ("configs: [{config_name: a, data_files: '%s'}]" % ("*" * 200000), InvalidArgumentError),
    ("x: %s" % ("[" * 50000), CardError),
    ("x: 0b%s" % ("1" * 200), CardError),
    ("!!python/object/apply:os.system [x]", CardError),
]


@pytest.mark.parametrize(("card", "error"), CARDS, ids=lambda value: str(value)[:50])
def test_cards(folder, card, error):
    (folder / "README.md").write_text(f"---\n{card}\n---\n")
    started = time.perf_counter()
    if error is None:
        assert load_dataset(str(folder))["train"].num_rows == 2
    else:
        with pytest.raises(error):
            load_dataset(str(folder))
    assert time.perf_counter() - started < 10
    # The user's own word goes past the card.
    assert load_dataset(str(folder), data_files="train.csv")["train"].num_rows == 2


def test_many_configs_take_no_time_by_the_square(folder):
    names = [f"c{number}" for number in range(1500)]
    entries = "".join(f"- {{config_name: {name}, data_files: train.csv}}\n" for name in names)
    infos = "".join(f"- {{config_name: {name}, features: [{{name: a, dtype: int8}}]}}\n" for name in names)
    (folder / "README.md").write_text(f"---\nconfigs:\n{entries}dataset_info:\n{infos}---\n")
    started = time.process_time()
    assert list(get_dataset_infos(str(folder))) == names
    assert time.process_time() - started < 10
    assert load_dataset(str(folder), "c1234", split="train").num_rows == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have no names here")
def test_pipes_are_not_waited_for(folder):
    os.mkfifo(folder / "more.csv")
    with pytest.raises(FileError, match="a pipe"):
        load_dataset("csv", data_files=str(folder / "more.csv"))
    with pytest.raises(FileError, match="a pipe"):
        load_dataset(str(folder))
    os.mkfifo(folder / "README.md")
    with pytest.raises(FileError, match="a pipe"):
        load_dataset(str(folder))


def test_names_that_are_no_text(tmp_path):
    folder = os.fsencode(tmp_path) + b"/da\xfeta"
    try:
        os.mkdir(folder)  # noqa: PTH102  # bytes
        with open(folder + b"/\xff.csv", "wb") as file:  # noqa: PTH123  # bytes
            file.write(b"a\n1\n2\n")
    except OSError:
        pytest.skip("this file system takes no such names")
    name = os.fsdecode(folder)
    one = f"{name}/" + os.fsdecode(b"\xff.csv")
    for path, options in (
        (name, {}),
        (one, {}),
        ("csv", {"data_files": f"{name}/*"}),
        ("csv", {"data_dir": name}),
    ):
        data = load_dataset(path, split="train", **options)
        assert list(data) == [{"a": 1}, {"a": 2}]
        assert list(load_dataset(path, split="train", streaming=True, **options)) == list(data)
        assert "\\udcff.csv" in data.origins().to_pylist()[1]["file"]


def test_links_and_pipes_are_named(tmp_path):
    (tmp_path / "x.csv").symlink_to("x.csv")
    (tmp_path / "y.csv").symlink_to("nowhere.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    for name, words in (("x", "symbolic links"), ("y", "no file or folder"), ("pipe", "copy it first")):
        with pytest.raises(FileError, match=f"{name}.csv.*{words}|{words}.*{name}.csv"):
            load_dataset("csv", data_files=str(tmp_path / f"{name}.csv"))
    with pytest.raises(FileError, match="copy it first"):
        load_dataset(str(tmp_path / "pipe.csv"))


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("encoding", ["zip", "rot13", "hex", "undefined", "a\0b", "nonsense"])
def test_what_is_no_encoding_of_text(folder, encoding, streaming):
    (folder / "README.md").write_text(
        f"---\nconfigs:\n- config_name: a\n  data_files: train.csv\n  encoding: {encoding!r}\n---\n"
        if "\0" not in encoding
        else ""
    )
    options = {"encoding": encoding} if "\0" in encoding else {}
    with pytest.raises(InvalidArgumentError, match="an encoding of text"):
        list(load_dataset(str(folder), split="train", streaming=streaming, **options))


@pytest.mark.parametrize("format", ["csv", "json", "text", "xml"])
def test_handlers_for_encoding_are_none_for_decoding(tmp_path, format):
    (tmp_path / "odd").write_bytes(b"{}\xff")
    with pytest.raises(InvalidArgumentError, match="an error handler that Python knows"):
        load_dataset(format, data_files=str(tmp_path / "odd"), encoding_errors="xmlcharrefreplace")


@pytest.mark.parametrize("change", ["grows", "shrinks"])
def test_files_that_change_while_they_are_read(folder, tmp_path, monkeypatch, change):
    def changing(source, files, *rest):
        written = write_split(source, files, *rest)
        (folder / "train.csv").write_text("a\n1\n2\n3\n" if change == "grows" else "a\n1\n")
        return written

    cache = tmp_path / "cache"
    with monkeypatch.context() as patch:
        patch.setattr("gristmill.prepared.prepare.write_split", changing)
        with pytest.raises(FileError, match=r"train\.csv was changed while it was read"):
            load_dataset(str(folder), split="train", cache_dir=str(cache))
    assert not list(cache.rglob("*.arrow"))
    rows = [1, 2, 3] if change == "grows" else [1]
    assert load_dataset(str(folder), split="train", cache_dir=str(cache))["a"][:] == rows


def rewrite(path, data):
    """Puts as many bytes in place of a file's own, and sets the time of change back, as some programs that copy do."""
    status = path.stat()
    time.sleep(0.05)  # more than the steps in which a system's clock for files goes on
    assert len(data) == status.st_size
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def arrow_bytes(numbers):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, pa.schema({"a": pa.int64()})) as writer:
        writer.write_table(pa.table({"a": numbers}))
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("train.csv", lambda number: b"a\n%d\n" % number),
        ("train.jsonl", lambda number: b'{"a": %d}\n' % number),
        ("train.csv.gz", lambda number: gzip.compress(b"a\n%d\n" % number, 0, mtime=1)),
        ("train.arrow", lambda number: arrow_bytes([number])),
    ],
)
def test_files_of_the_same_size_and_time_with_other_rows(tmp_path, name, data, streaming):
    path = tmp_path / name
    for number in (1, 2):
        if number == 1:
            path.write_bytes(data(number))
        else:
            rewrite(path, data(number))
        rows = load_dataset(str(path), split="train", streaming=streaming, cache_dir=str(tmp_path / "cache"))
        assert [row["a"] for row in rows] == [number]
        if not streaming:
            assert rows.map(lambda row: {"b": row["a"]})["b"][:] == [number]


def test_a_file_put_in_the_place_of_another_of_its_size_and_time(tmp_path):
    path, other = tmp_path / "train.csv", tmp_path / "other"
    path.write_text("a\n1\n")
    load: Any = partial(load_dataset, str(path), split="train", cache_dir=str(tmp_path / "cache"))
    assert load()["a"][:] == [1]
    status = path.stat()
    time.sleep(0.05)
    other.write_text("a\n2\n")
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(path)
    assert load()["a"][:] == [2]


def test_links_made_while_files_are_read_do_no_harm(folder, tmp_path, monkeypatch):
    def linking(source, files, *rest):
        (tmp_path / "link").hardlink_to(folder / "train.csv")
        return write_split(source, files, *rest)

    monkeypatch.setattr("gristmill.prepared.prepare.write_split", linking)
    assert load_dataset(str(folder), split="train", cache_dir=str(tmp_path / "cache"))["a"][:] == [1, 2]


def test_folder_of_the_cache_that_is_no_path(folder):
    with pytest.raises(InvalidArgumentError, match="cache_dir="):
        load_dataset(str(folder), cache_dir="a\0b")


@pytest.mark.parametrize("streaming", [False, True])
def test_slices_at_and_beyond_the_ends(tmp_path, streaming):
    """As in `datasets`: bounds are clamped, a slice that begins where it ends is an error, a reversed one has no rows."""
    file = tmp_path / "a.csv"
    file.write_text("a\n" + "".join(f"{row}\n" for row in range(10)))

    def rows(split):
        return [
            row["a"] for row in load_dataset("csv", data_files=str(file), split=split, streaming=streaming)
        ]

    assert rows("train[8:999]") == [8, 9]
    assert rows("train[8:99999999999999999999]") == [8, 9]
    assert rows("train[:3]+train[5:3]") == [0, 1, 2]
    for split in ("train[5:3]", "train[-3:-5]", "train[50%:20%]", "train[7:3]+train[4:4]", "train[99:3]"):
        assert rows(split) == []
    for split in ("train[:0]", "train[4:4]"):
        with pytest.raises(InvalidArgumentError, match=r"expected a slice that means at least one row"):
            rows(split)
    if streaming:
        for split in ("train[-3:]", "train[:50%]"):
            with pytest.raises(InvalidArgumentError, match=r"Without streaming=True it can be used"):
                rows(split)
        assert rows("train[999:]") == []  # nobody knows how many there are
        return
    assert rows("train[-999:2]") == [0, 1]
    assert rows("train[-1:3]") == []
    for split in ("train[999:]", "train[:-999]", "train[99999999999999999999:]", "train[:4%]"):
        with pytest.raises(InvalidArgumentError, match=r"at least one row; train has 10 rows\."):
            rows(split)
