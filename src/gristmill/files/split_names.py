"""What a file's name says: its format, whether it is data, and the split its rows belong to. Pure: no I/O.

Without patterns, splits are inferred from names, by the first of these that *every* data file fits:

1. shards: ``data/train-00000-of-00042.parquet``, with any split name;
2. a keyword in a folder's name: ``train/a.csv``;
3. a keyword in the file's name: ``train.csv``, ``my-test_1.jsonl``;
4. a keyword in one or the other.

Keywords are train, training; validation, valid, val, dev; test, testing, eval, evaluation, set off by ``-._`` digits or
blanks. If some data file fits none, no row may vanish for it: all files are the train split, and one log line says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from gristmill.files.archives import archive_suffix
from gristmill.files.compression import COMPRESSION_SUFFIXES, compression_suffix
from gristmill.files.patterns import is_hidden, natural_key
from gristmill.logging import get_logger

_log = get_logger(__name__)

KNOWN_SUFFIXES: Mapping[str, str] = {
    ".parquet": "parquet",
    ".geoparquet": "parquet",
    ".gpq": "parquet",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".xml": "xml",
    ".txt": "text",
    ".docs": "docs",
}
"""Suffix -> format, in the order that wins when a repository has as many files of one format as of another."""

COMPRESSIONS = tuple(COMPRESSION_SUFFIXES)

_IGNORED = {
    "readme.md", "readme.txt", "config.json", "dataset_info.json", "dataset_infos.json", "dataset_dict.json",
    "state.json", "dummy_data.zip", "license", "license.txt", "license.md", "requirements.txt",
}  # fmt: skip

_KEYWORDS = {
    "train": ("training", "train"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("testing", "test", "evaluation", "eval"),
}
_SPLIT_OF = {word: split for split, words in _KEYWORDS.items() for word in words}
_KEYWORD = re.compile(rf"(?:^|(?<=[-._ 0-9]))({'|'.join(_SPLIT_OF)})(?=[-._ 0-9]|$)")
_SHARD = re.compile(r"data/(?P<split>\w+(?:\.\w+)*)-[0-9]{5}-of-[0-9]{5}[^/]*\.[^/]*")


def is_description(path: str) -> bool:
    """Says whether a file describes data or code and is no data, though its suffix may be a data format's.

    Example:
        >>> is_description("en/README.md"), is_description("data.json")
        (True, False)
    """
    return path.rpartition("/")[2].lower() in _IGNORED


def format_of(path: str, suffixes: Mapping[str, str] = KNOWN_SUFFIXES) -> str | None:
    """Names the format a path's suffix stands for, looking through a compression suffix.

    Args:
        path: A file's path or URL.
        suffixes: Suffix -> format name.

    Example:
        >>> format_of("a/b.jsonl.gz"), format_of("photo.png")
        ('json', None)
    """
    name = path.rpartition("/")[2].lower()
    name = name.removesuffix(compression_suffix(name))
    return suffixes.get("." + name.rpartition(".")[2]) if "." in name else None


def is_data_file(path: str, suffixes: Mapping[str, str] = KNOWN_SUFFIXES) -> bool:
    """Says whether a search counts a path as data: a known suffix, not hidden, not a description of the data.

    Example:
        >>> is_data_file("data/a.csv"), is_data_file("dataset_infos.json"), is_data_file(".cache/a.csv")
        (True, False, False)
    """
    parts = path.split("/")
    return (
        not is_description(path) and not any(map(is_hidden, parts)) and format_of(path, suffixes) is not None
    )


def is_archive_file(path: str) -> bool:
    """Says whether a search counts a path as an archive that may hold data.

    Example:
        >>> (
        ...     is_archive_file("data/train.tar.gz"),
        ...     is_archive_file("dummy_data.zip"),
        ...     is_archive_file("a.csv.gz"),
        ... )
        (True, False, False)
    """
    return (
        bool(archive_suffix(path)) and not is_description(path) and not any(map(is_hidden, path.split("/")))
    )


def main_format(paths: Sequence[str], suffixes: Mapping[str, str] = KNOWN_SUFFIXES) -> str | None:
    """Names the format most of the paths have; files of others beside it are taken for notes about the data.

    Example:
        >>> main_format(["data/a.parquet", "data/b.parquet", "pairs.jsonl"])
        'parquet'
    """
    counts = Counter(name for path in paths if (name := format_of(path, suffixes)) is not None)
    order = list(dict.fromkeys(suffixes.values()))
    return max(counts, key=lambda name: (counts[name], -order.index(name)), default=None)


def infer_splits(paths: Sequence[str], where: str = "the folder") -> dict[str, tuple[str, ...]]:
    """Sorts data files into splits by their names, by the rules of this module.

    Args:
        paths: Relative paths, data files only.
        where: What to call their place in the log.

    Returns:
        Split name -> paths in natural order; train, validation and test come first.

    Example:
        >>> infer_splits(["test.csv", "train/b.csv", "train/a.csv"])
        {'train': ('train/a.csv', 'train/b.csv'), 'test': ('test.csv',)}
        >>> infer_splits(["train.csv", "people.csv"])
        {'train': ('people.csv', 'train.csv')}
    """
    ordered = sorted(paths, key=natural_key)
    rules: list[tuple[str, Callable[[str], str | None]]] = [
        ("the names of shards", _split_of_shard),
        ("folder names", _split_of_folders),
        ("file names", _split_of_file),
        ("folder and file names", lambda path: _split_of_file(path) or _split_of_folders(path)),
    ]
    for how, rule in rules:
        splits = [rule(path) for path in ordered]
        if splits and None not in splits:
            names = [
                *(name for name in _KEYWORDS if name in splits),
                *sorted({str(s) for s in splits} - {*_KEYWORDS}),
            ]
            _log.info("%s: splits %s inferred from %s", where, ", ".join(names), how)
            return {
                name: tuple(p for p, split in zip(ordered, splits, strict=True) if split == name)
                for name in names
            }
    if any(_split_of_file(path) or _split_of_folders(path) for path in ordered):
        odd = next(path for path in ordered if not (_split_of_file(path) or _split_of_folders(path)))
        _log.warning(
            "%s: some file names look like splits, but %s does not fit, so all %d files are read as the split train; "
            "name them with data_files={...} to have splits", where, odd, len(ordered),
        )  # fmt: skip
    return {"train": tuple(ordered)} if ordered else {}


def _split_of_shard(path: str) -> str | None:
    match = _SHARD.fullmatch(path)
    return match["split"] if match else None


def _split_in_name(name: str) -> str | None:
    found = {_SPLIT_OF[word] for word in _KEYWORD.findall(name)}
    # A name with two different keywords (train_test.csv) says nothing; rows must not be in two splits.
    return found.pop() if len(found) == 1 else None


def _split_of_file(path: str) -> str | None:
    return _split_in_name(path.rpartition("/")[2])


def _split_of_folders(path: str) -> str | None:
    return next((split for part in reversed(path.split("/")[:-1]) if (split := _split_in_name(part))), None)
