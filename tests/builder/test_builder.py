"""Builders as users write them: what they make, how it is found again, what goes wrong."""

import json
import logging
import os
import pickle
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import gristmill
from gristmill import (
    ClassLabel,
    DatasetBuilder,
    DatasetDict,
    DatasetInfo,
    DownloadManager,
    Features,
    List,
    SplitGenerator,
    Value,
    Version,
    builder,
    load_dataset,
)
from gristmill.errors import (
    DatasetGenerationCastError,
    DatasetGenerationError,
    DiskFullError,
    DuplicatedKeysError,
    ExpectedMoreSplitsError,
    FileMissingError,
    InvalidArgumentError,
    ManualDownloadError,
    NonMatchingChecksumError,
    NonMatchingSplitsSizesError,
    SplitNotFoundError,
    UnexpectedSplitsError,
)
from gristmill.splits import SplitInfo
from tests.builder.own import Any, Poems, Tables, builder_of, known

LINES = ["one", "two", "three", "four", "five", "six"]


def prepared(kind, **arguments):
    made = kind(**arguments)
    made.download_and_prepare()
    return made


def test_a_dataset_of_examples(poems):
    made = Poems(base_path=poems)
    assert known(made).features["line"] == Value("string")
    made.download_and_prepare()
    data = made.as_dataset()
    assert isinstance(data, DatasetDict)
    assert list(data) == ["train", "test"]
    assert data["train"]["line"][:] == LINES
    assert data["train"].features["language"] == ClassLabel(names=["en", "de"])
    assert made.as_dataset("train[:50%]+test")["line"][:] == ["one", "two", "three", "one", "two"]
    assert [len(one) for one in made.as_dataset(["train", "test"], in_memory=True)] == [6, 2]
    assert known(made).splits["train"].num_examples == 6
    assert made.info.version == Version("0.0.0")
    assert made.info.config_name == "english"
    assert data["train"].info.description == "Poems."
    assert data["train"].split == "train"
    assert data["train"].filter(lambda row: row["line"] > "t")["line"][:] == ["two", "three"]


def test_a_dataset_of_tables_whose_columns_grow(tmp_path):
    one = prepared(Tables)
    assert one.info.features == Features({"n": Value("int64"), "late": Value("string")})
    rows = one.as_dataset("train")
    assert rows["n"][:] == [n for n in range(6) for _ in range(2)]
    assert rows["late"][:] == [None] * 6 + ["text"] * 6
    many = Tables(cache_dir=str(tmp_path / "two"))
    many.download_and_prepare(num_proc=2)
    assert many.as_dataset("train")[:] == rows[:]
    assert known(many).splits["train"].shard_lengths == [6, 6]


def test_workers_share_the_lists_and_keep_the_order(poems, tmp_path):
    made = Poems(base_path=poems, config_name="all", cache_dir=str(tmp_path / "two"))
    made.download_and_prepare(num_proc=2)
    assert made.as_dataset("train")["line"][:] == [line for line in LINES for _ in "ab"]
    assert known(made).splits["train"].shard_lengths == [6, 6]
    here = made.as_dataset("train").origins().to_pylist()
    # The second worker had one file, of which its rows are; the first had two.
    assert here[6] == {
        "source": "tests.builder.own.Poems",
        "revision": None,
        "file": f"{poems}/c.txt",
        "row_index": 0,
    }
    assert here[0]["file"] == "_generate_examples"


def test_parquet_shards_and_their_size(poems, tmp_path):
    made = Poems(base_path=poems)
    made.download_and_prepare(str(tmp_path / "out"), file_format="parquet", max_shard_size=20)
    files = sorted((tmp_path / "out").glob("own-train-*.parquet"))
    assert files[0].name == f"own-train-00000-of-{len(files):05d}.parquet"
    assert len(files) == 3
    assert [line for file in files for line in pq.read_table(file)["line"].to_pylist()] == LINES
    assert b"ClassLabel" in pq.read_schema(files[0]).metadata[b"huggingface"]
    again = load_dataset("parquet", data_files=[str(file) for file in files], split="train")
    assert again.features == made.info.features
    with pytest.raises(InvalidArgumentError, match="arrow"):
        made.as_dataset()


def test_another_file_system(poems):
    made = Poems(base_path=poems)
    made.download_and_prepare("memory://bucket/poems", file_format="parquet")
    import fsspec

    found = {Path(name).name for name in fsspec.filesystem("memory").ls("/bucket/poems", detail=False)}
    assert {"own-train.parquet", "own-test.parquet", "dataset_info.json"} <= found


def test_the_cache_folder(poems, tmp_path):
    made = Poems(
        base_path=poems, repo_id="org/Poems", dataset_name="Poems", cache_dir=str(tmp_path / "cache")
    )
    relative = Path(made.cache_dir).relative_to(tmp_path / "cache")
    assert relative.parts[:3] == ("org___poems", "english", "0.0.0")
    assert len(relative.parts) == 4
    assert not Path(made.cache_dir).exists()
    made.download_and_prepare()
    names = {path.name for path in Path(made.cache_dir).iterdir()}
    assert names == {
        "poems-train.arrow", "poems-test.arrow", "dataset_info.json", "origins.json", "sources.json"
    }  # fmt: skip
    assert {path.name for path in Path(made.cache_dir).parent.iterdir()} == {Path(made.cache_dir).name}
    fixed = Poems(base_path=poems, hash="abc")
    assert fixed.cache_dir.endswith("/own/english/0.0.0/abc")


def test_it_is_prepared_once_and_again_when_something_has_changed(poems):
    first = prepared(Poems, base_path=poems)
    state = Path(first.cache_dir, "dataset_info.json").stat().st_mtime_ns
    second = Poems(base_path=poems)
    assert known(second).splits["train"].num_examples == 6  # known before anything is asked for
    assert second.as_dataset("test")["line"][:] == ["one", "two"]
    second.download_and_prepare()
    assert Path(second.cache_dir, "dataset_info.json").stat().st_mtime_ns == state
    Path(poems, "a.txt").write_text("uno\n")
    third = prepared(Poems, base_path=poems)
    assert third.cache_dir == first.cache_dir
    assert third.as_dataset("test")["line"][:] == ["uno"]
    third.download_and_prepare(download_mode="force_redownload")
    assert Path(third.cache_dir, "dataset_info.json").stat().st_mtime_ns != state


def test_files_of_the_same_size_and_time_with_other_content(poems):
    path = Path(poems, "a.txt")
    assert prepared(Poems, base_path=poems).as_dataset("test")["line"][:] == ["one", "two"]
    status = path.stat()
    time.sleep(0.05)  # more than the steps in which a system's clock for files goes on
    path.write_text(path.read_text().replace("one", "eno"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert prepared(Poems, base_path=poems).as_dataset("test")["line"][:] == ["eno", "two"]


def test_code_and_settings_decide_the_folder():
    plain, other = builder_of([{"a": 1}]), builder_of([{"a": 2}])
    folders = {plain().cache_dir, other().cache_dir, plain(features=Features({"a": Value("int8")})).cache_dir}
    assert len(folders) == 3
    assert plain().cache_dir == builder_of([{"a": 1}])().cache_dir
    assert Poems().cache_dir != Poems(languages=["de"]).cache_dir


def test_an_older_version_in_the_cache_is_told(poems, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("gristmill"), "propagate", True)
    prepared(Poems, base_path=poems)
    Poems(base_path=poems, version="3.0.0")
    said, *_ = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "version 3.0.0 is prepared now" in said
    assert "0.0.0" in said


def test_other_files_in_the_output_folder_stay(poems, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.tex").write_text("years of work")
    with pytest.raises(InvalidArgumentError, match=r"output_dir.*thesis\.tex"):
        Poems(base_path=poems).download_and_prepare(str(tmp_path / "out"))
    assert (tmp_path / "out/thesis.tex").read_text() == "years of work"


def test_not_prepared_yet():
    with pytest.raises(FileMissingError, match=r"call download_and_prepare\(\) first"):
        Poems().as_dataset()


def test_a_split_that_is_not_there(poems):
    with pytest.raises(SplitNotFoundError, match="trian"):
        prepared(Poems, base_path=poems).as_dataset("trian")


def test_a_bad_value_names_row_and_column():
    kind = builder_of([{"a": 1}, {"a": 2}, {"a": "x"}], Features({"a": Value("int64")}))
    with pytest.raises(DatasetGenerationCastError, match=r'split "train" of own.*row 2, column "a".*\'x\''):
        prepared(kind, writer_batch_size=2)
    with pytest.raises(DatasetGenerationCastError, match="row 1: a row must be a dict, not 3"):
        prepared(builder_of([{"a": 1}, 3], Features({"a": Value("int64")})))


def test_what_the_code_raises_is_the_cause():
    kind = builder_of([{"a": 1}, ZeroDivisionError("by hand")])
    with pytest.raises(
        DatasetGenerationError, match=r"Given\._generate_examples.*ZeroDivisionError: by hand"
    ) as caught:
        prepared(kind)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert not Path(kind().cache_dir).exists()


def test_what_the_code_raises_in_a_worker_is_the_cause(poems):
    made = Poems(base_path=poems)
    made.config.languages = ["fr"]
    with pytest.raises(DatasetGenerationError, match=r"'fr' is no name of the class label"):
        made.download_and_prepare(num_proc=2)
    assert not Path(made.cache_dir).exists()


def test_anything_but_pairs_is_refused():
    with pytest.raises(DatasetGenerationError, match="pairs of a key and an example or table, not tuple"):
        prepared(builder_of([(1, {"a": 1}, 3)]))


@pytest.mark.parametrize(
    "features", [None, Features({"a": Value("int64"), "b": {"c": List({"d": Value("int64")})}})]
)
def test_a_dict_that_is_filled_anew_for_each_row_is_a_row_each_time(features):
    class Reused(Any):
        def _info(self):
            return DatasetInfo(features=features)

        def _generate_examples(self):
            row: dict = {"a": 0, "b": {"c": [{"d": 0}]}}
            for number in range(3):
                row["a"] = row["b"]["c"][0]["d"] = number
                yield number, row

    assert prepared(Reused).as_dataset("train")[:] == {
        "a": [0, 1, 2],
        "b": [{"c": [{"d": number}]} for number in range(3)],
    }


def test_keys_of_any_text():
    made = builder_of([("\ud800", {"a": 1}), ("\ud801", {"a": 2})])()
    made.download_and_prepare(verification_mode="all_checks")
    assert made.as_dataset("train").num_rows == 2


@pytest.mark.parametrize("given", [None, {"features": None}])
def test_what_a_class_says_is_checked(given):
    class NoInfo(Any):
        def _info(self):
            return given

    class NoSplits(Any):
        def _split_generators(self, dl_manager):
            return given and 3

    with pytest.raises(InvalidArgumentError, match=r"_info\(\).*a DatasetInfo"):
        NoInfo()
    with pytest.raises(InvalidArgumentError, match=r"_split_generators.*a list of SplitGenerator"):
        prepared(NoSplits)


def test_features_leave_columns_out_and_add_them(caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("gristmill"), "propagate", True)
    made = prepared(builder_of([{"a": 1, "more": 2}, {}], Features({"a": Value("int64")})))
    assert made.as_dataset("train")[:] == {"a": [1, None]}
    assert "left out more" in caplog.text


def test_no_rows():
    made = prepared(builder_of([], Features({"a": Value("int64")})))
    assert made.as_dataset("train").num_rows == 0
    assert made.as_dataset("train").features == Features({"a": Value("int64")})
    assert prepared(builder_of([])).as_dataset()["train"].num_rows == 0


def test_keys_twice():
    kind = builder_of([("k", {"a": 1}), (1, {"a": 2}), ("k", {"a": 3})])
    assert prepared(kind).as_dataset("train")["a"][:] == [1, 2, 3]
    with pytest.raises(DuplicatedKeysError, match=r"row 0 and row 2 have the same key 'k'"):
        kind().download_and_prepare(download_mode="reuse_cache_if_exists", verification_mode="all_checks")
    assert kind().as_dataset("train")["a"][:] == [1, 2, 3]  # what was there is there


@pytest.mark.parametrize(
    ("splits", "error"),
    [
        ({"train": SplitInfo("train", 0, 7)}, NonMatchingSplitsSizesError),
        ({"train": SplitInfo("train", 0, 1), "dev": SplitInfo("dev")}, ExpectedMoreSplitsError),
        ({"dev": SplitInfo("dev")}, ExpectedMoreSplitsError),
    ],
)
def test_splits_that_are_not_those_recorded(splits, error):
    kind = builder_of([{"a": 1}], splits=splits)
    with pytest.raises(error):
        prepared(kind)
    kind().download_and_prepare(verification_mode="no_checks")
    assert known(kind()).splits["train"].num_examples == 1


def test_splits_that_nobody_recorded(poems):
    class Less(Poems):
        def _info(self):
            info = super()._info()
            info.splits = {"train": SplitInfo("train", 0, 6)}
            return info

    with pytest.raises(UnexpectedSplitsError, match="test"):
        prepared(Less, base_path=poems)


def test_checksums(poems):
    made = Poems(base_path=poems)
    made.download_and_prepare(verification_mode="all_checks")
    sums = made.info.download_checksums or {}
    assert sums["b.txt"]["num_bytes"] == 6
    assert len(sums["b.txt"]["checksum"]) == 64

    class Checked(Poems):
        def _info(self):
            info = super()._info()
            info.download_checksums = sums
            return info

    Checked(base_path=poems).download_and_prepare(verification_mode="all_checks")
    Path(poems, "b.txt").write_text("THREE\n")
    Checked(base_path=poems).download_and_prepare()
    with pytest.raises(NonMatchingChecksumError, match=r"b\.txt"):
        Checked(base_path=poems).download_and_prepare(
            verification_mode="all_checks", download_mode="reuse_cache_if_exists"
        )


def test_files_fetched_by_hand(tmp_path):
    class Manual(Any):
        manual_download_instructions = "Ask the authors."

    with pytest.raises(ManualDownloadError, match=r"Ask the authors\.\nThen pass the folder"):
        Manual().download_and_prepare()
    Manual(data_dir=str(tmp_path)).download_and_prepare()


def test_room_on_the_disk_is_asked_for_where_users_replace_it(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(builder, "has_sufficient_disk_space", lambda *args: asked.append(args))
    with pytest.raises(DiskFullError):
        builder_of([{"a": 1}], size_in_bytes=10**6)().download_and_prepare()
    assert asked[0][0] == 10**6
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(DiskFullError):
        load_dataset("text", data_files=str(tmp_path / "a.txt"))
    assert len(asked) == 2


def test_data_files_are_resolved_and_decide_the_folder(poems):
    class Given(Poems):
        def _split_generators(self, dl_manager):
            files = dl_manager.download(self.config.data_files)
            return [SplitGenerator(name, {"files": paths}) for name, paths in files.items()]

    first = prepared(Given, base_path=poems, data_files={"train": "*.txt", "test": ["a.txt"]})
    assert first.config.data_files["train"] == [f"{poems}/{name}.txt" for name in "abc"]
    assert first.as_dataset("train")["line"][:] == LINES
    Path(poems, "c.txt").write_text("seven\n")
    second = prepared(Given, base_path=poems, data_files={"train": "*.txt", "test": ["a.txt"]})
    assert second.cache_dir != first.cache_dir
    assert second.as_dataset("train")["line"][-1] == "seven"


def test_a_download_manager_of_ones_own(poems):
    manager = DownloadManager(base_path=poems)
    Poems().download_and_prepare(dl_manager=manager)
    assert manager.downloaded_size == 8 + 6 + 14


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"file_format": "json"}, "file_format"),
        ({"max_shard_size": "large"}, "max_shard_size"),
        ({"num_proc": -1}, "num_proc"),
        ({"download_mode": "again"}, "download_mode"),
        ({"verification_mode": "some"}, "verification_mode"),
    ],
)
def test_arguments_that_mean_nothing(arguments, problem):
    with pytest.raises(InvalidArgumentError, match=problem):
        Poems().download_and_prepare(**arguments)


@pytest.mark.parametrize("splits", [["train", "train"], ["all"], ["a b"]])
def test_splits_that_can_not_be(splits):
    class Odd(Any):
        def _split_generators(self, dl_manager):
            return [SplitGenerator(name) for name in splits]

    with pytest.raises(InvalidArgumentError):
        prepared(Odd)


def test_lists_of_different_lengths_can_not_be_shared():
    class Uneven(Any):
        def _split_generators(self, dl_manager):
            return [SplitGenerator("train", {"a": [1, 2], "b": [3]})]

    with pytest.raises(InvalidArgumentError, match="same length"):
        Uneven().download_and_prepare(num_proc=2)


def test_a_builder_can_be_pickled_and_says_what_it_lacks(poems):
    made = pickle.loads(pickle.dumps(Poems(base_path=poems)))
    made.download_and_prepare()
    assert made.as_dataset("test")["line"][:] == ["one", "two"]
    with pytest.raises(NotImplementedError, match="_info"):
        DatasetBuilder()
    assert Poems.get_imported_module_dir() == str(Path(__file__).parent)


def test_damaged_records_are_as_good_as_none(poems):
    made = prepared(Poems, base_path=poems)
    for name, text in [("dataset_info.json", "{"), ("sources.json", "[1]"), ("dataset_info.json", "[]")]:
        Path(made.cache_dir, name).write_text(text)
        again = prepared(Poems, base_path=poems)
        assert again.as_dataset("train")["line"][:] == LINES
    Path(made.cache_dir, "origins.json").write_text(json.dumps({"train": 3}))
    assert made.as_dataset("train")["line"][:] == LINES


def test_all_of_it_is_at_the_top():
    assert gristmill.GeneratorBasedBuilder is builder.GeneratorBasedBuilder
    assert DatasetInfo(version="1.0.0").version == Version("1.0.0")
    assert DatasetInfo(version="1.0.0").to_dict()["version"] == "1.0.0"
