"""Values, counts and levels agree with Arrow's values, for generated nested data and for real files of many writers."""

import csv
import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gristmill.parquet import inspect, open_parquet
from gristmill.parquet.leaf import iter_leaf
from tests.parquet.striping import stripe
from tests.shared import SHARED

REAL = SHARED / "parquet"
KEPT = Path(__file__).parent.parent / "data" / "parquet" / "good"

# Why Arrow's rows can't be compared, by file.
NOT_COMPARED = {
    "good/duckdb/bigdecimal.parquet": "Arrow has no decimals of 77 digits",
    "good/duckdb/decimal/pandas_decimal.parquet": "a value does not fit its own precision",
    "good/parquet-dotnet/special/all_nulls_no_booleans.parquet": "INT32 values of one byte each",
    "good/parquet-testing/incorrect_map_schema.parquet": "Arrow refuses maps with optional keys",
    "good/parquet-testing/large_string_map.brotli.parquet": "two gigabytes from four kilobytes",
}


def plain(value):
    """Values that compare as they should: NaN with NaN."""
    return "NaN" if isinstance(value, float) and value != value else value


def rows_of(table):
    columns = [table.column(name) for name in range(table.num_columns)]
    # Arrow's own conversion of times beyond what Python has would fail: they are compared as numbers.
    return [
        dict(zip(table.schema.names, row, strict=True))
        for row in zip(*(_pylist(column) for column in columns), strict=True)
    ] or [{} for _ in range(table.num_rows)]


def _pylist(column):
    return column.cast(_numbers(column.type)).to_pylist()


def _numbers(kind):
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind) or pa.types.is_date64(kind):
        return pa.int64()
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_numbers(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_numbers(kind.value_type)))
    return kind


def agree(path):
    """Compares everything; gives the number of entries compared."""
    table = pq.read_table(path, coerce_int96_timestamp_unit="us", arrow_extensions_enabled=False)
    with open_parquet(path) as file:
        expected = stripe(file.schema, rows_of(table))
        entries = 0
        for leaf in file.leaves:
            found, begun = [], []
            for batch in iter_leaf(file, leaf.dotted):
                kind = pa.timestamp("us") if leaf.physical == "INT96" else batch.values.type
                values = map(plain, _pylist(batch.values.cast(kind, safe=False)))
                levels = zip(batch.repetition.tolist(), batch.definition.tolist(), values, strict=True)
                found += list(levels)
                begun += [
                    row
                    for row, level in zip(batch.rows.tolist(), batch.repetition, strict=True)
                    if level == 0
                ]
            assert begun == list(range(file.metadata.num_rows or len(begun)))
            wanted = [(r, d, plain(v)) for r, d, v in expected[leaf.dotted]]
            null = [(r, min(d, leaf.max_definition - 1), v) if v is None else (r, d, v) for r, d, v in wanted]
            assert found in (wanted, null), leaf.dotted
            entries += len(found)
        return entries


def counts_agree(path):
    """Compares what the footer says with what Arrow reads in it."""
    theirs, ours = pq.read_metadata(path), inspect(path)
    assert (ours.rows, ours.version and len(ours.row_groups)) == (theirs.num_rows, theirs.num_row_groups)
    assert ours.writer == (theirs.created_by or None)
    schema = theirs.schema
    for index, leaf in enumerate(ours.schema.leaves()):
        column = schema.column(index)
        assert leaf.dotted == column.path
        assert (leaf.max_definition, leaf.max_repetition) == (
            column.max_definition_level,
            column.max_repetition_level,
        )
        assert leaf.physical == column.physical_type
    for group, info in enumerate(ours.row_groups):
        described = theirs.row_group(group)
        assert info.rows == described.num_rows
        for index, chunk in enumerate(info.columns):
            column = described.column(index)
            assert chunk.values == column.num_values
            assert (chunk.compressed, chunk.uncompressed) == (
                column.total_compressed_size,
                column.total_uncompressed_size,
            )
            assert set(chunk.encodings) == set(column.encodings)


numbers = st.none() | st.integers(-(2**31), 2**31 - 1)
KINDS = st.recursive(
    st.just(pa.int32()) | st.just(pa.string()),
    lambda inner: (
        st.builds(pa.list_, inner)
        | st.builds(lambda kind: pa.list_(pa.field("element", kind, nullable=False)), inner)
        | st.builds(
            lambda a, b: pa.struct([pa.field("x", a), pa.field("y", b, nullable=False)]), inner, inner
        )
        | st.builds(lambda kind: pa.map_(pa.string(), kind), inner)
    ),
    max_leaves=4,
)


def values_of(kind, nullable=True):
    made: st.SearchStrategy[Any]
    if pa.types.is_list(kind):
        made = st.lists(values_of(kind.value_type, kind.value_field.nullable), max_size=3)
    elif pa.types.is_map(kind):
        made = st.lists(st.tuples(st.sampled_from("ab"), values_of(kind.item_type)), max_size=2)
    elif pa.types.is_struct(kind):
        made = st.fixed_dictionaries({field.name: values_of(field.type, field.nullable) for field in kind})
    else:
        made = st.integers(0, 3) if pa.types.is_integer(kind) else st.sampled_from(["", "a", "bc"])
    return st.none() | made if nullable else made


@pytest.mark.usefixtures("in_process")
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_generated_nested_data(tmp_path_factory, data):
    kind = data.draw(KINDS)
    rows = data.draw(st.lists(values_of(kind), max_size=12))
    path = tmp_path_factory.mktemp("nested") / "a.parquet"
    pq.write_table(
        pa.table({"a": pa.array(rows, kind)}), path,
        data_page_version=data.draw(st.sampled_from(["1.0", "2.0"])),
        compression=data.draw(st.sampled_from(["none", "snappy", "zstd", "gzip", "brotli", "lz4"])),
        row_group_size=data.draw(st.sampled_from([3, 100])), data_page_size=data.draw(st.sampled_from([8, 1000])),
        write_page_index=data.draw(st.booleans()), write_page_checksum=data.draw(st.booleans()),
    )  # fmt: skip
    counts_agree(path)
    agree(path)


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("path", sorted(KEPT.iterdir()), ids=lambda path: path.name)
def test_real_files_kept_here(path):
    counts_agree(path)
    assert agree(path)


def good_files():
    index = REAL / "good" / "index.tsv"
    if not index.exists():
        return []
    with index.open() as lines:
        found = [row["path"] for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]
    return [path for path in found if not path.endswith(".csv")]


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
@pytest.mark.skipif(not good_files(), reason="the collection of real files is not here")
@pytest.mark.parametrize("part", range(4))
def test_real_files(part):
    wrong = {}
    for path in itertools.islice(good_files(), part, None, 4):
        if path in NOT_COMPARED:
            continue
        try:
            counts_agree(REAL / path)
            agree(REAL / path)
        except Exception as error:  # noqa: BLE001  # all wrong files are told, not the first
            wrong[path] = repr(error)[:300]
    assert not wrong


@pytest.mark.usefixtures("in_process")
@given(st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_parts_of_the_rows(tmp_path_factory, first, last):
    path = tmp_path_factory.getbasetemp() / "parts.parquet"
    if not path.exists():
        rows = [[n] * (n % 4) for n in range(50)]
        pq.write_table(
            pa.table({"a": rows}),
            path,
            row_group_size=20,
            data_page_size=8,
            write_batch_size=4,
            use_dictionary=False,
        )
    first, last = sorted((first, last))
    with open_parquet(path) as file:
        whole = [entry for batch in iter_leaf(file, "a") for entry in entries_of(batch)]
        part = [entry for batch in iter_leaf(file, "a", first, last) for entry in entries_of(batch)]
    assert part == [entry for entry in whole if first <= entry[0] < last]


def entries_of(batch):
    columns = (batch.rows, batch.repetition, batch.definition)
    return list(zip(*(column.tolist() for column in columns), batch.values.to_pylist(), strict=True))
