"""Parquet that several threads encode has the bytes that one thread would have written."""

import contextlib
import io
import threading
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill import Dataset
from gristmill.engine.tasks import INSIDE_WORKER
from gristmill.errors import CastError, DataError, InvalidArgumentError
from gristmill.formats import parquet_threads
from gristmill.formats.parquet_cuts import CutFinder
from gristmill.formats.parquet_write import write_groups

TEXTS = [None, "", "a", "ab" * 40, "ü€😀"]
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "bool": (pa.bool_(), [None, True, False]),
    "int8": (pa.int8(), [None, 0, -128, 127]),
    "uint64": (pa.uint64(), [None, 0, 2**64 - 1]),
    "int64": (pa.int64(), [0, 1, -(2**63), 2**63 - 1]),
    "half": (pa.float16(), [None, np.float16(1.5), np.float16("nan")]),
    "double": (pa.float64(), [None, 0.0, -0.0, 1e300, float("nan")]),
    "decimal": (pa.decimal128(20, 3), [None, Decimal("1.5"), Decimal("-99999999999999999.999")]),
    "date": (pa.date32(), [None, 0, 20_000]),
    "seconds": (pa.timestamp("s", "UTC"), [None, 0, 1_700_000_000]),
    "nanoseconds": (pa.timestamp("ns"), [None, 0, 1_700_000_000_000_000_001]),
    "time": (pa.time64("us"), [None, 0, 86_399_999_999]),
    "duration": (pa.duration("ms"), [None, 0, -5]),
    "text": (pa.string(), TEXTS),
    "large text": (pa.large_string(), TEXTS),
    "view": (pa.string_view(), TEXTS),
    "bytes": (pa.binary(), [None, b"", b"\xff" * 70]),
    "fixed": (pa.binary(3), [None, b"abc", b"\0\0\0"]),
    "nothing": (pa.null(), [None]),
    "categories": (pa.dictionary(pa.int8(), pa.string()), ["a", "b", None]),
    "list": (pa.list_(pa.int32()), [None, [], [1, None], [2] * 20]),
    "large lists": (pa.large_list(pa.list_(pa.string())), [None, [], [["a"], None, []]]),
    "fixed list": (pa.list_(pa.float32(), 2), [[1.0, 2.0], [0.5, None]]),
    "struct": (
        pa.struct([("x", pa.int64()), ("y", pa.list_(pa.struct([("z", pa.string())])))]),
        [None, {"x": 1, "y": [{"z": "q"}, None]}, {"x": None, "y": None}],
    ),
    "map": (pa.map_(pa.string(), pa.float64()), [None, [], [("k", 1.0), ("l", None)]]),
    "json": (pa.json_(), [None, "{}", '{"a": 1}']),
}

OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "compression": st.sampled_from(["none", "snappy", "gzip", "zstd", "lz4", {"0": "zstd", "1": "gzip"}]),
        "compression_level": st.none(),
        "version": st.sampled_from(["1.0", "2.4", "2.6"]),
        "data_page_version": st.sampled_from(["1.0", "2.0"]),
        "data_page_size": st.sampled_from([64, 1000]),
        "max_rows_per_page": st.sampled_from([3, 100]),
        "write_batch_size": st.sampled_from([1, 7]),
        "dictionary_pagesize_limit": st.sampled_from([16, 1000]),
        "use_dictionary": st.one_of(st.booleans(), st.just(["0", "1.x"])),
        "write_statistics": st.one_of(st.booleans(), st.just(["1"])),
        "write_page_index": st.booleans(),
        "write_page_checksum": st.booleans(),
        "store_schema": st.booleans(),
        "store_decimal_as_integer": st.booleans(),
        "use_compliant_nested_type": st.booleans(),
        "use_deprecated_int96_timestamps": st.booleans(),
        "coerce_timestamps": st.sampled_from(["ms", "us"]),
        "allow_truncated_timestamps": st.just(True),
        "write_time_adjusted_to_utc": st.booleans(),
        "bloom_filter_options": st.sampled_from([{"0": True}, {"0": True, "1": {"ndv": 20, "fpp": 0.2}}]),
        "sorting_columns": st.sampled_from([[pq.SortingColumn(0)], [pq.SortingColumn(1, True, True)]]),
    },
)
CHUNKING = st.sampled_from([True, False, {"min_chunk_size": 64, "max_chunk_size": 256}])


@st.composite
def tables(draw: Any) -> list[pa.Table]:
    names = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=2, max_size=5))
    groups = []
    for rows in draw(st.lists(st.integers(1, 200), min_size=1, max_size=4)):
        columns = []
        for name in names:
            kind, values = KINDS[name]
            picked = [
                values[i % len(values)] for i in draw(st.lists(st.integers(0, 9), min_size=1, max_size=9))
            ]
            storage = pa.array((picked * rows)[:rows], getattr(kind, "storage_type", kind))
            columns.append(storage if storage.type == kind else pa.ExtensionArray.from_storage(kind, storage))
        schema = pa.schema(
            [pa.field(str(i), column.type) for i, column in enumerate(columns)],
            metadata={"huggingface": "{}"},
        )
        groups.append(pa.Table.from_arrays(columns, schema=schema))
    return groups


@contextlib.contextmanager
def threads(count: int, large: float = 0.8) -> Any:
    """Lets so many threads encode row groups of any size; columns of more than this of a thread's share all at once."""
    before = pa.cpu_count()
    sizes = {name: getattr(parquet_threads, name) for name in ("_SMALL", "_SMALL_CHUNK", "_LARGE_SHARE")}
    pa.set_cpu_count(count)
    parquet_threads._SMALL = parquet_threads._SMALL_CHUNK = 0
    parquet_threads._LARGE_SHARE = large
    try:
        yield
    finally:
        pa.set_cpu_count(before)
        for name, size in sizes.items():
            setattr(parquet_threads, name, size)


def written(
    groups: list[pa.Table], count: int, chunking: Any = True, large: float = 0.8, **options: Any
) -> bytes:
    out = io.BytesIO()
    with threads(count, large):
        write_groups(out, iter(groups), groups[0].schema, chunking, options)
    return out.getvalue()


def outcome(groups: list[pa.Table], count: int, chunking: Any, large: float, options: dict[str, Any]) -> Any:
    try:
        return written(groups, count, chunking, large, **options)
    except Exception as error:  # noqa: BLE001  # what one thread refuses, several refuse with the same words
        return type(error), str(error)


@settings(max_examples=150)
@given(tables(), OPTIONS, CHUNKING, st.sampled_from([2, 3, 8]), st.sampled_from([0, 0.8]))
def test_the_bytes_are_those_of_one_thread(
    groups: list[pa.Table], options: dict[str, Any], chunking: Any, count: int, large: float
) -> None:
    alone = outcome(groups, 1, chunking, large, options)
    assert outcome(groups, count, chunking, large, options) == alone


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_kind_of_column_is_the_same_from_row_group_to_row_group(name: str) -> None:
    kind, values = KINDS[name]
    picked = np.random.default_rng(1).integers(len(values), size=100_000)
    storage = pa.array([values[i] for i in picked], getattr(kind, "storage_type", kind))
    column = storage if storage.type == kind else pa.ExtensionArray.from_storage(kind, storage)
    table = pa.table({"a": column, "b": picked * 977})
    groups = [table.slice(at, 25_000) for at in range(0, 100_000, 25_000)]
    chunking = {"min_chunk_size": 16 << 10, "max_chunk_size": 64 << 10}
    alone = written(groups, 1, chunking, write_page_index=True)
    assert written(groups, 2, chunking, 0, write_page_index=True) == alone
    assert written(groups, 2, chunking, write_page_index=True) == alone


def random_texts(rows: int, seed: int, length: int = 400) -> pa.Array:
    values = np.random.default_rng(seed).integers(97, 123, rows * length, dtype=np.uint8)
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * length)
    return pa.Array.from_buffers(
        pa.string(), rows, [None, offsets.buffers()[1], pa.py_buffer(values.tobytes())]
    )


def large_groups() -> list[pa.Table]:
    """Makes four row groups of 1.2 MB, in which the chunks go from one to the next."""
    return [
        pa.table({"text": random_texts(3000, seed), "n": np.arange(3000) + seed, "x": ["same"] * 3000})
        for seed in range(4)
    ]


CUT = {"min_chunk_size": 40_000, "max_chunk_size": 160_000, "norm_level": 0}


def test_a_large_column_is_cut_as_if_it_were_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    primed = []
    encoded = parquet_threads._AllAtOnce._encoded

    def counted(self: Any, tables: list[pa.Table]) -> Any:
        primed.append([table.num_rows for table in tables])
        return encoded(self, tables)

    monkeypatch.setattr(parquet_threads._AllAtOnce, "_encoded", counted)
    groups = large_groups()
    alone = written(groups, 1, CUT, write_page_index=True)
    assert written(groups, 2, CUT, write_page_index=True) == alone
    assert sorted(map(len, primed)) == [1, 2, 2, 2]
    # Only a few chunks are written twice.
    assert max(rows[0] for rows in primed if len(rows) == 2) < 1500
    apart = [written([group], 1, CUT, write_page_index=True) for group in groups]
    assert len(alone) != sum(map(len, apart)), "where it is cut depends on the row groups before"


def test_small_chunks_that_come_of_few_bytes_are_cut_as_if_they_were_written_at_once() -> None:
    # In some of these, the first rows that are written once more do not lead to the same cuts.
    chunking = {"min_chunk_size": 16_384, "max_chunk_size": 65_536, "norm_level": 3}
    for seed in range(12):
        groups = [pa.table({"text": random_texts(1500, 10 * seed + number)}) for number in range(3)]
        alone = written(groups, 1, chunking, write_page_index=True)
        assert written(groups, 2, chunking, write_page_index=True) == alone


def test_a_primer_that_does_not_lead_to_the_cuts_is_not_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = large_groups()
    alone = written(groups, 1, CUT, write_page_index=True)
    add = CutFinder.add
    tried = []

    def with_a_bad_one(self: Any, table: pa.Table) -> list[Any]:
        good = add(self, table)
        tried.append(good[0])
        bad = good[0]._replace(rows=good[0].rows.slice(77))
        return [bad, *good]

    monkeypatch.setattr(CutFinder, "add", with_a_bad_one)
    assert written(groups, 2, CUT, write_page_index=True) == alone
    assert len(tried) == 3
    assert all(primer.cuts for primer in tried)


@pytest.mark.parametrize(
    "options", [{"encryption_properties": None}, {"sorting_columns": [pq.SortingColumn(0)]}]
)
def test_options_that_reach_over_columns_are_left_to_one_thread(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gristmill.formats.parquet_write.encoded_groups", None)
    assert pq.read_table(io.BytesIO(written(large_groups(), 2, **options))).num_rows == 12_000


def test_little_is_left_to_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gristmill.formats.parquet_write.encoded_groups", None)
    table = pa.table({"a": range(1000), "b": range(1000)})
    out = io.BytesIO()
    write_groups(out, [table], table.schema, True, {})
    wide = pa.table({str(i): np.arange(1000) for i in range(500)})  # 4 MB, of which each column has little
    write_groups(io.BytesIO(), [wide], wide.schema, True, {})
    only = pa.table({"a": random_texts(10_000, 1)})
    write_groups(io.BytesIO(), [only], only.schema, True, {})
    assert pq.read_table(io.BytesIO(out.getvalue())).equals(table)


def test_a_value_that_parquet_has_no_room_for_is_named(tmp_path: Any) -> None:
    seconds = pa.array([0] * 5000 + [2**62] + [0] * 5000, pa.timestamp("s"))
    ds = Dataset(pa.table({"text": random_texts(10_001, 1), "at": seconds}))
    with threads(2), pytest.raises(DataError, match=r'^row 5000, column "at": .*4611686018427387904'):
        ds.to_parquet(tmp_path / "x.parquet", batch_size=2000)
    assert not list(tmp_path.iterdir())
    assert not [t for t in threading.enumerate() if t.name.startswith("gristmill-parquet")]


def test_an_error_while_rows_are_drawn_comes_after_what_was_before_it() -> None:
    groups = large_groups()

    def drawn() -> Any:
        yield from groups
        raise OSError("the rows are gone")

    out = io.BytesIO()
    with threads(2), pytest.raises(OSError, match="the rows are gone"):
        write_groups(out, drawn(), groups[0].schema, True, {})
    assert len(out.getvalue()) > 4_000_000 * 0.6
    assert not [t for t in threading.enumerate() if t.name.startswith("gristmill-parquet")]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_writing_stops_at_once(error: Any, tmp_path: Any) -> None:
    groups = large_groups()
    drawn = []

    def counted() -> Any:
        for number in range(100):
            drawn.append(number)
            yield groups[number % 4]

    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            if self.tell() > 1_000_000:
                raise error
            return super().write(data)

    with threads(2), pytest.raises(type(error) if isinstance(error, OSError) else error):
        write_groups(Full(), counted(), groups[0].schema, True, {})
    assert len(drawn) <= 6
    assert not [t for t in threading.enumerate() if t.name.startswith("gristmill-parquet")]


def test_an_unknown_option_and_a_column_that_parquet_has_not_are_errors(tmp_path: Any) -> None:
    ds = Dataset(large_groups()[0])
    with (
        threads(2),
        pytest.raises(InvalidArgumentError, match="An option of to_parquet can't be used: Unsupported"),
    ):
        ds.to_parquet(tmp_path / "x.parquet", compression="fast")
    with threads(2), pytest.raises(InvalidArgumentError, match="An option of to_parquet is not known"):
        ds.to_parquet(tmp_path / "x.parquet", fast=True)
    empty = Dataset(pa.table({"a": [{}] * 9000, "b": random_texts(9000, 1)}))
    with threads(2), pytest.raises(CastError, match=r'^column "a": Parquet can\'t hold a column'):
        empty.to_parquet(tmp_path / "x.parquet")
    assert not list(tmp_path.iterdir())


def test_not_more_row_groups_are_drawn_ahead_than_threads_and_one() -> None:
    groups = large_groups()
    out = io.BytesIO()
    behind = []

    def drawn() -> Any:
        for number in range(20):
            behind.append(number - out.tell() / 700_000)
            yield groups[number % 4]

    with threads(2):
        write_groups(out, drawn(), groups[0].schema, True, {"compression": "none", "use_dictionary": False})
    assert max(behind) < 4


def test_options_that_are_mappings_are_left_as_they_were() -> None:
    groups = large_groups()
    options: dict[str, Any] = {
        "use_dictionary": False,
        "column_encoding": {"n": "DELTA_BINARY_PACKED"},
        "use_byte_stream_split": ["n2"],
    }
    given = {name: dict(value) if isinstance(value, dict) else value for name, value in options.items()}
    groups = [group.append_column("n2", pa.array(np.arange(3000.0))) for group in groups]
    assert written(groups, 2, True, **options) == written(groups, 1, True, **options)
    assert options == given


def test_worker_processes_have_one_thread_each(monkeypatch: pytest.MonkeyPatch) -> None:
    with threads(3):
        assert parquet_threads.threads_at_hand() == 3
        monkeypatch.setenv(INSIDE_WORKER, "1")
        assert parquet_threads.threads_at_hand() == 1
