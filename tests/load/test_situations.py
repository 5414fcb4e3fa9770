"""What users report of loading: each situation built as they had it, with the rows that are right."""

import subprocess
import sys

import pytest

from gristmill import Dataset, load_dataset


@pytest.fixture
def load(tmp_path):
    return lambda *names, **options: load_dataset(*names, cache_dir=str(tmp_path / "cache"), **options)


def test_brackets_stars_and_hidden_folders_in_a_path_are_literal(tmp_path, load):
    path = tmp_path / "[x]*" / ".hid" / "a b?.csv"
    path.parent.mkdir(parents=True)
    path.write_text("a\n1\n")
    assert load("csv", data_files=str(path), split="train")["a"][:] == [1]
    assert load(str(path.parent), split="train")["a"][:] == [1]


def test_no_row_vanishes_because_of_the_name_of_its_file(tmp_path, load):
    for number, name in enumerate(["latest_news.csv", "training.csv", "other.csv"]):
        (tmp_path / name).write_text(f"a\n{number}\n")
    found = load(str(tmp_path))
    assert list(found) == ["train"]
    assert sorted(found["train"]["a"][:]) == [0, 1, 2]


@pytest.mark.parametrize("streaming", [False, True])
def test_json_text_that_looks_like_a_date_is_text(tmp_path, load, streaming):
    (tmp_path / "a.jsonl").write_text('{"d": "2020-01-01"}\n{"d": "2020-01-01T00:00:00"}\n')
    rows = load("json", data_files=str(tmp_path / "a.jsonl"), split="train", streaming=streaming)
    assert [row["d"] for row in rows] == ["2020-01-01", "2020-01-01T00:00:00"]


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("ascii", [True, False])
def test_separators_of_unicode_are_no_ends_of_lines(tmp_path, load, lines, ascii):
    ds = Dataset.from_dict({"a": ["x\u2028y", "b\n", "\x85\u2029"]})
    ds.to_json(tmp_path / "a.json", lines=lines, force_ascii=ascii)
    assert load("json", data_files=str(tmp_path / "a.json"), split="train").to_list() == ds.to_list()
    ds.to_csv(tmp_path / "a.csv")
    assert load("csv", data_files=str(tmp_path / "a.csv"), split="train").to_list() == ds.to_list()


def test_a_process_ends_in_the_middle_of_a_stream_of_parquet(tmp_path):
    Dataset.from_dict({"a": list(range(100_000))}).to_parquet(tmp_path / "a.parquet")
    program = (
        "import sys, gristmill\n"
        "rows = iter(gristmill.load_dataset('parquet', data_files=sys.argv[1], split='train', streaming=True))\n"
        "print([next(rows)['a'] for _ in range(5)])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "a.parquet")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("[0, 1, 2, 3, 4]\n", "", 0)
