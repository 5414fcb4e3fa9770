import json

import pytest

from gristmill import config
from gristmill.cli.main import main
from gristmill.hub.server import serve_in_thread
from tests.corpus.demo_reader import DEMO


@pytest.fixture(scope="module")
def endpoint():
    with serve_in_thread(DEMO) as url:
        yield url


@pytest.fixture
def run(endpoint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(*words):
        with config.override(
            HF_ENDPOINT=endpoint,
            HF_HUB_CACHE=tmp_path / "hub",
            DOWNLOADED_DATASETS_PATH=tmp_path / "downloads",
        ):
            status = main(list(words))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def test_fetch_then_stats_with_the_defaults(run, tmp_path):
    status, out, err = run("fetch-decisions", "--only", "boolq, typed_decisions_bench")
    assert status == 0
    assert all(name in out for name in ("source", "raw", "invalid", "duplicate", "capped"))
    assert "boolq" in out
    assert "data/decisions/DATA_LICENSES.md" in err
    status, out, err = run("stats")
    assert status == 0
    assert "typed_decisions_bench" in out
    assert "data/decisions/report.html" in err
    assert (tmp_path / "data/decisions/STATS.md").is_file()


def test_what_was_invalid_is_said(run):
    status, _, err = run("fetch-decisions", "--only", "typed_synth", "--out", "my out")
    assert status == 0
    assert "Invalid in typed_synth: 5 empty_instructions, 6 few_options, " in err
    assert "gristmill stats --data 'my out'" in err


def test_json_has_everything(run):
    status, out, err = run("fetch-decisions", "--only", "typed_synth", "--cap", "50", "--seed", "3", "--json")
    assert (status, err) == (0, "")
    [source] = json.loads(out)["sources"]
    assert source["invalid_kinds"]["target_sum"] == 5
    assert source["train"] + source["val"] == 50
    status, out, err = run("stats", "--json")
    assert json.loads(out)[0]["records"] == 50
    assert json.loads(out)[0]["state, longest"] > 0


def test_a_source_that_fails_is_listed_at_the_end_with_status_1(run, tmp_path):
    status, _, err = run("fetch-decisions", "--only", "boolq,mnli", "--revision", "mnli=nowhere")
    assert status == 1
    assert (tmp_path / "data/decisions/boolq.jsonl").is_file()
    assert err.splitlines()[-1].startswith("gristmill: mnli (nyu-mll/glue) failed: ")
    assert "nowhere" in err


def test_own_source_and_cache(run, tmp_path):
    (tmp_path / "my.yaml").write_text(
        "name: mine\nrepo: google/boolq\nfields: {q: question, a: answer}\n"
        'template: {type: noul, instructions: "{q}", state: "", label: "{a}", group: "{q}"}\n'
    )
    status, out, _ = run("fetch-decisions", "--source", "my.yaml", "--out", "here", "--cache", "cached")
    assert status == 0
    assert "mine" in out
    assert sorted(p.name for p in (tmp_path / "here").iterdir()) == [
        "DATA_LICENSES.md",
        "mine.jsonl",
        "sources.json",
    ]
    assert any((tmp_path / "cached").iterdir())
    # Also what comes from outside the Hub goes there.
    assert run("fetch-decisions", "--only", "banking77", "--cache", "cached", "--quiet") == (0, "", "")
    assert any((tmp_path / "cached/datasets/downloads").iterdir())
    assert not (tmp_path / "downloads").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--only", "bolq"], 'Did you mean "boolq"'),
        (["--cap", "0"], "cap=0"),
        (["--val-frac", "2"], "val_frac=2.0"),
        (["--revision", "boolq"], "SOURCE=REV"),
        (["--source", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_wrong_arguments_are_one_sentence(run, words, problem):
    status, out, err = run("fetch-decisions", *words)
    assert status == 1
    assert out == ""
    assert err.startswith("gristmill: ")
    assert problem in err


def test_stats_without_data_says_what_to_do(run):
    status, _, err = run("stats", "--data", "nowhere")
    assert status == 1
    assert "gristmill fetch-decisions" in err
