"""Starting up: nothing but the interpreter is loaded before the clock starts."""

from case import Case, workload


@workload(cold=True)
def import_only(case: Case) -> int:
    with case.timed():
        _ = case.lib
    return 0


@import_only.limited
def _(case: Case) -> int:
    with case.timed():
        import pyarrow as pa  # noqa: F401
    return 0


@workload(cold=True)
def import_use(case: Case) -> list[dict[str, object]]:
    with case.timed():
        rows = list(case.lib.Dataset.from_dict({"a": [1, 2, 3], "b": ["x", "y", None]}))
    return rows


@import_use.limited
def _(case: Case) -> list[dict[str, object]]:
    with case.timed():
        import pyarrow as pa

        rows = pa.table({"a": [1, 2, 3], "b": ["x", "y", None]}).to_pylist()
    return rows


@workload
def prepare(case: Case) -> list[int]:
    """Run once before all others so that the data files are in the cache; also: small second loads."""
    with case.timed():
        lengths = [len(case.rows(name)) for name in ("rows", "big", "nested")]
    return lengths
