"""Functions and generators that hand over the same object again and again, filled anew for each row."""

import asyncio
from array import array
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
from gristmill.arrow_writer import ArrowWriter

from gristmill import Dataset, Features, GeneratorBasedBuilder, IterableDataset, List, Value
from gristmill.calling.owned import owned, owned_arrays

NUMBERS = [[n, n + 1] for n in range(2500)]
Pair = namedtuple("Pair", ["one", "two"])  # noqa: PYI024


def _array():
    held = np.zeros(2, np.int64)

    def fill(n):
        held[:] = [n, n + 1]
        return held

    return fill


def _view():
    fill = _array()
    return lambda n: fill(n)[:]


def _list():
    held = [0, 0]

    def fill(n):
        held[:] = [n, n + 1]
        return held

    return fill


def _tensor():
    torch = pytest.importorskip("torch")
    held = torch.zeros(2, dtype=torch.int64)

    def fill(n):
        held[0], held[1] = n, n + 1
        return held

    return fill


def _shared_tensor():
    torch = pytest.importorskip("torch")
    fill = _array()
    return lambda n: torch.from_numpy(fill(n))


def _two_in_turn():
    fills = [_list(), _list()]
    return lambda n: fills[n % 2](n)


BUFFERS = [_array, _view, _list, _tensor, _shared_tensor, _two_in_turn]


def _plain(values):
    return [[int(item) for item in value] for value in values]


@pytest.mark.parametrize("buffer", BUFFERS)
@pytest.mark.parametrize("kind", ["new dict", "same dict", "row", "later", "async", "input_columns"])
@pytest.mark.parametrize("stream", [False, True])
def test_map_over_rows_has_each_row_of_a_buffer(buffer, kind, stream):
    fill, same = buffer(), {}

    def answer(row):
        if kind == "row":
            row["m"] = fill(row["a"])
            return row
        if kind == "same dict":
            same["m"] = fill(row["a"])
            return same
        if kind == "later" and row["a"] < 2:
            return {"m": None}
        return {"m": fill(row["a"])}

    async def later(row):
        await asyncio.sleep(0)
        return answer(row)

    rows = Dataset.from_dict({"a": list(range(2500))})
    ds: Any = rows.to_iterable_dataset() if stream else rows
    if kind == "input_columns":
        made = ds.map(lambda a: {"m": fill(a)}, input_columns="a")
    else:
        made = ds.map(later if kind == "async" else answer)
    found = [row["m"] for row in made]
    missing = 2 if kind == "later" else 0
    assert found[:missing] == [None] * missing
    assert _plain(found[missing:]) == NUMBERS[missing:]


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_deep_inside_is_each_row_s_own(stream):
    inner, fill = {"l": [[0]]}, _array()

    def answer(row):
        inner["l"][0][0] = row["a"]
        return {"s": {"x": [inner, None]}, "arrays": [None, fill(row["a"])]}

    ds = Dataset.from_dict({"a": list(range(50))})
    rows = list((ds.to_iterable_dataset() if stream else ds).map(answer))
    assert [row["s"]["x"][0]["l"][0][0] for row in rows] == list(range(50))
    assert _plain(row["arrays"][1] for row in rows) == NUMBERS[:50]


@pytest.mark.parametrize("buffer", BUFFERS)
@pytest.mark.parametrize("as_item", [False, True])
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_batched_functions_may_fill_the_same_columns(buffer, as_item, same, stream):
    fill = buffer()
    held: dict[Any, Any] = {}

    def answer(batch):
        values = fill(batch["a"][0])
        given = held if same else {}
        given["m"] = [values, values] if as_item else values
        return given

    ds = Dataset.from_dict({"a": list(range(40))})
    if stream:
        made = list(ds.to_iterable_dataset().map(answer, batched=True, batch_size=2).batch(20))
        found = [value for batch in made for value in batch["m"]]
    else:
        found = ds.map(answer, batched=True, batch_size=2, keep_in_memory=True)["m"][:]
    if as_item:
        assert _plain(found) == [NUMBERS[n - n % 2] for n in range(40)]
    else:
        assert [int(value) for value in found] == list(range(40))


def test_a_batch_of_one_array_in_memory_is_its_own():
    fill = _array()
    ds = Dataset.from_dict({"a": list(range(40))})
    made = ds.map(lambda b: {"m": [fill(b["a"][0])]}, batched=True, batch_size=1, keep_in_memory=True)
    assert made["m"][:] == NUMBERS[:40]


FEATURES = Features({"m": List(Value("int64")), "s": {"x": Value("int64")}})


def _rows(buffer, rows=2500):
    fill, row, inner = buffer(), {}, {}
    for n in range(rows):
        inner["x"] = n
        row["m"], row["s"] = fill(n), inner
        yield row


@pytest.mark.parametrize("buffer", BUFFERS)
@pytest.mark.parametrize("features", [None, FEATURES])
@pytest.mark.parametrize("kind", ["file", "memory", "stream"])
def test_generators_may_fill_the_same_row(buffer, features, kind, tmp_path):
    given = {"features": features, "gen_kwargs": {"buffer": buffer}}
    ds: Any
    if kind == "stream":
        ds = IterableDataset.from_generator(_rows, **given)
    else:
        ds = Dataset.from_generator(_rows, keep_in_memory=kind == "memory", cache_dir=str(tmp_path), **given)
    rows = list(ds)
    assert _plain(row["m"] for row in rows) == NUMBERS
    assert [row["s"]["x"] for row in rows] == list(range(2500))


@pytest.mark.parametrize("buffer", BUFFERS)
@pytest.mark.parametrize("streaming", [False, True])
def test_builders_may_fill_the_same_example(buffer, streaming, tmp_path):
    from gristmill import DatasetInfo, SplitGenerator

    class Own(GeneratorBasedBuilder):
        def _info(self):
            return DatasetInfo(features=FEATURES)

        def _split_generators(self, dl_manager):
            return [SplitGenerator(name="train", gen_kwargs={})]

        def _generate_examples(self):
            yield from enumerate(_rows(buffer, 300))

    builder = Own(cache_dir=str(tmp_path))
    if streaming:
        ds = builder.as_streaming_dataset(split="train")
    else:
        builder.download_and_prepare()
        ds = builder.as_dataset(split="train")
    assert _plain(row["m"] for row in ds) == NUMBERS[:300]


def test_a_writer_may_be_given_the_same_row(tmp_path):
    path = tmp_path / "rows.arrow"
    with ArrowWriter(path=str(path)) as writer:
        for row in _rows(_list, 30):
            writer.write(row)
        writer.finalize()
    assert Dataset.from_file(str(path))["m"][:] == NUMBERS[:30]


def test_copies_are_of_the_same_type_and_value():
    fill = _array()
    nested = np.array([[1], "x"], object)
    values: list[Any] = [
        OrderedDict(a=[1]),
        Pair([1], 2),
        (1, [2]),
        array("i", [1]),
        bytearray(b"x"),
        {1, 2},
        [None] * 40 + [[1]],
        [*range(40), [1]],
    ]
    for value in values:
        mine = owned(value)
        assert (type(mine), mine) == (type(value), value)
        assert mine is not value
    assert owned(values[6])[-1] is not values[6][-1]
    assert owned(values[7])[-1] is not values[7][-1]
    assert owned(nested)[0] == [1]
    assert owned(nested)[0] is not nested[0]
    for value in ["x", b"x", 1, 1.5, None, (1, "x"), np.int8(1), range(3), object]:
        assert owned(value) is value
    lists = {"a": [1, 2], "b": fill(1)}
    assert owned_arrays(lists)["a"] is lists["a"]
    assert owned_arrays(lists)["b"] is not lists["b"]


@pytest.mark.parametrize("times", [1, 2])
def test_what_holds_itself_is_given_as_it_is(times):
    looped: list[Any] = []
    looped.extend([looped] * times)
    assert owned(looped) is looped
