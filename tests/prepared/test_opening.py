"""Opening what was prepared: a folder that somebody, or a disk, has changed is prepared again, whatever is in it."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from gristmill.errors import FileError, FileFormatError
from gristmill.prepared.combine import prepare_and_open
from gristmill.prepared.local import local_file
from gristmill.prepared.opening import open_prepared
from gristmill.prepared.prepare import prepare
from gristmill.prepared.source import SplitSource

ODD: list[object] = [
    None,
    -1,
    1.5,
    True,
    2**70,
    "",
    "../../secret",
    "/etc/passwd",
    "x\0y",
    "\ud800",
    [],
    ["a"],
    {},
    {"a": {}},
]


def changed(value: Any) -> Iterator[Any]:
    """Yields a JSON value with each part of it, in turn, taken out or replaced by odd ones."""
    yield from ODD
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            for part in changed(value[key]):
                made = copy.copy(value)
                made[key] = part
                yield made
            made = copy.copy(value)
            del made[key]
            yield made


@pytest.fixture
def source(tmp_path) -> SplitSource:
    path = tmp_path / "a.jsonl"
    path.write_text('{"x": 1}\n{"x": 2}\n')
    return SplitSource("a", "a", "a", None, "default", "train", "json", (local_file(path),))


@pytest.mark.parametrize("name", ["dataset_info.json", "files.json", "origins.json"])
def test_records_edited_by_hand_are_refused_or_give_the_rows(name, source, tmp_path):
    folder = prepare(source, tmp_path / "cache")
    whole = (folder / name).read_text()
    for value in changed(json.loads(whole)):
        (folder / name).write_text(json.dumps(value))
        try:
            opened = open_prepared(folder, source="a")
        except (FileFormatError, FileError) as error:
            assert str(folder) in str(error) or "/" in str(value)  # noqa: PT017  # or the path that stands in it
        else:
            assert opened.table.to_pylist() == [{"x": 1}, {"x": 2}]
            if opened.split.name != "train":
                opened = prepare_and_open({"train": source}, tmp_path / "cache")["train"]
            assert opened.split.name == "train"
    (folder / name).write_text(whole)
    assert open_prepared(folder, source="a").table.num_rows == 2


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff{", b"[" * 100_000, b"9" * 5000, bytes(50)],
    ids=["none", "bytes", "deep", "number", "zeros"],
)
@pytest.mark.parametrize("name", ["dataset_info.json", "files.json", "origins.json", "a-train.arrow"])
def test_what_is_damaged_is_prepared_again(name, data, source, tmp_path):
    folder = prepare(source, tmp_path / "cache")
    (folder / name).write_bytes(data)
    opened = prepare_and_open({"train": source}, tmp_path / "cache")["train"]
    assert opened.table.to_pylist() == [{"x": 1}, {"x": 2}]
    assert (folder / name).read_bytes() != data
