import dataclasses
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.corpus.decisions.finalize import Limits, balanced_cap, finalize, split_of
from gristmill.corpus.decisions.question import Outcome
from gristmill.corpus.decisions.record import Option, Record, broken, noul_options, one_hot
from gristmill.corpus.hashing import hash64
from gristmill.errors import InvalidArgumentError


def noul(text: str, answer: int = 0, group: str = "g", source: str = "s") -> Record:
    return Record("noul", text, noul_options(), "state", one_hot(2, answer), source, group)


def choice(text: str, size: int, answer: int, group: str = "g") -> Record:
    options = tuple(Option(chr(65 + i)) for i in range(size))
    return Record("choice", text, options, "state", one_hot(size, answer), "s", group)


RECORDS = st.lists(
    st.tuples(st.integers(2, 4), st.integers(0, 3)).map(lambda pair: (pair[0], min(pair[1], pair[0] - 1))),
    max_size=120,
).map(lambda shapes: [choice(f"question {i}", size, answer) for i, (size, answer) in enumerate(shapes)])


@given(RECORDS, st.integers(1, 60), st.integers(0, 5))
def test_strata_differ_by_at_most_one_unless_exhausted(records, cap, seed):
    kept = balanced_cap(records, cap, seed)
    before, after = (Counter(r.stratum for r in some) for some in (records, kept))
    assert len(kept) == min(cap, len(records))
    largest = max(after.values(), default=0)
    for stratum, count in before.items():
        assert after[stratum] == count or after[stratum] >= largest - 1


@given(RECORDS, st.integers(1, 60), st.randoms())
def test_the_cap_does_not_depend_on_the_order_of_arrival(records, cap, shuffler):
    shuffled = list(records)
    shuffler.shuffle(shuffled)
    first, second = balanced_cap(records, cap, 1), balanced_cap(shuffled, cap, 1)
    assert {r.instructions for r in first} == {r.instructions for r in second}
    assert [r for r in records if r in first] == first  # the source's order is kept


def test_another_seed_draws_others():
    records = [noul(f"statement {i}", i % 2) for i in range(1000)]
    assert balanced_cap(records, 100, 1) == balanced_cap(records, 100, 1)
    assert balanced_cap(records, 100, 1) != balanced_cap(records, 100, 2)


def test_the_cap_is_not_skewed_to_what_came_first():
    records = [noul(f"statement {i}", int(i >= 900)) for i in range(1000)]
    kept = balanced_cap(records, 100, 1)
    assert Counter(r.answer for r in kept) == {0: 50, 1: 50}


@pytest.mark.parametrize(("source", "group"), [("boolq", "0e86983b282a1dce"), ("s", "é"), ("a/b", "c")])
def test_the_split_is_the_documented_formula(source, group):
    share = hash64(f"{source}/{group}".encode()) % 1_000_000 / 1e6
    assert split_of(source, group, share + 1e-9) == "val"
    assert split_of(source, group, share) == "train"
    assert split_of(source, group, 1.0, test_only=True) == "test"


def test_about_the_asked_share_of_groups_is_validation():
    splits = Counter(split_of("s", str(i), 0.05) for i in range(20_000))
    assert 0.045 < splits["val"] / 20_000 < 0.055


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30), st.integers(0, 1)), max_size=100),
    st.floats(0, 1),
)
def test_no_group_is_in_two_splits(rows, val_frac):
    """Also across repeats: a question that is dropped never decides where its group goes."""
    records = [noul(f"statement {text}", answer, group=f"group {group}") for group, text, answer in rows]
    written, tally = finalize(records, Limits(cap=40, val_frac=val_frac))
    by_group: dict[str, set[str]] = {}
    for record in written:
        by_group.setdefault(record.group, set()).add(record.split)
    assert all(len(splits) == 1 for splits in by_group.values())
    assert tally.raw == len(rows) == tally.invalid + tally.duplicate + tally.capped + tally.written


def test_the_first_of_exact_repeats_stays():
    first, repeat, other_case = noul("It rains.", 0), noul("It rains.", 1, group="h"), noul("it rains.")
    written, tally = finalize([first, repeat, other_case], Limits())
    assert [dataclasses.replace(r, split="") for r in written] == [first, other_case]
    assert tally.duplicate == 1


def test_invalid_decisions_are_counted_by_kind_and_do_not_count_as_repeats():
    bad = dataclasses.replace(noul("It rains."), target=(0.3, 0.3))
    outcomes: list[Outcome] = [bad, broken("unlabelled"), broken("unlabelled"), noul("It rains."), bad]
    written, tally = finalize(outcomes, Limits())
    assert len(written) == 1
    assert tally.invalid_kinds == {"target_sum": 2, "unlabelled": 2}
    assert tally.to_dict() == {
        "raw": 5,
        "invalid": 4,
        "invalid_kinds": {"target_sum": 2, "unlabelled": 2},
        "duplicate": 0,
        "capped": 0,
        "train": tally.splits["train"],
        "val": tally.splits["val"],
        "test": 0,
    }


def test_test_only_sources_are_never_trained_on():
    records = [noul(f"statement {i}", group=str(i)) for i in range(50)]
    written, tally = finalize(records, Limits(val_frac=0.5), test_only=True)
    assert {r.split for r in written} == {"test"}
    assert tally.splits == {"train": 0, "val": 0, "test": 50}


def test_the_split_does_not_change_with_the_cap_or_the_seed():
    records = [noul(f"statement {i}", group=str(i % 70)) for i in range(300)]
    random.Random(1).shuffle(records)
    whole = {r.instructions: r.split for r in finalize(records, Limits(val_frac=0.3))[0]}
    part = {r.instructions: r.split for r in finalize(records, Limits(cap=60, val_frac=0.3, seed=7))[0]}
    assert len(part) == 60
    assert part.items() <= whole.items()


@pytest.mark.parametrize("values", [{"cap": 0}, {"cap": -5}, {"val_frac": -0.1}, {"val_frac": 1.5}])
def test_limits_out_of_range_are_refused(values):
    with pytest.raises(InvalidArgumentError, match=next(iter(values))):
        Limits(**values)
