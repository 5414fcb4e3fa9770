import pytest

from gristmill.files.split_names import format_of, infer_splits, is_data_file, main_format


@pytest.mark.parametrize(
    ("paths", "splits"),
    [
        (
            ["data/train-00000-of-00001.parquet", "data/my_split-00000-of-00001.parquet"],
            {"train": 1, "my_split": 1},
        ),
        (["data/train-00001-of-00002-ab12.parquet", "data/train-00000-of-00002-cd34.parquet"], {"train": 2}),
        (["train.csv", "dev.csv", "evaluation.csv"], {"train": 1, "validation": 1, "test": 1}),
        (["training.csv", "valid.csv", "testing.csv"], {"train": 1, "validation": 1, "test": 1}),
        (["my-train_1.csv", "my-train_2.csv", "val.0.csv"], {"train": 2, "validation": 1}),
        (["train1.csv", "test2.csv"], {"train": 1, "test": 1}),
        (["train/a.csv", "test/b.csv", "test/c.csv"], {"train": 1, "test": 2}),
        (["en/train_set/a.csv", "en/2 test/b.csv"], {"train": 1, "test": 1}),
        (["train/test.csv", "test/train.csv"], {"train": 1, "test": 1}),
        (["train/a.csv", "test.csv"], {"train": 1, "test": 1}),
        (["a.csv", "b/c.csv"], {"train": 2}),
        (["constraint.csv", "latest.csv"], {"train": 2}),
        ([], {}),
    ],
)
def test_inference(paths, splits):
    assert {name: len(files) for name, files in infer_splits(paths).items()} == splits


def test_folders_win_over_files():
    assert infer_splits(["train/test.csv", "test/train.csv"])["train"] == ("train/test.csv",)


@pytest.mark.parametrize("odd", ["people.csv", "train_test.csv"])
def test_no_row_vanishes_when_one_file_does_not_fit(odd, capsys):
    paths = ["train.csv", "test.csv", odd]
    assert infer_splits(paths, "here") == {"train": tuple(sorted(paths))}
    [line] = capsys.readouterr().err.splitlines()
    assert odd in line
    assert "all 3 files" in line


def test_order_of_splits_and_files():
    splits = infer_splits(["test.csv", "dev.csv", "train-10.csv", "train-2.csv"])
    assert list(splits) == ["train", "validation", "test"]
    assert splits["train"] == ("train-2.csv", "train-10.csv")


def test_formats_by_suffix():
    assert [format_of(p) for p in ("a.parquet", "a.JSONL.GZ", "a.tsv", "a.txt.zst", "a", "a.png", "a.csv/b")] == [
        "parquet", "json", "csv", "text", None, None, None,
    ]  # fmt: skip


def test_what_counts_as_data():
    there = [
        "a.csv",
        "README.md",
        "dataset_infos.json",
        "LICENSE",
        "x.py",
        ".git/a.csv",
        "__MACOSX/a.csv",
        "LICENSE.txt",
    ]
    assert [path for path in there if is_data_file(path)] == ["a.csv"]


def test_the_main_format():
    assert main_format(["a.parquet", "b.json"]) == "parquet"
    assert main_format(["a.json", "b.json", "c.parquet"]) == "json"
    assert main_format(["a.png"]) is None
