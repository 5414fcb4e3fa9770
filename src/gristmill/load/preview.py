"""The columns and first rows of anything that can be loaded, as plain values: what `gristmill show` prints."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from gristmill import config as settings
from gristmill.dataset import Dataset
from gristmill.load.finding import Settings, find_dataset
from gristmill.prepared.combine import info_of
from gristmill.prepared.opening import join_parts
from gristmill.prepared.resolve import Request
from gristmill.prepared.split_spec import wanted_parts


@dataclass(frozen=True)
class Preview:
    """What a dataset looks like.

    Attributes:
        name: What it is called.
        config: Name of the config.
        commit: Commit, if it is on the Hub.
        split: The split looked at.
        splits: All its splits.
        num_rows: Rows of the split looked at.
        columns: Column name -> its feature, in words.
        rows: The first rows.
    """

    name: str
    config: str
    commit: str | None
    split: str
    splits: list[str]
    num_rows: int
    columns: dict[str, str]
    rows: list[dict[str, Any]]


def preview_dataset(
    path: str,
    config: str | None = None,
    *,
    split: str | None = None,
    rows: int = 5,
    revision: str | None = None,
) -> Preview:
    """Looks at the columns and first rows of a dataset.

    Args:
        path: A name on the Hub, a folder, a data file or its URL.
        config: The config, where the dataset has several.
        split: A split or slice; the first split if left out. Only its files are fetched.
        rows: How many rows to give, at most.
        revision: Branch, tag or commit on the Hub.

    Raises:
        GristmillError: As for `load_dataset`.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder, settings.override(HF_DATASETS_CACHE=Path(folder)):
        ...     file = Path(folder) / "a.jsonl"
        ...     _ = file.write_text('{"a": 1}')
        ...     preview_dataset(str(file)).columns
        {'a': "Value('int64')"}
    """
    request = Request(name=config)
    with contextlib.closing(request):
        found = find_dataset(path, revision or "main", request, Settings(settings.HF_DATASETS_CACHE))
        parts = wanted_parts(split or found.known[0], found.known, found.where)
        opened = found.open([part.split for part in parts])
    rows_found = vars(join_parts(parts, opened))
    dataset = Dataset._from_parts(**rows_found, info=info_of(list(opened.values())))
    return Preview(
        name=path,
        config=found.config,
        commit=found.commit,
        split=str(dataset.split),
        splits=list(found.known),
        num_rows=dataset.num_rows,
        columns={name: repr(feature) for name, feature in dataset.features.items()},
        rows=[dataset[index] for index in range(min(rows, dataset.num_rows))],
    )
