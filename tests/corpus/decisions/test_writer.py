import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gristmill.corpus.decisions.record import Option, Record
from gristmill.corpus.decisions.writer import iter_records, record_line, write_records
from gristmill.errors import FileError, FileFormatError

RECORD = Record(
    "choice", "Which?", (Option("a", "é\u2028"), Option("b")), "x\ny", (0.25, 0.75), "s", "g", "val"
)


def test_a_record_is_one_line_with_keys_in_order():
    line = record_line(RECORD)
    assert line == (
        '{"type": "choice", "instructions": "Which?", "options": [{"key": "a", "description": "é\u2028"}, '
        '{"key": "b", "description": null}], "state": "x\\ny", "target": [0.25, 0.75], "source": "s", '
        '"group": "g", "split": "val"}\n'
    )
    assert json.loads(line)["options"][0]["description"] == "é\u2028"


TEXT = st.text(max_size=30)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.builds(lambda i, d, s, p: Record("choice", i, (Option("a", d), Option("b")), s, (p, 1 - p),
                                                    "s", "g", "train"), TEXT, st.none() | TEXT, TEXT, st.floats(0, 1)),
                max_size=5))  # fmt: skip
def test_any_text_survives_the_round_trip(tmp_path, records):
    path = tmp_path / "r.jsonl"
    write_records(path, records)
    assert list(iter_records(path)) == records


@pytest.mark.parametrize("line", ["{", "[]", "3", "null", '{"type": "noul"}', '{"a": ' * 20_000])
def test_a_damaged_line_is_named(tmp_path, line):
    path = tmp_path / "r.jsonl"
    path.write_text(record_line(RECORD) + line + "\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"r\.jsonl, line 2: not a decision record"):
        list(iter_records(path))


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FileFormatError, match=r"r\.jsonl"):
        list(iter_records(path))


def test_a_folder_that_can_not_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="file"):
        write_records(tmp_path / "file" / "r.jsonl", [RECORD])


def test_what_a_line_lacks_is_said_once(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text('{"a": 1}\n', encoding="utf-8")
    with pytest.raises(
        FileFormatError, match=r"line 1: not a decision record \(the field 'type' is missing\)\.$"
    ):
        list(iter_records(path))
