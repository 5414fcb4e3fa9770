"""Progress is silent without a terminal and switched off by the documented variables."""

import io
import re
import sys

import pytest

from gristmill import progress
from gristmill.progress import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars, track


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clean(monkeypatch):
    monkeypatch.delenv("HF_DATASETS_DISABLE_PROGRESS_BARS", raising=False)
    monkeypatch.delenv("HF_HUB_DISABLE_PROGRESS_BARS", raising=False)
    monkeypatch.setattr(progress, "_disabled_by_code", False)
    return monkeypatch


def test_shows_on_a_terminal_only(clean):
    terminal, pipe = Terminal(), io.StringIO()
    clean.setattr(sys, "stderr", terminal)
    assert list(track(range(3), "counting")) == [0, 1, 2]
    assert "counting" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()
    clean.setattr(sys, "stderr", pipe)
    assert list(track(iter("ab"), "counting")) == ["a", "b"]
    assert pipe.getvalue() == ""


def test_code_switches_bars_off_and_on(clean):
    terminal = Terminal()
    clean.setattr(sys, "stderr", terminal)
    disable_progress_bars()
    assert are_progress_bars_disabled()
    list(track([1], "counting"))
    assert terminal.getvalue() == ""
    enable_progress_bars()
    assert not are_progress_bars_disabled()


@pytest.mark.parametrize("name", ["HF_DATASETS_DISABLE_PROGRESS_BARS", "HF_HUB_DISABLE_PROGRESS_BARS"])
def test_the_environment_wins(clean, name):
    clean.setenv(name, "1")
    enable_progress_bars()
    assert are_progress_bars_disabled()
    clean.setenv(name, "0")
    disable_progress_bars()
    assert not are_progress_bars_disabled()


def test_bytes_are_scaled(clean):
    terminal = Terminal()
    clean.setattr(sys, "stderr", terminal)
    with progress.progress("downloading", total=2_000_000, unit="B") as bar:
        bar.update(2_000_000)
    assert "2.00M/2.00M" in terminal.getvalue()


def test_a_bar_below_another_is_wiped_when_done(clean):
    terminal = Terminal()
    clean.setattr(sys, "stderr", terminal)
    list(track([1], "outer"))
    assert terminal.getvalue().endswith("\n")
    with progress.progress("outer", total=1):
        list(track([1], "inner"))
        assert re.search(r"\n\r +\x1b\[A$", terminal.getvalue())


def test_the_switches_of_the_logging_module_too():
    from gristmill import logging

    assert logging.disable_progress_bar is progress.disable_progress_bar
    with pytest.raises(AttributeError, match="nothing"):
        _ = logging.nothing


def test_is_silent_where_standard_error_was_closed(clean):
    clean.setattr(sys, "stderr", None)
    assert list(track(range(3), "counting")) == [0, 1, 2]
