"""`Translation` and `TranslationVariableLanguages`: one text in several languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa

from gristmill.errors import CastError, InvalidArgumentError, shorten
from gristmill.features.cast import cast_to
from gristmill.features.convert import to_arrow_type
from gristmill.features.encode import encode_value, needs_encoding
from gristmill.features.kinds import FeatureType, List, Value
from gristmill.features.serialize import register_kind, to_plain, with_id

__all__ = ["Translation", "TranslationVariableLanguages"]


@dataclass
class Translation:
    """A column of translations, every row in the same languages; stored as a struct of texts.

    Args:
        languages: Codes of the languages.
        id: A name of your own; kept, not interpreted.

    Raises:
        InvalidArgumentError: `languages` is no list of text.

    Example:
        >>> from gristmill import Dataset, Features
        >>> features = Features({"t": Translation(["en", "fr"])})
        >>> Dataset.from_dict({"t": [{"en": "the cat", "fr": "le chat"}]}, features=features)[0]
        {'t': {'en': 'the cat', 'fr': 'le chat'}}
    """

    languages: list[str]
    id: str | None = field(default=None, repr=False)
    dtype: ClassVar[str] = "dict"
    pa_type: ClassVar[Any] = None
    _type: ClassVar[str] = "Translation"

    def __post_init__(self) -> None:
        self.languages = _codes(self.languages)

    def __call__(self) -> pa.DataType:
        """Gives the Arrow type of the column."""
        return to_arrow_type(self.flatten())

    def flatten(self) -> dict[str, FeatureType]:
        """Gives the fields of the struct that is stored: one of text for each language, in the order of their codes."""
        return {language: Value("string") for language in sorted(self.languages)}


@dataclass
class TranslationVariableLanguages:
    """A column of translations into languages that vary from row to row, one or several texts for each.

    Stored as ``{"language": [...], "translation": [...]}``, in the order of the language codes.

    Args:
        languages: The languages there may be; None allows any.
        num_languages: Accepted for compatibility: the number of `languages`.
        id: A name of your own; kept, not interpreted.

    Raises:
        InvalidArgumentError: `languages` is no list of text.

    Example:
        >>> TranslationVariableLanguages(["de", "en", "fr"]).encode_example(
        ...     {"en": "the cat", "fr": ["le chat", "la chatte"]}
        ... )
        {'language': ['en', 'fr', 'fr'], 'translation': ['the cat', 'la chatte', 'le chat']}
    """

    languages: list[str] | None = None
    num_languages: int | None = None
    id: str | None = field(default=None, repr=False)
    dtype: ClassVar[str] = "dict"
    pa_type: ClassVar[Any] = None
    _type: ClassVar[str] = "TranslationVariableLanguages"

    def __post_init__(self) -> None:
        self.languages = sorted(set(_codes(self.languages))) if self.languages else None
        self.num_languages = len(self.languages) if self.languages else None

    def __call__(self) -> pa.DataType:
        """Gives the Arrow type of the column."""
        return to_arrow_type(self.flatten())

    def flatten(self) -> dict[str, FeatureType]:
        """Gives the fields of the struct that is stored."""
        return {"language": List(Value("string")), "translation": List(Value("string"))}

    def encode_example(self, translation_dict: Mapping[str, Any] | None) -> dict[str, list[str]] | None:
        """Turns texts by language into the two lists that are stored.

        Args:
            translation_dict: Language to its text, or to a list of texts; or the two lists already; None stays None.

        Raises:
            CastError: A language is not among those of this feature, or this is no such dict.
        """
        if translation_dict is None:
            return None
        if not isinstance(translation_dict, Mapping):
            raise CastError.at(f"{shorten(translation_dict)} is no dict of texts by language")
        if _is_stored(translation_dict):
            pairs = list(zip(translation_dict["language"], translation_dict["translation"], strict=True))
        else:
            pairs = sorted(_pairs(translation_dict))
        unknown = sorted({language for language, _ in pairs} - set(self.languages or [p[0] for p in pairs]))
        if unknown:
            raise CastError.at(
                f"the languages {', '.join(unknown[:10])} are not among those of the feature "
                f"({', '.join((self.languages or [])[:20])})"
            )
        return {"language": [pair[0] for pair in pairs], "translation": [pair[1] for pair in pairs]}


def _codes(languages: Any) -> list[str]:
    if not isinstance(languages, list | tuple) or not all(isinstance(code, str) for code in languages):
        raise InvalidArgumentError.from_value("languages", languages, 'a list of codes, as ["en", "fr"]')
    return list(languages)


def _is_stored(value: Mapping[str, Any]) -> bool:
    lists = [value.get("language"), value.get("translation")]
    return (
        set(value) == {"language", "translation"}
        and all(isinstance(items, list | tuple) for items in lists)
        and len({len(items) for items in lists if items is not None}) == 1
    )


def _pairs(texts: Mapping[str, Any]) -> list[tuple[str, str]]:
    pairs = []
    for language, given in texts.items():
        for text in (
            [given] if isinstance(given, str) else given if isinstance(given, list | tuple) else [None]
        ):
            if not isinstance(text, str):
                raise CastError.at(
                    f"{shorten(given)} is no text in the language {language}, nor a list of texts"
                )
            pairs.append((language, text))
    return pairs


@to_arrow_type.register(Translation)
@to_arrow_type.register(TranslationVariableLanguages)
def _struct_type(feature: Translation | TranslationVariableLanguages) -> pa.DataType:
    return feature()


@cast_to.register(Translation)
@cast_to.register(TranslationVariableLanguages)
def _cast_struct(feature: Translation | TranslationVariableLanguages, array: Any) -> Any:
    return cast_to(feature.flatten(), array)


@encode_value.register
def _(feature: Translation, value: Any, column: str = "") -> Any:
    return encode_value(feature.flatten(), value, column)


@needs_encoding.register
def _(feature: Translation) -> bool:
    return False


@to_plain.register
def _(feature: Translation) -> dict[str, Any]:
    return with_id({"languages": list(feature.languages)}, feature)


@to_plain.register
def _(feature: TranslationVariableLanguages) -> dict[str, Any]:
    if feature.languages is None:
        return with_id({}, feature)
    return with_id({"languages": list(feature.languages), "num_languages": feature.num_languages}, feature)


register_kind(
    "Translation", lambda entries: Translation(languages=entries["languages"], id=entries.get("id"))
)
register_kind(
    "TranslationVariableLanguages",
    lambda entries: TranslationVariableLanguages(languages=entries.get("languages"), id=entries.get("id")),
)
