import contextlib
import json

import pytest

from gristmill.formats import csv as csv_format
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


def test_what_is_too_large_or_failed_is_not_kept():
    kept = Kept(limit=10)
    keep(kept, "large", 6, 6, 1)
    with contextlib.suppress(KeyError), kept.keeping("failed") as keeping:
        keeping.add("x", 1)
        raise KeyError
    assert kept.take("large") is None
    assert kept.take("failed") is None


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

    where, name = (json_format, "parse_block") if format.name == "json" else (csv_format, "cell_batches")
    parse = getattr(where, name)
    calls = []

    def counted(*args, **kwargs):
        calls.append(args)
        return parse(*args, **kwargs)

    monkeypatch.setattr(where, name, counted)
    first = read()
    assert not calls  # from what settling parsed
    again = read()
    assert calls  # handed out once
    assert first == again == ([0], rows)
