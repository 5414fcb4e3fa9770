"""What a column means: features, their Arrow types, encoding, inference and checked casts."""

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
