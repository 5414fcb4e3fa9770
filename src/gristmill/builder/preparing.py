"""From a builder to a prepared folder: whole under its final name, or absent; made once, found again.

::

    namespace___name/config/version/hash/
      name-train.arrow                     or name-train-00000-of-00002.arrow ..., or .parquet
      dataset_info.json                    splits, features, sizes: written last but for the rename
      origins.json                         split -> where its rows came from
      sources.json                         files of this machine that went in: their sizes and times of change
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gristmill import config
from gristmill.builder.place import local_files_in
from gristmill.builder.verifying import verify_checksums, verify_splits
from gristmill.builder.writing import Parts, name_files, settle, share, write_parts
from gristmill.download import DownloadManager, VerificationMode
from gristmill.errors import (
    CastError,
    DataError,
    DatasetGenerationCastError,
    DatasetGenerationError,
    DiskFullError,
    GristmillError,
    InvalidArgumentError,
    SchemaConflictError,
    TransformError,
)
from gristmill.features import Features
from gristmill.files.atomic import atomic_folder, sweep
from gristmill.files.borders import reading, writing
from gristmill.files.lock import sweep_lock
from gristmill.info import DatasetInfo
from gristmill.logging import get_logger
from gristmill.naming import filenames_for_dataset_split
from gristmill.prepared import is_room_for
from gristmill.prepared.guarded import make_alone
from gristmill.splits import SplitDict, SplitInfo
from gristmill.splits.generator import SplitGenerator
from gristmill.table.origins import Origins

if TYPE_CHECKING:
    from gristmill.builder.core import DatasetBuilder

ORIGINS_FILENAME = "origins.json"
SOURCES_FILENAME = "sources.json"
_log = get_logger(__name__)


@dataclass(frozen=True)
class Plan:
    """How a dataset is to be prepared.

    Attributes:
        folder: Where it goes.
        suffix: ``"arrow"`` or ``"parquet"``.
        max_bytes: A new file begins at this size in memory.
        num_proc: Worker processes.
        verification: How much to check.
        force: Prepare again what is there.
    """

    folder: Path
    suffix: str
    max_bytes: int
    num_proc: int | None
    verification: VerificationMode
    force: bool = False


def prepare(builder: DatasetBuilder, manager: DownloadManager, plan: Plan) -> DatasetInfo:
    """Makes sure that a builder's dataset is prepared.

    Args:
        builder: The builder.
        manager: What it gets its files from.
        plan: How.

    Returns:
        What is known about the dataset now.

    Raises:
        DatasetGenerationError: The builder's code failed, or a value does not fit; the cause says which.
        SplitsVerificationError: The splits are not those recorded.
        ChecksumVerificationError: The files are not those recorded.
        DiskFullError: There is not enough room.
        FileError: The cache can't be written, or was deleted meanwhile, and once more when all was begun again.
        InvalidArgumentError: The folder holds something else.
    """
    place = plan.folder.with_name(f"{plan.folder.name}.lock")
    found = None if plan.force else find_prepared(plan.folder, plan.suffix)
    if found is not None:
        _log.info("using the prepared dataset in %s", plan.folder)
        sweep_lock(place)
        return found
    what = f"the dataset {builder.dataset_name}"
    return make_alone(what, place, plan.folder.parent, partial(_prepare, builder, manager, plan))


def _prepare(builder: DatasetBuilder, manager: DownloadManager, plan: Plan) -> DatasetInfo:
    """Prepares it unless another process just has."""
    found = None if plan.force else find_prepared(plan.folder, plan.suffix)
    if found is not None:
        return found
    _refuse_other_content(plan.folder)
    sweep(plan.folder.parent)
    needed = builder.info.size_in_bytes or 0
    if not is_room_for(needed, plan.folder.parent):
        raise DiskFullError.from_sizes(plan.folder.parent, needed, _free(plan.folder.parent))
    with atomic_folder(plan.folder) as temporary:
        info = _build(builder, manager, plan, temporary)
    # Once more: workers that outlived a killed process for a moment may have made its folder again.
    sweep(plan.folder.parent)
    manager.manage_extracted_files()
    _log.info("prepared %s in %s", builder.dataset_name, plan.folder)
    return info


def find_prepared(folder: Path, suffix: str) -> DatasetInfo | None:
    """Gives what is known about a prepared dataset; None if it is not there, or files that it was made of have changed.

    Args:
        folder: Its folder.
        suffix: The form it should have.
    """
    try:
        info = DatasetInfo.from_directory(str(folder))
        sources = _read_sources(folder / SOURCES_FILENAME)
        files = [
            path
            for split in (info.splits or {}).values()
            for path in split_files(folder, info, split, suffix)
        ]
    except (GristmillError, ValueError, TypeError, AttributeError):
        return None
    if not info.splits or not all(path.is_file() for path in files):
        return None
    now = local_files_in(list(sources))
    changed = [path for path, state in now.items() if sources.get(path) != state]
    if changed:
        _log.info("%s: %s has changed, so it is prepared again", folder, changed[0])
        return None
    return info


def _read_sources(path: Path) -> dict[str, Any]:
    if not path.exists():  # prepared by `datasets`, which does not record them
        return {}
    with reading(path, "JSON"):
        sources: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return sources


def split_files(folder: Path, info: DatasetInfo, split: SplitInfo, suffix: str) -> list[Path]:
    """Names the files of a prepared split."""
    names = filenames_for_dataset_split(
        str(folder), info.dataset_name or "", split.name, suffix, split.shard_lengths
    )
    return [Path(name) for name in names]


def _refuse_other_content(folder: Path) -> None:
    """What is prepared takes the folder's place as a whole, so nothing else may be in it."""
    if not folder.is_dir() or (folder / config.DATASET_INFO_FILENAME).is_file():
        return
    others = sorted(entry.name for entry in folder.iterdir())
    if others:
        expected = f"a folder that is empty, new, or made by download_and_prepare; this one holds {', '.join(others[:5])}"
        raise InvalidArgumentError.from_value("output_dir", str(folder), expected)


def _free(folder: Path) -> int:
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _build(builder: DatasetBuilder, manager: DownloadManager, plan: Plan, folder: Path) -> DatasetInfo:
    with _generating(builder):
        generators = list_generators(builder, manager)
    if plan.verification is VerificationMode.ALL_CHECKS:
        verify_checksums(
            builder._expected.download_checksums, manager.get_recorded_sizes_checksums(), "the dataset"
        )
    features = builder.info.features
    written: dict[str, Parts] = {}
    origins: dict[str, Any] = {}
    sources = local_files_in(list(manager.downloaded_paths.values()))
    for generator in generators:
        shares = share(generator.gen_kwargs, plan.num_proc)
        sources.update(local_files_in(generator.gen_kwargs))
        with _generating(builder, generator.name):
            tables = builder._tables(generator.name, plan.verification is VerificationMode.ALL_CHECKS)
            written[generator.name] = write_parts(
                tables, shares, folder / generator.name, features, plan.max_bytes, plan.num_proc
            )
        rows = written[generator.name].share_rows
        known = builder._known_origins(generator.name)
        origins[generator.name] = (_origins(builder, shares, rows) if known is None else known).to_json()
    if features is None:
        with _generating(builder):
            features = settle(list(written.values()))
    info = _info(builder, manager, features, written)
    for name, parts in written.items():
        lengths = name_files(parts, features, folder, builder.dataset_name, name, plan.suffix, plan.num_proc)
        assert info.splits is not None
        info.splits[name].shard_lengths = lengths if len(lengths) > 1 else None
    if plan.verification is not VerificationMode.NO_CHECKS:
        verify_splits(builder._expected.splits, info.splits or {})
    # No file here needs to be atomic by itself: the folder is, and all of it is synced once before the rename.
    _write_json(folder / ORIGINS_FILENAME, origins)
    _write_json(folder / SOURCES_FILENAME, sources)
    _write_json(folder / config.DATASET_INFO_FILENAME, info.to_dict(), indent=2)
    return info


def list_generators(builder: DatasetBuilder, manager: Any) -> list[SplitGenerator]:
    """Asks a builder for its splits.

    Args:
        builder: The builder.
        manager: What it gets its files from.

    Raises:
        InvalidArgumentError: It gives something else, a name twice, or one that means all splits.
    """
    generators = builder._split_generators(manager)
    if not isinstance(generators, Iterable):
        raise InvalidArgumentError.from_value("_split_generators", generators, "a list of SplitGenerator")
    generators = list(generators)
    for generator in generators:
        if not isinstance(generator, SplitGenerator):
            raise InvalidArgumentError.from_value("_split_generators", generator, "a list of SplitGenerator")
    names = [generator.name for generator in generators]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or "all" in names:
        wrong = twice or ["all"]
        expected = 'each split once, and none of the name "all", which means all of them'
        raise InvalidArgumentError.from_value("_split_generators", wrong, expected)
    return generators


def _origins(builder: DatasetBuilder, shares: list[dict[str, Any]], rows: list[int]) -> Origins:
    source = builder.repo_id or f"{type(builder).__module__}.{type(builder).__qualname__}"
    parts = []
    for arguments, count in zip(shares, rows, strict=True):
        files = list(local_files_in(arguments))
        # Of a share made of one file it can be said which; of more, only what made the rows.
        name = files[0] if len(files) == 1 else builder._generating_method
        parts.append(Origins.single(source, None, name, count))
    return Origins.concat(parts)


def _info(
    builder: DatasetBuilder, manager: DownloadManager, features: Features, written: dict[str, Parts]
) -> DatasetInfo:
    info = builder.info.copy()
    info.features = features
    info.splits = SplitDict(dataset_name=builder.dataset_name)
    for name, parts in written.items():
        rows = parts.share_rows
        size = sum(part.size for part in parts.files)
        info.splits.add(SplitInfo(name, size, sum(rows)))
    info.download_checksums = manager.get_recorded_sizes_checksums() or None
    info.download_size = manager.downloaded_size
    info.dataset_size = sum(split.num_bytes for split in info.splits.values())
    info.size_in_bytes = info.dataset_size + info.download_size
    return info


def _write_json(path: Path, value: object, indent: int | None = None) -> None:
    with writing(path):
        path.write_text(json.dumps(value, ensure_ascii=False, indent=indent) + "\n", encoding="utf-8")


@contextlib.contextmanager
def _generating(builder: DatasetBuilder, split: str | None = None) -> Iterator[None]:
    """Says of an error which dataset and split were being prepared; the cause stays attached."""
    what = (
        f'Preparing the split "{split}" of {builder.dataset_name}'
        if split
        else f"Preparing {builder.dataset_name}"
    )
    try:
        yield
    except DatasetGenerationError:
        raise
    except (CastError, SchemaConflictError) as error:
        raise DatasetGenerationCastError(f"{what} failed: {error}") from error
    except (DataError, TransformError) as error:
        raise DatasetGenerationError(f"{what} failed: {error}") from (error.__cause__ or error)
