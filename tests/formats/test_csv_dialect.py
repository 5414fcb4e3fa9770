"""The options of `to_csv`: each as pandas writes it, and read back where a reader has the same option."""

from __future__ import annotations

import csv
import datetime as dt
import io
from decimal import Decimal

import pandas as pd
import pytest

from gristmill import Dataset
from gristmill.errors import CastError, ColumnNotFoundError, InvalidArgumentError

ROWS = {"i": [1, None, 3], "f": [1.5, None, -0.25], "s": ["a,b", 'q"t', "line\nx"], "b": [True, None, False]}


def _written(data, **options):
    out = io.BytesIO()
    Dataset.from_dict(data).to_csv(out, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    "options",
    [
        {"index": True},
        {"index": True, "index_label": "n"},
        {"index": True, "index_label": False},
        {"index": True, "index_label": ["n"]},
        {"columns": ["s", "i"]},
        {"columns": ["s", "i"], "header": ["X", "Y"]},
        {"header": False},
        {"header": ["w", "x,1", "y", "z"]},
        {"float_format": "%.3f", "na_rep": "NULL"},
        {"float_format": "{:.1e}".format},
        {"decimal": ","},
        {"decimal": ",", "sep": ";"},
        {"quoting": csv.QUOTE_ALL},
        {"quoting": csv.QUOTE_ALL, "na_rep": "-", "quotechar": "'"},
        {"quoting": csv.QUOTE_NONNUMERIC},
        {"quoting": csv.QUOTE_NONE, "escapechar": "\\"},
        {"lineterminator": "\r\n"},
        {"na_rep": "a,b"},
        {"encoding": "utf-16"},
        {"encoding": "latin-1"},
        {"sep": "\t", "chunksize": 2, "mode": "w", "errors": "strict"},
    ],
    ids=" ".join,
)
def test_options_write_what_pandas_writes(options):
    frame = pd.DataFrame(
        {
            "i": pd.array(ROWS["i"], "Int64"),
            "f": ROWS["f"],
            "s": ROWS["s"],
            "b": pd.array(ROWS["b"], "boolean"),
        }
    )
    if options.get("quoting"):  # pandas counts its nullable types as text
        frame = pd.DataFrame({"i": pd.Series([1, None, 3], dtype=object), "f": ROWS["f"], "s": ROWS["s"],
                              "b": pd.Series(ROWS["b"], dtype=object)})  # fmt: skip
    out = io.BytesIO()
    frame.to_csv(out, **{"index": False, **options})
    assert _written(ROWS, **options) == out.getvalue()


def test_numbers_of_rows_go_on_from_batch_to_batch(tmp_path):
    Dataset.from_dict({"a": range(5)}).to_csv(tmp_path / "a.csv", index=True, batch_size=2)
    assert (tmp_path / "a.csv").read_text() == ",a\n0,0\n1,1\n2,2\n3,3\n4,4\n"


def test_dates_and_decimals():
    data = {
        "t": [dt.datetime(2020, 1, 2, 3, tzinfo=dt.timezone.utc), None],
        "d": [dt.date(2020, 1, 2)] * 2,
        "m": [Decimal("1.50"), None],
    }
    written = _written(data, date_format="%d.%m.%Y", decimal=",", sep=";")
    assert written == b"t;d;m\n02.01.2020;2020-01-02;1,50\n;2020-01-02;\n"


@pytest.mark.parametrize("options", [{"quotechar": "'"}, {"lineterminator": "\r\n"}, {"sep": "|", "quotechar": "~"},
                                     {"escapechar": "\\", "doublequote": False}, {"decimal": ",", "sep": ";"}])  # fmt: skip
def test_what_is_written_reads_back(tmp_path, options):
    data = {
        "s": ["a'b", 'c"d', "", "NA", " x", None, "\\", "~|;,"],
        "f": [1.5, -2.25, None, 1e300, 0.1, 3.0, 2.5, 7.0],
    }
    path = tmp_path / "a.csv"
    Dataset.from_dict(data).to_csv(path, **options)
    options.pop("lineterminator", None)
    assert Dataset.from_csv(str(path), cache_dir=str(tmp_path / "c"), **options).to_dict() == data


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"indx": True}, InvalidArgumentError, 'to_csv option="indx" is not known. Did you mean "index"'),
        ({"mode": "a"}, InvalidArgumentError, "whole or not at all"),
        ({"header": ["x"]}, InvalidArgumentError, "a name for each of the 4 columns"),
        ({"columns": ["zz"]}, ColumnNotFoundError, "zz"),
        ({"quoting": 9}, InvalidArgumentError, "QUOTE_MINIMAL"),
        ({"quoting": csv.QUOTE_NONE}, CastError, "Pass escapechar="),
        ({"doublequote": False}, CastError, "Pass escapechar="),
        ({"float_format": "%d%d"}, InvalidArgumentError, "float_format"),
        ({"encoding": "klingon"}, InvalidArgumentError, "encoding"),
        ({"quotechar": ","}, InvalidArgumentError, "different characters"),
        ({"decimal": ""}, InvalidArgumentError, "decimal"),
        ({"chunksize": 0}, InvalidArgumentError, "chunksize"),
    ],
    ids=str,
)
def test_what_can_not_be_used_is_named(tmp_path, options, error, words):
    path = tmp_path / "a.csv"
    with pytest.raises(error) as caught:
        Dataset.from_dict(ROWS).to_csv(path, **options)
    assert words in str(caught.value)
    assert not path.exists()


def test_characters_that_an_encoding_has_not():
    with pytest.raises(CastError, match="'€' can't be written as latin-1"):
        _written({"s": ["5 €"]}, encoding="latin-1")
    assert _written({"s": ["5 €"]}, encoding="latin-1", errors="replace") == b"s\n5 ?\n"
