"""What is known about each split of a dataset: sizes, and the files that hold its rows."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from gristmill.errors import InvalidArgumentError, SplitNotFoundError
from gristmill.splits.slices import SplitPart, parse_split

__all__ = [
    "FileInstructions",
    "SlicedSplitInfo",
    "SplitDict",
    "SplitInfo",
    "SplitReadInstruction",
    "SubSplitInfo",
]


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

    @property
    def file_instructions(self) -> list[dict[str, Any]]:
        """The prepared files of the split, with the rows to skip and to take in each."""
        return file_instructions([(self, range(self.num_examples))]).file_instructions


class FileInstructions(NamedTuple):
    """Which rows of which prepared files.

    Attributes:
        num_examples: Rows in all.
        file_instructions: For each file ``filename``, ``skip`` (rows before the first) and ``take`` (rows; -1 for the
            rest of the file).
    """

    num_examples: int
    file_instructions: list[dict[str, Any]]


def file_instructions(parts: Iterable[tuple[SplitInfo, range]], suffix: str = "arrow") -> FileInstructions:
    """Lists the prepared files that hold some rows of splits.

    Args:
        parts: Splits and the rows of each.
        suffix: What the files' names end in.

    Example:
        >>> split = SplitInfo("train", 0, 30, shard_lengths=[10, 20], dataset_name="d")
        >>> file_instructions([(split, range(15, 30))]).file_instructions
        [{'filename': 'd-train-00001-of-00002.arrow', 'skip': 5, 'take': -1}]
    """
    files: list[dict[str, Any]] = []
    total = 0
    for split, rows in parts:
        total += len(rows)
        stem = f"{split.dataset_name}-{split.name}" if split.dataset_name else str(split.name)
        lengths = split.shard_lengths or [split.num_examples]
        first = 0
        for number, length in enumerate(lengths):
            name = f"-{number:05}-of-{len(lengths):05}" if split.shard_lengths else ""
            skip, stop = max(rows.start - first, 0), min(rows.stop - first, length)
            if skip < stop:
                take = -1 if stop == length else stop - skip
                files.append({"filename": f"{stem}{name}.{suffix}", "skip": skip, "take": take})
            first += length
    return FileInstructions(total, files)


@dataclass
class SubSplitInfo:
    """What is known about some rows of splits.

    Attributes:
        instructions: The files that hold them.

    Example:
        >>> splits = SplitDict({"train": SplitInfo("train", 10, 30)})
        >>> isinstance(splits["train[:10%]"], SubSplitInfo)
        True
    """

    instructions: FileInstructions

    @property
    def num_examples(self) -> int:
        """Their number."""
        return self.instructions.num_examples

    @property
    def file_instructions(self) -> list[dict[str, Any]]:
        """The prepared files that hold them, with the rows to skip and to take in each."""
        return self.instructions.file_instructions


class SlicedSplitInfo(NamedTuple):
    """A split and the percentages of it that are meant.

    Attributes:
        split_info: The split.
        slice_value: A slice of percents; None for all rows.
    """

    split_info: SplitInfo
    slice_value: slice | None = None


class SplitReadInstruction:
    """Splits of a dataset and the percentages of each that are meant; each split is there once.

    Args:
        split_info: The first split; none if left out.

    Example:
        >>> both = SplitReadInstruction(SplitInfo("train")) + SplitReadInstruction(SplitInfo("test"))
        >>> [sliced.split_info.name for sliced in both[slice(0, 50)].get_list_sliced_split_info()]
        ['train', 'test']
    """

    def __init__(self, split_info: SplitInfo | None = None) -> None:
        self._splits: dict[str, SlicedSplitInfo] = {}
        if split_info is not None:
            self.add(SlicedSplitInfo(split_info))

    def add(self, sliced_split: SlicedSplitInfo) -> None:
        """Adds a split.

        Raises:
            InvalidArgumentError: It is there already.
        """
        name = str(sliced_split.split_info.name)
        if name in self._splits:
            raise InvalidArgumentError.from_value("split", name, "a split that is not there already")
        self._splits[name] = sliced_split

    def __add__(self, other: SplitReadInstruction) -> SplitReadInstruction:
        joined = SplitReadInstruction()
        for sliced in (*self.get_list_sliced_split_info(), *other.get_list_sliced_split_info()):
            joined.add(sliced)
        return joined

    def __getitem__(self, slice_value: slice) -> SplitReadInstruction:
        cut = SplitReadInstruction()
        for sliced in self.get_list_sliced_split_info():
            if sliced.slice_value is not None:
                raise InvalidArgumentError("A split that is cut already can't be cut again.")
            cut.add(SlicedSplitInfo(sliced.split_info, slice_value))
        return cut

    def get_list_sliced_split_info(self) -> list[SlicedSplitInfo]:
        """Lists the splits, in the order in which they were added."""
        return list(self._splits.values())


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

    def __getitem__(self, key: str) -> Any:
        """Gives what is known about a split, or about rows of splits: ``splits["train[:10%]"]``.

        Args:
            key: A name, or anything that ``split=`` takes as text.

        Returns:
            The `SplitInfo` of a name, the `SubSplitInfo` of anything else.

        Raises:
            SplitNotFoundError: There is no such split.

        Example:
            >>> splits = SplitDict()
            >>> splits.add(SplitInfo("train", 10, 30))
            >>> splits["train[:10%]"].num_examples
            3
        """
        name = str(key)
        if name in self:
            return dict.__getitem__(self, name)
        try:
            parts = parse_split(name)
        except InvalidArgumentError:
            parts = [SplitPart(name)]
        for part in parts:
            if part.split not in self:
                raise SplitNotFoundError.from_name(part.split, self)
        infos = [dict.__getitem__(self, part.split) for part in parts]
        rows = [part.rows(info.num_examples) for part, info in zip(parts, infos, strict=True)]
        return SubSplitInfo(file_instructions(zip(infos, rows, strict=True)))

    def __setitem__(self, key: str, value: SplitInfo) -> None:
        if str(key) != str(value.name):
            raise InvalidArgumentError.from_value("key", str(key), f'the name of the split, "{value.name}"')
        super().__setitem__(str(key), value)

    def add(self, split_info: SplitInfo) -> None:
        """Adds a split under its own name.

        Raises:
            InvalidArgumentError: There is one of that name already.
        """
        if str(split_info.name) in self:
            name = str(split_info.name)
            raise InvalidArgumentError.from_value("split_info", name, "a split that is not there already")
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
        made = SplitDict(dataset_name=self.dataset_name)
        for split in self.values():
            made.dataset_name = made.dataset_name or split.dataset_name
            dict.__setitem__(made, str(split.name), _copied(split))
        return made

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


def _copied(split: SplitInfo) -> SplitInfo:
    # `copy.deepcopy` takes ten times as long, and each load makes copies.
    made = object.__new__(type(split))
    facts = vars(made)
    facts.update(vars(split))
    for name in ("shard_lengths", "original_shard_lengths"):
        if facts[name] is not None:
            facts[name] = copy.copy(facts[name])
    return made
