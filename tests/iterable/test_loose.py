"""Files of streams: types by the head of each, rows that do not fit, and rows that are left out."""

import json
import logging
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import load_dataset
from gristmill.errors import CastError, FileFormatError, InvalidArgumentError, SchemaConflictError
from gristmill.features import Features, Value
from gristmill.formats import csv as csv_module
from gristmill.formats import json as json_module
from gristmill.iterable import IterableDataset
from tests.iterable.proving import prove_resume, rows_of

ROWS = 60


@pytest.fixture
def head(monkeypatch):
    """Types are settled by few rows."""
    monkeypatch.setattr(csv_module, "HEAD_ROWS", 10)
    monkeypatch.setattr(json_module, "HEAD_ROWS", 10)


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def odd_json(n):
    row = {"i": n, "f": n / 2, "s": f"t{n}", "none": None, "l": [n], "d": {"x": n, "y": None}}
    if n >= 20 and n % 7 == 0:
        row |= {"i": n + 0.5, "f": n, "none": "seen", "l": [0.5], "d": {"z": 1}, "new": [n]}
    if n >= 20 and n % 11 == 0:
        row |= {"i": "text", "s": 5, "d": 3}
    return row


def as_read(n):
    row = {**odd_json(n)}
    row["f"] = float(row["f"])
    return row


@pytest.mark.parametrize("chunk", [64, 300, 1 << 20])
def test_json_rows_are_what_they_are_whatever_the_blocks(head, tmp_path, chunk):
    path = written(tmp_path / "a.jsonl", map(odd_json, range(ROWS)))
    rows = list(IterableDataset.from_json(path, chunksize=chunk))
    assert rows == [as_read(n) for n in range(ROWS)]
    if chunk == 300:
        prove_resume(lambda: IterableDataset.from_json(path, chunksize=chunk), stops=[0, 13, 22, 36])

        def typed():
            return IterableDataset.from_json(path, chunksize=chunk).select_columns(["f"]).with_format("numpy")

        prove_resume(typed, stops=[22])
        assert {type(row["f"]) for row in typed()} == {np.float64}


def test_json_types_that_clash_are_an_error_if_asked_for(head, tmp_path):
    path = written(tmp_path / "a.jsonl", [*({"a": n} for n in range(30)), {"a": 2.5}, {"a": "x"}])
    stream = IterableDataset.from_json(path, on_mixed_types=None, chunksize=64)
    with pytest.raises(
        SchemaConflictError, match=r"a\.jsonl, row 31, column .*a.*int64 to string.*features="
    ):
        list(stream)
    left = IterableDataset.from_json(path, on_mixed_types=None, chunksize=64, on_error="skip")
    assert [row["a"] for row in left][-2:] == [29, 2.5]


CELLS = {3: "7", 25: "2.5", 31: "007", 40: "x1", 41: "1e3", 52: "", 55: "9007199254740993", 58: " 8"}


def cell(n):
    return CELLS.get(n, str(n))


@pytest.mark.parametrize("size", [16, 64, 4 << 20])
def test_csv_cells_are_what_they_are_whatever_the_blocks(head, tmp_path, size):
    lines = [f"{cell(n)},{n}.5,{'true' if n % 2 else 'false'},{'' if n < 30 else n}" for n in range(ROWS)]
    lines[45] = "45,n/a?,maybe,z"
    path = tmp_path / "a.csv"
    path.write_text("i,f,b,late\n" + "\n".join(lines) + "\n")

    def make():
        return IterableDataset.from_csv(str(path), block_bytes=size)

    rows = list(make())
    values = {25: 2.5, 31: "007", 40: "x1", 41: 1000.0, 52: None, 55: 9007199254740993, 58: 8, 3: 7}
    for n, row in enumerate(rows):
        wanted = {"i": values.get(n, n), "f": n + 0.5, "b": bool(n % 2), "late": None if n < 30 else str(n)}
        if n == 45:
            wanted |= {"f": "n/a?", "b": "maybe", "late": "z"}
        assert row == wanted
        assert type(row["i"]) is type(wanted["i"])
    if size == 64:
        prove_resume(make, stops=[0, 26, 46])
        prove_resume(lambda: make().select_columns(["f", "b"]).with_format("numpy"), stops=[26])


def test_columns_and_filters_of_rows_that_do_not_fit(head, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("i,t\n" + "".join(f"{n + (0.5 if n > 40 and n % 2 else 0)},{n}\n" for n in range(ROWS)))
    stream = load_dataset(
        "csv", data_files=str(path), split="train", streaming=True, columns=["t"], filters=[("i", ">", 50)]
    )
    assert rows_of(stream) == [{"t": n} for n in range(51, ROWS)]
    path = written(tmp_path / "a.jsonl", [{"i": n + (0.5 if n > 40 else 0), "t": n} for n in range(ROWS)])
    stream = load_dataset(
        "json", data_files=path, split="train", streaming=True, columns=["t"], filters=[("i", ">", 50)]
    )
    assert rows_of(stream) == [{"t": n} for n in range(50, ROWS)]


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_the_first_row_does_not_wait_for_the_last(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    row, begin = ("1,x\n", "a,b\n") if kind == "csv" else ('{"a": 1, "b": "x"}\n', "")
    with path.open("w") as file:
        file.write(begin)
        file.write(row * 100_000)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size - 2)
        file.write(b"\xff\xff")  # an error, if somebody read it

    def make(path):
        if kind == "csv":
            return IterableDataset.from_csv(path, block_bytes=1 << 16)
        return IterableDataset.from_json(path, chunksize=1 << 16)

    assert next(iter(make(str(path)))) == {"a": 1, "b": "x"}
    with pytest.raises(FileFormatError, match=r"line 10000[01]"):
        for _ in make(str(path)).iter(10_000):
            pass


WANTED = Features({"a": Value("int64"), "b": Value("string")})


def bad_files(folder):
    good = [{"a": n, "b": f"t{n}"} for n in range(40)]
    lines = [json.dumps(row) for row in good]
    lines[7], lines[20], lines[33] = '{"a": 7,', '{"a": "no number", "b": "x"}', '{"a": 33, "b": "\udcff"}'
    (folder / "bad.jsonl").write_bytes("\n".join(lines).encode("utf-8", "surrogateescape") + b"\n")
    cells = [f"{n},t{n}" for n in range(40)]
    cells[7], cells[20], cells[33] = "7,t7,more", "no number,x", "3.5,half"
    (folder / "bad.csv").write_text("a,b\n" + "\n".join(cells) + "\n")
    texts = [f"t{n}".encode() for n in range(40)]
    texts[7], texts[20], texts[33] = b"\xff", b"a\xc3", b"\xfe\r"
    (folder / "bad.txt").write_bytes(b"\n".join(texts) + b"\n")
    table = pa.table({"a": [str(n) for n in range(40)], "b": [f"t{n}" for n in range(40)]})
    for row in (7, 20, 33):
        a = table["a"].to_pylist()
        a[row] = "no number"
        table = table.set_column(0, "a", pa.array(a))
    pq.write_table(table, folder / "bad.parquet", row_group_size=9)
    return [row for n, row in enumerate(good) if n not in (7, 20, 33)]


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "text"])
def test_bad_rows_are_errors_or_left_out(tmp_path, kind, caplog, monkeypatch):
    good = bad_files(tmp_path)
    path = str(tmp_path / f"bad.{ {'json': 'jsonl', 'text': 'txt'}.get(kind, kind) }")
    options: Any = {"csv": {"block_bytes": 64}, "json": {"chunksize": 100}, "text": {"chunksize": 50}}.get(
        kind, {}
    )
    features = None if kind == "text" else WANTED
    wanted = [{"text": row["b"]} for row in good] if kind == "text" else good
    make = getattr(IterableDataset, f"from_{kind}")
    with pytest.raises((FileFormatError, CastError), match=rf"{path}.*(row|line) "):
        list(make(path, features=features, **options))
    with caplog.at_level(logging.WARNING, logger="gristmill"):
        monkeypatch.setattr(logging.getLogger("gristmill"), "propagate", True)
        rows = list(make(path, features=features, on_error="skip", **options))
    assert rows == wanted
    told = [record.getMessage() for record in caplog.records]
    assert any("left out" in text and path in text for text in told)
    if kind != "csv":
        assert f"{path}: 3 rows were left out." in told
    prove_resume(
        lambda: make(path, features=features, on_error="skip", **options),
        stops=[0, 7, 19, 31],
    )
    stream = load_dataset(
        kind, data_files=path, split="train", streaming=True, features=features, on_error="skip", **options
    )
    assert list(stream.skip(5).take(3)) == wanted[5:8]


def test_a_damaged_row_group_is_left_out(tmp_path, caplog, monkeypatch):
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"a": range(100)}), path, row_group_size=25, compression="none", use_dictionary=False,
                   write_page_checksum=True)  # fmt: skip
    column = pq.read_metadata(path).row_group(2).column(0)
    with path.open("r+b") as file:
        file.seek(column.data_page_offset + 60)
        file.write(b"\xff" * 16)
    with pytest.raises(FileFormatError):
        list(IterableDataset.from_parquet(str(path)))

    def make():
        return IterableDataset.from_parquet(str(path), on_error="skip")

    with caplog.at_level(logging.WARNING, logger="gristmill"):
        monkeypatch.setattr(logging.getLogger("gristmill"), "propagate", True)
        assert [row["a"] for row in make()] == [*range(50), *range(75, 100)]
    assert f"{path}: 25 rows were left out." in [record.getMessage() for record in caplog.records]
    prove_resume(make, stops=[0, 49, 50, 51, 74, 75])
    assert [row["a"] for row in make().reshard()] == [*range(50), *range(75, 100)]


def test_on_error_is_checked():
    with pytest.raises(InvalidArgumentError, match="on_error"):
        IterableDataset.from_csv("x.csv", on_error="ignore")
