"""The public names of `datasets` are there, with its parameters, or stand in the one list of what is missing."""

import inspect
from pathlib import Path
from typing import Any

import pytest

import gristmill
from tools.completeness import ABSENT, find, is_there, not_yet, parent_of, read_api
from tools.datasets_api import Parameter, facts

HERE = Path(__file__).parent
NAMES = read_api()
THERE = [name for name in NAMES if is_there(name)]

# Keyword-only parameters of ours, after those of the original: what they are for.
_SKIPPING = {"on_error": "leave out rows that the function fails on"}
_SEVERAL_FILES = {"max_shard_size": "several files, by size", "num_shards": "several files, by number"}
OURS: dict[str, dict[str, str]] = {
    "Dataset.to_csv": _SEVERAL_FILES,
    "Dataset.to_json": _SEVERAL_FILES,
    "Dataset.to_parquet": {**_SEVERAL_FILES, "num_proc": "as the other two take it"},
    "IterableDataset.filter": _SKIPPING,
    **{
        f"IterableDataset.from_{name}": {"on_error": "leave out rows that are damaged"}
        for name in ("csv", "json", "parquet", "text")
    },
    "IterableDataset.map": _SKIPPING,
    "IterableDataset.with_format": {"format_kwargs": "as the other one takes them"},
    "IterableDatasetDict.with_format": {"format_kwargs": "as the other one takes them"},
}

# Constructors of ours that differ, since only Gristmill calls them.
OWN_CONSTRUCTORS = {
    "download.streaming_download_manager.xPath": "parts of a path, as pathlib takes them",
    "percent": "only its slices are used",
    "formatting.formatting.LazyBatch": "`map` makes it; ours reads from a block of rows",
    "formatting.formatting.LazyRow": "`map` makes it; ours reads from a block of rows",
    "utils.file_utils.ArchiveIterable": "`DownloadManager.iter_archive` makes it; ours takes the archive",
    "utils.file_utils.FilesIterable": "`DownloadManager.iter_files` makes it; ours takes the paths",
    "table.CastError": "raised by us; takes its message, which names row, column and value",
}

CALLED_ON_CLASS = {"classmethod", "staticmethod"}
CALLABLE = {"class", "function", "method", *CALLED_ON_CLASS}


def our_facts(name: str) -> dict[str, Any]:
    thing = find(name)
    owner = find(parent_of(name, NAMES) or "gristmill")
    if isinstance(owner, type):
        last = name.rpartition(".")[2]
        if not hasattr(owner, last):  # a field without a default
            return {"kind": "property"}
        return facts(thing, owner, last)
    return facts(thing)


def without_ours(name: str, parameters: list[Parameter]) -> list[Parameter]:
    extra = OURS.get(name, {})
    return [p for p in parameters if not (p[0] in extra and p[1] in ("keyword_only", "var_keyword"))]


def same_for_callers(theirs: Parameter, ours: Parameter) -> bool:
    """Whether a call that fits their parameter fits ours: names that can't be used in a call don't matter."""
    if theirs[1].startswith("var_"):
        return ours[1] == theirs[1]
    if theirs[1] == "positional_only":
        return ours[1] in ("positional_only", "positional_or_keyword") and ours[2:] == theirs[2:]
    return ours == theirs


def test_what_is_missing_is_listed():
    listed = (HERE / "not_yet.txt").read_text().split()
    assert listed == sorted(set(listed)), "not_yet.txt is sorted and has no name twice"
    missing = not_yet(NAMES)
    arrived, unlisted = sorted(set(listed) - set(missing)), sorted(set(missing) - set(listed))
    assert not arrived, f"there by now, take it out of not_yet.txt: {arrived}"
    assert not unlisted, f"missing and not in not_yet.txt: {unlisted}"


def test_documented_names_at_the_top_can_be_imported():
    """Libraries import them at their own top and may never touch them."""
    documented = {name for name, known in NAMES.items() if known["documented"] and "." not in name}
    assert documented <= set(gristmill.__all__)


@pytest.mark.parametrize("name", THERE)
def test_parameters(name):
    theirs, ours = NAMES[name], our_facts(name)
    assert (ours["kind"] in CALLABLE) == (theirs["kind"] in CALLABLE), f"{ours['kind']} for {theirs['kind']}"
    if theirs["kind"] in CALLED_ON_CLASS:
        assert ours["kind"] in CALLED_ON_CLASS
    if theirs.get("value"):
        assert ours["value"] == theirs["value"]
    if name in OWN_CONSTRUCTORS or name.endswith("__"):  # operators are not called by name either
        return
    if theirs.get("parameters") is not None and ours.get("parameters") is not None:
        wanted, found = theirs["parameters"], without_ours(name, ours["parameters"])
        same = len(found) == len(wanted) and all(map(same_for_callers, wanted, found))
        assert same, f"\ntheirs: {wanted}\nours:   {found}"


@pytest.mark.parametrize("name", [name for name in THERE if NAMES[name].get("same_as")])
def test_one_object_under_every_path(name):
    first = find(NAMES[name]["same_as"])
    assert first is ABSENT or find(name) is first


def test_ours_are_real_and_come_last():
    for name, extra in OURS.items():
        parameters = inspect.signature(find(name)).parameters
        for parameter, reason in extra.items():
            assert parameters[parameter].kind.name in ("KEYWORD_ONLY", "VAR_KEYWORD")
            assert reason
