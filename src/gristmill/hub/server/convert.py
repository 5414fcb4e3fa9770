"""``refs/convert/parquet``: a repository's own Parquet files under the names the Hub's export would give them.

Nothing is converted: ``CONFIG/SPLIT/0000.parquet`` is the split's first file, served from where it is. A split that is
not made of Parquet files alone is left out, because a part of it under that name would look like all of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from gristmill.errors import GristmillError
from gristmill.files.data_files import DataConfig, config_names, resolve_configs
from gristmill.hub.server.cards import ServedCard
from gristmill.hub.server.snapshots import Entry, Snapshot


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
        if paths and _plain(config.name) and all(p.endswith(".parquet") and p in head.entries for p in paths)
        for number, path in enumerate(paths)
    ]


def _configs(paths: list[str], declared: list[dict[str, Any]], where: str) -> Iterator[DataConfig]:
    try:
        names: list[str] | list[None] = config_names(declared) or [None]
    except GristmillError:
        names = []
    for name in names:
        # Each by itself: a config of the card that matches no file must not hide the others.
        with contextlib.suppress(GristmillError):
            yield from resolve_configs(paths, declared or None, only=name, where=where)


def _plain(name: str) -> bool:
    return "/" not in name and "\\" not in name and name not in ("", ".", "..")


def parquet_urls(converted: Snapshot | None, base: str) -> dict[str, dict[str, list[str]]]:
    """Makes the listing of Parquet URLs by config and split.

    Args:
        converted: What ``refs/convert/parquet`` holds.
        base: URL of the repository's Parquet listing.
    """
    listing: dict[str, dict[str, list[str]]] = {}
    for path in converted.entries if converted is not None else ():
        config, split, file = path.split("/")
        number = int(file.removesuffix(".parquet"))
        url = f"{base}/{quote(config)}/{quote(split)}/{number}.parquet"
        listing.setdefault(config, {}).setdefault(split, []).append(url)
    return listing
