"""Tables for new datasets of buffers and generators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise, repeat
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill import config
from gristmill.arguments import file_path
from gristmill.calling.owned import owned_rows
from gristmill.engine import CONVERTING, Context, GrowingTable, Task, run_tasks
from gristmill.engine.growing import Final, join_files
from gristmill.engine.tasks import check_num_proc
from gristmill.errors import (
    FileError,
    GeneratorError,
    GristmillError,
    InvalidArgumentError,
    SchemaConflictError,
)
from gristmill.features import Features
from gristmill.features.columnless import without_rows
from gristmill.features.infer import Clash, refuse, to_json
from gristmill.features.mixed import check_mixed_types, json_for_empty
from gristmill.files.paths import expand_home
from gristmill.fingerprint import (
    Hasher,
    generate_random_fingerprint,
    get_temporary_cache_files_directory,
    is_caching_enabled,
    validate_fingerprint,
)
from gristmill.info import DatasetInfo
from gristmill.splits import SplitDict, SplitInfo
from gristmill.table.making import rows_to_table
from gristmill.version import Version

_BLOCK = 1000

ONLY_CLASHES = "only clashes"
"""What is done with mixed types where nothing is said: as in `map`, only what has no common type becomes `Json`."""


@dataclass(frozen=True)
class Generated:
    """What a generator function gave: the rows, their fingerprint, and the files they are in."""

    table: pa.Table
    fingerprint: str
    files: tuple[Path, ...]
    folder: Path | None


@dataclass(frozen=True)
class _Run:
    """A generator function as the engine's function of its arguments."""

    generator: Callable[..., Iterable[Mapping[str, Any]]]
    features: Features | None
    on_mixed_types: str | None = ONLY_CLASHES

    def __call__(self, argument: dict[str, Any], output: Path, context: Context) -> None:
        with GrowingTable(output, clash=self.clash) as growing:
            self.write(argument, growing, context.advance)

    def write(
        self, arguments: dict[str, Any], growing: GrowingTable, advance: Callable[[int], object]
    ) -> None:
        rows = self._rows(arguments)
        while block := list(islice(rows, _BLOCK)):
            try:
                growing.write(self._table(block))
            except FileError:  # the disk's fault, not the rows'
                raise
            except GristmillError as error:
                first = growing.num_rows
                raise GeneratorError.from_rows(
                    self.name, first, first + len(block) - 1, f"the rows can't be stored together: {error}"
                ) from error
            advance(len(block))

    def _table(self, block: list[Mapping[str, Any]]) -> pa.Table:
        if self.on_mixed_types != ONLY_CLASHES:
            return rows_to_table(block, self.features, self.on_mixed_types)
        try:
            return rows_to_table(block, self.features)
        except SchemaConflictError:
            if self.features is not None:
                raise
            return rows_to_table(block, None, "use_json")

    @property
    def clash(self) -> Clash:
        return refuse if self.on_mixed_types is None else to_json

    @property
    def final(self) -> Final | None:
        return None if self.features is not None or self.on_mixed_types is None else json_for_empty

    @property
    def name(self) -> str:
        return f"the generator {getattr(self.generator, '__qualname__', type(self.generator).__qualname__)}"

    def _rows(self, arguments: dict[str, Any]) -> Iterator[Mapping[str, Any]]:
        count = 0
        try:
            # Rows wait for others to be stored with; meanwhile the function may fill the same one anew.
            for row in owned_rows(self.generator(**arguments), repeat(None)):
                yield row
                count += 1
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise GeneratorError.from_rows(self.name, count, count, problem).also(error) from error


def run_generator(
    generator: Callable[..., Iterable[Mapping[str, Any]]],
    features: Features | None,
    cache_dir: str | None,
    keep_in_memory: bool,
    arguments: dict[str, Any],
    num_proc: int | None,
    fingerprint: str | None,
    on_mixed_types: str | None = ONLY_CLASHES,
) -> Generated:
    """Runs a generator function, or finds the rows of an earlier run; see `Dataset.from_generator`.

    Raises:
        GeneratorError: The function failed.
        InvalidArgumentError: The fingerprint could not be part of a file name, or `generator` can't be called.
    """
    if not callable(generator):
        raise InvalidArgumentError.from_value("generator", generator, "a function that yields rows")
    if on_mixed_types != ONLY_CLASHES:
        check_mixed_types(on_mixed_types)
    run = _Run(generator, None if features is None else Features(features), on_mixed_types)
    if fingerprint is not None:
        validate_fingerprint(fingerprint)
    else:
        told = [] if on_mixed_types == ONLY_CLASHES else [on_mixed_types]
        fingerprint = Hasher.hash((generator, arguments, run.features, *told))
    if keep_in_memory:
        with GrowingTable(clash=run.clash, final=run.final) as growing:
            run.write(arguments, growing, lambda _: None)
        return Generated(_complete(growing.table(), features), fingerprint, (), None)
    folder = expand_home(file_path("cache_dir", cache_dir or config.HF_DATASETS_CACHE))
    folder = folder / "generator" / f"default-{fingerprint}"
    if not is_caching_enabled():
        folder = Path(get_temporary_cache_files_directory()) / f"generator-{generate_random_fingerprint()}"
    shards = _share(arguments, check_num_proc(num_proc))
    tasks = [
        Task(f"shard {number}", folder / f"generator-{number:05d}-of-{len(shards):05d}.arrow", shard)
        for number, shard in enumerate(shards)
    ]
    paths = run_tasks(
        run,
        tasks,
        num_proc=num_proc if len(shards) > 1 else None,
        description="Generating",
        unit="shards",
        imports=CONVERTING,
    )
    table = _complete(join_files(paths, None, clash=run.clash, final=run.final), features)
    return Generated(table, fingerprint, tuple(paths), folder)


_SETTINGS = frozenset({"name", "version", "data_dir", "data_files", "description"})
"""What `datasets` takes beside the rest, as settings of a builder; rows do not depend on it."""


def mixed_types(options: Mapping[str, Any]) -> str | None:
    """Gives what is to be done with mixed types, of the further arguments of `Dataset.from_generator`.

    Raises:
        InvalidArgumentError: There is no such argument.
    """
    for name in options:
        if name not in _SETTINGS and name != "on_mixed_types":
            known = ["on_mixed_types", "gen_kwargs", *_SETTINGS]
            raise InvalidArgumentError.from_unknown("from_generator() has no argument", name, known)
    mixed: str | None = options.get("on_mixed_types", ONLY_CLASHES)
    return mixed


def generated_info(table: pa.Table, features: Features | None, split: Any) -> DatasetInfo:
    """Makes the info of a generated dataset: what made it, its one split and its size."""
    size = table.nbytes
    known = SplitInfo(str(split), size, table.num_rows, dataset_name="generator")
    return DatasetInfo(
        features=features,
        builder_name="generator",
        dataset_name="generator",
        config_name="default",
        version=Version("0.0.0"),
        splits=SplitDict.from_split_dict([known]),
        download_size=0,
        dataset_size=size,
        size_in_bytes=size,
    )


def _complete(table: pa.Table, features: Features | None) -> pa.Table:
    # A generator without rows says nothing about its columns; the features asked for do.
    return (
        table
        if features is None or table.num_columns or table.num_rows
        else without_rows(Features(features).arrow_schema)
    )


def _share(arguments: dict[str, Any], num_proc: int | None) -> list[dict[str, Any]]:
    """Divides the lists among the arguments of a generator, so that each worker gets its share of each."""
    lengths = {len(value) for value in arguments.values() if isinstance(value, list)}
    if num_proc is None or not lengths:
        return [arguments]
    if len(lengths) > 1:
        raise InvalidArgumentError(
            f"With num_proc, the lists in gen_kwargs must have the same length; they have {sorted(lengths)}."
        )
    [length] = lengths
    count = max(1, min(num_proc, length))
    cuts = [length * number // count for number in range(count + 1)]
    return [
        {name: value[start:stop] if isinstance(value, list) else value for name, value in arguments.items()}
        for start, stop in pairwise(cuts)
    ]
