import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import DataError
from gristmill.table.origins import Origins

FILES = [("org/a", "c1", "x.csv"), ("org/a", "c1", "y.csv"), ("dir", None, "z.json")]
parts_strategy = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5), st.integers(0, 3)), max_size=6)


def make(parts):
    origins = Origins.concat(
        [Origins.single(FILES[f][0], FILES[f][1], FILES[f][2], rows, first) for f, rows, first in parts]
    )
    plain = [
        dict(zip(("source", "revision", "file", "row_index"), (*FILES[f], first + i), strict=True))
        for f, rows, first in parts
        for i in range(rows)
    ]
    return origins, plain


@settings(deadline=None)
@given(parts_strategy, st.data())
def test_origins_are_those_of_the_rows(parts, data):
    origins, plain = make(parts)
    assert len(origins) == len(plain)
    assert origins.to_table().to_pylist() == plain
    start = data.draw(st.integers(0, len(plain)))
    length = data.draw(st.integers(0, 8))
    assert origins.slice(start, length).to_table().to_pylist() == plain[start : start + length]
    indices = data.draw(st.lists(st.integers(0, len(plain) - 1))) if plain else []
    taken = origins.take(np.array(indices, np.int64))
    assert taken.to_table().to_pylist() == [plain[i] for i in indices]
    again = Origins.from_json(json.loads(json.dumps(taken.to_json())))
    assert again == taken


def test_neighbours_are_one_run():
    origins = Origins.single("s", None, "f", 1_000_000)
    assert len(origins.take(range(10, 500_000)).to_json()["runs"]) == 1
    assert len(origins.take(np.arange(5, 100)).to_json()["runs"]) == 1
    assert len(origins.take(range(0, 100, 2)).to_json()["runs"]) == 50


@pytest.mark.parametrize(
    "bad", [None, {}, {"places": [], "runs": [[0, 0, 1]]}, {"places": [["a"]], "runs": []}]
)
def test_a_record_that_is_not_one_is_refused(bad):
    with pytest.raises(DataError):
        Origins.from_json(bad)
