"""`from_csv`, `from_json`, `from_parquet`, `from_text`: files prepared in the cache as `load_dataset` does it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gristmill import config
from gristmill.arguments import file_path
from gristmill.engine.tasks import check_num_proc
from gristmill.features import Features
from gristmill.files.paths import expand_home
from gristmill.info import DatasetInfo
from gristmill.prepared.combine import info_of, info_with, prepare_and_open
from gristmill.prepared.named_files import files_by_split
from gristmill.prepared.opening import OpenRows
from gristmill.prepared.resolve import Request, from_format


@dataclass(frozen=True)
class FileRows:
    """The rows of files, and what is known about them."""

    rows: OpenRows
    info: DatasetInfo


def read_files(
    format: str,
    paths: Any,
    *,
    split: str | None = None,
    features: Features | None = None,
    cache_dir: str | None = None,
    keep_in_memory: bool = False,
    num_proc: int | None = None,
    columns: Sequence[str] | None = None,
    filters: Any = None,
    options: Mapping[str, Any] | None = None,
) -> dict[str, FileRows]:
    """Reads files of a format, or finds what an earlier call read.

    Args:
        format: Name of the format.
        paths: A path, pattern or URL, several, or a mapping of split to either.
        split: What to call the rows of paths that are no mapping; ``"train"`` by default. Of a mapping, the split to
            read.
        features: What the columns shall be.
        cache_dir: Where prepared rows go; `config.HF_DATASETS_CACHE` by default.
        keep_in_memory: Read the prepared rows instead of mapping them.
        num_proc: How many groups of files are worked on at a time.
        columns: Only these columns.
        filters: Only the rows that pass.
        options: Options of the format's reader; ``storage_options`` among them are those of the file systems that URLs
            name.

    Returns:
        Split -> its rows.

    Raises:
        DataFilesNotFoundError: A path means nothing.
        InvalidArgumentError: An option is not known, or a mapping has no such split.
        DatasetGenerationError: A file can't be read or does not fit; the cause says which and where.
    """
    check_num_proc(num_proc)
    files = files_by_split(paths, split)
    more = dict(options or {})
    more.pop("streaming", None)
    request = Request(
        data_files=files,
        storage_options=more.pop("storage_options", None) or {},
        options=more,
        columns=None if columns is None else tuple(columns),
        filters=filters,
        features=None if features is None else Features(features),
    )
    with contextlib.closing(request):
        resolved = from_format(format, request)
        cache = expand_home(file_path("cache_dir", cache_dir or config.HF_DATASETS_CACHE))
        opened = prepare_and_open(
            resolved.splits,
            cache,
            keep_in_memory=keep_in_memory,
            num_proc=max(1, num_proc) if num_proc else None,
        )
    info = info_of(list(opened.values()))
    return {name: FileRows(part.all_rows(), info_with(info, part)) for name, part in opened.items()}
