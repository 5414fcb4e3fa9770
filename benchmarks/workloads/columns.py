"""Columns: names, types, values."""

from typing import Any

from case import Case, workload
from workloads.mapping import ends


@workload
def wide(case: Case) -> Any:
    """Forty renames and removals on 500 columns."""
    ds = case.lib.Dataset.from_dict({f"c{i}": [i] for i in range(500)})
    with case.timed():
        for i in range(20):
            ds = ds.rename_column(f"c{i}", f"new{i}").remove_columns(f"c{i + 100}")
    return ds.column_names


@wide.limited
def _(case: Case) -> Any:
    import pyarrow as pa

    table = pa.table({f"c{i}": [i] for i in range(500)})
    with case.timed():
        for i in range(20):
            names = [f"new{i}" if name == f"c{i}" else name for name in table.column_names]
            table = table.rename_columns(names).drop_columns([f"c{i + 100}"])
    return table.column_names


@workload
def unique(case: Case) -> Any:
    ds = case.rows("big")
    with case.timed():
        for _ in range(10):
            values = ds.unique("tag")
    return values


@unique.limited
def _(case: Case) -> Any:
    import pyarrow.compute as pc

    table = case.table("big")
    with case.timed():
        for _ in range(10):
            values = pc.unique(table.column("tag")).to_pylist()
    return values


@workload
def class_encode(case: Case) -> Any:
    ds = case.rows()
    with case.timed():
        encoded = ds.class_encode_column("tag")
    return [encoded.features["tag"].names, ends(encoded)]


@workload
def cast(case: Case) -> Any:
    ds = case.rows()
    with case.timed():
        made = ds.cast_column("label", case.lib.Value("int32"))
    return [str(made.features["label"].dtype), ends(made)]


@cast.limited
def _(case: Case) -> Any:
    import pyarrow as pa
    from workloads.mapping import stored, table_ends

    table = case.table()
    with case.timed():
        position = table.schema.get_field_index("label")
        made = stored(case, pa.table({"label": table.column("label").cast(pa.int32())}))
        made = table.set_column(position, "label", made.column("label"))
    return ["int32", table_ends(made)]
