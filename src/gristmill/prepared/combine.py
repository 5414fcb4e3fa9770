"""The splits of one load: prepared one by one, brought to common columns, opened together."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill.errors import FileError, FileFormatError, SchemaConflictError
from gristmill.features import Features
from gristmill.features.infer import unify_schemas
from gristmill.info import DatasetInfo
from gristmill.logging import get_logger
from gristmill.prepared.folder_record import read_record
from gristmill.prepared.keys import split_folder
from gristmill.prepared.opening import OpenSplit, open_prepared
from gristmill.prepared.prepare import prepare
from gristmill.prepared.source import SplitSource
from gristmill.splits import SplitDict, SplitInfo

_log = get_logger(__name__)


def prepare_and_open(
    sources: Mapping[str, SplitSource],
    cache: Path,
    *,
    force: bool = False,
    keep_in_memory: bool | None = None,
    num_proc: int | None = None,
    checksums: bool = False,
) -> dict[str, OpenSplit]:
    """Prepares splits that are not prepared yet, and opens them with common columns where their types allow it.

    Args:
        sources: Split -> what it is made of.
        cache: The datasets cache.
        force: Prepare again what is there.
        keep_in_memory: As for `open_prepared`.
        num_proc: As for `prepare`.
        checksums: As for `prepare`.

    Returns:
        Split -> its open files.

    Raises:
        DatasetGenerationError: A split can't be prepared.
        HubError: A file can't be fetched.
    """
    how = _How(cache, keep_in_memory, num_proc, checksums)
    opened = {name: _one(source, force, how) for name, source in sources.items()}
    common = _common_features([split.features for split in opened.values()])
    if common is not None:
        for name, source in sources.items():
            # A column that is empty in one split is text in another: the narrower split is prepared once more.
            if opened[name].features != common and source.features is None:
                wider = dataclasses.replace(source, card_features=common)
                opened[name] = _one(wider, force, how)
    return opened


def splits_besides(
    names: Sequence[str], sources: Mapping[str, SplitSource], cache: Path, said: SplitDict | None
) -> dict[str, SplitInfo]:
    """Gives what is known about splits that were not asked for, without preparing them.

    Args:
        names: The splits.
        sources: Split -> what it is made of, as far as that was looked for.
        cache: The datasets cache; what an earlier load prepared there is known.
        said: What the card says of the sizes.

    Returns:
        Split -> what is known; sizes are 0 where nobody knows them.
    """
    found: dict[str, SplitInfo] = {}
    for name in names:
        told = None if said is None else said.get(name)
        if told is None and name in sources:
            source = sources[name]
            # Absent, damaged, or being made right now: then it is not known yet.
            with contextlib.suppress(FileError, FileFormatError):
                record = read_record(split_folder(source, cache), source.source, source.revision)
                told = (record.info.splits or SplitDict()).get(name)
        found[name] = SplitInfo(name) if told is None else dataclasses.replace(told)
    return found


def info_of(splits: Sequence[OpenSplit], every: Mapping[str, SplitInfo] | None = None) -> DatasetInfo:
    """Joins what is known about splits of one dataset: their sizes add up, and each is listed.

    Args:
        splits: At least one.
        every: All splits there are, in their order, if more than these are to be listed.
    """
    first = splits[0]
    entries = SplitDict(dataset_name=first.info.dataset_name)
    checksums: dict[str, Any] = {}
    listed = {split.split.name: split.split for split in splits}
    for entry in {**(every or {}), **listed}.values():
        entries.add(entry)
    for split in splits:
        checksums.update(split.info.download_checksums or {})
    info = first.info._with(features=first.features, splits=entries, download_checksums=checksums or None)
    info.dataset_size = sum(split.info.dataset_size or 0 for split in splits)
    info.download_size = sum(split.info.download_size or 0 for split in splits)
    info.size_in_bytes = info.dataset_size + info.download_size
    return info


def info_with(info: DatasetInfo, split: OpenSplit) -> DatasetInfo:
    """Gives a copy of what is known about a dataset, with the columns of one of its splits."""
    return info._with(features=split.features)


@dataclasses.dataclass(frozen=True)
class _How:
    cache: Path
    keep_in_memory: bool | None
    num_proc: int | None
    checksums: bool


_NOT_ITS_FAULT = (errno.EMFILE, errno.ENFILE, errno.EACCES, errno.EPERM)


def _one(source: SplitSource, force: bool, how: _How) -> OpenSplit:
    folder = prepare(source, how.cache, force=force, num_proc=how.num_proc, checksums=how.checksums)
    try:
        opened = open_prepared(
            folder, source=source.source, revision=source.revision, keep_in_memory=how.keep_in_memory
        )
        if opened.split.name != source.split:
            raise FileFormatError.at(f"does not hold the split {source.split}", file=folder)
        return opened
    except (FileError, FileFormatError) as error:
        # What can't be opened now may be whole.
        if force or getattr(error.__cause__, "errno", None) in _NOT_ITS_FAULT:
            raise
        _log.warning("the prepared split in %s is damaged and is prepared again: %s", folder, error)
        return _one(source, True, how)


def _common_features(features: Sequence[Features]) -> Features | None:
    """Finds the columns that hold the rows of all splits; None if they agree already, or if nothing does."""
    if all(item == features[0] and list(item) == list(features[0]) for item in features):
        return None
    schema = pa.schema([])
    try:
        for item in features:
            schema = unify_schemas(schema, item.arrow_schema.remove_metadata())
    except SchemaConflictError as error:
        _log.info("the splits keep columns of their own: %s", error)
        return None
    common = Features.from_arrow_schema(schema)
    for column in common:
        # Meaning beyond the Arrow type (class names) is that of the first split that has it.
        for item in features:
            if column in item and item.arrow_schema.field(column).type == schema.field(column).type:
                common[column] = item[column]
                break
    return common
