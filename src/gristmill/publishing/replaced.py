"""Which files of a repository a push puts others in the place of. Pure: works on lists of paths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from gristmill.files.patterns import PathIndex

__all__ = ["files_of_split", "older_patterns", "replaced_files"]

_SHARD = re.compile(r"(?:.*/)?(?P<split>\w+(?:\.\w+)*)-\d{5,}-of-\d{5,}[^/]*\.parquet")


def files_of_split(paths: Iterable[str], data_dir: str, split: str) -> list[str]:
    """Lists what ``data_dir/split-*`` finds: all that is read as rows of a split once it is pushed.

    Example:
        >>> files_of_split(["data/train-0.parquet", "data/a/train-1.parquet", "data/trains"], "data", "train")
        ['data/train-0.parquet']
    """
    start = f"{data_dir}/{split}-"
    return [path for path in paths if path.startswith(start) and "/" not in path[len(start) :]]


def older_patterns(paths: Iterable[str]) -> dict[str, list[str]]:
    """Gives the patterns of the splits in ``data/``, as pushes of long ago left them without a word in the card.

    Example:
        >>> older_patterns(["data/train-00000-of-00001-0a1b.parquet", "data/x.csv"])
        {'train': ['data/train-*']}
    """
    found = [match for path in paths if path.startswith("data/") and (match := _SHARD.fullmatch(path))]
    return {match["split"]: [f"data/{match['split']}-*"] for match in found if match[0].count("/") == 1}


def replaced_files(
    paths: Sequence[str],
    data_dir: str,
    splits: Sequence[str],
    before: Mapping[str, Sequence[str]],
    others: Iterable[Sequence[str]],
    whole: bool,
) -> list[str]:
    """Lists the files that go when splits of a config are pushed.

    Args:
        paths: All files of the repository.
        data_dir: Folder of the pushed files.
        splits: The splits that are pushed.
        before: Patterns of the config's splits, as the card had them.
        others: Patterns that belong to other configs: what they find stays.
        whole: The config's other splits go as well.

    Returns:
        Whatever would be read as rows of a pushed split, and shards that nothing would read any more; other files stay.
    """
    index = PathIndex(paths)
    kept = {path for patterns in others for pattern in patterns for path in index.match(pattern)}
    gone = {path: None for split in splits for path in files_of_split(paths, data_dir, split)}
    for split, patterns in before.items():
        if split in splits or whole:
            found = [path for pattern in patterns for path in index.match(pattern)]
            gone.update((path, None) for path in found if _is_shard(path, split) and path not in kept)
    return list(gone)


def _is_shard(path: str, split: str) -> bool:
    match = _SHARD.fullmatch(path)
    return match is not None and match["split"] == split
