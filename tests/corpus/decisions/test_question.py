import datetime as dt
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.corpus.decisions.question import (
    TEACHER_TOLERANCE,
    Outcome,
    as_text,
    native_records,
    normalise,
    parse_question,
    target_from,
)
from gristmill.corpus.decisions.record import Option, Record, check_record
from gristmill.errors import RecordError

NOUL = {"type": "noul", "instructions": "It rains."}
CHOICE = {"type": "choice", "instructions": "Which?", "criteria": {"a": "One.", "b": None, "c": {"x": 1}}}
SCORE = {"type": "score", "instructions": "How much?", "criteria": ["None.", "Some.", "Much."]}


def test_noul_options_are_false_then_true_whatever_the_order_given():
    question = parse_question({**NOUL, "criteria": {"true": "Wet.", "false": "Dry."}})
    assert question.options == (Option("false", "Dry."), Option("true", "Wet."))
    assert parse_question(NOUL).options == (Option("false"), Option("true"))


def test_choice_keeps_order_and_writes_json_descriptions_as_text():
    assert parse_question(CHOICE).options == (Option("a", "One."), Option("b"), Option("c", '{"x":1}'))


def test_score_levels_are_numbered_from_zero():
    assert [option.key for option in parse_question(SCORE).options] == ["0", "1", "2"]


def test_instructions_that_are_json_become_text():
    assert parse_question({**NOUL, "instructions": {"check": ["é"]}}).instructions == '{"check":["é"]}'


@pytest.mark.parametrize(
    ("kind", "question"),
    [
        ("malformed_question", "no object"),
        ("malformed_question", {"instructions": "?"}),
        ("malformed_question", {"type": "rank", "instructions": "?", "criteria": {}}),
        ("malformed_question", {**NOUL, "criteria": ["no", "yes"]}),
        ("malformed_question", {**SCORE, "criteria": {"0": "None."}}),
        ("malformed_question", {**SCORE, "criteria": "low, high"}),
        ("malformed_question", {**CHOICE, "criteria": None}),
        ("malformed_noul", {**NOUL, "criteria": {"yes": "Wet.", "no": "Dry."}}),
        ("empty_instructions", {**CHOICE, "instructions": "  "}),
        ("empty_instructions", {**NOUL, "instructions": None}),
        ("few_options", {**CHOICE, "criteria": {"a": None}}),
        ("few_options", {**SCORE, "criteria": []}),
        ("many_options", {**SCORE, "criteria": ["x"] * 11}),
    ],
)
def test_broken_questions_are_named(kind, question):
    with pytest.raises(RecordError) as caught:
        parse_question(question)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("question", "label", "target"),
    [
        (NOUL, {"noul": 0.9}, (0.1, 0.9)),
        (NOUL, {"noul": 0}, (1.0, 0.0)),
        (NOUL, {"probabilities": {"true": 0.7, "false": 0.3}}, (0.3, 0.7)),
        (NOUL, True, (0.0, 1.0)),
        (NOUL, False, (1.0, 0.0)),
        (NOUL, "true", (0.0, 1.0)),
        (CHOICE, "b", (0.0, 1.0, 0.0)),
        (CHOICE, {"probabilities": {"c": 0.75, "a": 0.25}, "note": "x"}, (0.25, 0.0, 0.75)),
        (SCORE, 2, (0.0, 0.0, 1.0)),
        (SCORE, "1", (0.0, 1.0, 0.0)),
        (SCORE, {"probabilities": {"0": 0.2, "1": 0.3, "2": 0.5}}, (0.2, 0.3, 0.5)),
    ],
)
def test_every_form_of_label(question, label, target):
    assert target_from(parse_question(question), label) == target


@pytest.mark.parametrize(
    ("kind", "question", "label"),
    [
        ("unlabelled", NOUL, None),
        ("malformed_label", CHOICE, "d"),
        ("malformed_label", CHOICE, True),
        ("malformed_label", CHOICE, 1),
        ("malformed_label", SCORE, 3),
        ("malformed_label", SCORE, -1),
        ("malformed_label", SCORE, True),
        ("malformed_label", SCORE, 1.5),
        ("malformed_label", CHOICE, {"noul": 0.5}),
        ("malformed_label", CHOICE, {"probabilities": {"a": 0.5, "z": 0.5}}),
        ("malformed_label", CHOICE, {"probabilities": {"a": "much"}}),
        ("malformed_label", NOUL, {"noul": True}),
        ("malformed_label", NOUL, ["true"]),
        ("malformed_noul", NOUL, {"noul": 1.4}),
        ("malformed_noul", NOUL, {"noul": -0.1}),
        ("target_not_finite", NOUL, {"noul": math.nan}),
        ("target_not_finite", NOUL, {"noul": 10**400}),
        ("target_negative", CHOICE, {"probabilities": {"a": -0.5, "b": 1.5}}),
        ("target_sum", CHOICE, {"probabilities": {"a": 0.3, "b": 0.3}}),
        ("target_sum", CHOICE, {"probabilities": {}}),
    ],
)
def test_labels_that_do_not_fit_are_named(kind, question, label):
    with pytest.raises(RecordError) as caught:
        target_from(parse_question(question), label)
    assert caught.value.kind == kind


def test_sums_within_the_tolerance_are_brought_to_one_and_right_ones_left_alone():
    assert normalise("choice", (0.743333, 0.256667)) == (0.743333, 0.256667)
    assert normalise("choice", (0.5, 0.46)) == (round(0.5 / 0.96, 12), round(0.46 / 0.96, 12))
    with pytest.raises(RecordError):
        normalise("choice", (0.5, 0.5 - TEACHER_TOLERANCE - 0.001))


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=12), st.floats(-0.049, 0.049))
def test_what_normalise_gives_is_a_target(weights, off):
    total = math.fsum(weights)
    scaled = [w / total * (1 + off) for w in weights]
    assert math.fsum(normalise("choice", scaled)) == pytest.approx(1.0, abs=1e-7)


def outcomes(questions: object, *labels: object) -> list[Outcome]:
    return list(native_records("s", "state", "g", questions, labels))


def test_labels_are_tried_in_order_and_a_wrong_one_is_not_replaced():
    good, missing, wrong = outcomes(
        '{"q1": {"type": "noul", "instructions": "A"}, "q2": {"type": "noul", "instructions": "B"}, '
        '"q3": {"type": "noul", "instructions": "C"}}',
        '{"q1": {"noul": 0.75}, "q3": {"noul": 1.4}}',
        '{"q1": false, "q2": true, "q3": true}',
    )
    assert isinstance(good, Record)
    assert good.target == (0.25, 0.75)
    assert isinstance(missing, Record)
    assert missing.target == (0.0, 1.0)
    assert isinstance(wrong, RecordError)
    assert wrong.kind == "malformed_noul"


@pytest.mark.parametrize("questions", [None, "{", "[]", "3", '["a"]', "[" * 100_000])
def test_a_row_without_readable_questions_is_one_invalid_decision(questions):
    [error] = outcomes(questions, "{}")
    assert isinstance(error, RecordError)
    assert error.kind == "malformed_row"


@pytest.mark.parametrize(("state", "group"), [(None, "g"), ("state", None)])
def test_a_row_without_state_or_identifier_is_malformed(state, group):
    [error] = native_records(
        "s", state, group, '{"q": {"type": "noul", "instructions": "A"}}', ['{"q": true}']
    )
    assert isinstance(error, RecordError)
    assert error.kind == "malformed_row"


def test_a_state_that_is_json_becomes_text_and_a_number_an_identifier():
    [record] = native_records(
        "s", {"b": [1, None]}, 7, '{"q": {"type": "noul", "instructions": "A"}}', ['{"q": true}']
    )
    assert isinstance(record, Record)
    assert (record.state, record.group) == ('{"b":[1,null]}', "7")


@pytest.mark.parametrize("label", ["{", "[]", "1"])
def test_a_label_field_that_is_no_object_is_a_malformed_row(label):
    [error] = outcomes('{"q": {"type": "noul", "instructions": "A"}}', label)
    assert isinstance(error, RecordError)
    assert error.kind == "malformed_row"


def test_no_label_anywhere_is_unlabelled():
    [error] = outcomes('{"q": {"type": "noul", "instructions": "A"}}', None, "{}")
    assert isinstance(error, RecordError)
    assert error.kind == "unlabelled"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_any_json_gives_records_that_hold_or_errors_with_a_kind(question, label):
    """Rows come from strangers: nothing but a record or a named error comes out."""
    typed = [
        {"type": type, "instructions": "?", "criteria": question} for type in ("noul", "choice", "score")
    ]
    for value in (question, *typed):
        for outcome in outcomes({"q": value}, {"q": label}):
            if isinstance(outcome, Record):
                check_record(outcome)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (dt.date(2024, 1, 2), "2024-01-02"),
        (dt.datetime(2024, 1, 2, 3, 4, tzinfo=dt.timezone.utc), "2024-01-02T03:04:00+00:00"),
        (dt.time(3, 4), "03:04:00"),
        (Decimal("1.50"), "1.50"),
        ({"day": [dt.date(2024, 1, 2)], "price": Decimal("1.50")}, '{"day":["2024-01-02"],"price":"1.50"}'),
    ],
)
def test_values_that_only_data_files_have_become_text(value, text):
    assert as_text(value) == text


@pytest.mark.parametrize(
    "value", [b"x", {"a": b"x"}, {1, 2}, dt.timedelta(1), 10**5000, {(1,): 2}], ids=range(6)
)
def test_values_without_a_text_break_the_row_alone(value):
    with pytest.raises(RecordError) as caught:
        as_text(value)
    assert caught.value.kind == "malformed_row"


def test_probabilities_of_options_that_can_not_be_compared():
    question = parse_question({"type": "noul", "instructions": "It rains."})
    with pytest.raises(RecordError, match="there is no option") as caught:
        target_from(question, {"probabilities": {1: 0.5, "x": 0.5}})
    assert caught.value.kind == "malformed_label"
