import json

import pytest

from gristmill import config
from gristmill.cli.main import main


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(*words):
        with config.override(
            HF_DATASETS_CACHE=tmp_path / "cache", HF_HUB_CACHE=tmp_path / "hub", HF_HUB_OFFLINE=True
        ):
            status = main(["show", *words])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture
def poems(tmp_path):
    folder = tmp_path / "poems"
    folder.mkdir()
    (folder / "train.jsonl").write_text(
        "".join(f'{{"n": {n}, "text": "{"long " * 60}"}}\n' for n in range(20))
    )
    (folder / "test.jsonl").write_text('{"n": 7, "text": null}\n')
    return folder


def test_a_table(run, poems):
    status, out, err = run("poems", "--rows", "2")
    assert status == 0
    assert "poems/train.jsonl, split train: 20 rows" in run("poems/train.jsonl")[2]
    assert "Value('int64')" in out
    assert out.count("long ") < 100
    assert "poems, split train of train, test: 20 rows" in err


def test_json_is_everything(run, poems):
    status, out, err = run("poems", "--split", "test", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "name": "poems",
        "config": "default",
        "commit": None,
        "split": "test",
        "splits": ["train", "test"],
        "num_rows": 1,
        "columns": {"n": "Value('int64')", "text": "Value('null')"},
        "rows": [{"n": 7, "text": None}],
    }


def test_a_file_and_a_slice(run, poems):
    status, out, _ = run("poems/train.jsonl", "-s", "train[-1:]", "-n", "9", "--json")
    assert status == 0
    assert [row["n"] for row in json.loads(out)["rows"]] == [19]


def test_an_error_is_a_sentence(run, poems):
    status, out, err = run("peoms")
    assert (status, out) == (1, "")
    assert 'gristmill: No dataset was found under "peoms"' in err
    assert "Did you mean poems?" in err


def test_many_columns_are_shown_below_each_other(run, tmp_path):
    row = {f"column{n}": n for n in range(30)}
    (tmp_path / "wide.jsonl").write_text(f"{json.dumps(row)}\n" * 2)
    status, out, _ = run("wide.jsonl")
    assert status == 0
    assert "First rows" not in out
    assert "Row 1" in out
    assert "│ column29 │    29 │" in out
