import json

import pytest

from gristmill import Dataset, DatasetDict, load_dataset
from gristmill.cli.main import main
from tests.publishing.conftest import REPO

pytestmark = pytest.mark.filterwarnings("ignore:Use .content=:DeprecationWarning")


def run(*words):
    return main(["hub", "push", *map(str, words)])


def test_data_files_and_saved_folders(repo, tmp_path, capsys):
    files = tmp_path / "files"
    files.mkdir()
    (files / "train.csv").write_text("a,b\n1,x\n2,y\n")
    (files / "test.csv").write_text("a,b\n3,z\n")
    assert run(files, REPO, "--config", "csv", "-m", "From CSV") == 0
    assert repo.pin().commit in capsys.readouterr().err
    assert load_dataset(REPO, "csv", split="train").to_list() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    DatasetDict({"train": Dataset.from_dict({"a": [1]})}).save_to_disk(tmp_path / "saved")
    assert main(["--json", "hub", "push", str(tmp_path / "saved"), REPO, "--create-pr"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["repo"], said["splits"]) == (REPO, {"train": 1})
    assert load_dataset(REPO, "default", revision="refs/pr/1")["train"].num_rows == 1
    Dataset.from_dict({"a": [1, 2, 3]}).save_to_disk(tmp_path / "one")
    assert run(tmp_path / "one", REPO, "--split", "train", "-r", "branch", "--max-shard-size", "8B") == 0
    assert [path for path in repo.files("branch") if path.startswith("data/")][-1].endswith(
        "-of-00004.parquet"
    )


def test_no_such_split_and_no_such_folder(server, tmp_path, capsys):
    Dataset.from_dict({"a": [1]}).save_to_disk(tmp_path / "one")
    assert run(tmp_path / "one", REPO, "--split", "tset") != 0
    assert "train" in capsys.readouterr().err
    assert run(tmp_path / "none", REPO) != 0


def test_a_name_without_owner_needs_a_token(server, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("gristmill.hub.writing.find_token", lambda token: None)
    Dataset.from_dict({"a": [1]}).save_to_disk(tmp_path / "one")
    assert run(tmp_path / "one", "reviews") == 1
    assert "The name reviews says no owner" in capsys.readouterr().err
