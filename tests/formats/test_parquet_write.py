"""What Parquet can't hold is refused with the name of the column."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import Dataset
from gristmill.errors import CastError

EMPTY = pa.struct([])


@pytest.mark.parametrize(
    ("value", "kind"),
    [({}, EMPTY), ({"in": {}}, pa.struct({"in": EMPTY})), ([{}], pa.list_(EMPTY))],
    ids=["struct", "in a struct", "in a list"],
)
def test_a_struct_without_fields_names_its_column(value: Any, kind: Any, tmp_path: Any) -> None:
    ds = Dataset(pa.table({"a": [1], "outer": pa.array([value], kind)}))
    with pytest.raises(CastError, match=r'^column "outer": Parquet can\'t hold .* with no child field'):
        ds.to_parquet(tmp_path / "x.parquet")
    assert not list(tmp_path.iterdir())


def test_numbers_that_hardly_repeat_have_no_dictionary(tmp_path: Any) -> None:
    rng, rows = np.random.default_rng(1), 40_000
    columns = {
        "id": np.arange(rows),
        "float": rng.normal(size=rows),
        "again": np.arange(rows) % 5000,
        "each ten times": np.arange(rows) // 10,
        "few": rng.integers(20, size=rows),
    }
    table = pa.table(columns).append_column(
        "mostly null", pa.array(np.arange(rows), mask=np.arange(rows) % 100 > 0)
    )
    Dataset(table).to_parquet(tmp_path / "x.parquet")
    group = pq.read_metadata(tmp_path / "x.parquet").row_group(0)
    with_one = {
        chunk.path_in_schema
        for chunk in map(group.column, range(group.num_columns))
        if chunk.has_dictionary_page
    }
    assert with_one == {"again", "each ten times", "few"}
    Dataset(table).to_parquet(tmp_path / "y.parquet", use_dictionary=True)
    assert (tmp_path / "x.parquet").stat().st_size < (tmp_path / "y.parquet").stat().st_size
    assert pq.read_table(tmp_path / "x.parquet").equals(table)
