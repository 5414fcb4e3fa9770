"""The cache folder of a split: a hash over everything that decides its rows, and nothing that can't change them."""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from gristmill.features import Features
from gristmill.fingerprint import Hasher
from gristmill.prepared.source import SplitSource

# Raised when what is written into a prepared folder changes its meaning.
_LAYOUT = 2
_VERSION = "0.0.0"
_PLAIN = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


def split_key(source: SplitSource) -> str:
    """Computes the hash that names a prepared split.

    The commit is not part of it: when a new commit leaves a split's files alone, what was prepared is used again.

    Args:
        source: The split.

    Returns:
        32 hexadecimal digits.
    """
    facts: list[Any] = [
        _LAYOUT,
        source.source,
        source.config,
        source.split,
        source.format,
        sorted((name, Hasher.hash(value)) for name, value in source.options.items()),
        source.columns,
        None if source.filters is None else Hasher.hash(source.filters),
        _features(source.features),
        _features(source.card_features),
        [(file.name, file.identity) for file in source.files],
    ]
    text = _PLAIN.encode(facts)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _features(features: Features | None) -> Any:
    # A list keeps the order of columns, which is part of the result.
    return None if features is None else [[name, value] for name, value in features.to_dict().items()]


@lru_cache(1024)
def safe_name(name: str) -> str:
    """Makes a folder or file name out of any text.

    Example:
        >>> safe_name("en/us [1]"), safe_name("..")
        ('en-us--1-', '-')
    """
    cleaned = re.sub(r"[^\w.+=-]", "-", name)[:120]
    return cleaned if cleaned.strip(".") else "-"


def split_folder(source: SplitSource, cache: Path) -> Path:
    """Names the folder a prepared split has in the cache.

    Args:
        source: The split.
        cache: The datasets cache, usually `config.HF_DATASETS_CACHE`.
    """
    # In one go: it is done at each load, and takes four times as long step by step.
    return cache.joinpath(safe_name(source.place), safe_name(source.config), _VERSION, split_key(source))


def shard_stem(dataset: str, split: str) -> str:
    """Gives what the names of a split's Arrow files begin with.

    Example:
        >>> shard_stem("squad", "train")
        'squad-train'
    """
    return f"{safe_name(dataset)}-{safe_name(split)}"


def shard_names(stem: str, number: int) -> list[str]:
    """Names the Arrow files of a split.

    Args:
        stem: From `shard_stem`.
        number: How many there are.

    Example:
        >>> shard_names("squad-train", 1), shard_names("a", 2)[1]
        (['squad-train.arrow'], 'a-00001-of-00002.arrow')
    """
    if number == 1:
        return [f"{stem}.arrow"]
    return [f"{stem}-{index:05}-of-{number:05}.arrow" for index in range(number)]
