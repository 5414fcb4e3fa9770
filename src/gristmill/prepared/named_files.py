"""The files that `from_csv` and its like are given, by split."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from gristmill.arguments import file_path
from gristmill.errors import InvalidArgumentError


def files_by_split(paths: Any, split: str | None) -> dict[str, Any]:
    """Gives the files of each split that are meant.

    Args:
        paths: A path, pattern or URL, several, or a mapping of split to either.
        split: What to call those of paths that are no mapping, ``"train"`` by default; of a mapping, the split wanted.

    Raises:
        InvalidArgumentError: A mapping has no such split.

    Example:
        >>> files_by_split("a.csv", None), files_by_split({"train": "a.csv", "test": ["b.csv"]}, "test")
        ({'train': 'a.csv'}, {'test': ['b.csv']})
    """
    if not isinstance(paths, Mapping):
        return {str(split or "train"): _plain(paths)}
    named = {str(name): _plain(value) for name, value in paths.items()}
    if split is None:
        return named
    if str(split) not in named:
        raise InvalidArgumentError.from_choice("split", str(split), list(named))
    return {str(split): named[str(split)]}


def _plain(paths: Any) -> Any:
    if isinstance(paths, Iterable) and not isinstance(paths, str | bytes | os.PathLike):
        return [file_path("path_or_paths", path) for path in paths]
    return file_path("path_or_paths", paths)
