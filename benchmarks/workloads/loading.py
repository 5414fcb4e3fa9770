"""`load_dataset`, the first time and again."""

from typing import Any

from case import Case, workload
from workloads.mapping import ends, table_ends


def load(case: Case, kind: str, file: str) -> Any:
    return case.lib.load_dataset(
        kind, data_files=str(case.data / file), split="train", cache_dir=str(case.folder / "cache")
    )


def again(case: Case, kind: str, file: str) -> Any:
    load(case, kind, file)
    with case.timed():
        for _ in range(10):
            ds = load(case, kind, file)
    return ends(ds)


def written(case: Case, batches: Any, schema: Any) -> Any:
    """Writes an Arrow file and maps it, which is what a first load has to do."""
    import pyarrow as pa

    path = str(case.folder / "made.arrow")
    with pa.ipc.new_stream(path, schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    return pa.ipc.open_stream(pa.memory_map(path)).read_all()


@workload
def load_parquet(case: Case) -> Any:
    with case.timed():
        ds = load(case, "parquet", "big.parquet")
    return ends(ds)


@load_parquet.limited
def _(case: Case) -> Any:
    import pyarrow.parquet as pq

    with case.timed():
        file = pq.ParquetFile(case.data / "big.parquet")
        table = written(case, file.iter_batches(50_000), file.schema_arrow)
    return table_ends(table)


@workload
def load_csv(case: Case) -> Any:
    with case.timed():
        ds = load(case, "csv", "rows.csv")
    return ends(ds)


@load_csv.limited
def _(case: Case) -> Any:
    import pyarrow.csv

    with case.timed():
        reader = pyarrow.csv.open_csv(
            case.data / "rows.csv", parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True)
        )
        table = written(case, reader, reader.schema)
    return table_ends(table)


@workload
def load_json(case: Case) -> Any:
    with case.timed():
        ds = load(case, "json", "rows.jsonl")
    return ends(ds)


@load_json.limited
def _(case: Case) -> Any:
    import pyarrow.json

    with case.timed():
        read = pyarrow.json.read_json(case.data / "rows.jsonl")
        table = written(case, read.to_batches(), read.schema)
    return table_ends(table)


@workload
def load_text(case: Case) -> Any:
    with case.timed():
        ds = load(case, "text", "rows.txt")
    return ends(ds)


@workload
def again_parquet(case: Case) -> Any:
    return again(case, "parquet", "big.parquet")


@again_parquet.limited
def _(case: Case) -> Any:
    import pyarrow as pa

    with case.timed():
        for _ in range(10):
            table = pa.ipc.open_stream(pa.memory_map(str(case.data / "big.arrow"))).read_all()
    return table_ends(table)


@workload
def again_csv(case: Case) -> Any:
    return again(case, "csv", "rows.csv")


@workload
def again_json(case: Case) -> Any:
    return again(case, "json", "rows.jsonl")
