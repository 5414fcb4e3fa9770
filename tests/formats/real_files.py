"""Loads files in every way there is and says what differs from what pyarrow reads: ``python -m tests.formats.real_files``.

A process of its own, since a bad file may end it: then the answer for that file is missing. Paths come on stdin; a line
of JSON goes out for each: the path, whether its rows could be had, and what is wrong.

The rules by which values correspond (docs/differences.md): extension types are their storage, dictionaries and run
lengths their values, maps lists of ``key`` and ``value``, list views lists. All other types and all values are the same.
"""

from __future__ import annotations

import contextlib
import json
import re
import resource
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

import gristmill
from gristmill.errors import GristmillError

MEMORY = 6 << 30
MOST_CELLS = 200_000


def values_of(array: Any) -> list[Any]:
    """Gives the values of a column as plain Python that compares bit by bit; nothing of Gristmill's is used."""
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in values_of(chunk)]
    type_, valid = array.type, array.is_valid().to_pylist()
    if isinstance(type_, pa.BaseExtensionType):
        return values_of(array.storage)
    if pt.is_null(type_):
        return [None] * len(array)
    if pt.is_dictionary(type_):
        words = values_of(array.dictionary)
        return [None if index is None else words[index] for index in array.indices.to_pylist()]
    if pt.is_run_end_encoded(type_):
        return values_of(pc.run_end_decode(array))
    if pt.is_struct(type_):
        fields = [values_of(array.field(i)) for i in range(type_.num_fields)]
        names = [field.name for field in type_]
        return [
            list(zip(names, (field[i] for field in fields), strict=True)) if there else None
            for i, there in enumerate(valid)
        ]
    if pt.is_map(type_):
        pairs = [
            [("key", key), ("value", value)]
            for key, value in zip(values_of(array.keys), values_of(array.items), strict=True)
        ]
        ends = array.offsets.to_pylist()
        return [pairs[ends[i] : ends[i + 1]] if there else None for i, there in enumerate(valid)]
    if pt.is_fixed_size_list(type_):
        items, size = values_of(array.values), type_.list_size
        starts = range(array.offset * size, (array.offset + len(array)) * size + 1, size or 1)
        return [items[starts[i] : starts[i] + size] if there else None for i, there in enumerate(valid)]
    if pt.is_list(type_) or pt.is_large_list(type_):
        items, ends = values_of(array.values), array.offsets.to_pylist()
        return [items[ends[i] : ends[i + 1]] if there else None for i, there in enumerate(valid)]
    if isinstance(type_, pa.ListViewType | pa.LargeListViewType):
        items, starts, sizes = values_of(array.values), array.offsets.to_pylist(), array.sizes.to_pylist()
        return [items[starts[i] : starts[i] + sizes[i]] if there else None for i, there in enumerate(valid)]
    return _scalars(array)


def _scalars(array: Any) -> list[Any]:
    type_ = array.type
    if pt.is_decimal(type_):
        raw = array.view(pa.binary(type_.bit_width // 8)).to_pylist()
        return [None if value is None else int.from_bytes(value, "little", signed=True) for value in raw]
    if pt.is_interval(type_):
        return [None if value is None else tuple(value) for value in array.to_pylist()]
    if pt.is_temporal(type_):
        return list(array.view(pa.int32() if type_.bit_width == 32 else pa.int64()).to_pylist())
    if pt.is_floating(type_):
        bits = array.view({16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[type_.bit_width]).to_pylist()
        numbers = array.to_pylist()
        return ["NaN" if number != number else bit for bit, number in zip(bits, numbers, strict=True)]
    return list(array.to_pylist())


def type_of(type_: Any) -> Any:
    """Gives the type that a column of an Arrow type has to have."""
    if type_ == pa.json_():
        return type_
    if isinstance(type_, pa.BaseExtensionType):
        return type_of(type_.storage_type)
    if pt.is_dictionary(type_) or pt.is_run_end_encoded(type_):
        return type_of(type_.value_type)
    if pt.is_struct(type_):
        return pa.struct([pa.field(field.name, type_of(field.type)) for field in type_])
    if pt.is_map(type_):
        pair = pa.struct({"key": type_of(type_.key_type), "value": type_of(type_.item_type)})
        return pa.list_(pa.field("item", pair))
    if pt.is_fixed_size_list(type_):
        return pa.list_(pa.field("item", type_of(type_.value_type)), type_.list_size)
    if pt.is_list(type_) or isinstance(type_, pa.ListViewType):
        return pa.list_(pa.field("item", type_of(type_.value_type)))
    if pt.is_large_list(type_) or isinstance(type_, pa.LargeListViewType):
        return pa.large_list(pa.field("item", type_of(type_.value_type)))
    return type_


class Case:
    """One file, and what was found wrong with it.

    Args:
        path: The file.
        folder: For caches and what is written.
        format: Its format.
    """

    def __init__(self, path: str, folder: Path, format: str) -> None:
        self.path, self.folder, self.format = path, folder, format
        self.wrong: list[str] = []

    def load(self, **arguments: Any) -> Any:
        if not arguments.get("streaming"):
            arguments["cache_dir"] = str(self.folder / "cache")
        return gristmill.load_dataset(self.format, data_files=self.path, split="train", **arguments)

    def table(self, **arguments: Any) -> pa.Table | None:
        """Gives the rows that loading gives, as Arrow; None where there are none and nothing says their columns."""
        loaded = self.load(**arguments)
        if not arguments.get("streaming"):
            return loaded.data.table
        parts = [part for part in loaded.with_format("arrow").iter(1000) if part.num_columns]
        if parts or loaded.features is None:
            return pa.concat_tables(parts) if parts else None
        return loaded.features.arrow_schema.empty_table()

    def attempt(self, what: str, do: Callable[[], Any], told: str = "") -> Any:
        """Does something; an error has to be one of ours that matches `told`, or that names the file."""
        try:
            return do()
        except GristmillError as error:
            if not re.search(told or re.escape(Path(self.path).name), str(error)):
                self.wrong.append(f"{what}: does not say where: {error!r:.300}")
            elif not told:
                self.refused = True
        except Exception as error:  # noqa: BLE001  # it is what is looked for
            self.wrong.append(f"{what}: a foreign error: {error!r:.300}")
        return None

    def compare(self, what: str, mine: pa.Table | None, theirs: pa.Table) -> None:
        """Compares names, types and values."""
        if mine is None:
            return
        if mine.column_names != theirs.column_names:
            self.wrong.append(f"{what}: columns {mine.column_names}, not {theirs.column_names}")
            return
        for name in theirs.column_names:
            ours, want = mine.column(name), theirs.column(name)
            if ours.type != type_of(want.type):
                self.wrong.append(f"{what}: {name} is {ours.type}, of {want.type}")
            got, wanted = values_of(ours), values_of(want)
            if got != wanted:
                row = next(
                    (i for i, pair in enumerate(zip(got, wanted, strict=False)) if pair[0] != pair[1]), -1
                )
                self.wrong.append(f"{what}: {name} differs in row {row} of {len(got)} and {len(wanted)} rows")


def check_same(case: Case, theirs: pa.Table, *, workers: bool) -> None:
    """A good file: loaded in every way, and equal to what pyarrow reads."""
    half = theirs.column_names[::2]
    ways: dict[str, dict[str, Any]] = {
        "prepared": {},
        "streamed": {"streaming": True},
        "two workers": {"num_proc": 2},
    }
    for what, arguments in ways.items():
        if "num_proc" in arguments and not workers:
            continue
        case.refused = False
        mine = case.attempt(what, partial(case.table, **arguments))
        if case.refused:
            case.wrong.append(f"{what}: refused")
        case.compare(what, mine, theirs)
        if half:
            mine = case.attempt(what, partial(case.table, columns=half, **arguments))
            case.compare(f"{what}, half of the columns", mine, theirs.select(half))
    made = getattr(gristmill.Dataset, f"from_{case.format}", None)
    if made is not None:
        cache = str(case.folder / "cache2")
        mine = case.attempt("from_", lambda: made(case.path, cache_dir=cache).data.table)
        case.compare("from_", mine, theirs)


WHERE = r'row \d+.*column "|, column "|a column: |^There are rows and no columns'


def check_round_trips(case: Case) -> None:
    """A good file: written, read again, converted; nothing but errors that say where, and never another value."""
    dataset = case.load()
    table, folder = dataset.data.table, str(case.folder)
    dataset = dataset.select(range(min(len(dataset), MOST_CELLS // max(1, table.num_columns))))
    table = dataset.with_format("arrow")[:]

    def parquet() -> Any:
        dataset.to_parquet(f"{folder}/x.parquet")
        return gristmill.Dataset.from_parquet(f"{folder}/x.parquet", cache_dir=f"{folder}/c").data.table

    def disk() -> Any:
        dataset.save_to_disk(f"{folder}/saved")
        saved: Any = gristmill.load_from_disk(f"{folder}/saved")
        return saved.data.table

    def again() -> Any:
        return dataset.map(lambda rows: rows, batched=True).with_format("arrow")[:]

    for what, do in {"to_parquet": parquet, "save_to_disk": disk, "map": again}.items():
        case.compare(what, case.attempt(what, do, WHERE), table)
    rows = case.attempt("rows", lambda: list(dataset), WHERE)
    if rows is not None:
        with_json = [field.name for field in table.schema if "arrow.json" in str(field.type)]
        expected = table.drop_columns(with_json).to_pylist()
        plain = [{name: value for name, value in row.items() if name not in with_json} for row in rows]
        if table.num_columns > len(with_json) and repr(plain) != repr(expected):
            case.wrong.append("rows: other values than pyarrow's")
        if repr(case.attempt("stream", lambda: list(dataset.to_iterable_dataset()))) != repr(rows):
            case.wrong.append("rows: a stream gives others")
    for what, convert in {
        "to_json": lambda: dataset.to_json(f"{folder}/x.jsonl"),
        "to_csv": lambda: dataset.to_csv(f"{folder}/x.csv"),
        "to_pandas": dataset.to_pandas,
        "to_dict": dataset.to_dict,
        "numpy": lambda: (dataset.with_format("numpy")[:], list(dataset.take(5).with_format("numpy"))),
        "pandas": lambda: dataset.with_format("pandas")[:],
    }.items():
        case.attempt(what, convert, WHERE)


def check_refused(case: Case) -> bool:
    """A bad file: an error that names it, or the same rows however it is read. Says whether rows came."""
    names = ["a"]
    with contextlib.suppress(pa.ArrowException, OSError, UnicodeDecodeError):
        names = pq.read_schema(case.path).names or names
    there = pc.field(names[0]).is_valid()
    came = []
    for what, arguments in {
        "whole": {},
        "columns": {"columns": names[:1]},
        "filters": {"filters": there},
        "both": {"columns": names[1:2] or names, "filters": there},
    }.items():
        answers = []
        for way in ({}, {"streaming": True}):
            case.refused = False
            how = {**arguments, **way}
            rows = case.attempt(f"{what} {way}", partial(case.table, **how))
            answers.append(None if rows is None else [values_of(column) for column in rows.columns])
        if answers[0] != answers[1]:
            case.wrong.append(f"{what}: prepared and streamed differ")
        came.append(answers[0] is not None)
    return came[0]


def main() -> None:
    """Looks at the files that stdin names, in the way that the first argument says."""
    mode = sys.argv[1]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    gristmill.disable_progress_bars()
    for number, path in enumerate(sys.stdin.read().splitlines()):
        with tempfile.TemporaryDirectory() as folder:
            case = Case(path, Path(folder), "parquet")
            loaded = False
            if mode == "bad":
                loaded = check_refused(case)
            else:
                try:
                    theirs = pq.ParquetFile(path, page_checksum_verification=True).read()
                except (pa.ArrowException, OSError):
                    theirs = None
                    loaded = check_refused(case)
                if theirs is not None:
                    loaded = True
                    # A struct without fields has nothing in the file: pyarrow leaves it out of the rows.
                    schema = pq.read_schema(path)
                    for at, field in enumerate(schema):
                        if field.name not in theirs.column_names:
                            theirs = theirs.add_column(at, field, pa.nulls(len(theirs), field.type))
                    if mode == "same":
                        check_same(case, theirs, workers=number % 5 == 0)
                    else:
                        check_round_trips(case)
        sys.stdout.write(json.dumps([path, loaded, case.wrong]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
