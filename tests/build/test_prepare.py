import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import build
from gristmill.build import write_split
from gristmill.build.keys import safe_name, shard_names, split_folder, split_key
from gristmill.build.local import local_file
from gristmill.build.prepare import is_prepared, prepare
from gristmill.build.source import DataFile, SplitSource, fetch_each
from gristmill.errors import (
    DatasetGenerationCastError,
    DatasetGenerationError,
    DiskFullError,
    FileMissingError,
    InvalidArgumentError,
    SchemaConflictError,
)
from gristmill.features import ClassLabel, Features, Value
from gristmill.info import DatasetInfo
from gristmill.table.arrow_file import open_arrow, open_many
from gristmill.table.origins import Origins


def source_of(folder, *tables, **changes):
    files = []
    for number, table in enumerate(tables):
        path = folder / f"{number}.parquet"
        pq.write_table(pa.table(table) if isinstance(table, dict) else table, path, row_group_size=2)
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
    import json

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
    source = source_of(tmp_path, {"y": ["yes", "no"], "n": [1, 2]}, card_features=Features({"y": label}))
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
    monkeypatch.setattr(write_split, "SHARD_BYTES", 16)
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
        build, "has_sufficient_disk_space", lambda needed, directory=".": asked.append(needed)
    )
    source = source_of(tmp_path, {"a": [1]})
    with pytest.raises(DiskFullError, match="HF_DATASETS_CACHE"):
        prepare(source, tmp_path / "cache")
    assert asked == [source.files[0].size]


def test_disk_space():
    assert build.has_sufficient_disk_space(1, "/nowhere/at/all")
    assert not build.has_sufficient_disk_space(10**18)


def test_a_file_without_a_place_is_missing():
    with pytest.raises(FileMissingError):
        fetch_each([DataFile("x", "", 0)])
    assert fetch_each([DataFile("x", "", 0, get=lambda: Path("y"))]) == [Path("y")]


SCRIPT = """
import sys, time
from pathlib import Path
from gristmill.build.local import local_file
from gristmill.build.prepare import prepare
from gristmill.build.source import SplitSource, fetch_each
files = tuple(local_file(Path(p), Path(p).name) for p in sys.argv[2:])
def fetch(files):
    print("building", flush=True)
    return fetch_each(files)
source = SplitSource("poems", "p", "p", None, "default", "train", "parquet", files, fetch)
print(prepare(source, Path(sys.argv[1])), flush=True)
"""


@pytest.mark.slow
def test_killed_at_any_moment_it_is_whole_or_absent(tmp_path):
    table = pa.table({"a": list(range(200_000)), "b": ["text"] * 200_000})
    source = source_of(tmp_path, pa.table({"a": [0], "b": ["x"]}), place="p", source="p")
    paths = []
    for number in range(4):
        paths.append(str(tmp_path / f"{number}.parquet"))
        pq.write_table(table, paths[-1])
    cache = tmp_path / "cache"
    command = [sys.executable, "-c", SCRIPT, str(cache), *paths]
    started = time.monotonic()
    whole = Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])
    expected = open_arrow(whole / "poems-train.arrow").num_rows
    whole_time = time.monotonic() - started
    chance = random.Random(3)
    interrupted = 0
    for _ in range(10):
        shutil.rmtree(whole, ignore_errors=True)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()  # it has begun to build
        time.sleep(chance.random() * min(whole_time, 0.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        interrupted += not is_prepared(whole)
        assert not is_prepared(whole) or open_arrow(whole / "poems-train.arrow").num_rows == expected
        again = subprocess.run(command, check=True, capture_output=True, text=True)
        assert Path(again.stdout.split()[-1]) == whole
        assert open_arrow(whole / "poems-train.arrow").num_rows == expected
        assert [path.name for path in whole.parent.iterdir()] == [whole.name]
    assert interrupted
    assert split_folder(source, cache).parent == whole.parent


def test_two_processes_build_once(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": list(range(500_000))}), path)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "cache"), str(path)]
    jobs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [job.communicate()[0] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0, 0]
    assert sum(output.count("building") for output in outputs) == 1
    assert len({output.split()[-1] for output in outputs}) == 1
