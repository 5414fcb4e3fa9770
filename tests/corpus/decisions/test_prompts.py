import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.corpus.decisions.prompts import (
    GENERIC,
    LONGEST_QUESTION,
    Asked,
    fit_question,
    parse_prompt,
    typed_question,
)
from gristmill.corpus.decisions.record import Option
from gristmill.errors import RecordError

SINGLE = "### State:\nSnow.\n\nMore snow.\n\n### Question:\nIs it cold?\n\n### Options:\nA) yes\nB) no\n\n### Answer:"


def test_a_single_question():
    prompt = parse_prompt(SINGLE)
    assert prompt.state == "Snow.\n\nMore snow."
    assert prompt.asked == (Asked("Is it cold?", ("yes", "no")),)


def test_several_questions():
    text = (
        "### State:\nSnow.\n\n### Questions:\n1) How cold, 1 to 3? [A) 1, B) 2, C) 3]\n"
        "2) Is it [really] cold? [A) yes, B) no]\n\n### Answer:"
    )
    assert parse_prompt(text).asked == (
        Asked("How cold, 1 to 3?", ("1", "2", "3")),
        Asked("Is it [really] cold?", ("yes", "no")),
    )


def test_a_state_may_quote_the_layout():
    text = SINGLE.replace("More snow.", "### Question:\nquoted\n\n### Options:\nA) x")
    prompt = parse_prompt(text)
    assert prompt.asked == (Asked("Is it cold?", ("yes", "no")),)
    assert "quoted" in prompt.state


@pytest.mark.parametrize(
    "text",
    [
        "",
        SINGLE[20:],  # its beginning was cut off to fit
        SINGLE.removesuffix("### Answer:"),
        SINGLE.replace("A) yes", "yes"),
        "### State:\nx\n\n### Questions:\nIs it? [A) yes, B) no]\n\n### Answer:",
        "### State:\nx\n\n### Questions:\n1) Is it?\n\n### Answer:",
    ],
)
def test_another_layout_is_refused(text):
    with pytest.raises(RecordError) as caught:
        parse_prompt(text)
    assert caught.value.kind == "malformed_prompt"


WORDS = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=12)


@given(WORDS, WORDS, st.lists(WORDS, min_size=1, max_size=10))
def test_parse_undoes_the_layout(state, question, options):
    lines = "\n".join(f"{chr(65 + i)}) {text}" for i, text in enumerate(options))
    text = f"### State:\n{state}\n\n### Question:\n{question}?\n\n### Options:\n{lines}\n\n### Answer:"
    asked = Asked(f"{question}?", tuple(options))
    assert parse_prompt(text).asked == (asked,)
    inline = ", ".join(f"{chr(65 + i)}) {text}" for i, text in enumerate(options))
    text = f"### State:\n{state}\n\n### Questions:\n1) {question}? [{inline}]\n2) {question}? [{inline}]\n\n### Answer:"
    assert parse_prompt(text).asked == (asked, asked)


@given(st.text(max_size=200))
def test_any_text_is_parsed_or_refused(text):
    try:
        parse_prompt(text)
    except RecordError as error:
        assert error.kind == "malformed_prompt"  # noqa: PT017  # either way is fine, another error is not


def test_yes_and_no_make_a_noul_in_either_order():
    for options, target in ((["yes", "no"], [0.209, 0.791]), ([" No", "YES "], [0.791, 0.209])):
        question, ordered = typed_question("Cold?", options, target)
        assert question.type == "noul"
        assert [option.key for option in question.options] == ["false", "true"]
        assert ordered == (0.791, 0.209)


@pytest.mark.parametrize("options", [["1", "2", "3"], ["-1", "0", "1"], ["7", " 8 ", "9"]])
def test_consecutive_integers_make_a_score(options):
    question, _ = typed_question("How cold?", options, [0.2, 0.3, 0.5])
    assert question.type == "score"
    assert question.options == tuple(Option(str(i), text.strip()) for i, text in enumerate(options))


@pytest.mark.parametrize(
    "options", [["1", "3"], ["2", "1"], ["1", "1"], ["1.0", "2.0"], ["yes", "maybe"], ["1", "two"]]
)
def test_everything_else_is_a_lettered_choice(options):
    question, _ = typed_question("Which?", options, [0.5, 0.5])
    assert question.type == "choice"
    assert question.options == (Option("A", options[0]), Option("B", options[1]))


def test_a_target_of_another_length_is_refused():
    with pytest.raises(RecordError) as caught:
        typed_question("Which?", ["a", "b"], [1.0])
    assert caught.value.kind == "target_length"


def test_questions_over_160_characters_move_into_the_state():
    assert LONGEST_QUESTION == 160
    assert fit_question("q" * 160, "State.") == ("q" * 160, "State.")
    assert fit_question("q" * 161, "State.") == (GENERIC, "State.\n\n" + "q" * 161)
    assert fit_question("q" * 161, "") == (GENERIC, "q" * 161)
