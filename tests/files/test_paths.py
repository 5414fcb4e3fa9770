"""Paths from outside stay inside."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import UnsafePathError
from gristmill.files.paths import check_relative, expand_home, safe_join

BAD = [
    "", "/", "/etc/passwd", "..", "../x", "a/../b", "a/..", ".", "./a", "a/.", "a//b", "a/", "a\\b", "..\\x", "a\0b",
    "C:/x", "c:",
]  # fmt: skip
GOOD = ["a", "a/b.txt", "..a", "a..", ".git", "...", "a b/ü#%.parquet", "C/x", "CC:/x", "a:b"]


@pytest.mark.parametrize("path", BAD)
def test_refused(path, tmp_path):
    with pytest.raises(UnsafePathError):
        check_relative(path)
    with pytest.raises(UnsafePathError) as caught:
        safe_join(tmp_path, path)
    assert isinstance(caught.value, ValueError)
    assert str(tmp_path) in str(caught.value)


def test_what_utf8_can_not_write_is_refused():
    with pytest.raises(UnsafePathError, match=r"'data/\\udcff' is no text that UTF-8 can write"):
        check_relative("data/\udcff")


def test_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert expand_home("~/a") == tmp_path / "a"
    assert expand_home("~no-such-user/a") == Path("~no-such-user/a")
    assert expand_home(Path("a")) == Path("a")


@pytest.mark.parametrize("path", GOOD)
def test_taken(path, tmp_path):
    assert check_relative(path) == path
    assert safe_join(tmp_path, path) == tmp_path / path


def test_links_that_leave_are_refused(tmp_path):
    inside = tmp_path / "in"
    inside.mkdir()
    (tmp_path / "secret").write_text("x")
    (inside / "out").symlink_to(tmp_path)
    (inside / "file").symlink_to("../secret")
    (inside / "real").write_text("y")
    (inside / "fine").symlink_to("real")
    for path in ("out/secret", "out/new", "file"):
        with pytest.raises(UnsafePathError):
            safe_join(inside, path)
    assert safe_join(inside, "fine").read_text() == "y"


@pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="resolve() leaves circles alone since, and opening one fails"
)
def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for path in ("loop", "loop/x"):
        with pytest.raises(UnsafePathError):
            safe_join(tmp_path, path)


def test_a_folder_reached_by_a_link_is_a_folder(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert safe_join(tmp_path / "link", "a/b") == tmp_path / "link/a/b"


@given(st.text(alphabet="./\\ab:C\0", max_size=12))
def test_what_passes_never_leaves(text):
    from pathlib import Path

    try:
        joined = safe_join(Path("/no/such/folder"), text)
    except UnsafePathError:
        return
    assert joined.is_relative_to("/no/such/folder")
    assert ".." not in joined.parts
