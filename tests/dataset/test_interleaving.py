"""`interleave_datasets` and `concatenate_datasets`: what is checked, for datasets and streams alike."""

from itertools import islice
from typing import Any

import numpy as np
import pytest

from gristmill import (
    Dataset,
    DatasetDict,
    IterableDatasetDict,
    concatenate_datasets,
    interleave_datasets,
)
from gristmill.arguments import mixing_chances
from gristmill.errors import InvalidArgumentError

STRATEGIES = ("first_exhausted", "all_exhausted", "all_exhausted_without_replacement")


def _several(streams: bool, *lengths: int) -> list[Any]:
    made = [
        Dataset.from_dict({"x": list(range(100 * number, 100 * number + length))})
        for number, length in enumerate(lengths)
    ]
    return [one.to_iterable_dataset() for one in made] if streams else made


def _rows(mixed: Any) -> list[int]:
    return [row["x"] for row in islice(mixed, 5000)]


BAD: list[Any] = [
    [0.5],
    [0.5, 0.25, 0.25],
    [0.5, 0.6],
    [0.3, 0.3],
    [0, 0],
    [-0.5, 1.5],
    [float("nan"), 1],
    [float("inf"), 0],
    ["0.5", "0.5"],
    [None, 1],
    [1 + 0j, 0],
    0.5,
    "ab",
    {0.5: 1, 0.25: 2},
    {"a": 0.5, "b": 0.5},
    np.array([[0.5, 0.5]]),
    [0.5, 0.5001],
]


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("probabilities", BAD, ids=repr)
def test_probabilities_that_are_none_are_refused(probabilities: Any, streams: bool) -> None:
    with pytest.raises(InvalidArgumentError, match=r"probabilities"):
        interleave_datasets(_several(streams, 3, 2), probabilities=probabilities)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "probabilities", [(0.5, 0.5), np.array([0.2, 0.8]), [1, 0], [0.5, 0.5 + 1e-9], [True, False]]
)
def test_streams_and_datasets_draw_the_same(probabilities: Any, strategy: str) -> None:
    found = [
        _rows(interleave_datasets(_several(streams, 3, 2), probabilities, seed=4, stopping_strategy=strategy))
        for streams in (False, True)
    ]
    assert found[0] == found[1]
    assert found[0]


@pytest.mark.parametrize("streams", [False, True])
def test_a_chance_near_nothing_does_not_wait_for_ever(streams: bool) -> None:
    rare = [1e-300, 1]
    assert _rows(interleave_datasets(_several(streams, 3, 2), rare, seed=1)) == [100, 101]
    rest = interleave_datasets(
        _several(streams, 3, 2), rare, seed=1, stopping_strategy="all_exhausted_without_replacement"
    )
    assert _rows(rest) == [100, 101, 0, 1, 2]
    three = interleave_datasets(
        _several(streams, 3, 2, 2),
        [1e-200, 1e-200, 1],
        seed=1,
        stopping_strategy="all_exhausted_without_replacement",
    )
    assert sorted(_rows(three)) == [0, 1, 2, 100, 101, 200, 201]


def test_turns_that_would_fill_the_memory_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="dataset at 0 has 3 rows and the probability 1e-300"):
        interleave_datasets(_several(False, 3, 2), [1e-300, 1], seed=1, stopping_strategy="all_exhausted")


def test_a_stream_with_a_rare_part_resumes_exactly() -> None:
    mixed = interleave_datasets(
        _several(True, 9, 7, 8),
        [1e-9, 2e-9, 1 - 3e-9],
        seed=2,
        stopping_strategy="all_exhausted_without_replacement",
    )
    whole = _rows(mixed)
    assert len(whole) == 24
    for cut in range(25):
        rows = iter(mixed)
        head = [next(rows)["x"] for _ in range(cut)]
        state = mixed.state_dict()
        mixed.load_state_dict(state)
        assert head + _rows(mixed) == whole


@pytest.mark.parametrize("streams", [False, True])
def test_empty_datasets(streams: bool) -> None:
    for strategy in STRATEGIES[1:]:
        for probabilities in (None, [0.5, 0.5], [1.0, 0.0]):
            mixed = interleave_datasets(
                _several(streams, 3, 0), probabilities, seed=1, stopping_strategy=strategy
            )
            assert _rows(mixed) == [0, 1, 2]
    assert _rows(interleave_datasets(_several(streams, 3, 0))) == []


def test_an_empty_dataset_cannot_be_drawn_from_first() -> None:
    with pytest.raises(InvalidArgumentError, match=r"datasets at \[1\] have no rows"):
        interleave_datasets(_several(False, 3, 0), [0.5, 0.5])


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("strategy", ["x", None, ["first_exhausted"], 1, ""])
def test_ways_to_stop_are_checked(strategy: Any, streams: bool) -> None:
    with pytest.raises(InvalidArgumentError, match="stopping_strategy"):
        interleave_datasets(_several(streams, 3, 2), stopping_strategy=strategy)


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("join", [interleave_datasets, concatenate_datasets])
def test_what_is_no_list_of_datasets_is_refused(join: Any, streams: bool) -> None:
    [one] = _several(streams, 2)
    parts = (IterableDatasetDict if streams else DatasetDict)(train=one)
    with pytest.raises(InvalidArgumentError, match="the list of datasets is empty"):
        join([])
    for given in (None, one, parts, "train", 3):
        with pytest.raises(InvalidArgumentError, match="passed as a list, not as"):
            join(given)
    for item in (parts, type(parts)(), 5, None, {"x": [1]}):
        with pytest.raises(InvalidArgumentError, match="Number 1 of the list"):
            join([one, item])
    with pytest.raises(InvalidArgumentError, match="not of one kind"):
        join([one, *_several(not streams, 2)])
    for wrong in ({"info": 5}, {"split": 5}):
        with pytest.raises(InvalidArgumentError, match=next(iter(wrong))):
            join([one, one], **wrong)
    assert _rows(join(iter([one]))) == [0, 1]


def test_chances_are_pythons_floats() -> None:
    chances = mixing_chances(np.array([0.25, 0.75], np.float32), 2)
    assert chances == (0.25, 0.75)
    assert chances is not None
    assert set(map(type, chances)) == {float}
