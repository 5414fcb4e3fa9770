"""A missing library is named with its feature and the command that installs it; a broken one speaks for itself."""

import sys

import pytest

from gristmill.errors import MissingDependencyError
from gristmill.optional import installed, require


def test_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingDependencyError) as caught:
        require("uvicorn", "`gristmill hub serve`")
    assert str(caught.value) == (
        "`gristmill hub serve` needs the library uvicorn, which is not installed. "
        'Run: pip install "gristmill[server]"'
    )
    assert caught.value.name == "uvicorn"
    assert isinstance(caught.value, ImportError)


def test_a_feature_can_name_the_extra_that_brings_all_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingDependencyError, match=r"gristmill\[demo\]"):
        require("uvicorn", "`gristmill demo`", extra="demo")


def test_a_library_without_an_extra_is_named_itself():
    with pytest.raises(MissingDependencyError, match="pip install nosuchlib"):
        require("nosuchlib.inner", "X")


def test_a_broken_library_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "brokenlib.py").write_text("import what_it_needs_itself")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="what_it_needs_itself") as caught:
        require("brokenlib", "X")
    assert not isinstance(caught.value, MissingDependencyError)


def test_installed():
    assert installed("json")
    assert not installed("nosuchlib")
