"""Names of splits, what is known about each, and which of their rows are meant by ``"train[:10%]"``."""

from gristmill.splits.generator import SplitGenerator
from gristmill.splits.infos import SplitDict, SplitInfo, SplitReadInstruction, SubSplitInfo
from gristmill.splits.instructions import ReadInstruction
from gristmill.splits.names import NamedSplit, NamedSplitAll, PercentSlice, Split, SplitBase, percent

__all__ = [
    "NamedSplit",
    "NamedSplitAll",
    "PercentSlice",
    "ReadInstruction",
    "Split",
    "SplitBase",
    "SplitDict",
    "SplitGenerator",
    "SplitInfo",
    "SplitReadInstruction",
    "SubSplitInfo",
    "percent",
]
