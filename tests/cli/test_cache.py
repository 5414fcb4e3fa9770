import json
import os

import pytest

from gristmill import config, load_dataset
from gristmill.cli.cache_ls import ago
from gristmill.cli.main import main


@pytest.fixture
def top(tmp_path):
    return tmp_path / "caches"


@pytest.fixture
def run(top, capsys):
    def call(*words):
        status = main(["--cache", str(top), "cache", *words])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def load(top, path, text="x\n1\n"):
    path.write_text(text)
    with config.override(HF_DATASETS_CACHE=top / "datasets"):
        return load_dataset(str(path), split="train")._cache_dir


@pytest.fixture
def two(top, tmp_path):
    folders = [load(top, tmp_path / f"{name}.csv") for name in ("old", "new")]
    os.utime(folders[0], (0, 0))
    return folders


def test_ls(run, two):
    status, out, _ = run("ls", "--sort", "used")
    assert status == 0
    assert out.index("old") < out.index("new")
    assert "2 things" in out
    status, out, _ = run("ls", "--json", "old")
    [entry] = json.loads(out)
    assert (entry["kind"], entry["name"], entry["detail"]) == ("prepared", "old", "default train")
    assert entry["key"] == two[0].name
    assert entry["last_used"] == "1970-01-01T00:00:00+00:00"
    assert entry["paths"] == [str(two[0])]
    assert json.loads(run("ls", "--json", "--kind", "model")[1]) == []


def test_rm_shows_and_asks_first(run, two, monkeypatch):
    assert "would_remove" in run("rm", "--older", "30d", "--dry-run", "--json")[1]
    assert all(folder.exists() for folder in two)
    monkeypatch.setattr("builtins.input", lambda *_: "n")
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda *_: "n")
    status, out, err = run("rm", "--older", "30d")
    assert status == 1
    assert "1 things to remove" in out
    assert "nothing was removed" in err
    assert all(folder.exists() for folder in two)


@pytest.mark.parametrize(
    ("raised", "ends", "says"),
    [(EOFError, 2, "nobody is there to answer: pass --yes"), (KeyboardInterrupt, 130, "stopped")],
)
def test_rm_without_an_answer(raised, ends, says, run, two, monkeypatch):
    def answer(*_):
        raise raised

    monkeypatch.setattr("click.termui.visible_prompt_func", answer)
    status, _, err = run("rm", "--older", "30d")
    assert (status, says in err) == (ends, True)
    assert all(folder.exists() for folder in two)


def test_rm(run, two):
    status, out, err = run("rm", "--older", "30d", "--yes")
    assert (status, "removed 1 things" in err) == (0, True)
    assert [folder.exists() for folder in two] == [False, True]
    assert run("rm", "--max-size", "10GB", "-y")[0] == 0
    assert two[1].exists()
    status, out, _ = run("rm", "--max-size", "0", "-y", "--json")
    assert json.loads(out)["removed"][0]["name"] == "new"
    assert not two[1].exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "say what to remove"),
        (["--older", "soon"], "no age"),
        (["--max-size", "big"], "no size"),
        (["--kind", "everything"], "everything"),
    ],
)
def test_rm_used_wrongly(run, words, says):
    status, _, err = run("rm", *words)
    assert status == 2
    assert says in err


def test_rm_of_what_is_not_there(run, two):
    status, _, err = run("rm", "oldd", "-y")
    assert status == 1
    assert 'Nothing in the cache is called "oldd". Did you mean "old"?' in err


def test_verify(run, two):
    assert run("verify")[0] == 0
    [path] = two[0].glob("*.arrow")
    data = bytearray(path.read_bytes())
    data[-30] ^= 1
    path.write_bytes(bytes(data))
    status, out, err = run("verify", "--json")
    found = json.loads(out)
    assert (status, found["checked"], len(found["problems"])) == (1, 6, 1)
    assert found["problems"][0]["file"] == str(path)
    assert run("verify", "new")[0] == 0
    status, out, err = run("verify", "--fix")
    assert (status, "1 damaged" in err, "old" in out) == (0, True, True)
    assert [folder.exists() for folder in two] == [False, True]
    assert run("verify")[0] == 0


def test_ages():
    assert [ago(seconds) for seconds in (0, 61, 7_300, 90_000)] == ["0 s", "1 min", "2 h", "1 d"]
