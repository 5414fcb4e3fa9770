"""`Version`: three numbers that name a dataset's version."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gristmill.errors import InvalidArgumentError

__all__ = ["Version"]

_FORM = re.compile(r"(\d+)\.(\d+)\.(\d+)", re.ASCII)


@functools.total_ordering
@dataclass(eq=False, repr=False)
class Version:
    """A dataset's version, ``major.minor.patch``; compares with text of the same form.

    Args:
        version_str: The version as text.
        description: What is new in it.
        major: Taken from the text.
        minor: Taken from the text.
        patch: Taken from the text.

    Raises:
        InvalidArgumentError: The text is not three numbers.

    Example:
        >>> Version("1.10.0") > "1.9.2", Version("1.10.0").tuple
        (True, (1, 10, 0))
    """

    version_str: str
    description: str | None = None
    major: int | None = None
    minor: int | None = None
    patch: int | None = None

    def __post_init__(self) -> None:
        given: object = self.version_str
        match = _FORM.fullmatch(given) if isinstance(given, str) else None
        if match is None:
            raise InvalidArgumentError.from_value("version", self.version_str, 'three numbers, as in "1.2.0"')
        self.major, self.minor, self.patch = map(int, match.groups())

    @property
    def tuple(self) -> tuple[int, int, int]:
        """The three numbers."""
        return int(self.major or 0), int(self.minor or 0), int(self.patch or 0)

    def __repr__(self) -> str:
        return "{}.{}.{}".format(*self.tuple)

    __str__ = __repr__

    def __hash__(self) -> int:
        return hash(self.tuple)

    def __eq__(self, other: object) -> bool:
        try:
            return self.tuple == _numbers(other)
        except (InvalidArgumentError, TypeError):
            return False

    def __lt__(self, other: object) -> bool:
        return self.tuple < _numbers(other)

    @classmethod
    def from_dict(cls, dic: Mapping[str, Any]) -> Version:
        """Makes a version from its fields; keys that mean nothing here are ignored."""
        return cls(**{key: value for key, value in dic.items() if key in cls.__dataclass_fields__})

    def _to_yaml_string(self) -> str:
        """Gives the form of a dataset card."""
        return str(self)


def _numbers(other: object) -> tuple[int, int, int]:
    if isinstance(other, str):
        other = Version(other)
    if not isinstance(other, Version):
        raise TypeError(f"{other!r} is no version that could be compared.")
    return other.tuple
