"""The reference lists everything public, the error page is the tree of errors.py, the CLI page is what `--help` prints."""

import inspect
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gristmill
from gristmill import errors
from gristmill.not_there_yet import is_missing
from tools import cli_reference
from tools.doc_blocks import code_blocks

DOCS = Path(__file__).parent.parent.parent / "docs"
DIRECTIVE = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


def real_names() -> Iterator[tuple[str, Any]]:
    for name in gristmill.__all__:
        value = getattr(gristmill, name)
        if not name.startswith("_") and not is_missing(value):
            yield name, value


REAL = dict(real_names())


def documented() -> set[str]:
    return {name for page in DOCS.rglob("*.md") for name in DIRECTIVE.findall(page.read_text())}


@pytest.mark.parametrize("name", REAL)
def test_has_a_docstring_with_an_example(name):
    value = REAL[name]
    doc = inspect.getdoc(value) or ""
    assert doc, f"gristmill.{name} has no docstring"
    if not isinstance(value, types.ModuleType):
        assert ">>>" in doc, f"the docstring of gristmill.{name} has no example"


@pytest.mark.parametrize("name", REAL)
def test_is_in_the_reference(name):
    value = REAL[name]
    if value is errors:
        return  # its page is errors.md, which the test of the tree covers
    module = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
    paths = {f"gristmill.{name}", module, f"{module}.{getattr(value, '__qualname__', name)}"}
    assert paths & documented(), f"no page of docs/ has ::: gristmill.{name}"


def public_methods() -> Iterator[tuple[str, Any]]:
    for owner, value in REAL.items():
        if isinstance(value, type):
            for base in value.__mro__:
                if base.__module__.startswith("gristmill"):
                    for name, member in vars(base).items():
                        if not name.startswith("_") and not is_missing(member):
                            yield f"{owner}.{name}", member


METHODS = {
    name: member
    for name, member in public_methods()
    if inspect.isroutine(member) or isinstance(member, property)
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_have_docstrings(name):
    assert inspect.getdoc(METHODS[name]), f"gristmill.{name} has no docstring"


def test_the_error_page_is_the_tree():
    tree = inspect.cleandoc(errors.__doc__ or "").partition("::\n\n")[2].partition("\n\n")[0]
    first = next(block for block in code_blocks((DOCS / "errors.md").read_text()) if block.language == "text")
    assert first.text.rstrip() == inspect.cleandoc(tree), "copy the tree of errors.py into docs/errors.md"


def test_the_tree_is_true():
    """The drawing names every class, with its builtin base, under its parent."""
    first = next(block for block in code_blocks((DOCS / "errors.md").read_text()) if block.language == "text")
    drawn = {}
    trail: list[str] = []
    for line in first.text.splitlines():
        found = re.match(r"(?P<lead>[│├└─\s]*)(?P<name>\w+)(?: \((?P<builtins>[\w, ]+)\))?", line)
        assert found
        depth = len(found["lead"]) // 4
        trail[depth:] = [found["name"]]
        parents = set(trail[depth - 1 : depth] if depth else ["Exception"]) | set(
            (found["builtins"] or "").replace(",", " ").split()
        )
        drawn[found["name"]] = parents
    classes = {name for name in errors.__all__ if inspect.isclass(getattr(errors, name))}
    assert set(drawn) == classes
    for name, parents in drawn.items():
        assert {base.__name__ for base in getattr(errors, name).__bases__} == parents, name


def test_every_variable_is_on_the_page_of_variables():
    page = (DOCS / "environment.md").read_text()
    read = re.compile(r"""(?:environ\.get\(|environ\[|_flag\(|\b_path\()\s*["'](\w+)["']""")
    sources = (DOCS.parent / "src" / "gristmill").rglob("*.py")
    found = {name for source in sources for name in read.findall(source.read_text())}
    assert "HF_HOME" in found
    assert not {name for name in found if f"`{name}`" not in page}


def test_the_page_of_commands_is_up_to_date():
    assert cli_reference.main(["--check"]) == 0, "run: python tools/cli_reference.py"


def test_a_stale_page_of_commands_is_noticed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cli_reference, "PAGE", tmp_path / "cli.md")
    assert cli_reference.main(["--check"]) == 1
    assert "tools/cli_reference.py" in capsys.readouterr().err
    assert cli_reference.main([]) == 0
    assert cli_reference.main(["--check"]) == 0
