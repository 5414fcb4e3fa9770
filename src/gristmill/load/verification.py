"""Whether what was loaded is what is said of it: splits and rows by the card, files by the hashes of the Hub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gristmill.builder.verifying import verify_splits
from gristmill.errors import NonMatchingChecksumError
from gristmill.prepared.downloaded import has_hash, hash_of
from gristmill.prepared.opening import OpenSplit
from gristmill.prepared.source import SplitSource
from gristmill.splits import SplitDict, SplitInfo

__all__ = ["check_files", "check_splits"]


def check_splits(expected: SplitDict | None, known: Sequence[str], opened: Mapping[str, OpenSplit]) -> None:
    """Compares the splits there are, and the rows of those that were opened, with what is said of them.

    Args:
        expected: What is said; None expects nothing.
        known: The splits there are.
        opened: The splits that were opened; of the others only the names are compared.

    Raises:
        ExpectedMoreSplitsError: A split that is said to be there is not.
        UnexpectedSplitsError: There is one of which nothing is said.
        NonMatchingSplitsSizesError: One has another number of rows.
    """
    if expected:
        recorded = {
            name: opened[name].split if name in opened else expected.get(name, SplitInfo(name))
            for name in known
        }
        verify_splits(expected, recorded)


def check_files(sources: Sequence[SplitSource]) -> None:
    """Hashes the local copies of data files whose hashes the Hub tells.

    Args:
        sources: What splits are made of; what is not here is fetched.

    Raises:
        NonMatchingChecksumError: A file has another hash.
        FileError: A file can't be read.
        HubError: A file can't be fetched.
    """
    for source in sources:
        files = [file for file in source.files if has_hash(file)]
        wrong = [
            file.name
            for file, path in zip(files, source.fetch(files), strict=True)
            if hash_of(file, path) != file.identity
        ]
        if wrong:
            raise NonMatchingChecksumError.from_urls(
                'Files are not what the Hub says they are, download_mode="force_redownload" fetches them again',
                wrong,
            )
