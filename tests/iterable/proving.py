"""The two proofs that every node of a stream has to stand: it resumes exactly, and its parts are its rows, each once."""

import itertools
import json
from collections import Counter

import numpy as np

from gristmill.distributed import split_dataset_by_node
from gristmill.iterable.workers import part_of


def plain(value):
    """Gives a row in a form that can be compared: arrays as lists."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if hasattr(value, "to_pylist"):
        return plain(value.to_pylist())
    return value


def rows_of(stream, limit=None):
    return [plain(row) for row in itertools.islice(stream, limit)]


def state_after(stream, rows):
    """Reads some rows and gives the state then, as it comes back from a file; the reading ends."""
    reading = iter(stream)
    read = rows_of(reading, rows)
    state = json.loads(json.dumps(stream.state_dict()))
    reading.close()
    assert json.loads(json.dumps(stream.state_dict())) == state, (
        "the state changed when the reading was closed"
    )
    return read, state


def prove_resume(make, stops=None, limit=None):
    """Stops after each number of rows, goes on in a new stream, stops and goes on once more.

    Args:
        make: Makes the stream, always the same.
        stops: Numbers of rows to stop after; all if left out.
        limit: Look at this many rows only, of a stream without an end.
    """
    for epoch in (0, 2):

        def fresh(epoch=epoch):
            stream = make()
            stream.set_epoch(epoch)
            return stream

        whole = rows_of(fresh(), limit)
        assert rows_of(fresh(), limit) == whole, "the same calls gave other rows"
        everywhere = range(len(whole) + 1) if stops is None else stops
        for stop in everywhere if not epoch else sorted({0, len(whole) // 2, len(whole)}):
            head, state = state_after(fresh(), stop)
            assert len(json.dumps(state)) < 20_000
            second = make()  # the epoch is part of the state
            second.load_state_dict(state)
            middle, state = state_after(second, (len(whole) - stop) // 2)
            third = make()
            third.load_state_dict(state)
            rest = None if limit is None else len(whole) - len(head) - len(middle)
            assert head + middle + rows_of(third, rest) == whole, f"stopped after {stop} rows"
            if limit is None:
                assert rows_of(third) == whole, "the reading after a resumed one is a whole one"
        if limit is None:
            _, end = state_after(fresh(), len(whole) + 1)
            finished = make()
            finished.load_state_dict(end)
            assert rows_of(finished) == [], "resuming what was finished gave rows"
            finished.set_epoch(epoch + 1)
            after = make()
            after.set_epoch(epoch + 1)
            assert rows_of(finished) == rows_of(after), "the epoch after a finished one"


def keyed(rows):
    return Counter(json.dumps(row, sort_keys=True, default=repr) for row in rows)


def prove_sharding(make, by_row=lambda row: [row]):
    """Reads a stream with several machines and workers; together they have each row once.

    Args:
        make: Makes the stream.
        by_row: What of a row has to be there once, for streams whose rows hold several others.
    """
    for epoch in (0, 1):

        def parts(world, workers, epoch=epoch):
            for rank in range(world):
                stream = make()
                stream.set_epoch(epoch)
                node = split_dataset_by_node(stream, rank, world)
                for worker in range(workers):
                    part = node._derive(part_of(node._node, workers, worker))
                    yield from rows_of(part)

        whole = make()
        whole.set_epoch(epoch)
        wanted = keyed(inner for row in rows_of(whole) for inner in by_row(row))
        for world, workers in ((1, 2), (1, 3), (2, 1), (3, 2), (2, 4), (1, 40)):
            found = keyed(inner for row in parts(world, workers) for inner in by_row(row))
            assert found == wanted, f"{world} machines of {workers} workers: {make()._node.shape}"
        if make().num_shards > 1:
            count = make().num_shards
            shards = [make().shard(count, index) for index in range(count)]
            for shard in shards:
                shard.set_epoch(epoch)
            found = keyed(inner for shard in shards for row in rows_of(shard) for inner in by_row(row))
            assert found == wanted, "shard"
