"""Tables for new datasets: from columns, rows, frames, buffers, generators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from gristmill import config
from gristmill.engine import Context, GrowingTable, Task, run_tasks
from gristmill.engine.growing import join_files
from gristmill.engine.tasks import check_num_proc
from gristmill.errors import CastError, GristmillError, InvalidArgumentError, TransformError
from gristmill.features import Features
from gristmill.features.build import columns_of_rows, table_from_columns, table_from_rows
from gristmill.features.cast import cast_table
from gristmill.features.convert import from_arrow_type, to_arrow_type
from gristmill.features.foreign import own_types
from gristmill.features.infer import Clash, refuse, to_json
from gristmill.features.mixed import array_of_mixed, check_mixed_types
from gristmill.files.borders import reading
from gristmill.fingerprint import (
    Hasher,
    generate_random_fingerprint,
    get_temporary_cache_files_directory,
    is_caching_enabled,
    validate_fingerprint,
)
from gristmill.info import DatasetInfo

_BLOCK = 1000


def describe(table: pa.Table, features: Features | None) -> tuple[pa.Table, Features]:
    """Finds the features of a table and checks them against its columns.

    Args:
        table: An Arrow table, or an object that holds one as ``.table``.
        features: What is said about its columns; None takes it from the schema.

    Returns:
        (the table without schema metadata, its features).

    Raises:
        CastError: Features and columns differ.
        InvalidArgumentError: It is no table.
    """
    table = getattr(table, "table", table) if not isinstance(table, pa.Table) else table
    if not isinstance(table, pa.Table):
        raise InvalidArgumentError.from_value("arrow_table", table, "a pyarrow.Table")
    if features is None:
        features = Features.from_arrow_schema(table.schema)
        table = own_types(table)
    elif list(features) != table.column_names or any(
        to_arrow_type(features[field.name]) != field.type for field in table.schema
    ):
        table = cast_table(table, features)
        features = Features(features)
    return table.replace_schema_metadata(None) if table.schema.metadata else table, features


def wanted_features(features: Features | None, info: DatasetInfo | None) -> Features | None:
    """Gives the features asked for, by the argument or by the info.

    Raises:
        InvalidArgumentError: They differ.
    """
    described = info.features if info is not None else None
    if features is not None and described is not None and features != described:
        raise InvalidArgumentError("features= and info.features differ; pass one of them.")
    return described if features is None else features


def feature_of(kind: pa.DataType) -> Any:
    """Gives the feature of an Arrow type."""
    return from_arrow_type(kind)


def columns_to_table(
    mapping: Mapping[str, Any], features: Features | None, on_mixed_types: str | None = None
) -> pa.Table:
    """Makes a table of columns of values; anything that can be iterated is a column.

    Args:
        mapping: The values by column.
        features: What they are; None infers it.
        on_mixed_types: ``"use_json"`` makes `Json` of what has no common type.
    """
    plain = {
        name: values if hasattr(values, "__len__") and not isinstance(values, range) else list(values)
        for name, values in mapping.items()
    }
    if check_mixed_types(on_mixed_types) and features is None:
        plain = {name: array_of_mixed(values, by_keys=True, column=name) for name, values in plain.items()}
    return table_from_columns(plain, features)


def rows_to_table(
    rows: Iterable[Mapping[str, Any]], features: Features | None, on_mixed_types: str | None = None
) -> pa.Table:
    """Makes a table of rows; a key that a row lacks is None there.

    Args:
        rows: The rows.
        features: What their columns are; None infers it.
        on_mixed_types: As for `columns_to_table`.
    """
    rows = rows if isinstance(rows, list) else list(rows)
    columns = _uniform_columns(rows)
    if columns is None and (features is not None or not check_mixed_types(on_mixed_types)):
        return table_from_rows(rows, features)
    return columns_to_table(columns_of_rows(rows) if columns is None else columns, features, on_mixed_types)


def _uniform_columns(rows: list[Any]) -> dict[str, list[Any]] | None:
    """Takes rows apart into columns if all have the same keys, which most have; None if they do not."""
    if set(map(type, rows)) != {dict} or len(set(map(len, rows))) != 1 or not rows[0]:
        return None
    try:
        return {name: list(map(itemgetter(name), rows)) for name in rows[0]}
    except KeyError:
        return None


def frame_to_table(frame: Any, features: Features | None, preserve_index: bool | None) -> pa.Table:
    """Makes a table of a pandas frame.

    Raises:
        CastError: A column has values that Arrow can't hold, or that do not fit the features.
    """
    try:
        table = pa.Table.from_pandas(frame, preserve_index=preserve_index).replace_schema_metadata(None)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise CastError.at(f"the frame can't be stored: {error}") from error
    return table if features is None else cast_table(table, features)


def read_buffer(buffer: pa.Buffer) -> pa.Table:
    """Reads an Arrow IPC stream in memory.

    Raises:
        FileFormatError: It is none.
    """
    with reading("the buffer", "Arrow"):
        return pa.ipc.open_stream(buffer).read_all()


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
    on_mixed_types: str | None = None

    def __call__(self, argument: dict[str, Any], output: Path, context: Context) -> None:
        with GrowingTable(output, clash=self.clash) as growing:
            self.write(argument, growing, context.advance)

    def write(
        self, arguments: dict[str, Any], growing: GrowingTable, advance: Callable[[int], object]
    ) -> None:
        rows = self._rows(arguments)
        while block := list(islice(rows, _BLOCK)):
            try:
                growing.write(rows_to_table(block, self.features, self.on_mixed_types))
            except GristmillError as error:
                first = growing.num_rows
                raise TransformError.from_rows(
                    self.name, first, first + len(block) - 1, f"the rows can't be stored together: {error}"
                ) from error
            advance(len(block))

    @property
    def clash(self) -> Clash:
        return refuse if self.on_mixed_types is None else to_json

    @property
    def name(self) -> str:
        return f"the generator {getattr(self.generator, '__qualname__', type(self.generator).__qualname__)}"

    def _rows(self, arguments: dict[str, Any]) -> Iterator[Mapping[str, Any]]:
        count = 0
        try:
            for row in self.generator(**arguments):
                yield row
                count += 1
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise TransformError.from_rows(self.name, count, count, problem).also(error) from error


def run_generator(
    generator: Callable[..., Iterable[Mapping[str, Any]]],
    features: Features | None,
    cache_dir: str | None,
    keep_in_memory: bool,
    arguments: dict[str, Any],
    num_proc: int | None,
    fingerprint: str | None,
    on_mixed_types: str | None = None,
) -> Generated:
    """Runs a generator function, or finds the rows of an earlier run; see `Dataset.from_generator`.

    Raises:
        TransformError: The function failed.
        InvalidArgumentError: The fingerprint could not be part of a file name, or `generator` can't be called.
    """
    if not callable(generator):
        raise InvalidArgumentError.from_value("generator", generator, "a function that yields rows")
    check_mixed_types(on_mixed_types)
    run = _Run(generator, None if features is None else Features(features), on_mixed_types)
    if fingerprint is not None:
        validate_fingerprint(fingerprint)
    else:
        fingerprint = Hasher.hash(
            (generator, arguments, run.features, *([on_mixed_types] if on_mixed_types else []))
        )
    if keep_in_memory:
        with GrowingTable(clash=run.clash) as growing:
            run.write(arguments, growing, lambda _: None)
        return Generated(_complete(growing.table(), features), fingerprint, (), None)
    folder = Path(cache_dir) if cache_dir is not None else config.HF_DATASETS_CACHE
    folder = folder / "generator" / f"default-{fingerprint}"
    if not is_caching_enabled():
        folder = Path(get_temporary_cache_files_directory()) / f"generator-{generate_random_fingerprint()}"
    shards = _share(arguments, check_num_proc(num_proc))
    tasks = [
        Task(f"shard {number}", folder / f"generator-{number:05d}-of-{len(shards):05d}.arrow", shard)
        for number, shard in enumerate(shards)
    ]
    paths = run_tasks(
        run, tasks, num_proc=num_proc if len(shards) > 1 else None, description="Generating", unit="shards"
    )
    table = _complete(join_files(paths, [0] * len(paths), clash=run.clash), features)
    return Generated(table, fingerprint, tuple(paths), folder)


def _complete(table: pa.Table, features: Features | None) -> pa.Table:
    # A generator without rows says nothing about its columns; the features asked for do.
    return table if features is None or table.num_columns else Features(features).arrow_schema.empty_table()


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
