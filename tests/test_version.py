"""Versions of datasets."""

import pytest

from gristmill import Version
from gristmill.errors import InvalidArgumentError


def test_versions_compare_as_numbers_and_with_text():
    assert Version("1.10.0") > Version("1.9.9")
    assert Version("1.0.0") == "1.0.0"
    assert Version("1.0.0") != "1.0"
    assert Version("1.0.0") <= "1.0.1"
    assert (str(Version("1.2.3")), Version("1.2.3").tuple) == ("1.2.3", (1, 2, 3))
    assert len({Version("1.0.0"), Version("1.0.0", "the same")}) == 1
    assert Version("1.0.0") != 3
    with pytest.raises(TypeError):
        assert Version("1.0.0") < 3


@pytest.mark.parametrize("text", ["1.0", "1.0.0.0", "a.b.c", "", "1.0.0\n", "1.0.0-rc1", None])
def test_other_forms_are_refused(text):
    with pytest.raises(InvalidArgumentError, match="three numbers"):
        Version(text)


def test_from_its_fields():
    assert Version.from_dict({"version_str": "1.2.3", "major": 1, "later": 0}) == "1.2.3"
