"""``refs/convert/parquet``: what of a dataset is Parquet under the names the Hub's export gives it, and what is to become so.

``CONFIG/SPLIT/0000.parquet`` is a split's first file. A split that is made of Parquet files alone is served from where
they are; of any other, files are made (`gristmill.hub.server.conversion`), all of its rows or none: a part of it under
that name would look like all of it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from gristmill.errors import GristmillError
from gristmill.files.data_files import DataConfig, config_names, resolve_configs
from gristmill.hub.server.cards import ServedCard
from gristmill.hub.server.snapshots import Entry, Snapshot

_EXPORTED = re.compile(r"(?P<config>[^/]+)/(?P<split>[^/]+)/(?P<number>[0-9]{1,9})\.parquet")


@dataclass(frozen=True)
class ToConvert:
    """A config some splits of which are not Parquet.

    Attributes:
        name: The config.
        splits: Its splits that are not Parquet, with their files in the order of their rows.
        options: How the card wants them to be read.
        features: What the card says the columns are; None if it says nothing.
        size: Bytes of the files.
    """

    name: str
    splits: Mapping[str, tuple[Entry, ...]]
    options: Mapping[str, Any]
    features: Any
    size: int


def parquet_entries(head: Snapshot, card: ServedCard, where: str) -> list[Entry]:
    """Lists the Parquet files of a dataset by config and split.

    Args:
        head: What the repository holds.
        card: Its card, whose ``configs`` come before the names of files.
        where: What to call the repository.

    Returns:
        The files under their export names; none if the repository has no data files that make splits.
    """
    if not any(path.endswith(".parquet") for path in head.entries):
        return []
    return [
        replace(head.entries[path], path=f"{config.name}/{split}/{number:04d}.parquet")
        for config in _configs(list(head.entries), card.configs, where)
        for split, paths in config.splits.items()
        if _native(head, paths)
        for number, path in enumerate(paths)
    ]


def to_convert(head: Snapshot, card: ServedCard, where: str) -> list[ToConvert]:
    """Lists the configs of a dataset that are not Parquet, as far as their files are in the repository.

    Args:
        head: What the repository holds.
        card: Its card.
        where: What to call the repository.
    """
    found = []
    for config in _configs(list(head.entries), card.configs, where):
        splits = {
            split: tuple(head.entries[path] for path in paths)
            for split, paths in config.splits.items()
            if paths and _plain(split) and not _native(head, paths) and all(p in head.entries for p in paths)
        }
        if splits:
            size = sum(entry.size for entries in splits.values() for entry in entries)
            found.append(ToConvert(config.name, splits, config.options, _features(card, config.name), size))
    return found


def _features(card: ServedCard, config: str) -> Any:
    told = (card.metadata or {}).get("dataset_info")
    for info in told if isinstance(told, list) else [told]:
        if isinstance(info, dict) and str(info.get("config_name", "default")) == config:
            return info.get("features")
    return None


def _native(head: Snapshot, paths: Iterable[str]) -> bool:
    paths = list(paths)
    return bool(paths) and all(path.endswith(".parquet") and path in head.entries for path in paths)


def _configs(paths: list[str], declared: list[dict[str, Any]], where: str) -> Iterator[DataConfig]:
    try:
        names: list[str] | list[None] = config_names(declared) or [None]
    except GristmillError:
        names = []
    for name in names:
        # Each by itself: a config of the card that matches no file must not hide the others.
        with contextlib.suppress(GristmillError):
            for config in resolve_configs(paths, declared or None, only=name, where=where):
                if _plain(config.name):
                    yield config


def _plain(name: str) -> bool:
    return "/" not in name and "\\" not in name and "\0" not in name and name not in ("", ".", "..")


def parquet_urls(converted: Snapshot | None, base: str) -> dict[str, dict[str, list[str]]]:
    """Makes the listing of Parquet URLs by config and split.

    Args:
        converted: What ``refs/convert/parquet`` holds.
        base: URL of the repository's Parquet listing.
    """
    listing: dict[str, dict[str, list[str]]] = {}
    for path in converted.entries if converted is not None else ():
        match = _EXPORTED.fullmatch(path)
        if match is not None:  # a copy of another Hub's may hold more than data
            config, split = match["config"], match["split"]
            url = f"{base}/{quote(config, safe='')}/{quote(split, safe='')}/{int(match['number'])}.parquet"
            listing.setdefault(config, {}).setdefault(split, []).append(url)
    return listing
