"""`map` and `filter`."""

from typing import Any

from case import Case, workload


def length(row: dict[str, Any]) -> dict[str, int]:
    return {"length": len(row["text"])}


def upper(batch: dict[str, list[Any]]) -> dict[str, list[str]]:
    return {"upper": [text.upper() for text in batch["text"]]}


def is_even(row: dict[str, Any]) -> bool:
    return row["label"] % 2 == 0


def are_even(batch: dict[str, list[Any]]) -> list[bool]:
    return [label % 2 == 0 for label in batch["label"]]


def ends(ds: Any) -> Any:
    return [len(ds), ds[0], ds[len(ds) // 2], ds[-1]]


@workload
def map_row(case: Case) -> Any:
    ds = case.rows()
    with case.timed():
        mapped = ds.map(length, load_from_cache_file=False)
    return ends(mapped)


@map_row.limited
def _(case: Case) -> Any:
    table = case.table()
    with case.timed():
        lengths = [length({"text": text})["length"] for text in table.column("text").to_pylist()]
        mapped = add(case, table, "length", lengths)
    return table_ends(mapped)


@workload
def map_batched(case: Case) -> Any:
    ds = case.rows("big")
    with case.timed():
        mapped = ds.map(upper, batched=True, load_from_cache_file=False)
    return ends(mapped)


@map_batched.limited
def _(case: Case) -> Any:
    import pyarrow as pa

    table = case.table("big")
    path = str(case.folder / "upper.arrow")
    schema = pa.schema({"upper": pa.string()})
    with case.timed():
        with pa.ipc.new_stream(path, schema) as stream:
            for batch in table.to_batches(max_chunksize=1000):
                made = upper({"text": batch.column("text").to_pylist()})
                stream.write_batch(pa.record_batch({"upper": pa.array(made["upper"], pa.string())}))
        column = pa.ipc.open_stream(pa.memory_map(path)).read_all().column("upper")
        mapped = table.append_column("upper", column)
    return table_ends(mapped)


@workload
def map_proc2(case: Case) -> Any:
    ds = case.rows()
    with case.timed():
        mapped = ds.map(length, num_proc=2, load_from_cache_file=False)
    return ends(mapped)


@workload
def map_proc2_small(case: Case) -> Any:
    ds = case.lib.Dataset.from_dict({"text": [f"row {i}" * (i % 7) for i in range(1000)]})
    with case.timed():
        # The second call finds what the first one has started.
        first = ds.map(length, num_proc=2, load_from_cache_file=False)
        second = ds.map(length, num_proc=2, load_from_cache_file=False)
    return [ends(first), ends(second)]


@workload
def map_cached(case: Case) -> Any:
    ds = case.rows()
    ds.map(length)
    with case.timed():
        for _ in range(50):
            mapped = ds.map(length)
    return ends(mapped)


@workload
def map_small(case: Case) -> Any:
    sets = [case.lib.Dataset.from_dict({"text": [f"a{i}", "b"]}) for i in range(100)]
    with case.timed():
        mapped = [ds.map(length) for ds in sets]
    return [ds[0] for ds in mapped]


@workload
def filter_row(case: Case) -> Any:
    ds = case.rows()
    with case.timed():
        kept = ds.filter(is_even, load_from_cache_file=False)
    return ends(kept)


@filter_row.limited
def _(case: Case) -> Any:
    import numpy as np

    table = case.table()
    with case.timed():
        keep = np.array([is_even({"label": label}) for label in table.column("label").to_pylist()])
        rows = stored_numbers(case, np.flatnonzero(keep))
    return table_ends(table.take(rows))


@workload
def filter_batched(case: Case) -> Any:
    ds = case.rows()
    with case.timed():
        kept = ds.filter(are_even, batched=True, load_from_cache_file=False)
    return ends(kept)


@filter_batched.limited
def _(case: Case) -> Any:
    import numpy as np

    table = case.table()
    with case.timed():
        keep = []
        for batch in table.to_batches(max_chunksize=1000):
            keep += are_even({"label": batch.column("label").to_pylist()})
        rows = stored_numbers(case, np.flatnonzero(np.array(keep)))
    return table_ends(table.take(rows))


def add(case: Case, table: Any, name: str, values: list[Any]) -> Any:
    import pyarrow as pa

    return table.append_column(name, stored(case, pa.table({name: values})).column(name))


def stored(case: Case, made: Any) -> Any:
    """Writes what was computed to a file, as both libraries do, and gives it out of there."""
    import pyarrow as pa

    path = str(case.folder / "made.arrow")
    with pa.ipc.new_stream(path, made.schema) as stream:
        stream.write_table(made)
    return pa.ipc.open_stream(pa.memory_map(path)).read_all()


def stored_numbers(case: Case, rows: Any) -> Any:
    """Does the same with numbers of rows."""
    import pyarrow as pa

    numbers = pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows)])
    return stored(case, pa.table({"rows": numbers})).column("rows").to_numpy()


def table_ends(table: Any) -> Any:
    rows = table.num_rows
    return [rows, *(table.slice(i, 1).to_pylist()[0] for i in (0, rows // 2, rows - 1))]
