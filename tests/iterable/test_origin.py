"""Errors of streams name the file, and the row counted in it, wherever rows were cut, chosen and mixed."""

import json
import re
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from gristmill import ClassLabel, Dataset, Features, IterableDataset, Value, load_dataset
from gristmill.combine import concatenate_datasets, interleave_datasets
from gristmill.errors import CastError, DataError, TransformError, TransformOutputError
from gristmill.iterable.limiting import stepped
from gristmill.iterable.origin import Run, grouped_origins, joined_origins, located
from gristmill.table.selection import as_vector

ROWS, BAD = 3000, 1321
FORMATS = ["csv", "json", "parquet", "arrow"]
INT = Value("int64")
BOTH = Features({"x": INT, "y": INT})


def write(path, format, texts):
    table = pa.table({"x": texts, "y": list(range(len(texts)))})
    if format == "csv":
        pc.write_csv(table, path)
    elif format == "json":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    elif format == "parquet":
        pq.write_table(table, path, row_group_size=1000)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=1000)


@pytest.fixture(params=FORMATS)
def stream(request, tmp_path):
    """Two files; row 1321 of the second is none of numbers."""
    for number in range(2):
        texts = [str(row) for row in range(ROWS)]
        texts[BAD] = "bad" if number else texts[BAD]
        write(tmp_path / f"{number}.data", request.param, texts)
    files = [str(tmp_path / f"{number}.data") for number in range(2)]
    return load_dataset(request.param, data_files=files, split="train", streaming=True)


def said_of(rows, kind=DataError):
    with pytest.raises(kind) as caught:
        list(rows)
    return str(caught.value)


HERE = r"1\.data, row 1321 \(row 4321 of the stream\), column \"x\": 'bad' "


def test_casts_name_file_and_row(stream):
    assert re.search(HERE + "does not fit", said_of(stream.cast(BOTH)))
    assert re.search(HERE + "does not fit", said_of(stream.cast_column("x", INT)))
    assert re.search(
        HERE + "is no name of the class", said_of(stream.cast_column("x", ClassLabel(num_classes=9000)))
    )
    renamed = stream.rename_column("x", "z").select_columns(["z"]).cast_column("z", INT)
    assert '1.data, row 1321 (row 4321 of the stream), column "z"' in said_of(renamed)


def fails(row):
    return {"x": int(row["x"])}


def test_maps_and_filters_name_file_and_row(stream):
    after = r"failed on row 4321: ValueError: .*\. Row 4321 is row 1321 of .*1\.data\."
    assert re.search(after, said_of(stream.map(fails), TransformError))
    assert re.search(after, said_of(stream.filter(fails), TransformError))
    batched = stream.map(lambda batch: {"x": list(map(int, batch["x"]))}, batched=True, batch_size=100)
    after = r"failed on rows 4300 to 4399: ValueError.*\. Row 4300 is row 1300 of .*1\.data\."
    assert re.search(after, said_of(batched, TransformError))
    odd = stream.map(lambda row: 5 if row["x"] == "bad" else row)
    assert re.search(
        r"\(row 4321\); .*\. Row 4321 is row 1321 of .*1\.data\.", said_of(odd, TransformOutputError)
    )
    short = stream.map(
        lambda batch: {"x": [1] if "bad" in batch["x"] else batch["x"]}, batched=True, batch_size=100
    )
    assert re.search(
        r"from row 4300 on.*Row 4300 is row 1300 of .*1\.data\.", said_of(short, TransformOutputError)
    )
    assert re.search(HERE, said_of(stream.map(dict, features=BOTH)))
    # Of a batch that became more rows, the batch is named.
    twice = stream.map(
        lambda batch: {"x": batch["x"] * 2, "y": batch["y"] * 2}, batched=True, batch_size=1000, features=BOTH
    )
    assert re.search(r"for the rows from row 1000 of .*1\.data on, row 321, column \"x\"", said_of(twice))


def test_the_file_is_the_same_however_rows_get_there(stream):
    file = re.compile(r"1\.data, row 1321(,| \(row \d+ of the stream\),) column \"x\": 'bad'")
    ways = [
        stream.skip(4000),
        stream.skip(4000).take(1000),
        stream.shuffle(3, buffer_size=500),
        stream.shard(2, 1),
        stream.filter(lambda row: row["y"] % 3 == 1),
        concatenate_datasets([stream.take(10), stream]),
        interleave_datasets([stream, stream.shuffle(1)]),
        stream.map(lambda row: {"n": 1}),
        stream.map(lambda batch: {"n": batch["y"]}, batched=True, batch_size=7),
        stream.reshard(),
    ]
    for way in ways:
        assert file.search(said_of(way.cast_column("x", INT)))
    share = IterableDataset(
        stepped(stream.cast_column("x", INT)._node, 4, 1)
    )  # as a loader's second worker of four
    assert file.search(said_of(share))


@pytest.mark.parametrize("given", [1, 2500, 3000])
def test_after_resuming(stream, given):
    cast = stream.cast(BOTH)
    rows = iter(cast)
    for _ in range(given):
        next(rows)
    again = stream.cast(BOTH)
    again.load_state_dict(cast.state_dict())
    assert re.search(HERE, said_of(again))


def test_rows_that_were_filtered_while_reading_are_not_counted(tmp_path):
    write(tmp_path / "a.parquet", "parquet", ["1", "2", "bad"])
    rows = load_dataset(
        "parquet",
        data_files=str(tmp_path / "a.parquet"),
        split="train",
        streaming=True,
        filters=[("y", ">", 0)],
    )
    said = said_of(rows.cast_column("x", INT))
    assert re.search(r'a\.parquet \(row 1 of the stream\), column "x"', said)


def test_rows_of_datasets_and_generators():
    texts = ["1"] * 2500 + ["bad"]
    dataset = Dataset.from_dict({"x": texts})
    assert said_of(dataset.to_iterable_dataset().cast_column("x", INT)).startswith('row 2500, column "x"')
    shares = dataset.to_iterable_dataset(num_shards=4).shard(2, 1).cast_column("x", INT)
    assert re.match(r'the dataset, row 2500 \(row \d+ of the stream\), column "x"', said_of(shares))

    def rows(texts):
        for text in texts:
            yield {"x": text}

    alone = IterableDataset.from_generator(rows, gen_kwargs={"texts": tuple(texts)})
    assert said_of(alone.cast_column("x", INT)).startswith('row 2500, column "x"')
    known = IterableDataset.from_generator(
        rows, gen_kwargs={"texts": tuple(texts)}, features=Features({"x": Value("string")})
    )
    assert said_of(known.cast_column("x", INT)).startswith('row 2500, column "x"')
    several = IterableDataset.from_generator(rows, gen_kwargs={"texts": ["1", "2", "x"]})
    said = said_of(several.skip(1).cast_column("x", INT))
    assert re.match(
        r'shard 2 of the generator .*rows, row 0 \(row 1 of the stream\), column "x": \'x\'', said
    )


def test_values_that_python_can_not_hold_are_named_with_their_file(tmp_path):
    table = pa.table({"t": pa.array([0] * 1500 + [2**62], pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1000)
    rows = load_dataset("parquet", data_files=str(tmp_path / "a.parquet"), split="train", streaming=True)
    for read in (
        rows,
        rows.map(lambda row: row),
    ):
        assert re.search(r'a\.parquet, row 1500, column "t"', said_of(read))


def test_origins():
    first: Any
    both: Any
    grouped: Any
    first, second = Run("a.csv", 10), Run("b.csv", 0)
    both = joined_origins([5, 3], [first, second])
    assert [both.at(row).source for row in (0, 4, 5, 7)] == ["a.csv", "a.csv", "b.csv", "b.csv"]
    assert [both.slice(2).slice(1).at(row).row for row in range(5)] == [13, 14, 0, 1, 2]
    assert both.take(as_vector(range(7, 3, -1))).slice(1).at(0).row == 1
    unknown: Any = joined_origins([5, 3], [None, second])
    assert unknown.at(2) is None
    assert joined_origins([5], [None]) is None
    grouped = grouped_origins([None, second], as_vector(range(2)), as_vector(range(1, 3)))
    assert (grouped.at(0), grouped.at(1).row) == (None, 2)
    error = CastError.at("too large", row=1, column="n")
    assert str(located(error, None, 20)) == 'row 21, column "n": too large.'
    assert located(error, None) is error
    assert str(located(CastError.at("wrong", column="n"), first)) == 'a.csv, column "n": wrong.'
    done = located(error, first)
    assert str(done) == 'a.csv, row 11, column "n": too large.'
    assert located(done, second, 5) is done
