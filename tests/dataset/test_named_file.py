"""`cache_file_name`: one file that holds the whole result of this function, or nothing."""

from pathlib import Path

import pyarrow as pa
import pytest

from gristmill import Dataset, DatasetDict
from gristmill.errors import TransformError, TransformOutputError
from gristmill.table.arrow_file import write_arrow


@pytest.fixture
def stored(tmp_path):
    write_arrow(tmp_path / "data" / "data.arrow", pa.table({"a": range(20)}))
    return Dataset.from_file(str(tmp_path / "data" / "data.arrow"))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("num_proc", [None, 2])
def test_what_another_function_finished_is_not_mixed_in(stored, tmp_path, num_proc):
    target = tmp_path / "out" / "r.arrow"

    def fails(row):
        if row["a"] == 19:
            raise ValueError(row)
        return {"b": row["a"]}

    with pytest.raises(TransformError, match="row 19"):
        stored.map(fails, num_proc=num_proc, cache_file_name=str(target))
    assert not target.exists()
    made = stored.map(lambda row: {"b": -row["a"]}, num_proc=num_proc, cache_file_name=str(target))
    assert made["b"][:] == [-a for a in range(20)]
    assert names(target.parent) == ["r.arrow"]


def test_what_this_function_finished_is_used(stored, tmp_path):
    target, log, mark = tmp_path / "out" / "r.arrow", tmp_path / "log", tmp_path / "mark"

    def work(row):
        with log.open("a") as file:
            file.write("x")
        if row["a"] == 19 and not mark.exists():
            mark.touch()
            raise ValueError(row)
        return {"b": row["a"]}

    with pytest.raises(TransformError):
        stored.map(work, num_proc=2, cache_file_name=str(target))
    before = log.stat().st_size
    assert stored.map(work, num_proc=2, cache_file_name=str(target))["b"][:] == list(range(20))
    assert log.stat().st_size - before < 20
    assert names(target.parent) == ["r.arrow"]


def test_pieces_of_which_some_have_another_number_of_rows(tmp_path):
    ds = Dataset.from_dict({"a": list(range(20))})

    def fewer(batch):
        return {"a": batch["a"][:1] if batch["a"][0] == 0 else batch["a"]}

    def as_many_in_all(batch):
        a = batch["a"]
        return {"a": a * 2 if a[0] == 0 else [] if a[0] == 5 else a}

    expected = {
        fewer: [0, *range(5, 20)],
        as_many_in_all: [*range(5), *range(5), *range(10, 20)],
    }
    for function, rows in expected.items():
        for _ in range(2):  # made, then found
            made = ds.map(
                function,
                batched=True,
                batch_size=5,
                num_proc=2,
                cache_file_name=str(tmp_path / function.__name__),
            )
            assert made["a"][:] == rows
            assert {origin["row_index"] for origin in made.origins().to_pylist()} == {None}


def test_answers_of_which_some_are_none_are_not_kept(stored, tmp_path):
    target = tmp_path / "r.arrow"
    for _ in range(2):
        with pytest.raises(TransformOutputError, match="None for row 0 and dicts for other rows"):
            stored.map(
                lambda batch: None if batch["a"][0] == 0 else {"b": batch["a"]},
                batched=True,
                batch_size=5,
                num_proc=2,
                cache_file_name=str(target),
            )
        assert not target.exists()


def test_another_process_that_makes_the_same_file_first(stored, tmp_path):
    target, mark = tmp_path / "out" / "r.arrow", tmp_path / "mark"

    def work(row):
        if row["a"] == 19 and not mark.exists():
            mark.touch()
            # As another process would do it at this moment: it finishes the file and deletes the pieces.
            stored.map(work, cache_file_name=str(target))
        return {"b": row["a"] * 3}

    assert stored.map(work, num_proc=2, cache_file_name=str(target))["b"][:] == list(range(0, 60, 3))
    assert target.is_file()


def test_arguments_that_change_no_rows(stored, tmp_path):
    made = stored.map(
        lambda row: {"b": row["a"]},
        num_proc=2,
        cache_file_name=str(tmp_path / "out" / "r.arrow"),
        suffix_template="-{rank}-of-{num_proc}",
    )
    assert made["b"][:] == list(range(20))
    assert names(tmp_path / "out") == ["r.arrow"]
    kept = stored.filter(
        lambda row: row["a"] > 17,
        cache_file_name=str(tmp_path / "out" / "f.arrow"),
        suffix_template="-{rank}",
        num_proc=2,
    )
    assert kept["a"][:] == [18, 19]
    file = str(tmp_path / "order.arrow")
    orders = [
        stored.select([3, 1], indices_cache_file_name=file),
        stored.sort("a", reverse=True, indices_cache_file_name=file).select([16, 18]),
        stored.shuffle(seed=1, indices_cache_file_name=file).sort("a").select([3, 1]),
        stored.train_test_split(
            shuffle=False, train_indices_cache_file_name=file, test_indices_cache_file_name=file
        )["train"].select([3, 1]),
    ]
    assert [order["a"][:] for order in orders] == [[3, 1]] * 4


def test_a_file_for_each_split(stored, tmp_path):
    parts = DatasetDict({"x": stored.select([1]), "y": stored.select([2, 3])})
    files = {name: str(tmp_path / f"{name}.arrow") for name in parts}
    seen = []

    def work(row):
        seen.append(row["a"])
        return {"b": row["a"] * 2}

    for _ in range(2):
        made = parts.map(work, cache_file_names=files)
        assert {name: part["b"][:] for name, part in made.items()} == {"x": [2], "y": [4, 6]}
        assert all(Path(file).is_file() for file in files.values())
    assert seen == [1, 2, 3]
    kept = parts.filter(
        lambda row: row["a"] > 2, cache_file_names={"x": None, "y": str(tmp_path / "f.arrow")}
    )
    assert {name: part["a"][:] for name, part in kept.items()} == {"x": [], "y": [3]}
    assert (tmp_path / "f.arrow").is_file()
    flat = parts.flatten_indices(cache_file_names={"x": str(tmp_path / "g.arrow"), "y": None})
    assert {name: part["a"][:] for name, part in flat.items()} == {"x": [1], "y": [2, 3]}
    assert (tmp_path / "g.arrow").is_file()
