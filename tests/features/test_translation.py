"""Translation and TranslationVariableLanguages."""

from typing import Any

import pytest

from gristmill import Dataset
from gristmill.errors import CastError, InvalidArgumentError
from gristmill.features import Features, List, Translation, TranslationVariableLanguages, Value

FIXED = Translation(["fr", "en"])
VARIABLE = TranslationVariableLanguages(["fr", "en"])


def test_rows_with_every_language():
    ds = Dataset.from_dict(
        {"t": [{"en": "a", "fr": "b"}, None, {"en": "c"}]}, features=Features({"t": FIXED})
    )
    assert ds["t"][:] == [{"en": "a", "fr": "b"}, None, {"en": "c", "fr": None}]
    assert ds.map(lambda row: row).features["t"] == FIXED
    with pytest.raises(CastError, match="de"):
        Dataset.from_dict({"t": [{"de": "x"}]}, features=Features({"t": FIXED}))


def test_rows_with_languages_of_their_own():
    given = [{"en": "a", "fr": ["y", "x"]}, None, {}, {"language": ["fr"], "translation": ["z"]}]
    ds = Dataset.from_dict({"t": given}, features=Features({"t": VARIABLE}))
    assert ds["t"][:] == [
        {"language": ["en", "fr", "fr"], "translation": ["a", "x", "y"]},
        None,
        {"language": [], "translation": []},
        {"language": ["fr"], "translation": ["z"]},
    ]
    again = ds.map(lambda row: row)
    assert again.features["t"] == VARIABLE
    assert again.to_dict() == ds.to_dict()


@pytest.mark.parametrize("value", [{"de": "x"}, {"en": 3}, {"en": ["a", None]}, "en", {"en": None}])
def test_what_is_no_translation(value):
    with pytest.raises(CastError, match='row 1, column "t"'):
        Dataset.from_dict({"t": [{"en": "a"}, value]}, features=Features({"t": VARIABLE}))


def test_any_language_and_what_is_stored():
    free = TranslationVariableLanguages()
    assert free.encode_example({"xx": "a"}) == {"language": ["xx"], "translation": ["a"]}
    assert (free.num_languages, VARIABLE.num_languages) == (None, 2)
    assert Features({"t": FIXED, "v": free}).flatten() == Features(
        {
            "t.en": Value("string"),
            "t.fr": Value("string"),
            "v.language": List(Value("string")),
            "v.translation": List(Value("string")),
        }
    )
    bad: Any
    for bad in (None, "en", [1]):
        with pytest.raises(InvalidArgumentError, match="languages"):
            Translation(bad)
