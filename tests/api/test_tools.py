"""The tools behind the compatibility list, and the page they write."""

import json
from typing import Any

import pytest

from gristmill.not_there_yet import MissingMethod, missing_class
from tools import completeness, datasets_api


def test_the_page_is_up_to_date():
    assert completeness.main(["--check"]) == 0, "run: python tools/completeness.py"


def test_a_stale_page_is_noticed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(completeness, "PAGE", tmp_path / "page.md")
    assert completeness.main(["--check"]) == 1
    assert "run: python tools/completeness.py" in capsys.readouterr().err
    assert completeness.main([]) == 0
    assert completeness.main(["--check"]) == 0


def test_the_list_is_written_as_the_tool_writes_it():
    text = completeness.API.read_text()
    assert datasets_api.to_text(json.loads(text)) == text


def test_every_area_has_its_place():
    assert {facts["area"] for facts in completeness.read_api().values()} == set(completeness.AREAS)


def test_the_outline_is_covered():
    names = completeness.read_api()
    for name, outlined in datasets_api.read_outline(datasets_api.OUTLINE.read_text()).items():
        assert names[name]["documented"], name
        for member in outlined.members:
            assert names[f"{name}.{member}"]["documented"], f"{name}.{member}"
    for path, inner in datasets_api.read_modules(datasets_api.MODULES.read_text()).items():
        assert {path, *(f"{path}.{name}" for name in inner)} <= set(names)


class Sample:
    size: int
    later = MissingMethod()

    def go(self, a, b=1, *, c=("x",)):
        """A method."""

    @staticmethod
    def make(path):
        """A static method."""

    @property
    def name(self):
        """A property."""


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        (
            "go",
            {
                "kind": "method",
                "parameters": [
                    ["a", "positional_or_keyword"],
                    ["b", "positional_or_keyword", "1"],
                    ["c", "keyword_only", "('x',)"],
                ],
            },
        ),
        ("make", {"kind": "staticmethod", "parameters": [["path", "positional_or_keyword"]]}),
        ("name", {"kind": "property"}),
    ],
)
def test_facts_of_members(member, expected):
    assert datasets_api.facts(getattr(Sample, member), Sample, member) == expected


def test_markers_and_fields_are_told_apart(monkeypatch):
    things = {"Sample": Sample, "Later": missing_class("Later")}

    def resolve(package, path):
        first, *rest = path.split(".")
        thing = things[first]
        for part in rest:
            thing = getattr(thing, part)
        return thing

    monkeypatch.setattr(completeness, "resolve", resolve)
    there = [
        name
        for name in ("Sample", "Sample.go", "Sample.size", "Sample.later", "Later", "Later.x")
        if completeness.is_there(name)
    ]
    assert there == ["Sample", "Sample.go", "Sample.size"]


def test_what_is_inside_something_missing_goes_without_saying():
    names: dict[str, dict[str, Any]] = {
        "Nothing": {},
        "Nothing.at": {},
        "Nothing.at.all": {},
        "logging": {},
        "logging.nothing": {},
    }
    assert completeness.not_yet(names) == ["Nothing", "logging.nothing"]
