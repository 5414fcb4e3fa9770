"""What Parquet can't hold is refused with the name of the column."""

from typing import Any

import pyarrow as pa
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
