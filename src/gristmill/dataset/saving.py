"""`save_to_disk` and `load_from_disk`: folders that `datasets` reads and writes as well.

A folder holds Arrow files, ``state.json`` (which files, which format), ``dataset_info.json`` and, beside what `datasets`
knows, ``origins.json``. It is written aside and swapped in, so a dataset can be saved to the folder it was opened from.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill import config
from gristmill.arguments import file_path
from gristmill.dataset.sharding import Sharding
from gristmill.engine import Context, Task, run_tasks
from gristmill.errors import DataError, FileError, FileFormatError, FileMissingError, InvalidArgumentError
from gristmill.features.columnless import with_metadata
from gristmill.features.schema import schema_metadata
from gristmill.files.atomic import atomic_folder, temporary_name, write_json
from gristmill.files.borders import reading, writing
from gristmill.files.paths import expand_home, safe_join
from gristmill.files.remote import download_folder, local_path, upload_folder
from gristmill.files.temporary import temporary_prefix
from gristmill.fingerprint import generate_random_fingerprint, get_temporary_cache_files_directory
from gristmill.formatting import FormatSpec
from gristmill.info import DatasetInfo
from gristmill.logging import get_logger
from gristmill.table.arrow_file import ArrowFileWriter, open_many
from gristmill.table.origins import Origins
from gristmill.table.view import View

ORIGINS_FILENAME = "origins.json"
_DATA_FILES = "Use load_dataset for data files."
_log = get_logger(__name__)
_SAVED = re.compile(r"state\.json|dataset_info\.json|dataset_dict\.json|origins\.json|data-\d+-of-\d+\.arrow")
_CACHED = re.compile(r"(?:cache|tmp|indices)[^/]*\.arrow|cache-[^/]*\.json")


# ---------------------------------------------------------------- writing


@dataclass(frozen=True)
class Saved:
    """What is saved of a dataset, and what is loaded again.

    Attributes:
        view: The rows.
        info: What is known, with the features.
        split: Name of the split.
        spec: The format.
        fingerprint: The fingerprint.
    """

    view: View
    info: DatasetInfo
    split: str | None
    spec: FormatSpec
    fingerprint: str


@dataclass(frozen=True)
class _Shard:
    """Writes one range of rows as a file; sent to worker processes."""

    view: View
    schema: pa.Schema

    def __call__(self, argument: tuple[int, int], output: Path, context: Context) -> None:
        size = self.view.block_rows(100_000, 32 << 20)
        with ArrowFileWriter(output, self.schema) as writer:
            for table in self.view.blocks(size, *argument):
                writer.write_table(with_metadata(table, self.schema.metadata))
                context.advance(table.num_rows)


def write_saved(saved: Saved, folder: Path, sharding: Sharding) -> None:
    """Writes the files of a saved dataset into a folder.

    Args:
        saved: The dataset.
        folder: An empty folder that nobody reads yet.
        sharding: How many files.

    Raises:
        FileError: A file can't be written.
    """
    view = saved.view
    features = saved.info.features
    assert features is not None, "a dataset has features"
    ranges = sharding.ranges(view)
    names = [f"data-{number:05d}-of-{len(ranges):05d}.arrow" for number in range(len(ranges))]
    tasks = [
        Task(name, folder / name, rows, rows[1] - rows[0]) for name, rows in zip(names, ranges, strict=True)
    ]
    schema = view.schema.with_metadata(schema_metadata(features))
    run = partial(run_tasks, tasks=tasks, num_proc=sharding.num_proc, description="Saving", reuse=False)
    if sharding.num_proc is None or len(tasks) == 1:
        run(_Shard(view, schema))
    else:
        with tempfile.TemporaryDirectory(prefix=temporary_prefix("rows")) as rows_folder:
            run(_Shard(view.stored(Path(rows_folder)), schema))
    if view.origins is not None:
        origins, selection = view.origins
        chosen = origins if selection is None else origins.take(selection)
        with writing(folder / ORIGINS_FILENAME):
            (folder / ORIGINS_FILENAME).write_text(json.dumps(chosen.to_json()), encoding="utf-8")
    write_json(folder / config.DATASET_INFO_FILENAME, saved.info.to_dict())
    write_json(folder / config.DATASET_STATE_JSON_FILENAME, _state(saved, names))


def _state(saved: Saved, names: list[str]) -> dict[str, Any]:
    spec = saved.spec
    try:
        json.dumps(dict(spec.kwargs))
    except (TypeError, ValueError):
        _log.warning('the format "%s" can\'t be saved and is left out; the rows are saved', spec.type)
        spec = FormatSpec()
    return {
        "_data_files": [{"filename": name} for name in names],
        "_fingerprint": saved.fingerprint,
        "_format_columns": None if spec.columns is None else list(spec.columns),
        "_format_kwargs": dict(spec.kwargs),
        "_format_type": spec.type,
        "_output_all_columns": spec.output_all_columns,
        "_split": saved.split,
    }


@contextlib.contextmanager
def saving_to(path: str, storage_options: Mapping[str, Any] | None) -> Iterator[Path]:
    """Gives an empty folder to fill that replaces what is at a path when the block ends without an error.

    Args:
        path: A path on this machine, or a URL of another file system.
        storage_options: Options of that file system.

    Raises:
        FileError: The folder can't be written or swapped in.
    """
    path = file_path("dataset_path", path)
    final = local_path(path)
    if final is None:
        with tempfile.TemporaryDirectory(prefix=temporary_prefix("save")) as temporary:
            yield Path(temporary)
            upload_folder(Path(temporary), str(path), storage_options)
        return
    # A link is followed, so that the folder stays on the disk it was put on.
    with writing(final):  # the working folder may have been deleted
        final = Path(os.path.realpath(expand_home(final)))
    if final.exists() and not final.is_dir():
        raise FileError(f"Could not save to {final}: it is a file, and a dataset is saved as a folder.")
    if _is_saved_alone(final) and not final.is_mount():
        with atomic_folder(final) as folder:
            yield folder
        return
    # Somebody keeps other things in this folder: they stay, and each of our files is replaced as a whole.
    folder = temporary_name(final / "saved")
    try:
        with writing(final):
            folder.mkdir(parents=True)
        yield folder
        with writing(final):
            _move_into(folder, final)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_saved_alone(folder: Path) -> bool:
    """Says whether all that is lost with a folder, if it is there, is what an earlier save made."""
    if not folder.is_dir():
        return True
    with writing(folder):
        entries = [entry for entry in folder.iterdir() if not entry.name.endswith((".incomplete", ".aside"))]
    splits = _splits_or_none(folder)
    return all(
        (entry.name in splits and _is_saved_alone(entry))
        if entry.is_dir()
        else _SAVED.fullmatch(entry.name) or _CACHED.fullmatch(entry.name)
        for entry in entries
    )


def _splits_or_none(folder: Path) -> list[str]:
    try:
        return read_splits(folder) if is_saved_dict(folder) else []
    except (DataError, OSError):
        return []


def _move_into(new: Path, final: Path) -> None:
    made = {entry.name for entry in new.iterdir()}
    # The state last: until then the old one stands.
    last = (config.DATASET_STATE_JSON_FILENAME, config.DATASETDICT_JSON_FILENAME)
    for entry in sorted(new.iterdir(), key=lambda entry: (entry.name in last, entry.name)):
        target = final / entry.name
        if entry.is_dir() and target.is_dir():
            _move_into(entry, target)
        else:
            entry.replace(target)
    for entry in final.iterdir():
        if entry.name not in made and _SAVED.fullmatch(entry.name):
            entry.unlink()


# ---------------------------------------------------------------- reading


@contextlib.contextmanager
def fetched(path: str, storage_options: Mapping[str, Any] | None) -> Iterator[Path]:
    """Gives the local folder of a path, fetched first if it is on another file system.

    Raises:
        FileMissingError: There is no such folder.
        FileError: The file system refuses.
    """
    path = file_path("dataset_path", path)
    local = local_path(path)
    if local is None:
        local = Path(get_temporary_cache_files_directory()) / f"saved-{generate_random_fingerprint()}"
        download_folder(str(path), local, storage_options)
    local = expand_home(local)
    if not local.is_dir():
        if local.exists():
            raise FileMissingError(f"{local} is a file, not a folder that save_to_disk made. {_DATA_FILES}")
        raise FileMissingError.from_path(local, "Is it the folder that save_to_disk was given?")
    yield local


def is_saved_dict(folder: Path) -> bool:
    """Says whether a folder holds a saved `DatasetDict`."""
    return (folder / config.DATASETDICT_JSON_FILENAME).is_file()


def is_saved(folder: Path) -> bool:
    """Says whether a folder holds a saved `Dataset`."""
    return (folder / config.DATASET_STATE_JSON_FILENAME).is_file() and (
        folder / config.DATASET_INFO_FILENAME
    ).is_file()


def not_saved(folder: Path, kind: str) -> FileMissingError:
    """Words that a folder is none that the `save_to_disk` of a kind made, or that it holds the other kind."""
    for held, there in (("Dataset", is_saved(folder)), ("DatasetDict", is_saved_dict(folder))):
        if there and held != kind:
            return FileMissingError(
                f"{folder} holds a {held}, not a {kind}; open it with load_from_disk or {held}.load_from_disk."
            )
    return FileMissingError(
        f"{folder} is no folder of a {kind} that save_to_disk made: {config.DATASET_STATE_JSON_FILENAME} or "
        f"{config.DATASET_INFO_FILENAME} is missing. {_DATA_FILES}"
    )


def read_splits(folder: Path) -> list[str]:
    """Reads which splits a saved `DatasetDict` has.

    Raises:
        FileFormatError: ``dataset_dict.json`` is not what it should be.
    """
    path = folder / config.DATASETDICT_JSON_FILENAME
    splits = _read_object(path).get("splits")
    if not isinstance(splits, list) or not all(isinstance(name, str) for name in splits):
        raise FileFormatError.at("does not list its splits", file=path)
    return splits


def read_saved(folder: Path, keep_in_memory: bool | None) -> Saved:
    """Opens a saved dataset.

    Args:
        folder: Its folder.
        keep_in_memory: Read the rows instead of mapping the files; None reads what is smaller than
            `config.IN_MEMORY_MAX_SIZE`.

    Raises:
        FileMissingError: The folder is none of a saved dataset, or a file is missing.
        FileFormatError: A file is damaged.
        UnsafePathError: ``state.json`` names a file outside.
    """
    if is_saved_dict(folder) or not is_saved(folder):
        raise not_saved(folder, "Dataset")
    path = folder / config.DATASET_STATE_JSON_FILENAME
    state = _read_object(path)
    info = DatasetInfo.from_directory(str(folder))
    try:
        files = [safe_join(folder, str(entry["filename"])) for entry in state["_data_files"]]
        split, fingerprint = state.get("_split"), str(state["_fingerprint"])
    except (KeyError, TypeError) as error:
        raise FileFormatError.at("does not name its files", file=path) from error
    in_memory = keep_in_memory
    if in_memory is None:
        in_memory = sum(file.stat().st_size for file in files if file.is_file()) < config.IN_MEMORY_MAX_SIZE
    table = open_many(files, in_memory, check="offsets") if files else pa.table({})
    origins = _read_origins(folder / ORIGINS_FILENAME, table.num_rows)
    view = View.from_table(table, () if in_memory else files, origins)
    spec = _read_format(state, table.column_names, path)
    return Saved(view, info, None if split is None else str(split), spec, fingerprint)


def _read_object(path: Path) -> dict[str, Any]:
    with reading(path, "JSON"):
        text = path.read_text(encoding="utf-8")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileFormatError.at(f"is not JSON ({error})", file=path) from error
    if not isinstance(value, dict):
        raise FileFormatError.at("holds no JSON object", file=path)
    return value


def _read_format(state: Mapping[str, Any], existing: list[str], path: Path) -> FormatSpec:
    kwargs = state.get("_format_kwargs") or {}
    try:
        if not isinstance(kwargs, Mapping):
            raise InvalidArgumentError.from_value("_format_kwargs", kwargs, "a dict of options")
        return FormatSpec.parse(
            state.get("_format_type"),
            state.get("_format_columns"),
            bool(state.get("_output_all_columns")),
            kwargs,
            existing,
        )
    except (InvalidArgumentError, NotImplementedError, LookupError, TypeError) as error:
        _log.warning("the format that %s names can't be used and is left out: %s", path, error)
        return FormatSpec()


def _read_origins(path: Path, rows: int) -> Origins | None:
    if not path.is_file():
        return None
    try:
        origins = Origins.from_json(_read_object(path))
    except DataError as error:
        _log.warning("where the rows came from is not known: %s", error)
        return None
    if len(origins) != rows:
        _log.warning("where the rows came from is not known: %s is of other rows", path)
        return None
    return origins
