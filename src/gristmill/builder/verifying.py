"""Whether what was downloaded and prepared is what is recorded of a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gristmill import config
from gristmill.errors import (
    ExpectedMoreDownloadedFilesError,
    ExpectedMoreSplitsError,
    NonMatchingChecksumError,
    NonMatchingSplitsSizesError,
    UnexpectedDownloadedFileError,
    UnexpectedSplitsError,
)
from gristmill.logging import get_logger
from gristmill.splits import SplitInfo

__all__ = ["is_small_dataset", "verify_checksums", "verify_splits"]

_log = get_logger(__name__)


def is_small_dataset(dataset_size: int | None) -> bool:
    """Says whether a dataset is read into memory by itself, by `config.IN_MEMORY_MAX_SIZE`.

    Args:
        dataset_size: Its bytes, if known.

    Example:
        >>> is_small_dataset(10**6)
        False
    """
    return bool(dataset_size) and (dataset_size or 0) < config.IN_MEMORY_MAX_SIZE


def verify_splits(
    expected_splits: Mapping[str, SplitInfo] | None, recorded_splits: Mapping[str, SplitInfo]
) -> None:
    """Compares the splits prepared with those recorded.

    Args:
        expected_splits: What is recorded; None or nothing expects nothing.
        recorded_splits: What was prepared.

    Raises:
        ExpectedMoreSplitsError: A split that is recorded was not prepared.
        UnexpectedSplitsError: A split was prepared that is not recorded.
        NonMatchingSplitsSizesError: A split has another number of rows.

    Example:
        >>> verify_splits({"train": SplitInfo("train", 10, 3)}, {"train": SplitInfo("train", 12, 3)})
    """
    if not expected_splits:
        return
    missing, more = set(expected_splits) - set(recorded_splits), set(recorded_splits) - set(expected_splits)
    if missing:
        raise ExpectedMoreSplitsError.from_splits("Splits that are recorded are not there", sorted(missing))
    if more:
        raise UnexpectedSplitsError.from_splits("There are splits that are not recorded", sorted(more))
    wrong = [
        f"{name} has {recorded_splits[name].num_examples} rows, not {split.num_examples}"
        for name, split in expected_splits.items()
        if split.num_examples != recorded_splits[name].num_examples
    ]
    if wrong:
        raise NonMatchingSplitsSizesError.from_splits(
            "Splits have other numbers of rows than recorded", wrong
        )


def verify_checksums(
    expected_checksums: Mapping[str, Any] | None,
    recorded_checksums: Mapping[str, Any],
    verification_name: str | None = None,
) -> None:
    """Compares the files downloaded with those recorded.

    Args:
        expected_checksums: URL -> ``{"num_bytes": ..., "checksum": ...}``; None expects nothing.
        recorded_checksums: The same of what was downloaded. Where either has no checksum, sizes decide.
        verification_name: What is being checked, for messages.

    Raises:
        ExpectedMoreDownloadedFilesError: A file that is recorded was not downloaded.
        UnexpectedDownloadedFileError: A file was downloaded that is not recorded.
        NonMatchingChecksumError: A file has another size or hash.

    Example:
        >>> verify_checksums(
        ...     {"a": {"num_bytes": 1, "checksum": None}}, {"a": {"num_bytes": 1, "checksum": "5f"}}
        ... )
    """
    what = f" of {verification_name}" if verification_name else ""
    if not expected_checksums:
        _log.debug("there are no recorded checksums%s to compare with", what)
        return
    missing, more = (
        set(expected_checksums) - set(recorded_checksums),
        set(recorded_checksums) - set(expected_checksums),
    )
    if missing:
        raise ExpectedMoreDownloadedFilesError.from_urls(
            f"Files{what} that are recorded are not there", missing
        )
    if more:
        raise UnexpectedDownloadedFileError.from_urls(f"There are files{what} that are not recorded", more)
    wrong = [
        url for url, facts in expected_checksums.items() if not _same_file(facts, recorded_checksums[url])
    ]
    if wrong:
        raise NonMatchingChecksumError.from_urls(f"Files{what} have other bytes than recorded", wrong)


def _same_file(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    hashes = one.get("checksum"), other.get("checksum")
    sizes = one.get("num_bytes"), other.get("num_bytes")
    return all(None in pair or pair[0] == pair[1] for pair in (hashes, sizes))
