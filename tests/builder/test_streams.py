"""Builders read as streams."""

import pickle

import pyarrow as pa
import pytest

from gristmill import ArrowBasedBuilder, DatasetInfo, IterableDataset, IterableDatasetDict, SplitGenerator
from gristmill.errors import DatasetGenerationError, ManualDownloadError, SplitNotFoundError
from tests.builder.own import Any, Poems, Tables, builder_of
from tests.iterable.proving import prove_resume, prove_sharding

LINES = ["one", "two", "three", "four", "five", "six"]


def test_the_rows_are_those_that_are_prepared(poems):
    made = Poems(base_path=poems)
    streams = made.as_streaming_dataset()
    assert isinstance(streams, IterableDatasetDict)
    assert isinstance(streams["train"], IterableDataset)
    assert [row["line"] for row in streams["train"]] == LINES
    assert streams["train"].features == made.info.features
    assert streams["train"].num_shards == 3
    made.download_and_prepare()
    for split in ("train", "test"):
        assert list(streams[split]) == list(made.as_dataset(split))


def test_tables():
    made = Tables()
    stream = made.as_streaming_dataset("train")
    made.download_and_prepare()
    assert list(stream) == list(made.as_dataset("train"))
    assert stream.num_shards == 6
    assert [row["n"] for row in pickle.loads(pickle.dumps(stream))] == [n for n in range(6) for _ in range(2)]


class Batches(ArrowBasedBuilder):
    def _info(self):
        return DatasetInfo()

    def _split_generators(self, dl_manager):
        assert dl_manager.is_streaming
        return [SplitGenerator("train", {"starts": [0, 10]})]

    def _generate_tables(self, starts):
        for start in starts:
            for n in range(start, start + 3):
                yield n, pa.RecordBatch.from_pydict({"n": pa.array([n, n + 100], pa.int16())})


def test_tables_resume_and_share_rows_like_every_node():
    prove_resume(lambda: Batches().as_streaming_dataset("train"))
    prove_sharding(lambda: Batches().as_streaming_dataset("train"))


@pytest.mark.parametrize("taken", [0, 1, 3, 6, 9, 12])
def test_it_resumes_where_it_was(taken):
    stream = Batches().as_streaming_dataset("train")
    whole = list(stream)
    assert [row["n"] for row in whole[:4]] == [0, 100, 1, 101]
    rows = iter(stream)
    first = [next(rows) for _ in range(taken)]
    state = stream.state_dict()
    again = Batches().as_streaming_dataset("train")
    again.load_state_dict(state)
    assert first + list(again) == whole


def test_shapes_and_what_is_not_there(poems):
    made = Poems(base_path=poems)
    train, test = made.as_streaming_dataset(["train", "test"])
    assert (len(list(train)), len(list(test))) == (6, 2)
    with pytest.raises(SplitNotFoundError, match="dev"):
        made.as_streaming_dataset("dev")


def test_columns_that_the_features_do_not_name_are_left_out(poems):
    from gristmill import Features, Value

    made = builder_of([{"a": 1, "b": 2}], Features({"a": Value("int64")}))()
    assert list(made.as_streaming_dataset("train")) == [{"a": 1}]


def test_what_the_code_raises():
    with pytest.raises(DatasetGenerationError, match="ZeroDivisionError"):
        list(builder_of([{"a": 1}, ZeroDivisionError()])().as_streaming_dataset("train"))

    class Manual(Any):
        manual_download_instructions = "Ask."

    with pytest.raises(ManualDownloadError):
        Manual().as_streaming_dataset()
