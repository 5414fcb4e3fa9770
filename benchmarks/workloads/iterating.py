"""Reading rows, batches and columns."""

from typing import Any

from case import Case, workload


def walk(rows: Any) -> tuple[int, int]:
    count, total = 0, 0
    for row in rows:
        count += len(row["text"])
        total += row["id"]
    return count, total


def blocks_of_rows(table: Any, size: int = 1000) -> Any:
    for batch in table.to_batches(max_chunksize=size):
        names = batch.schema.names
        columns = [column.to_pylist() for column in batch.columns]
        for values in zip(*columns, strict=True):
            yield dict(zip(names, values, strict=True))


@workload
def iter_rows(case: Case) -> Any:
    ds = case.rows()
    with case.timed():
        seen = walk(ds)
    return seen


@iter_rows.limited
def _(case: Case) -> Any:
    table = case.table()
    with case.timed():
        seen = walk(blocks_of_rows(table))
    return seen


@workload
def iter_nested(case: Case) -> Any:
    ds = case.rows("nested")
    with case.timed():
        seen = sum(row["tokens"][3] + len(row["meta"]["name"]) for row in ds)
    return seen


@iter_nested.limited
def _(case: Case) -> Any:
    table = case.table("nested")
    with case.timed():
        seen = sum(row["tokens"][3] + len(row["meta"]["name"]) for row in blocks_of_rows(table))
    return seen


@workload
def iter_batches(case: Case) -> Any:
    ds = case.rows("big")
    with case.timed():
        seen = [(sum(batch["id"]), len(batch["text"][0])) for batch in ds.iter(1000)]
    return seen


@iter_batches.limited
def _(case: Case) -> Any:
    table = case.table("big")
    with case.timed():
        batches = (batch.to_pydict() for batch in table.to_batches(max_chunksize=1000))
        seen = [(sum(batch["id"]), len(batch["text"][0])) for batch in batches]
    return seen


@workload
def iter_numpy(case: Case) -> Any:
    ds = case.rows().select_columns(["id", "score", "label"]).with_format("numpy")
    with case.timed():
        seen = 0
        for row in ds:
            seen += int(row["id"]) + int(row["label"])
    return seen


@iter_numpy.limited
def _(case: Case) -> Any:
    table = case.table()
    with case.timed():
        seen = 0
        columns = [table.column(name).to_numpy() for name in ("id", "score", "label")]
        for number, score, label in zip(*columns, strict=True):
            row = {"id": number, "score": score, "label": label}
            seen += int(row["id"]) + int(row["label"])
    return seen


@workload
def iter_arrow(case: Case) -> Any:
    ds = case.rows("big").with_format("arrow")
    with case.timed():
        seen = [(batch.num_rows, batch.column("id")[0].as_py()) for batch in ds.iter(100)]
    return seen


@iter_arrow.limited
def _(case: Case) -> Any:
    table = case.table("big")
    with case.timed():
        seen = []
        for start in range(0, table.num_rows, 100):
            batch = table.slice(start, 100)
            seen.append((batch.num_rows, batch.column("id")[0].as_py()))
    return seen


@workload
def get_row(case: Case) -> Any:
    ds = case.rows()
    chosen = scattered(len(ds), 20_000)
    with case.timed():
        seen = walk(ds[i] for i in chosen)
    return seen


@get_row.limited
def _(case: Case) -> Any:
    table = case.table()
    chosen = scattered(table.num_rows, 20_000)
    with case.timed():
        columns = [(name, table.column(name).chunk(0)) for name in table.column_names]
        seen = walk({name: column[i].as_py() for name, column in columns} for i in chosen)
    return seen


@workload
def get_rows(case: Case) -> Any:
    ds = case.rows("big")
    chosen = scattered(len(ds), 100 * 256)
    with case.timed():
        seen = [sum(ds[chosen[i : i + 256]]["id"]) for i in range(0, len(chosen), 256)]
    return seen


@get_rows.limited
def _(case: Case) -> Any:
    import numpy as np
    import pyarrow as pa

    table = case.table("big")
    chosen = scattered(table.num_rows, 100 * 256)
    with case.timed():
        seen = []
        chunks = table.to_batches()
        starts = np.cumsum([0, *[chunk.num_rows for chunk in chunks]])
        for i in range(0, len(chosen), 256):
            rows = np.array(chosen[i : i + 256])
            # Sorted, taken out of each chunk, and put back into the order asked for.
            order = np.argsort(rows)
            back = np.empty_like(order)
            back[order] = np.arange(len(order))
            rows = rows[order]
            cuts = np.searchsorted(rows, starts)
            taken = [
                chunk.take(pa.array(rows[cuts[number] : cuts[number + 1]] - starts[number]))
                for number, chunk in enumerate(chunks)
            ]
            batch = pa.concat_batches(taken).take(pa.array(back)).to_pydict()
            seen.append(sum(batch["id"]))
    return seen


def scattered(rows: int, count: int) -> list[int]:
    return [(i * 7919 + 13) % rows for i in range(count)]


@workload
def get_column(case: Case) -> Any:
    ds = case.rows("big")
    with case.timed():
        values = ds["text"][:]
    return values


@get_column.limited
def _(case: Case) -> Any:
    table = case.table("big")
    with case.timed():
        values = table.column("text").to_pylist()
    return values


@workload
def iter_column(case: Case) -> Any:
    ds = case.rows()
    with case.timed():
        total = sum(ds["score"])
    return round(total, 6)


@iter_column.limited
def _(case: Case) -> Any:
    table = case.table()
    with case.timed():
        total = sum(table.column("score").to_pylist())
    return round(total, 6)


@workload
def select_iter(case: Case) -> Any:
    ds = case.rows()
    with case.timed():
        seen = walk(ds.select(range(1, len(ds), 2)))
    return seen


@select_iter.limited
def _(case: Case) -> Any:
    import numpy as np

    table = case.table()
    with case.timed():
        seen = walk(blocks_of_rows(table.take(np.arange(1, table.num_rows, 2))))
    return seen


@workload
def shuffle_iter(case: Case) -> Any:
    ds = case.rows()
    with case.timed():
        seen = walk(ds.shuffle(seed=1))
    return seen


@shuffle_iter.limited
def _(case: Case) -> Any:
    import numpy as np

    table = case.table()
    with case.timed():
        seen = walk(blocks_of_rows(table.take(np.random.default_rng(1).permutation(table.num_rows))))
    return seen


@workload(needs="torch")
def tokens_torch(case: Case) -> Any:
    import torch
    from torch.utils.data import DataLoader

    torch.set_num_threads(1)
    ds = case.rows("nested").select_columns(["tokens"]).with_format("torch")
    with case.timed():
        total = sum(int(batch["tokens"].sum()) for batch in DataLoader(ds, batch_size=256))
    return total


@tokens_torch.limited
def _(case: Case) -> Any:
    """Rows as views of one tensor, so that what the DataLoader copies is all that is copied."""
    import torch
    from torch.utils.data import DataLoader

    torch.set_num_threads(1)
    table = case.table("nested")
    with case.timed():
        lists = table.column("tokens").combine_chunks()
        tokens = torch.from_numpy(lists.flatten().to_numpy().reshape(len(lists), -1))

        class Rows:
            def __len__(self) -> int:
                return len(tokens)

            def __getitems__(self, rows: list[int]) -> list[dict[str, Any]]:
                return [{"tokens": row} for row in tokens[rows].unbind()]

        loader: Any = DataLoader(Rows(), batch_size=256)  # type: ignore[arg-type]
        total = sum(int(batch["tokens"].sum()) for batch in loader)
    return total


@workload(needs="torch")
def tokens_torch_shuffled(case: Case) -> Any:
    """Sequences of tokens to two workers of a DataLoader, in another order each epoch."""
    import torch
    from torch.utils.data import DataLoader

    torch.set_num_threads(1)
    ds = case.rows("nested").select_columns(["tokens"]).with_format("torch")
    with case.timed():
        loader = DataLoader(ds, batch_size=256, shuffle=True, num_workers=2)
        total = sum(int(batch["tokens"].sum()) for batch in loader)
    return total


@workload(needs="torch")
def iter_torch(case: Case) -> Any:
    import torch

    torch.set_num_threads(1)
    ds = case.rows().select_columns(["id", "score", "label"]).with_format("torch")
    with case.timed():
        seen = 0
        for row in ds:
            seen += int(row["id"]) + int(row["label"])
    return seen


@iter_torch.limited
def _(case: Case) -> Any:
    import numpy as np
    import torch

    torch.set_num_threads(1)
    table = case.table()
    types = {"id": np.int64, "score": np.float32, "label": np.int64}
    with case.timed():
        seen = 0
        for batch in table.to_batches(max_chunksize=500):
            columns = [
                torch.from_numpy(batch.column(name).to_numpy().astype(kind)).unbind()
                for name, kind in types.items()
            ]
            for number, score, label in zip(*columns, strict=True):
                row = {"id": number, "score": score, "label": label}
                seen += int(row["id"]) + int(row["label"])
    return seen
