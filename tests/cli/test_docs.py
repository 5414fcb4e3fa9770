import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import DocsFile
from gristmill.cli.main import main
from gristmill.demo import DEMO_HUB

BOOLQ = str(DEMO_HUB / "datasets/google/boolq/data/train-00000-of-00001.parquet")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(*words):
        status = main(list(words))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def test_extract_and_look(run, tmp_path):
    status, out, err = run("extract", BOOLQ, "-o", "a.docs", "--column", "passage", "--json")
    assert (status, err) == (0, "")
    passages = pq.read_table(BOOLQ)["passage"].to_pylist()
    [made] = json.loads(out)
    assert (made["documents"], made["column"], made["sources"]) == (len(passages), "passage", 1)
    status, out, _ = run("docsinfo", "a.docs", "-n", "2", "--from", "3", "--json")
    told = json.loads(out)
    assert told["shown"] == passages[3:5]
    assert told["check"] == "every invariant holds"
    assert told["bytes"] == (tmp_path / "a.docs").stat().st_size
    status, _, err = run("docsinfo", "a.docs", "-n", "1", "--from", "500")
    assert status == 2
    assert "--from: it holds 500, counted from 0" in err
    status, out, _ = run("docsinfo", "a.docs", "-n", "1")
    assert status == 0
    assert "Document 0" in out


def test_chat_with_a_role_of_its_own(run):
    rows = pa.array([[{"role": "critic", "content": "Hm"}, {"role": "user", "content": "?"}]])
    pq.write_table(pa.table({"messages": rows}), "c.parquet")
    status, _, err = run("extract", "c.parquet", "-o", "out")
    assert status == 1
    assert "--role-number NAME=4" in err
    status, out, _ = run("extract", "c.parquet", "-o", "out", "--role-number", "critic=5")
    assert status == 0
    assert DocsFile("out/c.docs").roles.tolist() == [5, 1]
    status, out, _ = run("docsinfo", "out/c.docs", "-n", "1", "--role-number", "critic=5", "--json")
    assert json.loads(out)["shown"] == [
        [{"role": "critic", "content": "Hm"}, {"role": "user", "content": "?"}]
    ]
    status, _, err = run("extract", "c.parquet", "-o", "out", "--role-number", "critic")
    assert status == 2
    assert "NAME=N" in err


def test_a_damaged_file_is_refused(run, tmp_path):
    run("extract", BOOLQ, "-o", "a.docs", "--column", "passage")
    data = bytearray((tmp_path / "a.docs").read_bytes())
    data[-1] ^= 1
    (tmp_path / "a.docs").write_bytes(data)
    status, out, err = run("docsinfo", "a.docs")
    assert (status, out) == (1, "")
    assert "a.docs: it was changed after it was written" in err
    assert run("docsinfo", "a.docs", "--no-check", "--json")[0] == 0
    (tmp_path / "a.docs").write_bytes(data[:-1])
    status, out, err = run("docsinfo", "a.docs", "--no-check")
    assert (status, out) == (1, "")
    assert "is cut off" in err
