import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.corpus.decisions.record import (
    KINDS,
    Option,
    Record,
    check_record,
    noul_options,
    one_hot,
    score_options,
)
from gristmill.errors import RecordError

CHOICE = Record(
    "choice", "Which?", (Option("a", "one"), Option("b")), "A state.", (0.25, 0.75), "s", "g", "train"
)
NOUL = Record("noul", "It rains.", noul_options(), "Wet.", (0.1, 0.9), "s", "g")
SCORE = Record("score", "How much?", score_options(["low", "mid", "high"]), "", (0.2, 0.3, 0.5), "s", "g")


def changed(record: Record, **changes: Any) -> Record:
    return dataclasses.replace(record, **changes)


@pytest.mark.parametrize("record", [CHOICE, NOUL, SCORE], ids=lambda r: r.type)
def test_good_records_pass(record):
    assert check_record(record) is record


INVALID = [
    ("malformed_question", changed(CHOICE, type="ranking")),
    ("empty_instructions", changed(CHOICE, instructions="")),
    ("empty_instructions", changed(NOUL, instructions=" \n\t")),
    ("few_options", changed(CHOICE, options=(), target=())),
    ("few_options", changed(CHOICE, options=(Option("a"),), target=(1.0,))),
    ("few_options", changed(NOUL, options=(Option("true"),), target=(1.0,))),
    ("many_options", changed(SCORE, options=score_options(["x"] * 11), target=one_hot(11, 0))),
    (
        "many_options",
        changed(CHOICE, options=tuple(Option(str(i)) for i in range(256)), target=one_hot(256, 3)),
    ),
    ("duplicate_options", changed(CHOICE, options=(Option("a"), Option("a", "again")))),
    ("empty_option", changed(CHOICE, options=(Option("a"), Option(" ")))),
    ("malformed_noul", changed(NOUL, options=(Option("true"), Option("false")))),
    ("malformed_noul", changed(NOUL, options=(Option("no"), Option("yes")))),
    ("malformed_noul", changed(NOUL, options=(*noul_options(), Option("maybe")), target=(0.5, 0.5, 0.0))),
    ("malformed_noul", changed(NOUL, target=(-0.4, 1.4))),
    ("score_levels", changed(SCORE, options=(Option("1"), Option("2"), Option("3")))),
    ("score_levels", changed(SCORE, options=(Option("0"), Option("2"), Option("1")))),
    ("target_length", changed(CHOICE, target=(1.0,))),
    ("target_length", changed(NOUL, target=(0.5, 0.25, 0.25))),
    ("target_not_finite", changed(CHOICE, target=(math.nan, 1.0))),
    ("target_not_finite", changed(NOUL, target=(math.inf, -math.inf))),
    ("target_negative", changed(CHOICE, target=(-0.25, 1.25))),
    ("target_sum", changed(CHOICE, target=(0.3, 0.3))),
    ("target_sum", changed(CHOICE, target=(0.0, 0.0))),
    ("target_sum", changed(SCORE, target=(0.2, 0.3, 0.51))),
    ("bad_text", changed(CHOICE, state="half an emoji \ud83d")),
    ("bad_text", changed(CHOICE, options=(Option("a"), Option("b", "\udc00")))),
]


@pytest.mark.parametrize(("kind", "record"), INVALID)
def test_each_rule_rejects_under_its_name(kind, record):
    with pytest.raises(RecordError) as caught:
        check_record(record)
    assert caught.value.kind == kind
    assert KINDS[kind] in str(caught.value)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=10).filter(lambda p: sum(p) > 0.01))
def test_any_normalised_target_passes(weights):
    total = math.fsum(weights)
    options = tuple(Option(str(i)) for i in range(len(weights)))
    check_record(changed(CHOICE, options=options, target=tuple(w / total for w in weights)))


def test_the_answer_is_the_first_of_equals():
    assert changed(CHOICE, target=(0.5, 0.5)).answer == 0
    assert SCORE.answer == 2
    assert SCORE.stratum == ("score", 3, 2)


@pytest.mark.parametrize(
    "other",
    [
        changed(CHOICE, instructions="which?"),
        changed(CHOICE, state="a state."),
        changed(CHOICE, options=(Option("A", "one"), Option("b"))),
        changed(CHOICE, options=(Option("a", "One"), Option("b"))),
        changed(CHOICE, options=(Option("b"), Option("a", "one"))),
        changed(CHOICE, options=(Option("a", "one"), Option("b", ""))),
    ],
)
def test_texts_in_another_case_or_order_are_another_record(other):
    assert other.content_hash() != CHOICE.content_hash()


def test_target_group_and_split_do_not_make_another_record():
    other = changed(CHOICE, target=(1.0, 0.0), group="other", split="val", source="t")
    assert other.content_hash() == CHOICE.content_hash()


def test_dict_round_trip():
    assert Record.from_dict(CHOICE.to_dict()) == CHOICE
    assert list(CHOICE.to_dict()) == [
        "type", "instructions", "options", "state", "target", "source", "group", "split",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "value", [{}, {**CHOICE.to_dict(), "state": 3}, {**CHOICE.to_dict(), "target": ["x"]}]
)
def test_what_is_no_record_is_refused(value):
    with pytest.raises(RecordError):
        Record.from_dict(value)
