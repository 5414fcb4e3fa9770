"""Files of other formats, frames, folders."""

from typing import Any

from case import Case, workload


@workload
def to_parquet(case: Case) -> Any:
    ds = case.rows("big")
    with case.timed():
        ds.to_parquet(str(case.folder / "a.parquet"))
    return case.folder / "a.parquet"


@to_parquet.limited
def _(case: Case) -> Any:
    import pyarrow.parquet as pq

    table = case.table("big")
    with case.timed():
        # What both libraries write: pages cut by content, and where each page lies. No dictionary of texts that differ.
        pq.write_table(
            table,
            case.folder / "a.parquet",
            use_content_defined_chunking=True,
            write_page_index=True,
            use_dictionary=["tag"],
        )
    return case.folder / "a.parquet"


@workload
def to_csv(case: Case) -> Any:
    ds = case.rows()
    with case.timed():
        ds.to_csv(str(case.folder / "a.csv"))
    return case.folder / "a.csv"


@to_csv.limited
def _(case: Case) -> Any:
    import pyarrow.csv

    table = case.table()
    with case.timed():
        pyarrow.csv.write_csv(table, case.folder / "a.csv")
    return case.folder / "a.csv"


@workload
def to_json(case: Case) -> Any:
    ds = case.rows()
    with case.timed():
        ds.to_json(str(case.folder / "a.jsonl"))
    return case.folder / "a.jsonl"


@to_json.limited
def _(case: Case) -> Any:
    """Not a fair limit (one C call a row): pyarrow and numpy write no JSON."""
    import json

    table = case.table()
    with case.timed(), (case.folder / "a.jsonl").open("w") as file:
        for batch in table.to_batches(max_chunksize=1000):
            file.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())
    return case.folder / "a.jsonl"


@workload
def to_json_nested(case: Case) -> Any:
    ds = case.rows("nested")
    with case.timed():
        ds.to_json(str(case.folder / "a.jsonl"))
    return case.folder / "a.jsonl"


@workload
def to_pandas(case: Case) -> Any:
    ds = case.rows()
    with case.timed():
        frame = ds.to_pandas()
    return frame


@to_pandas.limited
def _(case: Case) -> Any:
    table = case.table()
    with case.timed():
        frame = table.to_pandas()
    return frame


@workload
def save_disk(case: Case) -> Any:
    ds = case.rows("big")
    with case.timed():
        ds.save_to_disk(str(case.folder / "saved"))
    return len(case.lib.load_from_disk(str(case.folder / "saved")))


@save_disk.limited
def _(case: Case) -> Any:
    import pyarrow as pa

    table = case.table("big")
    with case.timed(), pa.ipc.new_stream(str(case.folder / "a.arrow"), table.schema) as stream:
        stream.write_table(table)
    return table.num_rows


@workload
def load_disk(case: Case) -> Any:
    case.rows("big").save_to_disk(str(case.folder / "saved"))
    with case.timed():
        for _ in range(20):
            ds = case.lib.load_from_disk(str(case.folder / "saved"))
    return len(ds)
