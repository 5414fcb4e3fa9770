"""`pqinfo` and `pqcat`: what people see, JSON, exit statuses."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill.cli.main import main
from gristmill.features import Features, Value
from tests.parquet.test_agreement import KEPT


@pytest.fixture
def run(capsys):
    def call(*words):
        status = main(list(words))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture
def chats(tmp_path):
    path = tmp_path / "chats.parquet"
    messages = [[{"role": "user", "content": "a\tb"}, {"role": "bot", "content": None}], [], None]
    table = pa.table({"messages": messages, "score": [0.5, float("nan"), None]})
    pq.write_table(table, path)
    return str(path)


def test_pqinfo_shows_all(run, chats):
    status, out, err = run("pqinfo", chats)
    assert (status, err) == (0, "")
    for text in (
        "rows: 3 in 1 row groups",
        "content: OPTIONAL BYTE_ARRAY, STRING (definition 4, repetition 1)",
        "score: OPTIONAL DOUBLE (definition 1, repetition 0)",
        "writer: parquet-cpp-arrow",
        "SNAPPY",
        "1 data, 1 dictionary",
        "Statistics",
    ):
        assert text in out


def test_pqinfo_json_is_everything(run, chats):
    status, out, _ = run("pqinfo", chats, "--json")
    info = json.loads(out)
    assert status == 0
    assert info["rows"] == 3
    chunk = info["row_groups"][0]["columns"][1]
    assert chunk["path"] == "messages.list.element.content"
    assert chunk["pages"] == {"dictionary": 1, "data": 1, "source": "pages"}
    assert chunk["statistics"]["min"] == {"value": "a\tb", "exact": True, "deprecated": False}
    assert [child["name"] for child in info["schema"]["children"]] == ["messages", "score"]


def test_values_cut_short_are_never_shown_as_exact(run):
    _, out, _ = run("pqinfo", str(KEPT / "binary_truncated_min_max.parquet"))
    rows = [line for line in out.splitlines() if "utf8" in line and "offset+column" in line]
    assert ["≥ Al" in row and "≤ Kf" in row for row in rows] == [True, False, False]
    assert "│ Al " in rows[2]
    assert "│ Ke " in rows[2]


def test_features_are_printed(run, tmp_path):
    features = Features({"label": Value("int32")})
    pq.write_table(
        pa.table({"label": pa.array([1], pa.int32())}, schema=features.arrow_schema), tmp_path / "a.parquet"
    )
    _, out, _ = run("pqinfo", str(tmp_path / "a.parquet"))
    assert "Features (huggingface)" in out
    assert "Value('int32')" in out


def test_many_chunks_are_summed_up(run, tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": range(100)}), path, row_group_size=2)
    _, out, err = run("pqinfo", str(path))
    assert "Columns, all row groups" in out
    assert "--chunks" in err
    _, out, _ = run("pqinfo", str(path), "--chunks")
    assert "Column chunks" in out


def test_a_huge_row_group_is_remarked(run, chats, monkeypatch):
    monkeypatch.setattr("gristmill.parquet.describe.LARGE_GROUP", 100)
    _, _, err = run("pqinfo", chats)
    assert "its one row group has" in err
    assert "row groups of about" in err


def test_check(run, chats, tmp_path):
    status, out, _ = run("pqinfo", chats, "--check")
    assert status == 0
    assert "is sound: 3 rows in 1 row groups, 3 column chunks" in out
    broken = KEPT.parent / "bad" / "rle-dict-uncompressed-corrupt-checksum.parquet"
    status, out, err = run("pqinfo", str(broken), "--check")
    assert (status, out) == (1, "")
    assert f'{broken}, row group 0, column "long_field": page 0: its checksum is' in err


def test_diff(run, chats, tmp_path):
    pq.write_table(pa.table({"score": [1]}), tmp_path / "b.parquet")
    status, out, _ = run("pqinfo", chats, "--diff", str(tmp_path / "b.parquet"), "--json")
    assert status == 1
    assert {"column": "score", "what": "type", "first": "DOUBLE", "second": "INT64"} in json.loads(out)
    assert run("pqinfo", chats, "--diff", chats)[:2] == (0, "The schemas are alike.\n")


def test_pqcat(run, chats):
    status, out, _ = run("pqcat", chats, "messages.list.element.content", "--levels")
    assert status == 0
    assert out == "0\t0\t4\ta\\tb\n0\t1\t3\tnull\n1\t0\t1\tnull\n2\t0\t0\tnull\n"
    assert run("pqcat", chats, "score")[1] == "0\t0.5\n1\tnan\n2\tnull\n"
    assert run("pqcat", chats, "score", "--rows", "1:2")[1] == "1\tnan\n"
    assert run("pqcat", chats, "score", "--rows", "7:")[1] == ""


def test_pqcat_json_lines(run, chats):
    _, out, _ = run("pqcat", chats, "messages.list.element.role", "--levels", "--rows", ":1", "--json")
    assert [json.loads(line) for line in out.splitlines()] == [
        {"row": 0, "rep": 0, "def": 4, "value": "user"},
        {"row": 0, "rep": 1, "def": 4, "value": "bot"},
    ]
    _, out, _ = run("pqcat", chats, "score", "--rows", "1:", "--json")
    assert [json.loads(line)["value"] for line in out.splitlines()] == ["nan", None]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["messages"], 'There is no column "messages"'),
        (["nope"], 'There is no column "nope"'),
        (["score", "--rows", "x:2"], "--rows='x:2' can't be used"),
        (["score", "--rows", "2"], "--rows='2' can't be used"),
        (["score", "--rows", "3:1"], "rows=(3, 1) can't be used"),
    ],
)
def test_pqcat_says_what_is_wrong(run, chats, words, said):
    status, out, err = run("pqcat", chats, *words)
    assert (status, out) == (1, "")
    assert said in err


def test_times_that_nanoseconds_do_not_hold(run):
    _, out, _ = run("pqcat", str(KEPT / "int96_from_spark.parquet"), "a", "--rows", "2:3")
    assert out.startswith("2\t9999-12-31")
