"""A prepared dataset of a builder, opened: its Arrow files are mapped, nothing is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gristmill.build.combine import info_with
from gristmill.build.opening import OpenSplit, join_parts
from gristmill.build.split_spec import in_shape, wanted_parts
from gristmill.builder.preparing import ORIGINS_FILENAME, split_files
from gristmill.dataset import Dataset
from gristmill.dataset_dict import DatasetDict
from gristmill.errors import FileFormatError
from gristmill.features import Features
from gristmill.files.borders import reading
from gristmill.info import DatasetInfo
from gristmill.table.arrow_file import open_many
from gristmill.table.origins import Origins

__all__ = ["open_splits", "shape", "split_names"]


def open_splits(folder: Path, info: DatasetInfo, names: list[str], in_memory: bool) -> dict[str, OpenSplit]:
    """Opens splits of a prepared dataset.

    Args:
        folder: Its folder.
        info: What is known about it.
        names: The splits.
        in_memory: Read the rows instead of mapping the files.

    Raises:
        FileError: A file is missing.
        FileFormatError: A file is damaged.
    """
    origins = _read_origins(folder / ORIGINS_FILENAME)
    opened = {}
    for name in names:
        assert info.splits is not None
        split = info.splits[name]
        files = split_files(folder, info, split, "arrow")
        table = open_many(files, in_memory=in_memory)
        features = info.features or Features()
        if table.num_rows != split.num_examples or not table.schema.equals(features.arrow_schema):
            raise FileFormatError.at(
                f"{table.num_rows} rows or columns other than its dataset_info.json says",
                file=files[0],
                remedy='Prepare it again with download_mode="force_redownload".',
            )
        known = origins.get(name)
        text = "/".join([*folder.parts[-4:], name])
        opened[name] = OpenSplit(
            folder,
            tuple(files),
            table,
            info.copy(),
            split,
            known if known is not None and len(known) == table.num_rows else None,
            hashlib.sha256(text.encode()).hexdigest()[:16],
        )
    return opened


def _read_origins(path: Path) -> dict[str, Origins]:
    try:
        with reading(path, "JSON"):
            value = json.loads(path.read_text(encoding="utf-8"))
        return {name: Origins.from_json(one) for name, one in value.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def split_names(wanted: object, known: Sequence[str], where: str = "") -> list[str]:
    """Lists the splits that a value of ``split=`` reads from, each once.

    Args:
        wanted: The value.
        known: The splits there are.
        where: The dataset, for the error.

    Raises:
        SplitNotFoundError: There is no such split.
        InvalidArgumentError: The value is not of a documented form.
    """
    names: dict[str, None] = {}
    parts = in_shape(wanted, lambda one: wanted_parts(one, known, where))
    in_shape(parts, lambda part: names.update({part.split: None}))
    return list(names)


def shape(
    opened: Mapping[str, OpenSplit], info: DatasetInfo, wanted: Any, known: Sequence[str], where: str = ""
) -> Any:
    """Gives open splits the shape that was asked for.

    Args:
        opened: Split -> its open files.
        info: What is known about all of them.
        wanted: A value of ``split=``; a dict for a `DatasetDict`.
        known: The splits there are.
        where: The dataset, for errors.

    Returns:
        A dataset, or datasets in the same lists, tuples and dicts.
    """

    def dataset(one: object) -> Dataset:
        parts = wanted_parts(one, known, where)
        rows = vars(join_parts(parts, opened))
        # What was opened has the columns that its own info names; `prepare_and_open` and `open_splits` saw to it.
        return Dataset._from_parts(**rows, info=info_with(info, opened[parts[0].split]), described=True)

    shaped = in_shape(wanted, dataset)
    return DatasetDict(shaped) if isinstance(shaped, dict) else shaped
