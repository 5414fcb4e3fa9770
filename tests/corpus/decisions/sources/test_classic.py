"""The rephrased public sets, on the rows that ship in the demo Hub."""

from collections import Counter
from collections.abc import Callable

import pytest

from gristmill.corpus.decisions.record import Option, Record
from gristmill.corpus.decisions.sources import arc, banking77, boolq, commonsense_qa, mnli
from gristmill.corpus.decisions.sources.base import Source
from gristmill.corpus.decisions.sources.boolq import statement_check
from gristmill.corpus.decisions.sources.choices import multiple_choice
from gristmill.corpus.decisions.sources.mnli import inference
from gristmill.errors import RecordError
from tests.corpus.demo_reader import DemoReader


def records_of(source: Source) -> list[Record]:
    return [r for r in source.load(DemoReader(source)) if isinstance(r, Record)]


def kind_of(make: Callable[..., Record], *args: object) -> str:
    with pytest.raises(RecordError) as caught:
        make(*args)
    return caught.value.kind


def test_boolq_is_a_statement_check():
    records = records_of(boolq.SOURCE)
    assert len(records) == sum(1 for _ in DemoReader(boolq.SOURCE).rows("question"))
    first = records[0]
    assert first.type == "noul"
    assert first.instructions == (
        'Based on the passage, the answer to "Do iran and afghanistan speak the same language?" is yes.'
    )
    assert first.options == (Option("false"), Option("true"))
    assert first.target == (0.0, 1.0)
    assert first.state.startswith("Persian (/ˈpɜːrʒən, -ʃən/), also known by its endonym Farsi")
    [ethanol] = [r for r in records if "ethanol take more energy" in r.instructions]
    assert ethanol.target == (1.0, 0.0)


def test_boolq_questions_of_one_passage_share_a_group():
    groups: dict[str, set[str]] = {}
    for record in records_of(boolq.SOURCE):
        groups.setdefault(record.state, set()).add(record.group)
    assert all(len(names) == 1 for names in groups.values())
    assert len({name for names in groups.values() for name in names}) == len(groups)


def test_boolq_question_marks_and_spaces_are_tidied():
    row = {"question": "  is İt ok?? ", "passage": " text\n", "answer": False}
    assert statement_check(row).instructions == 'Based on the passage, the answer to "Is İt ok?" is yes.'
    assert statement_check(row).state == "text"


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        ("malformed_row", {"question": None, "passage": "p", "answer": True}),
        ("malformed_row", {"question": "q", "passage": 3, "answer": True}),
        ("empty_instructions", {"question": " ? ", "passage": "p", "answer": True}),
        ("unlabelled", {"question": "q", "passage": "p", "answer": None}),
        ("unlabelled", {"question": "q", "passage": "p", "answer": 1}),
    ],
)
def test_boolq_rows_that_give_no_record(kind, row):
    assert kind_of(statement_check, row) == kind


def test_mnli_is_a_choice_about_the_hypothesis():
    records = records_of(mnli.SOURCE)
    assert len(records) == sum(1 for _ in DemoReader(mnli.SOURCE).rows("label"))
    first, second = records[:2]
    assert first.state == "You ca n't take it with you -- neither can I , unfortunately ."
    assert first.instructions == (
        'How does the text relate to the statement "You are not able to bring it with you ."?'
    )
    assert [o.key for o in first.options] == ["entailment", "neutral", "contradiction"]
    assert all(o.description for o in first.options)
    assert (first.target, second.target) == ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


@pytest.mark.parametrize(
    ("kind", "label"),
    [("unlabelled", -1), ("unlabelled", None), ("malformed_label", 3), ("malformed_label", "x")],
)
def test_mnli_rows_that_give_no_record(kind, label):
    assert kind_of(inference, {"premise": "p", "hypothesis": "h", "label": label}) == kind


def test_arc_has_both_configs_and_letters():
    records = records_of(arc.SOURCE)
    first = records[0]
    assert first.state == (
        "George wants to warm his hands quickly by rubbing them. Which skin surface will produce the most heat?"
    )
    assert [o.description for o in first.options] == [
        "dry palms", "wet palms", "palms covered with oil", "palms covered with lotion",
    ]  # fmt: skip
    assert first.target == (1.0, 0.0, 0.0, 0.0)
    [fever] = [
        r for r in records if r.state == "Which factor will most likely cause a person to develop a fever?"
    ]
    assert fever.options[fever.answer] == Option("B", "a bacterial population in the bloodstream")
    assert {o.key for r in records for o in r.options} == set("ABCDE")


def test_labels_that_are_numbers_are_lettered_anew():
    row = {
        "question": "q",
        "choices": {"text": ["w", "x", "y", "z"], "label": list("1234")},
        "answerKey": "3",
    }
    record = multiple_choice("arc", row)
    assert [o.key for o in record.options] == list("ABCD")
    assert record.target == (0.0, 0.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("unlabelled", {"answerKey": ""}),
        ("unlabelled", {"answerKey": None}),
        ("malformed_label", {"answerKey": "E"}),
        ("malformed_row", {"choices": None}),
        ("malformed_row", {"choices": {"text": ["a"], "label": None}}),
        ("malformed_row", {"choices": {"text": ["a", "b"], "label": ["A"]}}),
        ("malformed_row", {"choices": {"text": ["a", None], "label": ["A", "B"]}}),
        (
            "malformed_row",
            {"choices": {"text": ["x"] * 27, "label": list(map(str, range(27)))}, "answerKey": "1"},
        ),
        ("malformed_row", {"question": None}),
    ],
)
def test_multiple_choice_rows_that_give_no_record(kind, changes):
    row = {"question": "q", "choices": {"text": ["a", "b"], "label": ["A", "B"]}, "answerKey": "A", **changes}
    assert kind_of(multiple_choice, "arc", row) == kind


def test_commonsense_qa_counts_the_hidden_answers_as_unlabelled():
    outcomes = list(commonsense_qa.SOURCE.load(DemoReader(commonsense_qa.SOURCE)))
    keys = [row["answerKey"] for row in DemoReader(commonsense_qa.SOURCE).rows("answerKey")]
    kinds = Counter(o.kind for o in outcomes if isinstance(o, RecordError))
    assert kinds == {"unlabelled": keys.count("")}
    assert keys.count("") > 0
    first = outcomes[0]
    assert isinstance(first, Record)
    assert first.options[first.answer] == Option("A", "ignore")
    assert len(first.options) == 5


def test_banking77_has_the_gold_intent_among_eight():
    records = records_of(banking77.SOURCE)
    rows = list(
        DemoReader(banking77.SOURCE).github_rows(*banking77.GITHUB, banking77.FILES[0], "text", "category")
    )
    first = records[0]
    assert first.state == "I am still waiting on my card?"
    assert first.options[first.answer].key == "card arrival"
    for record, row in zip(records, rows, strict=False):
        keys = [o.key for o in record.options]
        assert len(set(keys)) == 8
        assert keys[record.answer] == banking77.readable(row["category"])
        assert record.target[record.answer] == 1.0
    assert any("ATM" in o.key for r in records for o in r.options)
    assert not any("_" in o.key or "?" in o.key for r in records for o in r.options)
    # The right one is everywhere, and every intent is drawn as a distractor.
    places = Counter(record.answer for record in records)
    assert len(places) == 8
    assert max(places.values()) < 1.5 * min(places.values())
    assert len({o.key for r in records for o in r.options}) == 77


def test_banking77_draws_by_row_and_seed_not_by_order():
    intents = [f"intent_{i}" for i in range(20)]
    row = {"text": "Hello", "category": "intent_3"}
    once = banking77.intent_choice(row, intents, 1)
    assert banking77.intent_choice(row, intents[::-1], 1) == once
    assert banking77.intent_choice(row, intents, 2).options != once.options
    assert banking77.intent_choice({**row, "text": "Hello?"}, intents, 1).options != once.options


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Refund_not_showing_up", "refund not showing up"),
        ("pin_blocked", "PIN blocked"),
        ("why_verify_identity", "why verify identity"),
    ],
)
def test_readable_intents(name, text):
    assert banking77.readable(name) == text
