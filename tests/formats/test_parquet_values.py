"""Values that Parquet and Arrow files hold although their type says that they do not: they load as pyarrow reads them."""

from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gristmill
from gristmill.errors import CastError, DataError
from gristmill.features import Features, Value
from gristmill.formats import get_format

LARGE = 92233720368547758070092230685477500000  # 38 digits
WIDE = pa.decimal128(36, 17)
EXPECTED = [Decimal("922337203685477580700.922306854775"), None, Decimal("0.5")]


def decimals(type_, *values):
    size = type_.bit_width // 8
    raw = [None if value is None else value.to_bytes(size, "little", signed=True) for value in values]
    return pa.array(raw, pa.binary(size)).view(type_)


@pytest.fixture
def large(tmp_path):
    value = decimals(WIDE, LARGE, None, 5 * 10**16)
    nested = pa.StructArray.from_arrays([value, pa.array(["x", "y", "z"])], ["d", "t"])
    pq.write_table(pa.table({"d": value, "n": nested}), tmp_path / "large.parquet")
    return tmp_path / "large.parquet"


@pytest.fixture
def loaded(large, tmp_path):
    return gristmill.Dataset.from_parquet(str(large), cache_dir=str(tmp_path / "cache"))


def test_decimals_beyond_their_precision_load(large, loaded):
    assert pq.ParquetFile(large).read()["d"].to_pylist() == EXPECTED
    streamed = gristmill.load_dataset("parquet", data_files=str(large), split="train", streaming=True)
    for rows in (loaded, streamed):
        assert rows.features is not None
        assert rows.features["d"] == Value("decimal128(36, 17)")
        assert [row["d"] for row in rows] == EXPECTED
        assert [row["n"]["d"] for row in rows] == EXPECTED


def test_they_survive_whatever_does_not_cast(loaded, tmp_path):
    loaded.to_parquet(str(tmp_path / "again.parquet"))
    again = gristmill.Dataset.from_parquet(
        str(tmp_path / "again.parquet"), cache_dir=str(tmp_path / "cache2")
    )
    loaded.save_to_disk(str(tmp_path / "saved"))
    get_format("arrow").write([loaded.data.table], tmp_path / "a.arrow", schema=loaded.data.table.schema)
    mapped = gristmill.load_dataset(
        "arrow", data_files=str(tmp_path / "a.arrow"), split="train", cache_dir=str(tmp_path / "cache3")
    )
    for other in (
        again,
        mapped,
        gristmill.load_from_disk(str(tmp_path / "saved")),
        loaded.map(lambda row: {"one": 1}).remove_columns("one"),
        loaded.map(lambda rows: rows, batched=True),
        loaded.filter(lambda row: True),
        loaded.select([0, 1, 2]).flatten_indices(),
    ):
        assert other["d"] == EXPECTED
        assert [row["d"] for row in other["n"]] == EXPECTED
    assert loaded.to_pandas()["d"].tolist() == EXPECTED
    loaded.to_json(str(tmp_path / "a.jsonl"))
    assert '"d":"922337203685477580700.92230685477500000"' in (tmp_path / "a.jsonl").read_text()
    loaded.select_columns("d").to_csv(str(tmp_path / "a.csv"))
    assert (tmp_path / "a.csv").read_text().splitlines()[1] == "922337203685477580700.92230685477500000"


def test_a_cast_refuses_them(loaded):
    with pytest.raises(CastError, match='row 0, column "d"'):
        loaded.cast(Features({**loaded.features, "d": Value("decimal128(37, 17)")}))
    assert loaded.cast(Features({**loaded.features, "d": Value("decimal128(38, 17)")}))["d"] == EXPECTED


@pytest.mark.parametrize("nested", [False, True])
def test_what_parquet_would_cut_off_is_refused(tmp_path, nested):
    # pyarrow writes two bytes for three digits, and -3276.8 is what it would read again.
    column = decimals(pa.decimal128(3, 1), 999, None, 32767, -32768, 32768)
    assert column.to_pylist()[4] == Decimal("3276.8")
    if nested:
        column = pa.ListArray.from_arrays([0, 1, 2, 3, 4, 5], column)
    table = pa.table({"ok": range(5), "d": column})
    dataset = gristmill.Dataset(table)
    dataset.select(range(4)).to_parquet(str(tmp_path / "fits.parquet"))
    assert pq.read_table(tmp_path / "fits.parquet")["d"].to_pylist() == column.to_pylist()[:4]
    with pytest.raises(DataError, match=r'row 4, column "d".* larger than the 2 bytes of this precision'):
        dataset.to_parquet(str(tmp_path / "cut.parquet"))
    assert not (tmp_path / "cut.parquet").exists()


def test_times_beyond_a_day_load(tmp_path):
    late = pa.array([86_400_000_000, None, -1], pa.int64()).view(pa.time64("us"))
    pq.write_table(pa.table({"t": late}), tmp_path / "late.parquet")
    loaded = gristmill.Dataset.from_parquet(str(tmp_path / "late.parquet"), cache_dir=str(tmp_path / "cache"))
    assert loaded.data.table["t"].combine_chunks().view(pa.int64()).to_pylist() == [86_400_000_000, None, -1]


def test_text_that_is_not_utf8_beside_them_is_still_refused(tmp_path):
    bad = pa.array([b"ok", b"\xff", b"x"]).view(pa.string())
    pq.write_table(pa.table({"d": decimals(WIDE, LARGE, None, 1), "t": bad}), tmp_path / "bad.parquet")
    with pytest.raises(gristmill.errors.DatasetGenerationError, match=r'bad\.parquet, column "t".*UTF8'):
        gristmill.Dataset.from_parquet(str(tmp_path / "bad.parquet"), cache_dir=str(tmp_path / "cache"))
