"""Markers: importable, fit for isinstance, seen by tools, clear when used."""

import copy

import pytest

import gristmill
from gristmill.errors import NotThereYetError
from gristmill.not_there_yet import MissingMethod, is_missing, missing_class


def test_a_missing_class_can_be_named_and_not_used():
    video = missing_class("Video")
    assert not isinstance({}, video)
    assert copy.deepcopy(video) is video
    assert not hasattr(video, "from_dict")
    with pytest.raises(NotThereYetError, match=r"gristmill\.Video is not there yet"):
        video()
    with pytest.raises(NotThereYetError, match=r"gristmill\.Video\.encode"):
        video.encode()  # type: ignore[attr-defined]  # that is the point
    assert is_missing(video)


def test_a_missing_method_is_absent_on_instances_and_visible_on_the_class():
    class Thing:
        sort = MissingMethod()

    assert is_missing(Thing.sort)
    assert not hasattr(Thing(), "sort")
    with pytest.raises(NotThereYetError, match=r"gristmill\.Thing\.sort"):
        Thing().sort()
    with pytest.raises(NotThereYetError, match=r"gristmill\.Thing\.sort"):
        Thing.sort()


def test_the_face_hands_out_markers_and_refuses_unknown_names():
    assert is_missing(gristmill.Image)
    with pytest.raises(AttributeError, match="no attribute 'Datset'"):
        gristmill.Datset  # noqa: B018  # reading it is the test
