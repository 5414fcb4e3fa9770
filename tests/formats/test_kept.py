import contextlib
import json
import types

import pyarrow as pa
import pytest

from gristmill import config
from gristmill.formats import json as json_format
from gristmill.formats.csv import CsvFormat
from gristmill.formats.json import JsonFormat
from gristmill.formats.kept import Kept
from gristmill.formats.source import SourceFile


def keep(kept, key, *sizes):
    with kept.keeping(key) as keeping:
        for size in sizes:
            keeping.add((key, size), size)


def test_the_oldest_go_when_room_is_needed():
    kept = Kept(limit=10)
    keep(kept, "a", 4)
    keep(kept, "b", 2, 2)
    keep(kept, "c", 4)
    assert kept.take("a") is None
    assert kept.take("b") == [("b", 2), ("b", 2)]
    assert kept.take("c") == [("c", 4)]
    assert kept.take("c") is None


def test_what_is_too_large_goes_to_a_nameless_file(tmp_path):
    kept = Kept(limit=10)
    tables = [pa.table({"a": [1, 2]}), pa.table({"a": [None, "x"]}), pa.record_batch({"b": [[1.5], []]})]
    with config.override(HF_DATASETS_CACHE=tmp_path), kept.keeping("large") as keeping:
        for i, table in enumerate(tables):
            keeping.add((i, table), 6)
    pieces = kept.take("large")
    assert pieces is not None
    assert len(pieces) == 3
    for (i, rows), (j, table) in zip(pieces, enumerate(tables), strict=True):
        assert i == j
        assert type(rows) is type(table)
        assert rows.equals(table)
    assert list(tmp_path.iterdir()) == []


def test_without_room_on_the_disk_nothing_is_kept(monkeypatch):
    kept = Kept(limit=10)
    monkeypatch.setattr("gristmill.formats.kept.shutil.disk_usage", lambda _: types.SimpleNamespace(free=100))
    with kept.keeping("large") as keeping:
        for _ in range(3):
            keeping.add((0, pa.table({"a": [1] * 9})), 72)
    assert kept.take("large") is None


def test_what_failed_is_not_kept():
    kept = Kept(limit=10)
    with contextlib.suppress(KeyError), kept.keeping("failed") as keeping:
        keeping.add("x", 1)
        raise KeyError
    assert kept.take("failed") is None


@pytest.mark.parametrize("limit", [0, 1 << 20])
def test_pieces_of_narrower_types_need_no_parsing_again(tmp_path, monkeypatch, limit):
    rows = [{"a": 1}, {"a": 2.5, "b": None}, {"b": {"c": 1}}, {"b": {"c": 2, "d": ["x"]}, "e": True}]
    path = tmp_path / "x"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(json_format, "_KEPT", Kept(limit))
    options = {"chunksize": 8}
    schema = JsonFormat().infer_schema(SourceFile(path), options)
    monkeypatch.setattr(json_format, "parse_block", None)
    batches = list(JsonFormat().read(SourceFile(path), options=options, schema=schema))
    assert [position.row for position, _ in batches] == [0, 1, 2, 3]
    assert [row for _, batch in batches for row in batch.to_pylist()] == [
        {"a": 1.0, "b": None, "e": None},
        {"a": 2.5, "b": None, "e": None},
        {"a": None, "b": {"c": 1, "d": None}, "e": None},
        {"a": None, "b": {"c": 2, "d": ["x"]}, "e": True},
    ]


@pytest.mark.parametrize("format", [JsonFormat(), CsvFormat()], ids=["json", "csv"])
def test_reading_after_settling_gives_the_same_rows(tmp_path, monkeypatch, format):
    rows = [{"a": i, "b": f"text {i}", "c": i / 4} for i in range(500)]
    path = tmp_path / "x"
    if format.name == "json":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text("a,b,c\n" + "".join(f"{r['a']},{r['b']},{r['c']}\n" for r in rows))
    schema = format.infer_schema(SourceFile(path))

    def read():
        batches = list(format.read(SourceFile(path), schema=schema))
        return [position.row for position, _ in batches], [r for _, b in batches for r in b.to_pylist()]

    whole = path.read_bytes()
    state = SourceFile(path).state()
    monkeypatch.setattr(SourceFile, "state", lambda self: state)  # as if it had never been written to

    def put(data):
        path.write_bytes(data)

    put(b"?" * len(whole))  # whoever parses the file again will not find the rows
    first = read()
    put(whole)
    again = read()  # handed out once, so this parses
    assert first == again == ([0], rows)
