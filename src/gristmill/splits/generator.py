"""`SplitGenerator`: what a builder says of one of its splits."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from gristmill.errors import InvalidArgumentError
from gristmill.splits.infos import SplitInfo

_NAME = re.compile(r"\w+(?:\.\w+)*")


@dataclass
class SplitGenerator:
    """What a builder's ``_split_generators`` says of one split.

    Args:
        name: The split: `Split.TRAIN`, or any text of letters, digits and ``_``.
        gen_kwargs: What ``_generate_examples`` or ``_generate_tables`` is called with. Lists in it are divided among
            worker processes.

    Attributes:
        split_info: What is known about the split.

    Raises:
        InvalidArgumentError: The name has other characters.

    Example:
        >>> SplitGenerator("train", {"files": ["a.txt", "b.txt"]}).split_info
        SplitInfo(name='train', num_bytes=0, num_examples=0)
    """

    name: str
    gen_kwargs: dict[str, Any] = field(default_factory=dict)
    split_info: SplitInfo = field(init=False)

    def __post_init__(self) -> None:
        self.name = str(self.name)
        if not _NAME.fullmatch(self.name):
            expected = "letters, digits and _ (with . between them)"
            raise InvalidArgumentError.from_value("name", self.name, expected)
        self.split_info = SplitInfo(name=self.name)
