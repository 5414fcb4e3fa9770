"""`cast`: columns brought to other features; what has the type already is checked, not copied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from gristmill.dataset.place import Place
from gristmill.dataset.rewriting import rewrite
from gristmill.features import Features
from gristmill.features.cast import cast_array
from gristmill.features.convert import to_arrow_type
from gristmill.table.view import View


@dataclass(frozen=True)
class _Cast:
    features: dict[str, Any]

    def __call__(self, table: pa.Table, first_row: int) -> pa.Table:
        return pa.table(
            {
                name: cast_array(table.column(name), feature, column=name, first_row=first_row)
                for name, feature in self.features.items()
            }
        )


def cast_view(
    view: View, before: Mapping[str, Any], features: Features, place: Place, num_proc: int | None
) -> View:
    """Brings columns to features.

    Args:
        view: The rows.
        before: The features they have.
        features: The features wanted, one a column, in the order wanted.
        place: Where new columns go.
        num_proc: Worker processes.

    Raises:
        CastError: A value does not fit; names row, column and value.
    """
    changed = {name: feature for name, feature in features.items() if feature != before[name]}
    same_type = {
        name: feature
        for name, feature in changed.items()
        if to_arrow_type(feature) == view.schema.field(name).type
    }
    if same_type:
        # Stored alike, but perhaps not allowed alike: a number is not the id of a class just because it is one.
        check, size = _Cast(same_type), view.block_rows(100_000, 32 << 20)
        for start in range(0, view.num_rows, size):
            check(view.take(range(start, min(view.num_rows, start + size)), list(same_type)), start)
    rest = {name: feature for name, feature in changed.items() if name not in same_type}
    cast = rewrite(view, list(rest), _Cast(rest), place, num_proc, "Casting")
    return cast.choose(list(features))
