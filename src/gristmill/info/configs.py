"""The configs of a dataset as its card holds them: what is known of each, and which files each has."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, MutableMapping
from functools import partial
from pathlib import Path
from typing import Any

from gristmill import config as settings
from gristmill.errors import CardError, FileFormatError
from gristmill.files.atomic import atomic_file, write_json
from gristmill.files.borders import reading
from gristmill.files.data_files import config_names, default_config, parse_data_files
from gristmill.info.facts import DatasetInfo

__all__ = ["DatasetInfosDict", "MetadataConfigs"]

# A card's metadata: a dict, or huggingface_hub's DatasetCardData, which has its methods.
CardData = Any


class DatasetInfosDict(dict[str, DatasetInfo]):
    """What is known of each config of a dataset, by name.

    Example:
        >>> card = {"license": "mit"}
        >>> DatasetInfosDict({"en": DatasetInfo(download_size=3)}).to_dataset_card_data(card)
        >>> card["dataset_info"]
        {'config_name': 'en', 'download_size': 3}
        >>> DatasetInfosDict.from_dataset_card_data(card)["en"].download_size
        3
    """

    def write_to_directory(
        self, dataset_infos_dir: str | os.PathLike[str], overwrite: bool = False, pretty_print: bool = False
    ) -> None:
        """Writes this into the card of a folder; the rest of the card stays.

        Args:
            dataset_infos_dir: The folder.
            overwrite: Forget what the card says of other configs.
            pretty_print: Accepted for compatibility; what is written is always indented.

        Raises:
            CardError: The card there can't be used.
            FileError: A file can't be read or written.
        """
        from gristmill.hub.card import with_metadata

        folder = Path(dataset_infos_dir)
        infos = DatasetInfosDict({} if overwrite else self.from_directory(folder))
        infos.update(self)
        old = folder / settings.DATASETDICT_INFOS_FILENAME
        if old.is_file():
            write_json(old, {name: info.to_dict() for name, info in infos.items()})
        card = folder / settings.REPOCARD_FILENAME
        text = _read(card)
        metadata = _metadata(text, card)
        if overwrite:
            metadata.pop("dataset_info", None)
        infos.to_dataset_card_data(metadata)
        with atomic_file(card, "wb") as file:
            file.write(with_metadata(text, metadata).encode())

    @classmethod
    def from_directory(cls, dataset_infos_dir: str | os.PathLike[str]) -> DatasetInfosDict:
        """Reads what the card of a folder says, or an old ``dataset_infos.json``; empty if there is neither.

        Args:
            dataset_infos_dir: The folder.

        Raises:
            CardError: The card can't be used.
            FileFormatError: The old file is not what it should be.
            FileError: A file can't be read.
        """
        folder = Path(dataset_infos_dir)
        card, old = folder / settings.REPOCARD_FILENAME, folder / settings.DATASETDICT_INFOS_FILENAME
        infos = cls.from_dataset_card_data(_metadata(_read(card), card))
        if infos or not old.is_file():
            return infos
        try:
            said = json.loads(_read(old))
            return cls({str(name): DatasetInfo.from_dict(info) for name, info in said.items()})
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            raise FileFormatError.at(f"does not describe datasets ({error})", file=old) from error

    @classmethod
    def from_dataset_card_data(cls, dataset_card_data: CardData) -> DatasetInfosDict:
        """Reads the ``dataset_info`` of a card's metadata.

        Args:
            dataset_card_data: A dict, or the ``data`` of huggingface_hub's ``DatasetCard``.

        Raises:
            CardError: It is not of the documented form.
        """
        infos = cls()
        for name, entry in _entries(dataset_card_data).items():
            infos[name] = DatasetInfo._from_yaml_dict(entry)
            infos[name].config_name = name
        return infos

    def to_dataset_card_data(self, dataset_card_data: CardData) -> None:
        """Puts this into a card's metadata, beside what that says of other configs.

        Args:
            dataset_card_data: A dict, or the ``data`` of huggingface_hub's ``DatasetCard``; it is changed.
        """
        if not self:
            return
        entries = _entries(dataset_card_data)
        for name, info in self.items():
            said = info._to_yaml_dict()
            said.pop("config_name", None)
            entries[name] = said
        if list(entries) == ["default"]:
            dataset_card_data["dataset_info"] = entries["default"]
            return
        named = [{"config_name": name, **entries[name]} for name in sorted(entries)]
        dataset_card_data["dataset_info"] = named[0] if len(named) == 1 else named


class MetadataConfigs(dict[str, dict[str, Any]]):
    """The ``configs`` of a card, by name: data files, folder, whether it is the default, options of the reader.

    Example:
        >>> configs = MetadataConfigs.from_dataset_card_data(
        ...     {"configs": [{"config_name": "en", "data_files": "*.csv"}]}
        ... )
        >>> configs["en"], configs.get_default_config_name()
        ({'data_files': '*.csv'}, 'en')
    """

    @classmethod
    def from_dataset_card_data(cls, dataset_card_data: CardData) -> MetadataConfigs:
        """Reads the ``configs`` of a card's metadata.

        Args:
            dataset_card_data: A dict, or the ``data`` of huggingface_hub's ``DatasetCard``.

        Raises:
            CardError: They are not of the documented form.
        """
        said = dataset_card_data.get("configs") or []
        if not isinstance(said, list):
            raise CardError.at("configs must be a list of mappings with config_name and data_files")
        configs = cls()
        for name, entry in zip(config_names(said), said, strict=True):
            if entry.get("data_files") is not None:
                parse_data_files(entry["data_files"], partial(_refuse, name))
            configs[name] = {key: value for key, value in entry.items() if key != "config_name"}
        return configs

    def to_dataset_card_data(self, dataset_card_data: CardData) -> None:
        """Puts this into a card's metadata, beside other configs that it has.

        Args:
            dataset_card_data: A dict, or the ``data`` of huggingface_hub's ``DatasetCard``; it is changed.
        """
        if self:
            configs = {**self.from_dataset_card_data(dataset_card_data), **self}
            dataset_card_data["configs"] = [
                {"config_name": name, **configs[name]} for name in sorted(configs)
            ]

    def get_default_config_name(self) -> str | None:
        """Names the config that is loaded when none is asked for; None if one has to be.

        Raises:
            CardError: Several are marked as default.
        """
        return (
            default_config([{"config_name": name, **entry} for name, entry in self.items()]) if self else None
        )


def _refuse(config: str, problem: str) -> CardError:
    error: CardError = CardError.at(f'config "{config}": {problem}')
    return error


def _entries(card: CardData) -> dict[str, dict[str, Any]]:
    """Gives the entries of ``dataset_info`` by the name of their config."""
    said = card.get("dataset_info")
    entries = said if isinstance(said, list) else [] if said is None else [said]
    if not all(isinstance(entry, Mapping) for entry in entries):
        raise CardError.at("dataset_info must be a mapping, or a list of them")
    return {
        str(entry.get("config_name", "default")): {k: v for k, v in entry.items() if k != "config_name"}
        for entry in entries
    }


def _read(path: Path) -> str:
    if not path.is_file():
        return ""
    with reading(path, "text"):
        return path.read_text(encoding="utf-8", errors="replace")


def _metadata(text: str, card: Path) -> MutableMapping[str, Any]:
    from gristmill.hub.card import parse_card

    return parse_card(text, str(card)).metadata
