"""`ArrowReader`: Arrow files by name, for code that keeps files of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill.errors import InvalidArgumentError
from gristmill.info import DatasetInfo
from gristmill.prepared.split_spec import wanted_parts
from gristmill.splits import SplitInfo
from gristmill.splits.infos import FileInstructions, file_instructions
from gristmill.splits.slices import check_rows
from gristmill.table.arrow_file import open_arrow
from gristmill.table.making import describe

__all__ = ["ArrowReader", "make_file_instructions"]


class ArrowReader:
    """Opens Arrow files as what `Dataset` is made of.

    Args:
        path: Folder that relative names are in.
        info: What is known about the rows; its features, if any, are those of the table.

    Example:
        >>> import tempfile
        >>> from gristmill import Dataset
        >>> from gristmill.builder.arrow_writer import ArrowWriter
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with ArrowWriter(path=f"{folder}/a.arrow") as writer:
        ...         writer.write_batch({"a": [1, 2, 3]})
        ...         _ = writer.finalize()
        ...     Dataset(**ArrowReader(folder, None).read_files([{"filename": "a.arrow", "skip": 1}]))["a"][:]
        [2, 3]
    """

    def __init__(self, path: str, info: DatasetInfo | None) -> None:
        self._path = path
        self._info = info

    def read_files(
        self,
        files: Sequence[Mapping[str, Any]],
        original_instructions: Any = None,
        in_memory: bool = False,
    ) -> dict[str, Any]:
        """Opens files, one after another.

        Args:
            files: For each, ``filename``, and perhaps ``skip`` (rows before the first) and ``take`` (rows, -1 for all).
            original_instructions: What to call the rows: a split's name.
            in_memory: Read the files instead of mapping them.

        Returns:
            The arguments that `Dataset` takes: ``arrow_table``, ``info`` and ``split``.

        Raises:
            InvalidArgumentError: No file is named.
            FileMissingError: There is no such file.
            FileFormatError: A file is damaged.
        """
        if not files:
            raise InvalidArgumentError.from_value("files", files, "at least one file")
        tables = []
        for file in files:
            table = open_arrow(Path(self._path, file["filename"]), in_memory, check="offsets")
            take = file.get("take", -1)
            tables.append(table.slice(file.get("skip") or 0, None if take in (None, -1) else take))
        features = None if self._info is None else self._info.features
        table, _ = describe(pa.concat_tables(tables), features)
        name = None if original_instructions is None else str(original_instructions)
        return {"arrow_table": table, "info": self._info, "split": name}

    def read(
        self, name: str, instructions: Any, split_infos: Sequence[SplitInfo], in_memory: bool = False
    ) -> dict[str, Any]:
        """Opens the rows that a value of ``split=`` means.

        Args:
            name: The dataset's name, which the files' names begin with.
            instructions: A split or slice.
            split_infos: The splits there are.
            in_memory: Read the files instead of mapping them.

        Returns:
            As `read_files`.

        Raises:
            SplitNotFoundError: There is no such split.
            InvalidArgumentError: The slices mean no rows, although their splits have some.
        """
        found = make_file_instructions(name, split_infos, instructions)
        return self.read_files(found.file_instructions, instructions, in_memory)


def make_file_instructions(
    name: str,
    split_infos: Sequence[SplitInfo],
    instruction: Any,
    filetype_suffix: str | None = None,
    prefix_path: str | None = None,
) -> FileInstructions:
    """Lists the prepared files, and the rows of each, that a value of ``split=`` means.

    Args:
        name: The dataset's name, which the files' names begin with.
        split_infos: The splits there are.
        instruction: A split or slice.
        filetype_suffix: What the files' names end in, ``"arrow"`` by default.
        prefix_path: The folder they are in.

    Raises:
        SplitNotFoundError: There is no such split.
        InvalidArgumentError: The slices mean no rows, although their splits have some.

    Example:
        >>> splits = [SplitInfo("train", num_examples=10)]
        >>> make_file_instructions("d", splits, "train[:50%]").file_instructions
        [{'filename': 'd-train.arrow', 'skip': 0, 'take': 5}]
    """
    known = {str(split.name): split for split in split_infos}
    parts = wanted_parts(instruction, list(known), name)
    check_rows(parts, {part.split: known[part.split].num_examples for part in parts})
    named = [
        (
            SplitInfo(**{**vars(known[part.split]), "dataset_name": name}),
            part.rows(known[part.split].num_examples),
        )
        for part in parts
    ]
    found = file_instructions(named, filetype_suffix or "arrow")
    if prefix_path is None:
        return found
    files = [
        {**file, "filename": str(Path(prefix_path, file["filename"]))} for file in found.file_instructions
    ]
    return FileInstructions(found.num_examples, files)
