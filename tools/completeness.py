"""Writes docs/completeness.md: which of the public names of `datasets` are there, from tests/api/datasets_api.json.

::

    python tools/completeness.py           write the page
    python tools/completeness.py --check   say whether the page is up to date (exit status 1 if not)
    python tools/completeness.py --list    print what is not there yet, in the form of tests/api/not_yet.txt

A name is there if it can be reached under `gristmill` and is no marker of `gristmill.not_there_yet`.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
if __name__ == "__main__":  # as a script, only this folder is on the path
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from gristmill.not_there_yet import is_missing  # noqa: E402  # needs the path set above
from tools.datasets_api import resolve  # noqa: E402

PAGE = ROOT / "docs" / "completeness.md"
API = ROOT / "tests" / "api" / "datasets_api.json"

# The order of the page: what most code uses first.
AREAS = [
    "Loading datasets",
    "Dataset",
    "IterableDataset",
    "Features",
    "Splits and versions",
    "Downloads",
    "Builders",
    "Loading files",
    "Table classes",
    "Fingerprint and file systems",
    "Logging",
    "Progress bars",
    "Other names at the top",
    "Module paths",
]


def read_api() -> dict[str, dict[str, Any]]:
    """Reads the list of public names: name -> facts."""
    names: dict[str, dict[str, Any]] = json.loads(API.read_text(encoding="utf-8"))["names"]
    return names


ABSENT = object()


def find(name: str) -> Any:
    """Gives what a public name stands for in Gristmill, or `ABSENT` if it is missing or a marker.

    Instance attributes that a class only annotates (fields of a dataclass) give their annotation.
    """
    try:
        thing = resolve("gristmill", name)
    except (AttributeError, ModuleNotFoundError):
        owner_name, _, attribute = name.rpartition(".")
        owner = find(owner_name) if owner_name else ABSENT
        return _fields(owner).get(attribute, ABSENT) if isinstance(owner, type) else ABSENT
    return ABSENT if is_missing(thing) else thing


def _fields(cls: type) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        fields.update(inspect.get_annotations(base))
    if dataclasses.is_dataclass(cls):
        fields.update({field.name: field for field in dataclasses.fields(cls)})
    return fields


def is_there(name: str) -> bool:
    """Says whether a public name of `datasets` is there in Gristmill."""
    return find(name) is not ABSENT


def parent_of(name: str, names: dict[str, dict[str, Any]]) -> str | None:
    """Gives the class or module of the list that a name belongs to, if it has one there."""
    owner = name.rpartition(".")[0]
    while owner and owner not in names:
        owner = owner.rpartition(".")[0]
    return owner or None


def not_yet(names: dict[str, dict[str, Any]]) -> list[str]:
    """Lists what is missing, sorted; what is inside something missing goes without saying."""
    missing = {name for name in names if not is_there(name)}
    return sorted(name for name in missing if parent_of(name, names) not in missing)


def _share(there: int, total: int) -> str:
    # Rounded down: 100% means everything.
    return f"{there} of {total} ({100 * there // total}%)"


def _groups(names: dict[str, dict[str, Any]], area: str) -> Iterator[tuple[str, list[str]]]:
    """Gives the rows of one area's table: a class or module with its members, or names that stand alone."""
    own = [name for name, facts in names.items() if facts["area"] == area]
    members: dict[str, list[str]] = {}
    for name in own:
        parent = parent_of(name, names)
        if parent in own:
            members.setdefault(str(parent), []).append(name)
    grouped = {*members, *(name for group in members.values() for name in group)}
    alone = [name for name in own if name not in grouped]
    if alone:
        yield "", alone
    for owner in sorted(members):
        yield owner, [owner, *members[owner]]


def _cell(names: list[str], owner: str) -> str:
    shown = [name.removeprefix(f"{owner}.") if owner else name for name in names if name != owner]
    return ", ".join(f"`{name}`" for name in shown) or "–"


def _area_section(names: dict[str, dict[str, Any]], area: str, there: set[str]) -> list[str]:
    own = [name for name, facts in names.items() if facts["area"] == area]
    lines = [f"## {area}", "", _share(sum(name in there for name in own), len(own)) + ".", ""]
    lines += ["| class or module | share | there | not yet |", "| --- | --- | --- | --- |"]
    for owner, members in _groups(names, area):
        here = [name for name in members if name in there]
        away = [name for name in members if name not in there]
        row = [
            f"`{owner}`" if owner else "–",
            _share(len(here), len(members)),
            _cell(here, owner),
            _cell(away, owner),
        ]
        lines.append("| " + " | ".join(row) + " |")
    return [*lines, ""]


def render(api: dict[str, Any]) -> str:
    """Writes the page as Markdown."""
    names: dict[str, dict[str, Any]] = dict(sorted(api["names"].items()))
    there = {name for name in names if is_there(name)}
    documented = [name for name, facts in names.items() if facts["documented"]]
    lines = [
        "# Completeness",
        "",
        f"Which public names of `datasets` {api['version']} Gristmill has.",
        "A name that is not there yet can be imported where libraries expect it and raises `NotThereYetError` when used.",
        "`tools/completeness.py` writes this page; tests compare every name that is there with the original's parameters.",
        "",
        "| area | documented names | with all public ones |",
        "| --- | --- | --- |",
    ]
    for area in AREAS:
        every = [name for name, facts in names.items() if facts["area"] == area]
        listed = [name for name in every if names[name]["documented"]]
        first = _share(sum(name in there for name in listed), len(listed)) if listed else "–"
        lines.append(f"| {area} | {first} | {_share(sum(name in there for name in every), len(every))} |")
    shares = [
        _share(sum(name in there for name in documented), len(documented)),
        _share(len(there), len(names)),
    ]
    lines += [f"| **all** | **{shares[0]}** | **{shares[1]}** |", ""]
    for area in AREAS:
        lines += _area_section(names, area, there)
    return "\n".join(lines).rstrip() + "\n"


def main(arguments: list[str]) -> int:
    """Runs the tool; gives the exit status."""
    if arguments == ["--list"]:
        print("\n".join(not_yet(read_api())))
        return 0
    page = render(json.loads(API.read_text(encoding="utf-8")))
    if arguments == ["--check"]:
        stale = not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != page
        if stale:
            print(f"{PAGE} is out of date; run: python tools/completeness.py", file=sys.stderr)
        return int(stale)
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
