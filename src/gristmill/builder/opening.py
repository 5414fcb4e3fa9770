"""A prepared dataset of a builder, opened: its Arrow files are mapped, nothing is read."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from gristmill.builder.preparing import ORIGINS_FILENAME, split_files
from gristmill.builder.shaping import shape, split_names
from gristmill.errors import FileFormatError
from gristmill.features import Features
from gristmill.files.borders import reading
from gristmill.info import DatasetInfo
from gristmill.prepared.opening import OpenSplit
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
