import json
from typing import Any

import pytest

from gristmill.corpus.decisions.manifest import Entry, read_manifest, write_manifest
from gristmill.corpus.licences import Licence
from gristmill.errors import FileFormatError


def entry(name: str, **values: Any) -> Entry:
    return Entry(name, f"o/{name}", "a" * 40, Licence(("mit",), declared=True), **values)


def test_round_trip_keeps_those_whose_file_is_there(tmp_path):
    entries = {
        "zeta": entry("zeta", counts={"train": 3, "val": 1, "test": 0}, outside={"github.com/a/b": "00"}),
        "boolq": entry("boolq", settings={"seed": 1}),
        "arc": entry("arc"),
        "alpha": entry("alpha", skipped="gated"),
    }
    for name in ("zeta", "boolq"):
        (tmp_path / f"{name}.jsonl").write_text("")
    write_manifest(tmp_path, entries)
    found = read_manifest(tmp_path)
    # Built-in sources in their order, then others by name; arc's file is gone.
    assert list(found) == ["boolq", "alpha", "zeta"]
    assert found == {name: entries[name] for name in found}
    assert found["zeta"].rows == 4
    assert "alpha" in (tmp_path / "DATA_LICENSES.md").read_text()


def test_no_manifest_is_an_empty_one(tmp_path):
    assert read_manifest(tmp_path) == {}


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "3", '{"sources": [3]}', '{"sources": [{"source": "x"}]}', '{"sources": 3}', "[" * 100_000],
)
def test_a_damaged_manifest_says_what_to_do(tmp_path, text):
    (tmp_path / "sources.json").write_text(text)
    with pytest.raises(FileFormatError, match=r"sources\.json.*fetch-decisions"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("source", "../../secret"), ("source", "a" * 300), ("source", 5), ("repo", None), ("commit", [1]), ("skipped", 5),
        ("repo", "\ud800"), ("counts", []), ("counts", {"train": "x"}), ("counts", {"train": -1}),
        ("counts", {"train": 1e400}), ("counts", {"invalid_kinds": [1]}), ("outside", {"a": 1}), ("settings", 5),
        ("licence", {"names": [1]}), ("licence", {"names": ["mit"], "declared": "yes"}), ("licence", None),
    ],
)  # fmt: skip
def test_facts_of_another_kind_are_damage(tmp_path, name, value):
    write_manifest(tmp_path, {"boolq": entry("boolq")})
    (tmp_path / "boolq.jsonl").write_text("")
    written = json.loads((tmp_path / "sources.json").read_text())
    written["sources"][0][name] = value
    (tmp_path / "sources.json").write_text(json.dumps(written))
    with pytest.raises(FileFormatError, match=r"sources\.json.*fetch-decisions"):
        read_manifest(tmp_path)


def test_nothing_in_it_changes_from_run_to_run(tmp_path):
    write_manifest(tmp_path, {"arc": entry("arc")})
    value = json.loads((tmp_path / "sources.json").read_text())
    assert set(value["sources"][0]) == {
        "source", "repo", "commit", "licence", "skipped", "counts", "outside", "settings",
    }  # fmt: skip
