"""What is known about a dataset besides its rows: description, licence, features, splits, sizes."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

from gristmill import config
from gristmill.errors import CardError, FileFormatError, InvalidArgumentError
from gristmill.features import Features
from gristmill.files.atomic import write_json
from gristmill.files.borders import reading
from gristmill.splits import NamedSplit, SplitDict
from gristmill.version import Version

__all__ = ["DatasetInfo", "InfoMixin", "wanted_features"]


@dataclass
class DatasetInfo:
    """What is known about a dataset; everything is optional.

    Attributes:
        description: What it is, in words.
        citation: BibTeX.
        homepage: URL.
        license: Licence name or text.
        features: Its columns and their types.
        post_processed: Kept as read, for old info files.
        supervised_keys: Kept as read, for old info files.
        builder_name: What prepared it, for example ``"parquet"``.
        dataset_name: Its short name.
        config_name: The config it is.
        version: Its version.
        splits: Its splits.
        download_checksums: Size and checksum of each file downloaded, by URL.
        download_size: Bytes downloaded.
        post_processing_size: Kept as read, for old info files.
        dataset_size: Bytes of the prepared rows.
        size_in_bytes: Bytes downloaded and prepared.

    Example:
        >>> DatasetInfo(description="Ten poems.")
        DatasetInfo(description='Ten poems.')
    """

    description: str = field(default_factory=str)
    citation: str = field(default_factory=str)
    homepage: str = field(default_factory=str)
    license: str = field(default_factory=str)
    features: Features | None = None
    post_processed: Any = None
    supervised_keys: Any = None
    builder_name: str | None = None
    dataset_name: str | None = None
    config_name: str | None = None
    version: Version | str | None = None
    splits: SplitDict | None = None
    download_checksums: dict[str, Any] | None = None
    download_size: int | None = None
    post_processing_size: int | None = None
    dataset_size: int | None = None
    size_in_bytes: int | None = None

    # What a dataset card's `dataset_info` holds; the rest belongs to one prepared copy on one machine.
    _INCLUDED_INFO_IN_YAML: ClassVar[tuple[str, ...]] = (
        "config_name", "download_size", "dataset_size", "features", "splits",
    )  # fmt: skip

    def __post_init__(self) -> None:
        features: Any = self.features
        if features is not None and not isinstance(features, Features):
            self.features = Features.from_dict(features)
        if isinstance(self.version, str):
            with contextlib.suppress(InvalidArgumentError):  # text of another form stays text
                self.version = Version(self.version)
        splits: Any = self.splits
        if splits is not None and not isinstance(splits, SplitDict):
            self.splits = SplitDict.from_split_dict(splits)

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in self._known().items())
        return f"DatasetInfo({shown})"

    def _known(self) -> dict[str, Any]:
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {key: value for key, value in values.items() if value not in (None, "")}

    def copy(self) -> DatasetInfo:
        """Makes a copy that shares nothing with this one."""
        return self._with()

    def _with(self, **facts: Any) -> DatasetInfo:
        """Makes a copy that shares nothing with this one, with some facts in place of its own."""
        made = object.__new__(type(self))
        own = {name: _copied(value) for name, value in vars(self).items() if name not in facts}
        # In the order of the fields, which those who list them see.
        vars(made).update({name: facts[name] if name in facts else own[name] for name in vars(self)})
        return made

    @classmethod
    def from_merge(cls, dataset_infos: list[DatasetInfo | None]) -> DatasetInfo:
        """Joins what several infos say in words; what they say of files and sizes holds for none of the others.

        Args:
            dataset_infos: The infos; None among them is left out. If all are equal, the result is a copy of them.

        Example:
            >>> DatasetInfo.from_merge(
            ...     [DatasetInfo(license="mit"), DatasetInfo(license="bsd")]
            ... ).license.split()
            ['mit', 'bsd']
        """
        infos = [info for info in dataset_infos if info is not None]
        if infos and all_equal(infos):
            return infos[0].copy()

        def joined(name: str) -> str:
            return "\n\n".join(dict.fromkeys(text for info in infos if (text := getattr(info, name))))

        return cls(joined("description"), joined("citation"), joined("homepage"), joined("license"))

    def update(self, other_dataset_info: DatasetInfo, ignore_none: bool = True) -> None:
        """Takes over what another info knows.

        Args:
            other_dataset_info: The info to read from.
            ignore_none: Keep what is known here where the other knows nothing.
        """
        for item in fields(other_dataset_info):
            value = getattr(other_dataset_info, item.name)
            if value is not None or not ignore_none:
                setattr(self, item.name, copy.deepcopy(value))

    def to_dict(self) -> dict[str, Any]:
        """Gives plain JSON values, in the form of ``dataset_info.json``; what is not known is left out."""
        plain: dict[str, Any] = {
            "description": self.description,
            "citation": self.citation,
            "homepage": self.homepage,
            "license": self.license,
            **self._known(),
        }
        if self.version is not None:
            plain["version"] = str(self.version)
        if self.features is not None:
            plain["features"] = self.features.to_dict()
        if self.splits is not None:
            plain["splits"] = {str(name): split.to_dict() for name, split in self.splits.items()}
        return plain

    @classmethod
    def from_dict(cls, dataset_info_dict: Mapping[str, Any]) -> DatasetInfo:
        """Reads the form of ``dataset_info.json``; keys that mean nothing here are ignored."""
        known = {item.name for item in fields(cls)}
        values = {key: value for key, value in dataset_info_dict.items() if key in known}
        version = values.get("version")
        if isinstance(version, Mapping):
            # Old files spell the version out as its parts.
            values["version"] = str(version.get("version_str"))
        for name in ("description", "citation", "homepage", "license"):
            values[name] = values.get(name) or ""
        return cls(**values)

    def write_to_directory(
        self, dataset_info_dir: str, pretty_print: bool = False, storage_options: dict[str, Any] | None = None
    ) -> None:
        """Writes ``dataset_info.json`` into a folder.

        Args:
            dataset_info_dir: The folder.
            pretty_print: Accepted for compatibility; the file is always indented.
            storage_options: Accepted for compatibility; the folder is on this machine.

        Raises:
            FileError: The file can't be written.
        """
        write_json(Path(dataset_info_dir) / config.DATASET_INFO_FILENAME, self.to_dict())

    @classmethod
    def from_directory(
        cls,
        dataset_info_dir: str,
        storage_options: dict[str, Any] | None = None,  # noqa: ARG003  # documented
    ) -> DatasetInfo:
        """Reads ``dataset_info.json`` from a folder.

        Args:
            dataset_info_dir: The folder.
            storage_options: Accepted for compatibility; the folder is on this machine.

        Raises:
            FileMissingError: There is no such file.
            FileFormatError: It is not what it should be.
        """
        path = Path(dataset_info_dir) / config.DATASET_INFO_FILENAME
        with reading(path, "JSON"):
            text = path.read_text(encoding="utf-8")
        return cls._from_json(text, path)

    @classmethod
    def _from_json(cls, text: str, path: Path) -> DatasetInfo:
        """Reads the text of ``dataset_info.json``; `path` is where it stands, for the error."""
        try:
            return cls.from_dict(json.loads(text))
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            raise FileFormatError.at(
                f"does not describe a dataset ({error})",
                file=path,
                remedy="Delete the folder and prepare again.",
            ) from error

    def _to_yaml_dict(self) -> dict[str, Any]:
        """Gives the form of a dataset card's ``dataset_info``."""
        result: dict[str, Any] = {}
        for name in self._INCLUDED_INFO_IN_YAML:
            value = getattr(self, name)
            if value is None:
                continue
            result[name] = value._to_yaml_list() if name in ("features", "splits") else value
        return result

    @classmethod
    def _from_yaml_dict(cls, yaml_data: Mapping[str, Any]) -> DatasetInfo:
        """Reads a dataset card's ``dataset_info``.

        Raises:
            CardError: The features or splits are not of the documented form.
        """
        known = {item.name for item in fields(cls)}
        values = {key: value for key, value in yaml_data.items() if key in known}
        try:
            if values.get("features") is not None:
                values["features"] = Features._from_yaml_list(values["features"])
            if values.get("splits") is not None:
                values["splits"] = SplitDict._from_yaml_list(values["splits"])
            return cls(**values)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CardError.at(f"dataset_info can't be read ({error})") from error


_PLAIN = (str, int, float, bool)


def _copied(value: Any) -> Any:
    # All of these could be left to `copy.deepcopy`, which takes ten times as long, and each load makes a copy.
    kind = type(value)
    if value is None or kind in _PLAIN:
        return value
    if kind in (Features, SplitDict):
        return value.copy()
    if kind is Version:
        version = object.__new__(Version)
        vars(version).update(vars(value))
        return version
    if kind in (dict, list):
        items = value.values() if kind is dict else value
        if all(item is None or type(item) in _PLAIN for item in items):
            return value.copy()
        if kind is dict:
            return {key: _copied(item) for key, item in value.items()}
    return copy.deepcopy(value)


def all_equal(infos: Sequence[DatasetInfo]) -> bool:
    """Says whether several infos say the same.

    Example:
        >>> all_equal([DatasetInfo(license="mit"), DatasetInfo(license="mit"), DatasetInfo()])
        False
    """
    first, facts = infos[0], vars(infos[0])
    # Dicts are compared in one go: a hundred infos of one dataset's parts are, each time they are concatenated.
    return all(
        info is first or (type(info) is type(first) and vars(info) == facts) or info == first
        for info in infos
    )


class InfoMixin:
    """What a dataset with rows says about itself, from its info.

    Args:
        info: What is known.
        split: Name of the split, if it is one.
    """

    _info: DatasetInfo
    _split: NamedSplit | None

    def __init__(self, info: DatasetInfo, split: NamedSplit | None) -> None:
        self._info = info
        self._split = split

    @property
    def info(self) -> DatasetInfo:
        """What is known about the dataset."""
        return self._info

    @property
    def split(self) -> NamedSplit | None:
        """Name of the split, if it is one."""
        return self._split

    @property
    def builder_name(self) -> str | None:
        """What prepared the dataset."""
        return self._info.builder_name

    @property
    def citation(self) -> str:
        """How to cite it."""
        return self._info.citation

    @property
    def config_name(self) -> str | None:
        """The config it is."""
        return self._info.config_name

    @property
    def dataset_size(self) -> int | None:
        """Bytes of its prepared rows."""
        return self._info.dataset_size

    @property
    def description(self) -> str:
        """What it is, in words."""
        return self._info.description

    @property
    def download_checksums(self) -> dict[str, Any] | None:
        """Size and checksum of what was downloaded, by URL."""
        return self._info.download_checksums

    @property
    def download_size(self) -> int | None:
        """Bytes downloaded."""
        return self._info.download_size

    @property
    def homepage(self) -> str:
        """Its home page."""
        return self._info.homepage

    @property
    def license(self) -> str:
        """Its licence."""
        return self._info.license

    @property
    def size_in_bytes(self) -> int | None:
        """Bytes downloaded and prepared."""
        return self._info.size_in_bytes

    @property
    def supervised_keys(self) -> Any:
        """Kept as read, for old info files."""
        return self._info.supervised_keys

    @property
    def version(self) -> Version | str | None:
        """Its version."""
        return self._info.version


def wanted_features(features: Features | None, info: DatasetInfo | None) -> Features | None:
    """Gives the features asked for, by the argument or by the info.

    Raises:
        InvalidArgumentError: They differ, or the info is none.
    """
    if not isinstance(info, DatasetInfo | None):
        raise InvalidArgumentError.from_value("info", info, "a DatasetInfo")
    described = info.features if info is not None else None
    if features is not None and described is not None and features != described:
        raise InvalidArgumentError("features= and info.features differ; pass one of them.")
    return described if features is None else features
