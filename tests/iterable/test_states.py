"""States go back to where they came from, and nowhere else: other workers, machines, streams, damaged ones."""

import json
import sys
from types import ModuleType, SimpleNamespace

import pytest

from gristmill import IterableDataset, concatenate_datasets, interleave_datasets
from gristmill.dataset import Dataset
from gristmill.distributed import split_dataset_by_node
from gristmill.errors import InvalidArgumentError


def rows(shards=4):
    return Dataset.from_dict({"a": list(range(20))}).to_iterable_dataset(shards)


def numbers(parts):
    for part in parts:
        for n in range(5):
            yield {"a": 10 * part + n}


STREAMS = {
    "rows": rows,
    "one shard": lambda: rows(1),
    "mapped": lambda: rows(3).map(lambda row: row),
    "shuffled": lambda: rows().shuffle(seed=1, buffer_size=5),
    "generated": lambda: IterableDataset.from_generator(numbers, gen_kwargs={"parts": [1, 2, 3, 4]}),
    "interleaved": lambda: interleave_datasets([rows(2), rows(4)]),
    "concatenated": lambda: concatenate_datasets([rows(2), rows(4)]),
}


@pytest.fixture
def worker(monkeypatch):
    """Stands in for a DataLoader: the function makes this process one of its workers, or none."""
    torch = ModuleType("torch.utils.data")
    info: list[object] = [None]
    vars(torch)["get_worker_info"] = lambda: info[0]
    monkeypatch.setitem(sys.modules, "torch.utils.data", torch)

    def become(count=None, index=0):
        info[0] = None if count is None else SimpleNamespace(num_workers=count, id=index)

    return become


def read(stream, count):
    reading = iter(stream)
    head = [next(reading)["a"] for _ in range(count)]
    return head, json.loads(json.dumps(stream.state_dict()))


@pytest.mark.parametrize("name", STREAMS)
def test_each_worker_goes_on_with_its_own_state(worker, name):
    for index in range(3):
        worker(3, index)
        whole = [row["a"] for row in STREAMS[name]()]
        head, state = read(STREAMS[name](), 3)
        again = STREAMS[name]()
        again.load_state_dict(state)
        assert head + [row["a"] for row in again] == whole


@pytest.mark.parametrize("name", STREAMS)
def test_another_number_of_workers_is_refused(worker, name):
    worker(2, 0)
    _, state = read(STREAMS[name](), 3)
    for other in ((2, 1), (3, 0), (4, 0), (1, 0), (40, 0), (None, 0)):
        worker(*other)
        with pytest.raises(InvalidArgumentError, match="the same number"):
            STREAMS[name]().load_state_dict(state)
    worker(None)
    _, state = read(STREAMS[name](), 3)
    worker(2, 0)
    with pytest.raises(InvalidArgumentError, match="the same number"):
        STREAMS[name]().load_state_dict(state)


@pytest.mark.parametrize("name", STREAMS)
def test_a_state_given_to_the_main_process_is_checked_in_the_worker(worker, name):
    stream = STREAMS[name]()
    _, state = read(stream, 3)
    stream.load_state_dict(state)
    worker(2, 1)
    with pytest.raises(InvalidArgumentError, match="the same number"):
        list(stream)


def test_a_state_in_which_nothing_was_read_is_for_any_number_of_workers(worker):
    stream = rows().shuffle(buffer_size=4)
    again = rows().shuffle(buffer_size=4)
    again.load_state_dict(json.loads(json.dumps(stream.state_dict())))
    found = []
    for index in range(6):
        worker(6, index)
        part = rows().shuffle(buffer_size=4)
        part.load_state_dict(again.state_dict())
        found += [row["a"] for row in part]
    assert sorted(found) == list(range(20))


@pytest.mark.parametrize(("rank", "world"), [(1, 2), (0, 4), (0, 3), (0, 1)])
def test_another_machine_is_refused(rank, world):
    _, state = read(split_dataset_by_node(rows(), 0, 2), 3)
    other = split_dataset_by_node(rows(), rank, world)
    with pytest.raises(InvalidArgumentError, match=r"the same numbers?"):
        other.load_state_dict(state)


def test_rows_that_lie_otherwise_are_refused():
    _, state = read(rows(), 7)
    for other in (
        rows(2),
        rows().shard(2, 0),
        rows(4).skip(1),
        Dataset.from_dict({"a": [1]}).to_iterable_dataset(),
    ):
        with pytest.raises(InvalidArgumentError, match="The state is that of another"):
            other.load_state_dict(state)


def damaged(state):
    yield {**state, "epoch": "x"}
    yield {**state, "epoch": -1}
    yield {**state, "epoch": True}
    yield {**state, "seeds": None}
    yield {**state, "seeds": [1, 2, 3]}
    yield {**state, "seeds": ["1"]}
    yield {**state, "version": 9}
    yield {name: value for name, value in state.items() if name != "part"}
    yield from ({}, None, 5, [])


def test_damaged_states_are_refused():
    stream = rows().shuffle(seed=1, buffer_size=3)
    _, state = read(stream, 5)
    for odd in damaged(state):
        with pytest.raises(InvalidArgumentError, match="state"):
            rows().shuffle(seed=1, buffer_size=3).load_state_dict(odd)
    places: list[object] = [5, "x", [], {}, {"at": {"shard": 0}, "skip": 1}, {"at": 3}]
    for place in places:
        again = rows().shuffle(seed=1, buffer_size=3)
        again.load_state_dict({**state, "at": place})
        with pytest.raises(InvalidArgumentError, match="The state is damaged"):
            list(again)


@pytest.mark.parametrize("epoch", [-1, 1.5, "x", None, True, 1 << 63])
def test_epochs_are_checked(epoch):
    with pytest.raises(InvalidArgumentError, match="epoch"):
        rows().set_epoch(epoch)
