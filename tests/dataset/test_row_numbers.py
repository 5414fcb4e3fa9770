"""Row numbers in files: those that users name, and orders that took long to find."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gristmill import Dataset, DatasetDict, disable_caching, enable_caching, load_from_disk
from gristmill.dataset import row_numbers, sorting
from gristmill.errors import FileFormatError, InvalidArgumentError
from gristmill.table.arrow_file import open_arrow

ROWS: dict[str, list[Any]] = {"a": [3, 1, 2, 5, 4], "t": list("zyxwv")}


@pytest.fixture
def saved(tmp_path):
    Dataset.from_dict(ROWS).save_to_disk(tmp_path / "saved")
    return load_from_disk(tmp_path / "saved")


@pytest.fixture
def sorts(monkeypatch):
    """Counts how often an order is worked out."""
    calls = []
    work = sorting.sorted_rows

    def counted(*arguments):
        calls.append(arguments[1:])
        return work(*arguments)

    monkeypatch.setattr(sorting, "sorted_rows", counted)
    return calls


def numbers(file):
    return open_arrow(file).column(row_numbers.ROWS).to_pylist()


def test_a_long_sort_is_kept(saved, sorts, monkeypatch):
    monkeypatch.setattr(row_numbers, "WORTH_KEEPING", 5)
    first = saved.sort("a")
    again = saved.sort("a")
    assert len(sorts) == 1
    assert again["a"][:] == first["a"][:] == [1, 2, 3, 4, 5]
    assert again._fingerprint == first._fingerprint
    assert again.sort("t")["t"][:] == list("vwxyz")
    assert saved.sort("a", reverse=True)["a"][:] == [5, 4, 3, 2, 1]
    assert len(sorts) == 3
    assert saved.sort("a", load_from_cache_file=False)["a"][:] == [1, 2, 3, 4, 5]
    assert len(sorts) == 4


def test_a_short_sort_is_not(saved, sorts, tmp_path):
    saved.sort("a")
    saved.sort("a")
    assert len(sorts) == 2
    assert not list((tmp_path / "saved").glob("cache-*"))


def test_nothing_is_kept_without_caching_or_in_memory(saved, sorts, monkeypatch, tmp_path):
    monkeypatch.setattr(row_numbers, "WORTH_KEEPING", 5)
    Dataset.from_dict(ROWS).sort("a")
    saved.sort("a", keep_in_memory=True)
    disable_caching()
    try:
        saved.sort("a")
    finally:
        enable_caching()
    assert len(sorts) == 3
    assert not list((tmp_path / "saved").glob("cache-*"))


def test_a_damaged_order_is_found_again(saved, sorts, monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(row_numbers, "WORTH_KEEPING", 5)
    saved.sort("a")
    (kept,) = (tmp_path / "saved").glob("cache-*.arrow")
    kept.write_bytes(kept.read_bytes()[:100])
    assert saved.sort("a")["a"][:] == [1, 2, 3, 4, 5]
    assert len(sorts) == 2
    assert numbers(kept) == [1, 2, 0, 4, 3]


def test_an_order_out_of_range_is_found_again(saved, sorts, monkeypatch, tmp_path):
    monkeypatch.setattr(row_numbers, "WORTH_KEEPING", 5)
    saved.sort("a")
    (kept,) = (tmp_path / "saved").glob("cache-*.arrow")
    table = open_arrow(kept)
    wrong = pa.table({row_numbers.ROWS: [0, 1, 2, 3, 99]}, schema=table.schema)
    with pa.OSFile(str(kept), "w") as out, pa.ipc.new_file(out, wrong.schema) as writer:
        writer.write_table(wrong)
    assert saved.sort("a")["a"][:] == [1, 2, 3, 4, 5]
    assert len(sorts) == 2


def test_users_name_the_file_of_a_sort(sorts, tmp_path):
    ds, file = Dataset.from_dict(ROWS), tmp_path / "order.arrow"
    assert ds.sort("a", indices_cache_file_name=str(file))["a"][:] == [1, 2, 3, 4, 5]
    assert numbers(file) == [1, 2, 0, 4, 3]
    assert ds.sort("a", indices_cache_file_name=file)["a"][:] == [1, 2, 3, 4, 5]
    assert len(sorts) == 1
    # Another order, or the order of other rows, is none of this one.
    assert ds.sort("t", indices_cache_file_name=file)["t"][:] == list("vwxyz")
    assert numbers(file) == [4, 3, 2, 1, 0]
    assert ds.select([1, 0]).sort("a", indices_cache_file_name=file)["a"][:] == [1, 3]
    assert len(sorts) == 3


def test_files_of_others_stay(saved, tmp_path):
    file = next((tmp_path / "saved").glob("*.arrow"))
    before = file.read_bytes()
    with pytest.raises(InvalidArgumentError, match="holds something else than row numbers"):
        saved.sort("a", indices_cache_file_name=file)
    text = tmp_path / "notes.txt"
    text.write_text("mine")
    with pytest.raises(FileFormatError):
        saved.sort("a", indices_cache_file_name=text)
    assert file.read_bytes() == before
    assert text.read_text() == "mine"
    with pytest.raises(InvalidArgumentError, match="indices_cache_file_name"):
        saved.sort("a", indices_cache_file_name=7)


def test_users_name_the_file_of_a_shuffle(tmp_path):
    ds, file = Dataset.from_dict({"a": range(50)}), tmp_path / "order.arrow"
    plain = ds.shuffle(seed=1)["a"][:]
    assert ds.shuffle(seed=1, indices_cache_file_name=file)["a"][:] == plain
    assert numbers(file) == plain
    assert ds.shuffle(seed=1, indices_cache_file_name=file)["a"][:] == plain
    other = ds.shuffle(seed=2, indices_cache_file_name=file)["a"][:]
    assert other == ds.shuffle(seed=2)["a"][:] == numbers(file)
    generator = np.random.default_rng(1)
    assert ds.shuffle(generator=generator, indices_cache_file_name=file)["a"][:] == plain


def test_chosen_rows_are_written(tmp_path):
    ds = Dataset.from_dict({"a": range(10)})
    assert ds.select([3, 1], indices_cache_file_name=tmp_path / "some.arrow")["a"][:] == [3, 1]
    assert numbers(tmp_path / "some.arrow") == [3, 1]
    ds.select(range(3), indices_cache_file_name=tmp_path / "range.arrow")
    assert not (tmp_path / "range.arrow").exists(), "a range needs no file"
    files = {f"{part}_indices_cache_file_name": tmp_path / f"{part}.arrow" for part in ("train", "test")}
    parts = ds.train_test_split(0.3, seed=1, **files)
    assert {part: numbers(tmp_path / f"{part}.arrow") for part in parts} == {
        part: rows["a"][:] for part, rows in parts.items()
    }


def test_files_of_splits(tmp_path):
    both = DatasetDict({"x": Dataset.from_dict(ROWS), "y": Dataset.from_dict({"a": [2, 1], "t": ["p", "q"]})})
    files = {name: tmp_path / f"{name}.arrow" for name in both}
    assert both.sort("a", indices_cache_file_names=files)["y"]["a"][:] == [1, 2]
    assert {name: numbers(file) for name, file in files.items()} == {"x": [1, 2, 0, 4, 3], "y": [1, 0]}
    shuffled = both.shuffle(seed=3, indices_cache_file_names={"x": tmp_path / "s.arrow"})
    assert [ROWS["a"][row] for row in numbers(tmp_path / "s.arrow")] == shuffled["x"]["a"][:]
