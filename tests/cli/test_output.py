"""One output object: table, JSON, quiet."""

import json
import sys

from gristmill.cli.output import Output

ROWS = [("boolq", 1234567, None, 0.5), ("[bold]arc", 3, True, 1.0)]
COLUMNS = ["source", "rows", "ok", "share"]


def test_table_aligns_numbers_and_shows_markup_as_text(capsys):
    Output().table("Sources", COLUMNS, ROWS)
    out = capsys.readouterr().out
    assert out.startswith("Sources")
    assert "1,234,567" in out
    assert "[bold]arc" in out
    assert "yes" in out
    assert "None" not in out


def test_table_as_json(capsys):
    Output(as_json=True).table("Sources", COLUMNS, ROWS)
    assert json.loads(capsys.readouterr().out) == [
        {"source": "boolq", "rows": 1234567, "ok": None, "share": 0.5},
        {"source": "[bold]arc", "rows": 3, "ok": True, "share": 1.0},
    ]
    Output(as_json=True).table("Sources", COLUMNS, ROWS, json_value={"all": 2})
    assert json.loads(capsys.readouterr().out) == {"all": 2}


def test_quiet_and_words(capsys):
    quiet = Output(quiet=True)
    quiet.table("Sources", COLUMNS, ROWS)
    quiet.say("hello")
    quiet.result({"a": 1})
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
    quiet.error("no room")
    assert capsys.readouterr().err == "gristmill: no room\n"
    Output().say("hello")
    assert capsys.readouterr().err == "hello\n"
    Output(as_json=True).say("hello")
    assert capsys.readouterr().err == ""


def test_wide_cells_are_whole_when_piped(capsys):
    Output().table("Paths", ["path"], [["x" * 150]])
    assert "x" * 150 in capsys.readouterr().out


def test_a_narrow_terminal_gets_whole_words_before_air(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    columns = ["source", *[f"column{n}" for n in range(6)]]
    rows = [("assistant_decisions", *range(6))]
    for width, row in ((100, "│ assistant_decisions │       0 │"), (80, "│assistant_decisions│      0│")):
        monkeypatch.setenv("COLUMNS", str(width))
        Output().table("Sources", columns, rows)
        assert row in capsys.readouterr().out
