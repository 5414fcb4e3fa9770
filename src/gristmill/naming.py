"""Names of datasets in files and folders: CamelCase to snake_case, and the files of a split. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from gristmill.errors import InvalidArgumentError

__all__ = [
    "INVALID_WINDOWS_CHARACTERS_IN_PATH",
    "camelcase_to_snakecase",
    "filename_prefix_for_name",
    "filename_prefix_for_split",
    "filenames_for_dataset_split",
    "filepattern_for_dataset_split",
    "snakecase_to_camelcase",
]

INVALID_WINDOWS_CHARACTERS_IN_PATH = r"<>:/\|?*"
"""What no file name has on every system."""

SPLIT_NAME = re.compile(r"\w+(?:\.\w+)*")
"""What the name of a split is made of where files are named after it."""


def camelcase_to_snakecase(name: str) -> str:
    """Spells a class's name as a file's.

    Example:
        >>> camelcase_to_snakecase("HTTPServer2Data")
        'http_server2_data'
    """
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z\d])([A-Z])", r"\1_\2", name).lower()


def snakecase_to_camelcase(name: str) -> str:
    """Spells a file's name as a class's.

    Example:
        >>> snakecase_to_camelcase("http_server2_data")
        'HttpServer2Data'
    """
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"_+", name))


def filename_prefix_for_name(name: str) -> str:
    """Gives what the names of a dataset's files begin with.

    Raises:
        InvalidArgumentError: It is a path.
    """
    if posixpath.basename(name) != name:
        raise InvalidArgumentError.from_value("name", name, "a dataset's name, not a path")
    return camelcase_to_snakecase(name)


def filename_prefix_for_split(name: str, split: str) -> str:
    """Gives what the names of a split's files begin with.

    Raises:
        InvalidArgumentError: The dataset's name is a path, or the split's name has other characters than letters,
            digits, ``_`` and ``.`` between them.

    Example:
        >>> filename_prefix_for_split("MyData", "train")
        'my_data-train'
    """
    if not SPLIT_NAME.fullmatch(split):
        raise InvalidArgumentError.from_value("split", split, "letters, digits and _ (with . between them)")
    return f"{filename_prefix_for_name(name)}-{split}"


def filepattern_for_dataset_split(
    dataset_name: str, split: str, data_dir: str, filetype_suffix: str | None = None
) -> str:
    """Gives the pattern that all files of a split match.

    Example:
        >>> filepattern_for_dataset_split("MyData", "train", "/d", "arrow")
        '/d/my_data-train.arrow*'
    """
    prefix = filename_prefix_for_split(dataset_name, split)
    return posixpath.join(data_dir, prefix + (f".{filetype_suffix}" if filetype_suffix else "") + "*")


def filenames_for_dataset_split(
    path: str,
    dataset_name: str,
    split: str,
    filetype_suffix: str | None = None,
    shard_lengths: Sequence[int] | None = None,
) -> list[str]:
    """Names the files of a split.

    Args:
        path: Their folder.
        dataset_name: The dataset.
        split: The split.
        filetype_suffix: ``"arrow"``, for example.
        shard_lengths: Rows of each file, if they are numbered.

    Example:
        >>> filenames_for_dataset_split("/d", "MyData", "train", "arrow", [3, 2])[1]
        '/d/my_data-train-00001-of-00002.arrow'
    """
    prefix = posixpath.join(path, filename_prefix_for_split(dataset_name, split))
    suffix = f".{filetype_suffix}" if filetype_suffix else ""
    if not shard_lengths:
        return [prefix + suffix]
    count = len(shard_lengths)
    return [f"{prefix}-{number:05d}-of-{count:05d}{suffix}" for number in range(count)]
