"""Sources of libraries' own, and what libraries read of streams."""

import pytest

from gristmill import load_dataset
from gristmill.dataset import Dataset
from gristmill.features import Features, Value
from gristmill.iterable import IterableDataset
from gristmill.iterable.foreign import FormattingConfig, StepExamplesIterable, _BaseExamplesIterable
from tests.iterable.proving import prove_resume, prove_sharding, rows_of


class Files(_BaseExamplesIterable):
    features = Features({"n": Value("int32")})

    def __init__(self, files=("a", "bb", "ccc")):
        self.files = list(files)

    def __iter__(self):
        for file in self.files:
            for n, _ in enumerate(file):
                yield f"{file}-{n}", {"n": len(file) * 10 + n}

    @property
    def num_shards(self):
        return len(self.files)

    def shard_data_sources(self, num_shards, index, contiguous=True):
        return Files(self.files[index::num_shards])


def test_rows_of_libraries():
    assert rows_of(IterableDataset(Files())) == [{"n": n} for n in (10, 20, 21, 30, 31, 32)]
    prove_resume(lambda: IterableDataset(Files()).shuffle(seed=1, buffer_size=3))
    prove_sharding(lambda: IterableDataset(Files()))
    assert rows_of(IterableDataset(StepExamplesIterable(Files(), 2, 1))) == [{"n": n} for n in (20, 30, 32)]


def test_a_source_without_rows_names_itself():
    class Half(_BaseExamplesIterable):
        pass

    with pytest.raises(NotImplementedError, match=r"Half.*row 0.*__iter__"):
        rows_of(IterableDataset(Half()))


def test_what_libraries_read():
    stream = Dataset.from_dict({"a": range(4)}).to_iterable_dataset(num_shards=2)
    assert stream._formatting is None
    assert stream.with_format("np")._formatting == FormattingConfig("numpy")
    part = stream._ex_iterable.shard_data_sources(num_shards=2, index=1)
    assert rows_of(IterableDataset(part, formatting=FormattingConfig("numpy"))) == [{"a": 2}, {"a": 3}]


def test_the_plan_and_its_parts_can_be_gone_through(tmp_path):
    plan = Dataset.from_dict({"n": list(range(10))}).to_iterable_dataset(num_shards=4)._ex_iterable
    assert list(plan) == [(n, {"n": n}) for n in range(10)]
    parts = [plan.shard_data_sources(num_shards=2, index=index) for index in range(2)]
    assert [row["n"] for part in parts for _, row in part] == list(range(10))
    assert [part.num_shards for part in parts] == [2, 2]
    mapped = IterableDataset.from_generator(
        lambda files: ({"file": file} for file in files), gen_kwargs={"files": ["a"]}
    )
    assert mapped._ex_iterable.kwargs == {"files": ["a"]}
    assert mapped.map(lambda rows: rows, batched=True, batch_size=7)._ex_iterable.batch_size == 7  # type: ignore[attr-defined]
    assert [row for _, row in mapped.map(lambda row: {"n": 1})._ex_iterable] == [{"file": "a", "n": 1}]
    (tmp_path / "a.json").write_text('{"n": 1}')
    stream = load_dataset("json", data_files=str(tmp_path / "a.json"), split="train", streaming=True)
    assert stream._ex_iterable.kwargs == {"files": [str(tmp_path / "a.json")]}
    assert plan.kwargs == {}
