"""The options of `to_json`: the documents that pandas writes, values of ours."""

from __future__ import annotations

import datetime as dt
import io
import json

import pandas as pd
import pytest

from gristmill import Dataset, Features, Json
from gristmill.errors import InvalidArgumentError

ROWS = {"a": [1, None, 3], "s": ["x", 'q"é', "z"], "l": [[1, 2], [], None]}


def _written(data, **options):
    out = io.BytesIO()
    size = Dataset.from_dict(data).to_json(out, **options)
    assert size == len(out.getvalue())
    return out.getvalue().decode()


@pytest.mark.parametrize("orient", ["split", "index", "columns", "values", "records"])
@pytest.mark.parametrize("indent", [None, 0, 3])
def test_documents_are_those_of_pandas(orient, indent):
    data = {"a": [1, 2, 3], "s": ["x", 'q"é', "z"]}
    index = False if orient == "split" else None
    theirs = pd.DataFrame(data).to_json(orient=orient, indent=indent, index=index)
    ours = _written(data, orient=orient, lines=False, indent=indent)
    assert json.loads(ours) == json.loads(theirs)
    if indent:
        assert ours == theirs + "\n"
    assert _written({"a": []}, orient=orient, lines=False, indent=indent).strip("\n")[0] in "[{"


def test_rows_go_on_from_batch_to_batch():
    data = {"a": range(25_001)}
    assert json.loads(_written(data, orient="index"))["25000"] == {"a": 25_000}
    assert json.loads(_written(data, orient="values"))[-1] == [25_000]
    assert json.loads(_written(data, orient="split", index=True)) == {
        "columns": ["a"], "index": list(range(25_001)), "data": [[i] for i in range(25_001)],
    }  # fmt: skip


def test_times_and_digits():
    moment = dt.datetime(2021, 2, 3, 4, 5, 6, 789_000, tzinfo=dt.timezone.utc).replace(tzinfo=None)
    data = {"t": [moment, None], "d": [dt.date(1969, 12, 31)] * 2, "e": [dt.timedelta(seconds=1.5)] * 2}
    assert _written(data, date_format="epoch") == (
        '{"t":1612325106789,"d":-86400000,"e":1500}\n{"t":null,"d":-86400000,"e":1500}\n'
    )
    assert _written({"t": [moment]}, date_format="epoch", date_unit="s") == '{"t":1612325106}\n'
    assert _written({"t": [moment]}, date_unit="s") == '{"t":"2021-02-03T04:05:06"}\n'
    assert _written({"t": [moment]}, date_format="iso") == '{"t":"2021-02-03T04:05:06.789000"}\n'
    nested = {"f": [[1 / 3, None]], "g": [{"h": 2 / 3}]}
    assert _written(nested, double_precision=3) == '{"f":[0.333,null],"g":{"h":0.667}}\n'
    assert _written({"f": [float("inf"), 0.5]}, double_precision=3) == '{"f":null}\n{"f":0.5}\n'


def test_values_of_any_type_keep_theirs():
    out = io.BytesIO()
    mixed = Dataset.from_dict({"v": ["1", 1, {"k": [2**70]}]}, features=Features({"v": Json()}))
    mixed.to_json(out, orient="values")
    assert json.loads(out.getvalue()) == [["1"], [1], [{"k": [2**70]}]]


def test_indent_means_a_document():
    assert _written({"a": [1]}, indent=2) == '[\n  {\n    "a":1\n  }\n]\n'
    assert _written(ROWS, lines=None, index=False, mode="w") == _written(ROWS)
    assert json.loads(_written(ROWS, indent=2))[1] == {"a": None, "s": 'q"é', "l": []}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"orient": "table"}, 'orient="table" is not known'),
        ({"orient": "zz"}, 'orient="zz" is not known'),
        ({"indnt": 2}, 'Did you mean "indent"'),
        ({"mode": "a"}, "whole or not at all"),
        ({"orient": "split", "lines": True}, "lines=True"),
        ({"indent": 2, "lines": True}, "several lines"),
        ({"index": True}, "index=True does not go"),
        ({"orient": "columns", "index": False}, "index=False does not go"),
        ({"date_format": "zz"}, "date_format"),
        ({"date_unit": "zz"}, "date_unit"),
        ({"double_precision": -1}, "double_precision"),
    ],
    ids=str,
)
def test_what_can_not_be_used_is_named(tmp_path, options, words):
    with pytest.raises(InvalidArgumentError) as caught:
        Dataset.from_dict(ROWS).to_json(tmp_path / "a.json", **options)
    assert words in str(caught.value)
    assert not (tmp_path / "a.json").exists()
