"""The law of loading: what was written in a format is what `load_dataset` gives, prepared and as a stream."""

import shutil
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill import Dataset, Features, Value, load_dataset
from gristmill.formats import get_format
from tests.formats.test_round_trips import TYPES, tables

SUFFIX = {"csv": ".csv", "json": ".jsonl", "parquet": ".parquet", "arrow": ".arrow"}


def both_ways(format: str, folder: Any, **arguments: Any) -> list[list[dict[str, Any]]]:
    """Loads prepared and as a stream."""
    shutil.rmtree(folder / "cache", ignore_errors=True)
    cache = str(folder / "cache")
    whole = load_dataset(format, split="train", cache_dir=cache, **arguments)
    return [
        list(whole),
        list(load_dataset(format, split="train", cache_dir=cache, streaming=True, **arguments)),
    ]


@pytest.mark.parametrize("format", SUFFIX)
def test_files_of_random_tables(format, tmp_path, monkeypatch):
    monkeypatch.setitem(TYPES, "arrow", TYPES["parquet"])

    @settings(max_examples=10, deadline=None)
    @given(st.data())
    def law(data: Any) -> None:
        table = data.draw(tables(format))
        cut = data.draw(st.integers(0, table.num_rows))
        files = []
        for number, part in enumerate((table[:cut], table[cut:])):
            files.append(str(tmp_path / f"{number}{SUFFIX[format]}"))
            get_format(format).write(part.to_batches(4), files[-1], schema=table.schema)
        features = Features.from_arrow_schema(table.schema)
        expected = Dataset(table).to_list()
        for rows in both_ways(format, tmp_path, data_files=files, features=features):
            assert rows == expected

    law()


def test_text_of_random_lines(tmp_path):
    @settings(max_examples=10, deadline=None)
    @given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=9)))
    def law(lines: list[str]) -> None:
        (tmp_path / "x.txt").write_bytes("".join(f"{line}\n" for line in lines).encode())
        if lines and lines[0].startswith("\ufeff"):  # at the beginning of a file it is its mark, not text
            lines = [lines[0][1:], *lines[1:]]
        for rows in both_ways("text", tmp_path, data_files=str(tmp_path / "x.txt")):
            assert rows == [{"text": line} for line in lines]

    law()


def test_xml_of_random_records(tmp_path):
    features = Features({"a": Value("int64"), "b": Value("string")})

    @settings(max_examples=10, deadline=None)
    @given(
        st.lists(
            st.tuples(st.integers(-(2**63), 2**63 - 1), st.text("ab &<>é\U0001f600", max_size=5)), min_size=1
        )
    )
    def law(rows: list[tuple[int, str]]) -> None:
        from xml.sax.saxutils import escape

        body = "".join(f"<row><a>{a}</a><b>x{escape(b)}x</b></row>" for a, b in rows)
        (tmp_path / "x.xml").write_text(f"<rows>{body}</rows>", "utf-8")
        arguments = {"data_files": str(tmp_path / "x.xml"), "record": "row", "features": features}
        for got in both_ways("xml", tmp_path, **arguments):
            assert got == [{"a": a, "b": f"x{b}x"} for a, b in rows]

    law()


def test_sql_of_random_tables(tmp_path):
    types = {pa.int64(): "int64", pa.float64(): "float64", pa.string(): "string", pa.bool_(): "bool"}

    @settings(max_examples=10, deadline=None)
    @given(tables("csv"))
    def law(table: pa.Table) -> None:
        con = f"sqlite:///{tmp_path / 'x.db'}"
        (tmp_path / "x.db").unlink(missing_ok=True)
        made = Dataset(table)
        made.to_sql("t", con)
        features = Features({field.name: Value(types[field.type]) for field in table.schema})
        for rows in both_ways("sql", tmp_path, sql="t", con=con, features=features):
            assert rows == made.to_list()

    law()
