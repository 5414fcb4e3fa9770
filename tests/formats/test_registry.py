"""Which format a name means."""

import pytest

from gristmill.errors import InvalidArgumentError
from gristmill.formats import format_of_path, get_format, known_formats


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.csv", "csv"), ("a.tsv.GZ", "csv"), ("x/a.jsonl.zst", "json"), ("https://h/a.parquet", "parquet"),
        ("a.txt.xz", "text"), ("a.csv.bz2", "csv"), ("a.gz", None), ("csv", None), ("a.csv/b", None), ("a.py", None), ("a.feather", "arrow"), ("a.ARROW", "arrow"), ("a.xml.gz", "xml"),
    ],
)  # fmt: skip
def test_format_of_path(path, name):
    found = format_of_path(path)
    assert (found and found.name) == name


def test_suffixes_agree_with_the_formats():
    for name in known_formats():
        for suffix in get_format(name).suffixes:
            assert format_of_path("a" + suffix) is get_format(name)


def test_unknown_format():
    with pytest.raises(InvalidArgumentError, match=r"arrow, csv, .*json, parquet, text, xml"):
        get_format("excel")
