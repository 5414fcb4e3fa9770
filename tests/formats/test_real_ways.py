"""Arrow, CSV and JSON files of many writers: the same rows prepared, streamed, by `Dataset.from_...` and with half of the
columns, and the rows that pyarrow, pandas or `json` reads; or refused in every way, by name."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import gristmill
from gristmill.errors import GristmillError
from tests.formats.real_files import Case, check_same
from tests.shared import SHARED

ARROW, TABULAR = SHARED / "arrow", SHARED / "tabular"
pytestmark = pytest.mark.skipif(not TABULAR.exists(), reason="the collection of real files is not here")

# Two columns of one name; bytes in a union, which JSON has not.
NOT_ARROW = {"generated_duplicate_fieldnames", "generated_union"}
# Rows of more cells than the header, of which pandas makes an index or which it refuses too; bytes of other encodings
# than is said; quotes that do not end; keys that stand twice.
REFUSED = {
    "all_quotes.csv", "skip_row.csv", "csv_quoted_newline_odd.csv", "decimal_separators.csv", "inconsistent_cells.csv",
    "latin1.csv", "shift_jis.csv", "unterminated.csv", "duplicate_key.ndjson", "array_comma_malformed.json",
    "trailing_content.ndjson", "unterminated_quotes.ndjson",
}  # fmt: skip
# How pandas has to be asked for what the file says: its encoding, and numbers with zeros in front as text.
OPTIONS: dict[str, dict[str, Any]] = {
    "utf16.csv": {"encoding": "utf-16"},
    "invalid_utf8.csv": {"encoding": "utf-16"},
    "leading_zeros.csv": {"dtype": {"CODGEO": str}},
    "ontime_sample.csv": {"dtype": dict.fromkeys(("DestStateFips", "DepTime", "CRSDepTime"), str)},
}
# Cells of "", which are empty text here and missing for pandas.
EMPTY_TEXT = {"customer.csv", "ontime_sample.csv"}


def arrow_files() -> list[Path]:
    found = [
        *ARROW.glob("ipc/*/*.arrow_file"),
        *ARROW.glob("ipc/*/*.stream"),
        *ARROW.glob("save_to_disk/**/*.arrow"),
    ]
    return sorted(path for path in found if path.name.partition(".")[0] not in NOT_ARROW)


def read_arrow(path: Path) -> pa.Table:
    try:
        return pa.ipc.open_file(pa.OSFile(str(path))).read_all()
    except pa.ArrowInvalid:
        return pa.ipc.open_stream(pa.OSFile(str(path))).read_all()


@pytest.mark.parametrize("part", range(4))
def test_arrow_files_are_the_same_in_every_way(part: int, tmp_path: Path) -> None:
    wrong = {}
    for number, path in enumerate(arrow_files()[part::4]):
        case = Case(str(path), tmp_path / str(number), "arrow")
        check_same(case, read_arrow(path), workers=False)
        if case.wrong:
            wrong[path.name] = case.wrong
    assert wrong == {}


def same(value: Any) -> Any:
    """Brings values to what counts: fields that a row lacks are None, and pandas and JSON have 1 and 1.0."""
    if value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, dict):
        return {str(key): same(item) for key, item in value.items() if same(item) is not None}
    if isinstance(value, list):
        return [same(item) for item in value]
    return value.item() if hasattr(value, "item") else value


def read_csv(path: Path) -> list[Any]:
    source: Any = path
    if path.suffix == ".zst":
        source = pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")
    return list(same(pd.read_csv(source, **OPTIONS.get(path.name, {})).to_dict("records")))


def read_json(path: Path) -> list[Any]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    rows, at = [], 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        row, at = json.JSONDecoder().raw_decode(text, at)
        rows += row if isinstance(row, list) else [row]
    # What is no object is a row of one column.
    return list(same([row if isinstance(row, dict) else {"text": row} for row in rows]))


READERS = {"csv": read_csv, "json": read_json}


def ways(format: str, path: Path, folder: Path) -> dict[str, Any]:
    """Gives for each way the rows, or the error."""

    def load(**options: Any) -> Any:
        if not options.get("streaming"):
            options["cache_dir"] = str(folder)
        return gristmill.load_dataset(format, data_files=str(path), split="train", **options)

    def half(**options: Any) -> tuple[list[str], list[Any]]:
        names = load().column_names[::2]
        return names, list(load(columns=names, **options))

    def answer(read: Callable[[], Any]) -> Any:
        try:
            return read()
        except GristmillError as error:
            return error

    ways_to_read: dict[str, Callable[[], Any]] = {
        "prepared": lambda: list(load()),
        "streamed": lambda: list(load(streaming=True)),
        "from": lambda: list(
            getattr(gristmill.Dataset, f"from_{format}")(str(path), cache_dir=str(folder / "from"))
        ),
        "half": half,
        "half streamed": lambda: half(streaming=True),
    }
    return {way: answer(read) for way, read in ways_to_read.items()}


@pytest.mark.parametrize("format", READERS)
@pytest.mark.filterwarnings("ignore::pandas.errors.DtypeWarning")
def test_tabular_files_are_the_same_in_every_way(format: str, tmp_path: Path) -> None:
    refused = set()
    paths = sorted(
        path for path in TABULAR.rglob("*") if path.is_file() and (".csv" in path.name) == (format == "csv")
    )
    for number, path in enumerate(paths):
        made = ways(format, path, tmp_path / str(number))
        if any(isinstance(answer, GristmillError) for answer in made.values()):
            for way, answer in made.items():
                assert isinstance(answer, GristmillError), (path, way)
                assert path.name in str(answer), (way, answer)
            refused.add(path.name)
            continue
        rows = made["prepared"]
        assert repr(made["streamed"]) == repr(rows) == repr(made["from"]), path
        for way in ("half", "half streamed"):
            names, some = made[way]
            assert repr(some) == repr([{name: row[name] for name in names} for row in rows]), (path, way)
        if path.name in EMPTY_TEXT:
            rows = [{name: None if value == "" else value for name, value in row.items()} for row in rows]
        assert same(rows) == READERS[format](path), path
    assert refused == {path.name for path in paths if path.name in REFUSED}
