import gzip
import inspect
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import gristmill
from gristmill import config
from gristmill.dataset import Dataset
from gristmill.dataset_dict import DatasetDict
from gristmill.errors import (
    CastError,
    ColumnNotFoundError,
    ConfigNotFoundError,
    DataFilesNotFoundError,
    DatasetGenerationCastError,
    DatasetGenerationError,
    DatasetNotFoundError,
    DatasetScriptError,
    DatasetUnreachableError,
    InvalidArgumentError,
    SplitNotFoundError,
)
from gristmill.features import ClassLabel, Features, Value
from gristmill.load import DownloadMode, load_dataset, load_dataset_builder
from gristmill.splits import ReadInstruction, Split

DEMO = Path(gristmill.__file__).parent / "demo/hub/datasets"


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "poems"
    (data / "data").mkdir(parents=True)
    (data / "data/train-0.csv").write_text("a,b\n1,x\n2,y\n")
    (data / "data/train-1.csv").write_text("a,b\n3,z\n")
    (data / "data/test.csv").write_text("a,b\n4,w\n")
    return data


def test_a_folder(folder):
    both = load_dataset(str(folder))
    assert isinstance(both, DatasetDict)
    assert {name: part["a"][:] for name, part in both.items()} == {"train": [1, 2, 3], "test": [4]}
    train = both["train"]
    assert (train.split, train.info.dataset_name, train.info.config_name) == ("train", "poems", "default")
    assert train.info.splits is not None
    assert {name: split.num_examples for name, split in train.info.splits.items()} == {"train": 3, "test": 1}
    origins = train.origins().to_pylist()
    assert origins[2] == {"source": str(folder), "revision": None, "file": "data/train-1.csv", "row_index": 0}


def test_the_info_of_one_split_lists_the_others(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/train.csv").write_text("a\n1\n2\n3\n")
    (tmp_path / "data/test.csv").write_text("a\n1\n")

    def sizes(split, **options):
        made = load_dataset(str(tmp_path / "data"), split=split, cache_dir=str(tmp_path / "cache"), **options)
        assert made.info.splits is not None
        return {name: (known.num_examples, known.num_bytes) for name, known in made.info.splits.items()}

    # What is not prepared has no size yet.
    assert sizes("test") == {"train": (0, 0), "test": (1, 8)}
    assert sizes("train[:1]") == {"train": (3, 24), "test": (1, 8)}
    assert sizes("test") == {"train": (3, 24), "test": (1, 8)}
    assert sizes("test", filters=[("a", ">", 5)]) == {"train": (0, 0), "test": (0, 0)}


def test_the_card_knows_the_sizes_of_splits_that_are_not_asked_for(tmp_path):
    (tmp_path / "train.csv").write_text("a\n1\n2\n3\n")
    (tmp_path / "test.csv").write_text("a\n1\n")
    (tmp_path / "README.md").write_text(
        "---\ndataset_info:\n  splits:\n  - name: train\n    num_bytes: 24\n    num_examples: 3\n"
        "  - name: test\n    num_bytes: 8\n    num_examples: 1\n---\n"
    )
    made = load_dataset(str(tmp_path), split="test", cache_dir=str(tmp_path / "cache"))
    assert made.info.splits is not None
    assert list(made.info.splits) == ["train", "test"]
    assert (made.info.splits["train"].num_examples, made.info.dataset_size) == (3, 8)


def test_splits_and_slices(folder):
    load: Any = partial(load_dataset, str(folder))
    assert load(split="train")["a"][:] == [1, 2, 3]
    assert load(split="train[1:]")["a"][:] == [2, 3]
    assert load(split="train[:50%]+test")["a"][:] == [1, 2, 4]
    assert load(split="all")["a"][:] == [1, 2, 3, 4]
    assert [part["a"][:] for part in load(split=["test", "train[-1:]"])] == [[4], [3]]
    halves = load(split=(ReadInstruction("train", to=50, unit="%"), ["test", Split.TRAIN + Split.TEST]))
    assert (halves[0]["a"][:], [part["a"][:] for part in halves[1]]) == ([1, 2], [[4], [1, 2, 3, 4]])
    assert str(halves[0].split) == "train[:50%]"
    named: DatasetDict = load_dataset(str(folder), split={"head": "train[:1]", "rest": "train[1:]"})
    assert {name: part["a"][:] for name, part in named.items()} == {"head": [1], "rest": [2, 3]}
    sliced = load(split="test+train[2:]")
    assert str(sliced.split) == "test+train[2:]"
    assert [row["file"] for row in sliced.origins().to_pylist()] == ["data/test.csv", "data/train-1.csv"]
    with pytest.raises(SplitNotFoundError, match='no split "dev"'):
        load(split="dev")


def test_fingerprints_tell_rows_apart_and_stay(folder):
    load: Any = partial(load_dataset, str(folder))
    prints = [
        load(split=split)._fingerprint for split in ("train", "test", "train[:1]", "train[1:]", "train+test")
    ]
    assert len(set(prints)) == 5
    assert load(split="train")._fingerprint == prints[0]
    (folder / "data/train-1.csv").write_text("a,b\n5,zz\n")
    assert load(split="train")["a"][:] == [1, 2, 5]
    assert load(split="train")._fingerprint != prints[0]


def test_only_the_split_asked_for_is_read(tmp_path):
    write(tmp_path, good_dot_jsonl='{"a": 1}\n', bad_dot_jsonl='{"never finished\n')
    files = {"train": str(tmp_path / "good.jsonl"), "test": str(tmp_path / "bad.jsonl")}
    assert load_dataset("json", data_files=files, split="train")["a"][:] == [1]
    with pytest.raises(DatasetGenerationError, match=r"bad\.jsonl"):
        load_dataset("json", data_files=files)


def test_formats_with_files(folder, monkeypatch, tmp_path):
    load: Any = partial(load_dataset, "csv", split="train")
    assert load(data_files=str(folder / "data/train-*.csv"))["a"][:] == [1, 2, 3]
    assert load(data_files=[str(folder / "data/test.csv"), str(folder / "data/train-1.csv")])["a"][:] == [
        4,
        3,
    ]
    assert load(data_files=folder / "data/test.csv")["a"][:] == [4]
    assert load(data_dir=str(folder / "data"))["a"][:] == [1, 2, 3]
    assert load(data_dir=str(folder), data_files="data/test.csv")["a"][:] == [4]
    monkeypatch.chdir(folder)
    assert load(data_files="data/test.csv")["a"][:] == [4]
    assert list(load_dataset("csv", data_files={"x": "data/test.csv", "y": "data/train*"})) == ["x", "y"]
    (tmp_path / "lines").write_text("one\ntwo\n")
    assert load_dataset("text", data_files=str(tmp_path / "lines"), split="train")["text"][:] == [
        "one",
        "two",
    ]
    with pytest.raises(InvalidArgumentError, match="data_files"):
        load_dataset("csv")


def test_a_file_and_compressed_files(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1}\n'))
    assert load_dataset(str(tmp_path / "a.jsonl.gz"), split="train")[0] == {"a": 1}
    (tmp_path / "a.xyz").write_text("?")
    with pytest.raises(DataFilesNotFoundError, match=r"\.xyz"):
        load_dataset(str(tmp_path / "a.xyz"))


def test_reader_options(tmp_path):
    write(tmp_path, a_dot_csv="a;b\n1;2\n", b_dot_json='{"data": [{"x": 1}]}')
    assert load_dataset("csv", data_files=str(tmp_path / "a.csv"), sep=";", split="train")[0] == {
        "a": 1,
        "b": 2,
    }
    assert load_dataset("json", data_files=str(tmp_path / "b.json"), field="data", split="train")[0] == {
        "x": 1
    }
    with pytest.raises(InvalidArgumentError, match="spe"):
        load_dataset("csv", data_files=str(tmp_path / "a.csv"), spe=";", split="train")


def test_the_readme_is_configuration(folder):
    (folder / "fr").mkdir()
    (folder / "fr/x.csv").write_text("a;b\n7;q\n")
    (folder / "README.md").write_text(
        """---
license: mit
configs:
- config_name: en
  data_files:
  - split: learn
    path: data/train-*
  - split: dev
    path: data/test.csv
- config_name: fr
  data_dir: fr
  sep: ";"
  some_tag: 3
dataset_info:
- config_name: en
  features:
  - {name: b, dtype: {class_label: {names: {'0': x, '1': y, '2': z, '3': w}}}}
  - {name: a, dtype: int8}
---
"""
    )
    learn = load_dataset(str(folder), "en", split="learn")
    assert learn.features == Features({"b": ClassLabel(names=["x", "y", "z", "w"]), "a": Value("int8")})
    assert learn[2] == {"b": 2, "a": 3}
    assert learn.info.license == "mit"
    assert load_dataset(str(folder), "fr")["train"][0] == {"a": 7, "b": "q"}
    with pytest.raises(ConfigNotFoundError, match=r"several configs.*en, fr"):
        load_dataset(str(folder))
    with pytest.raises(ConfigNotFoundError, match='no config "de"'):
        load_dataset(str(folder), "de")
    # The user's own files win over the card.
    assert load_dataset(str(folder), data_files="data/test.csv", split="train")[0] == {"a": 4, "b": "w"}
    assert load_dataset(str(folder), data_dir="data", split="test")[0] == {"a": 4, "b": "w"}
    (folder / ".huggingface.yaml").write_text("configs: [{config_name: only, data_files: fr/x.csv}]")
    assert list(load_dataset(str(folder))["train"].features) == ["a;b"]


def test_a_broken_card_stops_only_those_who_need_it(folder):
    (folder / "README.md").write_text("---\na: [\n---\n")
    with pytest.raises(gristmill.errors.CardError, match=r"README\.md, line"):
        load_dataset(str(folder))
    assert load_dataset(str(folder), data_files="data/test.csv", split="train")[0] == {"a": 4, "b": "w"}


def test_odd_folder_names(tmp_path):
    folder = tmp_path / "[raw_data]" / "run [1]"
    folder.mkdir(parents=True)
    (folder / "rows.json").write_text('{"a": 1}\n{"a": 2}\n')
    assert load_dataset("json", data_dir=str(folder), split="train")["a"][:] == [1, 2]
    assert load_dataset("json", data_files=str(folder / "rows.json"), split="train")["a"][:] == [1, 2]
    hidden = tmp_path / ".work" / "train"
    hidden.mkdir(parents=True)
    (hidden / "rows.jsonl").write_text('{"a": 1}\n')
    assert load_dataset("json", data_files={"train": str(hidden / "rows.jsonl")})["train"][0] == {"a": 1}
    assert load_dataset(str(hidden), split="train")[0] == {"a": 1}


def test_columns_of_all_files_come_together(tmp_path):
    write(
        tmp_path,
        **{
            "1_dot_jsonl": '{"id": 1, "n": 1, "s": null}\n',
            "2_dot_jsonl": '{"id": 2, "n": 2.5, "s": "x", "l": "en"}\n',
        },
    )
    rows = load_dataset(str(tmp_path), split="train")
    assert rows[:] == {"id": [1, 2], "n": [1.0, 2.5], "s": [None, "x"], "l": [None, "en"]}


def test_splits_share_columns_where_they_can(tmp_path):
    write(tmp_path, train_dot_jsonl='{"a": "x", "n": 1}\n', test_dot_jsonl='{"a": null, "n": 1.5}\n')
    both = load_dataset(str(tmp_path))
    assert (
        both["train"].features
        == both["test"].features
        == Features({"a": Value("string"), "n": Value("float64")})
    )
    write(tmp_path, test_dot_jsonl='{"a": [1], "n": 1.5}\n')
    apart = load_dataset(str(tmp_path))
    assert apart["train"].features != apart["test"].features


def test_conflicts_name_file_and_column(tmp_path):
    write(
        tmp_path,
        **{
            "1_dot_csv": "a\n1\n",
            "2_dot_csv": "a\nx\n",
            "3_dot_jsonl": '{"a": 1}\n',
            "4_dot_jsonl": '{"a": [1]}\n',
        },
    )
    files = [str(tmp_path / name) for name in ("3.jsonl", "4.jsonl")]
    with pytest.raises(DatasetGenerationCastError, match=r'4\.jsonl.*column "a"'):
        load_dataset("json", data_files=files, on_mixed_types=None)
    assert load_dataset("json", data_files=files, split="train")["a"][:] == [1, [1]]
    both = [str(tmp_path / name) for name in ("1.csv", "2.csv")]
    assert load_dataset("csv", data_files=both, split="train")["a"][:] == ["1", "x"]


def test_csv_columns_of_several_types_are_the_text_that_stands_there(tmp_path):
    write(
        tmp_path,
        **{"1_dot_csv": "a,b\n1.50,True\n", "2_dot_csv": "a,b\nx,3\n", "3_dot_csv": "a,b\n,2020-01-02\n"},
    )
    files = [str(tmp_path / f"{name}.csv") for name in (1, 2, 3)]
    rows = load_dataset("csv", data_files=files, split="train")
    assert rows[:] == {"a": ["1.50", "x", None], "b": ["True", "3", "2020-01-02"]}


def test_features_are_cast_and_checked(tmp_path):
    write(tmp_path, a_dot_csv="zip,y\n007,pos\n010,neg\n")
    features = Features({"zip": Value("string"), "y": ClassLabel(names=["neg", "pos"])})
    load: Any = partial(load_dataset, "csv", data_files=str(tmp_path / "a.csv"), split="train")
    assert load(features=features)[:] == {"zip": ["007", "010"], "y": [1, 0]}
    with pytest.raises(DatasetGenerationCastError, match="row 1") as caught:
        load(features=Features({"zip": Value("string"), "y": ClassLabel(names=["pos"])}))
    assert isinstance(caught.value.__cause__, CastError)


def test_columns_and_filters_of_parquet():
    load: Any = partial(load_dataset, str(DEMO / "google/boolq"), split="validation")
    assert load(columns=["answer"]).column_names == ["answer"]
    assert set(load(filters=[("answer", "==", True)])["answer"][:]) == {True}


def test_filters_that_are_expressions():
    load: Any = partial(load_dataset, str(DEMO / "google/boolq"), split="validation")
    filtered = load(filters=pc.field("answer"))
    assert filtered[:] == load(filters=[("answer", "==", True)])[:]
    assert list(load(filters=pc.field("answer"), streaming=True)) == filtered.to_list()
    builder: Any = load_dataset_builder(str(DEMO / "google/boolq"), filters=pc.field("answer"))
    builder.download_and_prepare()
    assert builder.as_dataset("validation")[:] == filtered[:]


def test_columns_that_are_not_there(tmp_path):
    write(tmp_path / "data", **{"1_dot_csv": "a,b\n1,x\n", "2_dot_csv": "a,c\n2,y\n"})
    load: Any = partial(load_dataset, str(tmp_path / "data"), split="train")
    assert load(columns=["c", "a"])[:] == {"c": [None, "y"], "a": [1, 2]}
    for options in ({"columns": ["a", "zz"]}, {"columns": ["zz"], "data_files": "1.csv"}):
        with pytest.raises(ColumnNotFoundError, match='no column "zz"'):
            load(**options)
    assert load(filters=[("a", ">", 1)])["a"][:] == [2]
    for name, columns in (("1.parquet", {"a": [1], "b": [2]}), ("2.parquet", {"a": [3], "c": [4]})):
        pq.write_table(pa.table(columns), tmp_path / name)
    files = [str(tmp_path / name) for name in ("1.parquet", "2.parquet")]
    rows = load_dataset("parquet", data_files=files, columns=["c", "a"], split="train")
    assert rows[:] == {"c": [None, 4], "a": [1, 3]}  # by name, not by position
    assert load_dataset("parquet", data_files=files, columns=["c"], split="train")[:] == {"c": [None, 4]}


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_files_without_any_of_the_columns(tmp_path, suffix):
    files = []
    for name, columns in (("1", {"a": [1], "b": ["x"]}), ("2", {"c": [2], "d": ["y"]})):
        files.append(str(tmp_path / f"{name}.{suffix}"))
        table = Dataset.from_dict(columns)
        getattr(table, {"csv": "to_csv", "jsonl": "to_json", "parquet": "to_parquet"}[suffix])(files[-1])
    load: Any = partial(load_dataset, {"jsonl": "json"}.get(suffix, suffix), data_files=files, split="train")
    everything = load()
    for asked in (["a"], ["d", "a"], ["c"]):
        some = load(columns=asked)
        assert some.column_names == asked
        assert some[:] == {name: everything[name][:] for name in asked}
    with pytest.raises(
        ColumnNotFoundError,
        match=rf'1\.{suffix} and .*2\.{suffix}: there is no column "zz". There are: a, b, c, d',
    ):
        load(columns=["a", "zz"])
    with pytest.raises(ColumnNotFoundError, match=r'no column "zz"\. There are: a, b, c, d'):
        load(columns=["zz"])


def test_usecols_of_csv_that_a_file_lacks(tmp_path):
    write(tmp_path, **{"1_dot_csv": "a,b\n1,x\n", "2_dot_csv": "c,d\n2,y\n"})
    load: Any = partial(load_dataset, "csv", data_files=[str(tmp_path / f"{n}.csv") for n in (1, 2)])
    for streaming in (False, True):
        with pytest.raises(ColumnNotFoundError, match=r'2\.csv: there is no column "a". There are: c, d'):
            list(load(usecols=["a"], streaming=streaming)["train"])
        with pytest.raises(ColumnNotFoundError, match=r"1\.csv: there is no column \"5\""):
            list(load(usecols=[5], streaming=streaming)["train"])
    chosen = load(usecols=lambda name: name in "ad", split="train")
    assert chosen[:] == {"a": [1, None], "d": [None, "y"]}


def test_empty_files_give_no_rows_and_are_told(tmp_path, warnings_said):
    write(tmp_path, **{"1_dot_csv": "", "2_dot_csv": "a,b\n1,x\n", "3_dot_csv": ""})
    files = [str(tmp_path / f"{n}.csv") for n in (1, 2, 3)]
    assert load_dataset("csv", data_files=files, split="train")[:] == {"a": [1], "b": ["x"]}
    [line] = warnings_said()
    assert line.startswith("2 empty files give no rows: ")
    assert "1.csv" in line
    assert "3.csv" in line
    nothing = load_dataset("csv", data_files=files[0], split="train")
    assert (nothing.num_rows, nothing.column_names) == (0, [])
    assert list(load_dataset("csv", data_files=files, split="train", streaming=True)) == [{"a": 1, "b": "x"}]


def test_the_class_names_of_mnli_come_out():
    mnli = load_dataset(str(DEMO / "nyu-mll/glue"), "mnli", split="validation_matched")
    assert mnli.features["label"] == ClassLabel(names=["entailment", "neutral", "contradiction"])
    assert mnli.features["idx"] == Value("int32")


@pytest.mark.parametrize("repo", sorted(path.relative_to(DEMO).as_posix() for path in DEMO.glob("*/*")))
def test_every_demo_repository_loads_or_says_why_not(repo):
    names = {"nyu-mll/glue": "mnli", "LocalLLaMA/typed-decisions": "all", "allenai/ai2_arc": "ARC-Easy"}
    if repo == "PolyAI/banking77":
        with pytest.raises(DatasetScriptError, match="never run"):
            load_dataset(str(DEMO / repo))
        return
    loaded = load_dataset(str(DEMO / repo), names.get(repo))
    assert all(part.num_rows > 0 for part in loaded.values())
    again = load_dataset(str(DEMO / repo), names.get(repo))
    assert {name: part._fingerprint for name, part in again.items()} == {
        name: part._fingerprint for name, part in loaded.items()
    }


def test_scripts_are_never_run(tmp_path):
    mark = tmp_path / "ran"
    script = tmp_path / "evil" / "evil.py"
    script.parent.mkdir()
    script.write_text(f"open({str(mark)!r}, 'w')")
    said = {str(script): "is a dataset script", "nowhere.py": "is a dataset script"}
    for name, words in {**said, str(script.parent): r"holds the dataset script evil\.py"}.items():
        with pytest.raises(RuntimeError, match=f"{words}, and scripts are never run"):
            load_dataset(name, trust_remote_code=True)
    assert not mark.exists()


def test_what_is_no_dataset_folder(tmp_path):
    with pytest.raises(DataFilesNotFoundError, match="it is empty"):
        load_dataset(str(tmp_path))
    (tmp_path / "a.png").write_bytes(b"")
    with pytest.raises(DataFilesNotFoundError, match=r"ending in \.png; readable are \.parquet"):
        load_dataset(str(tmp_path))
    write(tmp_path, state_dot_json="{}", dataset_info_dot_json="{}")
    (tmp_path / "dataset_info.json").write_text("{}")
    with pytest.raises(InvalidArgumentError, match="load_from_disk"):
        load_dataset(str(tmp_path))


def test_a_name_that_means_nothing_says_what_was_tried(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    with pytest.raises(DatasetNotFoundError) as caught:
        load_dataset("poms")
    text = str(caught.value)
    tried = ["a format: ", "a folder or file: ", "the Hub at ", "prepared before: "]
    for line, what in zip(text.splitlines()[1:5], tried, strict=True):
        assert line.startswith(f"  - {what}")
    assert "Did you mean poems?" in text
    with pytest.raises(FileNotFoundError):
        load_dataset("./nope")
    for odd in ("a" * 5000, "a\0b", "a/b/c", "a--b/..c"):
        with pytest.raises(DatasetNotFoundError):
            load_dataset(odd)
    with pytest.raises(InvalidArgumentError):
        load_dataset("")
    with pytest.raises(DatasetUnreachableError, match="buckets/me/bucket"):
        load_dataset("buckets/me/bucket")


def test_arguments_are_checked(folder):
    with pytest.raises(InvalidArgumentError, match="download_mode"):
        load_dataset(str(folder), download_mode="again")
    for number in (-1, 1.5, "2", True):
        with pytest.raises(InvalidArgumentError, match="num_proc"):
            load_dataset(str(folder), num_proc=number)
    with pytest.raises(InvalidArgumentError, match="verification_mode"):
        load_dataset(str(folder), verification_mode="x")


def test_the_second_load_reuses_and_force_does_not(folder, tmp_path):
    cache = tmp_path / "elsewhere"
    load: Any = partial(load_dataset, str(folder), split="train", cache_dir=str(cache))
    load(num_proc=2, verification_mode="all_checks", trust_remote_code=True)
    [info] = cache.rglob("dataset_info.json")
    stamp = info.stat().st_mtime_ns
    load(download_mode="reuse_dataset_if_exists", keep_in_memory=True)
    assert info.stat().st_mtime_ns == stamp
    load(download_mode=DownloadMode.FORCE_REDOWNLOAD)
    assert info.stat().st_mtime_ns != stamp
    assert load(keep_in_memory=False).cache_files == [{"filename": str(next(cache.rglob("*.arrow")))}]


def test_a_damaged_cache_is_prepared_again(folder):
    first = load_dataset(str(folder), split="train")
    path = Path(first.cache_files[0]["filename"])
    for damage in (path.read_bytes()[:-9], b""):
        path.replace(path.with_suffix(".old"))  # the open dataset keeps its pages
        path.write_bytes(damage)
        assert load_dataset(str(folder), split="train")["a"][:] == [1, 2, 3]
    (path.parent / "origins.json").write_text("{")
    assert load_dataset(str(folder), split="train").origins().num_rows == 3


def test_results_of_map_beside_the_rows_are_not_taken_for_rows(folder):
    ds = load_dataset(str(folder), split="train")
    assert isinstance(ds, Dataset)
    ds.map(lambda row: {"c": row["a"] + 1})["c"][:]
    assert load_dataset(str(folder), split="train")["a"][:] == [1, 2, 3]


def test_files_behind_urls(folder):
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    handler.log_message = lambda *_: None  # type: ignore[attr-defined]  # a quiet server
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            config.HF_HUB_OFFLINE = False
            url = f"http://127.0.0.1:{server.server_port}/data/train-0.csv"
            ds = load_dataset("csv", data_files={"train": url}, split="train")
            assert ds["a"][:] == [1, 2]
            assert ds.origins().to_pylist()[1]["file"] == url
            same = load_dataset(str(folder), data_files=url + "?download=1", split="train")
            assert same["a"][:] == [1, 2]
        finally:
            server.shutdown()
            thread.join()


def test_the_signature_is_the_documented_one():
    parameters = inspect.signature(load_dataset).parameters
    assert list(parameters) == [
        "path", "name", "data_dir", "data_files", "split", "cache_dir", "features", "download_config",
        "download_mode", "verification_mode", "keep_in_memory", "save_infos", "revision", "token", "streaming",
        "num_proc", "storage_options", "config_kwargs",
    ]  # fmt: skip


def test_suffixes_are_those_of_the_formats():
    from gristmill.files.split_names import COMPRESSIONS, KNOWN_SUFFIXES
    from gristmill.formats.registry import format_of_path, get_format, known_formats

    assert {s: n for n in known_formats() for s in get_format(n).suffixes} == dict(KNOWN_SUFFIXES)
    for suffix, name in KNOWN_SUFFIXES.items():
        for compression in ("", *COMPRESSIONS):
            found = format_of_path(f"a{suffix}{compression}")
            assert found is not None
            assert found.name == name


@pytest.mark.parametrize("name", ["~no-such-user/data", "a" * 300, "a" * 300 + "/b", "a\0b", "\udcff"])
def test_names_that_no_folder_can_have(name, tmp_path):
    with pytest.raises(DatasetNotFoundError, match="No dataset was found"):
        load_dataset(name, cache_dir=str(tmp_path))
    with pytest.raises(DataFilesNotFoundError):
        load_dataset("csv", data_files=name, cache_dir=str(tmp_path))


@pytest.mark.parametrize(
    ("file", "was", "now"),
    [
        ("dataset_info.json", '"dataset_size": ', '"dataset_size": "x", "was": '),
        ("dataset_info.json", '"download_size": ', '"download_size": [1], "was": '),
        ("dataset_info.json", '"name": "train"', '"name": -1'),
        ("dataset_info.json", '"features": ', '"features": {}, "was": '),
        ("dataset_info.json", '"a": {', '"z": {'),
        ("origins.json", '"places":[[', '"places":[["x",null,"\\ud800"],['),
    ],
)
def test_odd_facts_about_a_prepared_split_are_damage(tmp_path, file, was, now):
    (tmp_path / "train.csv").write_text("a,b\n1,x\n2,y\n")

    def load():
        return load_dataset(
            "csv", data_files=str(tmp_path / "train.csv"), split="train", cache_dir=str(tmp_path / "c")
        )

    load()
    [path] = (tmp_path / "c").rglob(file)
    text = path.read_text()
    assert was in text
    path.write_text(text.replace(was, now, 1))
    assert load().to_dict() == {"a": [1, 2], "b": ["x", "y"]}
    assert path.read_text() == text


def test_a_misspelled_argument_is_told_from_an_option(tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n1;2\n")
    with pytest.raises(InvalidArgumentError, match='Did you mean "split"'):
        load_dataset(str(tmp_path), splt="train")
    # "names" is close to the argument "name", and an option of CSV.
    loaded = load_dataset(
        str(tmp_path), split="train", sep=";", names=["x", "y"], header=0, cache_dir=tmp_path / "c"
    )
    assert loaded.to_list() == [{"x": 1, "y": 2}]
