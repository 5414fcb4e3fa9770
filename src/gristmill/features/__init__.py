"""What a column means: features, their Arrow types, encoding, inference and checked casts."""

import importlib
from typing import Any

from gristmill.features.arrays import Array2D, Array3D, Array4D, Array5D
from gristmill.features.json_values import Json
from gristmill.features.kinds import ClassLabel, LargeList, List, Sequence, Value
from gristmill.features.schema import Features
from gristmill.features.translation import Translation, TranslationVariableLanguages

__all__ = [
    "Array2D",
    "Array3D",
    "Array4D",
    "Array5D",
    "ClassLabel",
    "Features",
    "Json",
    "LargeList",
    "List",
    "Sequence",
    "Translation",
    "TranslationVariableLanguages",
    "Value",
]


def __getattr__(name: str) -> Any:
    if name == "features":
        # A module of `datasets`, which code reaches through `datasets.features` without an import of it.
        return importlib.import_module("gristmill.features.features")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
