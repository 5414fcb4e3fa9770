"""What the card of a repository says after a push: pure, text in and text out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gristmill.errors import CardError, InvalidArgumentError
from gristmill.features import Features
from gristmill.files.data_files import parse_data_files
from gristmill.hub.card import parse_card
from gristmill.hub.card_edit import with_changes
from gristmill.info import DatasetInfo, DatasetInfosDict, MetadataConfigs
from gristmill.splits import SplitDict, SplitInfo

__all__ = ["Pushed", "config_patterns", "merge_card", "merge_legacy_infos", "pin_card"]

# What a config's entry may say besides where its files are; options of a reader would be wrong for Parquet.
_KEPT = ("default", "description", "version")
_MEND = "Correct the head of the README there, then push again"


@dataclass(frozen=True)
class Pushed:
    """What was pushed, as far as the card is about it.

    Attributes:
        config_name: The config.
        data_dir: Folder of its files.
        splits: Sizes of the splits.
        features: Their columns.
        uploaded: Bytes of the files of each split.
        replaced: Bytes of the files that each split had before, if it had.
        whole: The config has these splits and no others.
        set_default: Make it the config that is loaded when none is named.
    """

    config_name: str
    data_dir: str
    splits: Sequence[SplitInfo]
    features: Features
    uploaded: Mapping[str, int]
    replaced: Mapping[str, int]
    whole: bool
    set_default: bool


def merge_card(
    text: str, pushed: Pushed, older: Mapping[str, Sequence[str]], where: str = "README.md"
) -> str:
    """Gives the card after a push; what its author wrote, and what it says of other configs, stays.

    Args:
        text: The card before; ``""`` if there was none.
        pushed: What was pushed.
        older: Patterns by split of files that are there and that a card without configs would find by their names.
        where: What to call the card in errors.

    Raises:
        CardError: The card can't be used as it is.
        InvalidArgumentError: The columns are not those of the config's other splits, or the default is another's.
    """
    metadata = dict(parse_card(text, where).metadata)
    configs, infos = _read(metadata, where)
    if not configs and older:
        configs = MetadataConfigs({"default": {"data_files": _entries(older)}})
    configs[pushed.config_name] = _config(configs.get(pushed.config_name, {}), pushed)
    if pushed.set_default:
        _set_default(configs, pushed.config_name)
    infos[pushed.config_name] = _info(infos.get(pushed.config_name), pushed)
    after: dict[str, Any] = dict(metadata)
    DatasetInfosDict({pushed.config_name: infos[pushed.config_name]}).to_dataset_card_data(after)
    configs.to_dataset_card_data(after)
    return with_changes(text, {key: after[key] for key in ("dataset_info", "configs")}, where)


def merge_legacy_infos(text: bytes, pushed: Pushed, card: str) -> bytes | None:
    """Gives an old ``dataset_infos.json`` after a push; None if it says nothing of the config.

    Args:
        text: The file before.
        pushed: What was pushed.
        card: The card after the push.
    """
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or pushed.config_name not in said:
        return None
    info = DatasetInfosDict.from_dataset_card_data(parse_card(card).metadata)[pushed.config_name]
    return json.dumps({**said, pushed.config_name: info.to_dict()}, ensure_ascii=False).encode()


def config_patterns(text: str, where: str = "README.md") -> dict[str, dict[str, list[str]]]:
    """Gives the patterns of the files of each split of each config that a card names.

    Raises:
        CardError: The card can't be used as it is.
    """
    configs, _ = _read(parse_card(text, where).metadata, where)
    return {name: _patterns(entry) for name, entry in configs.items()}


def pin_card(
    text: str, config: str | None, files: Mapping[str, Sequence[str]], where: str = "README.md"
) -> str | None:
    """Gives a card that names the files of a config one by one, so that more files beside them mean nothing yet.

    Args:
        text: The card.
        config: The config; None if the card has none of this name.
        files: Its files by split.
        where: What to call the card in errors.

    Returns:
        The card, or None if there is nothing to name.
    """
    if config is None or not files:
        return None
    metadata: dict[str, Any] = dict(parse_card(text, where).metadata)
    configs, _ = _read(metadata, where)
    kept = {key: value for key, value in configs.get(config, {}).items() if key != "data_dir"}
    configs[config] = {**kept, "data_files": _entries(files)}
    configs.to_dataset_card_data(metadata)
    return with_changes(text, {"configs": metadata["configs"]}, where)


def _read(metadata: Mapping[str, Any], where: str) -> tuple[MetadataConfigs, DatasetInfosDict]:
    try:
        return (
            MetadataConfigs.from_dataset_card_data(metadata),
            DatasetInfosDict.from_dataset_card_data(metadata),
        )
    except CardError as error:
        raise CardError.at(str(error), file=where, remedy=_MEND) from error


def _patterns(entry: Mapping[str, Any]) -> dict[str, list[str]]:
    """Gives the patterns of a config's entry from the repository's root."""
    if entry.get("data_files") is None:
        return {}
    folder = str(entry.get("data_dir") or "").strip("/")
    return {
        split: [f"{folder}/{pattern}" if folder else pattern for pattern in patterns]
        for split, patterns in parse_data_files(entry["data_files"]).items()
    }


def _entries(patterns: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    return [
        {"split": split, "path": found[0] if len(found) == 1 else list(found)}
        for split, found in patterns.items()
    ]


def _config(before: Mapping[str, Any], pushed: Pushed) -> dict[str, Any]:
    patterns = {} if pushed.whole else _patterns(before)
    for split in pushed.splits:
        patterns[split.name] = [f"{pushed.data_dir}/{split.name}-*"]
    kept = {key: before[key] for key in _KEPT if key in before}
    return {"data_files": _entries(patterns), **kept}


def _set_default(configs: MetadataConfigs, name: str) -> None:
    if name == "default":
        return
    if "default" in configs:
        raise InvalidArgumentError(
            f'set_default=True was given for the config "{name}", and there is one called "default", which is loaded '
            "when none is named. Delete it, or push it under another name, first."
        )
    for entry in configs.values():
        entry.pop("default", None)
    configs[name]["default"] = True


def _info(before: DatasetInfo | None, pushed: Pushed) -> DatasetInfo:
    splits, download = SplitDict(), 0
    if before is not None and not pushed.whole:
        names = {split.name for split in pushed.splits}
        for split in (before.splits or SplitDict()).values():
            if split.name in names:
                continue
            if before.features is not None and before.features != pushed.features:
                raise InvalidArgumentError(
                    f'The columns are not those of the split "{split.name}" of the config "{pushed.config_name}" there: '
                    f"{pushed.features} and {before.features}. Push all splits as one DatasetDict, or take another "
                    "config_name."
                )
            splits.add(SplitInfo(split.name, split.num_bytes, split.num_examples))
        if splits:
            download = max(0, (before.download_size or 0) - sum(pushed.replaced.values()))
    for split in pushed.splits:
        splits.add(SplitInfo(split.name, split.num_bytes, split.num_examples))
    return DatasetInfo(
        features=pushed.features,
        splits=splits,
        download_size=download + sum(pushed.uploaded.values()),
        dataset_size=sum(split.num_bytes for split in splits.values()),
    )
