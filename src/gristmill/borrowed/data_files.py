"""Lists of data files and of the patterns that find them, as objects that code built on `datasets` makes itself."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gristmill.download import DownloadConfig
from gristmill.download.fetching import make_client
from gristmill.errors import DataFilesNotFoundError
from gristmill.files.data_files import parse_data_files
from gristmill.files.patterns import has_magic
from gristmill.files.remote import local_path
from gristmill.files.split_names import infer_splits, is_description
from gristmill.prepared.user_files import find_user_files

__all__ = [
    "DataFilesDict", "DataFilesList", "DataFilesPatternsDict", "DataFilesPatternsList", "EmptyDatasetError",
    "contains_wildcards", "get_data_patterns", "resolve_pattern", "sanitize_patterns",
]  # fmt: skip

EmptyDatasetError = DataFilesNotFoundError
FILES_TO_IGNORE = [
    "README.md", "config.json", "dataset_info.json", "dataset_infos.json", "dummy_data.zip", "dataset_dict.json",
]  # fmt: skip
"""Names of files that describe a dataset and are no data files."""


def contains_wildcards(pattern: str) -> bool:
    """Says whether a path is a pattern.

    Example:
        >>> contains_wildcards("data/*.csv"), contains_wildcards("data/a.csv")
        (True, False)
    """
    return has_magic(pattern)


def sanitize_patterns(patterns: Any) -> dict[str, list[str]]:
    """Brings every form of ``data_files`` to one: split -> patterns.

    Raises:
        InvalidArgumentError: It is of none of the documented forms.

    Example:
        >>> sanitize_patterns(["a.csv", "b.csv"])
        {'train': ['a.csv', 'b.csv']}
    """
    return parse_data_files(patterns)


def _find(
    patterns: Sequence[str], base_path: str | None, config: DownloadConfig | None
) -> list[tuple[str, Any]]:
    """Finds files: for each its absolute name and what it is known by."""
    config = config or DownloadConfig()
    found = find_user_files(
        list(patterns), base_path or None, lambda: make_client(config), config.storage_options, parts=True
    )["train"]
    base = None if not base_path else local_path(base_path)
    return [(_absolute(file, base), file.identity) for file in found]


def _absolute(file: Any, base: Path | None) -> str:
    if file.path is not None and local_path(str(file.name)) is not None:
        return str(Path(base or Path.cwd(), file.path).absolute())
    return str(file.name)


def _has_extension(name: str, allowed: Iterable[str] | None) -> bool:
    return allowed is None or any(f".{part}" in allowed for part in Path(name).name.split(".")[1:])


def resolve_pattern(
    pattern: str,
    base_path: str,
    allowed_extensions: list[str] | None = None,
    download_config: DownloadConfig | None = None,
) -> list[str]:
    """Lists the files that a path or pattern means.

    Args:
        pattern: A path, pattern or URL.
        base_path: The folder, or its URL, that relative ones are in.
        allowed_extensions: Only files with one of these suffixes, dots included.
        download_config: How to reach other file systems.

    Returns:
        Absolute paths and URLs, in natural order.

    Raises:
        DataFilesNotFoundError: It means no file.
    """
    names = [name for name, _ in _find([pattern], base_path, download_config)]
    kept = [name for name in names if _has_extension(name, allowed_extensions)]
    if not kept:
        raise DataFilesNotFoundError(
            f'"{pattern}" means no file with one of the suffixes {allowed_extensions}.'
        )
    return kept


def get_data_patterns(base_path: str, download_config: DownloadConfig | None = None) -> dict[str, list[str]]:
    """Says which data files of a folder belong to which split, judged by their names.

    Args:
        base_path: The folder, or its URL.
        download_config: How to reach other file systems.

    Returns:
        Split -> patterns below the folder that find its files; here, each the name of one file.

    Raises:
        DataFilesNotFoundError: There is no data file.
    """
    root = base_path.rstrip("/")
    names = [name for name, _ in _find([f"{glob.escape(root)}/**"], None, download_config)]
    below = [name.removeprefix(f"{root}/") for name in names]
    splits = infer_splits([name for name in below if not is_description(name)], base_path)
    return {split: [glob.escape(name) for name in files] for split, files in splits.items()}


class DataFilesList(list[str]):
    """Files, with what tells one state of them from another.

    Args:
        data_files: Absolute paths and URLs.
        origin_metadata: For each, what it is known by: for example a time of change, or a commit.
    """

    def __init__(self, data_files: list[str], origin_metadata: list[tuple[Any, ...]]) -> None:
        super().__init__(data_files)
        self.origin_metadata = origin_metadata

    def __reduce__(self) -> Any:
        return type(self), (list(self), self.origin_metadata)

    @classmethod
    def from_patterns(
        cls,
        patterns: list[str],
        base_path: str | None = None,
        allowed_extensions: list[str] | None = None,
        download_config: DownloadConfig | None = None,
    ) -> DataFilesList:
        """Finds the files of patterns, see `resolve_pattern`; a pattern that means none is an error."""
        found = [
            pair
            for pair in _find(patterns, base_path, download_config)
            if _has_extension(pair[0], allowed_extensions)
        ]
        return cls([name for name, _ in found], [(identity,) for _, identity in found])

    from_local_or_remote = from_patterns

    def filter(
        self, *, extensions: list[str] | None = None, file_names: list[str] | None = None
    ) -> DataFilesList:
        """Keeps the files with one of some suffixes, or with one of some names."""
        kept = [
            pair
            for pair in zip(self, self.origin_metadata, strict=True)
            if (extensions is not None and _has_extension(pair[0], extensions))
            or (file_names is not None and Path(pair[0]).name in file_names)
        ]
        return type(self)([name for name, _ in kept], [origin for _, origin in kept])

    def __add__(self, other: Any) -> DataFilesList:  # type: ignore[override]  # lists of our own kind
        return type(self)([*self, *other], [*self.origin_metadata, *other.origin_metadata])


class DataFilesDict(dict[str, DataFilesList]):
    """Split -> its files."""

    @classmethod
    def from_patterns(
        cls,
        patterns: Mapping[str, Any],
        base_path: str | None = None,
        allowed_extensions: list[str] | None = None,
        download_config: DownloadConfig | None = None,
    ) -> DataFilesDict:
        """Finds the files of the patterns of each split; a value that is a `DataFilesList` already stays."""
        return cls(
            {
                str(split): files
                if isinstance(files, DataFilesList)
                else DataFilesList.from_patterns(files, base_path, allowed_extensions, download_config)
                for split, files in patterns.items()
            }
        )

    from_local_or_remote = from_patterns

    def filter(
        self, *, extensions: list[str] | None = None, file_names: list[str] | None = None
    ) -> DataFilesDict:
        """Keeps the files with one of some suffixes or names, and the splits that have any."""
        kept = {
            split: files.filter(extensions=extensions, file_names=file_names) for split, files in self.items()
        }
        return type(self)({split: files for split, files in kept.items() if files})


class DataFilesPatternsList(list[str]):
    """Patterns, each with the suffixes that its files may have.

    Args:
        patterns: Paths, patterns and URLs.
        allowed_extensions: For each, suffixes, or None for any.
    """

    def __init__(self, patterns: list[str], allowed_extensions: list[list[str] | None]) -> None:
        super().__init__(patterns)
        self.allowed_extensions = allowed_extensions

    def __reduce__(self) -> Any:
        return type(self), (list(self), self.allowed_extensions)

    @classmethod
    def from_patterns(
        cls, patterns: list[str], allowed_extensions: list[str] | None = None
    ) -> DataFilesPatternsList:
        """Makes a list whose patterns have the same suffixes."""
        return cls(list(patterns), [allowed_extensions] * len(patterns))

    def resolve(self, base_path: str, download_config: DownloadConfig | None = None) -> DataFilesList:
        """Finds the files, see `DataFilesList.from_patterns`."""
        files = DataFilesList([], [])
        for pattern, allowed in zip(self, self.allowed_extensions, strict=True):
            files += DataFilesList.from_patterns([pattern], base_path, allowed, download_config)
        return files

    def filter_extensions(self, extensions: list[str]) -> DataFilesPatternsList:
        """Restricts the files to some suffixes."""
        allowed = [
            extensions if before is None else [one for one in before if one in extensions]
            for before in self.allowed_extensions
        ]
        return type(self)(list(self), [list(one) for one in allowed])

    def __add__(self, other: Any) -> DataFilesPatternsList:  # type: ignore[override]  # likewise
        return type(self)([*self, *other], [*self.allowed_extensions, *other.allowed_extensions])


class DataFilesPatternsDict(dict[str, DataFilesPatternsList]):
    """Split -> its patterns."""

    @classmethod
    def from_patterns(
        cls, patterns: Mapping[str, Any], allowed_extensions: list[str] | None = None
    ) -> DataFilesPatternsDict:
        """Makes one of patterns by split."""
        return cls(
            {
                str(split): one
                if isinstance(one, DataFilesPatternsList)
                else DataFilesPatternsList.from_patterns(one, allowed_extensions)
                for split, one in patterns.items()
            }
        )

    def resolve(self, base_path: str, download_config: DownloadConfig | None = None) -> DataFilesDict:
        """Finds the files of each split."""
        return DataFilesDict({split: one.resolve(base_path, download_config) for split, one in self.items()})

    def filter_extensions(self, extensions: list[str]) -> DataFilesPatternsDict:
        """Restricts the files of each split to some suffixes."""
        return type(self)({split: one.filter_extensions(extensions) for split, one in self.items()})
