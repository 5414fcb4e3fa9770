"""`load_dataset`, the first time and again."""

from typing import Any

from case import WORKLOADS, Case, workload
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


def load_shards(case: Case, kind: str, suffix: str, **options: Any) -> Any:
    files = [str(case.data / "shards" / f"{number:02}.{suffix}") for number in range(20)]
    cache = str(case.folder / "cache")
    return case.lib.load_dataset(kind, data_files=files, split="train", cache_dir=cache, **options)


def twenty(case: Case, read: Any) -> Any:
    """Reads twenty files with raw pyarrow and writes them as one Arrow file, which is the limit of a first load."""
    import pyarrow as pa

    path, stream = str(case.folder / "made.arrow"), None
    for number in range(20):
        table = read(case.data / "shards" / f"{number:02}")
        stream = stream or pa.ipc.new_stream(path, table.schema)
        stream.write_table(table)
    assert stream is not None
    stream.close()
    return pa.ipc.open_stream(pa.memory_map(path)).read_all()


def read_parquet(path: Any) -> Any:
    import pyarrow.parquet as pq

    return pq.read_table(f"{path}.parquet")


def read_csv(path: Any) -> Any:
    import pyarrow.csv

    options = pyarrow.csv.ParseOptions(newlines_in_values=True)
    return pyarrow.csv.read_csv(f"{path}.csv", parse_options=options)


def read_json(path: Any) -> Any:
    import pyarrow.json

    return pyarrow.json.read_json(f"{path}.jsonl")


def read_text(path: Any) -> Any:
    import pyarrow.csv

    return pyarrow.csv.read_csv(
        f"{path}.txt",
        read_options=pyarrow.csv.ReadOptions(column_names=["text"]),
        parse_options=pyarrow.csv.ParseOptions(delimiter="\x1f", quote_char=False),
        convert_options=pyarrow.csv.ConvertOptions(column_types={"text": "string"}),
    )


def shards_workloads(kind: str, suffix: str, read: Any) -> None:
    """Registers a first load of twenty files, with one and with two workers, and loading them again."""

    def first(case: Case, **options: Any) -> Any:
        with case.timed():
            ds = load_shards(case, kind, suffix, **options)
        return ends(ds)

    def limit(case: Case) -> Any:
        with case.timed():
            table = twenty(case, read)
        return table_ends(table)

    def cached(case: Case) -> Any:
        load_shards(case, kind, suffix)
        with case.timed():
            for _ in range(10):
                ds = load_shards(case, kind, suffix)
        return ends(ds)

    jobs = {
        f"shards_{kind}": first,
        f"shards_{kind}_proc2": lambda case: first(case, num_proc=2),
        f"again_shards_{kind}": cached,
    }
    for name, job in jobs.items():
        job.__name__ = name
        workload(job)
        if job is not cached:
            WORKLOADS[name].limit = limit


shards_workloads("csv", "csv", read_csv)
shards_workloads("json", "jsonl", read_json)
shards_workloads("parquet", "parquet", read_parquet)
shards_workloads("text", "txt", read_text)
