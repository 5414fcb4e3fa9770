"""Which rows, in which order, and what that costs."""

from typing import Any

from case import Case, workload
from workloads.mapping import ends, table_ends


@workload
def shuffle_flatten(case: Case) -> Any:
    ds = case.rows()
    with case.timed():
        flat = ds.shuffle(seed=1).flatten_indices()
    return ends(flat)


@shuffle_flatten.limited
def _(case: Case) -> Any:
    import numpy as np
    import pyarrow as pa

    table = case.table()
    path = str(case.folder / "flat.arrow")
    with case.timed():
        taken = table.take(np.random.default_rng(1).permutation(table.num_rows))
        with pa.ipc.new_stream(path, taken.schema) as stream:
            stream.write_table(taken)
        flat = pa.ipc.open_stream(pa.memory_map(path)).read_all()
    return table_ends(flat)


@workload
def split(case: Case) -> Any:
    ds = case.rows("big")
    with case.timed():
        parts = ds.train_test_split(test_size=0.1, seed=1)
    return [len(parts["train"]), ends(parts["test"])]


@split.limited
def _(case: Case) -> Any:
    import numpy as np

    table = case.table("big")
    with case.timed():
        order = np.random.default_rng(1).permutation(table.num_rows)
        cut = -(-table.num_rows // 10)
        test, train = order[:cut], order[cut : table.num_rows]
    return [len(train), table_ends(table.take(test))]


@workload
def split_stratified(case: Case) -> Any:
    ds = case.rows().class_encode_column("label")
    with case.timed():
        parts = ds.train_test_split(test_size=0.2, seed=1, stratify_by_column="label")
    return [len(parts["train"]), len(parts["test"])]


@workload
def sort(case: Case) -> Any:
    ds = case.rows()
    with case.timed():
        ordered = ds.sort("score", load_from_cache_file=False)
    return ends(ordered)


@sort.limited
def _(case: Case) -> Any:
    import pyarrow.compute as pc

    table = case.table()
    with case.timed():
        order = pc.sort_indices(table.column("score"))
    return table_ends(table.take(order))


@workload
def concatenate(case: Case) -> Any:
    ds = case.rows()
    size = len(ds) // 100
    parts = [ds.select(range(i * size, (i + 1) * size)) for i in range(100)]
    with case.timed():
        for _ in range(10):
            joined = case.lib.concatenate_datasets(parts)
        seen = [row["id"] for row in (joined[i] for i in range(0, len(joined), 100))]
    return seen


@concatenate.limited
def _(case: Case) -> Any:
    from bisect import bisect_right

    import pyarrow as pa

    table = case.table()
    size = table.num_rows // 100
    parts = [table.slice(i * size, size) for i in range(100)]
    with case.timed():
        for _ in range(10):
            joined = pa.concat_tables(parts)
        columns = [(name, joined.column(name).chunks) for name in joined.column_names]
        starts = [0]
        for chunk in columns[0][1]:
            starts.append(starts[-1] + len(chunk))
        seen = []
        for i in range(0, joined.num_rows, 100):
            number = bisect_right(starts, i) - 1
            row = {name: chunks[number][i - starts[number]].as_py() for name, chunks in columns}
            seen.append(row["id"])
    return seen


@workload
def interleave(case: Case) -> Any:
    ds = case.rows()
    half = len(ds) // 2
    parts = [ds.select(range(half)), ds.select(range(half, len(ds)))]
    with case.timed():
        mixed = case.lib.interleave_datasets(parts, probabilities=[0.3, 0.7], seed=1)
        seen = sum(sum(batch["id"]) for batch in mixed.iter(1000))
    return [len(mixed), seen]
