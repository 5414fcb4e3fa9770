"""Datasets from Python values."""

from collections.abc import Iterator
from typing import Any

from case import Case, workload


def columns(case: Case, rows: int) -> dict[str, list[Any]]:
    count = case.count(rows)
    return {
        "id": list(range(count)),
        "text": [f"some text of row {i}" for i in range(count)],
        "score": [i / 7 for i in range(count)],
        "tokens": [[i, i + 1, i + 2] for i in range(count)],
        "label": ["yes" if i % 3 else None for i in range(count)],
    }


def rows(case: Case, number: int) -> list[dict[str, Any]]:
    made = columns(case, number)
    return [dict(zip(made, values, strict=True)) for values in zip(*made.values(), strict=True)]


def numbers(rows: int) -> Iterator[dict[str, Any]]:
    for i in range(rows):
        yield {"id": i, "text": f"some text of row {i}", "score": i / 7}


@workload
def from_dict(case: Case) -> Any:
    given = columns(case, 200_000)
    with case.timed():
        ds = case.lib.Dataset.from_dict(given)
    return ds


@from_dict.limited
def _(case: Case) -> Any:
    import pyarrow as pa

    given = columns(case, 200_000)
    with case.timed():
        table = pa.table(given)
    return table


@workload
def from_list(case: Case) -> Any:
    given = rows(case, 200_000)
    with case.timed():
        ds = case.lib.Dataset.from_list(given)
    return ds


@from_list.limited
def _(case: Case) -> Any:
    import pyarrow as pa

    given = rows(case, 200_000)
    with case.timed():
        table = pa.table({name: [row[name] for row in given] for name in given[0]})
    return table


@workload
def from_generator(case: Case) -> Any:
    with case.timed():
        ds = case.lib.Dataset.from_generator(numbers, gen_kwargs={"rows": case.count(100_000)})
    return ds


@from_generator.limited
def _(case: Case) -> Any:
    import itertools

    import pyarrow as pa

    schema = pa.schema({"id": pa.int64(), "text": pa.string(), "score": pa.float64()})
    made = numbers(case.count(100_000))
    path = str(case.folder / "a.arrow")
    with case.timed():
        with pa.ipc.new_stream(path, schema) as stream:
            while block := list(itertools.islice(made, 10_000)):
                found = {name: [row[name] for row in block] for name in schema.names}
                stream.write_table(pa.table(found, schema))
        table = pa.ipc.open_stream(pa.memory_map(path)).read_all()
    return table


@workload
def from_pandas(case: Case) -> Any:
    frame = case.table("big").to_pandas()
    with case.timed():
        ds = case.lib.Dataset.from_pandas(frame)
    return ds


@from_pandas.limited
def _(case: Case) -> Any:
    import pyarrow as pa

    frame = case.table("big").to_pandas()
    with case.timed():
        table = pa.Table.from_pandas(frame)
    return table
