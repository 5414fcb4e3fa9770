"""Names of splits and what is known about each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

__all__ = ["NamedSplit", "Split", "SplitDict", "SplitInfo"]


class NamedSplit(str):
    """The name of a split: a string in every respect, with a repr that says what it is.

    Args:
        name: For example ``"train"``.

    Example:
        >>> NamedSplit("train") == "train"
        True
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"NamedSplit({str(self)!r})"

    def __reduce__(self) -> tuple[type[NamedSplit], tuple[str]]:
        return NamedSplit, (str(self),)


class Split:
    """The usual split names; calling it makes any other.

    Example:
        >>> Split.TRAIN, str(Split("extra"))
        (NamedSplit('train'), 'extra')
    """

    TRAIN: ClassVar[NamedSplit] = NamedSplit("train")
    TEST: ClassVar[NamedSplit] = NamedSplit("test")
    VALIDATION: ClassVar[NamedSplit] = NamedSplit("validation")
    ALL: ClassVar[NamedSplit] = NamedSplit("all")

    def __new__(cls, name: str) -> NamedSplit:  # type: ignore[misc]  # documented: Split("x") is a NamedSplit
        """Makes the name of a split."""
        return NamedSplit(name)


@dataclass
class SplitInfo:
    """What is known about one split.

    Attributes:
        name: Its name.
        num_bytes: Bytes of its rows as Arrow data.
        num_examples: Its number of rows.
        shard_lengths: Rows of each prepared file, if there are several.
        original_shard_lengths: Rows of each original file, if recorded.
        dataset_name: The dataset's name, if recorded.

    Example:
        >>> SplitInfo("train", num_bytes=1000, num_examples=10)
        SplitInfo(name='train', num_bytes=1000, num_examples=10)
    """

    name: str = ""
    num_bytes: int = 0
    num_examples: int = 0
    shard_lengths: list[int] | None = None
    original_shard_lengths: list[int] | None = None
    dataset_name: str | None = None

    def __repr__(self) -> str:
        shown = {key: value for key, value in vars(self).items() if value is not None}
        return f"SplitInfo({', '.join(f'{key}={value!r}' for key, value in shown.items())})"

    def to_dict(self) -> dict[str, Any]:
        """Gives the form of ``dataset_info.json``: what is not known is left out, but for `dataset_name`."""
        kept = {key: value for key, value in vars(self).items() if value is not None}
        return {**kept, "dataset_name": self.dataset_name}


class SplitDict(dict[str, SplitInfo]):
    """Splits by name.

    Args:
        *args: As for `dict`.
        dataset_name: The dataset's name, if known.
        **kwargs: As for `dict`.

    Example:
        >>> splits = SplitDict()
        >>> splits.add(SplitInfo("train", 10, 3))
        >>> splits.total_num_examples
        3
    """

    def __init__(self, *args: Any, dataset_name: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.dataset_name = dataset_name

    def add(self, split_info: SplitInfo) -> None:
        """Adds a split under its own name; one already there is replaced."""
        split_info.dataset_name = self.dataset_name
        self[str(split_info.name)] = split_info

    @property
    def total_num_examples(self) -> int:
        """Rows of all splits."""
        return sum(split.num_examples for split in self.values())

    @classmethod
    def from_split_dict(
        cls, split_infos: Iterable[Any] | Mapping[str, Any], dataset_name: str | None = None
    ) -> SplitDict:
        """Reads splits from a list or mapping of `SplitInfo` or their plain dicts."""
        values = split_infos.values() if isinstance(split_infos, Mapping) else split_infos
        names = list(split_infos) if isinstance(split_infos, Mapping) else []
        result = cls(dataset_name=dataset_name)
        for position, value in enumerate(values):
            known = SplitInfo.__dataclass_fields__
            info = (
                value
                if isinstance(value, SplitInfo)
                else SplitInfo(**{key: item for key, item in value.items() if key in known})
            )
            if not info.name and names:
                info.name = str(names[position])
            result.dataset_name = result.dataset_name or info.dataset_name
            dict.__setitem__(result, str(info.name), info)
        return result

    def to_split_dict(self) -> list[SplitInfo]:
        """Gives the splits as a list, each with the dataset's name."""
        return [SplitInfo(**{**vars(split), "dataset_name": self.dataset_name}) for split in self.values()]

    def copy(self) -> SplitDict:
        """Makes a copy that shares nothing with this one."""
        return SplitDict.from_split_dict(
            [SplitInfo(**vars(split)) for split in self.values()], self.dataset_name
        )

    def _to_yaml_list(self) -> list[dict[str, Any]]:
        """Gives the form of a dataset card's ``dataset_info.splits``."""
        return [
            {"name": str(split.name), "num_bytes": split.num_bytes, "num_examples": split.num_examples}
            for split in self.values()
        ]

    @classmethod
    def _from_yaml_list(cls, yaml_data: list[dict[str, Any]]) -> SplitDict:
        """Reads a dataset card's ``dataset_info.splits``."""
        return cls.from_split_dict(yaml_data)
