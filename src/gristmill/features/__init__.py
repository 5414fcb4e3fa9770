"""What a column means: features, their Arrow types, encoding, inference and checked casts."""

from gristmill.features.kinds import ClassLabel, LargeList, List, Sequence, Value
from gristmill.features.schema import Features

__all__ = ["ClassLabel", "Features", "LargeList", "List", "Sequence", "Value"]
