import contextlib
import errno
import hashlib
import json
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import prepared
from gristmill.errors import (
    DatasetGenerationCastError,
    DatasetGenerationError,
    DiskFullError,
    FileMissingError,
    InvalidArgumentError,
    SchemaConflictError,
)
from gristmill.features import ClassLabel, Features, List, Value
from gristmill.formats import json_parse, parquet_groups
from gristmill.info import DatasetInfo
from gristmill.prepared import combine, guarded, write_group
from gristmill.prepared import prepare as prepare_module
from gristmill.prepared.combine import prepare_and_open
from gristmill.prepared.keys import safe_name, shard_names, split_folder, split_key
from gristmill.prepared.local import local_file
from gristmill.prepared.prepare import is_prepared, prepare
from gristmill.prepared.source import DataFile, SplitSource, fetch_each
from gristmill.prepared.write_group import cut_into_groups
from gristmill.table.arrow_file import open_arrow, open_many
from gristmill.table.origins import Origins
from tests.processes import Forks


def source_of(folder, *tables, group=2, **changes):
    files = []
    for number, table in enumerate(tables):
        path = folder / f"{number}.parquet"
        pq.write_table(pa.table(table) if isinstance(table, dict) else table, path, row_group_size=group)
        files.append(local_file(path, path.name))
    source = SplitSource("poems", "me___poems", "me/poems", None, "default", "train", "parquet", tuple(files))
    return replace(source, **changes)


def info_of(folder) -> Any:
    return DatasetInfo.from_directory(str(folder))


def rows(folder):
    return open_many(sorted(folder.glob("*.arrow"))).to_pylist()


def test_a_prepared_split(tmp_path):
    source = source_of(tmp_path, {"a": [1, 2, 3]}, {"a": [4.5], "b": ["x"]})
    folder = prepare(source, tmp_path / "cache")
    assert folder.parent == tmp_path / "cache/me___poems/default/0.0.0"
    assert sorted(path.name for path in folder.iterdir()) == [
        "dataset_info.json",
        "files.json",
        "origins.json",
        "poems-train.arrow",
    ]
    assert sorted(path.name for path in folder.parent.iterdir()) == [folder.name]
    assert rows(folder) == [
        {"a": 1.0, "b": None}, {"a": 2.0, "b": None}, {"a": 3.0, "b": None}, {"a": 4.5, "b": "x"},
    ]  # fmt: skip
    info = info_of(folder)
    assert info.features == Features({"a": Value("float64"), "b": Value("string")})
    assert (info.builder_name, info.dataset_name, info.config_name, info.version) == (
        "parquet", "poems", "default", "0.0.0",
    )  # fmt: skip
    split = info.splits["train"]
    assert (split.num_examples, split.original_shard_lengths) == (4, [3, 1])
    assert split.num_bytes == info.dataset_size
    origins = Origins.from_json(json.loads((folder / "origins.json").read_text()))
    assert origins.to_table().to_pylist() == [
        {"source": "me/poems", "revision": None, "file": file, "row_index": row}
        for file, row in [("0.parquet", 0), ("0.parquet", 1), ("0.parquet", 2), ("1.parquet", 0)]
    ]


def test_the_second_time_nothing_is_fetched(tmp_path):
    source = source_of(tmp_path, {"a": [1]})
    first = prepare(source, tmp_path / "cache")
    stamp = (first / "dataset_info.json").stat().st_mtime_ns

    def refuse(files):
        raise AssertionError("must not fetch")

    assert prepare(replace(source, fetch=refuse), tmp_path / "cache") == first
    assert prepare(source, tmp_path / "cache", force=True) == first
    assert (first / "dataset_info.json").stat().st_mtime_ns != stamp


def test_what_decides_the_rows_decides_the_key(tmp_path):
    source = source_of(tmp_path, {"a": [1]})
    other_file = DataFile("0.parquet", "other", 1)
    keys = {
        split_key(variant)
        for variant in [
            source,
            replace(source, split="test"),
            replace(source, config="x"),
            replace(source, source="you/poems"),
            replace(source, format="json"),
            replace(source, files=(other_file,)),
            replace(source, files=(*source.files, other_file)),
            replace(source, options={"batch_size": 1}),
            replace(source, columns=("a",)),
            replace(source, filters=[("a", ">", 1)]),
            replace(source, features=Features({"a": Value("int8")})),
            replace(source, card_features=Features({"a": Value("int8")})),
            replace(source, features=Features({"a": Value("int8"), "b": Value("int8")})),
            replace(source, features=Features({"b": Value("int8"), "a": Value("int8")})),
        ]
    }
    assert len(keys) == 14
    # Neither the commit nor how files are fetched or what the card says about the licence can change a row.
    same = replace(source, revision="1" * 40, fetch=fetch_each, info=DatasetInfo(license="mit"))
    assert split_key(same) == split_key(source)


def test_names_from_outside_stay_in_the_cache(tmp_path):
    source = source_of(tmp_path, {"a": [1]}, place="../../x", config="..", split="a", dataset="../y")
    folder = prepare(source, tmp_path / "cache")
    assert folder.resolve().is_relative_to(tmp_path / "cache")
    assert [path.name for path in folder.glob("*.arrow")] == ["..-y-a.arrow"]
    assert safe_name("") == "-"


def test_declared_features(tmp_path):
    label = ClassLabel(names=["no", "yes"])
    known = Features({"y": label, "n": Value("int64")})
    source = source_of(tmp_path, {"y": ["yes", "no"], "n": [1, 2]}, card_features=known)
    folder = prepare(source, tmp_path / "cache")
    assert rows(folder) == [{"y": 1, "n": 1}, {"y": 0, "n": 2}]
    assert info_of(folder).features["y"] == label
    mine = Features({"n": Value("int8"), "y": Value("string")})
    assert rows(prepare(replace(source, features=mine), tmp_path / "cache")) == [
        {"n": 1, "y": "yes"},
        {"n": 2, "y": "no"},
    ]


def test_columns_and_filters(tmp_path):
    source = source_of(tmp_path, {"a": [1, 2, 3], "b": ["x", "y", "z"]})
    assert rows(prepare(replace(source, columns=("b",)), tmp_path / "cache"))[0] == {"b": "x"}
    filtered = prepare(replace(source, filters=[("a", ">", 2)]), tmp_path / "cache")
    assert rows(filtered) == [{"a": 3, "b": "z"}]
    assert (filtered / "origins.json").read_text() == "null\n"
    nothing = prepare(replace(source, filters=[("a", ">", 9)]), tmp_path / "cache")
    assert open_arrow(next(nothing.glob("*.arrow"))).schema.names == ["a", "b"]


def test_an_empty_file_keeps_its_columns(tmp_path):
    folder = prepare(source_of(tmp_path, pa.table({"a": pa.array([], pa.int8())})), tmp_path / "cache")
    table = open_arrow(folder / "poems-train.arrow")
    assert (table.num_rows, table.schema.field("a").type) == (0, pa.int8())


def test_large_splits_are_cut_into_shards(tmp_path, monkeypatch):
    monkeypatch.setattr(write_group, "SHARD_BYTES", 16)
    monkeypatch.setattr(parquet_groups, "BATCH_ROWS", 2)
    folder = prepare(source_of(tmp_path, {"a": list(range(6))}), tmp_path / "cache")
    assert sorted(path.name for path in folder.glob("*.arrow")) == shard_names("poems-train", 3)
    assert [row["a"] for row in rows(folder)] == list(range(6))
    assert info_of(folder).splits["train"].shard_lengths == [2, 2, 2]


def test_conflicts_say_where(tmp_path):
    source = source_of(tmp_path, {"a": [1]}, {"a": ["x"]})
    with pytest.raises(
        DatasetGenerationCastError, match=r'split "train" of me/poems.*1\.parquet, column "a"'
    ) as caught:
        prepare(source, tmp_path / "cache")
    assert isinstance(caught.value.__cause__, SchemaConflictError)
    assert not list((tmp_path / "cache").rglob("*.arrow"))
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_damaged_file_is_named(tmp_path):
    source = source_of(tmp_path, {"a": [1]}, {"a": [2]})
    source.files[1].path.write_bytes(b"PAR1 no")
    with pytest.raises(DatasetGenerationError, match=r"1\.parquet"):
        prepare(source, tmp_path / "cache")


def test_a_value_that_does_not_fit_names_its_row(tmp_path):
    source = source_of(tmp_path, {"a": [1, 2, 300]}, features=Features({"a": Value("int8")}))
    with pytest.raises(DatasetGenerationCastError, match=r'0\.parquet, row 2, column "a"'):
        prepare(source, tmp_path / "cache")


def test_options_are_checked(tmp_path):
    with pytest.raises(InvalidArgumentError, match="sepp"):
        prepare(source_of(tmp_path, {"a": [1]}, options={"sepp": 1}), tmp_path / "cache")


def test_room_on_the_disk_is_checked_where_users_replace_it(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        prepared, "has_sufficient_disk_space", lambda needed, directory=".": asked.append(needed)
    )
    source = source_of(tmp_path, {"a": [1]})
    with pytest.raises(DiskFullError, match="HF_DATASETS_CACHE"):
        prepare(source, tmp_path / "cache")
    assert asked == [source.files[0].size]


def test_disk_space():
    assert prepared.has_sufficient_disk_space(1, "/nowhere/at/all")
    assert not prepared.has_sufficient_disk_space(10**18)


def test_a_file_without_a_place_is_missing():
    with pytest.raises(FileMissingError):
        fetch_each([DataFile("x", "", 0)])
    assert fetch_each([DataFile("x", "", 0, get=lambda: Path("y"))]) == [Path("y")]


SCRIPT = """
import sys
from pathlib import Path
from gristmill.prepared.local import local_file
from gristmill.prepared.prepare import prepare
from gristmill.prepared.source import SplitSource, fetch_each
import gristmill.formats.parquet
def run(cache, *paths):
    files = tuple(local_file(Path(p), Path(p).name) for p in paths)
    def fetch(files):
        print("building", flush=True)
        return fetch_each(files)
    source = SplitSource("poems", "p", "p", None, "default", "train", "parquet", files, fetch)
    print(prepare(source, Path(cache)), flush=True)
"""
QUIET = SCRIPT.replace('print("building", flush=True)', "pass").replace(
    "print(prepare(source, Path(cache)), flush=True)", "prepare(source, Path(cache))"
)
ONE = SCRIPT + "run(*sys.argv[1:])"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_killed_at_any_moment_it_is_whole_or_absent(tmp_path, monkeypatch):
    """Kills the build at 30 random points; the next one gives the same bytes and leaves nothing else behind."""
    table = pa.table({"a": list(range(60_000)), "b": ["text"] * 60_000})
    source = source_of(tmp_path, *[table] * 4, group=20_000, place="p", source="p")
    cache, paths = tmp_path / "cache", [file.path for file in source.files]
    chance = random.Random(3)
    endings = set()
    monkeypatch.setattr(write_group, "GROUP_BYTES", 100_000)
    small = "from gristmill.prepared import write_group; write_group.GROUP_BYTES = 100_000\n"
    with Forks(small + QUIET) as forks:
        forks.start(cache, *paths)
        assert forks.end() == 0
        started = time.monotonic()
        whole = prepare(source, cache, force=True)
        took = time.monotonic() - started
        expected = contents(whole)
        assert len(expected) > 4
        for _ in range(30):
            shutil.rmtree(whole)
            pid = forks.start(cache, *paths)
            time.sleep(chance.random() * took * 1.2)
            endings.add(forks.kill(pid))
            assert not is_prepared(whole) or contents(whole) == expected
            forks.start(cache, *paths)
            assert forks.end() == 0
            assert contents(whole) == expected
            assert [path.name for path in whole.parent.iterdir()] == [whole.name]
    assert -signal.SIGKILL in endings
    assert split_folder(source, cache) == whole


def test_two_processes_build_once(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": list(range(500_000))}), path)
    command = [sys.executable, "-c", ONE, str(tmp_path / "cache"), str(path)]
    jobs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [job.communicate()[0] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0, 0]
    assert sum(output.count("building") for output in outputs) == 1
    assert len({output.split()[-1] for output in outputs}) == 1


NO_FLOCK = """
import errno, fcntl
def refuse(*_):
    raise OSError(errno.ENOLCK, "no locks here")
fcntl.flock = refuse
"""


@pytest.mark.parametrize("disk", ["with locks", "without locks"])
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_one_that_waits_goes_on_when_the_builder_dies(tmp_path, disk, ending):
    path, stop = tmp_path / "a.parquet", tmp_path / "stop"
    pq.write_table(pa.table({"a": [1, 2]}), path)
    stop.touch()
    hang = """
import time
import gristmill.prepared.source as module
real = module.fetch_each
def hang(files):
    while Path(STOP).exists():
        time.sleep(0.01)
    return real(files)
module.fetch_each = hang
"""
    before = (NO_FLOCK if disk == "without locks" else "") + "from pathlib import Path\n"
    builder = before + f"STOP = {str(stop)!r}\n" + hang + ONE
    command = [str(tmp_path / "cache"), str(path)]
    first = subprocess.Popen([sys.executable, "-c", builder, *command], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    assert first.stdout.readline() == "building\n"
    second = subprocess.Popen(
        [sys.executable, "-c", before + ONE, *command], stdout=subprocess.PIPE, text=True
    )
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(1.0)
    first.send_signal(ending)
    first.communicate()
    output = second.communicate(timeout=60)[0].split()
    assert (second.returncode, output[0]) == (0, "building")
    whole = Path(output[-1])
    assert rows(whole) == [{"a": 1}, {"a": 2}]
    assert [path.name for path in whole.parent.iterdir()] == [whole.name]


def test_where_nothing_can_be_locked_the_first_to_finish_wins(tmp_path, monkeypatch):
    monkeypatch.setattr(guarded, "lock", lambda path: contextlib.nullcontext())
    source = source_of(tmp_path, {"a": [1]})
    made = []

    def fetch(files):
        made.append(prepare(source, tmp_path / "cache").stat().st_ino)
        return fetch_each(files)

    folder = prepare(replace(source, fetch=fetch), tmp_path / "cache")
    assert [folder.stat().st_ino] == made
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_what_is_written_does_not_depend_on_the_workers(tmp_path, monkeypatch):
    monkeypatch.setattr(write_group, "GROUP_BYTES", 1)
    tables: list[Any] = [
        {"a": [number, None]} if number % 3 else {"a": [None], "b": ["x"]} for number in range(12)
    ]
    source = source_of(tmp_path, *tables)
    folders = [prepare(source, tmp_path / f"cache{n}", num_proc=n) for n in (1, 2, 5, None)]
    assert len({str(sorted(contents(folder).items())) for folder in folders}) == 1
    assert len(list(folders[0].glob("*.arrow"))) == 12
    assert [row["a"] for row in rows(folders[0])] == [x for table in tables for x in table["a"]]


def test_one_parquet_file_gives_the_same_however_many_parts_of_it_are_read_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_groups, "BATCH_BYTES", 1 << 12)
    table = pa.table({"a": [n % 97 or None for n in range(30_000)], "b": [f"é {n}" for n in range(30_000)]})
    source = source_of(tmp_path, table, group=1_000)
    folders = [prepare(source, tmp_path / f"cache{n}", num_proc=n) for n in (1, 2, 5, None)]
    assert len({str(sorted(contents(folder).items())) for folder in folders}) == 1
    assert open_many(sorted(folders[0].glob("*.arrow"))).equals(table)
    filters = [("a", ">", 90)]
    folder = prepare(replace(source, columns=("b",), filters=filters), tmp_path / "some", num_proc=3)
    assert [row["b"] for row in rows(folder)] == [f"é {n}" for n in range(30_000) if n % 97 > 90]


def test_the_first_of_several_damaged_row_groups_is_told_and_no_thread_remains(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_groups, "BATCH_BYTES", 1)
    source = source_of(tmp_path, {"a": [str(n) * 50 for n in range(40)]}, group=4)
    path = source.files[0].path
    assert path is not None
    data, footer = bytearray(path.read_bytes()), pq.ParquetFile(path).metadata
    for group in (8, 5):
        start = footer.row_group(group).column(0).dictionary_page_offset
        data[start : start + 20] = b"\xff" * 20
    path.write_bytes(data)
    found = set()
    before = set(threading.enumerate())  # of tests before this one, a server say
    for workers in (1, 4):
        with pytest.raises(DatasetGenerationError, match=r"0\.parquet") as error:
            prepare(source, tmp_path / "cache", num_proc=workers)
        found.add(str(error.value))
        new = set(threading.enumerate()) - before
        assert not [one for one in new if one.name.startswith("gristmill")]
    assert len(found) == 1
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".parquet"]


def test_the_first_of_several_errors_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(write_group, "GROUP_BYTES", 1)
    source = source_of(tmp_path, *[{"a": [1]}] * 8)
    for number in (3, 6):
        source.files[number].path.write_bytes(b"PAR1 no")
    for workers in (1, 4):
        with pytest.raises(DatasetGenerationError, match=r"3\.parquet"):
            prepare(source, tmp_path / "cache", num_proc=workers)


def json_source(folder, *texts, **changes):
    files = []
    for number, text in enumerate(texts):
        path = folder / f"{number}.jsonl"
        path.write_text(text)
        files.append(local_file(path, path.name))
    return replace(
        SplitSource("poems", "poems", "poems", None, "default", "train", "json", tuple(files)), **changes
    )


@pytest.mark.parametrize("format", ["csv", "json"])
def test_text_is_written_alike_by_readers_with_and_without_threads_of_their_own(
    tmp_path, monkeypatch, format
):
    monkeypatch.setattr(write_group, "GROUP_BYTES", 1)
    monkeypatch.setattr(json_parse, "_PARALLEL", 64)
    values = [None if n % 7 == 0 else n for n in range(60)]
    made = [
        [{"n": n, "f": None if n is None else n / 4, "t": n and f"é {n}", "l": [n, None]} for n in values[k:]]
        for k in range(4)
    ]
    if format == "csv":
        lines = [["n,f,t", *(f"{r['n'] or ''},{r['f'] or ''},{r['t'] or ''}" for r in rows)] for rows in made]
    else:
        lines = [[json.dumps(row) for row in rows] for rows in made]
    source = json_source(tmp_path, *("\n".join(text) + "\n" for text in lines), format=format)
    source = replace(source, options={"block_bytes": 100} if format == "csv" else {})
    folders = [prepare(source, tmp_path / f"cache{n}", num_proc=n) for n in (1, 2, 4)]
    assert len({str(sorted(contents(folder).items())) for folder in folders}) == 1
    assert [row["n"] for row in rows(folders[1])] == [n for k in range(4) for n in values[k:]]
    one = replace(source, files=source.files[:1])
    folders = [prepare(one, tmp_path / f"one{n}", num_proc=n) for n in (1, 2, 4)]
    assert len({str(sorted(contents(folder).items())) for folder in folders}) == 1
    assert [row["n"] for row in rows(folders[2])] == values


@pytest.mark.parametrize("group", [1, 40, 10**9])
def test_types_that_only_later_files_show(tmp_path, monkeypatch, group):
    """However files are put together, the result is that of all of them at once."""
    monkeypatch.setattr(write_group, "GROUP_BYTES", group)
    texts = ['{"x": null}', '{"x": 1}\n{"x": 2}', '{"x": 2.5}', '{"x": 3, "y": {"k": []}}', '{"y": {"l": 1}}']
    folder = prepare(json_source(tmp_path, *texts), tmp_path / "cache")
    assert info_of(folder).features == Features(
        {"x": Value("float64"), "y": {"k": List(Value("null")), "l": Value("int64")}}
    )
    assert [row["x"] for row in rows(folder)] == [None, 1.0, 2.0, 2.5, 3.0, None]
    assert rows(folder)[4]["y"] == {"k": [], "l": None}
    assert info_of(folder).splits["train"].original_shard_lengths == [1, 2, 1, 1, 1]
    origins = Origins.from_json(json.loads((folder / "origins.json").read_text())).to_table().to_pylist()
    assert [(row["file"], row["row_index"]) for row in origins][1:4] == [
        ("1.jsonl", 0), ("1.jsonl", 1), ("2.jsonl", 0),
    ]  # fmt: skip


def test_groups_of_files():
    assert cut_into_groups([]) == [range(0)]
    assert cut_into_groups([0, 0]) == [range(2)]
    assert [len(group) for group in cut_into_groups([10**6] * 40)] == [16, 16, 8]
    assert len(cut_into_groups([10**8] * 1000)) <= 64


def test_sizes_and_checksums_of_the_data_files(tmp_path):
    source = source_of(tmp_path, {"a": [1]})
    data = source.files[0].path.read_bytes()
    known = info_of(prepare(source, tmp_path / "cache")).download_checksums
    assert known == {"0.parquet": {"num_bytes": len(data), "checksum": None}}
    again = info_of(prepare(source, tmp_path / "cache", force=True, checksums=True))
    digest = hashlib.sha256(data).hexdigest()
    assert again.download_checksums["0.parquet"]["checksum"] == digest
    large = replace(source, files=(replace(source.files[0], identity="0" * 64),))
    assert info_of(prepare(large, tmp_path / "cache")).download_checksums["0.parquet"]["checksum"] == "0" * 64


def test_room_for_the_rows_is_asked_for_as_well(tmp_path, monkeypatch):
    asked = []

    def has_room(needed, directory="."):
        asked.append(needed)
        return len(asked) < 2

    monkeypatch.setattr(prepared, "has_sufficient_disk_space", has_room)
    source = source_of(tmp_path, {"a": list(range(9999)), "b": [7] * 9999}, group=9999, columns=("a",))
    with pytest.raises(DiskFullError):
        prepare(source, tmp_path / "cache")
    assert asked[0] == source.files[0].size
    assert 70_000 < asked[1] < 90_000 * 2
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", ["poems-train.arrow", "dataset_info.json", "origins.json", "files.json"])
@pytest.mark.parametrize("left", [0, 100])
def test_a_file_that_a_power_cut_left_short_is_prepared_again(tmp_path, name, left):
    source = source_of(tmp_path, {"a": list(range(99))}, group=99)
    folder = prepare(source, tmp_path / "cache")
    expected = contents(folder)
    with (folder / name).open("r+b") as file:
        file.truncate(min(left, len(expected[name]) - 20))
    opened = prepare_and_open({"train": source}, tmp_path / "cache")["train"]
    assert opened.table["a"].to_pylist() == list(range(99))
    assert contents(folder) == expected


def test_what_is_known_of_several_splits(tmp_path):
    sources = {}
    for name in ("train", "test"):
        (tmp_path / name).mkdir()
        sources[name] = source_of(tmp_path / name, {"a": [1]}, split=name)
        file = replace(sources[name].files[0], name=f"{name}.parquet")
        sources[name] = replace(sources[name], files=(file,))
    opened = prepare_and_open(sources, tmp_path / "cache")
    info = combine.info_of(list(opened.values()))
    assert info.splits is not None
    assert list(info.splits) == ["train", "test"]
    assert set(info.download_checksums or {}) == {"train.parquet", "test.parquet"}
    one: Any = combine.info_with(info, opened["train"])
    one.splits["train"].num_examples = 7
    one.download_checksums.clear()
    assert info.splits["train"].num_examples == 1
    assert len(info.download_checksums or {}) == 2
    assert one.features == opened["train"].features


@pytest.mark.parametrize("flock", [True, False])
def test_the_lock_of_a_builder_killed_at_the_last_moment_goes(tmp_path, monkeypatch, flock):
    source = source_of(tmp_path, {"a": [1]})
    folder = prepare(source, tmp_path / "cache")
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = prepare_module.lock_of(folder)
    if not flock:
        left = left.with_name(f"{left.name}.owner")

        def refuse(*_):
            raise OSError(errno.ENOLCK, "no locks here")

        monkeypatch.setattr("fcntl.flock", refuse)
    left.write_text(json.dumps({"pid": dead.pid, "host": socket.gethostname(), "since": "then"}))
    assert prepare(source, tmp_path / "cache") == folder
    assert list(folder.parent.iterdir()) == [folder]
