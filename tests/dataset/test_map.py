import datetime as dt
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from gristmill.dataset import Dataset
from gristmill.errors import (
    ColumnNotFoundError,
    FileError,
    InvalidArgumentError,
    TransformError,
    TransformOutputError,
    WorkerDiedError,
)
from gristmill.features import ClassLabel, Features, Json, List, Value
from gristmill.fingerprint import disable_caching, enable_caching
from gristmill.table.arrow_file import write_arrow
from gristmill.table.origins import Origins


@pytest.fixture
def ds():
    return Dataset.from_dict({"a": [1, 2, 3], "s": ["x", "y", None]})


@pytest.fixture
def stored(tmp_path):
    """A dataset over a file in a folder of its own, as a prepared one is."""
    folder = tmp_path / "prepared"
    table = pa.table({"a": range(20), "s": [f"t{i}" for i in range(20)]})
    write_arrow(folder / "data.arrow", table)
    return Dataset.from_file(str(folder / "data.arrow"))


def counter(path):
    def work(row):
        with path.open("a") as file:
            file.write("x")
        return {"b": row["a"] + 1}

    return work


def calls(path):
    return path.stat().st_size if path.exists() else 0


@pytest.mark.parametrize("num_proc", [None, 2])
def test_arguments_of_the_function(ds, num_proc):
    def run(function, **kwargs):
        return ds.map(function, num_proc=num_proc, **kwargs)

    assert run(lambda row: {"b": row["a"] + 1})["b"] == [2, 3, 4]
    assert run(lambda row, i: {"b": i}, with_indices=True)["b"] == [0, 1, 2]
    assert run(lambda a, s: {"b": f"{a}{s}"}, input_columns=["a", "s"])["b"] == ["1x", "2y", "3None"]
    assert run(lambda a: {"b": a}, input_columns="a")["b"] == [1, 2, 3]
    assert run(lambda row, k, j=0: {"b": k + j}, fn_kwargs={"k": 1, "j": 2})["b"] == [3, 3, 3]
    assert run(lambda row, i, r: {"b": [i, int(r is None)]}, with_indices=True, with_rank=True)["b"][0] == [
        0,
        int(num_proc is None),
    ]
    assert run(lambda batch, i: {"b": i}, with_indices=True, batched=True, batch_size=2)["b"] == [0, 1, 2]
    assert run(lambda batch: {"b": [len(batch["a"])] * len(batch["a"])}, batched=True, batch_size=2)["b"] == [
        2,
        2,
        1,
    ]
    assert run(lambda row: row, remove_columns="s").column_names == ["a"]


@pytest.mark.parametrize("size", [None, 0, -1])
def test_everything_as_one_batch(ds, size):
    assert ds.map(lambda b: {"n": [len(b["a"])] * len(b["a"])}, batched=True, batch_size=size)["n"] == [
        3,
        3,
        3,
    ]


def test_batches_may_change_the_number_of_rows(ds):
    made = ds.map(lambda b: {"a": b["a"] * 2}, batched=True, remove_columns=["s"])
    assert made["a"] == [1, 2, 3, 1, 2, 3]
    assert made.column_names == ["a"]
    assert ds.map(lambda b: {"n": [len(b["a"])]}, batched=True, batch_size=2, remove_columns=["a", "s"])[
        "n"
    ] == [2, 1]
    assert len(ds.map(lambda b: {"a": []}, batched=True, remove_columns=["a", "s"])) == 0
    assert ds.map(
        lambda b: {"n": [1] * len(b["a"])}, batched=True, batch_size=2, drop_last_batch=True
    ).to_dict() == {"a": [1, 2], "s": ["x", "y"], "n": [1, 1]}


@pytest.mark.parametrize(
    ("function", "options", "words"),
    [
        (lambda b: {"a": b["a"] * 2}, {"batched": True}, "6 values.*3 rows.*remove_columns"),
        (lambda b: {"p": [1], "q": [1, 2]}, {"batched": True}, "different lengths"),
        (lambda b: {"p": 1}, {"batched": True}, "list or array"),
        (lambda b: {"p": "abc"}, {"batched": True}, "list or array"),
        (lambda b: 3, {"batched": True}, "not a dict of columns"),
        (lambda row: 3, {}, "not a dict"),
        (lambda row: [1], {}, "not a dict"),
        (lambda row: {1: 2}, {}, "column names are strings"),
        (lambda row: None if row["a"] == 2 else {"b": 1}, {}, r"None.*row 1"),
        (lambda row: {"b": 1} if row["a"] == 3 else None, {}, r"dict.*row 2"),
        (lambda row: {"b": 1 if row["a"] == 1 else "x"}, {"on_mixed_types": None}, 'column "b"'),
    ],
)
def test_answers_that_can_not_become_rows(ds, function, options, words):
    with pytest.raises(TransformOutputError, match=words) as caught:
        ds.map(function, **options)
    assert isinstance(caught.value, ValueError)
    assert "<lambda>" in str(caught.value)


def test_values_without_a_common_type_become_json(ds):
    values = {1: 1, 2: "x", 3: {"k": [None, 2**70]}}
    made = ds.map(lambda row: {"b": values[row["a"]], "c": [values[row["a"]]]})
    assert made.features["b"] == Json()
    assert made.features["c"] == List(Json())
    assert made["b"] == list(values.values())
    assert made.map(lambda row: row)["c"] == [[value] for value in values.values()]
    workers = ds.map(lambda row: {"b": values[row["a"]]}, num_proc=2)
    assert workers["b"] == list(values.values())


@pytest.mark.parametrize("num_proc", [None, 2])
def test_values_that_are_all_empty_dicts_become_json(ds, num_proc, tmp_path):
    nested = {"m": [{}], "n": 1}
    made = ds.map(
        lambda row: {"b": {}, "c": [{}], "d": nested, "e": None if row["a"] == 1 else {}}, num_proc=num_proc
    )
    assert made.features == {
        **ds.features,
        "b": Json(),
        "c": List(Json()),
        "d": {"m": List(Json()), "n": Value("int64")},
        "e": Json(),
    }
    nothing: list[Any] = [None, {}, {}]
    rows: Any = [{"b": {}, "c": [{}], "d": nested, "e": e} for e in nothing]
    assert made.remove_columns(ds.column_names).to_list() == rows
    made.to_parquet(tmp_path / "a.parquet")
    assert (
        Dataset.from_parquet(str(tmp_path / "a.parquet"), cache_dir=str(tmp_path)).features == made.features
    )
    # What another row, of another worker too, has fields of is a struct.
    fields = ds.map(lambda row: {"b": {} if row["a"] < 3 else {"k": row["a"]}}, num_proc=num_proc)
    assert fields["b"] == [{"k": None}, {"k": None}, {"k": 3}]


def test_structs_without_fields_stay_where_they_are_known_or_asked_for(ds):
    known = Dataset.from_dict({"a": [{}, {}]})
    assert known.map(lambda row: {"a": row["a"], "b": row["a"]}).features == {"a": {}, "b": Json()}
    wanted = Features({**ds.features, "b": {}})
    assert ds.map(lambda row: {"b": {}}, features=wanted).features == wanted
    assert ds.map(lambda row: {"b": {}}, on_mixed_types=None).features == wanted


def test_none_and_dicts_of_different_workers(ds):
    with pytest.raises(TransformOutputError, match=r"None for row 0"):
        ds.map(lambda row: None if row["a"] < 3 else {"b": 1}, num_proc=2)


def test_a_failing_function_is_named_with_its_row(ds):
    def fails(row):
        return {"b": 1 / (row["a"] - 2)}

    with pytest.raises(
        TransformError, match=r"fails failed on row 1: ZeroDivisionError: division by zero"
    ) as caught:
        ds.map(fails)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(TransformError, match=r"fails failed on row 1.*\n\nIn the worker") as caught:
        ds.map(fails, num_proc=2)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    # A script that catches its function's own exception goes on working.
    for num_proc in (None, 2):
        with pytest.raises(ZeroDivisionError, match="row 1"):
            ds.map(fails, num_proc=num_proc)
    with pytest.raises(TransformError, match="rows 0 to 1"):
        ds.map(lambda batch: batch["zz"], batched=True, batch_size=2)


@pytest.mark.parametrize("raised", [SystemExit(4), KeyboardInterrupt(), GeneratorExit("no")], ids=repr)
@pytest.mark.parametrize("batched", [False, True])
def test_what_is_no_error_is_told_with_function_row_and_line(raised, batched):
    def ends(row):
        if row["a"] in (4, [4, 5]):
            raise raised
        return {"b": 1} if not batched else {"b": [1] * len(row["a"])}

    numbers = Dataset.from_dict({"a": list(range(8))})
    which = "rows 4 to 5" if batched else "row 4"
    line = ends.__code__.co_firstlineno + 2
    text = f"{type(raised).__name__}: {raised}".removesuffix(": ")
    with pytest.raises(TransformError) as caught:
        numbers.map(ends, batched=batched, batch_size=2, num_proc=2)
    told = str(caught.value).partition("\n\n")[0]
    where = f"(raised in {__file__}, line {line})"
    assert re.match(rf"{re.escape(f'{text} {where}. This ended the function ')}.*ends on {which}\.", told), (
        told
    )
    # Here, it ends what called it, as ever.
    with pytest.raises(type(raised)) as ended:
        numbers.map(ends, batched=batched, batch_size=2)
    assert ended.value is raised


def test_functions_that_return_nothing_change_nothing(ds):
    seen = []
    made = ds.map(lambda row: seen.append(row["a"]))
    assert seen == [1, 2, 3]
    assert made is not ds
    assert made.to_dict() == ds.to_dict()


def test_types_are_kept_where_values_fit():
    features = Features(
        {"i": Value("int8"), "f": Value("float32"), "y": ClassLabel(names=["n", "p"]), "s": Value("string")}
    )
    ds = Dataset.from_dict({"i": [1], "f": [1.5], "y": [0], "s": ["t"]}, features=features)
    assert ds.map(lambda row: {"i": 2, "f": 0.5, "y": 1, "s": None}).features == features
    assert ds.map(lambda row: {"y": "p"})[0]["y"] == 1
    assert ds.map(lambda row: {"i": 300}).features["i"] == Value("int64")
    assert ds.map(lambda row: {"i": 1.5})[0]["i"] == 1.5
    assert ds.map(lambda row: {"i": [1.5]})[0]["i"] == [1.5]
    assert ds.map(lambda row: {"s": b"t"})[0]["s"] == b"t"
    assert ds.map(lambda row: {"i": 2}, try_original_type=False).features["i"] == Value("int64")
    assert ds.map(lambda row: {"y": "other"})[0]["y"] == "other"


@pytest.mark.parametrize("num_proc", [None, 2])
def test_what_is_no_class_of_its_column_is_refused(num_proc):
    label = ClassLabel(names=["n", "p"])
    features = Features({"y": label, "l": List(label), "s": {"k": label}})
    ds = Dataset.from_dict({"y": [0, 1], "l": [[0], [1]], "s": [{"k": 0}, {"k": 1}]}, features=features)
    for name, made, where in [
        ("y", lambda row: {"y": row["y"] * 7}, "y"),
        ("l", lambda row: {"l": [0, row["y"] * 7]}, r"l\[\]"),
        ("s", lambda row: {"s": {"k": row["y"] * 7}}, r"s\.k"),
    ]:
        with pytest.raises(
            TransformOutputError, match=f'row 1, column "{where}": the label 7 is out of range'
        ):
            ds.map(made, num_proc=num_proc)
        with pytest.raises(TransformOutputError, match="features="):
            ds.map(
                lambda rows, name=name, made=made: {name: [made({"y": y})[name] for y in rows["y"]]},
                batched=True,
            )
    flipped = ds.map(lambda row: {"y": 1 - row["y"], "l": [-1], "s": None}, num_proc=num_proc)
    assert flipped.features == features
    assert flipped.to_list() == [{"y": 1, "l": [-1], "s": None}, {"y": 0, "l": [-1], "s": None}]
    numbers = ds.select_columns("y").map(
        lambda row: {"y": row["y"] * 7}, features=Features({"y": Value("int64")})
    )
    assert numbers["y"][:] == [0, 7]


def test_types_widen_over_all_batches():
    ds = Dataset.from_dict({"a": list(range(3000))})

    def answer(row):
        a = row["a"]
        return {
            "n": None if a < 2000 else "text",
            "f": a if a < 2000 else a + 0.5,
            "l": [] if a < 2000 else [{"k": a}],
            "d": {"x": a} if a < 2000 else {"y": "z"},
        }

    for num_proc in (None, 2):
        made = ds.map(answer, num_proc=num_proc)
        assert made[0] == {"a": 0, "n": None, "f": 0.0, "l": [], "d": {"x": 0, "y": None}}
        assert made[2999] == {
            "a": 2999, "n": "text", "f": 2999.5, "l": [{"k": 2999}], "d": {"x": None, "y": "z"},
        }  # fmt: skip


def test_rows_that_answer_for_different_columns(ds):
    def answer(row):
        return {"s": "changed"} if row["a"] == 2 else ({"b": 1} if row["a"] == 3 else {})

    assert ds.map(answer).to_dict() == {"a": [1, 2, 3], "s": ["x", "changed", None], "b": [None, None, 1]}
    many = Dataset.from_dict({"a": list(range(5000)), "s": ["old"] * 5000})
    for num_proc in (None, 2):
        made = many.map(lambda row: {"s": "new"} if row["a"] == 4321 else {}, num_proc=num_proc)
        assert [i for i, s in enumerate(made["s"]) if s != "old"] == [4321]


def test_the_features_asked_for():
    ds = Dataset.from_dict({"a": [1, 2], "s": ["x", "y"]})
    features = Features({"s": Value("large_string"), "a": Value("int8"), "b": List(Value("int16"))})
    made = ds.map(lambda row: {"b": [row["a"]]}, features=features)
    assert made.features == features
    assert made.column_names == ["s", "a", "b"]
    assert made[1] == {"s": "y", "a": 2, "b": [2]}
    with pytest.raises(InvalidArgumentError, match=r"must name all columns .* one side only: b, c\."):
        ds.map(lambda row: {"c": 1}, features=features)


def test_values_of_other_libraries(ds):
    made = ds.map(lambda row: {"n": np.float32(0.5), "v": np.arange(2), "m": np.ones((1, 2))})
    assert made[0] == {"a": 1, "s": "x", "n": 0.5, "v": [0, 1], "m": [[1.0, 1.0]]}
    made = ds.map(
        lambda b: {"n": np.array(b["a"]) * 0.5, "p": pa.array(b["a"]), "q": pd.Series(b["a"])}, batched=True
    )
    assert made[2] == {"a": 3, "s": None, "n": 1.5, "p": 3, "q": 3}


def test_tables_in_and_out(ds):
    arrow = ds.with_format("arrow").map(lambda t: t.append_column("b", t["a"]), batched=True)
    arrow.reset_format()
    assert arrow[2] == {"a": 3, "s": None, "b": 3}
    pandas = ds.with_format("pandas").map(lambda f: f[["a"]] * 2, batched=True)
    pandas.reset_format()
    assert pandas.to_dict() == {"a": [2, 4, 6]}


def test_only_what_changed_is_written(stored, tmp_path):
    big = stored.map(lambda row: {"big": "x" * 10_000})
    size = sum(f.stat().st_size for f in (tmp_path / "prepared").iterdir())
    made = big.map(lambda row: {"n": len(row["big"])}).rename_column("n", "m").remove_columns("a")
    grown = sum(f.stat().st_size for f in (tmp_path / "prepared").iterdir()) - size
    assert grown < 5000
    assert made[3] == {"s": "t3", "big": "x" * 10_000, "m": 10_000}
    assert len(made.cache_files) == 3
    assert pickle.loads(pickle.dumps(made))[3] == made[3]
    assert len(pickle.dumps(made)) < 5000


def test_results_are_found_again_whatever_the_number_of_workers(stored, tmp_path):
    log = tmp_path / "log"
    work = counter(log)
    assert stored.map(work, num_proc=2)["b"][:] == list(range(1, 21))
    assert calls(log) == 20
    found = [stored.map(work, num_proc=num_proc) for num_proc in (None, 3, 1)]
    assert all(again["b"] == list(range(1, 21)) for again in found)
    assert calls(log) == 20
    assert len({again._fingerprint for again in found}) == 1
    assert stored.map(work, load_from_cache_file=False)["b"][3] == 4
    assert calls(log) == 40
    disable_caching()
    try:
        assert stored.map(work)["b"][3] == 4
        assert calls(log) == 60
    finally:
        enable_caching()
    assert stored.filter(lambda row: row["a"] % 2).map(work)["b"][:] == list(range(2, 21, 2))
    assert calls(log) == 70


def test_a_file_of_the_users_choice(stored, tmp_path):
    log, target = tmp_path / "log", tmp_path / "mine" / "out.arrow"
    work = counter(log)
    for _ in range(2):
        made = stored.map(work, cache_file_name=str(target))
        assert made["b"][19] == 20
    assert calls(log) == 20
    assert [p.name for p in target.parent.iterdir()] == ["out.arrow"]


def test_a_damaged_result_is_computed_again(stored, tmp_path):
    log = tmp_path / "log"
    work = counter(log)
    made = stored.map(work)
    file = Path(made.cache_files[-1]["filename"])
    del made
    with file.open("r+b") as handle:
        handle.truncate(40)
    assert stored.map(work)["b"][5] == 6
    assert calls(log) == 40


def test_a_worker_that_is_killed_and_the_run_after_it(stored, tmp_path):
    log, mark = tmp_path / "log", tmp_path / "mark"

    def work(row):
        with log.open("a") as file:
            file.write("x")
        if row["a"] == 19 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return {"b": row["a"]}

    with pytest.raises(WorkerDiedError, match=r"rows \d+ to 19.*SIGKILL"):
        stored.map(work, num_proc=2)
    before = calls(log)
    assert stored.map(work, num_proc=3)["b"][:] == list(range(20))
    assert calls(log) - before < 20


def test_killed_in_the_middle_nothing_half_written_is_found(tmp_path):
    script = textwrap.dedent(
        """
        import os, sys
        from gristmill.dataset import Dataset
        ds = Dataset.from_file(sys.argv[1])
        def work(row):
            if row["a"] == 15 and sys.argv[2] == "die":
                os.kill(os.getpid(), 9)
            return {"b": row["a"] * 2}
        print(ds.map(work)["b"][:])
        """
    )
    path = tmp_path / "p" / "data.arrow"
    write_arrow(path, pa.table({"a": range(20)}))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    def run(how):
        command = [sys.executable, "-c", script, str(path), how]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    assert run("die").returncode == -9
    assert run("live").stdout.strip() == str([2 * i for i in range(20)])


@pytest.mark.parametrize("bad", [{"remove_columns": ["zz"]}, {"input_columns": "zz"}])
def test_columns_that_do_not_exist(ds, bad):
    with pytest.raises(ColumnNotFoundError, match="zz"):
        ds.map(lambda row: row, **bad)


def test_empty_datasets(ds):
    empty = ds.select([])
    made = empty.map(lambda row: {"b": 1 / 0}, remove_columns="s")
    assert made.column_names == ["a"]
    assert made is not empty
    assert len(empty.filter(lambda row: 1 / 0)) == 0
    assert empty[:] == {"a": [], "s": []}
    assert list(empty) == []
    assert empty.map(lambda row: row, num_proc=4).num_rows == 0


def test_origins_follow_the_rows():
    origins = Origins.concat([Origins.single("o/n", "c", "a.csv", 3), Origins.single("o/n", "c", "b.csv", 2)])
    ds = Dataset._from_parts(pa.table({"a": range(5)}), origins=origins)

    def places(dataset):
        return [(o["file"], o["row_index"]) for o in dataset.origins().to_pylist()]

    assert places(ds) == [("a.csv", 0), ("a.csv", 1), ("a.csv", 2), ("b.csv", 0), ("b.csv", 1)]
    made = (
        ds.shuffle(seed=1)
        .filter(lambda row: row["a"] != 2)
        .map(lambda row: {"b": row["a"]})
        .rename_column("a", "c")
    )
    assert places(made) == [("a.csv", b) if b < 3 else ("b.csv", b - 3) for b in made["b"]]
    assert places(pickle.loads(pickle.dumps(made))) == places(made)
    doubled = ds.map(lambda b: {"a": b["a"] * 2}, batched=True)
    assert places(doubled) == [(None, None)] * 10


def test_filter(ds):
    assert ds.filter(lambda row: row["a"] > 1)["a"] == [2, 3]
    assert ds.filter(lambda b: [True, False, True], batched=True)["a"] == [1, 3]
    assert ds.filter(lambda b: np.array(b["a"]) > 2, batched=True)["a"] == [3]
    assert ds.filter(lambda b: pa.array([True, None, False]), batched=True)["a"] == [1]
    assert ds.filter(lambda a: a < 2, input_columns="a", num_proc=2)["a"] == [1]
    assert ds.filter(None).num_rows == 3
    assert ds.filter(lambda row, i: i == 1, with_indices=True)["a"] == [2]
    with pytest.raises(TransformOutputError, match="2 answers for the 3 rows"):
        ds.filter(lambda b: [True, False], batched=True)
    with pytest.raises(TransformOutputError, match="list"):
        ds.filter(lambda b: True, batched=True)
    with pytest.raises(TransformError, match="row 0"):
        ds.filter(lambda row: row["zz"])


def test_changed_columns_keep_their_type_at_any_nesting():
    features = Features({
        "a": List({"x": Value("int32"), "y": Value("string")}), "b": Value("bool"), "c": {"t": Value("large_string")},
    })  # fmt: skip
    ds = Dataset.from_dict({"a": [[{"x": 1, "y": "s"}]], "b": [True], "c": [{"t": "v"}]}, features=features)
    same = ds.map(lambda row: {"a": [{"x": 2, "y": None}], "c": {"t": "w"}})
    assert same.features == features
    assert same[0] == {"a": [{"x": 2, "y": None}], "b": True, "c": {"t": "w"}}
    wider = ds.map(lambda row: {"a": [{"x": 2**40, "y": "s"}], "b": 2})
    assert wider[0] == {"a": [{"x": 2**40, "y": "s"}], "b": 2, "c": {"t": "v"}}
    assert wider.features["b"] == Value("int64")


@pytest.mark.parametrize(
    ("dtype", "before", "after", "expected"),
    [
        ("date32", dt.date(2000, 1, 1), dt.datetime(2000, 1, 1, 5), "timestamp[us]"),  # noqa: DTZ001
        ("date32", dt.date(2000, 1, 1), dt.date(2000, 1, 2), "date32"),
        ("date32", dt.date(2000, 1, 1), 5, "int64"),
        ("time32[s]", dt.time(1), dt.time(1, 2, 3, 4), "time64[us]"),
        ("time32[s]", dt.time(1), dt.time(1, 2, 3), "time32[s]"),
        ("timestamp[s]", dt.datetime(2000, 1, 1), dt.datetime(2000, 1, 1, 0, 0, 0, 5), "timestamp[us]"),  # noqa: DTZ001
        ("timestamp[s]", dt.datetime(2000, 1, 1), dt.datetime(2000, 1, 1, 5), "timestamp[s]"),  # noqa: DTZ001
        ("timestamp[us]", dt.datetime(2000, 1, 1), dt.datetime(2000, 1, 1, tzinfo=dt.timezone.utc), "timestamp[us, tz=UTC]"),  # noqa: DTZ001
        ("timestamp[us]", dt.datetime(2000, 1, 1), 5, "int64"),  # noqa: DTZ001
        ("timestamp[us, tz=UTC]", dt.datetime(2000, 1, 1), dt.datetime(2000, 1, 1), "timestamp[us]"),  # noqa: DTZ001
        ("duration[s]", dt.timedelta(1), dt.timedelta(microseconds=5), "duration[us]"),
        ("duration[s]", dt.timedelta(1), 5, "int64"),
        ("decimal128(5, 2)", Decimal("1.25"), Decimal("1.5"), "decimal128(5, 2)"),
        ("decimal128(5, 2)", Decimal("1.25"), 2, "decimal128(5, 2)"),
        ("decimal128(5, 2)", Decimal("1.25"), Decimal("1.255"), "decimal128(4, 3)"),
        ("string_view", "a", b"\xff", "binary"),
        ("string_view", "a", "b", "string_view"),
        ("fixed_size_binary[1]", b"a", "b", "string"),
        ("float32", 1.5, 1e300, "float64"),
        ("float32", 1.5, float("inf"), "float32"),
    ],
)  # fmt: skip
def test_the_type_before_never_changes_what_was_returned(dtype, before, after, expected):
    for wrap, feature in ((lambda value: value, Value(dtype)), (lambda value: [value], List(Value(dtype)))):
        ds = Dataset.from_dict({"a": [wrap(before)]}, features=Features({"a": feature}))
        changed = ds.map(lambda row: {"a": wrap(after)})  # noqa: B023
        assert changed["a"][:] == [wrap(after)]
        found = changed.features["a"]
        assert found == (Value(expected) if isinstance(feature, Value) else List(Value(expected)))


def _raise_stop(row):
    if row["a"] == 2:
        next(iter([]))
    return {"b": row["a"]}


def test_a_stop_iteration_of_the_function_loses_no_rows():
    ds = Dataset.from_dict({"a": [0, 1, 2, 3]})
    for run in (
        lambda: ds.map(_raise_stop, remove_columns="a"),
        lambda: ds.filter(_raise_stop),
        lambda: list(ds.to_iterable_dataset().map(_raise_stop)),
    ):
        with pytest.raises(TransformError, match="row 2: StopIteration"):
            run()
    with pytest.raises(TransformError, match="row 2"):
        ds.select([0, 1, 2]).map(_raise_stop, remove_columns="a")


def test_errors_without_a_text_are_named_by_their_class():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    def fail(row):
        raise Mute

    with pytest.raises(TransformError, match="row 0: Mute"):
        Dataset.from_dict({"a": [1]}).map(fail)


@pytest.mark.parametrize("odd", [3, [1], "x", pd.DataFrame({"b": [1]}), pa.table({"b": [1]})])
def test_the_row_with_the_odd_answer_is_named(odd):
    ds = Dataset.from_dict({"a": list(range(5))})
    with pytest.raises(TransformOutputError, match=r"not a dict or None \(row 3\)"):
        ds.map(lambda row: odd if row["a"] == 3 else {"b": 1})


def test_an_array_without_dimensions_is_no_column():
    with pytest.raises(TransformOutputError, match=r'column "a".*row 0'):
        Dataset.from_dict({"a": [1]}).map(lambda batch: {"a": np.array(1)}, batched=True)


async def _later():
    return True


@pytest.mark.parametrize(
    "odd", [np.ones(2), pd.DataFrame({"b": [1]}), "later"], ids=["array", "frame", "await"]
)
def test_answers_of_a_filter_that_are_neither_true_nor_false(odd):
    ds = Dataset.from_dict({"a": list(range(5))})
    with pytest.raises(TransformOutputError, match=r"for row 3, which is neither true nor false"):
        ds.filter(lambda row: (_later() if isinstance(odd, str) else odd) if row["a"] == 3 else True)


@pytest.mark.parametrize(
    "mask",
    [
        lambda rows: np.ones((rows, 2), bool),
        lambda rows: np.array(True),
        lambda rows: pd.DataFrame({"b": [True] * rows}),
        lambda rows: pa.table({"b": [True] * rows}),
        lambda rows: [np.ones(2)] * rows,
    ],
)
def test_masks_of_another_shape(mask):
    ds = Dataset.from_dict({"a": list(range(5))})
    with pytest.raises(TransformOutputError):
        ds.filter(lambda batch: mask(len(batch["a"])), batched=True)
    assert ds.filter(lambda batch: np.arange(5).reshape(5, 1) % 2, batched=True)["a"][:] == [1, 3]


def test_a_named_file_with_the_rows_of_another_result_is_not_used(tmp_path):
    ds = Dataset.from_dict({"a": list(range(5))})
    file = str(tmp_path / "c.arrow")
    ds.map(lambda row: {"b": row["a"]}, cache_file_name=file)
    with pytest.raises(InvalidArgumentError, match=r"c\.arrow is there already and holds 5 rows"):
        ds.select(range(2)).map(lambda row: {"b": row["a"]}, cache_file_name=file)
    again = ds.select(range(2)).map(
        lambda row: {"b": -row["a"]}, cache_file_name=file, load_from_cache_file=False
    )
    assert again["b"][:] == [0, -1]


def _unchanged(row):
    return {"b": row["a"]}


def test_a_folder_where_a_cached_piece_should_be(tmp_path):
    Dataset.from_dict({"a": [1, 2]}).save_to_disk(tmp_path / "s")
    ds = Dataset.load_from_disk(tmp_path / "s")
    piece = Path(ds.map(_unchanged).cache_files[-1]["filename"])
    piece.unlink()
    piece.mkdir()
    with pytest.raises(FileError, match=piece.name):
        ds.map(_unchanged)
    with pytest.raises(FileError, match="xxx"):
        ds.map(_unchanged, cache_file_name=str(tmp_path / ("x" * 300)))


def test_a_misspelled_column_is_named_with_those_there_are():
    ds = Dataset.from_dict({"text": ["a"], "label": [1]})
    misspelled = r'row 0: There is no column "txt"\. Did you mean "text"\? There are: label, text\.'
    with pytest.raises(KeyError, match=misspelled) as caught:
        ds.map(lambda row: {"size": len(row["txt"])})
    cause = caught.value.__cause__
    assert cause is not None
    assert cause.__context__ is None
    with pytest.raises(KeyError, match=misspelled):
        ds.map(lambda rows: {"size": rows["txt"]}, batched=True)
    with pytest.raises(KeyError, match="row 0: KeyError: 'a'"):  # a dict of the function's own
        ds.map(lambda row: {"size": {}[row["text"]]})


def test_columns_keep_their_places_whatever_the_number_of_rows():
    ds = Dataset.from_dict({"a": [1, 2], "b": ["x", "y"]})
    more = ds.map(lambda batch: {"c": [0] * 3, "b": ["q"] * 3, "a": [1, 2, 3]}, batched=True)
    same = ds.map(lambda batch: {"c": [0] * 2, "b": ["q"] * 2, "a": [1, 2]}, batched=True)
    assert more.column_names == same.column_names == ["a", "b", "c"]
    assert more[2] == {"a": 3, "b": "q", "c": 0}


def test_answers_that_are_no_dicts_are_type_errors_too():
    with pytest.raises(TypeError, match="returned 5, not a dict"):
        Dataset.from_dict({"a": [1]}).map(lambda row: 5)
